/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Blocks, by number. To look at all of them takes some tens of microseconds of the control thread: so nothing
 * is listed.
 */

#include "lease.h"

#include <stdlib.h>
#include <sys/random.h>

#define DRAWS 64u /* in search of a free block, before they are looked through */

struct lease_table *
lease_table_create(void)
{
	return calloc(1, sizeof(struct lease_table));
}

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

static void
give(struct lease_table *table, const struct lessee *lessee, uint32_t block)
{
	table->lease[block] = (struct lease){ .number = lessee->number, .uid = lessee->uid };
	set_owner(table, block, lessee->slot + 1u);
}

/* What a user's clients have, or had just now. */
static uint32_t
nb_of_user(const struct lease_table *table, uint32_t uid, uint64_t now_ns)
{
	uint32_t nb = 0;

	for (uint32_t block = 0; block < UROCE_MUX_BLOCKS; block++)
		nb += is_anybodys(block) && table->lease[block].uid == uid &&
		      !is_free(table, block, now_ns);
	return nb;
}

/* @return a free block, at random; 0: there is none */
static uint32_t
draw(const struct lease_table *table, uint64_t now_ns)
{
	uint16_t block = 0;

	for (unsigned i = 0; i < DRAWS; i++) {
		if (getrandom(&block, sizeof(block), 0) != sizeof(block))
			return 0;
		if (is_free(table, block, now_ns))
			return block;
	}
	for (uint32_t i = 0; i < UROCE_MUX_BLOCKS; i++, block++) {
		if (is_free(table, block, now_ns))
			return block;
	}
	return 0;
}

uint32_t
lease_take(struct lease_table *table, const struct lessee *lessee, uint32_t nb, uint64_t now_ns,
	   uint32_t *blocks)
{
	const uint32_t nb_has = nb_of_user(table, lessee->uid, now_ns);
	const uint32_t nb_may = nb_has < LEASE_USER_MAX ? LEASE_USER_MAX - nb_has : 0;
	uint32_t taken = 0;

	for (; taken < nb && taken < nb_may; taken++) {
		const uint32_t block = draw(table, now_ns);

		if (block == 0)
			break;
		give(table, lessee, block);
		blocks[taken] = block;
	}
	return taken;
}

bool
lease_take_back(struct lease_table *table, const struct lessee *lessee, uint32_t block,
		uint64_t now_ns)
{
	const struct lease *lease;

	if (!is_anybodys(block) || is_owned(table, block))
		return false;
	lease = &table->lease[block];
	if (now_ns < lease->free_ns && !(lease->may_return && lease->number == lessee->number))
		return false;
	give(table, lessee, block);
	return true;
}

static void
quarantine(struct lease_table *table, uint32_t block, bool may_return, uint64_t now_ns)
{
	table->lease[block].free_ns = now_ns + LEASE_QUARANTINE_NS;
	table->lease[block].may_return = may_return;
	set_owner(table, block, 0);
}

static bool
is_lessees(const struct lease_table *table, const struct lessee *lessee, uint32_t block)
{
	return atomic_load_explicit(&table->owner[block], memory_order_relaxed) ==
	       lessee->slot + 1u;
}

bool
lease_release(struct lease_table *table, const struct lessee *lessee, uint32_t block,
	      uint64_t now_ns)
{
	if (block >= UROCE_MUX_BLOCKS || !is_lessees(table, lessee, block))
		return false;
	quarantine(table, block, false, now_ns);
	return true;
}

uint32_t
lease_end(struct lease_table *table, const struct lessee *lessee, uint64_t now_ns)
{
	uint32_t nb = 0;

	for (uint32_t block = 0; block < UROCE_MUX_BLOCKS; block++) {
		if (!is_lessees(table, lessee, block))
			continue;
		quarantine(table, block, true, now_ns);
		nb++;
	}
	return nb;
}
