/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_NEIGH_FRAME_H
#define UROCE_DATAPATH_NEIGH_FRAME_H

/**
 * @file
 * The frames of ARP, neighbour discovery and ping. The functions parse a frame, turn a request into
 * its reply in place, and return what the frame claims about its sender. The functions keep no
 * state.
 */

#include <stdbool.h>
#include <stdint.h>

#include "datapath/net/neigh.h"

#define UROCE_IPPROTO_ICMP   1
#define UROCE_IPPROTO_ICMPV6 58

/** A received frame whose Ethernet header and VLAN tag have been parsed. */
struct uroce_l2 {
	uint8_t *frame;
	uint8_t *l3;     /* start of layer 3, behind the Ethernet header and the VLAN tag */
	uint32_t l3_len; /* number of bytes from `l3` to the end of the frame */
	uint32_t room;   /* number of bytes from `l3` on that a reply may use, at least l3_len */
	uint16_t type;   /* EtherType of the frame, behind the VLAN tag */
};

/** What a frame of ARP or neighbour discovery claims about its sender: its IP address and MAC. */
struct uroce_neigh_claim {
	uint8_t ip[16];
	uint8_t mac[6];
	bool is_valid; /* `ip` and `mac` are valid addresses of a host */
	/*
	 * The frame is a reply to a request; false: the frame is a request for an address of this
	 * device.
	 */
	bool is_answer;
};

/** Whether `ip` is an address of this device. */
bool uroce_neigh_is_ours(const struct uroce_neigh_conf *conf, const uint8_t ip[16]);

/**
 * Whether `ip` may be the address of another host. It must not be an address of this device, a
 * group, a broadcast, a loopback or the unspecified address. IPv4 addresses are in their
 * IPv4-mapped form, which only ARP may use.
 */
bool uroce_neigh_is_host(const struct uroce_neigh_conf *conf, const uint8_t ip[16]);

/**
 * Write the Ethernet header and the VLAN tag of a frame that this device sends.
 * @return address behind these headers, where the rest of the frame begins
 */
uint8_t *uroce_l2_put(const struct uroce_neigh_conf *conf, uint8_t *frame, const uint8_t dmac[6],
		      uint16_t type);

/** Rewrite the Ethernet addresses of a frame for a reply to `dmac`. */
void uroce_l2_return(const struct uroce_neigh_conf *conf, uint8_t *frame, const uint8_t dmac[6]);

/*
 * Each of the three functions below processes one kind of frame, and turns a request for this
 * device into its reply.
 * @param[out] claim  what the frame claims about its sender; not valid (is_valid) if it claims
 *         nothing
 * @param[out] len  length of the reply
 * @return whether the frame is a reply now
 */
bool uroce_arp_reply(const struct uroce_neigh_conf *conf, const struct uroce_l2 *l2,
		     struct uroce_neigh_claim *claim);
bool uroce_icmp_reply(const struct uroce_neigh_conf *conf, const struct uroce_l2 *l2,
		      uint32_t *len);
bool uroce_icmpv6_reply(const struct uroce_neigh_conf *conf, const struct uroce_l2 *l2,
			struct uroce_neigh_claim *claim, uint32_t *len);

/**
 * Build a request for the MAC of `ip`. `frame` has room for UROCE_NEIGH_REQUEST_MAX bytes.
 * @return length of the frame
 */
uint32_t uroce_arp_request(const struct uroce_neigh_conf *conf, const uint8_t sip[16],
			   const uint8_t ip[16], uint8_t *frame);
uint32_t uroce_icmpv6_solicit(const struct uroce_neigh_conf *conf, const uint8_t sip[16],
			      const uint8_t ip[16], uint8_t *frame);

#endif /* UROCE_DATAPATH_NEIGH_FRAME_H */
