/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RESOURCES_H
#define UROCE_TRANSPORT_RESOURCES_H

/**
 * @file
 * Resources: what responders remember of their peers' READs and atomics, in blocks from a worker's
 * pool. A QP that served no READ or atomic has no block. With its first READ or atomic, a QP takes
 * a block, and keeps the block until the QP is reset or destroyed. When the pool is empty, a QP may
 * take the block of another QP that has nothing to send and did not use it for UROCE_RD_KEEP_NS. A
 * duplicate request for a resource of that block is treated as if newer requests had replaced the
 * resource [IBA 9.7.5.1.2].
 *
 * A pool belongs to one worker, like the contexts that use it, so it needs no locks. The memory of
 * blocks that were never used is not touched.
 */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The largest number of READ and atomic requests of a peer that a responder remembers, and that a
 * requester has outstanding. The number lets READs of 64 KiB at MTU 4096 fill the default window.
 * With half of this number, a receiver would read responses so soon that they are still in the
 * private cache of the core that wrote them, which is slower to read than the shared cache.
 */
#define UROCE_RD_ATOMIC_MAX 32

/**
 * The time in nanoseconds after the last use of a block in which no other QP can take the block.
 */
#define UROCE_RD_KEEP_NS UINT64_C(1000000000)

struct uroce_resp;
struct uroce_rd_pool;

/**
 * Record of a READ, atomic, FLUSH or ATOMIC_WRITE of the peer. The record is kept until newer ones
 * replace it. The struct is small, because a block has UROCE_RD_ATOMIC_MAX of them. Responses are
 * sent in passes: a pass sends all responses, or, for a duplicate request, the responses that the
 * duplicate requests.
 */
struct uroce_rd_res {
	union {
		uint64_t va; /* for a READ: virtual address of the memory */
		/* for an atomic: value of the memory before the atomic was executed */
		uint64_t orig;
	};
	uint32_t rkey; /* for a READ: key of the memory */
	/*
	 * READ: the protection domain in which access was granted; for an XRC target this domain is
	 * that of the SRQ to which the request was addressed
	 */
	uint32_t pdn;
	uint32_t len; /* for a READ: length in bytes; otherwise 0 */
	uint32_t psn; /* PSN of the request, and of the first response to it */
	/* index of the response that is sent next; the PSN of this response is psn + sent */
	uint32_t sent;
	/*
	 * index behind the last response that the peer has requested and that is to be sent; 0: the
	 * slot was never used
	 */
	uint32_t end;
	uint32_t msn : 24; /* message sequence number that the responses carry */
	uint32_t is_atomic : 1;
	/* a response was sent since the peer last requested responses of this resource */
	uint32_t is_begun : 1;
	/* all responses were sent at least once, so further responses are repetitions */
	uint32_t was_answered : 1;
};
static_assert(sizeof(struct uroce_rd_res) == 40, "small");

/**
 * Get the memory size in bytes of a pool of `nb_blocks` blocks (at least 1). Each block serves one
 * QP at a time.
 */
size_t uroce_rd_pool_memsize(uint32_t nb_blocks);

/** Initialise a pool in `mem`. The memory must be 64-byte aligned; the caller frees it. */
struct uroce_rd_pool *uroce_rd_pool_init(void *mem, uint32_t nb_blocks);

/**
 * Allocate a block of UROCE_RD_ATOMIC_MAX unused resources for the responder `holder`. The caller
 * stores the block in `holder->res`. If the block belonged to another responder, the `res` of that
 * responder becomes NULL.
 * @return NULL: all blocks are in use, and none may be taken from its QP
 */
struct uroce_rd_res *uroce_rd_pool_take(struct uroce_rd_pool *pool, struct uroce_resp *holder,
					uint64_t now_ns);

/** Record that a block was used at `now_ns`, so that other QPs do not take it soon. */
void uroce_rd_pool_touch(struct uroce_rd_pool *pool, struct uroce_rd_res *res, uint64_t now_ns);

/**
 * Move a block to another worker, together with its QP. From then on the target worker passes its
 * own pool to the functions that use the block. The QP keeps the block until uroce_rd_pool_give().
 * `res` may be NULL.
 */
void uroce_rd_pool_migrate(struct uroce_rd_pool *pool, struct uroce_rd_res *res);

/** Return a block to the pool from which it was allocated. `res` may be NULL. */
void uroce_rd_pool_give(struct uroce_rd_pool *pool, struct uroce_rd_res *res);

/** Get the number of blocks of a pool that QPs hold. A block has the resources of one QP. */
uint32_t uroce_rd_pool_count(const struct uroce_rd_pool *pool);

#endif /* UROCE_TRANSPORT_RESOURCES_H */
