/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_CONN_H
#define UROCE_CM_CONN_H

/**
 * @file
 * The life of a CM id: an input is looked up in the table of states (cm/state.h), and the actions
 * of the table are carried out.
 */

#include "cm/context.h"

/**
 * Allocate a CM id for an owner. If no id is free, reuse the oldest id that has no owner and is
 * kept only for repetitions of the peer.
 * @return the id; NULL if no id is free or can be reused
 */
struct uroce_cm_conn *uroce_cm_conn_new(struct uroce_cm *cm, uint16_t owner);

/**
 * Process an input of a CM id. The id may be free afterwards.
 * @param status  status of the event that the input causes
 * @return the cell of the table that was carried out; NULL if an id in this state ignores the input
 */
const struct uroce_cm_step *uroce_cm_conn_input(struct uroce_cm *cm, struct uroce_cm_conn *conn,
						enum uroce_cm_input input, int status,
						uint64_t now_ns);

/** Record that the last message of a CM id was transmitted, and set the timer of the id. */
void uroce_cm_conn_sent(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint64_t now_ns);

/**
 * End the old connection to a peer's QP that the peer uses for a new connection.
 * @param self  id of the new connection, which is not ended; NULL if the new connection has no id
 *	yet
 * @return whether there was an old connection
 */
bool uroce_cm_conn_supersede(struct uroce_cm *cm, be64 guid, const uint8_t gid[16], uint32_t qpn,
			     const struct uroce_cm_conn *self, uint64_t now_ns);

/**
 * Detach a CM id from its owner, and end the id. The id continues to exist without an owner until
 * the peer knows of the end.
 */
void uroce_cm_conn_destroy(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint64_t now_ns);

#endif /* UROCE_CM_CONN_H */
