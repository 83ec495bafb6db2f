/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_REQUESTS_H
#define PERF_REQUESTS_H

/**
 * @file
 * The work requests of a test. The messages are sent in batches (test_bw.c), and the buffer of a QP
 * is divided into slots (layout.h). Send request `idx` of a batch uses slot idx % slots. A WRITE
 * and a READ use the slot with the same number on both sides. Receive requests use the slots in
 * turn, also from one batch to the next. Fields of a request that differ between QPs are set at
 * each post. All others are set once for each message size.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "layout.h"

/* maximum number of receive requests in one post, unless --recv_post_list is given */
#define REQUESTS_RECV_LIST 16u

struct session;

/**
 * What one QP has done in the current batch of messages, and the data that a post needs. The struct
 * fits in one cache line, so that a test with many QPs has few cache misses.
 */
struct stream {
	_Alignas(64) uint64_t posted; /* number of send requests that were posted */
	uint64_t completed;           /* number of send requests that have completed */
	uint64_t received;            /* number of messages that were received */
	uint32_t slot;                /* number of the slot that the next send request uses */
	uint32_t unsignaled;          /* number of send requests since the last signaled one */
	struct ibv_qp *qp;
	uint64_t peer_vaddr;
	uint32_t peer_rkey;
	uint32_t recv_slot; /* number of the slot that the next receive request uses */
	uint32_t lkey;      /* key of the memory region with the areas of the QP */
};

struct requests {
	struct session *session;
	struct layout layout;
	struct stream *stream; /* state of the QPs: one entry for each QP */
	uint64_t first;        /* number of the first message of this batch */
	/*
	 * Arrays of the send requests of one post, as many as the option --post_list gives, and of
	 * their scatter-gather elements. The posts of all QPs use these arrays.
	 */
	struct ibv_send_wr *send;
	struct ibv_sge *send_sge;
	/*
	 * arrays of the receive requests of one post, at most `recv_list` of them, and of their
	 * scatter-gather elements
	 */
	struct ibv_recv_wr *recv;
	struct ibv_sge *recv_sge;
	unsigned recv_list;
};

/**
 * Prepare the requests for a message size. The caller has to call requests_free(), also after an
 * error.
 * @return 0, or -1 if there is no memory
 */
int requests_init(struct requests *requests, struct session *session, uint64_t size);
void requests_free(struct requests *requests);

/** Begin a batch whose messages are numbered from `first`. */
void requests_begin(struct requests *requests, uint64_t first);

/** Get the number from which the content of message `message` of a QP is computed and checked. */
uint64_t requests_number(const struct requests *requests, unsigned qp_idx, uint64_t message);

/**
 * requests_out() gets the address of a slot in the `out` area of a QP of this side, and
 * requests_in() that of a slot in the `in` area (layout.h). With UD a slot of `in` begins with the
 * area for the GRH.
 */
uint8_t *requests_out(const struct requests *requests, unsigned qp_idx, uint64_t slot);
uint8_t *requests_in(const struct requests *requests, unsigned qp_idx, uint64_t slot);

/**
 * Post the next `nb` send requests of a QP. `nb` is at most the value of the option --post_list.
 * @param signal_every  one of `signal_every` requests is signaled; the number is constant
 *         throughout a batch
 * @param last          index in the batch of one more request that is signaled
 * @return 0, or -1 after a line on stderr
 */
int requests_post_send(struct requests *requests, unsigned qp_idx, unsigned nb,
		       uint64_t signal_every, uint64_t last);

/**
 * Post receive requests on a QP until `wanted` of them are pending.
 * @return 0, or -1 after a line on stderr
 */
int requests_post_recv(struct requests *requests, unsigned qp_idx, uint64_t wanted);

/**
 * Get the slot of a receive request that is posted later. `ahead` is the number of receive requests
 * that are posted before it.
 */
uint64_t requests_next_recv_slot(const struct requests *requests, unsigned qp_idx, uint64_t ahead);

/** Get the number of pending receive requests of a QP. */
uint64_t requests_nb_recv(const struct requests *requests, unsigned qp_idx);

/*
 * The wr_id of a completion identifies its request:
 *
 *	bit 63: is a receive | bits 32..62: QP | bits 0..31: index of a send, slot of a receive
 *
 * The functions that read these bits are inline, because they are called for each completion,
 * within the measured time.
 */
#define REQUESTS_RECV_BIT (UINT64_C(1) << 63)
#define REQUESTS_QP_SHIFT 32
#define REQUESTS_QP_MASK  0x7fffffffu

/**
 * requests_is_recv() checks whether a completion is that of a receive request. requests_qp_idx()
 * gets the index of its QP.
 */
static inline bool
requests_is_recv(const struct ibv_wc *wc)
{
	return wc->wr_id & REQUESTS_RECV_BIT;
}

static inline unsigned
requests_qp_idx(const struct ibv_wc *wc)
{
	return wc->wr_id >> REQUESTS_QP_SHIFT & REQUESTS_QP_MASK;
}

/**
 * Get the low 32 bits of the wr_id of a completion: the index of a send request, or the slot of a
 * receive request.
 */
static inline uint32_t
requests_idx(const struct ibv_wc *wc)
{
	return (uint32_t)wc->wr_id;
}

/** Get the name of the operation of the test, such as "RDMA WRITE". */
const char *requests_name(const struct requests *requests);

#endif /* PERF_REQUESTS_H */
