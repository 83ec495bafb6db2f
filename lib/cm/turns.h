/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_TURNS_H
#define UROCE_CM_TURNS_H

/**
 * @file
 * The messages of CM ids that wait for transmission: the requests (REQ, DREQ, SIDR_REQ), and the
 * responses. Each account (a group of users) has a queue for each of the two kinds, and the
 * accounts take turns. So a message waits for one message of its kind of each other account, and
 * for those of its own account that are older. Each call takes a constant time.
 */

#include "cm/context.h"

void uroce_cm_turns_init(struct uroce_cm_turns *turns);

/**
 * Append the message of a CM id to the queue of the account (a group of users) that the id belongs
 * to.
 */
void uroce_cm_turns_push(struct uroce_cm *cm, struct uroce_cm_turns *turns,
			 struct uroce_cm_conn *conn);

/** Remove the message of a CM id that waits for transmission. */
void uroce_cm_turns_remove(struct uroce_cm *cm, struct uroce_cm_turns *turns,
			   struct uroce_cm_conn *conn);

/**
 * Dequeue the oldest message of the account whose turn is next.
 * @return the id of the message; NULL: no message waits
 */
struct uroce_cm_conn *uroce_cm_turns_pop(struct uroce_cm *cm, struct uroce_cm_turns *turns);

#endif /* UROCE_CM_TURNS_H */
