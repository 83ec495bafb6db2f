/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_QP_H
#define TEST_SIM_QP_H

/**
 * @file
 * One end of a connection: a QP context with its queues and memory, the requests that its
 * application will post, and what the oracle knows of their progress.
 *
 * The packets that an end sends for its requests are numbered from 0. Packet `first + n` is the
 * n-th packet of a request; its PSN is the initial PSN plus its number. The oracle computes these
 * numbers from the posted requests, not from the state of the transport.
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

/** The reason why a request is wrong on purpose. */
enum bad {
	BAD_NONE,
	BAD_KEY,       /* the rkey never existed */
	BAD_DEAD_KEY,  /* the rkey belongs to a region or window that was invalidated */
	BAD_PD,        /* the rkey belongs to another protection domain */
	BAD_RANGE,     /* the remote memory is not completely inside the region */
	BAD_RIGHT,     /* the request is a WRITE or an atomic, but the rkey allows only READs */
	BAD_ALIGN,     /* the address of an atomic is not aligned */
	BAD_LKEY,      /* the lkey never existed */
	BAD_TOO_LONG,  /* the SEND is longer than the receive buffer */
	BAD_RECV_KEY,  /* the receive request of the SEND has an invalid lkey */
	BAD_SRQ,       /* XRC: no shared queue has the number that the request names */
	BAD_LKEY_LATE, /* the lkey in the SGE of the second half of the data never existed */
	BAD_NB
};

/** A request, as planned and as executed. */
struct request {
	enum ibv_wr_opcode opcode;
	uint32_t len;
	/* offset, in the world's random bytes (the noise), of the bytes to send or to READ */
	uint32_t src;
	uint32_t local;  /* READ, atomic: offset in the requester's memory for the response */
	uint32_t land;   /* WRITE, atomic: offset of the destination in the peer's memory */
	uint64_t remote; /* the remote address that the request names */
	uint32_t rkey;
	/* immediate data in network byte order; or the key to bind or to invalidate */
	uint32_t imm;
	uint32_t flags; /* flags of the request, enum ibv_send_flags */
	enum bad bad;
	uint8_t srq; /* XRC: index in srqs of the peer's shared queue that the request names */
	/* a later request depends on this request, which therefore must not be cancelled */
	bool is_needed;
	bool is_cancelled; /* the request was cancelled, and sends nothing */
	bool is_mortal;    /* the request uses the peer's key that will be withdrawn */
	/* content of the destination when its key was withdrawn; NULL: the key was not withdrawn */
	uint8_t *last;
	uint64_t compare_add;
	uint64_t swap;
	/* Connections with signatures use the fields from `bytes` to `is_reported` (signed.h). */
	/* the bytes on the wire; NULL: bytes of the world's noise, from `src` on */
	uint8_t *bytes;
	struct mkey *from; /* mkey through which the source is read; NULL: plain memory */
	/*
	 * mkey of the destination; NULL: plain memory. The destination of a SEND is chosen by the
	 * receiver.
	 */
	struct mkey *into;
	bool is_reported; /* both mkeys of the request have reported their errors */
	/* state of the oracle about this request */
	uint32_t first;  /* number of the request's first packet, counted from 0 */
	uint32_t nb_psn; /* number of packets of the request */
	uint64_t orig;   /* atomic: value of the word in memory before the execution */
	/* SEND: offset of its receive buffer in the peer's memory; UINT32_MAX: not known yet */
	uint32_t recv_at;
};

/** The configuration of one end of a connection. */
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
	uint32_t max_requests; /* maximum number of requests of the QP over the whole run */
	uint32_t mem_len;      /* bytes of registered memory; the receive buffers are at its end */
	uint32_t recv_len;     /* bytes of a receive buffer */
	uint32_t nb_bufs;      /* number of receive buffers */
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	unsigned access;
	/* receive requests are taken from the host's shared queue, if the host has one */
	bool is_shared;
	uint16_t window_psns; /* maximum number of packets in flight; 0: the transport's default */
	bool is_req_gbn;      /* the requester recovers by go-back-N */
	bool is_resp_gbn;     /* the responder drops out-of-order packets */
	/* the QP stops behind a request with a bad block (signature pipelining) */
	bool is_pipelined;
	/* parameters of congestion control; NULL: no congestion control */
	const struct uroce_cc_conf *cc;
};

#define KEPT_MAX 128

/** Number of XRC shared queues of a host. */
#define XRC_SRQS 2

