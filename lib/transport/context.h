/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_CONTEXT_H
#define UROCE_TRANSPORT_CONTEXT_H

/**
 * @file
 * The QP context: all state of a QP, laid out by the role that uses it, and the predicates that
 * several roles share.
 *
 * The calls for users of the transport are in qpc.h.
 *
 * The file has more than 500 lines: all fields of a QP are laid out in one struct.
 */

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "mem/mr.h"
#include "mem/sge.h"
#include "queue/cq.h"
#include "queue/srq.h"
#include "queue/srq_table.h"
#include "queue/wq.h"
#include "transport/congestion/cc.h"
#include "transport/counter.h"
#include "transport/recovery/reorder_buffer.h"
#include "transport/recovery/reorder_window.h"
#include "transport/responder/resources.h"
#include "transport/recovery/rtt.h"
#include "wire/build.h"
#include "wire/parse.h"
#include "wire/psn.h"
#include "wire/syndrome.h"
#include "wire/verdict.h"

/** A deadline of a timer that is not armed. */
#define UROCE_NEVER UINT64_MAX

/**
 * The requester's window [una_psn, next_psn): packets of requests that may be in flight. The
 * default is half of the usual size of a port's ring. Where frames are passed through memory,
 * entries of a half-used ring are read from the cache that both cores share. Newer entries would
 * still be in the private cache of the core that wrote them, which is slower to read.
 */
#define UROCE_WINDOW_PSNS 512

/** The largest window: the number of PSNs that a responder can keep track of. */
#define UROCE_WINDOW_MAX UROCE_PSN_GAP_SPAN

/**
 * The size of a READ chunk, in response packets. A READ is sent as several requests, one for each
 * chunk, so that the requester's window limits the responses in flight. On the wire each request is
 * an ordinary READ. Chunks are larger where max_rd_atomic chunks of this size would not fill the
 * window.
 */
#define UROCE_READ_CHUNK_PSNS 64

/** A descriptor of one frame to send. */
struct uroce_txd {
	/*
	 * in: room for UROCE_HDR_MAX bytes of headers, with room for a payload behind them. out:
	 * the headers from Ethernet to the extension headers. A payload that is not in memory as it
	 * is sent follows them; then a slice points here.
	 */
	uint8_t *hdr;
	uint32_t icrc;        /* out: ICRC state after the masked UDP header (see wire/icrc.h) */
	uint32_t payload_len; /* out: number of payload bytes in all slices */
	uint16_t hdr_len;     /* out: length of the headers */
	uint8_t bth_off;      /* out: offset of the BTH in hdr */
	uint8_t pad_len;      /* out: number of zero bytes between payload and ICRC, 0..3 */
	uint8_t nb_slices;    /* out: number of slices of the payload */
	struct uroce_slice slice[UROCE_SGE_MAX]; /* out: the first nb_slices are valid */
};

/**
 * Events that a call leaves for the application. They are or-ed into `events`; the caller reads and
 * clears them.
 */
enum uroce_qpc_event {
	/*
	 * SEND_CQ_EVENT, RECV_CQ_EVENT: the CQ was armed, and has a new completion. Only a context
	 * that publishes completions at once raises these two events.
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
	/* suspicious frames, which no correct peer sends: for the log */
	UROCE_QPC_CNP_IMPLAUSIBLE = 1 << 10,
	UROCE_QPC_KEYS_GUESSED = 1 << 11,
	UROCE_QPC_PSN_CONFLICT = 1 << 12,
	UROCE_QPC_RNR_FALSE = 1 << 13,
};

/** Limits of the device, which modify checks attributes against. */
struct uroce_qpc_limits {
	uint32_t nb_gids;  /* size of the GID table */
	uint16_t nb_pkeys; /* size of the P_Key table */
	uint8_t nb_ports;
	uint8_t active_mtu;         /* enum ibv_mtu */
	uint8_t max_rd_atomic;      /* limit of the requester */
	uint8_t max_dest_rd_atomic; /* limit of the responder, <= UROCE_RD_ATOMIC_MAX */
};

