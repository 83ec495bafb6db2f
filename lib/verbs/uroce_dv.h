/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DV_H
#define UROCE_DV_H

/**
 * @file
 * Features of uroce for which the installed <infiniband/verbs.h> may have no names. The values are
 * those of rdma-core's verbs, so a program built with a newer header may use the names of verbs.
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

/**
 * Values of enum ibv_wr_opcode for FLUSH and ATOMIC_WRITE. An ATOMIC_WRITE uses the fields wr.rdma.
 * Its 8 bytes of data are in one scatter/gather element, or inline.
 */
#define UROCE_DV_WR_FLUSH        ((enum ibv_wr_opcode)14)
#define UROCE_DV_WR_ATOMIC_WRITE ((enum ibv_wr_opcode)15)

/** Values of enum ibv_wc_opcode for completions of FLUSH and ATOMIC_WRITE. */
#define UROCE_DV_WC_FLUSH        ((enum ibv_wc_opcode)8)
#define UROCE_DV_WC_ATOMIC_WRITE ((enum ibv_wc_opcode)9)

/**
 * Values of enum ibv_access_flags. A peer may flush a region with a placement type if both the QP
 * and the region have the flag of this type.
 */
#define UROCE_DV_ACCESS_FLUSH_GLOBAL     (1 << 8)
#define UROCE_DV_ACCESS_FLUSH_PERSISTENT (1 << 9)

/** Placement types of a FLUSH, as in enum ibv_placement_type. The types may be or-ed. */
#define UROCE_DV_FLUSH_GLOBAL     (1u << 0)
#define UROCE_DV_FLUSH_PERSISTENT (1u << 1)

/** Selectivity levels of a FLUSH, as in enum ibv_selectivity_level. */
#define UROCE_DV_FLUSH_RANGE 0u
#define UROCE_DV_FLUSH_MR    1u /* flush the whole region, whatever remote_addr is */

/**
 * Make a work request a FLUSH. The function sets the opcode and `wr.atomic`, where compare_add is
 * the length, and swap is the type or-ed with the level shifted by 4. The caller sets the scatter
 * list and the other fields.
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
 * Build a FLUSH between ibv_wr_start() and ibv_wr_complete(). The QP must be one that
 * uroce_qp_to_qp_ex() can convert. A FLUSH takes no data setter. An ATOMIC_WRITE is built by
 * ibv_wr_atomic_write(). If the installed <infiniband/verbs.h> has ibv_wr_flush(), that call does
 * the same on a QP created with IBV_QP_EX_WITH_FLUSH.
 *
 * @lcore  The thread that called ibv_wr_start().
 * @mt     As all calls between ibv_wr_start() and ibv_wr_complete().
 */
void uroce_dv_wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
		       uint8_t type, uint8_t level);

/**
 * Cancel posted send requests of a QP in SQD: the call cancels those requests with this `wr_id`
 * that the QP has not begun to execute. When a cancelled request reaches the head of the queue it
 * has no effect, and sends nothing. It completes if it is signaled, or is flushed with the others
 * if the QP enters ERR.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  As for all requests, the memory of a cancelled one belongs to the library until its
 *         completion is polled.
 * @return the number of cancelled requests; -EINVAL: `qp` is NULL, or not in SQD
 */
int uroce_qp_cancel_posted_send_wrs(struct ibv_qp *qp, uint64_t wr_id);

/**
 * Cancel posted send requests as uroce_qp_cancel_posted_send_wrs() does. The argument is a struct
 * uroce_dv_qp_ex, the form of a QP that the calls of uroce_dv_mkey.h take.
 */
static inline int
uroce_dv_qp_cancel_posted_send_wrs(struct uroce_dv_qp_ex *qp, uint64_t wr_id)
{
	return uroce_qp_cancel_posted_send_wrs((struct ibv_qp *)qp, wr_id);
}

