/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_COMPOSE_H
#define UROCE_CM_COMPOSE_H

/**
 * @file
 * Composition of the messages of a CM id from the fields of the id. An id keeps no message: the
 * message is composed anew for each transmission.
 */

#include "cm/context.h"

/**
 * Compose the message that a CM id has sent last, or has to send. The field `tx_attr` of `conn`
 * (enum uroce_cm_attr) is the kind of the message.
 */
void uroce_cm_compose(const struct uroce_cm *cm, const struct uroce_cm_conn *conn,
		      struct uroce_cm_msg *msg);

/** Compose a reply that belongs to no CM id, such as the REJ of a REQ for which no id was free. */
void uroce_cm_compose_reply(const struct uroce_cm_reply *reply, struct uroce_cm_msg *msg);

#endif /* UROCE_CM_COMPOSE_H */