/** Configuration of a context. What the pointers refer to must outlive the context. */
struct uroce_qpc_conf {
	enum ibv_qp_type type; /* RC, UC, UD, XRC_SEND (no rq) or XRC_RECV (no sq, no rq) */
	uint32_t qpn;
	uint32_t pdn;
	struct uroce_wq *sq;
	struct uroce_wq *rq;   /* NULL: the QP has an SRQ, or receives no SENDs */
	struct uroce_srq *srq; /* NULL: the QP has no SRQ */
	/* XRC_RECV: the SRQs that requests of the peer may name */
	const struct uroce_srq_table *srqs;
	uint32_t xrcd; /* XRC_RECV: number of the QP's XRC domain */
	struct uroce_cq *send_cq;
	struct uroce_cq *recv_cq; /* NULL for XRC_RECV: completions go to the CQ of the SRQ */
	struct uroce_mr_table *mrs;
	struct uroce_rd_pool *rd_pool; /* pool of the worker; NULL: READs and atomics are refused */
	/* buffer of the worker; NULL: no out-of-order packet is kept, and both roles go back N */
	struct uroce_reorder_buffer *reorder_buffer;
	/* counters of the worker; NULL: events are counted in the QP's own counters only */
	struct uroce_counters *counters;
	/* the worker's CQs with unpublished completions; NULL: completions are published at once */
	struct uroce_cq_list *unpublished;
	/* the requester's window, in packets, <= UROCE_WINDOW_MAX; 0: the default */
	uint16_t window_psns;
	bool is_req_gbn;  /* the requester goes back N with every peer */
	bool is_resp_gbn; /* the responder drops packets that arrive ahead of a PSN gap */
	/* the send queue stops behind a request whose data has a bad signature */
	bool is_pipelined;
	const struct uroce_cc_conf *cc; /* congestion control; NULL: none. Not for datagrams */
	const struct uroce_qpc_limits *limits;
	const uint16_t *pkeys; /* the P_Key table of the port, limits->nb_pkeys entries */
	void *cookie;          /* the value of `qp` in completions */
};

/**
 * Counters of a QP since it was created. The QP's worker writes them; any thread may read them as
 * hints. Counters of rare events are modulo 2^32.
 */
struct uroce_qpc_stats {
	uint64_t tx_packets;
	uint64_t tx_bytes; /* payload bytes */
	uint64_t rx_packets;
	uint64_t rx_bytes; /* payload bytes */
	/* rare events */
	uint32_t retransmits; /* packets retransmitted */
	uint32_t timeouts;
	uint32_t naks_seq; /* NAKs (PSN sequence error) received */
	uint32_t implied_naks;
	uint32_t naks_rnr;     /* RNR NAKs received */
	uint32_t duplicates;   /* requests received once more after they were executed */
	uint32_t ooo_requests; /* requests received ahead of a PSN gap */
	uint32_t naks_seq_sent;
	uint32_t naks_rnr_sent;
	uint32_t ce_marked; /* packets received with a congestion mark (CE) */
	uint32_t cnps_sent;
	uint32_t cnps_handled; /* CNPs received that lowered the rate */
};

/**
 * Attributes of a QP with the values that ibv_modify_qp() gave them, in a compact form. A query of
 * the QP returns these values. The attributes qkey, dest_qp_num and qp_access_flags are not in this
 * struct, because struct uroce_qpc holds them unchanged.
 */
struct uroce_qpc_attr {
	/* The packet paths read the following fields. */
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t en_sqd_async_notify;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	/* Cold: the following fields are read rarely. */
	uint8_t port_num;
	struct ibv_ah_attr ah_attr;
	struct ibv_ah_attr alt_ah_attr;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint16_t pkey_index;
	uint16_t alt_pkey_index;
	uint8_t path_mtu;       /* enum ibv_mtu */
	uint8_t path_mig_state; /* enum ibv_mig_state */
	uint8_t alt_port_num;
	uint8_t alt_timeout;
};

/**
 * What the peer does with packets that arrive ahead of a PSN gap: it keeps them (selective) or
 * drops them (go-back-N).
 */
enum uroce_peer_arq { UROCE_PEER_ARQ_UNKNOWN, UROCE_PEER_ARQ_SELECTIVE, UROCE_PEER_ARQ_GO_BACK_N };

