/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_FRAME_H
#define UROCED_FRAME_H

/**
 * @file
 * Parses the first bytes of frames and filters frames. A client may send only frames that its host
 * could send and that the RDMA library of a client does send. From the wire only frames that a
 * client can use pass.
 *
 * All decisions are made on a copy of these bytes that clients cannot change.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "mux/message.h"

/**
 * Maximum number of bytes of a frame that are parsed: all headers up to the DETH, with a VLAN tag
 * and IPv4 options.
 */
#define FRAME_HEAD            128u

#define FRAME_QPN_GROUP       0xffffffu /* the destination QPN of multicast datagrams */
#define FRAME_QPN_NONE        UINT32_MAX

#define FRAME_QKEY_PRIVILEGED 0x80000000u /* the bit that makes a Q_Key privileged */

enum frame_kind {
	FRAME_OTHER,
	FRAME_ROCE,   /* a RoCEv2 frame: UDP to port 4791 */
	FRAME_ASK,    /* an ARP request or a neighbour solicitation of IPv6 */
	FRAME_ANSWER, /* an ARP reply or a neighbour advertisement of IPv6 */
	FRAME_QUERY,  /* an IGMP or MLD query */
	FRAME_REPORT, /* an IGMP or MLD report */
};

/** The parsed headers of a frame. The pointers point into the frame. */
struct frame {
	enum frame_kind kind;
	const uint8_t *bytes;
	bool is_ipv6;
	uint16_t vid; /* VLAN ID of the frame; 0 if the frame has no tag, or a tag with VLAN ID 0 */
	/*
	 * source IP address, 4 or 16 bytes; in ARP the address of the sender; NULL if `kind` is
	 * FRAME_OTHER
	 */
	const uint8_t *sip;
	const uint8_t *dip; /* destination IP address, with the same length as `sip` */
	/*
	 * MAC address of the sender in an ARP frame or a neighbour solicitation; NULL in other
	 * frames
	 */
	const uint8_t *sender;
	uint32_t qpn;     /* destination QPN of a RoCE frame; valid if `kind` is FRAME_ROCE */
	uint32_t src_qpn; /* the source QPN of a UD datagram; FRAME_QPN_NONE in other frames */
	uint32_t qkey;    /* the Q_Key of a UD datagram */
	/*
	 * multicast group of an IGMPv2 or MLDv1 report, with the same length as `sip`; NULL in
	 * other frames
	 */
	const uint8_t *group;
	bool is_leave; /* the report is a leave message: the sender has left the group */
};

/** The addresses of this host, in the form in which each frame is compared with them. */
struct frame_host {
	uint8_t mac[6];
	uint16_t vid;
	/*
	 * the port is `udp`: frames leave as UDP datagrams of a socket, and the kernel resolves
	 * neighbours
	 */
	bool is_udp;
	uint32_t frame_limit;
	unsigned nb_ip4, nb_ip6;
	uint8_t ip4[UROCE_MUX_ADDRS_MAX][4];
	uint8_t ip6[UROCE_MUX_ADDRS_MAX][16];
};

/** The reasons why a frame is dropped. Each reason has a counter. */
#define FRAME_DROPS(X)                                                                             \
	X(SLOT, "slot")               /* the descriptor does not describe a frame */               \
	X(SOURCE, "source")           /* the source MAC, address or VLAN is not the host's */      \
	X(KIND, "kind")               /* frames of this kind may not pass (enum frame_kind) */     \
	X(MANAGEMENT, "qp1")          /* QP 0 or 1 is not allowed, or MAC and QPN disagree */      \
	X(FORGED, "forged")           /* the source QP of a datagram is not the sender's */        \
	X(UNBOUND, "unbound")         /* the destination QP is not connected to the sender */      \
	X(QKEY, "qkey")               /* the Q_Key is privileged, and the user is not root */      \
	X(NOT_OURS, "not_ours")       /* a frame from the wire is for another host */              \
	X(OUR_SOURCE, "our_source")   /* a frame from the wire has this host's MAC or IP */        \
	X(NOBODY, "nobody")           /* no client holds the destination QPN */                    \
	X(RING_FULL, "ring_full")     /* the receiving client's ring has no room */                \
	X(BUFFER, "buffer")           /* receiving client's buffer is missing or too small */      \
	X(LIMITED, "limited")         /* too many Get(ClassPortInfo): replies are limited */       \
	X(GROUP, "group")             /* the kernel cannot join the multicast group */             \
	X(GROUP_LIMIT, "group_limit") /* the user may not join the multicast group */              \
	X(WIRE, "wire")               /* there is no link or mbuf, or the port takes no frames */

enum frame_drop {
#define X(name, text) FRAME_DROP_##name,
	FRAME_DROPS(X)
#undef X
		FRAME_NB_DROPS,
	FRAME_PASSES = FRAME_NB_DROPS,
};

extern const char *const frame_drop_text[FRAME_NB_DROPS];

/**
 * Set the addresses of this host from the contents of HOST, the message by which clients learn the
 * addresses of their host.
 */
void frame_host_set(struct frame_host *host, const struct uroce_mux_host *told);

/**
 * Parse the headers of a frame.
 * @param len  the number of bytes in `bytes`; no other thread may change these bytes
 */
void frame_read(const uint8_t *bytes, uint32_t len, struct frame *frame);

/**
 * Check whether a frame from a client may pass.
 * @return FRAME_PASSES, or why the frame is dropped
 */
enum frame_drop frame_filter_up(const struct frame *frame, const struct frame_host *host);

/**
 * Check whether a frame from the wire may pass. If it is a FRAME_ASK (a request of ARP or neighbour
 * discovery), uroced itself replies.
 * @return FRAME_PASSES, or why the frame is dropped
 */
enum frame_drop frame_filter_wire(const struct frame *frame, const struct frame_host *host);

/** Check whether the destination MAC of a frame is that of this host. */
static inline bool
frame_is_to_us(const struct frame *frame, const struct frame_host *host)
{
	return memcmp(frame->bytes, host->mac, sizeof(host->mac)) == 0;
}

/**
 * Check whether a frame is a datagram with a privileged Q_Key [IBA 10.2.5]. A work request cannot
 * set a privileged Q_Key. A frame carries one if a privileged user has set it in the sending QP.
 */
static inline bool
frame_has_privileged_qkey(const struct frame *frame)
{
	return frame->kind == FRAME_ROCE && frame->src_qpn != FRAME_QPN_NONE &&
	       frame->qkey & FRAME_QKEY_PRIVILEGED;
}

/**
 * Check whether a RoCE frame belongs to a connection (RC, UC, XRC, or a CNP for one). The headers
 * of such a frame have no source QPN.
 */
static inline bool
frame_is_connected(const struct frame *frame)
{
	return frame->kind == FRAME_ROCE && frame->src_qpn == FRAME_QPN_NONE;
}

static inline bool
frame_is_to_group(const struct frame *frame)
{
	return frame->bytes[0] & 1;
}

#endif /* UROCED_FRAME_H */
