/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_SHARED_H
#define TEST_SIM_SHARED_H

/**
 * @file
 * A shared receive queue, its memory, and what the oracle knows of its buffers. A receive request is
 * known by the number of its buffer, which is posted again when its completion was polled.
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
	struct uroce_cq cq; /* XRC: its own */
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
	bool is_loose;    /* messages may have been cut off in it */
	uint32_t limit;   /* armed; 0: not */
	uint64_t post_ns; /* nothing is posted before that */
};

/** @param is_xrc  one that peers name, of the host's domain, with a completion queue of its own */
struct shared *shared_create(struct world *world, struct host *host, uint32_t nb_bufs,
			     uint32_t buf_len, bool is_xrc);

/**
 * A QP that uses it may have taken of it: the limit event came when it had to, and not otherwise.
 * @param is_told  the event came
 */
void shared_check_limit(struct shared *shared, bool is_told);

/** Post the first buffer that is not posted. @return whether there was one */
bool shared_post_one(struct shared *shared);

/** Post the buffers that are not posted; now and then, arm the limit. */
void shared_post(struct shared *shared);

static inline uint32_t
shared_at(const struct shared *shared, uint32_t nth)
{
	return nth * (shared->buf_len + 16);
}

/** At the end: its memory is as it must be, or the world complains. */
void shared_end(struct shared *shared);

#endif /* TEST_SIM_SHARED_H */
