/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_REQUEST_H
#define UROCE_CM_REQUEST_H

/**
 * @file
 * Requests of peers for which no CM id exists: a REQ or a SIDR_REQ. A request is checked, and then
 * becomes an id with the event CONNECT_REQUEST, or is refused.
 */

#include "cm/context.h"

/**
 * Handle a REQ for which no CM id exists. The values of the REQ are checked first: an invalid REQ
 * must not end the connection of the QP that the REQ names.
 */
void uroce_cm_request_connect(struct uroce_cm *cm, const struct uroce_cm_msg *msg,
			      const struct uroce_cm_av *from, uint64_t now_ns);

/** Handle a SIDR_REQ for which no CM id exists. */
void uroce_cm_request_resolve(struct uroce_cm *cm, const struct uroce_cm_msg *msg,
			      const struct uroce_cm_av *from, uint64_t now_ns);

#endif /* UROCE_CM_REQUEST_H */
