/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC: a requester, a responder, and a network that loses, repeats and reorders without limit.
 *
 * Each rule names the function of lib/transport that it stands for. An event (a packet arrives, one
 * is sent, a timer runs out) is one step, as it is one call into a context that one thread owns. There
 * is no clock: a timer that runs may run out when nothing else can happen any more, and HASTY times
 * long before; what the code decides by looking at the time is decided freely (`is_soon`, `is_late`).
 *
 * A packet carries its place in the stream, 0 .. PKTS - 1, as its payload; both ends know it by its
 * PSN only, which lives on a circle of PSNS numbers and wraps. Where a rule compares PSNs, the model
 * does that on the circle. The network forgets packets that are older than half of it, as it must
 * where PSNs have 24 bits. Responses to what is acknowledged are taken out of it, and requests that
 * were executed are counted there as echoes: they are all answered in the same way.
 *
 * Proven, for all orders of events, within the bounds:
 *  - each payload lands once, at its own place, while its message is the one being received, and a
 *    message ends after all of it has landed: delivered exactly once, in order, no flag before its data;
 *  - what the requester takes for acknowledged was executed; windows hold;
 *  - the QP does not give up: RETRIES covers the faults;
 *  - nothing gets stuck (no invalid end), and nothing goes round for ever (no cycle): everything posted
 *    completes.
 *
 * The bounds are given with -D, see run-models; the values here are for looking at the model by hand.
 */

#ifndef REQ_GBN
#define REQ_GBN 0 /* the requester goes back N, always: conf.is_req_gbn */
#endif
#ifndef RESP_GBN
#define RESP_GBN 0 /* the responder drops what is ahead of a hole: conf.is_resp_gbn */
#endif
#ifndef LOSSES
#define LOSSES 1 /* packets that the network may lose, of both directions */
#endif
#ifndef DUPS
#define DUPS 0 /* packets that it may repeat */
#endif
#ifndef HASTY
#define HASTY 0 /* timers that run out although something is still under way */
#endif
#ifndef RNRS
#define RNRS 0 /* times that no receive request is posted */
#endif
#ifndef FULLS
#define FULLS 0 /* packets that the pool of transport/reorder_buffer.c has no room for */
#endif
#ifndef RETRIES
#define RETRIES (LOSSES + FULLS + HASTY + RESP_GBN) /* retry_cnt: with one less, it gives up */
#endif

#ifdef TRACK /* so that the inside of a step is seen in the list of what was never reached */
#define d_step atomic
#endif

#define WRITE  0
#define SEND   1
#define ATOMIC 2 /* one packet, answered by data; with REQ_GBN only: ooo_response.c is not modelled */

/* Three messages, [0, M1) [M1, M2) [M2, PKTS). */
#ifndef PKTS
#define M1    4
#define M2    5
#define PKTS  6
#define KIND1 WRITE
#define KIND2 WRITE
#define KIND3 SEND
#endif

/* The circle: it wraps after three packets. A window is less than half of it. */
#define PSNS      8
#define PSN_FIRST 5
#define WINDOW    3

/* Scaled down like the window: packets between two that ask, repairs in a row, holes of a round trip. */
#define ACK_EVERY    2
#define ADJACENT_MAX 2
#define HOLES_MANY   2

#define psn(at)      ((PSN_FIRST + (at)) % PSNS)
#define dist(a, b)   ((psn(b) - psn(a) + PSNS) % PSNS) /* uroce_psn_dist() */
#define before(a, b) (dist(b, a) >= PSNS / 2)          /* uroce_psn_before() */

#define begin_of(at) ((at) < M1 -> 0 : ((at) < M2 -> M1 : M2))
#define end_of(at)   ((at) < M1 -> M1 : ((at) < M2 -> M2 : PKTS))
#define kind_of(at)  ((at) < M1 -> KIND1 : ((at) < M2 -> KIND2 : KIND3))
#define is_first(at) ((at) == 0 || (at) == M1 || (at) == M2 || (at) == PKTS)
#define is_last(at)  ((at) + 1 == M1 || (at) + 1 == M2 || (at) + 1 == PKTS)

/* --- the network ------------------------------------------------------------------------------- */

/*
 * A bag for each kind of packet: two bits count how many equal ones are under way. A packet may
 * leave a bag at any time, so any order is possible. What becomes of it is settled when it is sent.
 */
