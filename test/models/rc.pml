/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of RC: a requester, a responder, and a network that loses, duplicates and reorders without
 * limit.
 *
 * Each rule names the function of lib/transport that it models. An event (a packet arrives, a
 * packet is sent, a timer expires) is one step, because it is one call into a context that one
 * thread owns. There is no clock. A timer may expire when nothing else can happen any more, and
 * HASTY times earlier. Decisions of the code that depend on time are free choices (`is_soon`,
 * `is_late`).
 *
 * A packet carries its place in the stream, 0 .. PKTS - 1, as its payload. Both ends know only its
 * PSN, which lives on a circle of PSNS numbers and wraps. Where a rule compares PSNs, the model
 * compares them on the circle. The network drops packets that are older than half of the circle, as
 * a network does with PSNs of 24 bits. Responses to acknowledged packets are removed from the
 * network. Requests that were executed are counted as echoes, because all of them get the same
 * response.
 *
 * Proven for all orders of events within the bounds:
 *
 * - Each payload is placed once, at its own place, while its message is being received. A message
 *   ends after all of its payload was placed. So delivery is exactly once and in order, and no flag
 *   is visible before its data.
 * - What the requester takes for acknowledged was executed. Windows hold.
 * - The QP does not fail: RETRIES covers the faults.
 * - There is no deadlock (no invalid end) and no livelock (no cycle): every posted request
 *   completes.
 *
 * The bounds are given with -D, see run-models; the values here are for manual runs of the model.
 */

#ifndef REQ_GBN
#define REQ_GBN 0 /* 1: the requester always recovers by go-back-N (conf.is_req_gbn) */
#endif
#ifndef RESP_GBN
#define RESP_GBN 0 /* 1: the responder drops out-of-order packets (conf.is_resp_gbn) */
#endif
#ifndef LOSSES
#define LOSSES 1 /* packets of both directions that the network may lose */
#endif
#ifndef DUPS
#define DUPS 0 /* packets that the network may duplicate */
#endif
#ifndef HASTY
#define HASTY 0 /* timers that expire although packets are in flight */
#endif
#ifndef RNRS
#define RNRS 0 /* SENDs for which no receive request is posted */
#endif
#ifndef FULLS
#define FULLS 0 /* packets for which the reorder buffer has no room */
#endif
#ifndef RETRIES
/* retry_cnt; with one retry less the QP fails */
#define RETRIES (LOSSES + FULLS + HASTY + RESP_GBN)
#endif

#ifdef TRACK /* with TRACK the steps inside of d_step are listed if they are never reached */
#define d_step atomic
#endif

#define WRITE  0
#define SEND   1
/* one packet, whose response has data; with REQ_GBN only, because ooo_response.c is not modelled */
#define ATOMIC 2

/* Three messages, [0, M1) [M1, M2) [M2, PKTS). */
#ifndef PKTS
#define M1    4
#define M2    5
#define PKTS  6
#define KIND1 WRITE
#define KIND2 WRITE
#define KIND3 SEND
#endif

/* The circle of PSNs: it wraps after three packets. A window is less than half of it. */
#define PSNS      8
#define PSN_FIRST 5
#define WINDOW    3

/*
 * Scaled down like the window: packets between two ACK requests, adjacent gaps, and gaps in a round
 * trip.
 */
#define ACK_EVERY    2
#define ADJACENT_MAX 2
#define GAPS_MANY   2

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
 * A bag for each kind of packet: two bits count how many equal packets are in flight. A packet may
 * leave a bag at any time, so every order is possible. Whether a packet is lost or duplicated is
 * decided when it is sent.
 */
#define nb(bag, i)   (((bag) >> (2 * (i))) & 3)
#define take(bag, i) bag = bag - (1 << (2 * (i)))

int requests; /* 2 * place + whether the packet requests an ACK */
byte echoes;  /* requests that were executed: all of them get an ACK in response */
short acks;   /* by the acknowledged place */
short naks;   /* by the missing place */
short rnrs;   /* by the refused place */
short data;   /* responses to atomics, by place */

byte losses = LOSSES, dups = DUPS, hasty = HASTY, refusals = RNRS, fulls = FULLS;

#define is_network_empty (!requests && !echoes && !acks && !naks && !rnrs && !data)

#define ECHOES 2 /* maximum count of echoes */

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

/* More than three equal packets have the same effect as three. */
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

/* Send a request. */
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

