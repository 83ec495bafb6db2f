/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of doorbells, the try-lock, the service thread's sleep, control calls, grace periods and
 * destruction: which thread accesses a worker or a QP, and when.
 *
 * Each rule names the function of lib/datapath that it models. One step is one access to memory
 * that another thread may see at that moment. Accesses that only the holder of the worker's lock
 * can see are combined with their neighbours. SPIN's memory is sequentially consistent: where the
 * code needs less, doc/design/models.md gives the reason.
 *
 * Proven for all interleavings within the bounds:
 *
 * - Every posted request is handled, and every pending action of a control call is executed,
 *   although all threads may sleep. When nothing can happen any more, nothing is pending (LEAVES).
 *   If the application only stops polling, pending work is done after one timed sleep of the
 *   service thread.
 * - The same holds if the service thread sleeps until a wake-up: by frames, doorbells, calls, or
 *   timers that it knows of (NOTICES).
 * - A worker is in one round at a time, and its lists are accessed under its lock only.
 * - No thread accesses a QP after it was freed.
 * - There is no deadlock: every thread ends.
 *
 * The bounds are given with -D, see run-models; the values here are for manual runs of the model.
 */

#ifndef QPS
#define QPS 1
#endif
#ifndef POSTERS
#define POSTERS 2 /* threads that post; thread i posts to QP i % QPS */
#endif
#ifndef POSTS
#define POSTS 2 /* requests that each thread posts to QP 1; to another QP only one */
#endif
#ifndef SERVICE
#define SERVICE 1 /* 1: there is a service thread (drive=app) */
#endif
#ifndef LCORE
#define LCORE 0 /* 1: an lcore drives for ever (drive=lcore) */
#endif
#ifndef APPS
#define APPS 0 /* threads of the application that poll */
#endif
#ifndef POLLS
#define POLLS 1 /* maximum number of polls of each such thread */
#endif
#ifndef LEAVES
/*
 * 1: an application that stops polling arms its CQ first; a timed sleep of the service thread never
 * ends by time
 */
#define LEAVES 1
#endif
#ifndef INLINE_TX
#define INLINE_TX 0 /* 1: posts may use inline transmit while the application polls */
#endif
#ifndef CALLERS
#define CALLERS 0 /* threads that make a control call for QP 1, which leaves a pending action */
#endif
#ifndef DESTROYS
/* 1: all QPs are destroyed, each by a thread, when no thread posts to them any more */
#define DESTROYS 0
#endif
#ifndef FORWARDS
#define FORWARDS 0 /* 1: rounds of another worker look up QP 1 */
#endif
#ifndef FRAMES
#define FRAMES 0 /* frames that arrive for QP 1 */
#endif

#ifndef NOTICES
#define NOTICES 0 /* 1: the port has RX wake-ups, so the service thread sleeps until one */
#endif
#ifndef RECEIVERS
#define RECEIVERS 0 /* threads that post a receive request to QP 1, which may fail meanwhile */
#endif

#define NOBODY 0 /* no QP: QPs have numbers 1 .. QPS here */

/* --- struct uroce_worker_qp, by QP ---------------------------------------------------------------------- */

byte posted[QPS + 1]; /* requests in the send queue */
byte recvs;           /* requests in the receive queue of QP 1 */
bit is_err;           /* QP 1 is in state ERR */
bit is_rung[QPS + 1];
byte doorbell_next[QPS + 1];
bit is_active[QPS + 1]; /* in the worker's list of senders */
bit is_owed[QPS + 1];   /* a control call has left a pending action */
bit is_freed[QPS + 1];
bit is_published[QPS + 1]; /* the QP is in the table of QP numbers (qpn.c) */
/* threads that still use the QP: the program waits for them before it destroys the QP */
byte nb_posting[QPS + 1];

inline touch(qp)
{
	assert(!is_freed[qp])
}

/* --- struct uroce_worker: the owner of all QPs, and another one -------------------------------------- */