#define nb(bag, i)   (((bag) >> (2 * (i))) & 3)
#define take(bag, i) bag = bag - (1 << (2 * (i)))

int requests; /* 2 * place + whether it asks for an ACK */
byte echoes;  /* requests that were executed: all the same, they are answered by an ACK */
short acks;   /* by the place that they acknowledge */
short naks;   /* by the place that is missing */
short rnrs;   /* by the place that was refused */
short data;   /* answers of atomics, by place */

byte losses = LOSSES, dups = DUPS, hasty = HASTY, refusals = RNRS, fulls = FULLS;

#define is_network_empty (!requests && !echoes && !acks && !naks && !rnrs && !data)

#define ECHOES 2 /* that are counted */

#define LOST  0
#define ONCE  1
#define TWICE 2
byte fate;

inline choose_fate()
{
	if
	:: fate = ONCE
	:: losses > 0 -> fate = LOST; losses--
	:: dups > 0 -> fate = TWICE; dups--
	fi
}

/* More than three of the same are no different from three. */
inline emit(bag, i)
{
	if
	:: fate != LOST && nb(bag, i) < 3 -> bag = bag + (1 << (2 * (i)))
	:: else
	fi;
	if
	:: fate == TWICE && nb(bag, i) < 3 -> bag = bag + (1 << (2 * (i)))
	:: else
	fi;
	fate = LOST
}

/* A request is sent. */
inline emit_request(at, is_asking)
{
	printf("%d >            asks %d, copies %d\n", at, is_asking, fate);
	if
	:: (at) < epsn && kind_of(at) != ATOMIC ->
		echoes = (echoes + fate > ECHOES -> ECHOES : echoes + fate);
		fate = LOST
	:: else -> emit(requests, 2 * (at) + is_asking)
	fi
}

/* A request was executed: what is under way of the same is an echo. */
inline make_echoes(at)
{
	if
	:: kind_of(at) != ATOMIC ->
		echoes = echoes + nb(requests, 2 * (at)) + nb(requests, 2 * (at) + 1);
		echoes = (echoes > ECHOES -> ECHOES : echoes);
		requests = requests & ~(15 << 4 * (at))
	:: else
	fi
}

byte pick;

#define at_(bag, i) :: nb(bag, i) -> pick = i
#define any_of_8(bag) \
	at_(bag, 0) at_(bag, 1) at_(bag, 2) at_(bag, 3) at_(bag, 4) at_(bag, 5) at_(bag, 6)
#define any_of_16(bag) \
	any_of_8(bag) at_(bag, 7) at_(bag, 8) at_(bag, 9) at_(bag, 10) at_(bag, 11) at_(bag, 12) \
	at_(bag, 13)

/* --- what the responder knows: struct uroce_resp --------------------------------------------------- */

#define NONE 0
#define ACK  1
#define NAK  2
#define RNR  3

byte epsn;
byte aeth;     /* what is owed: has_aeth, syndrome */
byte aeth_at;  /* aeth_psn of a NAK */
byte known;    /* resp.gap: a bit for each place ahead of the hole that is here */
byte held;     /* those of them that are held as frames: the others were placed */
byte asking;   /* those of these that ask for an ACK */
byte answers;  /* atomics to be answered: a bit for each place */
bit is_nak_sent, is_rnr_sent;
bit is_nak_due; /* nak_deadline is set */
bit has_dropped;
byte dropped;   /* dropped_psn */

byte landed;   /* the oracle's: a bit for each payload in memory */
byte answered; /* and for each atomic whose answer arrived */

bit has_room;   /* the pool has */
bit has_recv;   /* a receive request is posted */
bit is_late;    /* the hole is reported by now: reorder_window.h */

/* --- the requester: requester.c, response.c, loss_recovery.c ------------------------------------------------------ */

#define UNKNOWN 0
#define HOLDS   1
#define DROPS   2

byte una, next, max; /* una_psn, next_psn, max_psn */
byte posted;         /* end of what the program has posted */
byte since;          /* since_ack_req */
byte retry_left = RETRIES;

/* struct uroce_loss_recovery */
byte hole, repaired_max, round, again;
byte peer, nb_adjacent, nb_holes;
bit due_first, due_last, due_behind; /* enum uroce_recovery_due */
bit has_doubt, is_lossy;

