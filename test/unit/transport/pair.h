/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_TRANSPORT_PAIR_H
#define TEST_UNIT_TRANSPORT_PAIR_H

/**
 * @file
 * Two hosts, A and B, a QP on each, and a wire between them.
 *
 * A host has registered memory, queues, keys and a path to the other. The wire carries real frames:
 * what uroce_qpc_send() describes is built byte by byte, pad and ICRC included, and parsed and
 * verified on the other side before uroce_qpc_recv() sees it. Time is virtual: a frame arrives
 * PAIR_LATENCY_NS after it was sent, and what is sent in one round arrives as one burst.
 *
 * The wire does what the test says to the n-th frame of a direction: loses, repeats, delays or
 * spoils it; or does so at random, from a seed.
 *
 * What happened is text, to be compared with the ladder diagram that the test expects:
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
#define PAIR_DELAY_NS   10000 /* how much later a delayed frame arrives */
#define PAIR_GAP_NS     100   /* between two rounds of a host that has more to send */
#define PAIR_BURST_MAX  64
#define PAIR_ACTIONS    32

enum pair_side { A, B };

/** What the wire does to a frame. */
enum pair_action {
	PAIR_PASS,
	PAIR_LOSE,
	PAIR_REPEAT, /* arrives twice */
	PAIR_DELAY,  /* arrives behind those sent after it */
	PAIR_SPOIL,  /* a bit is flipped */
};

/** How a pair is made; start from pair_conf(). */
struct pair_conf {
	enum ibv_qp_type type; /* XRC_SEND: A asks, and B is an XRC_RECV with two shared queues */
	enum ibv_mtu mtu;
	bool is_ipv6;
	bool is_quiet;      /* no trace: for long random runs */
	bool has_srq;       /* receive requests of each host are in a shared queue */
	bool is_unsignaled; /* requests complete with an entry only if asked to */
	uint32_t psn[2];    /* first PSN of each side's requests */
	uint32_t mem_len;   /* bytes of registered memory of each host */
	uint32_t sq_len;    /* entries */
	uint32_t rq_len;
	uint32_t cq_len;
	uint32_t max_sge;
	uint32_t max_inline;
	unsigned burst; /* most frames that a host sends in a round, <= PAIR_BURST_MAX */
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic;      /* both sides, as initiator */
	uint8_t max_dest_rd_atomic; /* both sides, as responder */
	unsigned access;            /* qp_access_flags of both sides */
	uint32_t nb_hold;           /* frames that each host can hold; 0: both go back N */
	uint16_t window_psns;       /* 0: the default */
	bool is_req_gbn;            /* requesters go back N all the same */
	bool is_resp_gbn;           /* responders do */
	uint8_t tclass;             /* of all frames; where the ECN bits are 3 they are marked */
	const struct uroce_cc_conf *cc; /* NULL: no congestion control */
};

/** A host; its queues and memory stay where they are as long as the pair is open. */
struct pair_host {
	enum pair_side side;
	struct uroce_qpc qpc;
	struct uroce_wq sq;
	struct uroce_wq rq;
	struct uroce_srq srq;         /* conf.has_srq, or the target of XRC */
	struct uroce_srq other_srq;   /* XRC: of another domain, without memory */
	struct uroce_srq_table *srqs; /* XRC */
	struct uroce_cq send_cq;
	struct uroce_cq recv_cq;
	struct uroce_mr_table *mrs;
	struct uroce_reorder_buffer *reorder_buffer; /* NULL: none */
	struct uroce_rd_pool *rd_pool;
	struct uroce_counters counters; /* as a worker's */
	struct uroce_qpc_limits limits;
	struct uroce_path path; /* to the other host */
	uint8_t *mem;           /* registered with all rights, at iova = address */
	uint32_t key;           /* of mem */
	uint32_t events;        /* enum uroce_qpc_event since pair_events() */
	uint32_t nb_sent;       /* frames: index of the next one for the wire's script */
	uint64_t next_send_id;  /* wr_id of the next request: 0, 1, 2 ... */
	uint64_t next_recv_id;
	uint64_t nb_verdicts[UROCE_VERDICT_NB]; /* of what arrived */
	bool has_more;                          /* its last burst was a full one */
	void *blocks[12];                       /* to be freed */
};

/** A frame on the wire. */
struct pair_flight {
	uint64_t due_ns;
	uint8_t *frame; /* exactly `len` bytes, so that a sanitizer sees what reads past them */
	uint32_t len;
	enum pair_side to;
};

/** Random faults, each in 1/1000 of the frames. */
struct pair_noise {
	uint64_t seed; /* 0: none */
	unsigned lose;
	unsigned repeat;
	unsigned delay;
	unsigned spoil;
};

struct pair {
	struct pair_conf conf;
	struct pair_host host[2];
	uint64_t now_ns;
	struct pair_flight *flights; /* by time of arrival */
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
	struct text done; /* scratch of pair_completions() */
};

/** Sensible attributes: MTU 1024, timeout 14, 7 retries, 16 READs, 64 entries, 1 MiB. */
struct pair_conf pair_conf(enum ibv_qp_type type);

/** Make both hosts and connect them: both are in RTS. */
void pair_open(struct pair *pair, const struct pair_conf *conf);

/** The same, both still in RESET. */
void pair_open_reset(struct pair *pair, const struct pair_conf *conf);

