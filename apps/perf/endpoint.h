/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_ENDPOINT_H
#define PERF_ENDPOINT_H

/**
 * @file
 * One side's verbs objects: a device, a CQ for each of its workers, one registered buffer, and the queue
 * pairs, which take the CQs in turn.
 * Used by one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <uroce.h>

#include "options.h"

#define ENDPOINT_WORKERS_MAX 32u
#define ENDPOINT_QKEY        0x11111111u

/** What one side tells the other of a queue pair. */
struct address {
	uint32_t qpn;
	uint32_t psn; /* of its first request: random */
	uint32_t rkey;
	uint64_t vaddr; /* of the whole buffer */
	union ibv_gid gid;
};

/** Receives of a queue pair since it was made: those of one size may be met by the next. */
struct receives {
	uint64_t posted;
	uint64_t done;
};

/** What it cost to make and to connect the queue pairs, on this side. */
struct setup {
	double create_s;  /* to create them and to bring them to INIT */
	double swap_s;    /* to tell each other their addresses */
	double connect_s; /* to bring them to RTR and RTS */
	double destroy_s;
	size_t heap_bytes; /* that EAL's heap gave for them, rings included */
};

struct endpoint {
	struct ibv_device *device;
	struct ibv_context *context;
	struct uroce_worker *worker[ENDPOINT_WORKERS_MAX];
	unsigned nb_workers;
	struct ibv_device_attr attr;
	unsigned gid_index;
	union ibv_gid gid;
	unsigned mtu;  /* path MTU, bytes: the port's, then what both sides carry */
	unsigned outs; /* outstanding READs and atomics, as mtu */

	struct ibv_pd *pd;
	struct ibv_cq *cq[ENDPOINT_WORKERS_MAX]; /* by worker */
	unsigned polled;                         /* the CQ that was polled last */
	struct ibv_mr *mr;
	uint8_t *buf;
	size_t buf_len;
	size_t area_len; /* layout.h */
	struct setup setup;
	unsigned nb_qp;
	struct ibv_qp **qp;
	struct ibv_ah **ah; /* UD; NULL entries otherwise */
	struct receives *receives;
	struct address *local;
	struct address *peer;
};

/** Make the device of a specification and look at its port. @return 0, or -1 after a line on stderr */
int endpoint_open(struct endpoint *endpoint, const struct options *opt, const char *spec);

/** Make the buffer, the CQ and the queue pairs, in INIT. @return 0, or -1 after a line on stderr */
int endpoint_create(struct endpoint *endpoint, const struct options *opt);

/** Connect all queue pairs to `peer`, which is filled. @return 0, or -1 after a line on stderr */
int endpoint_connect(struct endpoint *endpoint, const struct options *opt);

/** Destroy the queue pairs, and note how long it took. */
void endpoint_destroy_qps(struct endpoint *endpoint);

/** Undo whatever of the above was done. */
void endpoint_close(struct endpoint *endpoint);

/** Drive the transport a round. @return frames moved; 0: idle, or others drive it */
static inline unsigned
endpoint_drive(struct endpoint *endpoint)
{
	unsigned moved = 0;

	for (unsigned i = 0; i < endpoint->nb_workers; i++)
		moved += uroce_worker_poll(endpoint->worker[i]);
	return moved;
}

/** Take completions, from one CQ in turn. @return as ibv_poll_cq() */
static inline int
endpoint_poll(struct endpoint *endpoint, int nb, struct ibv_wc *wc)
{
	if (endpoint->nb_workers > 1)
		endpoint->polled = (endpoint->polled + 1) % endpoint->nb_workers;
	return ibv_poll_cq(endpoint->cq[endpoint->polled], nb, wc);
}

#endif /* PERF_ENDPOINT_H */
