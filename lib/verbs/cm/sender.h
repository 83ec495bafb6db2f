/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_SENDER_H
#define UROCE_VERBS_CM_SENDER_H

/**
 * @file
 * Transmission of the CM engine's messages by QP 1. A message whose destination has to be resolved
 * waits for a short time in a bounded list. After that time the message is dropped, and the CM
 * engine repeats it. So a host that does not answer does not delay messages to other hosts. The
 * list is shared by the parties that cause messages (verbs/cm/shares.h).
 *
 * One thread at a time calls the functions of this file, which do not wait.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"
#include "verbs/cm/gsi.h"
#include "verbs/cm/path_cache.h"

/** Maximum number of messages that wait for the resolution of their destination. */
#define UROCE_CM_UNRESOLVED_MAX 128u

/**
 * Maximum number of messages that belong to no id and wait for the resolution of their destination.
 * Other hosts cause these messages.
 */
#define UROCE_CM_UNRESOLVED_WIRE_MAX 32u

/** A CM message that waits for the resolution of its destination. */
struct uroce_cm_unresolved {
	uint64_t end_ns; /* time at which the waiting message is dropped */
	struct uroce_cm_tx tx;
};

struct uroce_cm_sender {
	struct uroce_gsi *gsi;
	struct uroce_cm_path_cache paths;
	uint64_t retry_ns; /* time at which the destinations of `unresolved` are looked up again */
	unsigned nb_unresolved;
	/* number of messages in `unresolved` that each party has (verbs/cm/shares.h) */
	struct uroce_cm_shares shares;
	struct uroce_cm_unresolved unresolved[UROCE_CM_UNRESOLVED_MAX];
	/* number of messages that were dropped because there was no path to their destination */
	uint64_t nb_dropped;
};

/** Initialize the sender of CM messages. @return 0, or -errno of uroce_cm_path_cache_init() */
int uroce_cm_sender_init(struct uroce_cm_sender *sender, struct uroce_gsi *gsi,
			 struct uroce_dev *dev);

/**
 * Transmit at most one batch of the CM engine's messages. Messages that wait for the resolution of
 * their destinations are looked up again when this is due, and those whose destinations have been
 * resolved are transmitted, too.
 * @return whether more messages can be sent at once
 */
bool uroce_cm_sender_run(struct uroce_cm_sender *sender, struct uroce_cm *cm, uint64_t now_ns);

/** Get the time at which uroce_cm_sender_run() must be called; UROCE_CM_NEVER: no message waits. */
static inline uint64_t
uroce_cm_sender_deadline(const struct uroce_cm_sender *sender)
{
	return sender->nb_unresolved > 0 ? sender->retry_ns : UROCE_CM_NEVER;
}

#endif /* UROCE_VERBS_CM_SENDER_H */
