/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The table of leases: which client holds which block of QP numbers. The control thread needs only
 * some tens of microseconds to examine all blocks, so there are no lists of free or owned blocks.
 */

#include "lease.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* number of blocks, chosen at random, that are tried before all blocks are examined */
#define DRAWS 32u

static bool
is_anybodys(uint32_t block)
{
	return block > 0 && block < UROCE_MUX_BLOCKS - 1;
}

static bool
is_owned(const struct lease_table *table, uint32_t block)
{
	return atomic_load_explicit(&table->owner[block], memory_order_relaxed) != 0;
}

static bool
is_free(const struct lease_table *table, uint32_t block, uint64_t now_ns)
{
	return is_anybodys(block) && !is_owned(table, block) &&
	       now_ns >= table->lease[block].free_ns;
}

static void
set_owner(struct lease_table *table, uint32_t block, unsigned owner)
{
	atomic_store_explicit(&table->owner[block], (uint16_t)owner, memory_order_relaxed);
}

struct lease_table *
lease_table_create(struct lease_record record[UROCE_MUX_BLOCKS], uint64_t now_ns)
{
	struct lease_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->record = record;
	table->user_max = LEASE_USER_MAX;
	for (uint32_t block = 0; block < UROCE_MUX_BLOCKS; block++) {
		struct lease *lease = &table->lease[block];

		lease->is_awaited = lease_record_is_held(&record[block], &lease->uid);
		lease->free_ns = lease->is_awaited ? now_ns + LEASE_QUARANTINE_NS : 0;
	}
	return table;
}

static void
give(struct lease_table *table, const struct lessee *lessee, uint32_t block)
{
	table->lease[block] = (struct lease){ .uid = lessee->uid };
	set_owner(table, block, lessee->slot + 1u);
}

void
lease_give_management(struct lease_table *table, const struct lessee *lessee)
{
	give(table, lessee, 0);
}

/* --- limits -------------------------------------------------------------------------------------- */

/* The numbers of blocks of QP numbers that a user has, and that all other users have together. */
struct holding {
	uint32_t user_max;
	uint32_t nb_owned;
	uint32_t nb_resting; /* number of the user's blocks that are in quarantine */
	uint32_t nb_others;  /* number of other users' blocks, including those in quarantine */
};

static struct holding
holding_of_user(const struct lease_table *table, uint32_t uid, uint64_t now_ns)
{
	struct holding holding = { .user_max = table->user_max };

	for (uint32_t block = 1; block < UROCE_MUX_BLOCKS - 1; block++) {
		if (!is_owned(table, block) && now_ns >= table->lease[block].free_ns)
			continue;
		if (table->lease[block].uid != uid)
			holding.nb_others++;
		else if (is_owned(table, block))
			holding.nb_owned++;
		else
			holding.nb_resting++;
	}
	return holding;
}

uint32_t
lease_count(const struct lease_table *table, uint32_t uid)
{
	return holding_of_user(table, uid, 0).nb_owned;
}

/*
 * Check whether a user may get another block of QP numbers. If so, count the block.
 * @param is_resting  the block is in quarantine, and the user takes it back
 * @return false if the user may not get the block
 */
static bool
count_block(struct holding *holding, bool is_resting)
{
	/*
	 * the second limit, which depends on `nb_others`, is not applied to blocks that are taken
	 * back from quarantine: a file of leases may have any number of such blocks
	 */
	if (holding->nb_owned >= holding->user_max ||
	    (!is_resting && holding->nb_owned + holding->nb_resting >=
				    (UROCE_MUX_BLOCKS - holding->nb_others) / 2))
		return false;
	holding->nb_owned++;
	holding->nb_resting -= is_resting;
	return true;
}

/* --- new leases ---------------------------------------------------------------------------------- */

/*
 * A stock of random bytes, for block numbers and tokens. One system call fills it with enough bytes
 * for hundreds of leases.
 */
struct random_pool {
	size_t nb_left;
	uint8_t bytes[4096];
};

/*
 * Take random bytes from the stock of random bytes, which is filled again if necessary.
 * @return false if the kernel gave fewer than `len` bytes
 */
static bool
take_random(struct random_pool *pool, void *to, size_t len)
{
	if (pool->nb_left < len) {
		const ssize_t got = getrandom(pool->bytes, sizeof(pool->bytes), 0);

		pool->nb_left = got > 0 ? (size_t)got : 0;
	}
	if (pool->nb_left < len)
		return false;
	pool->nb_left -= len;
	memcpy(to, pool->bytes + pool->nb_left, len);
	return true;
}

/*
 * A search for free blocks of QP numbers. Random block numbers are tried first. If none of the
 * tried blocks is free, all blocks are examined, beginning with a random one. The first pass skips
 * the blocks that clients of the former uroced process may take back. A search continues where it
 * found the last block, so the blocks of one LEASE message take two passes at most.
 */
