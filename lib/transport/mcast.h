/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_MCAST_H
#define UROCE_TRANSPORT_MCAST_H

/**
 * @file
 * Multicast groups of datagrams [IBA 10.5]: which QPs get what is sent to a group's GID.
 *
 * A datagram to a group has the destination QPN UROCE_MCAST_QPN and a multicast address. Who receives
 * it hands it to uroce_qpc_recv() of each member, on the worker that owns it: every member checks its
 * P_Key and Q_Key, and takes a receive request of its own. A member is whatever its owner says: the
 * table does not look into it.
 *
 * Attach, detach and free are control calls, serialised by their caller. Next may run on any thread
 * at any time. Between detach and free the caller waits for a grace period.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/parse.h"

/** Destination QPN of a datagram to a group [IBA 9.6.1.3]. */
#define UROCE_MCAST_QPN 0xffffffu

struct uroce_mcast_table;

/** Bytes for a table of up to `nb_max` memberships (1 .. 2^24). */
size_t uroce_mcast_table_memsize(uint32_t nb_max);

/** Make an empty table in `mem` (64-byte aligned, caller's). */
struct uroce_mcast_table *uroce_mcast_table_init(void *mem, uint32_t nb_max);

/** Whether a GID is a group's: ff00::/8, or 224.0.0.0/4 in its mapped form. */
bool uroce_gid_is_multicast(const uint8_t gid[16]);

/** The GID that a frame was sent to. */
void uroce_pkt_dgid(const struct uroce_pkt *pkt, uint8_t gid[16]);

/**
 * Make `member` a member. Doing so again changes nothing: it gets one copy.
 * @return 0; -EINVAL: not a group's GID; -ENOMEM: the table is full
 */
int uroce_mcast_attach(struct uroce_mcast_table *table, const uint8_t gid[16], void *member);

/**
 * End a membership: it is no longer found.
 * @param[out] idx  to be given to uroce_mcast_free() after the grace period
 * @return 0, or -EINVAL: there was none
 */
int uroce_mcast_detach(struct uroce_mcast_table *table, const uint8_t gid[16], const void *member,
		       uint32_t *idx);

/** The memory of a membership that ended may be used again. */
void uroce_mcast_free(struct uroce_mcast_table *table, uint32_t idx);

/** Members of a group that has any; for the port's filter. */
unsigned uroce_mcast_count(const struct uroce_mcast_table *table, const uint8_t gid[16]);

/** A walk over the members of a group. */
struct uroce_mcast_walk {
	const struct uroce_mcast_table *table;
	uint8_t gid[16];
	uint32_t idx; /* of the node to be looked at next */
};

void uroce_mcast_walk_begin(struct uroce_mcast_walk *walk, const struct uroce_mcast_table *table,
			    const uint8_t gid[16]);

/** @return the next member, good until the end of the worker's round; NULL: that was all */
void *uroce_mcast_walk_next(struct uroce_mcast_walk *walk);

#endif /* UROCE_TRANSPORT_MCAST_H */
