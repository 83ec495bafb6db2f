/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_COUNTER_H
#define UROCE_TRANSPORT_COUNTER_H

/**
 * @file
 * The counters of a device. One list gives the enum, the name, the source of the name, and the
 * description.
 *
 * A counter that the InfiniBand specification, rxe or mlx5 defines with the same meaning has their
 * name. Every worker has a set of counters, which it alone writes. Readers sum the sets
 * (datapath/device/stats.h), and compute some counters there from others or from verdicts.
 */

#include <stdint.h>

/** Where the name of a counter comes from. */
enum uroce_counter_source {
	UROCE_COUNTER_OF_IBTA, /* InfiniBand port counters, in sysfs below ports/1/counters */
	/*
	 * rxe, in sysfs below ports/1/hw_counters; mlx5 counters of these names have the same
	 * meaning
	 */
	UROCE_COUNTER_OF_RXE,
	UROCE_COUNTER_OF_MLX5,  /* mlx5, in sysfs below ports/1/hw_counters */
	UROCE_COUNTER_OF_UROCE, /* this library */
};

/* The octets of a frame are those from its Ethernet header to its ICRC. */
/* clang-format off */
#define UROCE_COUNTER_LIST(X) \
	/* the port */ \
	X(PORT_XMIT_DATA,             IBTA,  "octets of the RoCE packets that the port took, divided by 4") \
	X(PORT_RCV_DATA,              IBTA,  "octets of the RoCE packets received for our addresses, divided by 4") \
	X(PORT_XMIT_PACKETS,          IBTA,  "RoCE packets that the port took") \
	X(PORT_RCV_PACKETS,           IBTA,  "RoCE packets received for our addresses, those with errors included") \
	X(UNICAST_XMIT_PACKETS,       IBTA,  "of port_xmit_packets, those to one receiver") \
	X(UNICAST_RCV_PACKETS,        IBTA,  "of port_rcv_packets, those not to a multicast group") \
	X(MULTICAST_XMIT_PACKETS,     IBTA,  "of port_xmit_packets, those to a multicast group") \
	X(MULTICAST_RCV_PACKETS,      IBTA,  "of port_rcv_packets, those to a multicast group with members here") \
	X(PORT_RCV_ERRORS,            IBTA,  "of port_rcv_packets, those malformed or with a wrong ICRC") \
	X(PORT_XMIT_DISCARDS,         IBTA,  "RoCE packets lost since the port was down, or took none") \
	X(LINK_DOWNED,                IBTA,  "times that the port's link went down") \
	/* packets and messages */ \
	X(SENT_PKTS,                  RXE,   "RoCE packets sent, those to ourselves included") \
	X(RCVD_PKTS,                  RXE,   "RoCE packets that a QP took, those from ourselves included") \
	X(RDMA_SENDS,                 RXE,   "SENDs that completed") \
	X(RDMA_RECVS,                 RXE,   "receive requests that completed") \
	X(RX_WRITE_REQUESTS,          MLX5,  "WRITEs of peers that began") \
	X(RX_READ_REQUESTS,           MLX5,  "READs of peers that were granted, a long one as often as it asks") \
	X(RX_ATOMIC_REQUESTS,         MLX5,  "atomics of peers that were executed, ATOMIC_WRITE included") \
	/* the responder */ \
	X(DUPLICATE_REQUEST,          RXE,   "requests of peers received again after they were executed") \
	X(OUT_OF_SEQUENCE,            MLX5,  "requests of peers received ahead of one that is missing") \
	X(RX_BEYOND_WINDOW,           UROCE, "of out_of_sequence, those farther ahead than the peer was seen to have outstanding") \
	X(RX_PSN_CONFLICT,            UROCE, "requests of peers with the PSN of another that came ahead, but not the same, or impossible at their turn") \
	X(OUT_OF_SEQ_REQUEST,         RXE,   "NAKs sent: PSN sequence error, one for each hole") \
	X(OUT_OF_BUFFER,              MLX5,  "requests of peers that found no receive request posted") \
	X(SEND_RNR_ERR,               RXE,   "RNR NAKs sent") \
	X(RESP_LOCAL_LENGTH_ERROR,    MLX5,  "messages of peers longer than the receive request") \
	X(RESP_REMOTE_ACCESS_ERRORS,  MLX5,  "requests of peers refused: key, range or right") \
	X(RX_WRITE_UNREAD,            UROCE, "WRITEs on UC dropped unread, since too many keys of the last second were bad") \
	X(RESP_CQE_ERROR,             MLX5,  "receive requests that completed in error, those flushed included") \
	X(RESP_CQE_FLUSH_ERROR,       MLX5,  "receive requests that were flushed") \
	/* the requester */ \
	X(RETRANSMITTED_PKTS,         UROCE, "request packets sent again") \
	X(PACKET_SEQ_ERR,             MLX5,  "NAKs received: PSN sequence error") \
	X(RCVD_SEQ_ERR,               RXE,   "the same") \
	X(IMPLIED_NAK_SEQ_ERR,        MLX5,  "holes found since an answer passed by that of a READ or atomic") \
	X(RCVD_RNR_ERR,               RXE,   "RNR NAKs received") \
	X(RCVD_RNR_FALSE,             UROCE, "of rcvd_rnr_err, those whose request was acknowledged without being repeated") \
	X(RNR_NAK_RETRY_ERR,          MLX5,  "of rcvd_rnr_err, those after which there were retries left") \
	X(LOCAL_ACK_TIMEOUT_ERR,      MLX5,  "ACK timeouts after which there were retries left") \
	X(ACK_TIMEOUTS,               UROCE, "ACK timeouts, those after the last retry included") \
	X(RETRY_EXCEEDED_ERR,         RXE,   "requests that failed after their last retry") \
	X(RETRY_RNR_EXCEEDED_ERR,     RXE,   "requests that failed after their last RNR retry") \
	X(REQ_REMOTE_INVALID_REQUEST, MLX5,  "requests that failed by a NAK: invalid request") \
	X(REQ_REMOTE_ACCESS_ERRORS,   MLX5,  "requests that failed by a NAK: remote access error") \
	X(REQ_CQE_ERROR,              MLX5,  "send requests that completed in error, those flushed included") \
	X(REQ_CQE_FLUSH_ERROR,        MLX5,  "send requests that were flushed") \
	/* congestion */ \
	X(NP_ECN_MARKED_ROCE_PACKETS, MLX5,  "packets for our QPs that a switch had marked") \
	X(NP_CNP_SENT,                MLX5,  "congestion notifications sent") \
	X(RP_CNP_HANDLED,             MLX5,  "congestion notifications received that lowered a rate") \
	X(RP_CNP_IGNORED,             MLX5,  "the others received") \
	X(RP_CNP_IMPLAUSIBLE,         UROCE, "of rp_cnp_ignored, those that came too soon, or answer nothing that was sent") \
	/* integrity */ \
	X(RX_ICRC_ENCAPSULATED,       MLX5,  "RoCE packets received whose ICRC was wrong") \
	/* workers */ \
	X(LOOPBACK_PKTS,              UROCE, "packets from us to us, which the port did not see") \
	X(FORWARDED_PKTS,             UROCE, "packets that arrived at another worker than their QP's") \
	X(MIGRATED_QPS,               UROCE, "QPs that moved to the worker at which their packets arrive") \
	X(RX_FRAMES,                  UROCE, "frames received of any kind") \
	X(TX_FRAMES,                  UROCE, "frames that the port took of any kind") \
	X(TX_FULL,                    UROCE, "rounds in which the port took fewer frames than offered") \
	X(TX_ZERO_COPY,               UROCE, "packets sent whose payload was not copied") \
	X(NO_MBUF,                    UROCE, "rounds in which nothing was sent since the packet pool was empty") \
	X(RX_OUR_SOURCE,              UROCE, "frames from the wire with an address of ours as their source, dropped") \
	X(RX_LINEARISED,              UROCE, "frames received in pieces, and copied into one") \
	X(RX_COPIED,                  UROCE, "frames copied since they had to wait behind a hole") \
	X(ROUNDS,                     UROCE, "rounds of the workers") \
	X(IDLE_ROUNDS,                UROCE, "of these, those in which there was nothing to do")

