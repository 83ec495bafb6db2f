/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_QP_H
#define TEST_SIM_QP_H

/**
 * @file
 * One end of a connection: a QP context with its queues and memory, the requests that its
 * application will post, and what the oracle knows of their progress.
 *
 * Packets of a direction are numbered from 0: packet `first + n` of a direction is the n-th packet
 * of a request, and its PSN is `start_psn` plus that number. The oracle uses these numbers only. It
 * computes them from the posted requests, not from the state of the transport.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "mem/mw.h"
#include "mem/sig.h"
#include "transport/qpc.h"
#include "base/newer_verbs.h"

struct host;
struct mkey;
struct world;

/** How a request is wrong on purpose. */
enum bad {
	BAD_NONE,
	BAD_KEY,       /* an rkey that never existed */
	BAD_DEAD_KEY,  /* an rkey that was invalidated */
	BAD_PD,        /* an rkey of another protection domain */
	BAD_RANGE,     /* beyond the end of the region */
	BAD_RIGHT,     /* WRITE or atomic where only READ is allowed */
	BAD_ALIGN,     /* atomic at an unaligned address */
	BAD_LKEY,      /* an lkey that never existed */
	BAD_TOO_LONG,  /* a SEND that is longer than the receive buffer */
	BAD_RECV_KEY,  /* a SEND whose receive request has an invalid lkey */
	BAD_SRQ,       /* XRC: the number of a shared queue that does not exist */
	BAD_LKEY_LATE, /* an lkey that never existed, for the second half of the data */
	BAD_NB
};

/** A request, as planned and as executed. */
struct request {
	enum ibv_wr_opcode opcode;
	uint32_t len;
	uint32_t src;    /* offset in the noise of the bytes to send */
	uint32_t local;  /* READ, atomic: offset in the poster's memory for the response */
	uint32_t land;   /* WRITE, atomic: offset in the peer's memory */
	uint64_t remote; /* the remote address in the request */
	uint32_t rkey;
	/* immediate data as a host value of the wire bytes; or the key to bind or invalidate */
	uint32_t imm;
	uint32_t flags; /* flags of the request, enum ibv_send_flags */
	enum bad bad;
	uint8_t srq; /* XRC: index of the peer's shared queue that the request names */
	/* a later request depends on this request, which therefore must not be cancelled */
	bool is_needed;
	bool is_cancelled; /* the request sends nothing */
	bool is_mortal;    /* the request uses the peer's key that will be withdrawn */
	/* content of its destination when that key was withdrawn; NULL: it was not withdrawn */
	uint8_t *last;
	uint64_t compare_add;
	uint64_t swap;
	/* Connections with signatures use the fields from `bytes` to `is_reported` (signed.h). */
	uint8_t *bytes;    /* the bytes on the wire; NULL: bytes of the noise */
	struct mkey *from; /* mkey of the source; NULL: plain memory */
	/* mkey of the destination; NULL: plain memory, or, for a SEND, the receiver's choice */
	struct mkey *into;
	bool is_reported; /* both mkeys of the QP have reported their errors */
	/* state of the oracle about the request */
	uint32_t first;  /* number of its first packet in this direction */
	uint32_t nb_psn; /* number of packets of the request */
	uint64_t orig;   /* atomic: the value of the word when it was executed */
	/* SEND: offset of its receive buffer in the peer's memory; UINT32_MAX: not known yet */
	uint32_t recv_at;
};