byte doorbells;
byte swap; /* variable of the thread that reverses the list */
bit cmds[CALLERS + QPS + 1]; /* the mailbox of control calls, by caller */
bit is_done[CALLERS + QPS + 1];
/* the QP to remove from the worker's lists; NOBODY: a call that leaves a pending action */
byte cmd_qp[CALLERS + QPS + 1];
bit has_cmds;
bit mine[CALLERS + QPS + 1]; /* calls that the holder of the lock has taken */
bit is_held;   /* a thread holds the worker's lock */
bit is_recent; /* app_ns: the application drove the worker within the last millisecond */
byte round, other_round; /* counters of rounds, modulo 4 */
byte frames = (NOTICES -> 0 : FRAMES); /* frames in the receive queue */
bit is_dev_locked; /* a destroyer holds the device's mutex */
byte in_round; /* number of threads inside one of the owner's rounds, or a call */

/* --- struct uroce_service_thread ------------------------------------------------------------------ */

byte wakes; /* counter of wake-ups, which is too small to wrap */
bit is_asleep, is_stopping;
bit is_waiting; /* the service thread is in the kernel: ppoll() */
bit is_written; /* the eventfd is readable */
/*
 * state of the service thread's sleep: is_unattended belongs to the worker, is_open and is_noticed
 * to the queue
 */
bit is_unattended, is_open, is_noticed;
bit is_listening; /* the service thread waits for frames, too */
bit is_between;   /* the peer has read the mask, and its frame will be visible soon */
bit is_timed;     /* a round of the application has left a timer */
bit has_moved;    /* a round has received a frame */

byte nb_running; /* threads that have not ended, except for the service thread and the lcore */

/* base/lock.h: uroce_lock_try() */
inline try_lock(got)
{
	if
	:: is_held -> got = 0 /* the load */
	:: else -> atomic { got = !is_held; is_held = 1 } /* the exchange */
	fi
}

inline release()
{
	is_held = 0
}

/* service.c: uroce_service_wake() */
inline wake()
{
	wakes++;
	if
	:: is_asleep -> atomic { is_written = 1; is_waiting = 0 } /* eventfd_write() */
	:: else
	fi
}

/* service.c: is_serviced() */
inline wake_if_serviced(seen)
{
	seen = !is_unattended;
	if
	:: seen -> seen = is_recent
	:: else
	fi;
	if
	:: !seen -> wake()
	:: else
	fi
}

/* service.c: uroce_service_wake_for_doorbell() */
inline wake_for_doorbell(seen)
{
	if
	:: SERVICE ->
		if
		:: is_asleep -> wake_if_serviced(seen)
		:: else
		fi
	:: else
	fi
}

/* service.c: uroce_service_wake_for_work() */
inline wake_for_work(seen)
{
	if
	:: SERVICE -> wake_if_serviced(seen)
	:: else
	fi
}

/* worker.c: wake_service() */
inline attend()
{
	if
	:: is_unattended -> is_unattended = 0; wake()
	:: else
	fi
}

/* doorbell.c: uroce_doorbell_take(), reverse_list(); tx.c: uroce_tx_schedule() */
inline take_doorbells(list, next)
{
	if
	:: doorbells == NOBODY
	:: else ->
		atomic { list = doorbells; doorbells = NOBODY };
		/* the list is reversed, which no other thread sees; but the QPs must exist */
		atomic {
			next = NOBODY;
			do
			:: list == NOBODY -> break
			:: else ->
				touch(list);
				swap = doorbell_next[list];
				doorbell_next[list] = next;
				next = list;
				list = swap
			od;
			list = next;
			next = NOBODY;
			swap = NOBODY
		};
		do
		:: list == NOBODY -> break
		:: else ->
			touch(list);
			next = doorbell_next[list];
			atomic { touch(list); is_rung[list] = 0; is_active[list] = 1 };
			list = next
		od
	fi
}

/* worker.c: uroce_worker_forget() */
inline forget(qp, list, next)
{
	take_doorbells(list, next);
	atomic { touch(qp); is_active[qp] = 0; is_owed[qp] = 0 }
}

/* cmd.c: uroce_cmd_take(). The calls are executed one after another, in any order. */
inline take_cmds(i, list, next)
{
	if
	:: !has_cmds
	:: else ->
		atomic {
			has_cmds = 0;
			i = 0;
			do
			:: i == CALLERS + QPS + 1 -> break
			:: else -> mine[i] = cmds[i]; cmds[i] = 0; i++
			od;
			i = 0
		};
		do
		:: i == CALLERS + QPS + 1 -> i = 0; break
		:: i < CALLERS + QPS + 1 && !mine[i] -> i++
		:: i < CALLERS + QPS + 1 && mine[i] ->
			if
			:: cmd_qp[i] != NOBODY -> forget(cmd_qp[i], list, next)
			:: else -> atomic { touch(1); is_active[1] = 1; is_owed[1] = 1 } /* uroce_worker_follow_up() */
			fi;
			atomic { mine[i] = 0; is_done[i] = 1 }
		od
	fi
}