/* A request was executed: further copies of it in flight are echoes. */
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
byte aeth;     /* the pending AETH: has_aeth, syndrome */
byte aeth_at;  /* aeth_psn of a NAK */
byte known;    /* resp.gap: a bit for each place behind the gap that has arrived */
byte buffered;     /* those places whose frames are buffered: the others were placed */
byte asking;   /* those buffered frames that request an ACK */
byte answers;  /* atomics whose responses are pending: a bit for each place */
bit has_dropped;
byte dropped;   /* dropped_end */

/* enum uroce_ooo_request_state. DRAINING is not modelled: all slices are executed in one step. */
#define IN_ORDER     0
#define REORDERING   1
#define NAK_SENT     2
#define RNR_NAK_SENT 3
byte ooo_state = IN_ORDER;

#define is_nak_sent (ooo_state == NAK_SENT || ooo_state == RNR_NAK_SENT)

byte landed;   /* state of the oracle: a bit for each payload in memory */
byte answered; /* state of the oracle: a bit for each atomic whose response arrived */

bit has_room;   /* the reorder buffer has room */
bit has_recv;   /* a receive request is posted */
bit is_late;    /* the reordering window is over, so the gap is reported: reorder_window.h */

/* --- the requester: requester.c, response.c, loss_recovery.c ------------------------------------------------------ */

#define UNKNOWN 0
#define SELECTIVE   1
#define GO_BACK_N   2

byte una, next, max; /* una_psn, next_psn, max_psn */
byte posted;         /* end of what the program has posted */
byte since;          /* since_ack_req */
byte retry_left = RETRIES;

/* struct uroce_loss_recovery */
byte gap_psn, recover_psn, round, retransmit_psn;
byte peer, nb_adjacent, nb_gaps;
bit due_first, due_last, due_behind; /* enum uroce_recovery_due */
bit is_ambiguous, is_lossy;

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

bit is_soon; /* a response came sooner than a round trip after the retransmission */

hidden byte until_at, dst;
hidden byte ok, was, asks, is_told, is_done;

/* loss_recovery.c: is_retransmittable() */
#define is_retransmittable \
	(!REQ_GBN && next == max && una != max && state != RNR_WAIT && kind_of(una) != ATOMIC)

/* requester.c: next_request() */
#define has_next (next < posted && dist(una, next) < WINDOW)

#define may_send (state != RNR_WAIT && (due_first || due_last || due_behind || has_next))

/* req.c: wants_ack(), without its counter */
#define must_ask(at) (dist(una, at) + 1 >= WINDOW || (is_last(at) && (at) + 1 == posted))

/*
 * recovery_state.c: uroce_recovery_rewound(). Variables that are not used while their flag is clear
 * are zero.
 */
inline end_recovery()
{
	on_rewound;
	due_first = 0; due_last = 0; due_behind = 0;
	is_ambiguous = 0; is_lossy = 0; nb_gaps = 0;
	gap_psn = 0; recover_psn = 0; round = 0;
	retransmit_psn = una
}

/* retry.c: uroce_retry_rewind() */
inline rewind()
{
	end_recovery();
	next = una;
	since = 0
}

/* retry.c: use_retry() */
inline retry()
{
	printf("  a retry, %d left\n", retry_left);
	assert(retry_left > 0); /* otherwise the QP fails */
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

/* Remove responses to acknowledged packets, which would be ghosts. */
inline drop_ghosts()
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
		:: is_loss && peer == GO_BACK_N -> peer = SELECTIVE
		:: else
		fi;
		rewind()
	:: else
	fi;
	on_progress;
	due_last = 0;
	if
	:: before(retransmit_psn, una) -> retransmit_psn = una
	:: else
	fi;
	drop_ghosts()
}

/*
 * completer.c: uroce_completer_advance(): acknowledges everything before `until_at`. `ok`: there is
 * no atomic among it.
 */
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
	assert(una <= epsn); /* acknowledged packets were executed */
	if
	:: was -> progress()
	:: else
	fi
}

/* loss_recovery.c: open_request_gap() */
inline open_request_gap()
{
	if
	:: !nb_gaps || !before(una, round) ->
		is_lossy = nb_gaps >= GAPS_MANY;
		nb_gaps = 0;
		round = max
	:: else
	fi;
	if
	:: nb_gaps < GAPS_MANY -> nb_gaps++
	:: else
	fi;
	due_behind = due_behind || (peer == SELECTIVE && (is_lossy || nb_gaps >= GAPS_MANY));
	on_gap;
	due_first = 1;
	gap_psn = una
}