/** The configuration of an end. */
struct qp_conf {
	enum ibv_qp_type type;
	enum ibv_mtu mtu;
	bool is_ipv6;
	bool all_signaled;
	uint8_t tclass;
	uint32_t psn;
	uint32_t sq_len;
	uint32_t rq_len;
	uint32_t max_sge;
	uint32_t max_inline;
	uint32_t max_requests; /* limit of the requests over the whole run */
	uint32_t mem_len;      /* bytes of registered memory, which ends with the receive buffers */
	uint32_t recv_len;     /* bytes of a receive buffer */
	uint32_t nb_bufs;      /* number of receive buffers */
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	unsigned access;
	/* receive requests come from the host's shared queue, if the host has one */
	bool is_shared;
	uint16_t window_psns; /* maximum number of packets in flight; 0: the transport's default */
	bool is_req_gbn;      /* the requester recovers by go-back-N */
	bool is_resp_gbn;     /* the responder drops out-of-order packets */
	/* the QP stops behind a request with a bad block (signature pipelining) */
	bool is_pipelined;
	const struct uroce_cc_conf *cc; /* parameters; NULL: no congestion control */
};

#define KEPT_MAX 128

/** Number of XRC shared queues of a host. */
#define XRC_SRQS 2

/** Reasons for which an end may be in ERR. */
enum death {
	DEATH_ORDERED = 1 << 0, /* the QP's application moved the QP to ERR */
	DEATH_FAULT = 1 << 1,   /* a request failed with an error that was due */
	DEATH_PEER = 1 << 2,    /* a bad request of the peer was received */
};