void pair_close(struct pair *pair);

/* --- states --- */

/** RESET or wherever a host is, to INIT, RTR, RTS, step by step up to `state`. */
void pair_bring_up(struct pair *pair, enum pair_side side, enum ibv_qp_state state);

int pair_modify(struct pair *pair, enum pair_side side, const struct ibv_qp_attr *attr, int mask);

/** Modify the state alone; it must succeed. */
void pair_set_state(struct pair *pair, enum pair_side side, enum ibv_qp_state state);

/** The attributes that bring a side of this pair to `state` from the one before, and their mask. */
int pair_attr(const struct pair *pair, enum pair_side side, enum ibv_qp_state state,
	      struct ibv_qp_attr *attr);

/* --- memory --- */

/** Register another region of a host. @return its key */
uint32_t pair_register(struct pair *pair, enum pair_side side, void *addr, uint64_t len,
		       unsigned access);

/** Fill memory with bytes that depend on their address and on `seed`. */
void pair_fill(struct pair *pair, enum pair_side side, uint32_t offset, uint32_t len,
	       uint32_t seed);

/** Whether `len` bytes at offset `a` of A are those at offset `b` of B. */
bool pair_is_equal(const struct pair *pair, uint32_t a, uint32_t b, uint32_t len);

/* --- posting: wr_id counts from 0 in each queue --- */

/** A send request on one element of the host's memory. */
struct pair_wr {
	enum ibv_wr_opcode opcode;
	uint32_t len;
	uint32_t local;  /* offset in the poster's memory */
	uint32_t remote; /* offset in the other's memory */
	unsigned flags;  /* enum ibv_send_flags beside SIGNALED */
	uint32_t imm;    /* as written in wire order */
	uint64_t compare_add;
	uint64_t swap;
	uint32_t srqn; /* XRC; 0: the peer's */
};

/** @return 0 or what uroce_sq_fill() said */
int pair_post(struct pair *pair, enum pair_side side, const struct pair_wr *wr);

/** A request made by hand. Its wr_id is set. */
int pair_post_raw(struct pair *pair, enum pair_side side, struct ibv_send_wr *wr);

/** A receive request for `len` bytes at `offset`. */
int pair_post_recv(struct pair *pair, enum pair_side side, uint32_t offset, uint32_t len);
int pair_post_recv_raw(struct pair *pair, enum pair_side side, struct ibv_recv_wr *wr);

/* --- the wire --- */

/** What becomes of the `nth` frame (0, 1 ...) that `from` sends, counted from now. */
void pair_script(struct pair *pair, enum pair_side from, uint32_t nth, enum pair_action action);

void pair_lose(struct pair *pair, enum pair_side from, uint32_t nth);

/** From now on everything happens by chance. */
void pair_make_noise(struct pair *pair, const struct pair_noise *noise);

/* --- going on --- */

/** Go on until nothing is under way and no timer runs. */
void pair_run(struct pair *pair);

/** Go on for that long; the clock stands at the end of it. */
void pair_run_for(struct pair *pair, uint64_t ns);

/** One event. @return false: nothing is under way and no timer runs */
bool pair_step(struct pair *pair);

/**
 * Let one host send all that it has to, and throw it away: traced, never arriving. With
 * pair_inject() the test is the other host.
 */
void pair_flush(struct pair *pair, enum pair_side side);

/** Make the clock advance, and the timers of that host with it. */
void pair_wait(struct pair *pair, enum pair_side side, uint64_t ns);

/* --- frames made by hand --- */

/** A frame as a peer might have made it; what its opcode does not have is ignored. */
struct pair_pkt {
	uint8_t opcode;
	bool has_ack_req;
	bool is_solicited;
	bool is_from_stranger; /* source address is not the peer's */
	uint16_t pkey;         /* 0: the right one */
	uint32_t psn;
	uint32_t payload_len;
	const void *payload; /* NULL: bytes 1, 2, 3 ... */
	uint64_t va;         /* RETH, AtomicETH */
	uint32_t rkey;
	uint32_t dma_len;
	uint64_t swap_add; /* AtomicETH */
	uint64_t compare;
	uint8_t syndrome; /* AETH */
	uint32_t msn;
	uint64_t orig; /* AtomicAckETH */
	uint32_t qkey; /* DETH */
	uint32_t src_qpn;
	uint32_t imm;      /* as written in wire order */
	uint32_t inv_rkey; /* IETH */
	uint32_t srqn;     /* XRCETH */
	uint32_t sel_plt;  /* FETH */
};

/** Hand a frame to a host now. @return what it made of it */
enum uroce_verdict pair_inject(struct pair *pair, enum pair_side to, const struct pair_pkt *pkt);

/* --- what happened --- */

/** Take the trace and compare it. */
void pair_expect_trace(struct pair *pair, const char *expected);

/** Poll both queues of a host and compare: "send 0 RDMA_WRITE SUCCESS\n" "recv 0 RECV SUCCESS 12\n". */
void pair_expect_done(struct pair *pair, enum pair_side side, const char *expected);

/** The text of what a host's queues hold, which is taken out; good until the next call. */
const char *pair_completions(struct pair *pair, enum pair_side side);

/** Take the events of a host. */
uint32_t pair_events(struct pair *pair, enum pair_side side);

#endif /* TEST_UNIT_TRANSPORT_PAIR_H */