/**
 * States of the requester's loss recovery, in the terms of TCP (RFC 5681, RFC 6675) and RFC 9002.
 * The transitions are the table in recovery_state.c.
 */
enum uroce_recovery_state {
	UROCE_RECOVERY_OPEN,      /* no packet is known to be lost */
	UROCE_RECOVERY_PROBE,     /* a probe is in flight */
	UROCE_RECOVERY_FAST_RETX, /* the packet at una_psn was retransmitted alone */
	UROCE_RECOVERY_RNR_WAIT,  /* the requester sends nothing until rnr_deadline */
	/* the requester went back N because of a loss, and una_psn has not moved since */
	UROCE_RECOVERY_LOSS,
	UROCE_RECOVERY_LOSS_PROBE,     /* LOSS, and a probe is in flight */
	UROCE_RECOVERY_LOSS_FAST_RETX, /* LOSS, and the packet at una_psn was retransmitted alone */
	UROCE_RECOVERY_STATE_NB
};

/** Packets that recovery has to retransmit when the QP has its turn, in any state; or-ed. */
enum uroce_recovery_due {
	UROCE_RECOVERY_DUE_FIRST = 1 << 0, /* the packet at una_psn */
	UROCE_RECOVERY_DUE_LAST = 1 << 1,  /* the newest packet in flight */
	/* the packets behind PSN gaps, with capacity that new packets leave */
	UROCE_RECOVERY_DUE_BEHIND = 1 << 2,
};

/**
 * Loss recovery of requests, see loss_recovery.c. Every packet and every response reads the first
 * 16 bytes.
 */
struct uroce_loss_recovery {
	uint64_t probe_deadline; /* when a probe is sent; UROCE_NEVER: no probe timer */
	/* with DUE_BEHIND: the next PSN to retransmit; each is retransmitted once */
	uint32_t retransmit_psn;
	uint8_t state; /* enum uroce_recovery_state */
	uint8_t due;   /* enum uroce_recovery_due */
	uint8_t resv[2];
	/* The following fields change only in loss recovery. */
	uint32_t gap_psn;     /* in FAST_RETX or PROBE: the PSN that was retransmitted alone */
	uint32_t recover_psn; /* max_psn when gap_psn was retransmitted */
	/* while nb_gaps is not 0: a gap before this PSN is one more gap of the round trip */
	uint32_t round_psn;
	uint8_t peer; /* enum uroce_peer_arq */
	/* number of fast retransmissions in a row after which the next packet was missing, too */
	uint8_t nb_adjacent;
	/* number of gaps in the last round trip that had any; 0: none since going back N */
	uint8_t nb_gaps;
	/*
	 * the previous round trip had many gaps; not part of `state`, because the next gaps are
	 * counted differently even after all gaps are closed
	 */
	bool is_lossy;
	/*
	 * the last response to a retransmission came too soon to show what the peer does; not part
	 * of `state`, because it affects only how the next response in FAST_RETX is judged
	 */
	bool is_ambiguous;
	/* number of responses in a row that acknowledged only the probe while more was in flight */
	uint8_t nb_probe_steps;
	/* in FAST_RETX: number of packets that may be in flight beyond the window */
	uint32_t inflation_psns;
	uint64_t retransmit_ns; /* when gap_psn was retransmitted; 0: not yet */
};

/** States of the recovery of responses. The transitions are the table in ooo_response_state.c. */
enum uroce_ooo_response_state {
	UROCE_OOO_RESPONSE_IN_ORDER, /* no response is missing */
	/* a response is missing, and what is known to be lost was requested again */
	UROCE_OOO_RESPONSE_GAP,
	/*
	 * more responses are missing than were requested again; until `deadline` they may only be
	 * late
	 */
	UROCE_OOO_RESPONSE_REORDERING,
	UROCE_OOO_RESPONSE_LOST, /* responses are lost, and have to be requested again */
	UROCE_OOO_RESPONSE_STATE_NB
};

/** Requests for responses that are due in any state; or-ed. */
enum uroce_ooo_response_due {
	UROCE_OOO_RESPONSE_DUE_PROBE = 1 << 0, /* request the response at una_psn, as a probe */
	/* retransmit the request at nak_psn, which the peer misses */
	UROCE_OOO_RESPONSE_DUE_NAK = 1 << 1,
};