/* enum uroce_recovery_state. PROBE and LOSS_PROBE are not modelled: they decide when the next probe comes. */
#define OPEN           0
#define FAST_RETX      1
#define RNR_WAIT       2
#define LOSS           3
#define LOSS_FAST_RETX 4
byte state = OPEN;

#define is_fast_retx (state == FAST_RETX || state == LOSS_FAST_RETX)
#define is_loss      (state == LOSS || state == LOSS_FAST_RETX)

/* recovery_state.c: the columns of its table, each with the states that it leads on from */
#define on_gap      state = (is_loss -> LOSS_FAST_RETX : FAST_RETX)
#define on_rewound  state = (state == FAST_RETX -> OPEN : (is_loss -> LOSS : state))
#define on_closed   on_rewound
#define on_progress state = (is_fast_retx -> FAST_RETX : OPEN)

bit is_soon; /* an answer came sooner than a round trip after the repair */

hidden byte until_at, dst;
hidden byte ok, was, asks, is_told, is_done;

/* loss_recovery.c: is_retransmittable() */
#define is_repairable \
	(!REQ_GBN && next == max && una != max && state != RNR_WAIT && kind_of(una) != ATOMIC)

/* requester.c: next_request() */
#define has_next (next < posted && dist(una, next) < WINDOW)

#define may_send (state != RNR_WAIT && (due_first || due_last || due_behind || has_next))

/* req.c: wants_ack(), but for its counting */
#define must_ask(at) (dist(una, at) + 1 >= WINDOW || (is_last(at) && (at) + 1 == posted))

/* recovery_state.c: uroce_recovery_rewound(). What is not looked at while its flag is clear is zero. */
inline close_repair()
{
	on_rewound;
	due_first = 0; due_last = 0; due_behind = 0;
	has_doubt = 0; is_lossy = 0; nb_holes = 0;
	hole = 0; repaired_max = 0; round = 0;
	again = una
}

/* retry.c: uroce_retry_rewind() */
inline rewind()
{
	close_repair();
	next = una;
	since = 0
}

/* retry.c: use_retry() */
inline retry()
{
	printf("  a retry, %d left\n", retry_left);
	assert(retry_left > 0); /* the QP gave up */
	retry_left--;
	rewind()
}

/* loss_recovery.c: uroce_loss_recovery_lose(); retry.c: uroce_retry_carry_out() */
inline go_back()
{
	if
	:: !is_loss && state != RNR_WAIT -> state = LOSS; rewind()
	:: else
	fi
}

/* Responses to what is acknowledged would be ghosts: they need not be kept. */
inline bury_ghosts()
{
	acks = acks & ~((1 << 2 * una) - 1);
	naks = naks & ~((1 << 2 * una) - 1);
	rnrs = rnrs & ~((1 << 2 * una) - 1);
	data = data & ~((1 << 2 * una) - 1)
}

/* retry.c: uroce_retry_progress(); loss_recovery.c: uroce_loss_recovery_on_spurious(), uroce_loss_recovery_progress() */
inline progress()
{
	retry_left = RETRIES;
	if
	:: before(next, una) ->
		if
		:: is_loss && peer == DROPS -> peer = HOLDS
		:: else
		fi;
		rewind()
	:: else
	fi;
	on_progress;
	due_last = 0;
	if
	:: before(again, una) -> again = una
	:: else
	fi;
	bury_ghosts()
}

/* completer.c: uroce_completer_advance(): acknowledge everything before `until_at`. `ok`: no atomic is in the way */
inline advance()
{
	was = 0;
	ok = 1;
	do
	:: una == until_at -> break
	:: else ->
		if
		:: kind_of(una) == ATOMIC -> ok = 0; break
		:: else -> una++; was = 1
		fi
	od;
	assert(una <= epsn); /* what is acknowledged was executed */
	if
	:: was -> progress()
	:: else
	fi
}

/* loss_recovery.c: open_gap() */
inline open_hole()
{
	if
	:: !nb_holes || !before(una, round) ->
		is_lossy = nb_holes >= HOLES_MANY;
		nb_holes = 0;
		round = max
	:: else
	fi;
	if
	:: nb_holes < HOLES_MANY -> nb_holes++
	:: else
	fi;
	due_behind = due_behind || (peer == HOLDS && (is_lossy || nb_holes >= HOLES_MANY));
	on_gap;
	due_first = 1;
	hole = una
}

