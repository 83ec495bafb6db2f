/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RESOURCES_H
#define UROCE_TRANSPORT_RESOURCES_H

/**
 * @file
 * What responders remember of their peers' READs and atomics, in blocks from a worker's pool.
 *
 * A QP that never served one has no block. It takes one with the first, and keeps it until it is
 * reset or ends; but when the pool is empty, a block that has nothing to send and was not used for
 * UROCE_RD_KEEP_NS goes to who needs it now. Whoever would still have repeated a request from it is
 * treated as if newer requests had pushed it out [IBA 9.7.5.1.2].
 *
 * A pool belongs to one worker, as the contexts do that take from it: no locks. Its memory is touched
 * only as far as it was ever used.
 */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Most READ and atomic requests of a peer that a responder remembers, and the most that a requester
 * has outstanding. READs of 64 KiB at MTU 4096 then fill the default window: with half as many, their
 * responses are taken while they still lie in the cache of the core that wrote them, which is slower.
 */
#define UROCE_RD_ATOMIC_MAX 32

/** How long a block is safe from the other QPs of its worker after its last use. */
#define UROCE_RD_KEEP_NS UINT64_C(1000000000)

struct uroce_resp;
struct uroce_rd_pool;

/**
 * A READ, an atomic, a FLUSH or an ATOMIC_WRITE of the peer, kept until newer ones push it out. A
 * block has thirty-two of them, so they are small. Answering one is a pass over its responses: all of
 * them, or, for a duplicate request, those that it asks for.
 */
struct uroce_rd_res {
	union {
		uint64_t va;   /* READ */
		uint64_t orig; /* atomic: the value before */
	};
	uint32_t rkey;     /* READ */
	uint32_t pdn;      /* READ: the domain it was granted in; XRC targets serve several */
	uint32_t len;      /* READ: bytes asked for; atomic: 0 */
	uint32_t psn;      /* of the request; the first response has it too */
	uint32_t sent;     /* responses before this are sent: the next is psn + sent */
	uint32_t end;      /* where the pass ends; 0: the slot was never used */
	uint32_t msn : 24; /* the message sequence number it is answered with */
	uint32_t is_atomic : 1;
	uint32_t is_begun : 1;     /* the pass has sent its first response */
	uint32_t was_answered : 1; /* all was sent once: from now on passes are repetitions */
};
static_assert(sizeof(struct uroce_rd_res) == 40, "small");

/** Bytes for a pool of `nb_blocks` (1 ..): each serves one QP at a time. */
size_t uroce_rd_pool_memsize(uint32_t nb_blocks);

/** Make a pool over `mem` (64-byte aligned, caller's). */
struct uroce_rd_pool *uroce_rd_pool_init(void *mem, uint32_t nb_blocks);

/**
 * A block of UROCE_RD_ATOMIC_MAX unused resources, for `holder`, whose `res` it becomes.
 * A block that is taken from another holder makes that one's `res` NULL.
 * @return NULL: all are in use
 */
struct uroce_rd_res *uroce_rd_pool_take(struct uroce_rd_pool *pool, struct uroce_resp *holder,
					uint64_t now_ns);

/** A block was used. */
void uroce_rd_pool_touch(struct uroce_rd_pool *pool, struct uroce_rd_res *res, uint64_t now_ns);

/**
 * The holder goes to another worker, and takes the block along: from now on calls about it are made by
 * that one, with the pool that it has there. The block stays until it is given back. NULL is allowed.
 */
void uroce_rd_pool_migrate(struct uroce_rd_pool *pool, struct uroce_rd_res *res);

/** Give a block back, to the pool that it is from. NULL is allowed. */
void uroce_rd_pool_give(struct uroce_rd_pool *pool, struct uroce_rd_res *res);

/** Blocks that are held. */
uint32_t uroce_rd_pool_count(const struct uroce_rd_pool *pool);

#endif /* UROCE_TRANSPORT_RESOURCES_H */
