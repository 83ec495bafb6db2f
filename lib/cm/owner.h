/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_OWNER_H
#define UROCE_CM_OWNER_H

/**
 * @file
 * Ownership of CM ids: which ids an owner (a user of the CM engine) has, and how many ids an
 * account has. Several owners may share one account, for example the processes of a user.
 *
 * An id counts for the account of its owner from its creation until the id is free. So a destroyed
 * id counts while it waits for the peer or is in TIMEWAIT, and a request counts before the owner of
 * the listener has received it. An id that may be reused at any time does not count.
 *
 * An account may have another id if it has fewer ids than are free. So one account has at most one
 * half of the ids, and several accounts together leave some for others.
 *
 * The numbers of ids are in a hash table without chains: accounts with the same hash share a
 * number, and so share a limit.
 */

#include "cm/context.h"

void uroce_cm_owner_init(struct uroce_cm *cm);

/** Make `owner` the owner of a CM id. A former owner loses the id. */
void uroce_cm_owner_take(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint16_t owner);

/** Remove a CM id from its owner. The call does nothing if the id has no owner. */
void uroce_cm_owner_leave(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/**
 * Subtract a CM id from the number of ids that its account has. The call does nothing if the id
 * does not count for an account.
 */
void uroce_cm_owner_discount(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/**
 * Whether an owner's account may have another CM id.
 * @param nb_reserved  number of ids that must stay free
 */
bool uroce_cm_owner_may_add(const struct uroce_cm *cm, uint16_t owner, uint32_t nb_reserved);

/**
 * Get the number of CM ids that can be created: the free ids, and the ids without owner that new
 * ids may replace.
 */
uint32_t uroce_cm_owner_nb_free(const struct uroce_cm *cm);

#endif /* UROCE_CM_OWNER_H */
