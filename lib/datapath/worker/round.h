/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_ROUND_H
#define UROCE_DATAPATH_ROUND_H

/**
 * @file
 * The state of a worker and the stages of its round. Only the files that implement the stages
 * include this header:
 *
 *	poll.c          the round: the order of the stages, and the threads that drive a worker
 *	worker.c        what all stages use: begin and end of a round, what follows a call into a QP
 *	worker_create.c creation and destruction
 *	rx.c            receive: parse, verify, look up the QP, execute; in passes over a burst
 *	reorder_mbuf.c  frames that the transport keeps because they arrived ahead of a PSN gap
 *	migration.c     migration of QPs to the worker that receives their frames
 *	mcast_deliver.c frames to multicast groups
 *	tx_schedule.c   the list of the QPs that may have something to send
 *	tx.c            transmit: the scheduled QPs are polled for frames in turn
 *	zero_copy.c     payload that is transmitted from the application's memory
 *	loopback.c      frames to the device's own addresses
 *	publish.c       publication of completions, and notification of consumers
 *	delayed_ack.c   acknowledgements that wait until the program has posted its reply
 *	doorbell.c      doorbells: rung by any thread; doorbell_take.c: taken by the worker
 *	inline_tx.c     posts that transmit without a doorbell
 *	at_rest.c       what a worker has left to do after a round
 *	cmd.c           commands of other threads
 *
 * Calls between these files go in one direction, which devtools/check-floors checks.
 *
 * Every function in this header must be called by the thread that holds the worker's lock, unless
 * its comment says otherwise.
 */

#include <rte_ring.h>

#include "config/limits.h"
#include "datapath/worker/alert.h"
#include "datapath/worker/delayed_ack.h"
#include "datapath/device/dev.h"
#include "datapath/worker/loopback.h"
#include "datapath/port/port.h"
#include "datapath/worker/publish.h"
#include "datapath/worker/inline_tx.h"
#include "datapath/worker/wheel.h"
#include "datapath/worker/worker.h"
#include "base/lock.h"
#include "base/token_bucket.h"

/** Maximum number of frames that a QP may send in its turn. */
#define UROCE_TX_QUANTUM 32u

/** Flag in an entry of uroce_tx.roce_len: the frame's destination is a multicast group. */
#define UROCE_TX_TO_GROUP (1u << 15)

/**
 * Maximum number of built frames that the port has not taken yet (pending frames). The worker
 * builds no more frames while more than a burst is pending.
 */
#define UROCE_PENDING_MAX (4 * UROCE_BURST)

/**
 * Maximum number of frames that wait in a worker for QPs that migrate to it. A migration takes two
 * rounds of a worker, in which a few bursts arrive.
 */
#define UROCE_MIGRATING_MAX 256u

/**
 * The state of the burst that the receive stage processes. Each kind of data has an array of its
 * own, so that each pass over the burst touches only the data that it needs.
 */
struct uroce_rx {
	struct rte_mbuf *mbuf[UROCE_BURST];
	uint8_t verdict[UROCE_BURST]; /* verdict of each frame: enum uroce_verdict */
	struct uroce_worker_qp *wqp[UROCE_BURST];
	struct uroce_pkt pkt[UROCE_BURST];
	/*
	 * Template for the parser: headers of the latest frame for this device that was alone in
	 * its burst. The next frame that is alone usually has the same headers.
	 */
	struct uroce_pkt single;
	uint8_t single_hdr[UROCE_TEMPLATE_LEN];
	bool has_single;
	bool is_single_from_wire;
	/* The current burst is from the wire: not looped back, forwarded, or from uroced. */
	bool is_from_wire;
	bool is_ident_unknown; /* frames may have another IPv4 identification than was sent */
	/* Frame that is freed later, so that the program gets its message earlier; NULL: none. */
	struct rte_mbuf *done;
	struct uroce_token_bucket replies; /* limits responses to Get(ClassPortInfo) */
};

