/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_TRANSPORT_PAIR_H
#define TEST_UNIT_TRANSPORT_PAIR_H

/**
 * @file
 * Two hosts, A and B, with a QP each and a wire between them.
 *
 * A host has registered memory, queues, keys and a path to the other host. The wire carries real
 * frames: the descriptors of uroce_qpc_send() become bytes, pad and ICRC included. The other side
 * parses and verifies the bytes before uroce_qpc_recv() gets the packet. Time is virtual: a frame
 * arrives PAIR_LATENCY_NS after it was sent, and frames of one round arrive as one burst.
 *
 * A test can lose, duplicate, delay or corrupt the n-th frame of a direction, or choose random
 * faults with a seed.
 *
 * The events are recorded as text, which the test compares with the expected ladder diagram:
 *
 *	A>B WRITE_FIRST psn 0
 *	A>B WRITE_LAST psn 1 A LOST
 *	A TIMEOUT
 *	A>B WRITE_FIRST psn 0
 *	A>B WRITE_LAST psn 1 A
 *	B>A ACK psn 1
 *
 * After each round the invariants of both contexts are checked: see check_host() in pair.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "text.h"
#include "transport/qpc.h"

#define PAIR_LATENCY_NS 1000
#define PAIR_DELAY_NS   10000 /* additional time of a delayed frame */
#define PAIR_GAP_NS     100   /* time between two rounds of a host that has more to send */
#define PAIR_BURST_MAX  64
#define PAIR_ACTIONS    32

enum pair_side { A, B };

/** What happens to a frame on the wire. */
enum pair_action {
	PAIR_PASS,
	PAIR_LOSE,
	PAIR_REPEAT, /* the frame arrives twice */
	PAIR_DELAY,  /* the frame arrives PAIR_DELAY_NS late, after later frames */
	PAIR_SPOIL,  /* a bit of the frame is flipped */
};

/** The configuration of a pair; tests start from the defaults of pair_conf(). */
struct pair_conf {
	/*
	 * type of both QPs; IBV_QPT_XRC_SEND: A is the initiator, and B the target with two shared
	 * queues
	 */
	enum ibv_qp_type type;
	enum ibv_mtu mtu;
	bool is_ipv6;
	bool is_quiet;      /* record no trace, as for long random runs */
	bool has_srq;       /* the hosts take receive requests from shared receive queues */
	bool is_unsignaled; /* requests complete with an entry only if IBV_SEND_SIGNALED is set */
	uint32_t psn[2];    /* first PSN of each side's requests */
	uint32_t mem_len;   /* bytes of registered memory of each host */
	uint32_t sq_len;    /* entries of each send queue */
	uint32_t rq_len;
	uint32_t cq_len;
	uint32_t max_sge;
	uint32_t max_inline;
	/* maximum number of frames that a host sends in a round, <= PAIR_BURST_MAX */
	unsigned burst;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic;      /* max_rd_atomic of both sides */
	uint8_t max_dest_rd_atomic; /* max_dest_rd_atomic of both sides */
	unsigned access;            /* qp_access_flags of both sides */
	/*
	 * number of frames in the reorder buffer of each host; 0: no buffer, both recover by
	 * go-back-N
	 */
	uint32_t nb_hold;
	uint16_t window_psns;  /* maximum number of packets in flight; 0: the transport's default */
	uint32_t window_bytes; /* limit of the device on the bytes in flight; 0: there is none */
	/* requesters recover by go-back-N, although there are reorder buffers */
	bool is_req_gbn;
	/* responders drop out-of-order packets, although there are reorder buffers */
	bool is_resp_gbn;
	/* traffic class of all frames; its two ECN bits are 3 for congestion experienced */
	uint8_t tclass;
	/* parameters of congestion control; NULL: no congestion control */
	const struct uroce_cc_conf *cc;
};

