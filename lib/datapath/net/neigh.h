/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_NEIGH_H
#define UROCE_DATAPATH_NEIGH_H

/**
 * @file
 * Neighbours, for addresses of a device that are not the kernel's. The functions do three things.
 * They fill a cache that maps an IP address to a MAC, by ARP [RFC 826] and neighbour discovery (ND)
 * [RFC 4861]. They reply to ARP and ND requests for the device's addresses. They reply to pings, so
 * that a user can see that the device is up.
 *
 * A request of this device creates an entry of the cache, and so does another host's request for an
 * address of this device. A reply without an entry is ignored. No frame creates an entry for these
 * addresses: the device's own addresses; an address that no host has (a group, a broadcast,
 * 0.0.0.0); and with ND an IPv4 address. A multicast MAC is never stored.
 *
 * The cache is bounded. Unsolicited entries never replace requested ones. So a flood of forged
 * requests replaces only entries of its own kind. A frame causes at most one reply, of about the
 * same size.
 *
 * Frames are contiguous, and are turned into replies in place. Any thread may call these functions,
 * because they take a lock of their own.
 */

#include <stdbool.h>
#include <stdint.h>

#include "datapath/device/conf.h"

/** Maximum number of addresses for which the device replies. */
#define UROCE_NEIGH_ADDRS_MAX 16

/**
 * Length in bytes of the longest frame that uroce_neigh_request() and uroce_neigh_report() build.
 */
#define UROCE_NEIGH_REQUEST_MAX 90

/**
 * Lifetime in ns of an entry of the neighbour cache. After this time the neighbour is resolved
 * again.
 */
#define UROCE_NEIGH_FRESH_NS UINT64_C(30000000000)

/** The addresses of this device, and its MAC and VLAN. struct uroce_neigh has its own copy. */
struct uroce_neigh_conf {
	uint8_t mac[6];
	bool has_vlan;
	uint16_t vlan_tci;
	unsigned nb_addr;
	struct uroce_addr addr[UROCE_NEIGH_ADDRS_MAX]; /* addresses for which this device replies */
};

/** The result of the processing of a received frame by uroce_neigh_input(). */
enum uroce_neigh_verdict {
	UROCE_NEIGH_IGNORED,
	/*
	 * The frame is a reply to a request of this device, or a router's query for multicast
	 * groups.
	 */
	UROCE_NEIGH_LEARNT,
	UROCE_NEIGH_REPLY, /* the frame has become a reply, which the caller must send */
};

struct uroce_neigh;

/**
 * Create the neighbour state of a device: its neighbour cache, and its addresses for replies.
 * @return the state; NULL after one logged line: no memory
 */
struct uroce_neigh *uroce_neigh_create(const struct uroce_neigh_conf *conf);
void uroce_neigh_destroy(struct uroce_neigh *neigh);

struct uroce_gid_table;

/**
 * Replace the device's addresses by those addresses in `gids` that are not the kernel's. Before the
 * next call, the caller must wait until all threads have left earlier calls of functions of this
 * header.
 */
void uroce_neigh_set_addrs(struct uroce_neigh *neigh, const struct uroce_gid_table *gids);

/**
 * Process a received frame that is not RoCE.
 * @param[in,out] len  length of the frame; if the frame becomes a reply, length of the reply
 * @param room  maximum length of a reply
 * @return what the caller must do with the frame
 */
enum uroce_neigh_verdict uroce_neigh_input(struct uroce_neigh *neigh, uint8_t *frame, uint32_t *len,
					   uint32_t room, uint64_t now_ns);

/**
 * Look up the MAC of a neighbour in the neighbour cache.
 * @return whether the cache has an entry that is not expired
 */
bool uroce_neigh_find(struct uroce_neigh *neigh, const uint8_t ip[16], uint64_t now_ns,
		      uint8_t mac[6]);

/**
 * Build an ARP or ND request for the MAC of a neighbour, and create an entry of the neighbour cache
 * for the reply.
 * @param sip  the address of the device from which the request is sent
 * @param[out] frame  the request; has room for UROCE_NEIGH_REQUEST_MAX bytes
 * @return length of the frame
 */
uint32_t uroce_neigh_request(struct uroce_neigh *neigh, const uint8_t sip[16], const uint8_t ip[16],
			     uint64_t now_ns, uint8_t *frame);

/** The kinds of reports of a multicast group. */
enum uroce_neigh_report {
	/*
	 * The group is new. Its report must be repeated when uroce_neigh_is_report_due() returns
	 * true.
	 */
	UROCE_NEIGH_JOINED,
	UROCE_NEIGH_MEMBER, /* the device still is a member of the group */
	UROCE_NEIGH_LEFT,
};

/**
 * Build a report of a multicast group for routers and snooping switches [RFC 2236, RFC 2710].
 * @param[out] frame  the report; has room for UROCE_NEIGH_REQUEST_MAX bytes
 * @return length of the frame; 0: this group is not reported
 */
uint32_t uroce_neigh_report(struct uroce_neigh *neigh, const uint8_t group[16],
			    enum uroce_neigh_report report, uint64_t now_ns, uint8_t *frame);

/**
 * Whether all multicast groups must be reported now, because a router has sent a query or a group
 * is new. After a call that returns true, the groups are not due any more.
 */
bool uroce_neigh_is_report_due(struct uroce_neigh *neigh, uint64_t now_ns);

#endif /* UROCE_DATAPATH_NEIGH_H */