/** The result of polling one QP for frames in a pass of the transmit stage. */
struct uroce_polled_qp {
	struct uroce_worker_qp *wqp;
	uint8_t nb;  /* number of frames that the polled QP had to send */
	uint8_t max; /* maximum number of frames that the polled QP was allowed to send */
	/* `nb` counts responses only, which the transport's fast path for responses has built */
	bool is_fast_path;
};

/** Transmit stage: pending frames, spare mbufs, and the QPs that may have something to send. */
struct uroce_tx {
	/* Complete frames that wait for the port, oldest first. */
	struct rte_mbuf *pending[UROCE_PENDING_MAX];
	/* Length of each pending frame in bytes, with the flag UROCE_TX_TO_GROUP; 0: not RoCE. */
	uint16_t roce_len[UROCE_PENDING_MAX];
	unsigned nb_pending;
	/* The port took fewer frames than were offered. The service thread reads this flag. */
	atomic_bool is_stalled;
	/*
	 * Valid while is_stalled is set: the latest time at which the port took a frame or was not
	 * stalled.
	 */
	uint64_t moved_ns;
	/* Mbufs that are allocated for new frames; the last one is used first. */
	struct rte_mbuf *spare[UROCE_BURST + UROCE_TX_QUANTUM];
	/* Address of the first byte of the frame in each spare mbuf. */
	uint8_t *spare_hdr[UROCE_BURST + UROCE_TX_QUANTUM];
	unsigned nb_spare;
	/* List of the QPs that may have something to send, in the order of their turns. */
	struct uroce_worker_qp *active_head;
	struct uroce_worker_qp *active_tail;
	/*
	 * Three counters of QPs and frames, which wrap around. publish.c compares the counters with
	 * earlier values, to find out whether ACKs have left.
	 */
	/* QPs that were appended to the list of active QPs since the worker was created */
	uint32_t nb_scheduled;
	/* QPs that were removed from the list of active QPs since the worker was created */
	uint32_t nb_polled_qps;
	uint32_t nb_left; /* frames that the port has taken since the worker was created */
	/* Temporary data of a transmit pass: the polled QPs, and descriptors of their frames. */
	struct uroce_polled_qp polled[UROCE_BURST];
	struct uroce_txd txd[UROCE_BURST];
};

/**
 * Frames of QPs that will migrate to this worker (migration.c). The frames wait for their QPs in
 * the order of arrival.
 */
struct uroce_migrating {
	unsigned nb;
	uint32_t qpn[UROCE_MIGRATING_MAX];
	struct rte_mbuf *mbuf[UROCE_MIGRATING_MAX];
};

/**
 * A command: a call that another thread wants this worker to make. The command is on that thread's
 * stack.
 */
struct uroce_cmd {
	struct uroce_cmd *next;
	/* QP whose worker must run the command; NULL: any worker may run the command. */
	struct uroce_worker_qp *about;
	/* QP that is checked for work and timers after the command; NULL: no QP is checked. */
	struct uroce_worker_qp *wqp;
	/* the worker must receive all frames that have arrived before the command runs */
	bool must_receive_first;
	int (*call)(void *arg);
	void *arg;
	int ret;
	/* the call has run; release D1 and acquire D1 of this flag are in cmd.c */
	atomic_bool is_done;
};

