/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_WORKER_H
#define UROCE_DATAPATH_WORKER_H

/**
 * @file
 * A worker: one RX queue and one TX queue of a port, a set of QPs, a timing wheel and counters.
 *
 * A worker has no thread of its own. The thread that holds its try-lock drives it, one round at a
 * time. A dedicated lcore takes the lock once and keeps it. uroce_worker_poll() does one round:
 *
 *	receive burst -> input -> take doorbells -> schedule senders -> transmit burst
 *	-> publish completions -> commands -> timers
 *
 * The round number is odd inside a round and even outside. A grace period waits for changes of this
 * number.
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

/**
 * The state by which the consumer of a CQ is notified of completion events. The CQ's cookie points
 * to this struct.
 */
struct uroce_cq_notify {
	/* Eventfd on which the consumer waits for events; -1: no consumer waits. */
	int event_fd;
	/* Number of events that were raised and not yet taken by the consumer. */
	_Atomic uint32_t nb_events;
};

/**
 * A QP as a worker sees it: the transport's context, and its links in the worker's lists. The
 * struct is embedded in the verbs object. The owner of that object initializes `qpc`
 * (uroce_qpc_init).
 */
struct uroce_worker_qp {
	/*
	 * The worker that owns the QP. No other worker touches the other fields, except for the
	 * doorbell fields (`doorbell_next`, `is_rung`, `is_rung_again`) and `target_worker`
	 * (migration.c).
	 */
	_Alignas(64) _Atomic(struct uroce_worker *) worker;
	/*
	 * Next QP in the worker's list of QPs whose doorbells were rung. Any thread pushes QPs to
	 * the list; the worker takes them.
	 */
	_Atomic(struct uroce_worker_qp *) doorbell_next;
	atomic_bool is_rung;
	/* Hint: the QP was posted to more than once since its doorbell was taken. */
	atomic_bool is_rung_again;
	/*
	 * The fields from `is_active` to `timer_tick`, except `target_worker`, are used only by the
	 * worker that owns the QP.
	 */
	bool is_active;
	/* If is_active is set: the QP may have requests to send, not only responses. */
	bool may_have_requests;
	/*
	 * The QP has moved to this worker from another one, and no call of the transport for the QP
	 * was made since.
	 */
	bool is_migrated;
	/* number of times that the QP has moved from one worker to another, at most UINT8_MAX */
	uint8_t nb_migrations;
	/*
	 * Index of the worker that forwarded the latest frames to the QP's worker; valid if
	 * nb_forwarded > 0.
	 */
	uint8_t forwarded_from;
	/*
	 * One more than the index of the worker to which the QP may migrate; 0: no target worker.
	 */
	_Atomic uint8_t target_worker;
	/* Number of consecutive frames that were forwarded to the QP's worker; saturates. */
	uint32_t nb_forwarded;
	struct uroce_worker_qp *active_next;
	struct uroce_worker_qp *timer_next; /* next QP in the same slot of the timing wheel */
	struct uroce_worker_qp **timer_prev;
	/*
	 * Tick under which the QP is filed in the timing wheel; UROCE_NEVER: the QP is not filed.
	 */
	uint64_t timer_tick;
	_Alignas(64) struct uroce_qpc qpc;
	/* The fields `event_cookie` and `nb_groups` are rarely used. */
	void *event_cookie; /* cookie with which the QP's asynchronous events are raised */
	/* Number of multicast groups of which the QP is a member; guarded by the device's lock. */
	uint32_t nb_groups;
};

/**
 * Get the worker that owns a QP. Acquire M1 pairs with release M1 in migration.c: everything that
 * the previous worker wrote to the QP is visible.
 */
static inline struct uroce_worker *
uroce_worker_qp_worker(const struct uroce_worker_qp *wqp)
{
	return atomic_load_explicit(&wqp->worker, memory_order_acquire);
}

/**
 * Hint: prefetch the cache lines that both roles of a QP need. See also uroce_qpc_fetch_req() and
 * uroce_qpc_fetch_resp().
 */
static inline void
uroce_worker_qp_fetch(const struct uroce_worker_qp *wqp)
{
	__builtin_prefetch(wqp, 1);
	uroce_qpc_fetch(&wqp->qpc);
}

/**
 * A shared receive queue as workers see it. The struct is embedded in the verbs object.
 * `srq.cookie` is the cookie with which asynchronous events of the queue are raised.
 */
struct uroce_worker_srq {
	struct uroce_srq srq;
};

/*
 * The memory of a device must grow with the requests in flight rather than with the number of QPs.
 * These assertions limit the memory that an idle connected QP needs.
 */
static_assert(offsetof(struct uroce_worker_qp, qpc) == 64, "lists and timers are one cache line");
static_assert(sizeof(struct uroce_worker_qp) <= 1024, "an idle QP costs 1 KiB at most");

/**
 * The counters of a worker. Only the worker writes them (uroce_count); any thread may read them
 * (uroce_counted).
 */
