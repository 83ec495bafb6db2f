/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_CONN_H
#define UROCE_CM_CONN_H

/**
 * @file
 * The life of an id: an input is looked up in the table of states (cm/state.h), and what the table
 * says is done.
 */

#include "cm/context.h"

/**
 * Take a free id for an owner. If none is free, the oldest id that lingers without owner is taken.
 * @return NULL: no id is free
 */
struct uroce_cm_conn *uroce_cm_conn_new(struct uroce_cm *cm, uint16_t owner);

/**
 * Process an input.
 * @param status  status of the event that the input causes
 * @return what was done; NULL: the input means nothing in this state. The id may be free then.
 */
const struct uroce_cm_step *uroce_cm_conn_input(struct uroce_cm *cm, struct uroce_cm_conn *conn,
						enum uroce_cm_input input, int status,
						uint64_t now_ns);

/** The last message of an id has left. */
void uroce_cm_conn_sent(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint64_t now_ns);

/**
 * End the connection to a peer's QP that the peer uses for a new connection.
 * @param self  the id of the new connection, which is left alone; NULL: it has none yet
 * @return whether there was one
 */
bool uroce_cm_conn_supersede(struct uroce_cm *cm, be64 guid, const uint8_t gid[16], uint32_t qpn,
			     const struct uroce_cm_conn *self, uint64_t now_ns);

/** Destroy an id for its owner. */
void uroce_cm_conn_destroy(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint64_t now_ns);

#endif /* UROCE_CM_CONN_H */