/* worker.c: run_round(); rx.c; tx.c. The requests of a send queue are handled. */
inline run_round(i, list, next)
{
	atomic {
		assert(in_round == 0);
		in_round++;
		round = (round + 1) % 4 /* G1: uroce_worker_begin_round() */
	};
	if
	:: NOTICES -> is_noticed = 0 /* the driver clears the wake-up, then polls */
	:: else
	fi;
	if
	:: !NOTICES || frames == 0
	/* a frame: its QP is looked up and receives the frame, and may have to respond */
	:: frames > 0 ->
		atomic { frames--; has_moved = 1 };
		if
		:: is_published[1] -> list = 1
		:: else
		fi;
		if
		:: list != NOBODY -> atomic { touch(list); is_active[list] = 1; list = NOBODY }
		:: else
		fi
	fi;
	if
	:: true
	:: RECEIVERS && !is_err -> /* error.c: uroce_error_enter() */
		is_err = 1;
		recvs = 0 /* uroce_completion_flush() */
	fi;
	take_cmds(i, list, next);
	take_doorbells(list, next);
	i = 1;
	do
	:: i > QPS -> i = 0; break
	:: i <= QPS && is_active[i] -> 
		atomic {
			touch(i);
			posted[i] = 0;
			is_owed[i] = 0;
			is_active[i] = 0;
			if
			:: i == 1 && is_err -> recvs = 0
			:: else
			fi;
			i++
		}
	:: i <= QPS && !is_active[i] -> i++
	od;
	atomic {
		in_round--;
		round = (round + 1) % 4 /* G2: uroce_worker_end_round() */
	}
}

#define is_all_taken \
	(posted[1] == 0 && posted[QPS] == 0 && !is_owed[1] && !is_owed[QPS] && !(is_err && recvs) && \
	 !(NOTICES && (frames || is_timed)))

/* doorbell.c: uroce_worker_ring_doorbell(), push_doorbell() */
inline ring(qp, head, was, seen)
{
	atomic { touch(qp); was = is_rung[qp]; is_rung[qp] = 1 };
	if
	:: was
	:: else ->
		head = doorbells;
		do
		:: true ->
			atomic { touch(qp); doorbell_next[qp] = head };
			if
			:: atomic { doorbells == head -> doorbells = qp }; break
			:: atomic { doorbells != head -> head = doorbells }
			fi
		od;
		head = NOBODY;
		wake_for_doorbell(seen)
	fi;
	was = 0;
	seen = 0
}

/* inline_tx.c: uroce_worker_send(). It takes no doorbells, and does not count as driving. */
inline send_straight(qp, is_sent)
{
	atomic {
		assert(in_round == 0);
		in_round++;
		round = (round + 1) % 4 /* G1 */
	};
	if
	:: atomic { doorbells == NOBODY && is_recent -> touch(qp); posted[qp] = 0; is_sent = 1 }
	:: else
	fi;
	atomic {
		in_round--;
		round = (round + 1) % 4 /* G2 */
	};
	release()
}

/* verbs/post.c: uroce_post_send() */
proctype Poster(byte qp)
{
	byte n, head;
	bit was, seen, got, is_sent;

	do
	:: n == (qp == 1 -> POSTS : 1) -> break
	:: else ->
		atomic { touch(qp); posted[qp]++; n++ }; /* R1 */
		if
		:: INLINE_TX -> try_lock(got)
		:: else
		fi;
		if
		:: got -> send_straight(qp, is_sent)
		:: else
		fi;
		got = 0;
		if
		:: is_sent -> is_sent = 0
		:: else -> ring(qp, head, was, seen)
		fi
	od;
	atomic { nb_posting[qp]--; nb_running-- }
}

/* verbs/post.c: uroce_post_recv() */
proctype Receiver()
{
	byte head;
	bit was, seen;

	atomic { touch(1); recvs++ }; /* R1 */
	if
	:: is_err -> ring(1, head, was, seen)
	:: else
	fi;
	atomic { nb_posting[1]--; nb_running-- }
}

