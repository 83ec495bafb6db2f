/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_CONF_H
#define UROCE_TRANSPORT_CONF_H

/**
 * @file
 * The interface data of a QP context: limits, configuration, attributes, counters and events.
 * lib/datapath and lib/verbs pass these data to the context or read them from the context. The
 * context itself is in context.h.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "mem/mr.h"
#include "queue/cq.h"
#include "queue/srq.h"
#include "queue/srq_table.h"
#include "queue/wq.h"
#include "transport/counter.h"
#include "transport/recovery/reorder_buffer.h"
#include "transport/responder/resources.h"

/**
 * Events of a QP that the caller has to report to the application. The transport adds an event to
 * the field `events` of the context; the caller reads and clears this field.
 */
enum uroce_qpc_event {
	/*
	 * UROCE_QPC_SEND_CQ_EVENT and UROCE_QPC_RECV_CQ_EVENT: the CQ was armed, and has a new
	 * completion. Only a context whose field `unpublished` is NULL raises these two events.
	 */
	UROCE_QPC_SEND_CQ_EVENT = 1 << 0,
	UROCE_QPC_RECV_CQ_EVENT = 1 << 1,
	UROCE_QPC_SEND_CQ_OVERRUN = 1 << 2,
	UROCE_QPC_RECV_CQ_OVERRUN = 1 << 3,
	UROCE_QPC_REQ_ERR = 1 << 4,    /* IBV_EVENT_QP_REQ_ERR */
	UROCE_QPC_ACCESS_ERR = 1 << 5, /* IBV_EVENT_QP_ACCESS_ERR */
	UROCE_QPC_COMM_EST = 1 << 6,   /* IBV_EVENT_COMM_EST */
	UROCE_QPC_SQ_DRAINED = 1 << 7, /* IBV_EVENT_SQ_DRAINED */
	UROCE_QPC_LAST_WQE = 1 << 8,   /* IBV_EVENT_QP_LAST_WQE_REACHED */
	/* IBV_EVENT_SRQ_LIMIT_REACHED: uroce_qpc_limited_srq() returns the SRQ */
	UROCE_QPC_SRQ_LIMIT = 1 << 9,
	/*
	 * the four events from UROCE_QPC_CNP_IMPLAUSIBLE to UROCE_QPC_RNR_FALSE report frames that
	 * may be an attack; the worker logs these events as alerts
	 */
	UROCE_QPC_CNP_IMPLAUSIBLE = 1 << 10,
	UROCE_QPC_KEYS_GUESSED = 1 << 11,
	UROCE_QPC_PSN_CONFLICT = 1 << 12,
	UROCE_QPC_RNR_FALSE = 1 << 13,
	/*
	 * a request failed, and the QP went to ERR (UC, UD: SQE); the field `failure` of the
	 * context has the reason
	 */
	UROCE_QPC_FAILED = 1 << 14,
};

/** Limits of the device. A modify of a QP checks the attributes against these limits. */
struct uroce_qpc_limits {
	uint32_t nb_gids;  /* number of entries of the GID table */
	uint16_t nb_pkeys; /* number of entries of the P_Key table */
	uint8_t nb_ports;
	uint8_t active_mtu; /* active MTU of the port, an enum ibv_mtu */
	/* maximum number of READs and atomics that a requester has in flight */
	uint8_t max_rd_atomic;
	/*
	 * maximum number of READs and atomics of the peer that a responder accepts at a time; at
	 * most UROCE_RD_ATOMIC_MAX
	 */
	uint8_t max_dest_rd_atomic;
	/*
	 * maximum number of payload bytes of full packets in the requester's window; 0 means that
	 * there is no maximum
	 */
	uint32_t window_bytes;
};

/**
 * Configuration of a QP context. The objects that its pointers refer to must outlive the context.
 */
