/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_ROUND_H
#define UROCE_DATAPATH_ROUND_H

/**
 * @file
 * What a worker is made of, and the stages of its round: for the files that implement them.
 *
 *	worker.c  who may drive, and the order of the stages
 *	rx.c      frames in: parse, verify, look up, hand to the QP, in passes over the burst
 *	reorder_mbuf.c    frames that stay because they arrived ahead of a hole
 *	migration.c    QPs that go to the worker that receives their frames
 *	tx.c      frames out: QPs that have something to say are asked in turn
 *	zero_copy.c    payload that is sent from where it lies
 *	loopback.c    frames to our own addresses
 *	publish.c   completions that become visible, and consumers that are told
 *	delayed_ack.c  acknowledgements that wait for one look of the program
 *	doorbell.c    doorbells
 *	inline_tx.c  posts that need none
 *	cmd.c     calls that other threads want made
 *
 * Everything below is called by the thread that holds the worker's lock.
 */

#include <rte_ring.h>

#include "config/limits.h"
#include "datapath/alert.h"
#include "datapath/delayed_ack.h"
#include "datapath/dev.h"
#include "datapath/loopback.h"
#include "datapath/port.h"
#include "datapath/publish.h"
#include "datapath/inline_tx.h"
#include "datapath/wheel.h"
#include "datapath/worker.h"
#include "wire/lock.h"

/** Frames that a QP may send before the next one's turn. */
#define UROCE_TX_QUANTUM 32u

/** In the length of a RoCE frame that waits: it is to a multicast group. */
#define UROCE_TX_TO_GROUP (1u << 15)

/** Frames built and not yet taken by the port: above a burst, no more are built. */
#define UROCE_PENDING_MAX (4 * UROCE_BURST)

/** Frames that wait for QPs that are to come: a few bursts, while two rounds of a worker pass. */
#define UROCE_MIGRATING_MAX 256u

/** Receive stage: a burst, by columns, so that a pass touches only what it needs. */
struct uroce_rx {
	struct rte_mbuf *mbuf[UROCE_BURST];
	uint8_t verdict[UROCE_BURST]; /* enum uroce_verdict */
	struct uroce_worker_qp *wqp[UROCE_BURST];
	struct uroce_pkt pkt[UROCE_BURST];
	/* the last frame that came alone and was for us: the next one mostly is like it */
	struct uroce_pkt single;
	uint8_t single_hdr[UROCE_TEMPLATE_LEN];
	bool has_single;
	bool is_single_from_wire;
	bool is_from_wire;     /* the burst */
	struct rte_mbuf *done; /* it, to be freed when there is time; or NULL */
};

/** What a QP had to say in a pass of the transmit stage. */
struct uroce_polled_qp {
	struct uroce_worker_qp *wqp;
	uint8_t nb;        /* frames */
	uint8_t max;       /* that it might have had */
	bool is_fast_path; /* it was asked for what it owes alone, and nothing was the matter */
};

/** Transmit stage. */
struct uroce_tx {
	struct rte_mbuf *pending[UROCE_PENDING_MAX]; /* complete frames, oldest first */
	/* of each its length if it is RoCE, else 0; and UROCE_TX_TO_GROUP */
	uint16_t roce_len[UROCE_PENDING_MAX];
	unsigned nb_pending;
	atomic_bool is_stalled; /* the port took fewer than offered; read by the service thread */
	uint64_t moved_ns;      /* while it is: when the port last took one, or could have */
	struct rte_mbuf
		*spare[UROCE_BURST + UROCE_TX_QUANTUM];     /* to be built in; the last one first */
	uint8_t *spare_hdr[UROCE_BURST + UROCE_TX_QUANTUM]; /* where a frame begins in each */
	unsigned nb_spare;
	struct uroce_worker_qp *active_head; /* QPs that may have something to send, in turn */
	struct uroce_worker_qp *active_tail;
	/* of all time, for marks (publish.h) */
	uint32_t nb_lined; /* QPs put in line */
	uint32_t nb_asked; /* QPs taken out of it */
	uint32_t nb_left;  /* frames that the port took */
	/* a pass: the QPs that were asked, and what they had to say */
	struct uroce_polled_qp polled[UROCE_BURST];
	struct uroce_txd txd[UROCE_BURST];
};

/** Frames of QPs that are to come here: they wait for them (migration.c). In the order of their arrival. */
struct uroce_migrating {
	unsigned nb;
	uint32_t qpn[UROCE_MIGRATING_MAX];
	struct rte_mbuf *mbuf[UROCE_MIGRATING_MAX];
};

