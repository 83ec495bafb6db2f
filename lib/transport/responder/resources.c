/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool of blocks of resources, which are the responders' records of READs and atomics. Blocks
 * in use are a list in the order of their last use, so that the block which another QP may take is
 * at the front. Free blocks are a stack. Blocks that were never used have the indices from
 * `nb_used` on.
 *
 * A block that moved to another worker with its QP is in neither the list nor the stack, and no
 * other QP can take it. The thread of that other worker may give the block back. So the block goes
 * to a separate stack (`returned`): any thread may push a block (release B1), and the pool's thread
 * takes the whole stack at once (acquire B1).
 */
#include "transport/responder/resources.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "transport/qpc.h"

struct block {
	/*
	 * `res` must be the first field, because a pointer to the resources is cast to a pointer to
	 * the block
	 */
	_Alignas(64) struct uroce_rd_res res[UROCE_RD_ATOMIC_MAX];
	struct uroce_resp *holder; /* the responder that uses this block of resources */
	/* next older block in the list of blocks in use; NULL: this block is the oldest */
	struct block *older;
	/*
	 * for a block in use: the next newer block, or NULL if this block is the newest; for a free
	 * block: the next block of the stack
	 */
	struct block *newer;
	uint64_t used_ns;
	struct uroce_rd_pool *owner;
	bool is_migrated;
};

struct uroce_rd_pool {
	struct block *oldest;
	struct block *newest;
	struct block *free_blocks; /* top of the stack of free blocks; NULL: the stack is empty */
	/*
	 * top of the stack of blocks that the thread of another worker gave back; NULL: the stack
	 * is empty
	 */
	_Atomic(struct block *) returned;
	uint32_t nb_blocks;
	/* number of blocks that were ever used: the blocks from this index on were never used */
	uint32_t nb_used;
	uint32_t nb_held;
	struct block blocks[];
};

size_t
uroce_rd_pool_memsize(uint32_t nb_blocks)
{
	return sizeof(struct uroce_rd_pool) + (size_t)nb_blocks * sizeof(struct block);
}

struct uroce_rd_pool *
uroce_rd_pool_init(void *mem, uint32_t nb_blocks)
{
	struct uroce_rd_pool *pool = mem;

	assert((uintptr_t)mem % _Alignof(struct uroce_rd_pool) == 0);
	*pool = (struct uroce_rd_pool){ .nb_blocks = nb_blocks };
	return pool;
}

uint32_t
uroce_rd_pool_count(const struct uroce_rd_pool *pool)
{
	return pool->nb_held;
}

static void
append_block(struct uroce_rd_pool *pool, struct block *block)
{
	block->newer = NULL;
	block->older = pool->newest;
	if (pool->newest)
		pool->newest->newer = block;
	else
		pool->oldest = block;
	pool->newest = block;
}

static void
unlink_block(struct uroce_rd_pool *pool, struct block *block)
{
	if (block->older)
		block->older->newer = block->newer;
	else
		pool->oldest = block->newer;
	if (block->newer)
		block->newer->older = block->older;
	else
		pool->newest = block->older;
}

static void
take_returned(struct uroce_rd_pool *pool)
{
	if (!atomic_load_explicit(&pool->returned, memory_order_relaxed))
		return;
	pool->free_blocks =
		/*
		 * acquire B1 pairs with release B1 in return_block(): the links of the blocks are
		 * visible
		 */
		atomic_exchange_explicit(&pool->returned, NULL, memory_order_acquire);
	for (const struct block *at = pool->free_blocks; at; at = at->newer)
		pool->nb_held--;
}

/*
 * Find a free block of the pool.
 * @return NULL: all blocks are in use
 */
static struct block *
find_free_block(struct uroce_rd_pool *pool)
{
	struct block *block;

	if (!pool->free_blocks)
		take_returned(pool);
	block = pool->free_blocks;
	if (block) {
		pool->free_blocks = block->newer;
		return block;
	}
	if (pool->nb_used == pool->nb_blocks)
		return NULL;
	return &pool->blocks[pool->nb_used++];
}

/*
 * Take the least recently used block from a QP that has no response to send. The block must not
 * have been used for UROCE_RD_KEEP_NS.
 * @return NULL: there is no such block
 */
static struct block *
take_oldest_block(struct uroce_rd_pool *pool, uint64_t now_ns)
{
	struct block *block = pool->oldest;

	while (block && now_ns - block->used_ns >= UROCE_RD_KEEP_NS && block->holder->pending)
		block = block->newer;
	if (!block || now_ns - block->used_ns < UROCE_RD_KEEP_NS)
		return NULL;
	block->holder->res = NULL;
	unlink_block(pool, block);
	pool->nb_held--;
	return block;
}

struct uroce_rd_res *
uroce_rd_pool_take(struct uroce_rd_pool *pool, struct uroce_resp *holder, uint64_t now_ns)
{
	struct block *block = find_free_block(pool);

	if (!block)
		block = take_oldest_block(pool, now_ns);
	if (!block)
		return NULL;
	*block = (struct block){ .holder = holder, .used_ns = now_ns, .owner = pool };
	append_block(pool, block);
	pool->nb_held++;
	return block->res;
}

void
uroce_rd_pool_touch(struct uroce_rd_pool *pool, struct uroce_rd_res *res, uint64_t now_ns)
{
	struct block *block = (struct block *)res;

	block->used_ns = now_ns;
	if (block == pool->newest || block->is_migrated)
		return;
	unlink_block(pool, block);
	append_block(pool, block);
}

void
uroce_rd_pool_migrate(struct uroce_rd_pool *pool, struct uroce_rd_res *res)
{
	struct block *block = (struct block *)res;

	if (!res || block->is_migrated)
		return;
	unlink_block(pool, block);
	block->is_migrated = true;
}

static void
return_block(struct block *block)
{
	struct uroce_rd_pool *owner = block->owner;

	block->newer = atomic_load_explicit(&owner->returned, memory_order_relaxed);
	/*
	 * release B1: the thread that takes the stack (acquire B1 in take_returned()) sees the link
	 * to the next block
	 */
	while (!atomic_compare_exchange_weak_explicit(&owner->returned, &block->newer, block,
						      memory_order_release, memory_order_relaxed))
		;
}

void
uroce_rd_pool_give(struct uroce_rd_pool *pool, struct uroce_rd_res *res)
{
	struct block *block = (struct block *)res;

	if (!res)
		return;
	if (block->is_migrated) {
		return_block(block);
		return;
	}
	unlink_block(pool, block);
	block->holder = NULL;
	block->newer = pool->free_blocks;
	pool->free_blocks = block;
	pool->nb_held--;
}
