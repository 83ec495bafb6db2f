/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_CONN_SEND_H
#define UROCE_CM_CONN_SEND_H

/**
 * @file
 * The messages that a CM id sends when it carries out a cell of the table of states (cm/state.h).
 */

#include "cm/context.h"
#include "cm/state.h"

/**
 * Queue the message of a cell of the table: a new message of the CM id, its last message once more,
 * or a reply that the id does not repeat.
 * @param send  the message of the cell; UROCE_CM_SEND_NOTHING: the cell has none
 * @param input  the input of the cell. A call of the user has already stored private data and a
 *	reason in the id.
 */
void uroce_cm_conn_send(struct uroce_cm *cm, struct uroce_cm_conn *conn, enum uroce_cme_send send,
			enum uroce_cm_input input);

#endif /* UROCE_CM_CONN_SEND_H */