struct uroce_qpc_conf {
	/* type of the QP: RC, UC, UD, XRC_SEND (has no rq) or XRC_RECV (has no sq, no rq) */
	enum ibv_qp_type type;
	uint32_t qpn;
	uint32_t pdn;
	struct uroce_wq *sq;
	struct uroce_wq *rq;   /* receive queue; NULL: the QP has an SRQ, or receives no SENDs */
	struct uroce_srq *srq; /* shared receive queue; NULL: the QP has no SRQ */
	/* XRC_RECV: the table of the SRQs to which requests of the peer may be addressed */
	const struct uroce_srq_table *srqs;
	uint32_t xrcd; /* XRC_RECV: number of the QP's XRC domain */
	struct uroce_cq *send_cq;
	/*
	 * CQ for receive completions; NULL for XRC_RECV, whose completions go to the CQ of the SRQ
	 */
	struct uroce_cq *recv_cq;
	struct uroce_mr_table *mrs;
	/*
	 * the worker's pool of resources, in which a responder stores what it needs to repeat
	 * responses to READs and atomics; NULL: the QP refuses READs and atomics
	 */
	struct uroce_rd_pool *rd_pool;
	/*
	 * the worker's reorder buffer; NULL: out-of-order packets are dropped, and both roles use
	 * go-back-N
	 */
	struct uroce_reorder_buffer *reorder_buffer;
	/* the worker's counters; NULL: events are counted in the QP's own counters only */
	struct uroce_counters *counters;
	/*
	 * the worker's list of CQs with unpublished completions; NULL: the QP publishes its
	 * completions at once
	 */
	struct uroce_cq_list *unpublished;
	/* the requester's window in packets, at most UROCE_WINDOW_MAX; 0 means UROCE_WINDOW_PSNS */
	uint16_t window_psns;
	bool is_req_gbn;  /* the requester uses go-back-N with every peer */
	bool is_resp_gbn; /* the responder drops packets that arrive behind a PSN gap */
	/*
	 * signature pipelining: the send queue stops behind a request whose data has a bad
	 * signature
	 */
	bool is_pipelined;
	/*
	 * configuration of congestion control; NULL: no congestion control. A UD QP ignores this
	 * field
	 */
	const struct uroce_cc_conf *cc;
	const struct uroce_qpc_limits *limits;
	const uint16_t *pkeys; /* the P_Key table of the port, which has limits->nb_pkeys entries */
	void *cookie;          /* the value of the field `qp` in completions of this QP */
};

/**
 * Counters of a QP since it was created. The QP's worker writes them. Any thread may read them, and
 * may see slightly older values. Counters of rare events are modulo 2^32.
 */
struct uroce_qpc_stats {
	uint64_t tx_packets;
	uint64_t tx_bytes; /* number of payload bytes sent */
	uint64_t rx_packets;
	uint64_t rx_bytes; /* number of payload bytes received */
	/* The fields from `retransmits` on count rare events. */
	uint32_t retransmits; /* number of packets retransmitted */
	uint32_t timeouts;
	uint32_t naks_seq; /* number of received NAKs (PSN sequence error) */
	uint32_t implied_naks;
	uint32_t naks_rnr;     /* number of received RNR NAKs */
	uint32_t duplicates;   /* number of requests received again after they were executed */
	uint32_t ooo_requests; /* number of requests received behind a PSN gap */
	uint32_t naks_seq_sent;
	uint32_t naks_rnr_sent;
	uint32_t ce_marked; /* number of packets received with a congestion mark (CE) */
	uint32_t cnps_sent;
	uint32_t cnps_handled; /* number of received CNPs that lowered the rate */
};

/**
 * The attributes of a QP in a compact form, with the values that ibv_modify_qp() has set. A query
 * of the QP returns these values. The attributes qkey, dest_qp_num and qp_access_flags are not in
 * this struct, because struct uroce_qpc holds them unchanged.
 */
struct uroce_qpc_attr {
	/*
	 * The fields from max_rd_atomic to rnr_retry are read when packets are sent and received.
	 */
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t en_sqd_async_notify;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	/* The fields from port_num on are read rarely. */
	uint8_t port_num;
	struct ibv_ah_attr ah_attr;
	struct ibv_ah_attr alt_ah_attr;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint16_t pkey_index;
	uint16_t alt_pkey_index;
	uint8_t path_mtu;       /* path MTU, an enum ibv_mtu */
	uint8_t path_mig_state; /* migration state of the path, an enum ibv_mig_state */
	uint8_t alt_port_num;
	uint8_t alt_timeout;
};

#endif /* UROCE_TRANSPORT_CONF_H */