/** A host. Its queues and memory stay at their addresses while the pair is open. */
struct pair_host {
	enum pair_side side;
	struct uroce_qpc qpc;
	struct uroce_wq sq;
	struct uroce_wq rq;
	/* shared receive queue; used if conf.has_srq is set, or at an XRC target */
	struct uroce_srq srq;
	/* XRC: a shared receive queue of another XRC domain; this queue has no memory */
	struct uroce_srq other_srq;
	struct uroce_srq_table *srqs; /* XRC: the table of both shared receive queues */
	struct uroce_cq send_cq;
	struct uroce_cq recv_cq;
	struct uroce_mr_table *mrs;
	/* reorder buffer of the host; NULL: none */
	struct uroce_reorder_buffer *reorder_buffer;
	struct uroce_rd_pool *rd_pool;
	struct uroce_counters counters; /* counters of the QP; in the data path a worker has them */
	struct uroce_qpc_limits limits;
	struct uroce_path path; /* path to the other host */
	uint8_t *mem;           /* memory, registered with all rights; the IOVA is the address */
	uint32_t key;           /* key of `mem` */
	uint32_t events;        /* events since the last pair_events(), enum uroce_qpc_event */
	uint32_t nb_sent;       /* number of frames sent; scripted faults count from this number */
	uint64_t next_send_id;  /* wr_id of the next send request: 0, 1, 2 ... */
	uint64_t next_recv_id;
	uint64_t nb_verdicts[UROCE_VERDICT_NB]; /* number of received frames, by verdict */
	/* the last burst was full, so there may be more to send */
	bool has_more;
	void *blocks[12]; /* memory that is freed when the pair is closed */
};

/** A frame in flight. */
struct pair_flight {
	uint64_t due_ns;
	/* allocated with exactly `len` bytes, so that a sanitizer detects a read behind the end */
	uint8_t *frame;
	uint32_t len;
	enum pair_side to;
};

/** Random faults: how many of 1000 frames have each fault. */
struct pair_noise {
	uint64_t seed; /* seed of the random faults; 0: no random faults */
	unsigned lose;
	unsigned repeat;
	unsigned delay;
	unsigned spoil;
};

struct pair {
	struct pair_conf conf;
	struct pair_host host[2];
	uint64_t now_ns;
	struct pair_flight *flights; /* frames in flight, sorted by time of arrival */
	unsigned nb_flights;
	unsigned room_flights;
	struct {
		enum pair_side from;
		uint32_t nth;
		enum pair_action action;
	} actions[PAIR_ACTIONS];
	unsigned nb_actions;
	struct pair_noise noise;
	struct text trace;
	struct text done; /* text that pair_completions() returns */
};

/**
 * The default configuration: MTU 1024, timeout 14, 7 retries, 16 READs, queues of 64 entries, 1 MiB
 * of memory.
 */
struct pair_conf pair_conf(enum ibv_qp_type type);

/** Create both hosts and connect them: both are in RTS. */
void pair_open(struct pair *pair, const struct pair_conf *conf);

/** Create both hosts with QPs in RESET. */
void pair_open_reset(struct pair *pair, const struct pair_conf *conf);

void pair_close(struct pair *pair);

/* --- states of the QPs --- */

/** Move a host's QP from RESET to INIT, RTR and RTS, up to `state`. */
void pair_bring_up(struct pair *pair, enum pair_side side, enum ibv_qp_state state);

int pair_modify(struct pair *pair, enum pair_side side, const struct ibv_qp_attr *attr, int mask);

/** Modify only the state of a QP. The call must succeed. */
void pair_set_state(struct pair *pair, enum pair_side side, enum ibv_qp_state state);

/**
 * Set the attributes that move the QP of a side to `state` from the state before.
 * @return the mask of the attributes
 */
int pair_attr(const struct pair *pair, enum pair_side side, enum ibv_qp_state state,
	      struct ibv_qp_attr *attr);

/* --- memory of the hosts --- */

/**
 * Register a further region of a host.
 * @return the key of the region
 */
uint32_t pair_register(struct pair *pair, enum pair_side side, void *addr, uint64_t len,
		       unsigned access);

/** Fill memory of a host with pseudo-random bytes, which `seed` determines. */
void pair_fill(struct pair *pair, enum pair_side side, uint32_t offset, uint32_t len,
	       uint32_t seed);

/** Whether `len` bytes at offset `a` of A's memory equal those at offset `b` of B's memory. */
bool pair_is_equal(const struct pair *pair, uint32_t a, uint32_t b, uint32_t len);

/* --- posting of requests: wr_id counts from 0 in each queue --- */

/** A send request whose only SGE is in the host's memory. */
struct pair_wr {
	enum ibv_wr_opcode opcode;
	uint32_t len;
	uint32_t local;  /* offset of the data in the memory of the host that posts */
	uint32_t remote; /* offset in the other host's memory */
	/* enum ibv_send_flags; IBV_SEND_SIGNALED is added unless conf.is_unsignaled */
	unsigned flags;
	uint32_t imm; /* immediate data in network byte order */
	uint64_t compare_add;
	uint64_t swap;
	uint32_t srqn; /* XRC: number of the shared receive queue; 0: the peer's queue */
};