/** A call that another thread wants made; lives on its stack. */
struct uroce_cmd {
	struct uroce_cmd *next;
	struct uroce_worker_qp *about; /* it is run by this one's worker; NULL: by any */
	struct uroce_worker_qp *wqp;   /* to be looked at afterwards; NULL: none */
	bool is_last_look;             /* frames that have arrived are received before */
	int (*call)(void *arg);
	void *arg;
	int ret;
	atomic_bool is_done; /* D1: released by the worker, acquired by the caller */
};

struct uroce_worker {
	/* read-only after creation */
	struct uroce_dev *dev;
	unsigned idx;
	uint16_t queue;    /* of the port, RX and TX */
	bool is_first;     /* it watches the link */
	unsigned lcore_id; /* that drives it for ever; LCORE_ID_ANY: none */
	struct rte_mempool *pool;
	struct uroce_rd_pool *rd_pool;
	struct uroce_reorder_buffer *reorder_buffer;
	struct rte_mempool
		*zero_copy_pool; /* records of lent payload; NULL: all payload is copied */
	struct rte_ring
		*forwarded; /* frames that other workers received for us; NULL: there are none */
	/* written by any thread */
	_Alignas(64) _Atomic(struct uroce_worker_qp *) doorbells;
	_Atomic(struct uroce_cmd *) cmds;
	atomic_bool has_inline_tx; /* a post may try it; written by who drives, and rarely */
	/* the service thread sleeps on it that nobody drives: who does wakes it; set under the lock */
	atomic_bool is_unattended;
	/* written by who drives, read by others */
	_Alignas(64) struct uroce_lock lock;
	_Atomic uint64_t round;
	_Atomic uint64_t app_ns; /* when the application drove last */
	atomic_bool is_stopping; /* a dedicated lcore ends */
	atomic_bool
		is_abandoned; /* who polls another worker drives this one, since its own thread does not */
	unsigned helped; /* the worker that the application looked after last, besides this one */
	/* who drives alone */
	_Alignas(64) uint64_t now_ns; /* of this round */
	uint64_t link_check_ns;       /* when to look at the link next */
	uint64_t lost_check_ns;       /* when to see whether it has to be started again */
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

/** It counts `nb` more. */
static inline void
uroce_worker_count(struct uroce_worker *worker, enum uroce_counter which, uint64_t nb)
{
	uroce_count(&worker->stats.counters.nb[which], nb);
}

/* worker.c */

/** A round of a worker whose lock is held, by one that is not the application. */
unsigned uroce_worker_round(struct uroce_worker *worker);

/** A round begins, of one who holds the lock; the clock is read. */
void uroce_worker_begin_round(struct uroce_worker *worker);

/** And ends: what completed is published. */
void uroce_worker_end_round(struct uroce_worker *worker);

/**
 * Whether an application's thread may transmit. It is never put to sleep by a port: while one that may do
 * that has not taken all it was offered, only the service thread transmits.
 */
bool uroce_worker_may_transmit(const struct uroce_worker *worker);

/** Wait until the worker is not in the round that it may now be in. */
void uroce_worker_wait_round(const struct uroce_worker *worker);

/** The same of all workers but this one, which may be in a round: the first one alone. */
void uroce_worker_wait_for_others(const struct uroce_worker *worker);

/** After any call into a QP: events go out, its timer is filed. */
void uroce_worker_settle(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/** A QP is at an end, for no fault of its own: it goes to ERR, and its program is told. */
void uroce_worker_fail(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/** After a call that may have given the QP something to send: the same, and it is scheduled. */
void uroce_worker_follow_up(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/** The same after requests of the peer, and nothing else: what the QP asks for itself is not looked at. */
void uroce_worker_follow_up_requests(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/** An XRC queue's CQ has this to tell (enum uroce_srq_event). Any thread. */
void uroce_worker_raise_srq_event(struct uroce_dev *dev, const struct uroce_worker_srq *wsrq,
				  uint8_t told);

/** When the worker must be driven at the latest; UROCE_NEVER: when something arrives. */
uint64_t uroce_worker_next_ns(const struct uroce_worker *worker);

/** Whether it has nothing to do before then, unless a frame, a doorbell or a call comes. */
bool uroce_worker_is_at_rest(const struct uroce_worker *worker);

/** @return NULL after one logged line */
struct uroce_worker *uroce_worker_create(struct uroce_dev *dev, unsigned idx);
void uroce_worker_destroy(struct uroce_worker *worker);

/** Let a free lcore drive it for ever. @return 0, or -errno after one logged line */
int uroce_worker_launch(struct uroce_worker *worker, unsigned lcore_id);

/** End that, and wait for the lcore. */
void uroce_worker_stop(struct uroce_worker *worker);

/** Forget a QP: it is in no list any more. Runs as a call of the worker. */
void uroce_worker_forget(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/* rx.c */

/** Act on up to UROCE_BURST frames that other workers received and we own. @return how many */
unsigned uroce_rx_forwarded(struct uroce_worker *worker);

/** Act on the frames that we sent to ourselves. @return how many */
unsigned uroce_rx_loopback(struct uroce_worker *worker);

/** Receive a burst and what comes from this and other workers, and act on it. @return how many frames */
unsigned uroce_rx_run(struct uroce_worker *worker);

/** Free what the last one of these left for later: a frame at most. */
void uroce_rx_free(struct uroce_worker *worker);

/**
 * Act on up to UROCE_BURST frames.
 * @param[out] rest  gets those that are not ours; NULL: they are freed
 */
unsigned uroce_rx_input(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb,
			struct rte_mbuf **rest);

/** Act on up to UROCE_BURST frames that were parked here: they were verified. */
void uroce_rx_migrated(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb);

/* migration.c */

/** Frames of this QP, which lives here, hopped here from that worker. */
void uroce_migrate_count(struct uroce_worker_qp *wqp, struct uroce_worker *worker, unsigned from,
			 unsigned nb);

/** A frame of it arrived here itself: it stays. */
static inline void
uroce_migrate_stay(struct uroce_worker_qp *wqp)
{
	if (likely(wqp->nb_forwarded == 0))
		return;
	wqp->nb_forwarded = 0;
	atomic_store_explicit(&wqp->target_worker, 0, memory_order_relaxed);
}

/** Whether frames of this QP that arrive here are parked: it may come, or those before are. */
bool uroce_migrate_is_expected(const struct uroce_worker *worker, const struct uroce_worker_qp *wqp,
			       uint32_t qpn);

/** Park a frame of an expected QP, and ask for the QP when it is the first. @return whether there was room */
bool uroce_migrate_queue(struct uroce_worker *worker, struct uroce_worker_qp *wqp, uint32_t qpn,
			 struct rte_mbuf *mbuf);

/** Act on what was parked, as far as the QPs have come, or are not to come any more. */
void uroce_migrate_dequeue(struct uroce_worker *worker);

/** Free what is parked. */
void uroce_migrate_drop(struct uroce_worker *worker);

/** Whether an entry of a ring between workers is a question for a QP, instead of a frame. */
static inline bool
uroce_migrate_is_request(const void *entry)
{
	return (uintptr_t)entry & 1;
}

/** Who received the frames before it asks for a QP of ours. */
void uroce_migrate_grant(struct uroce_worker *worker, const void *question);

/** The first call here of a QP that has come; nothing else. */
void uroce_migrate_complete(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/* reorder_mbuf.c */

/**
 * The transport keeps this frame, by its last call. One that is not of the worker's own pool is
 * copied into it, as long as there is room, so that its owner has it back at once.
 * @return whether it is this very mbuf that is kept; else it is the caller's again
 */
bool uroce_reorder_mbuf_keep(struct uroce_worker *worker, struct rte_mbuf *mbuf);

/** Free the frames that the transport does not need any more. */
void uroce_reorder_mbuf_reap(struct uroce_worker *worker);

/* tx.c */

/** Put a QP in line. */
void uroce_tx_schedule(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/** The same for what it owes to its peer; it is asked for that alone, unless there is another reason. */
void uroce_tx_schedule_response(struct uroce_worker *worker, struct uroce_worker_qp *wqp);
void uroce_tx_unschedule(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/** Queue a complete frame; freed when there is no room. */
void uroce_tx_push(struct uroce_worker *worker, struct rte_mbuf *frame);

/** Ask QPs for frames, and give what is pending to the port. @return how many it took, or are looped */
unsigned uroce_tx_run(struct uroce_worker *worker);

/** The same, but the frames go to `frames`. @return how many */
unsigned uroce_tx_take(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned max);

/**
 * Send what is posted to this QP, ahead of everything else that is to be sent, which stays in line: at once,
 * but for what is more than a few frames. Only while no frame waits for the port, and that is there.
 */
void uroce_tx_post(struct uroce_worker *worker, struct uroce_worker_qp *wqp);

/** Whether what is sent now would be lost: the port is not there. */
bool uroce_tx_is_lost(const struct uroce_worker *worker);

/** Free everything that is held. */
void uroce_tx_drop(struct uroce_worker *worker);

/* doorbell.c */

/** Schedule every QP that was rung. @return how many posts that was: 0, 1, or at least 2 */
unsigned uroce_doorbell_take(struct uroce_worker *worker);

/* cmd.c */

/** Make the calls that were asked for. */
void uroce_cmd_take(struct uroce_worker *worker);

#endif /* UROCE_DATAPATH_ROUND_H */