struct qp {
	struct uroce_qpc qpc;
	uint8_t traced_recovery; /* enum uroce_recovery_state that the trace printed last */
	uint8_t traced_answer;   /* enum uroce_ooo_response_state that the trace printed last */
	uint8_t traced_ooo;      /* enum uroce_ooo_request_state that the trace printed last */
	struct uroce_wq sq;
	struct uroce_wq rq;
	struct uroce_cq send_cq;
	struct uroce_cq recv_cq;
	struct qp_conf conf;
	struct world *world;
	struct host *host;
	struct qp *peer;
	/* shared queue of its receive requests; XRC: the first one; NULL: it has its own queue */
	struct shared *shared;
	struct shared *srqs[XRC_SRQS]; /* XRC target: all shared queues that its peer may name */
	struct uroce_path path;
	uint32_t qpn;
	bool is_gone;     /* the QP is destroyed, or its host has crashed */
	bool is_signed;   /* requests use mkeys (signed.h) */
	bool is_forged;   /* forged frames were sent: the oracle does not check this QP */
	bool is_lenient;  /* the transport may lose messages: UC, UD */
	bool is_to_group; /* the QP sends datagrams to the group; its peer is one of the members */
	bool is_member;   /* a member of the group, which receives what its peer sends */
	uint64_t pass;    /* value of world.nb_passes at the last datagram that it received */
	/* memory: its content, and the content that it must have */
	uint8_t *mem;
	uint8_t *shadow;
	uint64_t iova;
	uint32_t key;
	uint32_t recv_base;  /* offset of the receive buffers */
	uint32_t pieces_end; /* end of the pieces that are written once */
	/* state of the QP's application */
	struct request *reqs;
	uint32_t nb_planned;
	uint32_t nb_posted;
	uint32_t nb_recv_planned; /* maximum number of receive requests of the QP */
	uint32_t nb_recv_posted;
	uint32_t nb_recv_done;
	uint32_t window;      /* rkey of a window over all of `mem`, for the peer; 0: none */
	uint32_t dead_window; /* rkey of that window after the peer has invalidated it */
	enum uroce_mw_kind window_kind;
	bool is_window_zero_based;
	uint32_t own_key;   /* key of a window that this end binds and invalidates; 0: none */
	uint32_t own_bound; /* key that this window is bound with; 0: not bound */
	struct {
		uint32_t key; /* key to all of `mem` for the peer, until it is withdrawn; 0: none */
		uint8_t kind; /* 0: key of a region; else enum uroce_mw_kind */
		bool is_zero_based;
		bool is_dead;
	} mortal;
	struct uroce_sig_domain on_wire; /* with is_signed: the signatures on the wire */
	struct mkey *recv_mkeys;         /* one mkey for each receive buffer; NULL: no mkeys */
	/* index of the receive request with an invalid lkey; UINT32_MAX: none */
	uint32_t bad_recv;
	uint32_t events;  /* all events of the QP so far, enum uroce_qpc_event */
	uint64_t post_ns; /* time before which no request is posted */
	uint64_t recv_ns; /* time before which no receive request is posted */
	uint32_t pace_ns; /* mean time between two posts; 0: no delay */
	uint32_t recv_pace_ns;
	bool is_silent; /* the QP posts no requests by itself: golden traces */
	bool is_kept;   /* completions are kept for the command `done`: golden traces */
	struct {
		struct ibv_wc wc;
		bool is_recv;
	} * kept; /* with is_kept: the last completions, at most KEPT_MAX */
	uint32_t nb_kept;
	/* state of the oracle: requests posted at this end */
	uint32_t done;   /* number of requests known to be complete */
	uint32_t nb_psn; /* number of packets of all posted requests */
	uint32_t sent;   /* index after the newest packet that was sent */
	/* index of the packet that was retransmitted alone; valid if has_retransmitted */
	uint32_t retransmitted;
	/* packets below this index were in flight when packet `retransmitted` was retransmitted */
	uint32_t retransmitted_end;
	bool has_retransmitted;
	uint32_t acked;     /* packets below this index are acknowledged, as the requester claims */
	uint32_t acked_req; /* index of the request that contains `acked` */
	uint32_t exec;      /* packets below this index are executed, as the responder claims */
	bool is_overlaid;   /* out-of-order packets may rightly have overwritten memory */
	uint32_t exec_req;  /* index of the request that contains `exec` */
	/* requests below this index have a receive request; XRC: for each shared queue */
	uint32_t next_taker[XRC_SRQS];
	uint64_t *arrived;     /* bit i: packet i arrived intact at the peer */
	uint32_t arrived_len;  /* length of `arrived` in words */
	uint32_t rd_begin[32]; /* READs and atomics in flight: packets [begin, end) */
	uint32_t rd_end[32];
	uint32_t rd_first;
	uint32_t rd_last;
	/* in SQD no packet from this index on may be sent; UINT32_MAX: not in SQD */
	uint32_t sqd_limit;
	bool is_stopped; /* a bad block was found: the QP must be in SQD */
	uint64_t progress_ns;
	uint64_t sent_ns; /* time at which the QP's last request was sent */
	uint64_t done_ns; /* time at which the last acknowledgement arrived */
	/* number of packets among the QP's first 1000 that arrived twice */
	uint64_t spurious_early;
	uint64_t retries_seen; /* number of timeouts at the last progress */
	uint64_t rnr_seen;
	uint64_t retries_now; /* number of timeouts after the last call */
	uint64_t rnr_now;
	bool has_failed; /* a request failed: all later ones must be flushed */
	/* a receive request failed; XRC: for each shared queue, because each is in order */
	bool has_recv_failed[XRC_SRQS];
	bool has_drained; /* the event SQ_DRAINED occurred in the last call */
	/* state of the QP (enum ibv_qp_state) when the frames that are sent now were requested */
	uint8_t asked_state;
	bool is_last_wqe; /* the event LAST_WQE_REACHED occurred */
	bool is_drained;  /* the event SQ_DRAINED occurred since the QP entered SQD */
	uint32_t nb_est;  /* number of COMM_EST events */
	uint32_t nb_flushed_recv;
	/* state of the oracle: congestion control */
	bool is_marked;     /* a CE mark arrived since the last CNP */
	uint64_t cnp_ns;    /* time of the last CNP; 0: none was sent */
	uint64_t paced_ns;  /* time at which credit_bits was computed */
	uint64_t paced_bps; /* highest rate of the pacer since paced_ns; 0: unlimited */
	double credit_bits; /* number of bits that the QP may send now without exceeding its rate */
	uint32_t deaths;    /* reasons why the QP may enter ERR, enum death */
	uint32_t bad_seen;  /* bit i: a request of the peer with enum bad i was received */
};

