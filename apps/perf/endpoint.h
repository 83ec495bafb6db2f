/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_ENDPOINT_H
#define PERF_ENDPOINT_H

/**
 * @file
 * The verbs objects of one side of a test: a device, a CQ for each of its workers, one registered
 * buffer, and the queue pairs, which are distributed over the CQs in turn. One thread uses these
 * objects.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <uroce.h>

#include "buffer.h"
#include "options.h"

#define ENDPOINT_WORKERS_MAX    32u
#define ENDPOINT_QKEY           0x11111111u
#define ENDPOINT_RNR_TIMER_CODE 12 /* RNR timer code for 0.64 ms [IBA 9.7.5.2.8] */

/** The address of a queue pair and of its buffer, which each side sends to the other. */
struct address {
	uint32_t qpn;
	uint32_t psn; /* PSN of the QP's first request, which is random */
	uint32_t rkey;
	/* virtual address of the registered buffer of the side that sends this address */
	uint64_t vaddr;
	union ibv_gid gid;
	uint32_t srqn;     /* number of the XRC SRQ; 0 without XRC */
	uint32_t recv_qpn; /* QP number of the XRC target; 0 without XRC */
	uint32_t qkey;     /* Q_Key of a datagram QP; the sides do not exchange it */
};

/**
 * The numbers of receive requests of a queue pair that were posted and that have completed since
 * its creation. They are not reset for each message size, because a message of one size may use a
 * receive request that was posted for the previous size.
 */
struct receives {
	uint64_t posted;
	uint64_t done;
};

/** Time and memory that creating and connecting the queue pairs took on this side. */
struct setup {
	double create_s;  /* seconds to create the QPs and to move them to INIT */
	double swap_s;    /* seconds to exchange addresses with the other side */
	double connect_s; /* seconds to move the QPs to RTR and RTS */
	double destroy_s;
	/* number of bytes allocated from EAL's heap for the QPs and their rings */
	size_t heap_bytes;
};

struct endpoint {
	struct ibv_device *device;
	struct ibv_context *context;
	/* the context was opened by connection management, which also closes it */
	bool is_shared_context;
	struct uroce_worker *worker[ENDPOINT_WORKERS_MAX];
	unsigned nb_workers;
	struct ibv_device_attr attr;
	unsigned gid_index;
	union ibv_gid gid;
	/*
	 * path MTU in bytes: at first that of the port; when the two sides have exchanged their
	 * parameters, the smaller one of the path MTUs of both sides
	 */
	unsigned mtu;
	/*
	 * number of outstanding READs and atomics: at first the limit of this device; when the two
	 * sides have exchanged their parameters, the smaller limit of both sides
	 */
	unsigned outs;

	struct ibv_pd *pd;
	/* channel of completion events; NULL if completions are polled */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq[ENDPOINT_WORKERS_MAX]; /* one CQ for each worker; with events one CQ */
	unsigned nb_cq;
	unsigned polled; /* index of the CQ that was polled last by endpoint_poll() */
	/* memory regions: one for the whole buffer, or one for each QP */
	struct ibv_mr **mr;
	unsigned nb_mr;
	struct buffer buffer;
	size_t buffer_len; /* length in bytes of the buffer: the areas of all QPs */
	/* length in bytes of an area of the buffer; layout.h describes the areas */
	size_t area_len;
	struct setup setup;
	unsigned nb_qp;
	struct ibv_qp **qp;
	/* the ids of the QPs if rdma_cm connects them; otherwise they are NULL */
	struct rdma_cm_id **id;
	/* the shared receive queue; NULL if each QP has its own receive queue */
	struct ibv_srq *srq;
	/* the XRC domain, and the XRC target of each queue pair; NULL without XRC */
	struct ibv_xrcd *xrcd;
	struct ibv_qp **xrc_target;
	bool is_in_group; /* the first QP is attached to the multicast group `group` */
	union ibv_gid group;
	/* address handles, one for each QP; with QPs of other types than UD they are NULL */
	struct ibv_ah **ah;
	struct receives *receives;
	struct address *local;
	struct address *peer;
};