/**
 * Post a send request.
 * @return 0 or the error of uroce_sq_fill()
 */
int pair_post(struct pair *pair, enum pair_side side, const struct pair_wr *wr);

/** Post a send request that the caller has filled in, except for its wr_id. */
int pair_post_raw(struct pair *pair, enum pair_side side, struct ibv_send_wr *wr);

/**
 * Post a receive request for `len` bytes at `offset` of the host's memory, or one of the caller.
 */
int pair_post_recv(struct pair *pair, enum pair_side side, uint32_t offset, uint32_t len);
int pair_post_recv_raw(struct pair *pair, enum pair_side side, struct ibv_recv_wr *wr);

/* --- faults of the wire --- */

/**
 * Set the fault of a frame that `from` will send.
 * @param nth  index of the frame; 0 is the next frame that `from` sends
 */
void pair_script(struct pair *pair, enum pair_side from, uint32_t nth, enum pair_action action);

void pair_lose(struct pair *pair, enum pair_side from, uint32_t nth);

/** From now on, frames without a scripted fault have random faults. */
void pair_make_noise(struct pair *pair, const struct pair_noise *noise);

/* --- the loop that advances time --- */

/** Run until no frame is in flight and no timer is set. */
void pair_run(struct pair *pair);

/** Run for `ns` nanoseconds. Afterwards the clock is at the end of that time. */
void pair_run_for(struct pair *pair, uint64_t ns);

/**
 * Execute one event.
 * @return false: no frame is in flight and no timer is set
 */
bool pair_step(struct pair *pair);

/**
 * Let one host send all that it has to send, and drop the frames: they are traced but never arrive.
 * With pair_inject() the test can play the other host.
 */
void pair_flush(struct pair *pair, enum pair_side side);

/** Advance the clock by `ns` nanoseconds, and expire the timers of one host. */
void pair_wait(struct pair *pair, enum pair_side side, uint64_t ns);

/* --- frames that a test forges --- */

/** The fields of a forged frame. Fields that the opcode does not have are ignored. */
struct pair_pkt {
	uint8_t opcode;
	bool has_ack_req;
	bool is_solicited;
	bool is_from_stranger; /* the source address is not the peer's */
	uint16_t pkey;         /* P_Key of the packet; 0: the valid P_Key */
	uint32_t psn;
	uint32_t payload_len;
	const void *payload; /* payload of the frame; NULL: bytes 1, 2, 3 ... */
	uint64_t va;         /* virtual address in RETH or AtomicETH */
	uint32_t rkey;
	uint32_t dma_len;
	uint64_t swap_add; /* AtomicETH: Swap (or Add) Data */
	uint64_t compare;
	uint8_t syndrome; /* AETH: syndrome */
	uint32_t msn;
	uint64_t orig; /* AtomicAckETH: original data */
	uint32_t qkey; /* DETH: Q_Key */
	uint32_t src_qpn;
	uint32_t imm;      /* immediate data in network byte order */
	uint32_t inv_rkey; /* IETH: rkey to invalidate */
	uint32_t srqn;     /* XRCETH: number of the SRQ */
	uint32_t sel_plt;  /* FETH: selectivity level and placement type */
};

/**
 * Deliver a forged frame to a host now.
 * @return the verdict
 */
enum uroce_verdict pair_inject(struct pair *pair, enum pair_side to, const struct pair_pkt *pkt);

/* --- comparison of the trace and of completions --- */

/** Compare the trace with `expected`, and clear the trace. */
void pair_expect_trace(struct pair *pair, const char *expected);

/**
 * Poll both queues of a host and compare: "send 0 RDMA_WRITE SUCCESS\n" "recv 0 RECV SUCCESS 12\n".
 */
void pair_expect_done(struct pair *pair, enum pair_side side, const char *expected);

/**
 * Poll both queues of a host and return their completions as text, which is valid until the next
 * call.
 */
const char *pair_completions(struct pair *pair, enum pair_side side);

/** Return the events of a host, and clear them. */
uint32_t pair_events(struct pair *pair, enum pair_side side);

#endif /* TEST_UNIT_TRANSPORT_PAIR_H */