struct uroce_worker {
	/* The fields from `dev` to `forwarded` are constant after creation. */
	struct uroce_dev *dev;
	unsigned idx;
	uint16_t queue; /* number of the port's RX queue and TX queue that this worker uses */
	bool is_first;  /* this is worker 0, which also watches the link of the port */
	/* Lcore that drives this worker until uroce_worker_stop(); LCORE_ID_ANY: no lcore does. */
	unsigned lcore_id;
	struct rte_mempool *pool;
	struct uroce_rd_pool *rd_pool;
	struct uroce_reorder_buffer *reorder_buffer;
	/*
	 * Frames and migration requests that other workers forwarded to this worker; NULL: the
	 * device has one worker.
	 */
	struct rte_ring *forwarded;
	/* Any thread writes the fields from `doorbells` to `is_unattended`. */
	_Alignas(64) _Atomic(struct uroce_worker_qp *) doorbells;
	_Atomic(struct uroce_cmd *) cmds;
	/*
	 * Posts may try inline transmit. The thread that drives the worker writes this flag rarely.
	 */
	atomic_bool has_inline_tx;
	/*
	 * The service thread sleeps until a wake-up, because no thread drives this worker. The next
	 * thread that drives it wakes the service thread. The flag is set under the lock.
	 */
	atomic_bool is_unattended;
	/*
	 * Usually the thread that drives the worker writes the fields from `lock` to
	 * `is_abandoned`, and other threads read them. Threads that drive other workers read the
	 * fields from `app_ns` on more often than the others.
	 */
	_Alignas(64) struct uroce_lock lock;
	_Atomic uint64_t round;
	atomic_bool is_stopping; /* the dedicated lcore that drives this worker must end its loop */
	/* latest time at which the application drove this worker */
	_Alignas(64) _Atomic uint64_t app_ns;
	/*
	 * No thread polls this worker. So the application drives it in addition to a worker that
	 * the application polls.
	 */
	atomic_bool is_abandoned;
	/* Only the thread that drives the worker uses the fields from `now_ns` to the end. */
	_Alignas(64) uint64_t now_ns; /* time of the current round */
	uint64_t link_check_ns;       /* time of the next check of the port's link */
	uint64_t lost_check_ns; /* time of the next check whether the port must be restarted */
	/* Pool of the records of zero-copy payload; NULL: all payload is copied. */
	struct rte_mempool *zero_copy_pool;
	/* index of the worker that the latest idle round of the application has checked for a poll */
	unsigned helped;
	/* for each other worker: time before which it cannot be abandoned; 0: not known */
	uint64_t attended_ns[UROCE_WORKERS_MAX];
	struct uroce_publishing publishing;
	struct uroce_delayed_ack delayed_ack;
	struct uroce_inline_tx inline_tx;
	struct uroce_loopback loopback;
	struct uroce_worker_stats stats;
	struct uroce_alerts alerts;
	struct uroce_rx rx;
	struct uroce_migrating migrating;
	struct uroce_tx tx;
	struct uroce_wheel wheel;
};

/** Add `nb` to a counter of the worker. */
static inline void
uroce_worker_count(struct uroce_worker *worker, enum uroce_counter which, uint64_t nb)
{
	uroce_count(&worker->stats.counters.nb[which], nb);
}

/* The functions from here to uroce_worker_raise_srq_event() are in worker.c. */

/** Begin a round: make the round number odd, and read the clock. */
void uroce_worker_begin_round(struct uroce_worker *worker);

/** End a round: publish completions, and make the round number even. */
void uroce_worker_end_round(struct uroce_worker *worker);

/**
 * Whether a thread of the application may transmit.
 *
 * A port whose driver may block must never block the application. While such a port has not taken
 * all offered frames, only the service thread transmits.
 */
bool uroce_worker_may_transmit(const struct uroce_worker *worker);

/**
 * Wait until the worker has left the round in which it may be now. Any thread may call this
 * function.
 */
void uroce_worker_wait_round(const struct uroce_worker *worker);

/**
 * Wait until all other workers have left the rounds in which they may be now. Only worker 0 calls
 * this function. Worker 0 may be inside a round.
 */
void uroce_worker_wait_for_others(const struct uroce_worker *worker);

