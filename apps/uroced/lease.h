/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_LEASE_H
#define UROCED_LEASE_H

/**
 * @file
 * Who has which block of QP numbers. Each is free, a client's, or in quarantine: nobody's until frames for who
 * had it last have died; meanwhile it may come back to that one and to nobody else. A client that comes back is of the
 * user that held the block last, and shows the ticket that the block's last lease was given with. A block that was
 * released does not come back.
 *
 * The control thread writes, the data path reads the owners.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lease_record.h"
#include "mux/message.h"

/** Longer than a frame lives, and than a client takes to be back. */
#define LEASE_QUARANTINE_NS UINT64_C(2000000000)

/**
 * Blocks that clients of one user may hold, unless an option says something else: half of them. Anew a user is given at most half of what other users leave, what it
 * held just now included, so that any number of users leave something to the next one. What is taken back counts as well,
 * and is bounded by this alone: it was the user's before.
 */
#define LEASE_USER_MAX (UROCE_MUX_BLOCKS / 2)

/** Of a block, what the data path does not need. */
struct lease {
	uint64_t free_ns; /* until then it is in quarantine */
	uint32_t uid;     /* of the client that has or had it */
	bool is_awaited; /* by a client of a former life, who has not taken it back: others get it last */
};

struct lease_table {
	_Atomic uint16_t owner[UROCE_MUX_BLOCKS]; /* a client's slot, and 1; 0: nobody */
	struct lease lease[UROCE_MUX_BLOCKS];
	struct lease_record *record; /* of each block, the caller's */
	uint32_t user_max;           /* blocks that clients of one user may hold */
};

/** Who leases. */
struct lessee {
	uint16_t slot;
	uint32_t uid;
};

/**
 * A table without owners; free() it. Blocks that records say are held are in quarantine.
 * @param record  of each block; outlives the table
 * @return NULL: no memory
 */
struct lease_table *lease_table_create(struct lease_record record[UROCE_MUX_BLOCKS],
				       uint64_t now_ns);

/** The number of blocks that clients of a user hold. */
uint32_t lease_count(const struct lease_table *table, uint32_t uid);

/** The slot of the client that a QP number is leased to, and 1; 0: nobody. Any thread. */
static inline unsigned
lease_owner(const struct lease_table *table, uint32_t qpn)
{
	return atomic_load_explicit(&table->owner[qpn / UROCE_MUX_BLOCK % UROCE_MUX_BLOCKS],
				    memory_order_relaxed);
}

/** Take free blocks, of random numbers, each with a new ticket. @return how many, at most `nb` */
uint32_t lease_take(struct lease_table *table, const struct lessee *lessee, uint32_t nb,
		    uint64_t now_ns, struct uroce_mux_lease *leases);

/**
 * Take back those that the lessee's user held last, with these tickets.
 * @param[out] blocks  that it has
 * @return how many
 */
uint32_t lease_take_back(struct lease_table *table, const struct lessee *lessee,
			 const struct uroce_mux_lease *leases, uint32_t nb, uint64_t now_ns,
			 uint32_t *blocks);

/** Give one back. @return whether it was the lessee's */
bool lease_release(struct lease_table *table, const struct lessee *lessee, uint32_t block,
		   uint64_t now_ns);

/** The lessee is gone, and may come back. @return how many blocks it had */
uint32_t lease_end(struct lease_table *table, const struct lessee *lessee, uint64_t now_ns);

#endif /* UROCED_LEASE_H */
