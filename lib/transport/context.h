/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_CONTEXT_H
#define UROCE_TRANSPORT_CONTEXT_H

/**
 * @file
 * The QP context: all that a QP is, laid out by who needs what, and the questions that any role asks of it.
 *
 * The calls that the world may make are in qpc.h.
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
#include "transport/cc.h"
#include "transport/counter.h"
#include "transport/reorder_buffer.h"
#include "transport/reorder_window.h"
#include "transport/resources.h"
#include "transport/rtt.h"
#include "wire/build.h"
#include "wire/parse.h"
#include "wire/psn.h"
#include "wire/syndrome.h"
#include "wire/verdict.h"

/** No timer is armed. */
#define UROCE_NEVER UINT64_MAX

/**
 * Requests in flight, in packets: the requester's window [una_psn, next_psn). Half of what a port's
 * ring usually holds: where frames are handed over through memory, a ring used as far as that lies in
 * the cache that both ends share, and no longer in that of the end that wrote it.
 */
#define UROCE_WINDOW_PSNS 512

/** The largest window: what a responder can keep track of. */
#define UROCE_WINDOW_MAX UROCE_PSN_GAP_SPAN

/**
 * A READ goes out as requests for chunks of response packets, so that the requester's window bounds
 * what the responder may have in flight. On the wire each is an ordinary READ. A chunk has this many
 * packets, or as many more as it takes for max_rd_atomic chunks to fill the window.
 */
#define UROCE_READ_CHUNK_PSNS 64

/** An intent to send one frame. */
struct uroce_txd {
	/*
	 * in: room for UROCE_HDR_MAX bytes, and behind what these become for the payload; out: Ethernet ..
	 * extension headers, and such payload as is in no memory: then a slice points here
	 */
	uint8_t *hdr;
	uint32_t icrc;        /* out: state after the masked UDP header (see wire/icrc.h) */
	uint32_t payload_len; /* out: bytes in the slices */
	uint16_t hdr_len;     /* out */
	uint8_t bth_off;      /* out: where the BTH begins in hdr */
	uint8_t pad_len;      /* out: zero bytes between payload and ICRC, 0..3 */
	uint8_t nb_slices;    /* out */
	struct uroce_slice slice[UROCE_SGE_MAX]; /* out: the first nb_slices */
};

/** What a call left to be told to the application; or-ed in `events`, taken by the caller. */
enum uroce_qpc_event {
	/* the CQ's consumer asked to be told; only of a context whose completions are published at once */
	UROCE_QPC_SEND_CQ_EVENT = 1 << 0,
	UROCE_QPC_RECV_CQ_EVENT = 1 << 1,
	UROCE_QPC_SEND_CQ_OVERRUN = 1 << 2,
	UROCE_QPC_RECV_CQ_OVERRUN = 1 << 3,
	UROCE_QPC_REQ_ERR = 1 << 4,    /* IBV_EVENT_QP_REQ_ERR */
	UROCE_QPC_ACCESS_ERR = 1 << 5, /* IBV_EVENT_QP_ACCESS_ERR */
	UROCE_QPC_COMM_EST = 1 << 6,   /* IBV_EVENT_COMM_EST */
	UROCE_QPC_SQ_DRAINED = 1 << 7, /* IBV_EVENT_SQ_DRAINED */
	UROCE_QPC_LAST_WQE = 1 << 8,   /* IBV_EVENT_QP_LAST_WQE_REACHED */
	/* IBV_EVENT_SRQ_LIMIT_REACHED: uroce_qpc_limited_srq() says of which */
	UROCE_QPC_SRQ_LIMIT = 1 << 9,
	/* frames came that no honest peer sends: for the log */
	UROCE_QPC_CNP_IMPLAUSIBLE = 1 << 10,
	UROCE_QPC_KEYS_GUESSED = 1 << 11,
	UROCE_QPC_PSN_CONFLICT = 1 << 12,
	UROCE_QPC_RNR_FALSE = 1 << 13,
};