/** After each call of the transport for a QP: handle the QP's events, and file its timer. */
void uroce_worker_settle(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/** Move a QP to ERR because of an error outside of the QP, and raise IBV_EVENT_QP_FATAL. */
void uroce_worker_fail(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/**
 * Schedule the QP if it may have something to send, and settle it (uroce_worker_settle). The caller
 * uses this function after a call that may have given the QP something to send.
 */
void uroce_worker_follow_up(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/**
 * Do what uroce_worker_follow_up() does, for a QP that has received nothing but requests of its
 * peer. The state of the QP's own requests is not read.
 */
void uroce_worker_follow_up_requests(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/**
 * Raise the CQ events of an XRC shared receive queue.
 * @param events  set of enum uroce_srq_event
 */
void uroce_worker_raise_srq_event(struct uroce_dev *dev, const struct uroce_worker_srq *wsrq,
				  uint8_t events);

/* The functions from here to uroce_worker_forget() are in worker_create.c. */

/**
 * Create worker `idx` of a device.
 * @return the worker; NULL: failed, and one line was logged
 */
struct uroce_worker *uroce_worker_create(struct uroce_dev *dev, unsigned idx);
void uroce_worker_destroy(struct uroce_worker *worker);

/** Remove a QP from all lists of the worker. The function runs as a command of the worker. */
void uroce_worker_forget(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/* The functions from here to uroce_worker_stop() are in poll.c. */

/**
 * Run a round of a worker in the service thread, instead of a thread of the application.
 * @return number of frames received and sent
 */
unsigned uroce_worker_round(struct uroce_worker *worker);

/**
 * Make a free lcore drive the worker until uroce_worker_stop().
 * @return 0, or -errno after one logged line
 */
int uroce_worker_launch(struct uroce_worker *worker, unsigned lcore_id);

/** End the loop of the worker's dedicated lcore, and wait for its end. */
void uroce_worker_stop(struct uroce_worker *worker);

/* The functions from here to uroce_rx_input() are in rx.c. */

/**
 * Process up to UROCE_BURST frames that other workers received and forwarded to this worker.
 * @return number of frames
 */
unsigned uroce_rx_forwarded(struct uroce_worker *worker);

/**
 * Process the frames that this worker sent to the device's own addresses.
 * @return number of frames
 */
unsigned uroce_rx_loopback(struct uroce_worker *worker);

/**
 * Receive a burst from the port, and process it. Frames that were forwarded or looped back are
 * processed before the burst.
 * @return number of frames
 */
unsigned uroce_rx_run(struct uroce_worker *worker);

/** Free the frame, if any, that the latest receive stage left to be freed later. */
void uroce_rx_free(struct uroce_worker *worker);

/**
 * Process up to UROCE_BURST frames that the port received.
 * @param[out] rest  receives the frames that are not RoCE for this device; NULL: such frames are
 *   freed
 * @return number of frames in `rest`
 */
unsigned uroce_rx_input(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb,
			struct rte_mbuf **rest);

/* The functions from here to uroce_migrate_complete() are in migration.c. */

/**
 * Count `nb` frames of a QP that worker `from` received and forwarded to the QP's own worker.
 * Enough such frames in a row make `from` the target worker of the QP.
 */
void uroce_migrate_count(struct uroce_worker_qp *wqp, struct uroce_worker *worker, unsigned from,
			 unsigned nb);

/** Reset the count of forwarded frames and the target worker of a QP. */
static inline void
uroce_migrate_stay(struct uroce_worker_qp *wqp)
{
	if (likely(wqp->nb_forwarded == 0))
		return;
	wqp->nb_forwarded = 0;
	atomic_store_explicit(&wqp->target_worker, 0, memory_order_relaxed);
}

/**
 * Whether frames of this QP that arrive at this worker must wait until the QP has migrated to it:
 * this worker is the QP's target worker, or earlier frames of the QP wait already.
 */
bool uroce_migrate_is_expected(const struct uroce_worker *worker, const struct uroce_worker_qp *wqp,
			       uint32_t qpn);

/**
 * Queue a frame until its QP has migrated to this worker. With the first such frame, request the QP
 * from its worker.
 * @return false: there was no room
 */
bool uroce_migrate_queue(struct uroce_worker *worker, struct uroce_worker_qp *wqp, uint32_t qpn,
			 struct rte_mbuf *mbuf);

/**
 * Remove the waiting frames whose QPs have migrated to this worker, for the caller to process them.
 * Frames whose QPs will not migrate any more are forwarded.
 * @param[out] ready  the frames, in the order of their arrival. Their ICRCs have been verified.
 * @return number of frames in `ready`
 */
unsigned uroce_migrate_dequeue(struct uroce_worker *worker,
			       struct rte_mbuf *ready[UROCE_MIGRATING_MAX]);

/** Free all frames that wait in this worker for migrating QPs. */
void uroce_migrate_drop(struct uroce_worker *worker);

/** Whether an entry of the ring `forwarded` is a migration request instead of a frame. */
static inline bool
uroce_migrate_is_request(const void *entry)
{
	return (uintptr_t)entry & 1;
}

/**
 * Handle the request of another worker to migrate a QP of this worker to it. Such a worker is the
 * target worker of the QP, because it receives the QP's frames.
 */
void uroce_migrate_grant(struct uroce_worker *worker, const void *question);

/** Complete the migration of a QP to this worker, before any other call for the QP. */
void uroce_migrate_complete(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/* The functions from here to uroce_reorder_mbuf_reap() are in reorder_mbuf.c. */

/**
 * Keep a frame that the transport has put into the reorder buffer. A frame from another mempool
 * than the worker's is copied into the worker's pool if there is room. So the owner of the other
 * pool gets its mbuf back at once.
 * @return true: this mbuf is kept; false: the caller still owns the mbuf, because a copy is kept
 */
bool uroce_reorder_mbuf_keep(struct uroce_worker *worker, struct rte_mbuf *mbuf);

/** Free the mbufs of the frames that the reorder buffer no longer needs. */
void uroce_reorder_mbuf_reap(struct uroce_worker *worker);

/* The functions from here to uroce_tx_unschedule() are in tx_schedule.c. */

/** Append a QP to the list of active QPs, so that it is polled for frames. */
void uroce_tx_schedule(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/**
 * Append a QP to the list of active QPs for its responses. The QP is polled for responses alone,
 * unless it is also scheduled by uroce_tx_schedule().
 */
void uroce_tx_schedule_response(struct uroce_worker *worker, struct uroce_worker_qp *wqp);
void uroce_tx_unschedule(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/* The functions from here to uroce_tx_drop() are in tx.c. */

/** Append a complete frame to the pending frames. The frame is freed if there is no room. */
void uroce_tx_push(struct uroce_worker *worker, struct rte_mbuf *frame);

/**
 * Poll the active QPs for frames, and transmit pending frames.
 * @return number of frames that the port took or that are looped back
 */
unsigned uroce_tx_run(struct uroce_worker *worker);

/**
 * Do what uroce_tx_run() does, but store the frames in `frames` instead of transmitting them.
 * @return number of frames in `frames`
 */
unsigned uroce_tx_take(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned max);

/**
 * Transmit what is posted to this QP, ahead of all other active QPs, which stay scheduled. Only the
 * first few frames are sent at once, the rest when the QP's turn comes. The function must be called
 * only while no frame is pending and the port is ready.
 */
void uroce_tx_post(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/**
 * Whether frames that are sent now would be lost, because the port is not ready, or because its
 * link is down and the driver may block.
 */
bool uroce_tx_is_lost(const struct uroce_worker *worker);

/** Free all pending frames and all spare mbufs. */
void uroce_tx_drop(struct uroce_worker *worker);

/* uroce_doorbell_push() is in doorbell.c; uroce_doorbell_take() is in doorbell_take.c. */

/** Append a QP to the worker's list of doorbells. Any thread may call this function. */
void uroce_doorbell_push(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/**
 * Schedule every QP whose doorbell was rung.
 * @return number of posts to these QPs: 0, 1, or a greater number for two or more
 */
unsigned uroce_doorbell_take(struct uroce_worker *worker);

/* The function uroce_cmd_take() is in cmd.c. */

/** Run the pending commands that other threads have pushed to this worker. */
void uroce_cmd_take(struct uroce_worker *worker);

#endif /* UROCE_DATAPATH_ROUND_H */
