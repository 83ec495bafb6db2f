/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_COUNTER_H
#define UROCE_TRANSPORT_COUNTER_H

/**
 * @file
 * The counters of a device. One list gives the enum, the name, the source of the name, and the
 * description. If the InfiniBand specification, rxe or mlx5 defines a counter with the same
 * meaning, the counter has the name from that source. Every worker has a set of counters, which
 * only this worker writes. Readers sum the sets (datapath/device/stats.h). Some counters are not
 * counted, but computed by the readers from other counters or from verdicts.
 */

#include <stdint.h>

/** The source from which the name of a counter is taken. */
enum uroce_counter_source {
	/* a counter of a port of InfiniBand, which the kernel shows below ports/1/counters */
	UROCE_COUNTER_OF_IBTA,
	/*
	 * a counter of the driver rxe, which the kernel shows below ports/1/hw_counters; if the
	 * driver mlx5 has a counter with this name, it has the same meaning
	 */
	UROCE_COUNTER_OF_RXE,
	/* a counter of the driver mlx5, which the kernel shows below ports/1/hw_counters */
	UROCE_COUNTER_OF_MLX5,
	UROCE_COUNTER_OF_UROCE, /* a counter that only this library has */
};

/* Counters of octets count each frame from its Ethernet header to its ICRC. */
/* clang-format off */
#define UROCE_COUNTER_LIST(X) \
	/* counters of the port */ \
	X(PORT_XMIT_DATA,             IBTA,  "octets of RoCE packets that the port accepted for transmission, divided by 4") \
	X(PORT_RCV_DATA,              IBTA,  "octets of RoCE packets received for addresses of the device, divided by 4") \
	X(PORT_XMIT_PACKETS,          IBTA,  "RoCE packets that the port accepted for transmission") \
	X(PORT_RCV_PACKETS,           IBTA,  "RoCE packets received for addresses of the device, including packets with errors") \
	X(UNICAST_XMIT_PACKETS,       IBTA,  "of port_xmit_packets, packets that are not to a multicast group") \
	X(UNICAST_RCV_PACKETS,        IBTA,  "of port_rcv_packets, packets that are not to a multicast group") \
	X(MULTICAST_XMIT_PACKETS,     IBTA,  "of port_xmit_packets, packets to a multicast group") \
	X(MULTICAST_RCV_PACKETS,      IBTA,  "of port_rcv_packets, packets to a multicast group that has member QPs on the device") \
	X(PORT_RCV_ERRORS,            IBTA,  "of port_rcv_packets, packets that are malformed or have a wrong ICRC") \
	X(PORT_XMIT_DISCARDS,         IBTA,  "RoCE packets discarded because the port was down or accepted no frames") \
	X(LINK_DOWNED,                IBTA,  "times that the link of the port went down") \
	/* counters of packets and messages */ \
	X(SENT_PKTS,                  RXE,   "RoCE packets sent, including loopback packets") \
	X(RCVD_PKTS,                  RXE,   "RoCE packets that were passed to a QP, including loopback packets") \
	X(RDMA_SENDS,                 RXE,   "SENDs that completed") \
	X(RDMA_RECVS,                 RXE,   "receive requests that completed") \
	X(RX_WRITE_REQUESTS,          MLX5,  "WRITEs of peers that began") \
	X(RX_READ_REQUESTS,           MLX5,  "READ requests of peers that were granted; each READ chunk counts") \
	X(RX_ATOMIC_REQUESTS,         MLX5,  "atomics of peers that were executed, including ATOMIC_WRITE") \
	/* counters of the responder */ \
	X(DUPLICATE_REQUEST,          RXE,   "requests of peers received again after they were executed") \
	X(OUT_OF_SEQUENCE,            MLX5,  "requests of peers received out of order, behind a PSN gap") \
	X(RX_BEYOND_WINDOW,           UROCE, "of out_of_sequence, requests dropped because their PSN is too far ahead of the expected PSN") \
	X(RX_PSN_CONFLICT,            UROCE, "requests of peers that differ from an out-of-order request of the same PSN, or are invalid at their turn") \
	X(OUT_OF_SEQ_REQUEST,         RXE,   "NAKs sent: PSN sequence error, one for each PSN gap") \
	X(OUT_OF_BUFFER,              MLX5,  "requests of peers that found no receive request posted") \
	X(SEND_RNR_ERR,               RXE,   "RNR NAKs sent") \
	X(RESP_LOCAL_LENGTH_ERROR,    MLX5,  "messages of peers longer than the receive request") \
	X(RESP_REMOTE_ACCESS_ERRORS,  MLX5,  "requests of peers refused because of an invalid key, range or access right") \
	X(RX_WRITE_UNREAD,            UROCE, "UC WRITEs dropped before a check of their key, because too many keys in the last second were invalid") \
	X(RESP_CQE_ERROR,             MLX5,  "receive requests that completed in error, including flushed requests") \
	X(RESP_CQE_FLUSH_ERROR,       MLX5,  "receive requests that were flushed") \
	/* counters of the requester */ \
	X(RETRANSMITTED_PKTS,         UROCE, "request packets retransmitted") \
	X(PACKET_SEQ_ERR,             MLX5,  "NAKs received: PSN sequence error") \
	X(RCVD_SEQ_ERR,               RXE,   "the same as packet_seq_err") \
	X(IMPLIED_NAK_SEQ_ERR,        MLX5,  "implied NAKs: responses received behind a missing response to a READ or an atomic, one for each PSN gap") \
	X(RCVD_RNR_ERR,               RXE,   "RNR NAKs received") \
	X(RCVD_RNR_FALSE,             UROCE, "of rcvd_rnr_err, NAKs whose request was acknowledged without a retransmission") \
	X(RNR_NAK_RETRY_ERR,          MLX5,  "of rcvd_rnr_err, NAKs after which retries were left") \
	X(LOCAL_ACK_TIMEOUT_ERR,      MLX5,  "ACK timeouts after which retries were left") \
	X(ACK_TIMEOUTS,               UROCE, "ACK timeouts, including timeouts after the last retry") \
	X(RETRY_EXCEEDED_ERR,         RXE,   "requests that failed after their last retry") \
	X(RETRY_RNR_EXCEEDED_ERR,     RXE,   "requests that failed after their last RNR retry") \
	X(REQ_REMOTE_INVALID_REQUEST, MLX5,  "requests that failed because of a NAK: invalid request") \
	X(REQ_REMOTE_ACCESS_ERRORS,   MLX5,  "requests that failed because of a NAK: remote access error") \
	X(REQ_CQE_ERROR,              MLX5,  "send requests that completed in error, including flushed requests") \
	X(REQ_CQE_FLUSH_ERROR,        MLX5,  "send requests that were flushed") \
	/* counters of congestion control */ \
	X(NP_ECN_MARKED_ROCE_PACKETS, MLX5,  "packets for QPs of the device that a switch had marked (ECN)") \
	X(NP_CNP_SENT,                MLX5,  "congestion notification packets (CNPs) sent") \
	X(RP_CNP_HANDLED,             MLX5,  "CNPs received that reduced a rate") \
	X(RP_CNP_IGNORED,             MLX5,  "CNPs received that reduced no rate") \
	X(RP_CNP_IMPLAUSIBLE,         UROCE, "of rp_cnp_ignored, CNPs that arrived too soon after another CNP, or for a QP that had sent no payload since") \
	/* counters of failed integrity checks */ \
	X(RX_ICRC_ENCAPSULATED,       MLX5,  "RoCE packets received whose ICRC was wrong") \
	/* counters of the workers */ \
	X(LOOPBACK_PKTS,              UROCE, "packets from the device to itself, which did not use the port") \
	X(FORWARDED_PKTS,             UROCE, "packets that arrived at another worker than the worker of their QP") \
	X(MIGRATED_QPS,               UROCE, "QPs that moved to the worker at which their packets arrive") \
	X(RX_FRAMES,                  UROCE, "frames of any kind received") \
	X(TX_FRAMES,                  UROCE, "frames of any kind that the port accepted for transmission") \
	X(TX_FULL,                    UROCE, "rounds in which the port accepted fewer frames than offered") \
	X(TX_ZERO_COPY,               UROCE, "packets sent whose payload was not copied") \
	X(NO_MBUF,                    UROCE, "rounds in which nothing was sent because the packet pool was empty") \
	X(RX_OUR_SOURCE,              UROCE, "frames from the wire dropped because their source is an address of the device") \
	X(RX_LINEARISED,              UROCE, "frames received in several segments and copied into one") \
	X(RX_COPIED,                  UROCE, "frames copied because they had to wait in the reorder buffer") \
	X(ROUNDS,                     UROCE, "rounds of the workers") \
	X(IDLE_ROUNDS,                UROCE, "of rounds, rounds in which there was nothing to do")

