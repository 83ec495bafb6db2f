/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_RTT_H
#define UROCE_CM_RTT_H

/**
 * @file
 * Round-trip times of CM messages to hosts, from which the first retransmission interval is
 * computed.
 *
 * The times are in a hash table without chains: if two hosts have the same slot, the host with the
 * newer sample replaces the other one. A sample includes the time in which the peer's program
 * decides. So the stored time follows a shorter sample at once, and a longer one slowly.
 */

#include "cm/context.h"

/**
 * Record that a host has answered a CM message after `sample_ns`. The message must have been sent
 * only once.
 */
void uroce_cm_rtt_sample(struct uroce_cm *cm, const uint8_t gid[16], uint64_t sample_ns);

/**
 * Get the time to wait for a host's answer before a CM message is retransmitted for the first time.
 */
uint64_t uroce_cm_rtt_interval(const struct uroce_cm *cm, const uint8_t gid[16]);

#endif /* UROCE_CM_RTT_H */