/* cmd.c: uroce_worker_call(), try_cmds_here() */
inline call(me, i, list, next, got, seen)
{
	atomic { cmds[me] = 1; has_cmds = 1 };
	do
	:: true ->
		try_lock(got);
		if
		:: got ->
			atomic { assert(in_round == 0); in_round++ };
			take_cmds(i, list, next);
			in_round--;
			release()
		:: else
		fi;
		got = 0;
		if
		:: is_done[me] -> break
		:: else -> is_done[me] || !is_held /* the caller spins */
		fi
	od;
	wake_for_work(seen);
	seen = 0
}

/* verbs/qp.c: uroce_modify_qp() */
proctype Caller(byte me)
{
	byte i, list, next;
	bit got, seen;

	call(me, i, list, next, got, seen);
	atomic { nb_posting[1]--; nb_running-- }
}

/* worker.c: uroce_worker_wait_round() */
inline wait_round(which, now)
{
	now = which;
	if
	:: now % 2 == 0
	:: else -> which != now
	fi;
	now = 0
}

/* dev.c: uroce_dev_remove_qp(), uroce_dev_grace(); verbs/qp.c: uroce_destroy_qp() */
proctype Destroyer(byte qp; byte me)
{
	byte i, list, next, now;
	bit got, seen;

	nb_posting[qp] == 0;
	atomic { !is_dev_locked -> is_dev_locked = 1 };
	is_published[qp] = 0;
	call(me, i, list, next, got, seen);
	is_dev_locked = 0;
	wait_round(round, now);
	wait_round(other_round, now);
	atomic {
		posted[qp] = 0; /* the requests are flushed; no completion is needed */
		is_freed[qp] = 1;
		nb_running--
	}
}

/* verbs/post.c: uroce_poll_cq(); worker.c: uroce_worker_poll(), uroce_worker_leave() */
proctype App()
{
	byte n, i, list, next;
	bit got;

	do
	:: n < POLLS ->
		n++;
		try_lock(got);
		if
		:: got ->
			attend();
			run_round(i, list, next);
			if
			:: NOTICES -> is_timed = 1
			:: true
			fi;
			is_recent = 1;
			release()
		:: else -> is_recent = 1
		fi;
		got = 0
	:: n > 0 -> break
	od;
	if
	:: LEAVES && SERVICE -> is_recent = 0; wake()
	:: else
	fi;
	nb_running--
}

/* The rounds of another worker: worker.c, rx.c */
proctype Other()
{
	byte qp;

	do
	:: nb_running > 0 ->
		other_round = (other_round + 1) % 4; /* G1 */
		if
		:: is_published[1] -> qp = 1
		:: else
		fi;
		if
		:: qp != NOBODY -> touch(qp)
		:: else
		fi;
		qp = NOBODY;
		other_round = (other_round + 1) % 4 /* G2 */
	:: nb_running == 0 -> break
	od
}

/*
 * The port's peer: sends a frame and its wake-up. The driver may read the mask before the frame is
 * visible.
 */
proctype Peer()
{
	byte n;
	bit is_seen;

	do
	:: n == FRAMES -> break
	:: else ->
		n++;
		atomic { is_seen = is_open; is_between = 1 };
		frames++;
		if
		:: true
		:: is_seen = is_open
		fi;
		atomic {
			is_between = 0;
			if
			:: is_seen ->
				is_noticed = 1;
				if
				:: is_listening -> is_waiting = 0
				:: else
				fi
			:: else
			fi;
			is_seen = 0
		}
	od;
	nb_running--
}

/* service.c: disarm_wakeup() */
inline end_sleep()
{
	is_unattended = 0;
	is_open = 0;
	is_ready = 0
}

/*
 * service.c: arm_wakeup_and_sleep(), and the timed sleep after it, in which a frame becomes visible
 */
inline sleep_until_wakeup(got)
{
	try_lock(got);
	if
	:: got ->
		is_unattended = 1;
		is_open = 1;
		is_ready = 1;
		release();
		!is_between
	:: else
	fi;
	got = 0
}

/*
 * service.c: wait_for_fds(), has_doorbells(). Frames and timers end a sleep; time ends a timed
 * sleep.
 */