/**
 * Responses that arrived ahead of a missing one, see ooo_response.c. Every packet and every
 * response reads the last 16 bytes.
 */
struct uroce_ooo_responses {
	struct uroce_psn_gap *gap; /* the responses that have arrived; NULL: none */
	/* since when the oldest response is missing, and how late responses may be */
	struct uroce_reorder_window reorder_window;
	uint64_t requested_ns; /* when missing responses were last requested again */
	/* shortest time from a repeated request to its response; 0: there was no response yet */
	uint32_t min_response_ns;
	/* in all states but IN_ORDER: the peer has executed everything before this PSN */
	uint32_t seen_psn;
	/*
	 * in all states but IN_ORDER: missing responses before `begin` were requested again; in
	 * REORDERING and LOST, `[begin, end)` is requested next
	 */
	struct uroce_psn_range ask;
	/*
	 * in all states but IN_ORDER: no more responses are requested before seen_psn reaches this
	 * PSN
	 */
	uint32_t resume_psn;
	/* in LOST: a range whose missing responses were requested again and are lost, too */
	struct uroce_psn_range again;
	/* missing responses before this PSN were requested again when max_psn was round_max_psn */
	uint32_t round_psn;
	/*
	 * when seen_psn is past this PSN, responses before round_psn that are still missing are
	 * lost
	 */
	uint32_t round_max_psn;
	/* a response to a repeated request from this PSN on proves that earlier ones are lost */
	uint32_t proof_psn;
	/* in REORDERING: when missing responses count as lost; otherwise UROCE_NEVER */
	uint64_t deadline;
	uint32_t nak_psn; /* with DUE_NAK: the PSN of the request that the peer misses */
	uint8_t state;    /* enum uroce_ooo_response_state */
	uint8_t due;      /* enum uroce_ooo_response_due */
	uint8_t resv[2];
};

/**
 * The requester: requests of this QP to its peer. The fields of the packet paths are two cache
 * lines of a context.
 */
struct uroce_req {
	struct uroce_ooo_responses ooo_responses;
	struct uroce_rtt rtt;
	struct uroce_loss_recovery loss_recovery;
	uint64_t rnr_deadline;  /* in RNR_WAIT: when the request is repeated */
	uint64_t rnr_ignore_ns; /* RNR NAKs are ignored until this time */
	uint64_t rnr_ns;        /* in RNR_WAIT: when the wait began */
	uint32_t rnr_psn; /* in RNR_WAIT: the PSN of the request that found no receive request */
	uint8_t nb_false_rnrs; /* number of false RNR NAKs in a row, saturated */
	uint8_t resv[3];       /* padding that puts the next fields into one cache line */
	/* when the ACK timer expires; UROCE_NEVER: nothing is in flight, or there is no timeout */
	uint64_t ack_deadline;
	uint64_t armed_ns; /* when ack_deadline was set */
	uint32_t una_psn;  /* oldest unacknowledged PSN */
	/* PSN of the next packet to send; before max_psn during retransmission */
	uint32_t next_psn;
	uint32_t max_psn;      /* the newest PSN ever sent, plus one */
	uint32_t una_idx;      /* send queue index of the oldest incomplete request */
	uint32_t next_idx;     /* send queue index of the request that next_psn belongs to */
	uint32_t next_pkt;     /* number of PSNs of the request at next_idx before next_psn */
	uint32_t begun_idx;    /* send queue index behind the newest request that has PSNs */
	uint8_t since_ack_req; /* number of packets sent since the last one that asks for an ACK */
	/*
	 * while the ACK timer runs for the port: number of timeouts that the port has left, the
	 * present one included; 0: the timer runs for the peer
	 */
	uint8_t port_retry_left;
	uint8_t nb_rd_out; /* number of READ and atomic requests in flight */
	uint8_t nb_probes; /* number of probes since una_psn moved last */
	uint8_t retry_left;
	uint8_t rnr_left;
	uint8_t fault; /* enum ibv_wc_status that the request at next_idx ends with; 0: none */
	/*
	 * The following fields do not depend on the recovery state: they are used in every state.
	 */
	bool is_ack_wanted; /* the next packet asks for an ACK, whatever the ACK rule says */
	bool is_draining;   /* in SQD: requests that were begun have not yet completed */
	bool is_local_done; /* a local request was executed, and may be ready to complete */
};

