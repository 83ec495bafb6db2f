/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_QP_H
#define TEST_SIM_QP_H

/**
 * @file
 * One end of a connection: a QP context with its queues and memory, what its application is going to
 * ask of it, and what the oracle knows to have become of that.
 *
 * Packets of a direction are counted from 0: packet `first + n` of a request is its n-th, and its PSN
 * is `start_psn` plus that. The oracle speaks in these numbers only; it makes them up from what is
 * posted, not from what the engine does.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "mem/mw.h"
#include "mem/sig.h"
#include "transport/qpc.h"
#include "wire/newer_verbs.h"

struct host;
struct mkey;
struct world;

/** What is wrong with a request, on purpose. */
enum bad {
	BAD_NONE,
	BAD_KEY,       /* rkey that never was */
	BAD_DEAD_KEY,  /* rkey that was withdrawn */
	BAD_PD,        /* rkey of another protection domain */
	BAD_RANGE,     /* beyond the end of the region */
	BAD_RIGHT,     /* WRITE or atomic where only READ is granted */
	BAD_ALIGN,     /* atomic at an odd address */
	BAD_LKEY,      /* lkey that never was */
	BAD_TOO_LONG,  /* SEND that does not fit the receive buffer */
	BAD_RECV_KEY,  /* the receive request that it meets has a bad lkey */
	BAD_SRQ,       /* XRC: names a shared queue that is not there */
	BAD_LKEY_LATE, /* lkey that never was, of the second half */
	BAD_NB
};

/** A request, as planned and as it went. */
struct request {
	enum ibv_wr_opcode opcode;
	uint32_t len;
	uint32_t src;    /* its bytes are those of the noise from here on */
	uint32_t local;  /* READ, atomic: where the answer goes, in the poster's memory */
	uint32_t land;   /* WRITE, atomic: where it goes, in the peer's memory */
	uint64_t remote; /* as the request names it */
	uint32_t rkey;
	uint32_t imm;   /* as written in wire order; the key to bind or invalidate */
	uint32_t flags; /* enum ibv_send_flags */
	enum bad bad;
	uint8_t srq;       /* XRC: which of the peer's shared queues it names */
	bool is_needed;    /* a later request builds on it: it is not to be cancelled */
	bool is_cancelled; /* it sends nothing */
	bool is_mortal;    /* it goes through the peer's mortal key */
	uint8_t *last;     /* what its place held when that was withdrawn; NULL: it was not */
	uint64_t compare_add;
	uint64_t swap;
	/* of a signed connection (signed.h) */
	uint8_t *bytes;    /* what is on the wire; NULL: those of the noise */
	struct mkey *from; /* where they come from; NULL: memory as it is */
	struct mkey *into; /* the same for where they go to; of a SEND the receiver knows */
	bool is_told;      /* both have told what they had to */
	/* the oracle's */
	uint32_t first;   /* packets of this direction before it */
	uint32_t nb_psn;  /* packets of it */
	uint64_t orig;    /* atomic: what the word held when it was executed */
	uint32_t recv_at; /* SEND: where it landed in the peer's memory; UINT32_MAX: not yet */
};

/** How an end is made. */
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
	uint32_t max_requests; /* that will ever be posted */
	uint32_t mem_len;      /* bytes of registered memory; receive buffers are its end */
	uint32_t recv_len;     /* bytes of a receive buffer */
	uint32_t nb_bufs;      /* receive buffers */
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	unsigned access;
	bool is_shared;       /* receives come from the host's shared queue, if it has one */
	uint16_t window_psns; /* 0: the engine's default */
	bool is_req_gbn;      /* the requester goes back N */
	bool is_resp_gbn;     /* the responder drops what comes ahead */
	bool is_pipelined;    /* it stops behind a request with a bad block */
	const struct uroce_cc_conf *cc; /* NULL: no congestion control */
};

#define KEPT_MAX 128

/** XRC shared queues of a host. */
#define XRC_SRQS 2

/** Why an end may be in ERR. */
enum death {
	DEATH_ORDERED = 1 << 0, /* its application said so */
	DEATH_FAULT = 1 << 1,   /* one of its requests ended in an error that was due */
	DEATH_PEER = 1 << 2,    /* a bad request of the peer reached it */
};