inline wait_for(is_sleep)
{
	is_asleep = 1;
	if
	:: doorbells != NOBODY && (is_unattended || !is_recent)
	:: else ->
		if
		:: is_stopping || wakes != before
		:: else ->
			atomic {
				is_listening = is_sleep;
				is_waiting = !is_written && !(is_sleep && is_noticed)
			};
			if
			:: !is_waiting
			:: is_sleep && knows_timer && timeout -> atomic { is_waiting = 0; is_late = 1 }
			:: !is_sleep && (!LEAVES || NOTICES) && timeout -> atomic { is_waiting = 0; is_late = !is_recent }
			fi;
			atomic { is_listening = 0; is_written = 0 }
		fi
	fi;
	is_asleep = 0
}

/* service.c: run_service(), check_worker() */
proctype Service()
{
	byte before, last, i, list, next;
	bit got, is_late, is_quiet, is_ready, knows_timer;

	do
	:: is_stopping -> break
	:: else ->
		before = wakes;
		/* check_workers(), is_app_driven() */
		if
		:: is_recent
		:: else ->
			try_lock(got);
			if
			:: got ->
				has_moved = 0;
				run_round(i, list, next);
				atomic {
					/* timers have expired meanwhile */
					is_timed = is_timed && !is_late;
					knows_timer = is_timed;
					is_quiet = !is_recent && !has_moved && NOTICES;
					has_moved = 0
				};
				assert(!is_late || is_all_taken || frames);
				release()
			:: else
			fi;
			got = 0
		fi;
		is_late = 0;
		if
		:: NOTICES && before != last -> last = before; end_sleep()
		:: else ->
			if
			:: is_quiet && is_ready -> is_ready = 0; wait_for(1)
			:: is_quiet && !is_ready -> sleep_until_wakeup(got)
			:: !is_ready || !is_quiet ->
				if
				:: NOTICES -> end_sleep()
				:: else
				fi;
				wait_for(0)
			fi
		fi;
		before = 0;
		is_quiet = 0
	od
}

/* worker.c: drive_for_ever() */
proctype Lcore()
{
	byte i, list, next;
	bit got;

	do
	:: true ->
		try_lock(got);
		if
		:: got -> break
		:: else -> !is_held
		fi
	od;
	do
	:: is_stopping -> break
	:: else -> run_round(i, list, next)
	od;
	release()
}

/* A millisecond passes without a poll. */
proctype Clock()
{
	do
	:: timeout && is_recent -> is_recent = 0
	:: is_stopping -> break
	od
}

init
{
	byte i = 1;

	atomic {
		do
		:: i > QPS -> break
		:: else -> is_published[i] = 1; i++
		od;
		i = 0;
		do
		:: i == POSTERS -> break
		:: else -> nb_posting[i % QPS + 1]++; nb_running++; run Poster(i % QPS + 1); i++
		od;
		i = 0;
		do
		:: i == RECEIVERS -> break
		:: else -> nb_posting[1]++; nb_running++; run Receiver(); i++
		od;
		i = 0;
		do
		:: i == CALLERS -> break
		:: else -> nb_posting[1]++; nb_running++; run Caller(i); i++
		od;
		i = 0;
		do
		:: i == QPS || !DESTROYS -> break
		:: else ->
			cmd_qp[CALLERS + i] = i + 1;
			nb_running++;
			run Destroyer(i + 1, CALLERS + i);
			i++
		od;
		i = 0;
		do
		:: i == APPS -> break
		:: else -> nb_running++; run App(); i++
		od;
		if
		:: NOTICES -> nb_running++; run Peer()
		:: else
		fi;
		if
		:: FORWARDS -> run Other()
		:: else
		fi;
		if
		:: SERVICE -> run Service()
		:: else
		fi;
		if
		:: LCORE -> run Lcore()
		:: else
		fi;
		if
		:: !LEAVES -> run Clock()
		:: else
		fi;
		i = 0
	};
	/*
	 * When nothing happens any more, nothing is pending. Then the device is destroyed:
	 * service.c
	 */
	if
	:: LEAVES && !LCORE && !NOTICES -> timeout
	:: else -> is_all_taken && nb_running == 0
	fi;
	assert(nb_running == 0);
	assert(is_all_taken);
	is_stopping = 1;
	if
	:: SERVICE -> wake()
	:: else
	fi
}