/* loss_recovery.c: is_go_back_n_peer(). `ok`: go back N */
inline doubt_peer()
{
	if
	:: peer == HOLDS && nb_adjacent + 1 < ADJACENT_MAX -> nb_adjacent++; ok = 0
	:: else ->
		nb_adjacent = 0;
		peer = (peer == HOLDS -> UNKNOWN : DROPS);
		ok = 1
	fi
}

/* loss_recovery.c: respond(). `ok`: its result */
inline respond(is_nak)
{
	if
	:: !is_repairable || (is_nak && peer == DROPS) -> ok = 0
	/* no news of the hole; or the peer has seen what followed the repair */
	:: is_repairable && !(is_nak && peer == DROPS) && is_fast_retx &&
	   (hole == una || (!due_first && dist(hole, una) == 1 && !is_nak && repaired_max != max)) ->
		ok = 1
	:: else ->
		was = is_nak; /* is_hole */
		ok = 0;
		if
		:: is_fast_retx && !due_first ->
			if
			:: dist(hole, una) > 1 -> peer = HOLDS; nb_adjacent = 0
			:: else ->
				if
				:: !is_soon || has_doubt -> doubt_peer()
				:: else
				fi
			fi;
			if
			:: !ok ->
				has_doubt = dist(hole, una) == 1 && is_soon;
				was = is_nak || (!is_soon && repaired_max == max && una != max)
			:: else
			fi
		:: else
		fi;
		if
		:: ok -> ok = 0
		:: else ->
			on_closed; due_first = 0; hole = 0; repaired_max = 0;
			if
			:: was -> open_hole()
			:: else
			fi;
			ok = 1
		fi
	fi
}

/* loss_recovery.c: fall_back() */
inline fall_back()
{
	if
	:: peer != HOLDS && is_repairable -> state = LOSS; rewind()
	:: else
	fi;
	on_closed; due_first = 0; hole = 0; repaired_max = 0
}

/* response.c: uroce_response_recv(): a response to nothing in flight is a ghost. The network's own oldest die. */
#define is_ghost(at)  (dist(una, at) >= dist(una, max))
#define is_aged(at)   (una > (at) + PSNS / 2)

/* response.c: take_ack() */
inline recv_ack()
{
	printf("      < ACK %d\n", pick);
	take(acks, pick);
	if
	:: is_aged(pick) || is_ghost(pick)
	:: else ->
		until_at = una + dist(una, pick) + 1;
		advance();
		if
		:: !ok -> go_back()
		:: else ->
			if
			:: is_fast_retx ->
				respond(0);
				if
				:: !ok -> fall_back()
				:: else
				fi
			:: else
			fi
		fi
	fi;
	pick = 0;
	is_soon = 0
}

/* response.c: take_ack(), take_nak() */
inline recv_nak()
{
	printf("      < NAK %d\n", pick);
	take(naks, pick);
	if
	:: is_aged(pick) || is_ghost(pick)
	:: else ->
		until_at = una + dist(una, pick);
		advance();
		if
		:: !ok -> go_back()
		:: else ->
			respond(1);
			if
			:: !ok -> go_back()
			:: else
			fi
		fi
	fi;
	pick = 0;
	is_soon = 0
}

/* response.c: take_ack(), take_rnr_nak(); rnr_retry is 7, without limit */
inline recv_rnr()
{
	printf("      < RNR %d\n", pick);
	take(rnrs, pick);
	if
	:: is_aged(pick) || is_ghost(pick)
	:: else ->
		until_at = una + dist(una, pick);
		advance();
		if
		:: !ok -> go_back()
		:: ok && state != RNR_WAIT ->
			state = RNR_WAIT;
			rewind()
		:: else
		fi
	fi;
	pick = 0
}

/* response.c: take_data_response(); completer.c: take_atomic_response() */
inline recv_data()
{
	printf("      < answer %d\n", pick);
	take(data, pick);
	if
	:: is_aged(pick) || is_ghost(pick)
	:: else ->
		until_at = una + dist(una, pick);
		advance();
		if
		:: !ok -> go_back()
		:: else ->
			assert(kind_of(una) == ATOMIC && una < epsn);
			answered = answered | (1 << una);
			una++;
			progress()
		fi
	fi;
	pick = 0
}