/** Reasons for which a QP may be in ERR. */
enum death {
	DEATH_ORDERED = 1 << 0, /* the QP's application moved the QP to ERR */
	DEATH_FAULT = 1 << 1,   /* a request failed with an error for which there is a reason */
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
	/*
	 * shared queue for receive requests; XRC: the first of srqs; NULL: the QP has its own
	 * receive queue
	 */
	struct shared *shared;
	struct shared *srqs[XRC_SRQS]; /* XRC target: all shared queues that its peer may name */
	struct uroce_path path;
	uint32_t qpn;
	bool is_gone; /* the QP is destroyed, or its host has crashed */
	/* requests transfer data through mkeys with block signatures (signed.h) */
	bool is_signed;
	bool is_forged;  /* forged frames were sent: the oracle does not check this QP */
	bool is_lenient; /* the transport may lose messages: UC, UD */
	/* the QP sends datagrams to the multicast group; its peer is one of the members */
	bool is_to_group;
	/* the QP is a member of the multicast group, and receives what its peer sends */
	bool is_member;
	uint64_t pass; /* value of world.nb_passes when the QP received its last datagram */
	/* the registered memory, and a copy with the content that the memory must have */
	uint8_t *mem;
	uint8_t *shadow;
	uint64_t iova;
	uint32_t key;
	uint32_t recv_base;  /* offset in `mem` of the receive buffers */
	uint32_t pieces_end; /* end in `mem` of the pieces that a single request writes */
	/* state of the QP's application */
	struct request *reqs;
	uint32_t nb_planned;
	uint32_t nb_posted;
	uint32_t nb_recv_planned; /* maximum number of receive requests of the QP */
	uint32_t nb_recv_posted;
	uint32_t nb_recv_done;
	uint32_t window; /* rkey of a window over all of `mem`, which the peer uses; 0: none */
	/* rkey of a window that a SEND_WITH_INV of the peer invalidates; 0: none */
	uint32_t dead_window;
	enum uroce_mw_kind window_kind;
	bool is_window_zero_based;
	/* key of a window that this QP binds and invalidates by its own requests; 0: none */
	uint32_t own_key;
	uint32_t own_bound; /* key with which the window `own_key` is bound; 0: not bound */
	struct {
		/* key of all of `mem` that the peer uses until it is withdrawn; 0: none */
		uint32_t key;
		uint8_t kind; /* 0: `key` is the key of a region; else enum uroce_mw_kind */
		bool is_zero_based;
		bool is_dead;
	} mortal;
	/* format of the block signatures on the wire, if is_signed */
	struct uroce_sig_domain on_wire;
	struct mkey *recv_mkeys; /* an mkey for each receive buffer; NULL: plain buffers */
	/* index of the receive request with an invalid lkey; UINT32_MAX: none */
	uint32_t bad_recv;
	uint32_t events;  /* events since the events were last printed, enum uroce_qpc_event */
	uint64_t post_ns; /* time before which no request is posted */
	uint64_t recv_ns; /* time before which no receive request is posted */
	uint32_t pace_ns; /* mean time between two posts of requests; 0: no delay */
	uint32_t recv_pace_ns;
	bool is_silent; /* the QP posts only what a command of a golden trace posts */
	bool is_kept;   /* completions are recorded for the command `done` of a golden trace */
	struct {
		struct ibv_wc wc;
		bool is_recv;
	} * kept; /* completions of this QP for the command `done` of a golden trace */
	uint32_t nb_kept;
	/* state of the oracle about the requests that this QP posts */
	uint32_t done;   /* number of requests known to be complete */
	uint32_t nb_psn; /* number of packets of all posted requests */
	uint32_t sent;   /* number of the packet after the newest one that was sent */
	/* number of a packet that was the oldest unacknowledged one when it was retransmitted */
	uint32_t retransmitted;
	/* packets below this number were in flight when packet `retransmitted` was retransmitted */
	uint32_t retransmitted_end;
	bool has_retransmitted;
	/* packets below this number are acknowledged, according to the requester */
	uint32_t acked;
	uint32_t acked_req; /* index of the request that contains packet `acked` */
	uint32_t exec;      /* packets below this number are executed, according to the responder */
	/*
	 * during a burst: out-of-order packets may have overwritten memory, so memory is not
	 * compared
	 */
	bool is_overlaid;
	uint32_t exec_req; /* index of the request that contains packet `exec` */
	/*
	 * requests below this index have got a receive request; XRC: one index for each shared
	 * queue
	 */
	uint32_t next_taker[XRC_SRQS];
	uint64_t *arrived;    /* bit i: packet i arrived intact at the peer */
	uint32_t arrived_len; /* length of `arrived` in 64-bit words */
	/* READs and atomics in flight: entry i has the packets from rd_begin[i] to rd_end[i] - 1 */
	uint32_t rd_begin[32];
	uint32_t rd_end[32];
	uint32_t rd_first;
	uint32_t rd_last;
	/* in SQD no packet with this number or a higher one may be sent; UINT32_MAX: not in SQD */
	uint32_t sqd_limit;
	/* a bad block was found with signature pipelining: the QP must be in SQD */
	bool is_stopped;
	uint64_t progress_ns;
	uint64_t sent_ns; /* time at which the QP sent its last request packet */
	uint64_t done_ns; /* time at which the last new acknowledgement arrived */
	/* number of packets among the first 1000 of the QP that arrived again */
	uint64_t spurious_early;
	uint64_t retries_seen; /* number of timeouts at the time progress_ns */
	uint64_t rnr_seen;
	uint64_t retries_now; /* number of timeouts after the last call of the transport */
	uint64_t rnr_now;
	bool has_failed; /* a request failed: all later requests must be flushed */
	/*
	 * a receive request failed; XRC: one flag for each shared queue, because each queue has its
	 * own order
	 */
	bool has_recv_failed[XRC_SRQS];
	bool has_drained; /* the event SQ_DRAINED occurred in the last call of the transport */
	/*
	 * state of the QP (enum ibv_qp_state) when the transport was asked for the present burst of
	 * frames
	 */
	uint8_t asked_state;
	bool is_last_wqe; /* the event LAST_WQE_REACHED occurred */
	bool is_drained;  /* the event SQ_DRAINED occurred since the QP entered SQD */
	uint32_t nb_est;  /* number of events COMM_EST */
	uint32_t nb_flushed_recv;
	/* state of the oracle about congestion control */
	bool is_marked;     /* a frame with CE arrived after the last CNP was sent */
	uint64_t cnp_ns;    /* time at which the last CNP was sent; 0: none was sent */
	uint64_t paced_ns;  /* time at which credit_bits was computed */
	uint64_t paced_bps; /* highest rate of the pacer since paced_ns; 0: unlimited */
	/* number of bits that the QP may send at once without exceeding its rate */
	double credit_bits;
	uint32_t deaths; /* reasons why the QP may enter ERR, enum death */
	/* bit i: a request of the peer with the error i of enum bad was received */
	uint32_t bad_seen;
};