struct qp {
	struct uroce_qpc qpc;
	uint8_t traced_recovery; /* enum uroce_recovery_state that the trace has told last */
	uint8_t traced_answer;   /* enum uroce_ooo_response_state, the same */
	struct uroce_wq sq;
	struct uroce_wq rq;
	struct uroce_cq send_cq;
	struct uroce_cq recv_cq;
	struct qp_conf conf;
	struct world *world;
	struct host *host;
	struct qp *peer;
	struct shared
		*shared; /* where its receives come from; XRC: the first; NULL: its own queue */
	struct shared *srqs[XRC_SRQS]; /* XRC target: all that its peer may name */
	struct uroce_path path;
	uint32_t qpn;
	bool is_gone;     /* destroyed, or its host died */
	bool is_signed;   /* requests go through mkeys (signed.h) */
	bool is_forged;   /* frames were made by hand: the oracle looks on */
	bool is_lenient;  /* messages may be lost: UC, UD */
	bool is_to_group; /* its datagrams go to the group; its peer is one of the members */
	bool is_member;   /* of the group; what it gets comes from its peer */
	uint64_t pass;    /* the last of world.nb_passes that it got */
	/* memory: what it is, and what it must be */
	uint8_t *mem;
	uint8_t *shadow;
	uint64_t iova;
	uint32_t key;
	uint32_t recv_base;  /* of the receive buffers */
	uint32_t pieces_end; /* where pieces that are written once end */
	/* the application's */
	struct request *reqs;
	uint32_t nb_planned;
	uint32_t nb_posted;
	uint32_t nb_recv_planned; /* receive requests that it may post */
	uint32_t nb_recv_posted;
	uint32_t nb_recv_done;
	uint32_t window;      /* rkey of a window over all of mem, for the peer; 0: none */
	uint32_t dead_window; /* the same, when the peer has invalidated it */
	enum uroce_mw_kind window_kind;
	bool is_window_zero_based;
	uint32_t own_key;   /* of a window for binds and invalidations; 0: none */
	uint32_t own_bound; /* what it is bound as; 0: it is not */
	struct {
		uint32_t key; /* to all of mem, for the peer, until it is withdrawn; 0: none */
		uint8_t kind; /* 0: a region; else enum uroce_mw_kind */
		bool is_zero_based;
		bool is_dead;
	} mortal;
	struct uroce_sig_domain on_wire; /* with is_signed: the signatures there */
	struct mkey *recv_mkeys;         /* one for each receive buffer; NULL: there are none */
	uint32_t bad_recv;               /* index of the one with a bad lkey; UINT32_MAX: none */
	uint32_t events;                 /* enum uroce_qpc_event, all that came */
	uint64_t post_ns;                /* no request before that */
	uint64_t recv_ns;                /* no receive request before that */
	uint32_t pace_ns;                /* mean time between two posts; 0: as fast as they go */
	uint32_t recv_pace_ns;
	bool is_silent; /* posts nothing by itself: golden traces */
	bool is_kept;   /* completions are kept for somebody who asks: golden traces */
	struct {
		struct ibv_wc wc;
		bool is_recv;
	} * kept; /* KEPT_MAX of them, with is_kept */
	uint32_t nb_kept;
	/* the oracle's: of the requests posted here */
	uint32_t done;         /* requests known to be complete */
	uint32_t nb_psn;       /* packets of all that is posted */
	uint32_t sent;         /* one past the newest packet sent */
	uint32_t repaired;     /* with has_repaired: packet that was sent again by itself */
	uint32_t repaired_end; /* packets below were on the wire then */
	bool has_repaired;
	uint32_t acked;     /* packets below are acknowledged, in the requester's opinion */
	uint32_t acked_req; /* the request that `acked` is in */
	uint32_t exec;      /* packets below are executed, in the responder's opinion */
	bool is_overlaid;   /* memory is: by what is ahead, rightly */
	uint32_t exec_req;  /* the request that `exec` is in */
	/* receives: requests below have met theirs; XRC: by the queue that they name */
	uint32_t next_taker[XRC_SRQS];
	uint64_t *arrived;     /* bit i: packet i arrived intact at the peer */
	uint32_t arrived_len;  /* words */
	uint32_t rd_begin[32]; /* READs and atomics on the wire: [begin, end) in packets */
	uint32_t rd_end[32];
	uint32_t rd_first;
	uint32_t rd_last;
	uint32_t sqd_limit; /* in SQD no packet from here on is sent; UINT32_MAX: not in SQD */
	bool is_stopped;    /* a bad block was found: it has to be in SQD */
	uint64_t progress_ns;
	uint64_t sent_ns;        /* when its last request left */
	uint64_t done_ns;        /* of the last acknowledgement */
	uint64_t spurious_early; /* of its first 1000 packets, those that arrived again */
	uint64_t retries_seen;   /* timeouts up to the last progress */
	uint64_t rnr_seen;
	uint64_t retries_now; /* as they were after the last call */
	uint64_t rnr_now;
	bool has_failed; /* a request ended in an error: from now on all is flushed */
	bool has_recv_failed[XRC_SRQS]; /* XRC: by the queue, each of which is in order */
	bool has_drained;               /* SQ_DRAINED came with the last call */
	uint8_t asked_state; /* enum ibv_qp_state, when it was asked for the frames that leave now */
	bool is_last_wqe;    /* LAST_WQE_REACHED came */
	bool is_drained;     /* it came since the QP is in SQD */
	uint32_t nb_est;     /* COMM_EST came so often */
	uint32_t nb_flushed_recv;
	/* the oracle's: congestion control */
	bool is_marked;     /* CE came since the last CNP */
	uint64_t cnp_ns;    /* of the last CNP; 0: none was sent */
	uint64_t paced_ns;  /* when the credit was computed */
	uint64_t paced_bps; /* the highest rate since; 0: not limited */
	double credit_bits; /* that may leave at once */
	uint32_t deaths;    /* enum death */
	uint32_t bad_seen;  /* bit i: a request of the peer with enum bad i reached it */
};