/* retransmit.c: uroce_retransmit_put(): req.c: wants_ack() with its counter put aside */
inline put_again(at, is_asking)
{
	asks = is_asking || must_ask(at);
	emit_request(at, asks)
}

/* loss_recovery.c: uroce_loss_recovery_next(), last_psn() */
inline put_repair()
{
	ok = is_repairable;
	if
	:: !ok -> due_first = 0; due_last = 0
	:: ok && due_first ->
		due_first = 0;
		repaired_max = (is_fast_retx -> max : 0);
		put_again(una, 1)
	:: else ->
		due_last = 0;
		dst = (kind_of(max - 1) == ATOMIC -> una : max - 1);
		put_again(dst, 1)
	fi
}

/* requester.c: put_request(); req.c: put_data(), put_atomic(), wants_ack() */
inline put_next()
{
	if
	:: kind_of(next) == ATOMIC -> asks = 0; since = 0
	:: else ->
		asks = must_ask(next) || since + 1 >= ACK_EVERY;
		since = (asks -> 0 : since + 1)
	fi;
	emit_request(next, asks);
	next++;
	if
	:: before(max, next) -> max = next
	:: else
	fi
}

/* loss_recovery.c: uroce_loss_recovery_next_spare() */
inline put_spare()
{
	ok = 0;
	do
	:: !due_behind || ok -> break
	:: else ->
		if
		:: !before(una, again) -> again = una + 1
		:: else
		fi;
		if
		:: !is_repairable || !before(again, max) -> due_behind = 0
		:: else ->
			again++;
			ok = kind_of(again - 1) != ATOMIC;
			if
			:: ok -> put_again(again - 1, psn(again - 1) % 4 == 0 || again == max)
			:: else
			fi
		fi
	od
}

/* Nothing happens any more, unless a timer runs out, or the program posts. */
#define is_quiet (is_network_empty && !aeth && !answers && !is_nak_due && !may_send)

#define is_over (una == PKTS && is_quiet)

active proctype Requester()
{
	do
	:: d_step { posted < PKTS -> posted = end_of(posted) }
	/* requester.c: uroce_requester_send() */
	:: atomic {
		may_send ->
		choose_fate();
		d_step {
			ok = 0;
			if
			:: due_first || due_last -> put_repair()
			:: else
			fi;
			if
			:: !ok && has_next -> put_next()
			:: !ok && !has_next -> put_spare()
			:: else
			fi;
			/* nothing was built after all */
			if
			:: fate == LOST
			:: fate == ONCE -> fate = LOST
			:: fate == TWICE -> fate = LOST; dups++
			fi;
			assert(dist(una, max) <= WINDOW && una <= next && next <= max)
		}
	   }
	:: atomic {
		if any_of_8(acks) fi;
		if
		:: is_soon = 0
		:: is_fast_retx && !due_first -> is_soon = 1
		fi;
		d_step { recv_ack() }
	   }
	:: atomic {
		if any_of_8(naks) fi;
		if
		:: is_soon = 0
		:: is_fast_retx && !due_first -> is_soon = 1
		fi;
		d_step { recv_nak() }
	   }
	:: atomic { if any_of_8(rnrs) fi; d_step { recv_rnr() } }
	:: atomic { if any_of_8(data) fi; d_step { recv_data() } }
	/* loss_recovery.c: uroce_loss_recovery_expire() */
	:: d_step {
		is_repairable && !due_first && !due_last && (is_quiet || hasty > 0) ->
		if
		:: !is_quiet -> hasty--
		:: else
		fi;
		printf("  probe\n");
		due_first = 1;
		due_last = dist(una, max) > 1
	   }
	/* retry.c: uroce_retry_expire(), the ACK timeout; with nothing on the wire it costs nothing */
	:: d_step {
		una != max && state != RNR_WAIT && (is_quiet || (hasty > 0 && una != next)) ->
		if
		:: !is_quiet -> hasty--
		:: else
		fi;
		printf("  ACK timeout\n");
		state = OPEN;
		retry()
	   }
	/* retry.c: uroce_retry_expire(), the RNR timer */
	:: d_step { state == RNR_WAIT -> state = OPEN }
	:: is_over -> break
	od;
	assert(kind_of(M1) != ATOMIC || answered == (1 << M1))
}

/* --- the responder: resp.c, ooo_request.c, reorder_buffer.c, msg.c ------------------------------------------------ */

