/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DV_H
#define UROCE_DV_H

/**
 * @file
 * What uroce offers and the installed <infiniband/verbs.h> may have no name for. The values are those
 * that rdma-core's verbs gives them, so a program that is built with a newer header may use its names.
 *
 *	struct ibv_send_wr wr = { .wr_id = 1, .send_flags = IBV_SEND_SIGNALED };
 *
 *	uroce_dv_set_flush(&wr, rkey, remote_addr, len, UROCE_DV_FLUSH_GLOBAL, UROCE_DV_FLUSH_RANGE);
 *	ibv_post_send(qp, &wr, &bad);
 */

#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include "uroce_dv_mkey.h"

#ifdef __cplusplus
extern "C" {
#endif

/** enum ibv_wr_opcode. ATOMIC_WRITE takes wr.rdma and one element, or inline data, of 8 bytes. */
#define UROCE_DV_WR_FLUSH        ((enum ibv_wr_opcode)14)
#define UROCE_DV_WR_ATOMIC_WRITE ((enum ibv_wr_opcode)15)

/** enum ibv_wc_opcode */
#define UROCE_DV_WC_FLUSH        ((enum ibv_wc_opcode)8)
#define UROCE_DV_WC_ATOMIC_WRITE ((enum ibv_wc_opcode)9)

/** enum ibv_access_flags: of the QP, and of the region that a peer may flush */
#define UROCE_DV_ACCESS_FLUSH_GLOBAL     (1 << 8)
#define UROCE_DV_ACCESS_FLUSH_PERSISTENT (1 << 9)

/** enum ibv_placement_type, or-ed */
#define UROCE_DV_FLUSH_GLOBAL     (1u << 0)
#define UROCE_DV_FLUSH_PERSISTENT (1u << 1)

/** enum ibv_selectivity_level */
#define UROCE_DV_FLUSH_RANGE 0u
#define UROCE_DV_FLUSH_MR    1u /* the whole region, wherever remote_addr is */

/**
 * Make a request a FLUSH: its opcode, and `wr.atomic` (compare_add is the length, swap the type and,
 * shifted by 4, the level). Scatter list and other fields are the caller's.
 */
static inline void
uroce_dv_set_flush(struct ibv_send_wr *wr, uint32_t rkey, uint64_t remote_addr, uint64_t len,
		   unsigned type, unsigned level)
{
	wr->opcode = UROCE_DV_WR_FLUSH;
	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = remote_addr;
	wr->wr.atomic.compare_add = len;
	wr->wr.atomic.swap = type | level << 4;
}

/**
 * Begin a FLUSH between ibv_wr_start() and ibv_wr_complete(), of a QP that uroce_qp_to_qp_ex() is not NULL
 * of; it takes no setter of data. For ATOMIC_WRITE there is ibv_wr_atomic_write(), and where the installed
 * <infiniband/verbs.h> has ibv_wr_flush() it does the same on a QP made with IBV_QP_EX_WITH_FLUSH.
 *
 * @lcore  The thread that called ibv_wr_start().
 * @mt     As all calls between the two.
 */
void uroce_dv_wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
		       uint8_t type, uint8_t level);

/**
 * Cancel the posted send requests with this wr_id that were not begun, in SQD: they send and do
 * nothing when their turn comes, and complete as their signalling asked, or are flushed with the
 * others if the QP goes to error.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  Memory of a cancelled request is lent until its completion is polled, as of any other.
 * @return how many were cancelled; -EINVAL: `qp` is NULL, or not in SQD
 */
int uroce_qp_cancel_posted_send_wrs(struct ibv_qp *qp, uint64_t wr_id);

/** The same, of a QP as those calls take it that build its requests. */
static inline int
uroce_dv_qp_cancel_posted_send_wrs(struct uroce_dv_qp_ex *qp, uint64_t wr_id)
{
	return uroce_qp_cancel_posted_send_wrs((struct ibv_qp *)qp, wr_id);
}

/** What congestion control makes of a QP; what it counts is modulo 2^32. */
struct uroce_dv_cc {
	const char *name;      /* "none", "dcqcn" */
	uint64_t rate_bps;     /* what it may send now, bit/s; 0: it is not limited */
	uint64_t target_bps;   /* where that goes to; 0: it is not limited */
	uint64_t ce_marked;    /* packets received that a switch had marked */
	uint64_t cnps_sent;    /* to the peer, because of them */
	uint64_t cnps_handled; /* of the peer, which lowered the rate */
};

/**
 * Choose congestion control for a connected QP (RC, UC, XRC) in RESET or INIT, other than key `cc` of its
 * device says. The parameters are the device's. A reset keeps the choice.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  `name` may be reused on return.
 * @return 0, or EINVAL: no such algorithm, another state, a QP for datagrams
 */
int uroce_qp_set_cc(struct ibv_qp *qp, const char *name);

/**
 * How a QP fares.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  Written on success only; `name` in it is the library's, for good.
 * @return 0, or EINVAL: `qp` or `cc` is NULL
 */
int uroce_qp_query_cc(struct ibv_qp *qp, struct uroce_dv_cc *cc);

/** A counter: something that a device or a QP has counted. */
struct uroce_dv_counter {
	const char *name; /* "port_xmit_packets"; the library's, for good, as the next */
	const char *text; /* what it counts, for people */
	uint64_t value;
};

/**
 * What a device has counted since it came up, by all its contexts and on the wire.
 *
 * @lcore  Any thread.
 * @mt     Safe. Nobody is stopped: each value is right, and they may be of moments that are a little apart.
 * @param[out] counter  room for `max`; names and order are the same each time
 * @return how many counters there are; 0: `context` is NULL
 */
unsigned uroce_query_counters(struct ibv_context *context, struct uroce_dv_counter *counter,
			      unsigned max);

/**
 * What a QP has counted since it was made. Those that grow with what goes wrong are modulo 2^32.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe. They are of one moment.
 * @param[out] counter  as above
 * @return how many counters there are; 0: `qp` is NULL
 */
unsigned uroce_query_qp_counters(struct ibv_qp *qp, struct uroce_dv_counter *counter, unsigned max);

/**
 * Say that send requests will be posted to this QP soon. For programs that serve so many QPs that these
 * are in no cache any more, and that know a few posts ahead whose turn it is: first with `nb` 0, and
 * again a few posts later, when that has arrived, with the number of requests. A hint: nothing changes.
 *
 * @lcore  Any thread.
 * @mt     Safe, while the QP lives.
 */
void uroce_prefetch_qp(const struct ibv_qp *qp, unsigned nb);

/** Where cycles went, of the threads that drive workers, post and poll, since the library was loaded. */
struct uroce_dv_stage {
	const char *name; /* "parse"; the library's, for good */
	uint64_t cycles;  /* of the time stamp counter, without what counting them costs */
	uint64_t laps;    /* how often the stage was gone through */
	uint64_t items;   /* packets, requests or completions that it dealt with; 0: it has none */
};

/**
 * Read the stage clock, which a library that was built with meson's -Dstages=true has.
 *
 * @lcore  Any thread.
 * @mt     Safe; what is told of threads that are running is a hint.
 * @param[out] stage  room for `max`: the stages in the order of a round, then the calls
 * @return how many stages there are; 0: this library has no stage clock
 */
unsigned uroce_query_stages(struct uroce_dv_stage *stage, unsigned max);

#ifdef __cplusplus
}
#endif

#endif /* UROCE_DV_H */
