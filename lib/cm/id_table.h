/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_ID_TABLE_H
#define UROCE_CM_ID_TABLE_H

/**
 * @file
 * Look-up of CM ids by the hash of a key. A table is an array of buckets and two arrays of links,
 * with one pair for each id. The ids of a bucket form a chain. Several ids may have the same hash:
 * the caller iterates over these ids and compares the keys. To add or to remove an id takes the
 * same time however long its chain is.
 */

#include <stddef.h>
#include <stdint.h>

/** End of a chain; an index that is no CM id. */
#define UROCE_ID_TABLE_END UINT32_MAX

struct uroce_id_table {
	uint32_t mask;   /* number of buckets - 1; the number of buckets is a power of two */
	uint32_t *first; /* first CM id of each bucket; UROCE_ID_TABLE_END: the bucket is empty */
	/*
	 * number of the next CM id of the same bucket, for each id that is in the table;
	 * UROCE_ID_TABLE_END for the last id of a bucket
	 */
	uint32_t *next;
	/*
	 * number of the previous CM id of the same bucket, for each id that is in the table;
	 * UROCE_ID_TABLE_END for the first id of a bucket
	 */
	uint32_t *prev;
	uint64_t *hash; /* hash of the key of each CM id that is in the table */
};

/** Get the size in bytes of the memory of a table for the CM ids 0 .. max_ids - 1. */
size_t uroce_id_table_memsize(uint32_t max_ids);

void uroce_id_table_init(struct uroce_id_table *table, void *mem, uint32_t max_ids);

/** Add a CM id that is not in the table. */
void uroce_id_table_add(struct uroce_id_table *table, uint32_t id, uint64_t hash);

/** Remove a CM id that is in the table. */
void uroce_id_table_remove(struct uroce_id_table *table, uint32_t id);

/** Get the first CM id whose key has this hash; UROCE_ID_TABLE_END if there is no such id. */
uint32_t uroce_id_table_first(const struct uroce_id_table *table, uint64_t hash);

/**
 * Get the next CM id whose key has the same hash as that of `id`; UROCE_ID_TABLE_END if there is no
 * such id.
 */
uint32_t uroce_id_table_next(const struct uroce_id_table *table, uint32_t id);

#endif /* UROCE_CM_ID_TABLE_H */