#define has_landed(from, to) ((landed & ((2 << (to)) - (1 << (from)))) == (2 << (to)) - (1 << (from)))

/* The payload `at` is put where `to` belongs. */
inline land(to, at)
{
	assert(to == at);
	assert(!(landed & (1 << (to))));
	assert(begin_of(to) <= epsn && epsn <= (to)); /* while its message is being received, */
	assert((to) == epsn || begin_of(to) < epsn);  /* whose first packet said where to, */
	landed = landed | (1 << (to));
	assert(!is_last(to) || has_landed(begin_of(to), to)) /* and its last packet after all others */
}

/* ooo_request.c: uroce_ooo_request_discard(); reorder_buffer.c: uroce_reorder_buffer_free_gap(). What was placed may be placed again. */
inline discard()
{
	landed = landed & ~(known & ~held);
	known = 0;
	held = 0;
	is_nak_due = 0
}

/* resp.c: uroce_resp_schedule_ack() */
inline owe_ack()
{
	if
	:: aeth == NONE -> aeth = ACK
	:: else
	fi
}

/* resp.c: uroce_resp_schedule_nak() */
inline owe_nak(which)
{
	aeth = which;
	aeth_at = epsn;
	is_nak_sent = 1
}

/* resp.c: uroce_resp_execute(), execute_message(), execute_atomic(), refuse(); msg.c. `ok`: executed */
inline execute(at, is_asking)
{
	if
	:: is_nak_sent && aeth -> aeth = ACK; aeth_at = 0
	:: else
	fi;
	is_nak_sent = 0;
	is_rnr_sent = 0;
	assert(at == epsn);
	if
	:: kind_of(epsn) == SEND && is_first(epsn) && !has_recv ->
		owe_nak(RNR);
		is_rnr_sent = 1;
		ok = 0
	:: else ->
		land(epsn, at);
		if
		:: kind_of(epsn) == ATOMIC ->
			answers = answers | (1 << epsn);
			if /* commit_resource() */
			:: aeth == ACK -> aeth = NONE
			:: else
			fi
		:: kind_of(epsn) != ATOMIC && is_asking -> owe_ack()
		:: else
		fi;
		make_echoes(epsn);
		epsn++;
		ok = 1
	fi
}

/* ooo_request.c: drain_requests(), skip_placed_request(), drop_passed(). `ok`: nothing was refused */
inline drain()
{
	ok = 1;
	do
	:: !ok || !(known & (1 << epsn)) -> break
	:: else ->
		if
		:: held & (1 << epsn) ->
			execute(epsn, held & (1 << epsn) & asking);
			if
			:: ok ->
				known = known & ~(1 << (epsn - 1));
				held = held & ~(1 << (epsn - 1));
				asking = asking & ~(1 << (epsn - 1))
			:: else -> discard()
			fi
		:: else -> known = known & ~(1 << epsn); make_echoes(epsn); epsn++
		fi
	od
}

/* ooo_request.c: schedule_seq_nak() */
inline owe_seq_nak()
{
	is_nak_due = 0;
	if
	:: !is_nak_sent -> owe_nak(NAK)
	:: else
	fi
}

/* ooo_request.c: uroce_ooo_request_fill_gap(), fill_gap() */
inline fill(at, is_asking)
{
	is_told = is_nak_sent && !aeth;
	is_nak_due = 0;
	was = known != 0;
	execute(at, is_asking);
	is_done = ok;
	if
	:: was && !ok -> discard()
	:: was && ok ->
		drain();
		if
		:: ok ->
			owe_ack();
			is_nak_due = known != 0
		:: else
		fi
	:: else
	fi;
	if
	:: has_dropped && (is_told || !is_done || !before(epsn, dropped)) ->
		has_dropped = 0;
		dropped = 0
	:: has_dropped && !(is_told || !is_done || !before(epsn, dropped)) -> owe_seq_nak()
	:: else
	fi
}

/* resp.c: repeat_request(), repeat_atomic() */
inline repeat(at)
{
	if
	:: kind_of(at) == ATOMIC -> answers = answers | (1 << (at))
	:: else -> owe_ack()
	fi
}

/* ooo_request.c: find_placement(): a middle packet of the WRITE that is being received */
#define is_placeable(at) \
	(!is_first(epsn) && kind_of(epsn) == WRITE && kind_of(at) == WRITE && !is_first(at) && \
	 !is_last(at) && epsn + dist(epsn, at) + 1 < end_of(epsn))

