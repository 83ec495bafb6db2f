/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_NEIGH_H
#define UROCE_DATAPATH_NEIGH_H

/**
 * @file
 * Neighbours, where the addresses are ours and not the kernel's: a cache from IP to MAC, filled by
 * ARP [RFC 826] and neighbour discovery [RFC 4861]; our answers to those who ask for us; and the
 * answer to ping, so that a user can tell that the device is up.
 *
 * An entry is made when we ask, or when somebody asks for us; anything else that claims to be an
 * answer is ignored. No frame makes an entry of our own address, of one that no host has (a group, a
 * broadcast, 0.0.0.0), or of a group's MAC, and neighbour discovery none of an IPv4 address. The cache is bounded, and what we asked for is not pushed out by what came
 * unasked, so a flood of forged requests costs its own entries only. A frame is answered by at most
 * one frame, of about the same size.
 *
 * Frames are contiguous and answered in place. Any thread; a lock of its own is taken.
 */

#include <stdbool.h>
#include <stdint.h>

#include "datapath/conf.h"

/** Addresses that we can answer for. */
#define UROCE_NEIGH_ADDRS_MAX 16

/** Longest frame that uroce_neigh_request() and uroce_neigh_report() build. */
#define UROCE_NEIGH_REQUEST_MAX 90

/** How long an answer is believed before we ask again. */
#define UROCE_NEIGH_FRESH_NS UINT64_C(30000000000)

/** Who we are; copied. */
struct uroce_neigh_conf {
	uint8_t mac[6];
	bool has_vlan;
	uint16_t vlan_tci;
	unsigned nb_addr;
	struct uroce_addr addr[UROCE_NEIGH_ADDRS_MAX]; /* ours to answer for */
};

/** What became of a frame. */
enum uroce_neigh_verdict {
	UROCE_NEIGH_IGNORED,
	UROCE_NEIGH_LEARNT, /* an answer that we waited for, or a router's question for groups */
	UROCE_NEIGH_REPLY,  /* the frame is now our answer: send it */
};

struct uroce_neigh;

/** @return NULL after one logged line: no memory */
struct uroce_neigh *uroce_neigh_create(const struct uroce_neigh_conf *conf);
void uroce_neigh_destroy(struct uroce_neigh *neigh);

struct uroce_gid_table;

/**
 * The addresses are others: those of the table that are not the kernel's. Whoever may be in a call is waited for
 * before the next time.
 */
void uroce_neigh_set_addrs(struct uroce_neigh *neigh, const struct uroce_gid_table *gids);

/**
 * Look at a frame that is not RoCE.
 * @param[in,out] len  bytes of the frame; of the reply, if it becomes one
 * @param room  bytes that a reply may take
 */
enum uroce_neigh_verdict uroce_neigh_input(struct uroce_neigh *neigh, uint8_t *frame, uint32_t *len,
					   uint32_t room, uint64_t now_ns);

/** The MAC of a neighbour. @return whether a fresh answer is in the cache */
bool uroce_neigh_find(struct uroce_neigh *neigh, const uint8_t ip[16], uint64_t now_ns,
		      uint8_t mac[6]);

/**
 * Ask for a neighbour: build the question and keep a place for the answer.
 * @param sip  which of our addresses asks
 * @param[out] frame  room for UROCE_NEIGH_REQUEST_MAX
 * @return length of the frame
 */
uint32_t uroce_neigh_request(struct uroce_neigh *neigh, const uint8_t sip[16], const uint8_t ip[16],
			     uint64_t now_ns, uint8_t *frame);

/** What is said of a group. */
enum uroce_neigh_report {
	UROCE_NEIGH_JOINED, /* to be said once more: uroce_neigh_is_report_due() will tell when */
	UROCE_NEIGH_MEMBER, /* we still listen to it */
	UROCE_NEIGH_LEFT,
};

/**
 * Tell routers, and switches that snoop, of a group [RFC 2236, RFC 2710].
 * @param[out] frame  room for UROCE_NEIGH_REQUEST_MAX
 * @return length of the frame; 0: nobody has to be told of this group
 */
uint32_t uroce_neigh_report(struct uroce_neigh *neigh, const uint8_t group[16],
			    enum uroce_neigh_report report, uint64_t now_ns, uint8_t *frame);

/** Whether all groups are to be reported now, for a router has asked or one is new; then no longer. */
bool uroce_neigh_is_report_due(struct uroce_neigh *neigh, uint64_t now_ns);

#endif /* UROCE_DATAPATH_NEIGH_H */