/** Create one end of a connection on a host. Its QP is in RESET. */
struct qp *qp_create(struct world *world, struct host *host, const struct qp_conf *conf);

/** Make two QPs each other's peer, without a change of their states. */
void qp_link(struct qp *a, struct qp *b);

/** Connect two QPs; both are in RTS afterwards. */
void qp_connect(struct qp *a, struct qp *b);

/** Connect two QPs, but leave `b` in RTR. */
void qp_connect_half(struct qp *a, struct qp *b);

/**
 * Move the QP to `state`, with the attributes that its type needs for that state.
 * @return as uroce_qpc_modify()
 */
int qp_modify(struct qp *qp, enum ibv_qp_state state);

/** Destroy the QP, as its application would do it. */
void qp_destroy(struct qp *qp);

/**
 * Create two windows over all of the QP's memory. One is bound, and the peer's WRITEs use its key.
 * The other one is bound and invalidated by requests of this QP; if it is of type 1, it is bound
 * with length 0 instead of invalidated.
 */
void qp_make_windows(struct qp *qp, enum uroce_mw_kind kind);

/**
 * Plan the next request of the QP.
 * @return the request, whose fields the caller sets; NULL: the limit max_requests is reached
 */
struct request *qp_plan(struct qp *qp);

/**
 * Post the next planned request now.
 * @return 0 or the error of uroce_sq_fill()
 */
int qp_post(struct qp *qp);

/** Post the next receive request now. */
int qp_post_recv(struct qp *qp);

/** Offset in the QP's memory of the buffer of receive request `nth`. */
uint32_t qp_recv_at(const struct qp *qp, uint32_t nth);

/** The request that contains packet `idx`; NULL: no posted request contains it. */
struct request *qp_request_at(struct qp *qp, uint32_t idx);

/** Number of packets of a request with the path MTU of the QP. */
uint32_t qp_packets(const struct qp *qp, const struct request *req);

/** All bytes that a request carries, or that its READ responses carry. */
const uint8_t *request_bytes(const struct qp *qp, const struct request *req);

/**
 * Length of the memory range from the first to the last byte in which the data of a request is
 * placed.
 */
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

/** Whether the transport service acknowledges packets, so that no request may be lost. */
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