/** States of the reception of requests. The transitions are the table in ooo_request_state.c. */
enum uroce_ooo_request_state {
	UROCE_OOO_REQUEST_IN_ORDER, /* nothing is known to be missing */
	/* the request at epsn is missing; until `nak_deadline` it may only be reordered */
	UROCE_OOO_REQUEST_REORDERING,
	/* the request at epsn is missing, and a NAK (PSN sequence error) reports it once */
	UROCE_OOO_REQUEST_NAK_SENT,
	/* the request at epsn was refused by an RNR NAK; the peer retransmits all later requests */
	UROCE_OOO_REQUEST_RNR_NAK_SENT,
	/* the gap is filled; at `nak_deadline` more of the kept requests behind it are executed */
	UROCE_OOO_REQUEST_DRAINING,
	UROCE_OOO_REQUEST_STATE_NB
};

/**
 * The responder: the peer's requests to this QP. The requester reads the first 24 bytes, too. Every
 * request reads the fields up to `res`.
 */
struct uroce_resp {
	/*
	 * in REORDERING: when the PSN gap at epsn is reported; in DRAINING: when the next slice of
	 * kept requests is executed; otherwise UROCE_NEVER
	 */
	uint64_t nak_deadline;
	uint32_t pending; /* bit i: res[i] has responses to send */
	uint32_t epsn;    /* the PSN that is expected next */
	/* enum uroce_operation of the message that is being received; NONE between messages */
	uint8_t operation;
	uint8_t syndrome;  /* syndrome of the pending AETH */
	uint8_t ooo_state; /* enum uroce_ooo_request_state */
	/*
	 * an ACK or a NAK is pending; not part of `ooo_state`, because an ACK may be pending in
	 * every state, and an AETH waits for the responses before it
	 */
	bool has_aeth;
	/*
	 * the next packet shows whether a late packet or a retransmission filled the last gap; not
	 * part of `ooo_state`, because the next gap may be open meanwhile
	 */
	bool is_fill_doubtful;
	/*
	 * the peer goes back N: gaps are reported to it without delay; not part of `ooo_state`,
	 * because it is known of the peer, and outlives the gaps
	 */
	bool is_peer_gbn;
	uint8_t resv[2];
	uint32_t msn;              /* number of messages completed, modulo 2^24 */
	uint32_t msg_len;          /* payload bytes received of the present message */
	struct uroce_psn_gap *gap; /* packets that arrived ahead of epsn; NULL: none */
	struct uroce_reorder_window reorder_window;
	/* receive request taken from the SRQ; NULL: none. See recv.c */
	struct uroce_recv_wqe *recv;
	uint64_t write_va;
	uint32_t write_rkey; /* rkey of the WRITE that is being received */
	uint32_t write_len;  /* bytes that the present WRITE has announced */
	uint32_t aeth_psn;   /* PSN of the pending AETH */
	/* number of READs and atomics received so far; modulo the size of `res`, its next slot */
	uint32_t res_head;
	/* The following fields are used for PSN gaps, READs and atomics. */
	/* a ring of UROCE_RD_ATOMIC_MAX resources; NULL: no block was taken yet */
	struct uroce_rd_res *res;
	/*
	 * requests ahead of epsn were dropped, all before this PSN; UROCE_OOO_PSN_NONE: none was.
	 * Not part of `ooo_state`, because requests may be dropped in every state but IN_ORDER
	 */
	uint32_t dropped_end;
	uint32_t fill_psn; /* PSN that filled the last gap */
	uint32_t fill_ns;  /* how long the last gap was open */
	/* value of `res_head` when an ACK was sent for a request behind all READs and atomics */
	uint32_t passed_head;
};

/** The value of ooo_first_psn and dropped_end when there is no such packet. */
#define UROCE_OOO_PSN_NONE UINT32_MAX

