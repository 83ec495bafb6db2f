/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_RECEIVER_H
#define UROCE_VERBS_CM_RECEIVER_H

/**
 * @file
 * Reception of messages of connection management: MADs that QP 1 has received become messages for
 * the CM engine (lib/cm/cm.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"
#include "verbs/cm/gsi.h"

/** Counters of the MADs that were received and not passed to the CM engine. */
struct uroce_cm_receiver_stats {
	uint64_t nb_refused; /* MADs that are no messages of communication management */
	/*
	 * MADs without a valid IP header, or whose source address is not that of a host, so no
	 * reply can be sent
	 */
	uint64_t nb_no_source;
};

/**
 * Pass received messages to the CM engine, at most UROCE_GSI_BATCH of them. Only the caller's
 * thread uses the engine and QP 1 during the call.
 * @return whether more messages may have arrived
 */
bool uroce_cm_receive(struct uroce_gsi *gsi, struct uroce_cm *cm,
		      struct uroce_cm_receiver_stats *stats, uint64_t now_ns);

#endif /* UROCE_VERBS_CM_RECEIVER_H */