/** What the device allows; modify checks against it. */
struct uroce_qpc_limits {
	uint32_t nb_gids;  /* size of the GID table */
	uint16_t nb_pkeys; /* size of the P_Key table */
	uint8_t nb_ports;
	uint8_t active_mtu;         /* enum ibv_mtu */
	uint8_t max_rd_atomic;      /* as initiator */
	uint8_t max_dest_rd_atomic; /* as responder, <= UROCE_RD_ATOMIC_MAX */
};

/** What a context is made of. The pointers are borrowed for the context's life. */
struct uroce_qpc_conf {
	enum ibv_qp_type type; /* RC, UC, UD, XRC_SEND (no rq) or XRC_RECV (no sq, no rq) */
	uint32_t qpn;
	uint32_t pdn;
	struct uroce_wq *sq;
	struct uroce_wq *rq;                /* NULL: the QP has an SRQ */
	struct uroce_srq *srq;              /* NULL: none */
	const struct uroce_srq_table *srqs; /* XRC_RECV: what the peer may name */
	uint32_t xrcd;                      /* XRC_RECV: number of its XRC domain */
	struct uroce_cq *send_cq;
	struct uroce_cq *recv_cq; /* XRC_RECV: NULL, completions go to the SRQ's */
	struct uroce_mr_table *mrs;
	struct uroce_rd_pool *rd_pool; /* its worker's; NULL: READs and atomics are refused */
	/* its worker's; NULL: nothing is placed early or held, and both roles go back N */
	struct uroce_reorder_buffer *reorder_buffer;
	struct uroce_counters *counters; /* its worker's; NULL: nobody counts for all QPs */
	struct uroce_cq_list
		*unpublished; /* its worker's; NULL: completions are published at once */
	uint16_t
		window_psns; /* requests in flight, in packets, <= UROCE_WINDOW_MAX; 0: the default */
	bool is_req_gbn;     /* the requester goes back N in any case */
	bool is_resp_gbn;    /* the responder drops what arrives ahead of a hole */
	bool is_pipelined;   /* it stops behind a request whose data has a bad signature */
	const struct uroce_cc_conf *cc; /* congestion control; NULL: none. Not for datagrams */
	const struct uroce_qpc_limits *limits;
	const uint16_t *pkeys; /* the port's P_Key table, limits->nb_pkeys entries */
	void *cookie;          /* goes into completions as `qp` */
};

/**
 * Counters of a QP, of its life; written by its worker, read by anyone as hints. Those that grow with what
 * goes wrong are modulo 2^32.
 */
struct uroce_qpc_stats {
	uint64_t tx_packets;
	uint64_t tx_bytes; /* payload */
	uint64_t rx_packets;
	uint64_t rx_bytes; /* payload */
	/* seldom */
	uint32_t retransmits; /* packets sent again */
	uint32_t timeouts;
	uint32_t naks_seq; /* PSN sequence NAKs received */
	uint32_t implied_naks;
	uint32_t naks_rnr;     /* RNR NAKs received */
	uint32_t duplicates;   /* requests received again */
	uint32_t ooo_requests; /* requests received ahead of a hole */
	uint32_t naks_seq_sent;
	uint32_t naks_rnr_sent;
	uint32_t ce_marked; /* packets received that a switch had marked */
	uint32_t cnps_sent;
	uint32_t cnps_handled; /* received and heeded */
};

/**
 * Attributes as modify set them, in their smallest form; those that the packet paths read in another
 * form, or that need no copy (qkey, dest_qp_num, qp_access_flags), are in the context itself.
 */
