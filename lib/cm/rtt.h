/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_RTT_H
#define UROCE_CM_RTT_H

/**
 * @file
 * Round trips to hosts, from which the first retransmission interval is computed.
 *
 * The table has no chains: if two hosts have the same slot, the host with the newer sample replaces
 * the other one. A sample includes the time in which the peer's program decides. So the table
 * follows a shorter sample at once, and a longer one slowly.
 */

#include "cm/context.h"

/** Record that a host has answered a message after `sample_ns`. The message was sent once. */
void uroce_cm_rtt_sample(struct uroce_cm *cm, const uint8_t gid[16], uint64_t sample_ns);

/** Get the time to wait for a host's answer before the first retransmission. */
uint64_t uroce_cm_rtt_interval(const struct uroce_cm *cm, const uint8_t gid[16]);

#endif /* UROCE_CM_RTT_H */