/** Make an end on a host, in RESET. */
struct qp *qp_create(struct world *world, struct host *host, const struct qp_conf *conf);

/** Make two ends know each other; no more. */
void qp_link(struct qp *a, struct qp *b);

/** Connect two ends; both are in RTS afterwards. */
void qp_connect(struct qp *a, struct qp *b);

/** The same, but for the last step of `b`. */
void qp_connect_half(struct qp *a, struct qp *b);

/** One step: from the state before to `state`. @return as uroce_qpc_modify() */
int qp_modify(struct qp *qp, enum ibv_qp_state state);

/** The application destroys it. */
void qp_destroy(struct qp *qp);

/**
 * Windows over all of its memory: one bound for the peer, to WRITE; one to bind and invalidate, or, of
 * type 1, to bind and bind to nothing.
 */
void qp_make_windows(struct qp *qp, enum uroce_mw_kind kind);

/** Plan a request; its numbers are given to it. @return it, to be completed, or NULL: no room */
struct request *qp_plan(struct qp *qp);

/** Post the next planned request now. @return 0 or what uroce_sq_fill() said */
int qp_post(struct qp *qp);

/** Post the next receive request now. */
int qp_post_recv(struct qp *qp);

/** Where receive request `nth` puts its message. */
uint32_t qp_recv_at(const struct qp *qp, uint32_t nth);

/** The request that packet `idx` belongs to; NULL: none that was posted. */
struct request *qp_request_at(struct qp *qp, uint32_t idx);

/** Packets of a message on this end's path. */
uint32_t qp_packets(const struct qp *qp, const struct request *req);

/** What of a request is on the wire, or comes back: all its bytes. */
const uint8_t *request_bytes(const struct qp *qp, const struct request *req);

/** Bytes of memory that what a request brings is somewhere in: where it lands, from there on. */
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

/** Whether the service acknowledges: then nothing may be lost. */
static inline bool
qp_is_reliable(const struct qp *qp)
{
	return qp->conf.type == IBV_QPT_RC || qp->conf.type == IBV_QPT_XRC_SEND ||
	       qp->conf.type == IBV_QPT_XRC_RECV;
}

/** Most bytes of a message that it can receive. */
uint32_t qp_recv_len(const struct qp *qp);

/** Whether it uses up a receive request. */
static inline bool
request_takes_recv(const struct request *req)
{
	return !req->is_cancelled &&
	       (request_is_send(req) || req->opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
}

/** Whether it sends nothing. */
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
