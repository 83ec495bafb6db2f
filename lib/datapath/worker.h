/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_WORKER_H
#define UROCE_DATAPATH_WORKER_H

/**
 * @file
 * A worker: one RX queue and one TX queue of a port, a set of QPs, a timer wheel and counters.
 *
 * It is passive: whoever holds its try-lock drives it, a round at a time (a dedicated lcore takes
 * the lock once and keeps it). uroce_worker_poll() does one round:
 *
 *	receive burst -> input -> take doorbells -> schedule senders -> transmit burst -> publish completions -> calls
 *	-> timers
 *
 * `round` is odd inside a round and even outside: that is what a grace period waits for.
 */

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rte_mbuf.h>

#include "transport/qpc.h"

struct uroce_dev;
struct uroce_worker;

/** The completion events of a CQ, whose cookie this is: where its consumer sleeps. */
struct uroce_cq_notify {
	int event_fd;               /* eventfd, or -1: nobody listens */
	_Atomic uint32_t nb_events; /* raised, not yet taken by the consumer */
};

/**
 * A QP as a worker sees it: the transport's context, and its places in the worker's lists.
 * Embedded in the verbs object; the owner fills `qpc` (uroce_qpc_init).
 */
struct uroce_worker_qp {
	/* where it lives: nobody else touches what follows, but for the doorbell list and `target_worker` (migration.c) */
	_Alignas(64) _Atomic(struct uroce_worker *) worker;
	/* doorbell list (any thread pushes, the worker takes) */
	_Atomic(struct uroce_worker_qp *) doorbell_next;
	atomic_bool is_rung;
	atomic_bool is_rung_again; /* posted to more than once since; a hint */
	/* the worker's own */
	bool is_active;
	bool may_have_requests; /* with is_active: it may have requests, not just answers */
	bool is_migrated;       /* it came from another worker, and was not called since */
	uint8_t nb_migrations;  /* saturates */
	uint8_t forwarded_from; /* with nb_forwarded: index of the worker that received the latest frames */
	_Atomic uint8_t target_worker; /* one past the index of who may ask for the QP; 0: nobody */
	uint32_t nb_forwarded;         /* frames of it in a row that hopped here; saturates */
	struct uroce_worker_qp *active_next;
	struct uroce_worker_qp *timer_next; /* wheel slot list */
	struct uroce_worker_qp **timer_prev;
	uint64_t timer_tick; /* slot it is filed under; UROCE_NEVER: not filed */
	_Alignas(64) struct uroce_qpc qpc;
	/* cold */
	void *event_cookie; /* of its asynchronous events */
	uint32_t nb_groups; /* that it is a member of; under the device's lock */
};

/** The worker that a QP lives on; what that wrote before it was so is seen (M1). */
static inline struct uroce_worker *
uroce_worker_qp_worker(const struct uroce_worker_qp *wqp)
{
	return atomic_load_explicit(&wqp->worker, memory_order_acquire);
}

/** Fetch what both roles of a QP want: a hint. See uroce_qpc_fetch_req(), _resp(). */
static inline void
uroce_worker_qp_fetch(const struct uroce_worker_qp *wqp)
{
	__builtin_prefetch(wqp, 1);
	uroce_qpc_fetch(&wqp->qpc);
}

/**
 * A shared receive queue as workers see it; embedded in the verbs object. `srq.cookie` is of its
 * asynchronous events.
 */
struct uroce_worker_srq {
	struct uroce_srq srq;
};

/* Memory grows with requests in flight, not with QPs: what an idle connected QP costs. */
static_assert(offsetof(struct uroce_worker_qp, qpc) == 64, "lists and timers are one cache line");
static_assert(sizeof(struct uroce_worker_qp) <= 1024, "an idle QP costs 1 KiB at most");

/** What a worker counts: it is the only writer (uroce_count), and anyone may read (uroce_counted). */
struct uroce_worker_stats {
	struct uroce_counters counters; /* what datapath/stats.c makes of others is 0 */
	uint64_t verdict[UROCE_VERDICT_NB];
	/* verdicts beyond one for each frame: of frames to groups, by other workers */
	uint64_t rx_shared;
};