/**
 * Create the device of a specification and query its port.
 * @return 0, or -1 after a line on stderr
 */
int endpoint_open(struct endpoint *endpoint, const struct options *opt, const char *spec);

/** Check whether the GID of the endpoint is an IPv4 address. */
bool endpoint_is_ipv4(const struct endpoint *endpoint);

/**
 * Create the buffer, the CQs and the queue pairs, which are in INIT afterwards. Queue pairs that
 * rdma_cm connects are created later (cm_endpoint.h).
 * @return 0, or -1 after a line on stderr
 */
int endpoint_create(struct endpoint *endpoint, const struct options *opt);

/**
 * Move a queue pair or an XRC target from RESET to INIT.
 * @return 0, or -1 after a line on stderr
 */
int endpoint_init_qp(struct ibv_qp *qp, const struct options *opt);

/** Get the attributes of the path to a queue pair of the peer, for the transition to RTR. */
struct ibv_qp_attr endpoint_rtr_attr(const struct endpoint *endpoint, const struct options *opt,
				     unsigned idx);

/** Get the attributes with which a queue pair is created. */
struct ibv_qp_init_attr endpoint_qp_init(const struct endpoint *endpoint, const struct options *opt,
					 unsigned idx);

/**
 * Print why a queue pair with the attributes of endpoint_qp_init() was not created. The caller has
 * left the reason in errno.
 * @return -1
 */
int endpoint_qp_failed(const struct options *opt);

/**
 * Get the number of bytes that are allocated from EAL's heaps and from the heap that the library
 * adds when there are no hugepages.
 */
size_t endpoint_heap_bytes(void);

/**
 * Fill `local[idx]`, the address of a queue pair that rdma_cm has connected.
 * @return 0, or -1 after a line on stderr
 */
int endpoint_fill_local(struct endpoint *endpoint, unsigned idx);

/**
 * Connect all queue pairs to the addresses in `peer`, which the caller has filled. Queue pairs that
 * rdma_cm has connected are left as they are, but a UD queue pair without an address handle gets
 * one.
 * @return 0, or -1 after a line on stderr
 */
int endpoint_connect(struct endpoint *endpoint, const struct options *opt);

/** Destroy the queue pairs, and record how long that took. */
void endpoint_destroy_qps(struct endpoint *endpoint);

/** Destroy all verbs objects of an endpoint that exist. */
void endpoint_close(struct endpoint *endpoint);

/** Get the memory region that contains the areas of a QP in the buffer. */
static inline struct ibv_mr *
endpoint_mr(const struct endpoint *endpoint, unsigned qp_idx)
{
	return endpoint->mr[endpoint->nb_mr > 1 ? qp_idx : 0];
}

/**
 * Drive one round of each worker.
 * @return the number of processed frames; 0 if there was no work, or if another thread drives the
 *         workers
 */
static inline unsigned
endpoint_drive(struct endpoint *endpoint)
{
	unsigned moved = 0;

	for (unsigned i = 0; i < endpoint->nb_workers; i++)
		moved += uroce_worker_poll(endpoint->worker[i]);
	return moved;
}

/*
 * With --events: request completion events, and sleep until one arrives, or for some milliseconds.
 * See event.h.
 */
int event_poll(struct endpoint *endpoint, int nb, struct ibv_wc *wc);

/** Poll completions from the next CQ in turn. @return the result of ibv_poll_cq() */
static inline int
endpoint_poll(struct endpoint *endpoint, int nb, struct ibv_wc *wc)
{
	if (endpoint->nb_cq > 1)
		endpoint->polled = (endpoint->polled + 1) % endpoint->nb_cq;
	int got = ibv_poll_cq(endpoint->cq[endpoint->polled], nb, wc);
	return got == 0 && endpoint->channel != NULL ? event_poll(endpoint, nb, wc) : got;
}

#endif /* PERF_ENDPOINT_H */