/**
 * The header template: what is equal in all frames of an opcode and a length, beside the headers in
 * the path.
 */
struct uroce_hdr_template {
	uint32_t icrc;        /* ICRC state after the masked UDP header */
	uint32_t payload_len; /* UROCE_HDR_TEMPLATE_NONE: the template is not valid */
	uint16_t hdr_len;
	uint8_t pad_len;
	uint8_t opcode;
};

#define UROCE_HDR_TEMPLATE_NONE UINT32_MAX

/**
 * A QP context. Only the transport writes its fields; everyone else may read them.
 *
 * Where there are many QPs, each cache line of a context is fetched from memory. So fields are
 * grouped by the role that uses them: some lines for both roles, some for one role. Packets touch
 * no other lines while nothing is lost or fails.
 */
struct uroce_qpc {
	/* The following fields are used by both roles. */
	uint8_t type;        /* enum ibv_qp_type */
	uint8_t state;       /* enum ibv_qp_state; written by uroce_qpc_set_state() */
	uint8_t service;     /* enum uroce_service */
	uint8_t mtu_shift;   /* log2 of the path MTU */
	bool is_established; /* the event COMM_EST was raised */
	bool is_req_gbn;
	bool is_resp_gbn;
	/* frames that are not gathered yet refer to the memory of requests: do not flush these */
	bool is_zero_copy;
	bool is_req_turn;  /* the odd frame of the next burst goes to requests, not to responses */
	bool is_recv_open; /* completed receive requests are not yet published, see completion.h */
	/*
	 * The following fields say how the oldest request ends. Its completion is written when no
	 * port transmits from its memory any more.
	 */
	uint8_t end_status; /* enum ibv_wc_status; 0: IBV_WC_WR_FLUSH_ERR */
	uint8_t end_vendor_err;
	/*
	 * number of pieces of the requests' memory that a port still transmits from; written by
	 * floor 3
	 */
	_Atomic uint32_t nb_tx_refs;
	uint32_t qpn;
	uint32_t events; /* enum uroce_qpc_event, or-ed; the caller reads and clears it */
	uint16_t window_psns;
	uint16_t chunk_psns; /* the most responses that one READ request asks for */
	uint16_t pkey;
	/* one of this number of packets asks for an ACK, while there is more to send */
	uint8_t ack_every;
	uint8_t nb_bad_keys; /* UC: number of wrong keys since bad_key_ns; see msg.c */
	struct uroce_mr_table *mrs;
	uint32_t pdn;       /* protection domain; XRC_RECV: that of `srq` */
	uint32_t access;    /* enum ibv_access_flags granted to the peer */
	struct uroce_cc cc; /* both roles use the first 16 bytes, the requester also the last 16 */
	/* The following fields are used by the requester, and when receive requests complete. */
	struct uroce_wq *sq;
	struct uroce_cq *send_cq;
	struct uroce_wq *rq;
	struct uroce_cq *recv_cq;
	void *cookie;
	/* the worker's CQs with unpublished completions; NULL: completions are published at once */
	struct uroce_cq_list *unpublished;
	/* The following fields are used by both roles, to build frames. */
	struct uroce_path path; /* RC, UC: valid from RTR on */
	/*
	 * the template for the opcode and length of the last frame; for such frames the headers in
	 * `path` are complete but for the PSN
	 */
	struct uroce_hdr_template hdr_template;
	/* The following field is used by the responder. */
	struct uroce_resp resp;
	/* The following fields are used by both roles; of `stats`, the first 32 bytes. */
	struct uroce_counters *counters; /* counters of the worker; NULL: none */
	struct uroce_qpc_stats stats;
	/* buffer of the worker; NULL: no out-of-order packet is kept */
	struct uroce_reorder_buffer *reorder_buffer;
	/* The following fields are used by the requester. */
	struct uroce_req req;
	struct uroce_qpc_attr attr; /* the requester reads the first 8 bytes */
	/* Cold: the following fields are used rarely. */
	struct uroce_srq *srq; /* XRC_RECV: the SRQ that the last request named */
	const struct uroce_srq_table *srqs;
	/* the pool of resp.res; NULL: READs and atomics are refused */
	struct uroce_rd_pool *rd_pool;
	const struct uroce_qpc_limits *limits;
	const uint16_t *pkeys;
	uint32_t dest_qpn; /* RC, UC: QPN of the peer */
	uint32_t qkey;     /* UD: Q_Key of the QP */
	uint32_t xrcd;
	bool is_pipelined;
	bool is_stopped; /* with is_pipelined: the QP went to SQD because of a bad signature */
	/* twice the most PSNs that the peer had outstanding at once; see ooo_request.c */
	uint16_t ooo_window_psns;
	/* PSN of the out-of-order packet that opened the last gap; UROCE_OOO_PSN_NONE: none */
	uint32_t ooo_first_psn;
	uint32_t ooo_first_sum; /* hash of the packet at ooo_first_psn */
	uint64_t bad_key_ns;    /* with nb_bad_keys: when the first of the wrong keys came */
};

