/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_SHARED_H
#define TEST_SIM_SHARED_H

/**
 * @file
 * A shared receive queue with its buffers, and what the oracle knows of them. The index of a buffer
 * is the wr_id of its receive request. A buffer is posted again after the completion of its request
 * was polled.
 */

#include <stdbool.h>
#include <stdint.h>

#include "queue/srq.h"

struct host;
struct qp;
struct world;

#define SHARED_MAX 64

struct shared {
	struct uroce_srq srq;
	struct uroce_cq cq; /* XRC: CQ that only this queue uses */
	struct world *world;
	uint8_t *mem;
	uint8_t *shadow;
	uint64_t iova;
	uint32_t mem_len;
	uint32_t key;
	uint32_t buf_len;
	uint32_t nb_bufs;
	bool is_out[SHARED_MAX]; /* is_out[i]: buffer i is posted */
	bool is_xrc;
	/* posted buffers may contain the beginning of a message whose end never arrived */
	bool is_loose;
	uint32_t limit;   /* limit with which the queue is armed; 0: not armed */
	uint64_t post_ns; /* time before which no buffer is posted */
};

/**
 * Create a shared receive queue.
 * @param is_xrc  the queue belongs to the host's XRC domain, has a number that peers name, and has
 * its own completion queue
 */
struct shared *shared_create(struct world *world, struct host *host, uint32_t nb_bufs,
			     uint32_t buf_len, bool is_xrc);

/**
 * To be called when a QP may have taken requests from the queue: checks that the limit event
 * occurred if it was due, and only then.
 * @param is_event  the event occurred
 */
void shared_check_limit(struct shared *shared, bool is_event);

/**
 * Post the first buffer that is not posted.
 * @return false: all buffers are posted
 */
bool shared_post_one(struct shared *shared);

/** Post all buffers that are not posted. At random, arm the limit. */
void shared_post(struct shared *shared);

static inline uint32_t
shared_at(const struct shared *shared, uint32_t nth)
{
	return nth * (shared->buf_len + 16);
}

/**
 * At the end of a run: complain if the memory of the buffers does not have the expected content.
 */
void shared_end(struct shared *shared);

#endif /* TEST_SIM_SHARED_H */