/**
 * Drive one round, if nobody else is in one.
 *
 * @lcore  Any thread; one that EAL does not know is registered on its first call.
 * @mt     Safe: the others return at once.
 * @return frames received and sent; 0: idle, or another thread drives
 */
unsigned uroce_worker_poll(struct uroce_worker *worker);

/**
 * The embedder's receive: frames that its own loop received. RoCE frames for this device are taken
 * (and freed), the others are handed back. Control calls of other threads are waited for.
 * Questions for the MAC of an address of the device and pings of it are answered, and taken; other
 * frames of ARP and ICMPv6 are looked at for answers to our questions, and handed back.
 * @param[out] rest  room for `nb`: the frames that are not ours, in order
 * @return how many in `rest`
 */
unsigned uroce_worker_input(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb,
			    struct rte_mbuf **rest);

/**
 * The embedder's transmit: frames that other workers received for this one or that it sent to itself,
 * doorbells, senders and timers run, and up to `max` frames are handed out instead of transmitted. The
 * caller owns them.
 */
unsigned uroce_worker_output(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned max);

/** Say that a QP has something posted. Any thread; never fails; wakes a sleeping service thread. */
void uroce_worker_ring_doorbell(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/**
 * Send what was posted to a QP now, where that is the shortest way: see datapath/inline_tx.h. Any thread
 * that holds no lock of the library's.
 * @return false: it is still to be said (uroce_worker_ring_doorbell)
 */
bool uroce_worker_send(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/**
 * Say that the application goes to sleep (it armed a CQ and will not poll): the service thread takes
 * over at once, instead of after the millisecond in which a poll might still come.
 */
void uroce_worker_leave(struct uroce_worker *worker);

/**
 * Run `call(arg)` as the worker: under its lock, or in its mailbox where a dedicated lcore holds
 * the lock for ever. Returns when it has run. Afterwards the QP is looked at for work and timers.
 * @param wqp  the QP that the call is about, run by the worker that it lives on by then; NULL: none
 * @return what the call returned
 */
int uroce_worker_call(struct uroce_worker *worker, struct uroce_worker_qp *wqp,
		      int (*call)(void *arg), void *arg);

/**
 * The same on the worker that the QP lives on, of a call after which the QP does not hear what was sent to it before: frames
 * that have arrived are received first, and what is owed for them leaves.
 */
int uroce_worker_qp_quiesce(struct uroce_worker_qp *wqp, int (*call)(void *arg), void *arg);

/** As uroce_worker_call(), of a call that only looks at the QP. */
int uroce_worker_qp_query(struct uroce_worker_qp *wqp, int (*call)(void *arg), void *arg);

/** The worker's time, for calls into the transport made by uroce_worker_call(). */
uint64_t uroce_worker_now_ns(const struct uroce_worker *worker);

/** Where the QPs that live on this worker get their resources for READs and atomics from. */
struct uroce_rd_pool *uroce_worker_rd_pool(const struct uroce_worker *worker);

/** Where they put what arrives ahead of a hole. */
struct uroce_reorder_buffer *uroce_worker_reorder_buffer(const struct uroce_worker *worker);

/** Where what happens to them is counted, beside their own counters. */
struct uroce_counters *uroce_worker_counters(struct uroce_worker *worker);

/** The CQs that they have written to, which the worker publishes when its frames have left. */
struct uroce_cq_list *uroce_worker_unpublished(struct uroce_worker *worker);

const struct uroce_worker_stats *uroce_worker_stats(const struct uroce_worker *worker);

/** What it has counted so far, of what workers count themselves. */
static inline uint64_t
uroce_worker_counted(const struct uroce_worker *worker, enum uroce_counter which)
{
	return uroce_counted(&uroce_worker_stats(worker)->counters.nb[which]);
}

#endif /* UROCE_DATAPATH_WORKER_H */