/* loss_recovery.c: is_go_back_n_peer(). `ok`: the peer is go-back-N */
inline doubt_peer_arq()
{
	if
	:: peer == SELECTIVE && nb_adjacent + 1 < ADJACENT_MAX -> nb_adjacent++; ok = 0
	:: else ->
		nb_adjacent = 0;
		peer = (peer == SELECTIVE -> UNKNOWN : GO_BACK_N);
		ok = 1
	fi
}

/* loss_recovery.c: respond(). `ok`: its result */
inline respond(is_nak)
{
	if
	:: !is_retransmittable || (is_nak && peer == GO_BACK_N) -> ok = 0
	/*
	 * the response tells nothing new of the gap; or the peer has received a packet behind the
	 * retransmitted one
	 */
	:: is_retransmittable && !(is_nak && peer == GO_BACK_N) && is_fast_retx &&
	   (gap_psn == una || (!due_first && dist(gap_psn, una) == 1 && !is_nak && recover_psn != max)) ->
		ok = 1
	:: else ->
		was = is_nak; /* there is a gap */
		ok = 0;
		if
		:: is_fast_retx && !due_first ->
			if
			:: dist(gap_psn, una) > 1 -> peer = SELECTIVE; nb_adjacent = 0
			:: else ->
				if
				:: !is_soon || is_ambiguous -> doubt_peer_arq()
				:: else
				fi
			fi;
			if
			:: !ok ->
				is_ambiguous = dist(gap_psn, una) == 1 && is_soon;
				was = is_nak || (!is_soon && recover_psn == max && una != max)
			:: else
			fi
		:: else
		fi;
		if
		:: ok -> ok = 0
		:: else ->
			on_closed; due_first = 0; gap_psn = 0; recover_psn = 0;
			if
			:: was -> open_request_gap()
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
	:: peer != SELECTIVE && is_retransmittable -> state = LOSS; rewind()
	:: else
	fi;
	on_closed; due_first = 0; gap_psn = 0; recover_psn = 0
}

/*
 * response.c: uroce_response_recv(): a response to nothing in flight is a ghost. The network drops
 * its oldest packets.
 */
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

/* retransmit.c: uroce_retransmit_put(); req.c: wants_ack() without its counter */
inline put_retransmitted(at, is_asking)
{
	asks = is_asking || must_ask(at);
	emit_request(at, asks)
}

/* loss_recovery.c: uroce_loss_recovery_next(), last_psn() */
inline put_retransmission()
{
	ok = is_retransmittable;
	if
	:: !ok -> due_first = 0; due_last = 0
	:: ok && due_first ->
		due_first = 0;
		recover_psn = (is_fast_retx -> max : 0);
		put_retransmitted(una, 1)
	:: else ->
		due_last = 0;
		dst = (kind_of(max - 1) == ATOMIC -> una : max - 1);
		put_retransmitted(dst, 1)
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

/* loss_recovery.c: uroce_loss_recovery_next_opportunistic() */
inline put_opportunistic()
{
	ok = 0;
	do
	:: !due_behind || ok -> break
	:: else ->
		if
		:: !before(una, retransmit_psn) -> retransmit_psn = una + 1
		:: else
		fi;
		if
		:: !is_retransmittable || !before(retransmit_psn, max) -> due_behind = 0
		:: else ->
			retransmit_psn++;
			ok = kind_of(retransmit_psn - 1) != ATOMIC;
			if
			:: ok -> put_retransmitted(retransmit_psn - 1, psn(retransmit_psn - 1) % 4 == 0 || retransmit_psn == max)
			:: else
			fi
		fi
	od
}

/* Nothing happens any more, unless a timer expires, or the program posts. */
#define is_quiet \
	(is_network_empty && !aeth && !answers && ooo_state != REORDERING && !may_send)

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
			:: due_first || due_last -> put_retransmission()
			:: else
			fi;
			if
			:: !ok && has_next -> put_next()
			:: !ok && !has_next -> put_opportunistic()
			:: else
			fi;
			/* no packet was built */
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
		is_retransmittable && !due_first && !due_last && (is_quiet || hasty > 0) ->
		if
		:: !is_quiet -> hasty--
		:: else
		fi;
		printf("  probe\n");
		due_first = 1;
		due_last = dist(una, max) > 1
	   }
	/*
	 * retry.c: uroce_retry_expire(), the ACK timeout; without packets in flight it uses no
	 * retry
	 */
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

