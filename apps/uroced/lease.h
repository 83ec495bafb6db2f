/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_LEASE_H
#define UROCED_LEASE_H

/**
 * @file
 * Leases: which client holds which block of QP numbers. A block is free, held by a client, or in
 * quarantine. In quarantine it is given to no other client until frames for its last holder have
 * left the network; the last holder may take it back. Who takes back a block is a client of the
 * same user, and has the token of the block's last lease. A block that was released is not taken
 * back.
 *
 * The control thread writes the table. The data path reads the owners.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lease_record.h"
#include "mux/message.h"

/**
 * The length of the quarantine: longer than a frame stays in the network, and than a client takes
 * to connect again.
 */
#define LEASE_QUARANTINE_NS UINT64_C(2000000000)

/**
 * The default of the number of blocks that clients of one user may hold: half of all. A new lease
 * also leaves at least half of what other users do not have; blocks in quarantine count. So any
 * number of users leave some blocks to the next one. Blocks that are taken back from quarantine are
 * bounded by this number alone.
 */
#define LEASE_USER_MAX (UROCE_MUX_BLOCKS / 2)

/** Fields of a block that the data path does not need. */
struct lease {
	uint64_t free_ns; /* the end of the block's quarantine */
	uint32_t uid;     /* the user of the client that holds the block, or held it last */
	/*
	 * a client of the former uroced held the block and has not taken it back: it is leased
	 * after all other blocks
	 */
	bool is_awaited;
};

struct lease_table {
	/* the slot of the client that holds the block, plus 1; 0: no client holds it */
	_Atomic uint16_t owner[UROCE_MUX_BLOCKS];
	struct lease lease[UROCE_MUX_BLOCKS];
	struct lease_record *record; /* the record of each block; the memory is the caller's */
	uint32_t user_max;           /* the number of blocks that clients of one user may hold */
};

/** A client that leases blocks. */
struct lessee {
	uint16_t slot;
	uint32_t uid;
};

/**
 * Make a table in which no block is owned; free() it. Blocks that are held by their records are in
 * quarantine.
 * @param record  the record of each block; outlives the table
 * @return NULL: no memory
 */
struct lease_table *lease_table_create(struct lease_record record[UROCE_MUX_BLOCKS],
				       uint64_t now_ns);

/** @return the number of blocks that clients of a user hold */
uint32_t lease_count(const struct lease_table *table, uint32_t uid);

/** The slot of the client that holds a QP number, plus 1; 0: none. Any thread may call this. */
static inline unsigned
lease_owner(const struct lease_table *table, uint32_t qpn)
{
	return atomic_load_explicit(&table->owner[qpn / UROCE_MUX_BLOCK % UROCE_MUX_BLOCKS],
				    memory_order_relaxed);
}

/**
 * Lease free blocks with random numbers; each gets a new token.
 * @return the number of blocks, at most `nb`
 */
uint32_t lease_take(struct lease_table *table, const struct lessee *lessee, uint32_t nb,
		    uint64_t now_ns, struct uroce_mux_lease *leases);

/**
 * Take back blocks that the lessee's user held last, by the tokens of their last leases.
 * @param[out] blocks  those that were taken back
 * @return their number
 */
uint32_t lease_take_back(struct lease_table *table, const struct lessee *lessee,
			 const struct uroce_mux_lease *leases, uint32_t nb, uint64_t now_ns,
			 uint32_t *blocks);

/** Release a block. @return false: the lessee does not hold it */
bool lease_release(struct lease_table *table, const struct lessee *lessee, uint32_t block,
		   uint64_t now_ns);

/** Put all blocks of a lessee that has ended into quarantine. @return their number */
uint32_t lease_end(struct lease_table *table, const struct lessee *lessee, uint64_t now_ns);

#endif /* UROCED_LEASE_H */