enum uroce_counter {
#define UROCE_COUNTER_ENUM(name, source, text) UROCE_COUNTER_##name,
	UROCE_COUNTER_LIST(UROCE_COUNTER_ENUM)
#undef UROCE_COUNTER_ENUM
	UROCE_COUNTER_NB
};
/* clang-format on */

/** A set of counters, with one writer. */
struct uroce_counters {
	uint64_t nb[UROCE_COUNTER_NB];
};

/** The name of a counter in lower case ("port_xmit_data"); never NULL, "?" when out of range. */
const char *uroce_counter_name(enum uroce_counter counter);

/** The description of a counter; never NULL, at most 127 characters, "?" when out of range. */
const char *uroce_counter_text(enum uroce_counter counter);

/** The source of a counter's name. The counter must be in range. */
enum uroce_counter_source uroce_counter_source(enum uroce_counter counter);

/** Add `nb` to a counter. Only its writer may call; other threads may read at the same time. */
static inline void
uroce_count(uint64_t *counter, uint64_t nb)
{
	__atomic_store_n(counter, *counter + nb, __ATOMIC_RELAXED);
}

/** Add `nb` to a counter of a set; `counters` NULL: do nothing. */
static inline void
uroce_count_in(struct uroce_counters *counters, enum uroce_counter which, uint64_t nb)
{
	if (counters)
		uroce_count(&counters->nb[which], nb);
}

/** Read a counter; any thread may call. */
static inline uint64_t
uroce_counted(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

#endif /* UROCE_TRANSPORT_COUNTER_H */
