/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_LEASE_H
#define UROCED_LEASE_H

/**
 * @file
 * Leases: which client holds which block of QP numbers. A block is free, held by a client, or in
 * quarantine. A block in quarantine is given to no other client until frames for its last holder
 * have left the network. The last holder may take the block back: that is a client of the same user
 * that knows the token of the last lease, a random number. A block that its holder has released
 * cannot be taken back.
 *
 * The control thread writes the table of leases. The data path reads the owners of blocks.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lease_record.h"
#include "mux/message.h"

/**
 * The time in nanoseconds for which a block of QP numbers stays in quarantine. It is longer than
 * the time that a frame stays in the network, and longer than the time in which a client that has
 * lost its connection to uroced connects again.
 */
#define LEASE_QUARANTINE_NS UINT64_C(2000000000)

/**
 * The default limit of the number of blocks of QP numbers that clients of one user may have: half
 * of all blocks.
 *
 * In addition, a new lease gives a user at most half of the blocks that other users do not have.
 * Blocks in quarantine count for their last user. So some blocks remain for the next user, however
 * many users there are. This second limit does not apply to blocks that are taken back from
 * quarantine.
 */
#define LEASE_USER_MAX (UROCE_MUX_BLOCKS / 2)

/** The data of a block of QP numbers that only the control thread needs. */
struct lease {
	uint64_t free_ns; /* time at which the quarantine of the QP numbers ends */
	uint32_t uid;     /* user ID of the client that holds the QP numbers, or held them last */
	/*
	 * a client of the former uroced process held the block and has not taken it back yet, so
	 * other blocks are leased first
	 */
	bool is_awaited;
};

struct lease_table {
	/*
	 * for each block, client.slot plus 1 of the client that holds the block; 0 if no client
	 * holds it
	 */
	_Atomic uint16_t owner[UROCE_MUX_BLOCKS];
	struct lease lease[UROCE_MUX_BLOCKS];
	/* the records of the leases, one for each block; the caller owns the memory */
	struct lease_record *record;
	uint32_t user_max; /* maximum number of blocks that clients of one user may hold */
};

/** A client that leases blocks of QP numbers. */
struct lessee {
	uint16_t slot;
	uint32_t uid;
};

/**
 * Make a table of leases in which no client holds a block of QP numbers. Blocks that are held
 * according to their records are in quarantine. The caller frees the table by free().
 * @param record  the record of each block, which must outlive the table
 * @return NULL if there is no memory
 */
struct lease_table *lease_table_create(struct lease_record record[UROCE_MUX_BLOCKS],
				       uint64_t now_ns);

/** Count the blocks of QP numbers that clients of a user hold. @return the number of blocks */
uint32_t lease_count(const struct lease_table *table, uint32_t uid);

/**
 * Get client.slot plus 1 of the client that holds a QP number; 0 if no client holds it. Any thread
 * may call this function.
 */
static inline unsigned
lease_owner(const struct lease_table *table, uint32_t qpn)
{
	return atomic_load_explicit(&table->owner[qpn / UROCE_MUX_BLOCK % UROCE_MUX_BLOCKS],
				    memory_order_relaxed);
}

/**
 * Lease free blocks of QP numbers, which are chosen at random, to a client. Each block gets a new
 * token.
 * @return the number of leased blocks, at most `nb`
 */
uint32_t lease_take(struct lease_table *table, const struct lessee *lessee, uint32_t nb,
		    uint64_t now_ns, struct uroce_mux_lease *leases);

/**
 * Take back blocks of QP numbers that the lessee's user held last, by the tokens of their last
 * leases.
 * @param[out] blocks  the blocks that were taken back
 * @return the number of blocks that were taken back
 */
uint32_t lease_take_back(struct lease_table *table, const struct lessee *lessee,
			 const struct uroce_mux_lease *leases, uint32_t nb, uint64_t now_ns,
			 uint32_t *blocks);

/**
 * Lease the first block of QP numbers, which has QP 0 and QP 1, to the connection manager. No other
 * client gets this block. The lease ends as other leases do, but the block needs no quarantine: QP
 * 1 of a host receives whatever is sent to it.
 */
void lease_give_management(struct lease_table *table, const struct lessee *lessee);

/**
 * Release a block of QP numbers that a client holds.
 * @return false if the client does not hold the block
 */
bool lease_release(struct lease_table *table, const struct lessee *lessee, uint32_t block,
		   uint64_t now_ns);

/**
 * Put all blocks of QP numbers of a client that has ended into quarantine.
 * @return the number of blocks
 */
uint32_t lease_end(struct lease_table *table, const struct lessee *lessee, uint64_t now_ns);

#endif /* UROCED_LEASE_H */
