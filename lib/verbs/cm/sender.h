/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_SENDER_H
#define UROCE_VERBS_CM_SENDER_H

/**
 * @file
 * Transmission of the engine's messages by QP 1. A message whose destination has to be resolved
 * waits for a short time in a bounded list. Then it is dropped, and the engine repeats it. So a
 * host that does not answer delays no messages to others.
 *
 * One thread at a time calls these functions. None of them waits.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"
#include "verbs/cm/gsi.h"
#include "verbs/cm/path_cache.h"

/** Most messages that wait for the resolution of their destination. */
#define UROCE_CM_UNRESOLVED_MAX 128u

/** A message that waits for the resolution of its destination. */
struct uroce_cm_unresolved {
	uint64_t end_ns; /* the message is dropped then */
	struct uroce_cm_tx tx;
};

struct uroce_cm_sender {
	struct uroce_gsi *gsi;
	struct uroce_cm_path_cache paths;
	uint64_t retry_ns; /* when the destinations of `unresolved` are looked up again */
	unsigned nb_unresolved;
	struct uroce_cm_unresolved unresolved[UROCE_CM_UNRESOLVED_MAX];
	uint64_t nb_dropped; /* messages that were dropped because there was no path */
};

/** @return 0, or -errno of uroce_cm_path_cache_init() */
int uroce_cm_sender_init(struct uroce_cm_sender *sender, struct uroce_gsi *gsi,
			 struct uroce_dev *dev);

/**
 * Transmit messages that the engine has, at most a batch of them, and those whose destinations
 * have been resolved.
 * @return whether there is more that can be sent at once
 */
bool uroce_cm_sender_run(struct uroce_cm_sender *sender, struct uroce_cm *cm, uint64_t now_ns);

/** When uroce_cm_sender_run() must be called; UROCE_CM_NEVER: not at all. */
static inline uint64_t
uroce_cm_sender_deadline(const struct uroce_cm_sender *sender)
{
	return sender->nb_unresolved > 0 ? sender->retry_ns : UROCE_CM_NEVER;
}

#endif /* UROCE_VERBS_CM_SENDER_H */