struct uroce_qpc_attr {
	/* what packets read */
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t en_sqd_async_notify;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	/* cold */
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

/** What the peer does with packets that arrive ahead of a PSN gap. */
enum uroce_peer_arq { UROCE_PEER_ARQ_UNKNOWN, UROCE_PEER_ARQ_SELECTIVE, UROCE_PEER_ARQ_GO_BACK_N };

/**
 * Loss recovery of the requester, in the words of TCP (RFC 5681, RFC 6675) and RFC 9002. recovery_state.c has the
 * table of what leads from one state to the next.
 */
enum uroce_recovery_state {
	UROCE_RECOVERY_OPEN,           /* nothing is known to be lost */
	UROCE_RECOVERY_PROBE,          /* a probe is on the wire */
	UROCE_RECOVERY_FAST_RETX,      /* the packet at una_psn alone is retransmitted */
	UROCE_RECOVERY_RNR_WAIT,       /* silent until rnr_deadline */
	UROCE_RECOVERY_LOSS,           /* went back N; una_psn has not moved since */
	UROCE_RECOVERY_LOSS_PROBE,     /* LOSS, with a probe on the wire */
	UROCE_RECOVERY_LOSS_FAST_RETX, /* LOSS, and the packet at una_psn is missing once more */
	UROCE_RECOVERY_STATE_NB
};

/** What recovery has to retransmit, in any state, when the QP has its turn; or-ed. */
enum uroce_recovery_due {
	UROCE_RECOVERY_DUE_FIRST = 1 << 0,  /* the packet at una_psn */
	UROCE_RECOVERY_DUE_LAST = 1 << 1,   /* the newest one */
	UROCE_RECOVERY_DUE_BEHIND = 1 << 2, /* what lies behind PSN gaps, with spare capacity */
};

/** Recovery of requests, see loss_recovery.c. The first half is what every packet and every response looks at. */
struct uroce_loss_recovery {
	uint64_t probe_deadline; /* UROCE_NEVER: none */
	uint32_t retransmit_psn; /* next to be sent again with DUE_BEHIND, each once */
	uint8_t state;           /* enum uroce_recovery_state */
	uint8_t due;             /* enum uroce_recovery_due */
	uint8_t resv[2];
	/* while there are gaps */
	uint32_t gap_psn;     /* in FAST_RETX or PROBE: what was sent again by itself */
	uint32_t recover_psn; /* max_psn when that was */
	uint32_t round_psn;   /* with nb_gaps: a gap before it is one more in a round trip */
	uint8_t peer;         /* enum uroce_peer_arq */
	uint8_t nb_adjacent;  /* gaps in a row, each right behind the one before */
	uint8_t nb_gaps; /* gaps of this round trip; 0: there was none since all was sent again */
	/* no state: it outlives the gaps of a round trip, and says how the next ones are counted */
	bool is_lossy; /* the round trip before had many gaps */
	/* no state: what is known of the peer, which the next answer in FAST_RETX is judged by */
	bool is_ambiguous; /* the last answer to a retransmission came too soon to tell anything */
	uint8_t nb_probe_steps; /* answers in a row that were to a probe alone, with more in flight */
	uint32_t inflation_psns; /* in FAST_RETX: what may be in flight beyond the window */
	uint64_t retransmit_ns;  /* when gap_psn was sent again; 0: not yet */
};

/** Recovery of responses. ooo_response_state.c has the table of what leads from one state to the next. */
enum uroce_ooo_response_state {
	UROCE_OOO_RESPONSE_IN_ORDER,   /* no response is missing */
	UROCE_OOO_RESPONSE_GAP,        /* one is, and what is known to be lost was asked for */
	UROCE_OOO_RESPONSE_REORDERING, /* more is missing, and may only be late: until `deadline` */
	UROCE_OOO_RESPONSE_LOST,       /* more is lost, and to be asked for */
	UROCE_OOO_RESPONSE_STATE_NB
};

/** What is to be asked for in any state, missing or not; or-ed. */
enum uroce_ooo_response_due {
	UROCE_OOO_RESPONSE_DUE_PROBE = 1 << 0, /* the response at una_psn */
	UROCE_OOO_RESPONSE_DUE_NAK = 1 << 1,   /* the request nak_psn, which the peer misses */
};

/**
 * Responses that are here ahead of one that is missing, see ooo_response.c. The last 16 bytes are what every
 * packet and every response looks at.
 */
struct uroce_ooo_responses {
	struct uroce_psn_gap *gap; /* which are here; NULL: none */
	struct uroce_reorder_window
		reorder_window;   /* since when the oldest is missing, and how late they may be */
	uint64_t requested_ns;    /* when what is missing was asked for last */
	uint32_t min_response_ns; /* none of that was answered sooner; 0: none was answered */
	uint32_t seen_psn;        /* but IN_ORDER: the peer has executed everything before */
	struct uroce_psn_range
		ask; /* but IN_ORDER: asked for up to `begin`; REORDERING, LOST: to `end` next */
	uint32_t resume_psn;          /* but IN_ORDER: asking goes on when that much is seen */
	struct uroce_psn_range again; /* LOST: what is asked for once more */
	uint32_t round_psn;           /* what is missing before was asked for ... */
	uint32_t round_max_psn;       /* ... before anything from here on was sent */
	uint32_t proof_psn; /* a response to what was asked for from here on proves a loss before */
	uint64_t deadline;  /* REORDERING: then what is missing is lost; else UROCE_NEVER */
	uint32_t nak_psn;   /* with DUE_NAK: the peer misses this request */
	uint8_t state;      /* enum uroce_ooo_response_state */
	uint8_t due;        /* enum uroce_ooo_response_due */
	uint8_t resv[2];
};

/** The requester: what we asked of the peer. Its hot fields are two cache lines of a context. */
struct uroce_req {
	struct uroce_ooo_responses ooo_responses;
	struct uroce_rtt rtt;
	struct uroce_loss_recovery loss_recovery;
	uint64_t rnr_deadline;  /* valid in RNR_WAIT */
	uint64_t rnr_ignore_ns; /* until then RNR NAKs are not believed */
	uint64_t rnr_ns;        /* in RNR_WAIT: since when */
	uint32_t rnr_psn;       /* in RNR_WAIT: the request that had no receive request */
	uint8_t nb_false_rnrs;  /* RNR NAKs in a row that were not true, saturates */
	uint8_t resv[3];        /* so that what follows is in one line */
	uint64_t ack_deadline;  /* UROCE_NEVER: nothing outstanding, or no timeout */
	uint64_t armed_ns;      /* when that was set */
	uint32_t una_psn;       /* oldest PSN not acknowledged */
	uint32_t next_psn;      /* PSN of the next packet to send; behind max_psn when resending */
	uint32_t max_psn;       /* one past the newest PSN ever sent */
	uint32_t una_idx;       /* send queue index of the oldest incomplete request */
	uint32_t next_idx;      /* of the request that next_psn belongs to */
	uint32_t next_pkt;      /* PSNs of it that lie before next_psn */
	uint32_t begun_idx;     /* one past the newest request that has PSNs */
	uint8_t since_ack_req;  /* packets sent since the last that has to be answered */
	uint8_t port_retry_left; /* timeouts that the port has left, with the present one; 0: it is the peer's */
	uint8_t nb_rd_out; /* READ and atomic requests on the wire, unanswered */
	uint8_t nb_probes; /* since something came */
	uint8_t retry_left;
	uint8_t rnr_left;
	uint8_t fault; /* enum ibv_wc_status that ends the request at next_idx; 0: none */
	/* no states of recovery: the ACK rule, SQD and local requests go on in each of them */
	bool is_ack_wanted; /* the packet at next_psn was sent before and now asks for an ACK */
	bool is_draining;   /* SQD, requests begun not yet complete */
	bool is_local_done; /* a local request was executed, and may be complete */
};

/**
 * The responder: what the peer asks of us. The first 24 bytes are what the requester looks at, too; then
 * what every request does.
 */
struct uroce_resp {
	uint64_t nak_deadline;     /* the hole at epsn is reported then, or what was held goes on;
				  UROCE_NEVER: not */
	uint32_t pending;          /* bit i: res[i] has responses to send */
	uint32_t epsn;             /* expected PSN */
	uint8_t operation;         /* enum uroce_operation of the message being received; NONE */
	uint8_t syndrome;          /* of the pending AETH */
	bool has_aeth;             /* an ACK or NAK is to be sent */
	bool is_nak_sent;          /* silent until epsn arrives */
	bool is_rnr_sent;          /* and it was an RNR NAK: what is ahead will be sent again */
	bool is_fill_doubtful;     /* the next packet tells what filled the last hole */
	bool is_peer_gbn;          /* it repeats what we have: its NAKs are not delayed */
	bool has_dropped;          /* something ahead of a hole was dropped */
	uint32_t msn;              /* messages completed, modulo 2^24 */
	uint32_t msg_len;          /* payload bytes received of this message */
	struct uroce_psn_gap *gap; /* what arrived ahead of epsn; NULL: nothing */
	struct uroce_reorder_window reorder_window;
	struct uroce_recv_wqe *recv; /* taken from the SRQ; NULL: none. See recv.c */
	uint64_t write_va;
	uint32_t write_rkey; /* WRITE being received */
	uint32_t write_len;  /* bytes it announced */
	uint32_t aeth_psn;   /* PSN of the pending AETH */
	uint32_t res_head;   /* READs and atomics taken so far; modulo the size, the next slot */
	/* of holes, READs and atomics */
	struct uroce_rd_res *res; /* UROCE_RD_ATOMIC_MAX of them, a ring; NULL: none taken yet */
	uint32_t dropped_psn;     /* with has_dropped: one past the newest of it */
	uint32_t fill_psn;        /* the last hole */
	uint32_t fill_ns;         /* how old it became */
	uint32_t passed_head;     /* `res_head` when an ACK named what came behind all of them */
};

/** No PSN. */
#define UROCE_OOO_PSN_NONE UINT32_MAX

/** What is the same in all frames of an opcode and a length, beside the headers in the path. */
struct uroce_hdr_template {
	uint32_t icrc;        /* state after the masked UDP header */
	uint32_t payload_len; /* UROCE_HDR_TEMPLATE_NONE: the path's headers have none yet */
	uint16_t hdr_len;
	uint8_t pad_len;
	uint8_t opcode;
};

#define UROCE_HDR_TEMPLATE_NONE UINT32_MAX

/**
 * A QP context. Fields are the transport's own; read-only to everyone else.
 *
 * Where there are many QPs each line of it comes from memory, so it is laid out by who needs what: some
 * lines for both roles, and some for each. Nothing else is touched while all goes well.
 */
struct uroce_qpc {
	/* both roles */
	uint8_t type;        /* enum ibv_qp_type */
	uint8_t state;       /* enum ibv_qp_state; uroce_qpc_set_state() */
	uint8_t service;     /* enum uroce_service */
	uint8_t mtu_shift;   /* log2 of the path MTU */
	bool is_established; /* COMM_EST was raised */
	bool is_req_gbn;
	bool is_resp_gbn;
	bool is_zero_copy; /* frames are built that refer to requests: these must stay */
	bool is_req_turn;  /* the odd frame of a burst is for a request, not for a response */
	bool is_recv_open; /* receives that completed are not published yet, see completion.h */
	/* how the oldest request ends: it is told when no port refers to its memory */
	uint8_t end_status; /* enum ibv_wc_status; 0: as those behind it */
	uint8_t end_vendor_err;
	_Atomic uint32_t
		nb_tx_refs; /* pieces of its requests' memory that a port refers to; floor 3's */
	uint32_t qpn;
	uint32_t events; /* enum uroce_qpc_event, for the caller to take */
	uint16_t window_psns;
	uint16_t chunk_psns; /* responses that one READ request asks for, at most */
	uint16_t pkey;
	uint8_t ack_every; /* one packet in so many asks for an ACK, while there is more to send */
	uint8_t nb_bad_keys; /* UC: of the peer's, since bad_key_ns; see msg.c */
	struct uroce_mr_table *mrs;
	uint32_t pdn;       /* XRC_RECV: that of `srq` */
	uint32_t access;    /* enum ibv_access_flags granted to the peer */
	struct uroce_cc cc; /* its first 16 bytes; the requester: its last 16, too */
	/* the requester, and who completes receives */
	struct uroce_wq *sq;
	struct uroce_cq *send_cq;
	struct uroce_wq *rq;
	struct uroce_cq *recv_cq;
	void *cookie;
	struct uroce_cq_list
		*unpublished; /* its worker's; NULL: completions are published at once */
	/* both roles: what is sent */
	struct uroce_path path; /* RC, UC: valid from RTR on */
	struct uroce_hdr_template
		hdr_template; /* of the frames that its headers are complete for, but for the PSN */
	/* the responder */
	struct uroce_resp resp;
	/* both roles: these and the first 32 bytes of the others */
	struct uroce_counters *counters; /* its worker's; or NULL */
	struct uroce_qpc_stats stats;
	struct uroce_reorder_buffer *reorder_buffer; /* NULL: nothing is held or placed early */
	/* the requester */
	struct uroce_req req;
	struct uroce_qpc_attr attr; /* its first 8 bytes */
	/* cold */
	struct uroce_srq *srq; /* XRC_RECV: the one that the last request named */
	const struct uroce_srq_table *srqs;
	struct uroce_rd_pool *rd_pool; /* where resp.res comes from; NULL: no READs are served */
	const struct uroce_qpc_limits *limits;
	const uint16_t *pkeys;
	uint32_t dest_qpn; /* RC, UC */
	uint32_t qkey;     /* UD */
	uint32_t xrcd;
	bool is_pipelined;
	bool is_stopped; /* with is_pipelined: in SQD by itself */
	uint16_t
		ooo_window_psns; /* what the peer was seen to have outstanding beyond one packet, doubled; see ooo_request.c */
	uint32_t
		ooo_first_psn; /* of the packet that came ahead and opened the last hole; UROCE_OOO_PSN_NONE */
	uint32_t ooo_first_sum; /* of what was in it */
	uint64_t bad_key_ns;    /* with nb_bad_keys: when the first of these came */
};

/* The lines that packets touch: see uroce_qpc_fetch(), and what comes after. */
#define UROCE_QPC_LINE(field) (offsetof(struct uroce_qpc, field) / 64 * 64)

static_assert(offsetof(struct uroce_qpc, cc.conf) == 64, "what all ask is one line");
static_assert(offsetof(struct uroce_qpc, cc.ask_ns) % 64 == 0 &&
		      offsetof(struct uroce_qpc, path) ==
			      offsetof(struct uroce_qpc, cc.ask_ns) + 64,
	      "objects are one line, and the path begins one");
static_assert(offsetof(struct uroce_qpc, resp.msn) == offsetof(struct uroce_qpc, path) + 128,
	      "the path ends with what is owed to the peer");
static_assert(offsetof(struct uroce_qpc, resp.res) == offsetof(struct uroce_qpc, path) + 192,
	      "what a request does is one line");
static_assert(UROCE_QPC_LINE(counters) == UROCE_QPC_LINE(resp.res) &&
		      UROCE_QPC_LINE(stats.rx_bytes) == UROCE_QPC_LINE(resp.res) &&
		      UROCE_QPC_LINE(stats.tx_packets) == UROCE_QPC_LINE(resp.res),
	      "what is counted of every packet is in the next one");
static_assert(offsetof(struct uroce_qpc, req.ooo_responses.deadline) % 64 == 0 &&
		      UROCE_QPC_LINE(req.ooo_responses.deadline) == UROCE_QPC_LINE(req.rtt) &&
		      UROCE_QPC_LINE(req.rtt) == UROCE_QPC_LINE(req.loss_recovery.due),
	      "what an answer teaches is one line");
static_assert(offsetof(struct uroce_qpc, req.ack_deadline) % 64 == 0 &&
		      UROCE_QPC_LINE(req.ack_deadline) == UROCE_QPC_LINE(attr.rnr_retry),
	      "where the requester is is one line");

/**
 * Another state. Posters, on other threads, look at it (uroce_qpc_state_seen()), and need no more than to see the
 * one or the other: what a change of it takes is between them and the worker by other means.
 */
static inline void
uroce_qpc_set_state(struct uroce_qpc *qpc, enum ibv_qp_state state)
{
	__atomic_store_n(&qpc->state, (uint8_t)state, __ATOMIC_RELAXED);
}

/** The state, as seen by a thread that is not the worker's. */
static inline enum ibv_qp_state
uroce_qpc_state_seen(const struct uroce_qpc *qpc)
{
	return (enum ibv_qp_state)__atomic_load_n(&qpc->state, __ATOMIC_RELAXED);
}

/** Fetch what both roles want of a context. A hint, as all of these. */
static inline void
uroce_qpc_fetch(const struct uroce_qpc *qpc)
{
	__builtin_prefetch(qpc, 1);
	__builtin_prefetch(&qpc->path, 1);
	__builtin_prefetch(&qpc->resp, 1);
	__builtin_prefetch(&qpc->stats, 1);
}

/** Fetch what the requester wants, beside that. */
static inline void
uroce_qpc_fetch_req(const struct uroce_qpc *qpc)
{
	__builtin_prefetch(&qpc->sq);
	__builtin_prefetch(&qpc->req.ooo_responses.deadline, 1);
	__builtin_prefetch(&qpc->req.ack_deadline, 1);
}

/** Fetch what the responder wants, beside that, and if it is to complete a receive request. */
static inline void
uroce_qpc_fetch_resp(const struct uroce_qpc *qpc, bool has_recv)
{
	__builtin_prefetch(&qpc->resp.msn, 1);
	if (has_recv)
		__builtin_prefetch(&qpc->rq);
}

/** Fetch the receive request that a message would take; the context is at hand. A hint. */
static inline void
uroce_qpc_fetch_recv(const struct uroce_qpc *qpc)
{
	if (!qpc->rq)
		return;
	__builtin_prefetch(&qpc->rq->ring);
	__builtin_prefetch(&qpc->rq->ring.tail, 1);
	__builtin_prefetch(uroce_ring_at(&qpc->rq->ring, uroce_ring_tail(&qpc->rq->ring)));
}

/** Fetch the requests that are sent or answered next; the context is at hand. A hint. */
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

/** Whether a port refers to memory of the QP's requests: until then they are not flushed. */
static inline bool
uroce_qpc_has_tx_refs(const struct uroce_qpc *qpc)
{
	return atomic_load_explicit(&qpc->nb_tx_refs, memory_order_acquire) != 0; /* A6 */
}

/** Whether the QP is of a service that acknowledges. */
static inline bool
uroce_qpc_is_reliable(const struct uroce_qpc *qpc)
{
	return qpc->service == UROCE_SERVICE_RC || qpc->service == UROCE_SERVICE_XRC;
}

/** Whether something is to be sent again, beside what a position that was set back comes by. */
static inline bool
uroce_req_has_retransmit(const struct uroce_req *req)
{
	return req->loss_recovery.due || req->ooo_responses.due ||
	       req->ooo_responses.state == UROCE_OOO_RESPONSE_LOST;
}

/** Whether the requester is silent, until its peer has had time to post a receive request. */
static inline bool
uroce_req_is_rnr_wait(const struct uroce_req *req)
{
	return req->loss_recovery.state == UROCE_RECOVERY_RNR_WAIT;
}

/** Whether the packet at una_psn is retransmitted by itself, and new ones follow. */
static inline bool
uroce_req_is_fast_retx(const struct uroce_req *req)
{
	return req->loss_recovery.state == UROCE_RECOVERY_FAST_RETX ||
	       req->loss_recovery.state == UROCE_RECOVERY_LOSS_FAST_RETX;
}

/** Whether a response is missing, and the peer has gone on. */
static inline bool
uroce_req_has_answer_gap(const struct uroce_req *req)
{
	return req->ooo_responses.state != UROCE_OOO_RESPONSE_IN_ORDER;
}

#endif /* UROCE_TRANSPORT_CONTEXT_H */