/** Create an end on a host, in RESET. */
struct qp *qp_create(struct world *world, struct host *host, const struct qp_conf *conf);

/** Set two ends as each other's peer, without a change of their state. */
void qp_link(struct qp *a, struct qp *b);

/** Connect two ends; both are in RTS afterwards. */
void qp_connect(struct qp *a, struct qp *b);

/** Connect two ends, but leave `b` in RTR. */
void qp_connect_half(struct qp *a, struct qp *b);

/**
 * Move the QP from the previous state to `state`.
 * @return as uroce_qpc_modify()
 */
int qp_modify(struct qp *qp, enum ibv_qp_state state);

/** The application destroys the QP. */
void qp_destroy(struct qp *qp);

/**
 * Create two windows over all of the QP's memory: one bound for the peer to WRITE; one that this
 * end binds and invalidates. A window of type 1 is bound with length 0 instead of invalidated.
 */
void qp_make_windows(struct qp *qp, enum uroce_mw_kind kind);

/**
 * Plan a request and assign its number.
 * @return the request, to be completed by the caller; NULL: no room
 */
struct request *qp_plan(struct qp *qp);

/**
 * Post the next planned request now.
 * @return 0 or the error of uroce_sq_fill()
 */
int qp_post(struct qp *qp);

/** Post the next receive request now. */
int qp_post_recv(struct qp *qp);

/** Offset in memory of the buffer of receive request `nth`. */
uint32_t qp_recv_at(const struct qp *qp, uint32_t nth);

/** The request that contains packet `idx`; NULL: no posted request. */
struct request *qp_request_at(struct qp *qp, uint32_t idx);

/** Number of packets of a request with the path MTU of this end. */
uint32_t qp_packets(const struct qp *qp, const struct request *req);

/** All bytes that a request sends or receives. */
const uint8_t *request_bytes(const struct qp *qp, const struct request *req);

/** Length of the memory range in which the data of a request is placed, from its first byte on. */
uint32_t request_extent(const struct request *req);

static inline bool
request_is_atomic(const struct request *req)
{
	return req->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       req->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static inline bool
request_is_send(const struct request *req)
{
	return req->opcode == IBV_WR_SEND || req->opcode == IBV_WR_SEND_WITH_IMM ||
	       req->opcode == IBV_WR_SEND_WITH_INV;
}

static inline bool
request_is_write(const struct request *req)
{
	return req->opcode == IBV_WR_RDMA_WRITE || req->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
	       (int)req->opcode == UROCE_WR_ATOMIC_WRITE;
}

/** Whether the transport service acknowledges, so that nothing may be lost. */
static inline bool
qp_is_reliable(const struct qp *qp)
{
	return qp->conf.type == IBV_QPT_RC || qp->conf.type == IBV_QPT_XRC_SEND ||
	       qp->conf.type == IBV_QPT_XRC_RECV;
}

/** The longest message that the QP can receive. */
uint32_t qp_recv_len(const struct qp *qp);

/** Whether a request uses a receive request of the peer. */
static inline bool
request_takes_recv(const struct request *req)
{
	return !req->is_cancelled &&
	       (request_is_send(req) || req->opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
}

/** Whether a request sends no packets. */
static inline bool
request_is_local(const struct request *req)
{
	return req->opcode == IBV_WR_LOCAL_INV || req->opcode == IBV_WR_BIND_MW;
}

static inline bool
request_needs_answer(const struct request *req)
{
	return req->opcode == IBV_WR_RDMA_READ || request_is_atomic(req) ||
	       (int)req->opcode == UROCE_WR_ATOMIC_WRITE || (int)req->opcode == UROCE_WR_FLUSH;
}

#endif /* TEST_SIM_QP_H */
