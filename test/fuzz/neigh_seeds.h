/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_NEIGH_SEEDS_H
#define FUZZ_NEIGH_SEEDS_H

/**
 * @file
 * Valid frames of ARP, neighbour discovery, ping, IGMP and MLD, which fuzzers mutate and truncate.
 */

#include <stdint.h>

#include "../dpdk/neigh_frames.h"

static const struct {
	const uint8_t *bytes;
	uint32_t len;
} seeds[] = {
#define SEED(name)                                                                                 \
	{                                                                                          \
		name, sizeof(name)                                                                 \
	}
	SEED(arp_request),
	SEED(arp_reply),
	SEED(arp_question),
	SEED(arp_answer),
	SEED(ns),
	SEED(na),
	SEED(ns_probe),
	SEED(na_to_all),
	SEED(ns_question),
	SEED(na_answer),
	SEED(ping),
	SEED(pong),
	SEED(ping_options),
	SEED(pong_options),
	SEED(ping6),
	SEED(pong6),
	SEED(igmp_report),
	SEED(igmp_leave),
	SEED(igmp_query),
	SEED(igmp_query_v1),
	SEED(igmp_query_v3),
	SEED(mld_report),
	SEED(mld_done),
	SEED(mld_query),
	SEED(mld_query_v2),
	SEED(arp_request_tagged),
	SEED(arp_reply_tagged),
};

#endif /* FUZZ_NEIGH_SEEDS_H */