/*
 * The offset of the cache line that a field is in. The assertions below check the layout on which
 * uroce_qpc_fetch(), uroce_qpc_fetch_req() and uroce_qpc_fetch_resp() rely. A field that breaks an
 * assertion belongs behind the fields that are used for each packet: move it to the end of the
 * struct.
 */
#define UROCE_QPC_LINE(field) (offsetof(struct uroce_qpc, field) / 64 * 64)

static_assert(offsetof(struct uroce_qpc, cc.conf) == 64,
	      "the first fields of all roles are in one cache line");
static_assert(offsetof(struct uroce_qpc, cc.ask_ns) % 64 == 0 &&
		      offsetof(struct uroce_qpc, path) ==
			      offsetof(struct uroce_qpc, cc.ask_ns) + 64,
	      "the fields before the path are one cache line");
static_assert(offsetof(struct uroce_qpc, resp.msn) == offsetof(struct uroce_qpc, path) + 128,
	      "the pending AETH is in the last line of the path");
static_assert(offsetof(struct uroce_qpc, resp.res) == offsetof(struct uroce_qpc, path) + 192,
	      "the fields of the responder begin a cache line");
static_assert(UROCE_QPC_LINE(counters) == UROCE_QPC_LINE(resp.res) &&
		      UROCE_QPC_LINE(stats.rx_bytes) == UROCE_QPC_LINE(resp.res) &&
		      UROCE_QPC_LINE(stats.tx_packets) == UROCE_QPC_LINE(resp.res),
	      "the counters of every packet are in the line of resp.res");
static_assert(offsetof(struct uroce_qpc, req.ooo_responses.deadline) % 64 == 0 &&
		      UROCE_QPC_LINE(req.ooo_responses.deadline) == UROCE_QPC_LINE(req.rtt) &&
		      UROCE_QPC_LINE(req.rtt) == UROCE_QPC_LINE(req.loss_recovery.due),
	      "the fields that a response changes are in one cache line");
static_assert(offsetof(struct uroce_qpc, req.ack_deadline) % 64 == 0 &&
		      UROCE_QPC_LINE(req.ack_deadline) == UROCE_QPC_LINE(attr.rnr_retry),
	      "the send position is in one cache line");

/**
 * Set the state. Threads that post read the state by uroce_qpc_state_seen(), and must see either
 * the old or the new value. Other means synchronise these threads with the worker when the state
 * changes.
 */
static inline void
uroce_qpc_set_state(struct uroce_qpc *qpc, enum ibv_qp_state state)
{
	__atomic_store_n(&qpc->state, (uint8_t)state, __ATOMIC_RELAXED);
}

/** Read the state from a thread that is not the worker's. */
static inline enum ibv_qp_state
uroce_qpc_state_seen(const struct uroce_qpc *qpc)
{
	return (enum ibv_qp_state)__atomic_load_n(&qpc->state, __ATOMIC_RELAXED);
}

/**
 * Prefetch the cache lines of a context that both roles use. A hint, like the calls that follow.
 */
static inline void
uroce_qpc_fetch(const struct uroce_qpc *qpc)
{
	__builtin_prefetch(qpc, 1);
	__builtin_prefetch(&qpc->path, 1);
	__builtin_prefetch(&qpc->resp, 1);
	__builtin_prefetch(&qpc->stats, 1);
}

