/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_OWNER_H
#define UROCE_CM_OWNER_H

/**
 * @file
 * Which ids an owner has, and how many ids an account has. Several owners may have one account:
 * the processes of a user, for example.
 *
 * An id counts for the account of its owner from its creation until it is free. So an id that was
 * destroyed counts while it waits for the peer or is in TIMEWAIT, and a request counts before the
 * owner of the listener takes it. An id that may be taken back at any time does not count.
 *
 * The limit is that of admission.h: an account may have another id if it has fewer than are free.
 * So an account has at most one half, and several accounts together leave some for others. Accounts
 * are counted in an array without chains, as the hosts of admission.h are.
 */

#include "cm/context.h"

void uroce_cm_owner_init(struct uroce_cm *cm);

/** Give an id to an owner. A former owner loses it. */
void uroce_cm_owner_take(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint16_t owner);

/** The owner of an id does not know it any more. Does nothing if the id has no owner. */
void uroce_cm_owner_leave(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/** An id does not count for an account any more. Does nothing if it does not. */
void uroce_cm_owner_discount(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/**
 * Whether an owner's account may have another id.
 * @param nb_reserved  ids that have to stay free
 */
bool uroce_cm_owner_may_add(const struct uroce_cm *cm, uint16_t owner, uint32_t nb_reserved);

/** Number of ids that can be had: free ones, and those that may be taken back. */
uint32_t uroce_cm_owner_nb_free(const struct uroce_cm *cm);

#endif /* UROCE_CM_OWNER_H */