struct search {
	struct random_pool pool;
	bool is_thorough;
	bool with_awaited;
	uint16_t from;
	uint32_t nb_seen; /* number of blocks that the current pass has examined */
};

/*
 * Search for a free block of QP numbers among DRAWS blocks that are chosen at random.
 * @return a free block; 0 if none of these blocks is free
 */
static uint32_t
draw_block(const struct lease_table *table, struct search *search, uint64_t now_ns)
{
	uint16_t block = 0;

	for (unsigned i = 0; i < DRAWS; i++) {
		if (!take_random(&search->pool, &block, sizeof(block)))
			return 0;
		if (is_free(table, block, now_ns) && !table->lease[block].is_awaited)
			return block;
	}
	search->is_thorough = true;
	search->from = block;
	return 0;
}

/*
 * Find the next free block of QP numbers in the current pass of a search.
 * @return 0 if the pass has found no free block
 */
static uint32_t
next_block(const struct lease_table *table, struct search *search, uint64_t now_ns)
{
	while (search->nb_seen < UROCE_MUX_BLOCKS) {
		const uint16_t block = (uint16_t)(search->from + search->nb_seen++);

		if (is_free(table, block, now_ns) &&
		    (search->with_awaited || !table->lease[block].is_awaited))
			return block;
	}
	return 0;
}

/*
 * Find a free block of QP numbers, first at random, then by passes through all blocks.
 * @return 0 if no block is free
 */
static uint32_t
find_block(const struct lease_table *table, struct search *search, uint64_t now_ns)
{
	uint32_t block = search->is_thorough ? 0 : draw_block(table, search, now_ns);

	if (block == 0)
		block = next_block(table, search, now_ns);
	if (block == 0 && !search->with_awaited) {
		search->with_awaited = true;
		search->nb_seen = 0;
		block = next_block(table, search, now_ns);
	}
	return block;
}

uint32_t
lease_take(struct lease_table *table, const struct lessee *lessee, uint32_t nb, uint64_t now_ns,
	   struct uroce_mux_lease *leases)
{
	struct holding holding = holding_of_user(table, lessee->uid, now_ns);
	struct search search = { .nb_seen = 0 };
	uint32_t taken = 0;

	for (; taken < nb && count_block(&holding, false); taken++) {
		const uint32_t block = find_block(table, &search, now_ns);
		uint64_t token;

		if (block == 0 || !take_random(&search.pool, &token, sizeof(token)))
			break;
		lease_record_hold(&table->record[block], lessee->uid, token);
		give(table, lessee, block);
		leases[taken] = (struct uroce_mux_lease){ .block = block, .token = token };
	}
	return taken;
}

/* --- leases that are taken back ------------------------------------------------------------------ */

static bool
may_return(const struct lease_table *table, const struct lessee *lessee,
	   const struct uroce_mux_lease *lease)
{
	return is_anybodys(lease->block) && !is_owned(table, lease->block) &&
	       lease_record_is_of(&table->record[lease->block], lessee->uid, lease->token);
}

uint32_t
lease_take_back(struct lease_table *table, const struct lessee *lessee,
		const struct uroce_mux_lease *leases, uint32_t nb, uint64_t now_ns,
		uint32_t *blocks)
{
	struct holding holding = holding_of_user(table, lessee->uid, now_ns);
	uint32_t nb_good = 0;

	for (uint32_t i = 0; i < nb; i++) {
		const uint32_t block = leases[i].block;

		if (!may_return(table, lessee, &leases[i]) ||
		    !count_block(&holding, now_ns < table->lease[block].free_ns))
			continue;
		give(table, lessee, block);
		blocks[nb_good++] = block;
	}
	return nb_good;
}

static bool
is_lessees(const struct lease_table *table, const struct lessee *lessee, uint32_t block)
{
	return atomic_load_explicit(&table->owner[block], memory_order_relaxed) ==
	       lessee->slot + 1u;
}

/* --- releases ------------------------------------------------------------------------------------ */

static void
quarantine(struct lease_table *table, uint32_t block, uint64_t now_ns)
{
	table->lease[block].free_ns = now_ns + LEASE_QUARANTINE_NS;
	set_owner(table, block, 0);
}

bool
lease_release(struct lease_table *table, const struct lessee *lessee, uint32_t block,
	      uint64_t now_ns)
{
	if (block >= UROCE_MUX_BLOCKS || !is_lessees(table, lessee, block))
		return false;
	lease_record_release(&table->record[block]);
	quarantine(table, block, now_ns);
	return true;
}

uint32_t
lease_end(struct lease_table *table, const struct lessee *lessee, uint64_t now_ns)
{
	uint32_t nb = 0;

	for (uint32_t block = 0; block < UROCE_MUX_BLOCKS; block++) {
		if (!is_lessees(table, lessee, block))
			continue;
		quarantine(table, block, now_ns);
		nb++;
	}
	return nb;
}