/* ooo_request.c: note_dropped() */
inline note_dropped(at)
{
	if
	:: !has_dropped || before(dropped, (at) + 1) -> dropped = (at) + 1
	:: else
	fi;
	has_dropped = 1
}

/* ooo_request.c: place_or_buffer_request(); reorder_buffer.c: uroce_reorder_buffer_insert() */
inline place_or_hold(at, is_asking)
{
	dst = epsn + dist(epsn, at);
	if
	:: known & (1 << dst)
	:: !(known & (1 << dst)) && is_placeable(at) && (known || has_room) ->
		land(dst, at);
		known = known | (1 << dst)
	:: !(known & (1 << dst)) && !is_placeable(at) && has_room ->
		assert(dst == at);
		known = known | (1 << dst);
		held = held | (1 << dst);
		asking = asking | (is_asking << dst)
	:: else -> note_dropped(at)
	fi
}

/* ooo_request.c: report_gap() */
inline report_hole()
{
	if
	:: is_late -> owe_seq_nak()
	:: !is_late && !is_nak_sent -> is_nak_due = 1
	:: else
	fi
}

/* resp.c: uroce_resp_recv(); ooo_request.c: uroce_ooo_request_recv() */
inline recv_request(at, is_asking)
{
	printf("      > %d (epsn %d)\n", at, epsn);
	if
	:: epsn > at + PSNS / 2 /* the network's oldest die */
	:: epsn <= at + PSNS / 2 && dist(epsn, at) == 0 -> fill(at, is_asking)
	:: epsn <= at + PSNS / 2 && before(at, epsn) -> repeat(at)
	:: else ->
		if
		:: is_rnr_sent
		:: else ->
			if
			:: !RESP_GBN -> place_or_hold(at, is_asking)
			:: else -> note_dropped(at)
			fi;
			report_hole()
		fi
	fi
}

#define is_ahead(at) (before(epsn, at) && dist(epsn, at) != 0)

active proctype Responder()
{
	do
	:: atomic {
		if any_of_16(requests) fi;
		has_room = 1; has_recv = 1; is_late = 1;
		if
		:: true
		:: !RESP_GBN && fulls > 0 && is_ahead(pick / 2) -> has_room = 0; fulls--
		fi;
		if
		:: true
		:: !RESP_GBN && is_ahead(pick / 2) && !is_nak_sent -> is_late = 0
		fi;
		if
		:: true
		:: refusals > 0 && pick / 2 == epsn -> has_recv = 0; refusals--
		fi;
		d_step {
			take(requests, pick);
			recv_request(pick / 2, pick % 2);
			pick = 0; has_room = 0; has_recv = 0; is_late = 0
		}
	   }
	:: d_step { echoes > 0 -> printf("      > echo\n"); echoes--; owe_ack() }
	/* resp.c: uroce_resp_send(), put_atomic_ack(), put_aeth_packet() */
	:: atomic {
		answers ->
		choose_fate();
		d_step {
			dst = (answers & 1 -> 0 : (answers & 2 -> 1 : (answers & 4 -> 2 :
			      (answers & 8 -> 3 : (answers & 16 -> 4 : (answers & 32 -> 5 : 6))))));
			answers = answers & ~(1 << dst);
			printf("           < answer %d, copies %d\n", dst, fate);
			emit(data, dst)
		}
	   }
	:: atomic {
		aeth && !answers ->
		choose_fate();
		d_step {
			if
			:: aeth == ACK ->
				printf("           < ACK %d, copies %d\n", epsn - 1, fate);
				assert(epsn > 0);
				emit(acks, epsn - 1)
			:: aeth == NAK ->
				printf("           < NAK %d, copies %d\n", aeth_at, fate);
				emit(naks, aeth_at)
			:: aeth == RNR ->
				printf("           < RNR %d, copies %d\n", aeth_at, fate);
				emit(rnrs, aeth_at)
			fi;
			aeth = NONE;
			aeth_at = 0
		}
	   }
	/* ooo_request.c: uroce_ooo_request_expire() */
	:: d_step {
		is_nak_due -> owe_seq_nak()
	   }
	:: is_over -> break
	od;
	assert(epsn == PKTS && has_landed(0, PKTS - 1));
	assert(!known && !held) /* the pool got everything back */
}