/** Prefetch the further lines of a context that the requester uses. A hint. */
static inline void
uroce_qpc_fetch_req(const struct uroce_qpc *qpc)
{
	__builtin_prefetch(&qpc->sq);
	__builtin_prefetch(&qpc->req.ooo_responses.deadline, 1);
	__builtin_prefetch(&qpc->req.ack_deadline, 1);
}

/**
 * Prefetch the further lines of a context that the responder uses. A hint.
 * @param has_recv  a receive request will complete
 */
static inline void
uroce_qpc_fetch_resp(const struct uroce_qpc *qpc, bool has_recv)
{
	__builtin_prefetch(&qpc->resp.msn, 1);
	if (has_recv)
		__builtin_prefetch(&qpc->rq);
}

/**
 * Prefetch the receive request that the next message would take. The context must be in the cache.
 * A hint.
 */
static inline void
uroce_qpc_fetch_recv(const struct uroce_qpc *qpc)
{
	if (!qpc->rq)
		return;
	__builtin_prefetch(&qpc->rq->ring);
	__builtin_prefetch(&qpc->rq->ring.tail, 1);
	__builtin_prefetch(uroce_ring_at(&qpc->rq->ring, uroce_ring_tail(&qpc->rq->ring)));
}

/**
 * Prefetch the send requests that are sent or acknowledged next. The context must be in the cache.
 * A hint.
 */
static inline void
uroce_qpc_fetch_queue(const struct uroce_qpc *qpc)
{
	if (!qpc->sq)
		return;
	__builtin_prefetch(&qpc->sq->ring);
	__builtin_prefetch(&qpc->sq->ring.tail, 1);
	__builtin_prefetch(uroce_ring_at(&qpc->sq->ring, qpc->req.una_idx), 1);
	__builtin_prefetch(uroce_ring_at(&qpc->sq->ring, qpc->req.next_idx), 1);
}

/** The local ACK timeout [IBA 9.9.2.1.1]; 0: none. */
static inline uint64_t
uroce_qpc_ack_timeout_ns(const struct uroce_qpc *qpc)
{
	return uroce_ack_timeout_ns(qpc->attr.timeout);
}

/**
 * Whether a port still transmits from memory of the QP's requests. Until then these requests are
 * not flushed.
 */
static inline bool
uroce_qpc_has_tx_refs(const struct uroce_qpc *qpc)
{
	/* A6, pairs with R6 in zero_copy.c: the port no longer reads the memory */
	return atomic_load_explicit(&qpc->nb_tx_refs, memory_order_acquire) != 0;
}

/** Whether the QP's service has acknowledgements: RC or XRC. */
static inline bool
uroce_qpc_is_reliable(const struct uroce_qpc *qpc)
{
	return qpc->service == UROCE_SERVICE_RC || qpc->service == UROCE_SERVICE_XRC;
}

/** Whether packets have to be retransmitted ahead of the send position. */
static inline bool
uroce_req_has_retransmit(const struct uroce_req *req)
{
	return req->loss_recovery.due || req->ooo_responses.due ||
	       req->ooo_responses.state == UROCE_OOO_RESPONSE_LOST;
}

/** Whether the requester waits for the RNR timer and sends nothing. */
static inline bool
uroce_req_is_rnr_wait(const struct uroce_req *req)
{
	return req->loss_recovery.state == UROCE_RECOVERY_RNR_WAIT;
}

/**
 * Whether the packet at una_psn was retransmitted alone (fast retransmission), while new packets
 * may follow.
 */
static inline bool
uroce_req_is_fast_retx(const struct uroce_req *req)
{
	return req->loss_recovery.state == UROCE_RECOVERY_FAST_RETX ||
	       req->loss_recovery.state == UROCE_RECOVERY_LOSS_FAST_RETX;
}

/** Whether a response is missing although the peer has executed later requests. */
static inline bool
uroce_req_has_answer_gap(const struct uroce_req *req)
{
	return req->ooo_responses.state != UROCE_OOO_RESPONSE_IN_ORDER;
}

#endif /* UROCE_TRANSPORT_CONTEXT_H */
