/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_LEASE_H
#define UROCED_LEASE_H

/**
 * @file
 * Who has which block of QP numbers. Each is free, a client's, or in quarantine: nobody's until frames for who
 * had it last have died; meanwhile it may come back to that one, who shows his ticket, and to nobody else.
 *
 * The control thread writes, the data path reads the owners.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mux/message.h"

/** Longer than a frame lives, and than a client takes to be back. */
#define LEASE_QUARANTINE_NS UINT64_C(2000000000)

/** Blocks that clients of one user may hold, or have held just now: half of them, so that no user has all. */
#define LEASE_USER_MAX (UROCE_MUX_BLOCKS / 2)

/** Of a block, what the data path does not need. */
struct lease {
	uint64_t number;  /* of the client that has or had it */
	uint64_t free_ns; /* until then it is in quarantine */
	uint32_t uid;     /* of that client */
	bool may_return;  /* to who had it */
};

struct lease_table {
	_Atomic uint16_t owner[UROCE_MUX_BLOCKS]; /* a client's slot, and 1; 0: nobody */
	struct lease lease[UROCE_MUX_BLOCKS];
};

/** Who leases. */
struct lessee {
	uint16_t slot;
	uint32_t uid;
	uint64_t number;
};

/** A zeroed table; free() it. @return NULL: no memory */
struct lease_table *lease_table_create(void);

/** The slot of the client that a QP number is leased to, and 1; 0: nobody. Any thread. */
static inline unsigned
lease_owner(const struct lease_table *table, uint32_t qpn)
{
	return atomic_load_explicit(&table->owner[qpn / UROCE_MUX_BLOCK % UROCE_MUX_BLOCKS],
				    memory_order_relaxed);
}

/** Take free blocks, of random numbers. @return how many, at most `nb` */
uint32_t lease_take(struct lease_table *table, const struct lessee *lessee, uint32_t nb,
		    uint64_t now_ns, uint32_t *blocks);

/** Take one that a ticket is for. @return whether it may be had */
bool lease_take_back(struct lease_table *table, const struct lessee *lessee, uint32_t block,
		     uint64_t now_ns);

/** Give one back. @return whether it was the lessee's */
bool lease_release(struct lease_table *table, const struct lessee *lessee, uint32_t block,
		   uint64_t now_ns);

/** The lessee is gone, and may come back. @return how many blocks it had */
uint32_t lease_end(struct lease_table *table, const struct lessee *lessee, uint64_t now_ns);

#endif /* UROCED_LEASE_H */