/* Put payload `at` into the place `to`. */
inline land(to, at)
{
	assert(to == at);
	assert(!(landed & (1 << (to))));
	/* the message of the place is being received, */
	assert(begin_of(to) <= epsn && epsn <= (to));
	/* its First packet has arrived, which has the address, */
	assert((to) == epsn || begin_of(to) < epsn);
	landed = landed | (1 << (to));
	/* and its Last packet comes after all others */
	assert(!is_last(to) || has_landed(begin_of(to), to))
}

/*
 * ooo_request_state.c: uroce_ooo_request_discard(); reorder_buffer.c: uroce_reorder_buffer_free_gap().
 * Placed payload may be placed again.
 */
inline discard()
{
	landed = landed & ~(known & ~buffered);
	known = 0;
	buffered = 0;
	ooo_state = (ooo_state == REORDERING -> IN_ORDER : ooo_state)
}

/* aeth.h: uroce_aeth_schedule_ack() */
inline owe_ack()
{
	if
	:: aeth == NONE -> aeth = ACK
	:: else
	fi
}

/* aeth.h: uroce_aeth_schedule_nak() */
inline owe_nak(which)
{
	aeth = which;
	aeth_at = epsn
}

/* execute.c: uroce_execute_expected(), execute_message(), execute_atomic(), uroce_execute_refuse(). `ok`: executed */
inline execute(at, is_asking)
{
	if
	:: is_nak_sent && aeth -> aeth = ACK; aeth_at = 0
	:: else
	fi;
	ooo_state = IN_ORDER;
	assert(at == epsn);
	if
	:: kind_of(epsn) == SEND && is_first(epsn) && !has_recv ->
		owe_nak(RNR);
		ooo_state = RNR_NAK_SENT;
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

/*
 * ooo_request.c: drain_requests(), skip_placed_request(), drop_passed(). `ok`: no request was
 * refused
 */
inline drain()
{
	ok = 1;
	do
	:: !ok || !(known & (1 << epsn)) -> break
	:: else ->
		if
		:: buffered & (1 << epsn) ->
			execute(epsn, buffered & (1 << epsn) & asking);
			if
			:: ok ->
				known = known & ~(1 << (epsn - 1));
				buffered = buffered & ~(1 << (epsn - 1));
				asking = asking & ~(1 << (epsn - 1))
			:: else -> discard()
			fi
		:: else -> known = known & ~(1 << epsn); make_echoes(epsn); epsn++
		fi
	od
}

/* ooo_request.c: report_loss() */
inline owe_seq_nak()
{
	if
	:: !is_nak_sent -> owe_nak(NAK); ooo_state = NAK_SENT
	:: else
	fi
}

/* ooo_request.c: uroce_ooo_request_fill_gap(), fill_gap() */
inline fill(at, is_asking)
{
	is_told = is_nak_sent && !aeth;
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
			ooo_state = (known -> REORDERING : IN_ORDER)
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

/* ooo_request.c: find_placement(): a Middle packet of the WRITE that is being received */
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
		buffered = buffered | (1 << dst);
		asking = asking | (is_asking << dst)
	:: else -> note_dropped(at)
	fi
}

/* ooo_request.c: report_gap() */
inline report_gap()
{
	if
	:: is_late -> owe_seq_nak()
	:: !is_late && !is_nak_sent -> ooo_state = REORDERING
	:: else
	fi
}

/* resp.c: uroce_resp_recv(); ooo_request.c: uroce_ooo_request_recv() */
inline recv_request(at, is_asking)
{
	printf("      > %d (epsn %d)\n", at, epsn);
	if
	:: epsn > at + PSNS / 2 /* the network drops its oldest packets */
	:: epsn <= at + PSNS / 2 && dist(epsn, at) == 0 -> fill(at, is_asking)
	:: epsn <= at + PSNS / 2 && before(at, epsn) -> repeat(at)
	:: else ->
		if
		:: ooo_state == RNR_NAK_SENT
		:: else ->
			if
			:: !RESP_GBN -> place_or_hold(at, is_asking)
			:: else -> note_dropped(at)
			fi;
			report_gap()
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
	/* resp.c: uroce_resp_send(), put_response(), put_aeth_packet() */
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
		ooo_state == REORDERING -> owe_seq_nak()
	   }
	:: is_over -> break
	od;
	assert(epsn == PKTS && has_landed(0, PKTS - 1));
	assert(!known && !buffered) /* the reorder buffer has released everything */
}
