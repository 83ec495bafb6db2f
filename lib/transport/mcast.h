/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_MCAST_H
#define UROCE_TRANSPORT_MCAST_H

/**
 * @file
 * Multicast groups of datagrams [IBA 10.5]: which QPs receive the datagrams to a group's GID.
 *
 * A datagram to a group has the destination QPN UROCE_MCAST_QPN and a multicast address. Each
 * worker that receives the datagram passes it to uroce_qpc_recv() for each of its QPs that are
 * members. Every member checks its P_Key and Q_Key, and uses a receive request of its own. A member
 * is a pointer which the table does not dereference.
 *
 * Attach, detach and free are control calls, which the caller serialises. uroce_mcast_walk_next()
 * may be called by any thread at any time. Between uroce_mcast_detach() and uroce_mcast_free() the
 * caller waits for a grace period.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/parse.h"

/** The destination QPN of a datagram to a group [IBA 9.6.1.3]. */
#define UROCE_MCAST_QPN 0xffffffu

struct uroce_mcast_table;

/** Get the memory size in bytes of a table for up to `nb_max` memberships (1 .. 2^24). */
size_t uroce_mcast_table_memsize(uint32_t nb_max);

/** Initialise an empty table in `mem`. The memory must be 64-byte aligned; the caller frees it. */
struct uroce_mcast_table *uroce_mcast_table_init(void *mem, uint32_t nb_max);

/**
 * Whether a GID is that of a multicast group: ff00::/8, or 224.0.0.0/4 as an IPv4-mapped address.
 */
bool uroce_gid_is_multicast(const uint8_t gid[16]);

/** Get the destination GID of a frame. */
void uroce_pkt_dgid(const struct uroce_pkt *pkt, uint8_t gid[16]);

/**
 * Add `member` to a group. A member that is added twice still gets one copy of each datagram.
 * @return 0; -EINVAL: the GID is not that of a group; -ENOMEM: the table is full
 */
int uroce_mcast_attach(struct uroce_mcast_table *table, const uint8_t gid[16], void *member);

/**
 * Remove a member from a group. A loop over the members (struct uroce_mcast_walk) that begins later
 * does not find the membership. The table entry of the membership stays in use until
 * uroce_mcast_free().
 * @param[out] idx  the argument for uroce_mcast_free(), which the caller calls after the grace
 *	period
 * @return 0, or -EINVAL: the member is not in the group
 */
int uroce_mcast_detach(struct uroce_mcast_table *table, const uint8_t gid[16], const void *member,
		       uint32_t *idx);

/**
 * Free the table entry of a membership that uroce_mcast_detach() has removed. Before this call the
 * caller must wait for a grace period.
 */
void uroce_mcast_free(struct uroce_mcast_table *table, uint32_t idx);

/** Get the number of members of a multicast group. */
unsigned uroce_mcast_count(const struct uroce_mcast_table *table, const uint8_t gid[16]);

/** A walk: the position of a loop over the members of a multicast group. */
struct uroce_mcast_walk {
	const struct uroce_mcast_table *table;
	uint8_t gid[16];
	uint32_t idx; /* index of the table entry that the walk visits next */
};

void uroce_mcast_walk_begin(struct uroce_mcast_walk *walk, const struct uroce_mcast_table *table,
			    const uint8_t gid[16]);

/**
 * Get the next member of a walk. The member is valid until the end of the worker's round.
 * @return NULL: there are no more members
 */
void *uroce_mcast_walk_next(struct uroce_mcast_walk *walk);

#endif /* UROCE_TRANSPORT_MCAST_H */