/** State of a QP's congestion control. The counters are modulo 2^32. */
struct uroce_dv_cc {
	const char *name;    /* name of the algorithm: "none" or "dcqcn" */
	uint64_t rate_bps;   /* current rate limit, bit/s; 0 if there is no limit */
	uint64_t target_bps; /* rate to which rate_bps is raised, bit/s; 0 if there is no limit */
	/* number of packets received with the mark CE, which a switch has set */
	uint64_t ce_marked;
	uint64_t cnps_sent;    /* CNPs sent to the peer, because of CE */
	uint64_t cnps_handled; /* CNPs received from the peer that reduced the rate */
};

/**
 * Choose the congestion control of a connected QP (RC, UC, XRC) in RESET or INIT, instead of the
 * algorithm that the key `cc` of the device's configuration chooses. The parameters of the
 * algorithm are those of the device. A reset of the QP keeps the choice.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  `name` may be reused on return.
 * @return 0; EINVAL: no such algorithm, the QP is in another state, or the QP is of type UD
 */
int uroce_qp_set_cc(struct ibv_qp *qp, const char *name);

/**
 * Query the congestion control of a QP.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  `cc` is written on success only. Its `name` belongs to the library, and is valid for
 *         ever.
 * @return 0; EINVAL: `qp` or `cc` is NULL
 */
int uroce_qp_query_cc(struct ibv_qp *qp, struct uroce_dv_cc *cc);

/** A counter of a device or a QP. */
struct uroce_dv_counter {
	/* name of the counter, such as "port_xmit_packets"; a constant of the library */
	const char *name;
	/* description of what is counted, one sentence; a constant of the library */
	const char *text;
	uint64_t value;
};

/**
 * Read the counters of a device. They count, from the start of the device on, the work of all its
 * contexts and the packets on the wire.
 *
 * @lcore  Any thread.
 * @mt     Safe. No thread is stopped, so the values may be of slightly different moments. Each
 *         value is exact.
 * @param[out] counter  room for `max` counters. Names and order are the same in each call.
 * @return the number of counters that exist; 0: `context` is NULL
 */
unsigned uroce_query_counters(struct ibv_context *context, struct uroce_dv_counter *counter,
			      unsigned max);

/**
 * Read the counters of a QP since it was created. Counters of errors and losses are modulo 2^32.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe. All values are of one moment.
 * @param[out] counter  room for `max` counters. Names and order are the same in each call.
 * @return the number of counters that exist; 0: `qp` is NULL
 */
unsigned uroce_query_qp_counters(struct ibv_qp *qp, struct uroce_dv_counter *counter, unsigned max);

/**
 * Prefetch a QP to which send requests will be posted soon. The call is a hint: it does not change
 * the QP. It helps programs that have so many QPs that no CPU cache has a QP when the program posts
 * to it. Such a program must know a few posts ahead which QPs it will use. The program first calls
 * uroce_prefetch_qp() with `nb` 0. A few posts later, when the first data is in the cache, the
 * program calls it again with `nb` set to the number of requests.
 *
 * @lcore  Any thread.
 * @mt     Safe, as long as the QP exists.
 */
void uroce_prefetch_qp(const struct ibv_qp *qp, unsigned nb);

/**
 * CPU cycles that one stage has taken since the library was loaded, in all threads that drive
 * workers, post or poll.
 */
struct uroce_dv_stage {
	const char *name; /* name of the stage, such as "parse"; a constant of the library */
	/*
	 * cycles of the time stamp counter in this stage, without the cost of the measurement
	 * itself
	 */
	uint64_t cycles;
	uint64_t laps;  /* number of times that threads passed through the stage */
	uint64_t items; /* number of packets, requests or completions that were processed */
};

/**
 * Read the stage clock, which measures the CPU cycles of each stage. A library has a stage clock
 * if it was built with meson's -Dstages=true.
 *
 * @lcore  Any thread.
 * @mt     Safe. Values of running threads may be outdated.
 * @param[out] stage  room for `max` stages, first those of a round in their order, then the calls
 * @return the number of stages that exist; 0: the library has no stage clock
 */
unsigned uroce_query_stages(struct uroce_dv_stage *stage, unsigned max);

#ifdef __cplusplus
}
#endif

#endif /* UROCE_DV_H */
