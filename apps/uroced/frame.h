/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_FRAME_H
#define UROCED_FRAME_H

/**
 * @file
 * Frames, by their first bytes: what they are, and whether they may pass. From a client those alone that its host
 * could have sent, of the kinds that an engine sends; from the wire those that a client could want.
 *
 * Nothing here is believed that was not read from a copy of uroced's own.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "mux/message.h"

/** Bytes of a frame that are judged: every header up to DETH, with a tag and options of IPv4. */
#define FRAME_HEAD            128u

#define FRAME_QPN_GROUP       0xffffffu /* datagrams to groups */
#define FRAME_QPN_NONE        UINT32_MAX

#define FRAME_QKEY_PRIVILEGED 0x80000000u /* a bit of a Q_Key */

enum frame_kind {
	FRAME_OTHER,
	FRAME_ROCE,   /* UDP, port 4791 */
	FRAME_ASK,    /* for a neighbour: request of ARP, neighbour solicitation */
	FRAME_ANSWER, /* of a neighbour */
	FRAME_QUERY,  /* for members of groups: IGMP, MLD */
	FRAME_REPORT, /* of one */
};

/** What is written in a frame; pointers lead into it. */
struct frame {
	enum frame_kind kind;
	const uint8_t *bytes;
	bool is_ipv6;
	uint16_t vid;          /* 0: no tag, or one without a network */
	const uint8_t *sip;    /* 4 or 16 bytes; of ARP the sender's. NULL where kind is OTHER */
	const uint8_t *dip;    /* the same */
	const uint8_t *sender; /* the MAC that an ARP or a solicitation tells; NULL: none */
	uint32_t qpn;          /* RoCE: for this QP */
	uint32_t src_qpn;      /* datagrams: by this QP; FRAME_QPN_NONE */
	uint32_t qkey;         /* of those */
};

/** Who we are, as it is asked for each frame. */
struct frame_host {
	uint8_t mac[6];
	uint16_t vid;
	uint32_t frame_limit;
	unsigned nb_ip4, nb_ip6;
	uint8_t ip4[UROCE_MUX_ADDRS_MAX][4];
	uint8_t ip6[UROCE_MUX_ADDRS_MAX][16];
};

/** Why a frame did not pass; what is counted. */
#define FRAME_DROPS(X)                                                                             \
	X(SLOT, "slot")       /* its slot names no frame */                                        \
	X(SOURCE, "source")   /* not of our MAC, address or network */                             \
	X(KIND, "kind")       /* nothing that may pass */                                          \
	X(MANAGEMENT, "qp1")  /* for the QPs of management, which nobody has */                    \
	X(FORGED, "forged")   /* a datagram by a QP that is not the sender's */                    \
	X(UNBOUND, "unbound") /* for a QP that its owner has not connected to the sender */        \
	X(QKEY, "qkey") /* a datagram of a privileged Q_Key, by a user who has no privilege */     \
	X(NOT_OURS, "not_ours")     /* from the wire, for another host */                          \
	X(OUR_SOURCE, "our_source") /* from the wire, by a MAC or an address of ours */            \
	X(NOBODY, "nobody")         /* for a QP number without a client */                         \
	X(RING_FULL, "ring_full")   /* the receiver has no room */                                 \
	X(BUFFER, "buffer")         /* the receiver's slot names no buffer, or a short one */      \
	X(WIRE, "wire")             /* the link is down, or the port stands still */

enum frame_drop {
#define X(name, text) FRAME_DROP_##name,
	FRAME_DROPS(X)
#undef X
		FRAME_NB_DROPS,
	FRAME_PASSES = FRAME_NB_DROPS,
};

extern const char *const frame_drop_text[FRAME_NB_DROPS];

/** From what clients are told. */
void frame_host_set(struct frame_host *host, const struct uroce_mux_host *told);

/** Read a frame of which `len` bytes are at hand, and these do not change. */
void frame_read(const uint8_t *bytes, uint32_t len, struct frame *frame);

/** Whether a frame that a client sends may pass. */
enum frame_drop frame_filter_up(const struct frame *frame, const struct frame_host *host);

/** Whether one that came from the wire may: FRAME_ASK is for us to answer. */
enum frame_drop frame_filter_wire(const struct frame *frame, const struct frame_host *host);

/** Whether it is sent to our MAC. */
static inline bool
frame_is_to_us(const struct frame *frame, const struct frame_host *host)
{
	return memcmp(frame->bytes, host->mac, sizeof(host->mac)) == 0;
}

/**
 * Whether it is a datagram with a privileged Q_Key [IBA 10.2.5]: it is that of a QP to which a privileged user gave it, which a
 * work request cannot give.
 */
static inline bool
frame_has_privileged_qkey(const struct frame *frame)
{
	return frame->kind == FRAME_ROCE && frame->src_qpn != FRAME_QPN_NONE &&
	       frame->qkey & FRAME_QKEY_PRIVILEGED;
}

/** Whether it is of a connection (RC, UC, XRC, or a CNP for one): it does not say which QP sent it. */
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