struct uroce_worker_stats {
	/* A counter that datapath/device/stats.c derives from others stays 0 in this struct. */
	struct uroce_counters counters;
	uint64_t verdict[UROCE_VERDICT_NB];
	/*
	 * Number of verdicts beyond the first verdict of a frame. A frame to a multicast group has
	 * a verdict from each worker that has members of the group.
	 */
	uint64_t rx_shared;
};

/**
 * Drive the worker for one round, unless another thread drives it now.
 *
 * @lcore Any thread. A thread that EAL does not know is registered on its first call.
 * @mt Safe: all threads but one return at once.
 * @return number of frames received and sent; 0: idle, or another thread drives
 */
unsigned uroce_worker_poll(struct uroce_worker *worker);

/**
 * Receive for an embedder: process frames that the embedder's own loop received.
 *
 * RoCE frames for this device are consumed and freed. ARP and ND requests for addresses of the
 * device, and pings of them, get replies and are consumed. Other frames of ARP and ICMPv6 may
 * contain replies to this device's requests. They are read and handed back, as are all other
 * frames. The call waits for commands that other threads run at the moment.
 * @param[out] rest  array of at least `nb` entries: the frames that were not consumed, in order
 * @return number of frames in `rest`
 */
unsigned uroce_worker_input(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb,
			    struct rte_mbuf **rest);

/**
 * Transmit for an embedder: process forwarded frames, loopback frames, doorbells, timers and active
 * QPs. Up to `max` frames are stored in `frames` instead of being transmitted. The caller owns
 * these frames.
 * @return number of frames in `frames`
 */
unsigned uroce_worker_output(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned max);

/**
 * Signal that something was posted to a QP. Any thread may call this function. The call never
 * fails, and wakes a sleeping service thread.
 */
void uroce_worker_ring_doorbell(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/**
 * Transmit what was posted to a QP in the calling thread, if inline transmit is possible: see
 * datapath/worker/inline_tx.h. Any thread that holds no lock of a worker may call this function.
 * The thread may hold the lock of the QP's send queue, which keeps the QP from being destroyed. A
 * round only tries to take such a lock, so that no two threads wait for each other.
 * @return false: nothing was sent, and the caller must call uroce_worker_ring_doorbell()
 */
bool uroce_worker_send(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/**
 * Signal that the application goes to sleep: it has armed a CQ and will not poll. The service
 * thread drives the worker at once. Without this call the service thread would first wait a
 * millisecond for a poll of the application.
 */
void uroce_worker_leave(struct uroce_worker *worker);

/**
 * Run `call(arg)` in the context of the worker: in the calling thread under the worker's lock, or
 * in the thread that holds the lock. The function returns after the call has run. Afterwards the QP
 * is checked for work and timers.
 * @param wqp  QP that the call concerns; the worker that owns the QP at that time runs the call.
 *   NULL: the call concerns no QP, and `worker` runs it
 * @return the result of the call
 */
int uroce_worker_call(struct uroce_worker *worker, struct uroce_worker_qp *wqp,
		      int (*call)(void *arg), void *arg);

/**
 * Call a function that makes a QP start or stop receiving packets, in the context of the QP's
 * worker, as uroce_worker_call() does. Before the function is called, the frames that have arrived
 * are received in the present state of the QP, and the responses to them are sent.
 */
int uroce_worker_qp_quiesce(struct uroce_worker_qp *wqp, int (*call)(void *arg), void *arg);

/**
 * Call a function that only reads a QP in the context of the QP's worker, as uroce_worker_call()
 * does. The QP is not checked for work afterwards, because its state has not changed.
 */
int uroce_worker_qp_query(struct uroce_worker_qp *wqp, int (*call)(void *arg), void *arg);

/**
 * Get the time of the worker's current round. Calls into the transport that run in
 * uroce_worker_call() use this time.
 */
uint64_t uroce_worker_now_ns(const struct uroce_worker *worker);

/** Get the pool of resources for READs and atomics of the QPs that this worker owns. */
struct uroce_rd_pool *uroce_worker_rd_pool(const struct uroce_worker *worker);

/**
 * Get the reorder buffer of the QPs that this worker owns. It keeps frames that arrived ahead of a
 * PSN gap.
 */
struct uroce_reorder_buffer *uroce_worker_reorder_buffer(const struct uroce_worker *worker);

/**
 * Get the counters of the worker. They count the events of the worker's QPs, in addition to the
 * QPs' own counters.
 */
struct uroce_counters *uroce_worker_counters(struct uroce_worker *worker);

/** Get the list of CQs with completions that the worker publishes after its frames have left. */
struct uroce_cq_list *uroce_worker_unpublished(struct uroce_worker *worker);

const struct uroce_worker_stats *uroce_worker_stats(const struct uroce_worker *worker);

/**
 * The value of a counter of the worker. The value is 0 for a counter that datapath/device/stats.c
 * derives from other counters.
 */
static inline uint64_t
uroce_worker_counted(const struct uroce_worker *worker, enum uroce_counter which)
{
	return uroce_counted(&uroce_worker_stats(worker)->counters.nb[which]);
}

#endif /* UROCE_DATAPATH_WORKER_H */
