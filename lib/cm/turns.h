/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_TURNS_H
#define UROCE_CM_TURNS_H

/**
 * @file
 * The requests (REQ, DREQ, SIDR_REQ) that wait for transmission. Each account has a queue, and the
 * accounts take turns. So a request waits for one request of each other account, and for those of
 * its own account that are older. Each call takes a constant time.
 */

#include "cm/context.h"

void uroce_cm_turns_init(struct uroce_cm *cm);

/** Append the request of an id to the queue of the account of the id. */
void uroce_cm_turns_push(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/** Remove the request of an id, which waits. */
void uroce_cm_turns_remove(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/** Take the oldest request of the account whose turn is next. @return its id; NULL: none waits */
struct uroce_cm_conn *uroce_cm_turns_pop(struct uroce_cm *cm);

#endif /* UROCE_CM_TURNS_H */
