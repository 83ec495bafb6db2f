/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_SHARED_H
#define TEST_SIM_SHARED_H

/**
 * @file
 * A shared receive queue, its memory, and what the oracle knows of its buffers. The number of a
 * buffer identifies its receive request. The buffer is posted again after its completion was
 * polled.
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
	struct uroce_cq cq; /* XRC: the queue's own CQ */
	struct world *world;
	uint8_t *mem;
	uint8_t *shadow;
	uint64_t iova;
	uint32_t mem_len;
	uint32_t key;
	uint32_t buf_len;
	uint32_t nb_bufs;
	bool is_out[SHARED_MAX]; /* buffer i is posted */
	bool is_xrc;
	bool is_loose;    /* buffers may hold parts of messages that were cut off */
	uint32_t limit;   /* the armed limit; 0: not armed */
	uint64_t post_ns; /* time before which nothing is posted */
};

/**
 * Create a shared receive queue.
 * @param is_xrc  a queue of the host's XRC domain, which peers name, with a completion queue of its
 * own
 */
struct shared *shared_create(struct world *world, struct host *host, uint32_t nb_bufs,
			     uint32_t buf_len, bool is_xrc);

/**
 * To be called when a QP may have taken requests from the queue: checks that the limit event
 * occurred when it was due, and not otherwise.
 * @param is_event  the event occurred
 */
void shared_check_limit(struct shared *shared, bool is_event);

/**
 * Post the first buffer that is not posted.
 * @return whether there was one
 */
bool shared_post_one(struct shared *shared);

/** Post the buffers that are not posted; at random, arm the limit. */
void shared_post(struct shared *shared);

static inline uint32_t
shared_at(const struct shared *shared, uint32_t nth)
{
	return nth * (shared->buf_len + 16);
}

/** At the end of a run: complain if the queue's memory is not as it must be. */
void shared_end(struct shared *shared);

#endif /* TEST_SIM_SHARED_H */
