/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_NEIGH_FRAME_H
#define UROCE_DATAPATH_NEIGH_FRAME_H

/**
 * @file
 * The frames of ARP, neighbour discovery and ping: reading them, and turning a question into its
 * answer in place. No state; what to learn from a frame is handed back.
 */

#include <stdbool.h>
#include <stdint.h>

#include "datapath/neigh.h"

#define UROCE_IPPROTO_ICMP   1
#define UROCE_IPPROTO_ICMPV6 58

/** A frame, its Ethernet header read. */
struct uroce_l2 {
	uint8_t *frame;
	uint8_t *l3;     /* after the Ethernet header and the tag */
	uint32_t l3_len; /* bytes from there on */
	uint32_t room;   /* bytes from there on that an answer may take, >= l3_len */
	uint16_t type;   /* EtherType */
};

/** What a frame says about its sender. */
struct uroce_neigh_claim {
	uint8_t ip[16];
	uint8_t mac[6];
	bool is_valid;  /* ip and mac are a host's */
	bool is_answer; /* it answers a question; else it asks for us */
};

/** Whether `ip` is one of ours. */
bool uroce_neigh_is_ours(const struct uroce_neigh_conf *conf, const uint8_t ip[16]);

/**
 * Whether `ip` may be another host's: not ours, and neither a group, a broadcast, a loopback nor an unspecified
 * address. IPv4 is in its mapped form, which ARP alone may speak of.
 */
bool uroce_neigh_is_host(const struct uroce_neigh_conf *conf, const uint8_t ip[16]);

/** Write the Ethernet header (and tag) of a frame from us. @return where the rest begins */
uint8_t *uroce_l2_put(const struct uroce_neigh_conf *conf, uint8_t *frame, const uint8_t dmac[6],
		      uint16_t type);

/** Send a frame back to where it came from. */
void uroce_l2_return(const struct uroce_neigh_conf *conf, uint8_t *frame, const uint8_t dmac[6]);

/*
 * Each of these looks at one kind of frame. @return whether the frame has become our answer, then
 * `len` is its length. `heard` is set to what may be learnt, if anything.
 */
bool uroce_arp_reply(const struct uroce_neigh_conf *conf, const struct uroce_l2 *l2,
		     struct uroce_neigh_claim *heard);
bool uroce_icmp_reply(const struct uroce_neigh_conf *conf, const struct uroce_l2 *l2,
		      uint32_t *len);
bool uroce_icmpv6_reply(const struct uroce_neigh_conf *conf, const struct uroce_l2 *l2,
			struct uroce_neigh_claim *heard, uint32_t *len);

/** Build a question; `frame` has room for UROCE_NEIGH_REQUEST_MAX. @return its length */
uint32_t uroce_arp_request(const struct uroce_neigh_conf *conf, const uint8_t sip[16],
			   const uint8_t ip[16], uint8_t *frame);
uint32_t uroce_icmpv6_solicit(const struct uroce_neigh_conf *conf, const uint8_t sip[16],
			      const uint8_t ip[16], uint8_t *frame);

#endif /* UROCE_DATAPATH_NEIGH_FRAME_H */
