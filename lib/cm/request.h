/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_REQUEST_H
#define UROCE_CM_REQUEST_H

/**
 * @file
 * Requests of peers for something new: a REQ or a SIDR_REQ that no id knows. They are checked, and
 * become an id with a CONNECT_REQUEST, or are refused.
 */

#include "cm/context.h"

/**
 * A REQ. What is wrong in itself is refused first: it must not end the connection of the QP that it
 * names.
 */
void uroce_cm_request_connect(struct uroce_cm *cm, const struct uroce_cm_msg *msg,
			      const struct uroce_cm_av *from, uint64_t now_ns);

/** A SIDR_REQ. */
void uroce_cm_request_resolve(struct uroce_cm *cm, const struct uroce_cm_msg *msg,
			      const struct uroce_cm_av *from);

#endif /* UROCE_CM_REQUEST_H */
