/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Look-up of CM ids by the hash of a key: chains in arrays. The number of buckets is at least the
 * number of ids, so a chain has one id on average.
 */

#include "cm/id_table.h"

#include <assert.h>

static uint32_t
count_buckets(uint32_t max_ids)
{
	uint32_t nb = 1;

	while (nb < max_ids)
		nb *= 2;
	return nb;
}

size_t
uroce_id_table_memsize(uint32_t max_ids)
{
	const size_t links =
		((size_t)count_buckets(max_ids) + 2 * (size_t)max_ids) * sizeof(uint32_t);

	return (size_t)max_ids * sizeof(uint64_t) + (links + 7) / 8 * 8;
}

void
uroce_id_table_init(struct uroce_id_table *table, void *mem, uint32_t max_ids)
{
	const uint32_t nb_buckets = count_buckets(max_ids);

	table->mask = nb_buckets - 1;
	table->hash = mem;
	table->first = (uint32_t *)(table->hash + max_ids);
	table->next = table->first + nb_buckets;
	table->prev = table->next + max_ids;
	for (uint32_t i = 0; i < nb_buckets; i++)
		table->first[i] = UROCE_ID_TABLE_END;
}

void
uroce_id_table_add(struct uroce_id_table *table, uint32_t id, uint64_t hash)
{
	uint32_t *first = &table->first[hash & table->mask];

	table->hash[id] = hash;
	table->next[id] = *first;
	table->prev[id] = UROCE_ID_TABLE_END;
	if (*first != UROCE_ID_TABLE_END)
		table->prev[*first] = id;
	*first = id;
}

void
uroce_id_table_remove(struct uroce_id_table *table, uint32_t id)
{
	const uint32_t prev = table->prev[id];
	const uint32_t next = table->next[id];

	if (prev != UROCE_ID_TABLE_END) {
		table->next[prev] = next;
	} else {
		uint32_t *first = &table->first[table->hash[id] & table->mask];

		assert(*first == id);
		*first = next;
	}
	if (next != UROCE_ID_TABLE_END)
		table->prev[next] = prev;
}

static uint32_t
skip_other_hashes(const struct uroce_id_table *table, uint32_t id, uint64_t hash)
{
	while (id != UROCE_ID_TABLE_END && table->hash[id] != hash)
		id = table->next[id];
	return id;
}

uint32_t
uroce_id_table_first(const struct uroce_id_table *table, uint64_t hash)
{
	return skip_other_hashes(table, table->first[hash & table->mask], hash);
}

uint32_t
uroce_id_table_next(const struct uroce_id_table *table, uint32_t id)
{
	return skip_other_hashes(table, table->next[id], table->hash[id]);
}