enum uroce_counter {
#define UROCE_COUNTER_ENUM(name, source, text) UROCE_COUNTER_##name,
	UROCE_COUNTER_LIST(UROCE_COUNTER_ENUM)
#undef UROCE_COUNTER_ENUM
	UROCE_COUNTER_NB
};
/* clang-format on */

/** A set of counters. Only one thread writes to a set. */
struct uroce_counters {
	uint64_t nb[UROCE_COUNTER_NB];
};

/**
 * Get the name of a counter in lower case, such as "port_xmit_data"; "?" if `counter` is out of
 * range.
 */
const char *uroce_counter_name(enum uroce_counter counter);

/** Get the description of a counter, at most 127 characters; "?" if `counter` is out of range. */
const char *uroce_counter_text(enum uroce_counter counter);

/** Get the source of a counter's name. `counter` must be in range. */
enum uroce_counter_source uroce_counter_source(enum uroce_counter counter);

/**
 * Add `nb` to a counter. Only the thread that writes the counter may call this function. Other
 * threads may read the counter at the same time.
 */
static inline void
uroce_count(uint64_t *counter, uint64_t nb)
{
	__atomic_store_n(counter, *counter + nb, __ATOMIC_RELAXED);
}

/** Add `nb` to a counter of a set. If `counters` is NULL, do nothing. */
static inline void
uroce_count_in(struct uroce_counters *counters, enum uroce_counter which, uint64_t nb)
{
	if (counters)
		uroce_count(&counters->nb[which], nb);
}

/** Read a counter. Any thread may call this function. */
static inline uint64_t
uroce_counted(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

#endif /* UROCE_TRANSPORT_COUNTER_H */
