/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The life of a CM id, and the retransmission of its messages.
 *
 * A REQ contains a response timeout and a maximum number of repetitions. The sender of a message
 * gives up after the time that all repetitions take at intervals of this timeout. The first
 * interval comes from measured round trips (cm/rtt.h), and each interval is twice as long as the
 * one before, but not above an equal share of the remaining time. So the repetitions are early
 * while a loss is likely, and the last ones are spread over the rest of the time.
 */

#include "cm/conn.h"

#include <errno.h>

#include "cm/admission.h"
#include "cm/conn_send.h"
#include "cm/event.h"
#include "cm/identity.h"
#include "cm/outbox.h"
#include "cm/owner.h"
#include "cm/port_space.h"
#include "cm/queue.h"
#include "cm/reason.h"
#include "cm/rtt.h"
#include "cm/timeout.h"

/* Time for which the DREP of a CM id waits for private data of the user. */
#define ANSWER_NS (100 * UROCE_MSEC_NS)

/* Added to the time in the state TIMEWAIT: the peer enters it later, by a message's delay. */
#define TIMEWAIT_MARGIN_NS (20 * UROCE_MSEC_NS)

/*
 * The shortest first interval of a SIDR_REQ. Linux forgets a SIDR_REQ after its answer, and reports
 * a later repetition as another request. So a SIDR_REQ is repeated only if it is probably lost.
 */
#define SIDR_INTERVAL_NS (200 * UROCE_MSEC_NS)

/* The shortest interval after which a REP is repeated that the peer has acknowledged by an MRA. */
#define ACKED_REP_INTERVAL_NS (100 * UROCE_MSEC_NS)

/* Number of response timeouts for which an ended CM id is kept after the peer's last repetition. */
#define NB_LINGER_TIMEOUTS 3

/* Number of further attempts to connect after a REJ "stale connection", each with a new comm id. */
#define NB_STALE_ATTEMPTS 3

static void
set_timer(struct uroce_cm *cm, const struct uroce_cm_conn *conn, uint64_t deadline_ns)
{
	uroce_timer_heap_set(&cm->timers, uroce_cm_id_of(cm, conn), deadline_ns);
}

static void
stop_lingering(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	if (conn->is_lingering)
		uroce_cm_queue_remove(cm, &cm->lingering, UROCE_CM_LINK_SPARE,
				      uroce_cm_id_of(cm, conn));
	conn->is_lingering = false;
}

static void
free_conn(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	stop_lingering(cm, conn);
	uroce_cm_event_clear(cm, conn);
	uroce_cm_owner_discount(cm, conn);
	uroce_cm_admission_end_half_open(cm, conn);
	uroce_cm_outbox_cancel(cm, conn);
	uroce_cm_identity_clear(cm, conn);
	uroce_cm_port_release(cm, conn);
	set_timer(cm, conn, UROCE_TIMER_NEVER);
	conn->is_used = false;
	cm->nb_ids--;
	uroce_cm_queue_push(cm, &cm->free_ids, UROCE_CM_LINK_SPARE, uroce_cm_id_of(cm, conn));
}

struct uroce_cm_conn *
uroce_cm_conn_new(struct uroce_cm *cm, uint16_t owner)
{
	const uint32_t nb_fresh = cm->conf.max_ids - cm->nb_begun;
	struct uroce_cm_conn *conn;

	if (!cm->free_ids.nb && !nb_fresh && cm->lingering.nb)
		free_conn(cm, &cm->conns[cm->lingering.first]);
	conn = uroce_cm_queue_pop(cm, &cm->free_ids, UROCE_CM_LINK_SPARE);
	if (!conn && nb_fresh)
		conn = &cm->conns[cm->nb_begun++];
	if (!conn)
		return NULL;
	*conn = (struct uroce_cm_conn){
		.is_used = true,
		.listener = UROCE_CM_NO_ID,
		.waiting = { .first = UROCE_CM_NO_ID, .last = UROCE_CM_NO_ID },
		.nb_stale_left = NB_STALE_ATTEMPTS,
		.timeout_ns = uroce_cm_timeout_ns(cm->conf.timeout_code),
		.max_retries = cm->conf.max_retries,
	};
	cm->nb_ids++;
	uroce_cm_owner_take(cm, conn, owner);
	return conn;
}

static uint64_t
retry_budget(const struct uroce_cm_conn *conn)
{
	return (conn->max_retries + 1u) * conn->timeout_ns;
}

/* Get the time between a message and its first repetition, in which the peer may answer. */
static uint64_t
first_interval(const struct uroce_cm *cm, const struct uroce_cm_conn *conn)
{
	const uint64_t interval_ns = uroce_cm_rtt_interval(cm, conn->av.remote_gid);

	if (conn->tx_attr == UROCE_CM_SIDR_REQ && interval_ns < SIDR_INTERVAL_NS)
		return SIDR_INTERVAL_NS;
	return interval_ns;
}

/* Start the timer of the repetitions of a message that has been queued for the first time. */
static void
begin_retries(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint64_t now_ns)
{
	conn->nb_retries_left = conn->max_retries;
	conn->interval_ns = first_interval(cm, conn);
	conn->give_up_ns = now_ns + retry_budget(conn);
	set_timer(cm, conn, now_ns + conn->interval_ns);
}

/* Compute the time of the next repetition of a message that is transmitted at `now_ns`. */
static uint64_t
next_retry_ns(const struct uroce_cm_conn *conn, uint64_t now_ns)
{
	const uint64_t left_ns = conn->give_up_ns > now_ns ? conn->give_up_ns - now_ns : 0;
	const uint64_t share_ns = left_ns / (conn->nb_retries_left + 1u);

	return now_ns + (conn->nb_retries_left && conn->interval_ns < share_ns ? conn->interval_ns
									       : share_ns);
}

static uint64_t
timewait_end(const struct uroce_cm_conn *conn, uint64_t now_ns)
{
	const uint64_t end_ns =
		now_ns + uroce_cm_timeout_ns(conn->ack_timeout_code) + TIMEWAIT_MARGIN_NS;

	return end_ns < conn->give_up_ns ? end_ns : conn->give_up_ns;
}

/*
 * Get the time until which an ended CM id is kept for repetitions of the peer. Each repetition
 * moves this time, up to `give_up_ns`.
 */
static uint64_t
linger_end(const struct uroce_cm_conn *conn, uint64_t now_ns)
{
	const uint64_t end_ns = now_ns + NB_LINGER_TIMEOUTS * conn->timeout_ns;

	return end_ns < conn->give_up_ns ? end_ns : conn->give_up_ns;
}

/* Arm the timer of the state that a CM id has just entered. */
static void
begin_timer(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint64_t now_ns)
{
	switch (uroce_cm_state_timer(conn->state)) {
	case UROCE_CM_TIMER_NONE:
		set_timer(cm, conn, UROCE_TIMER_NEVER);
		break;
	case UROCE_CM_TIMER_RETRY:
		break; /* begin_retries(), stretch_timer(), delay_request() arm the retry timer */
	case UROCE_CM_TIMER_ANSWER:
		set_timer(cm, conn, now_ns + ANSWER_NS);
		break;
	case UROCE_CM_TIMER_TIMEWAIT:
		conn->give_up_ns =
			now_ns + retry_budget(conn) + uroce_cm_timeout_ns(conn->ack_timeout_code);
		set_timer(cm, conn, timewait_end(conn, now_ns));
		break;
	case UROCE_CM_TIMER_LINGER:
		conn->give_up_ns =
			now_ns + retry_budget(conn) + NB_LINGER_TIMEOUTS * conn->timeout_ns;
		set_timer(cm, conn, linger_end(conn, now_ns));
		break;
	}
}

void
uroce_cm_conn_sent(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint64_t now_ns)
{
	if (conn->nb_sent)
		uroce_cm_count(cm->stats.nb_tx_retries, conn->tx_attr);
	else
		conn->sent_ns = now_ns;
	if (conn->nb_sent < UINT16_MAX)
		conn->nb_sent++;
	switch (uroce_cm_state_timer(conn->state)) {
	case UROCE_CM_TIMER_RETRY:
		set_timer(cm, conn, next_retry_ns(conn, now_ns));
		break;
	case UROCE_CM_TIMER_TIMEWAIT:
		set_timer(cm, conn, timewait_end(conn, now_ns));
		break;
	case UROCE_CM_TIMER_LINGER:
		set_timer(cm, conn, linger_end(conn, now_ns));
		break;
	case UROCE_CM_TIMER_NONE:
	case UROCE_CM_TIMER_ANSWER:
		break;
	}
}

/*
 * Handle an MRA of the peer: wait longer, by the service timeout of the MRA. A REQ is not repeated
 * in this time, because the peer repeats its REP. No timer repeats an RTU: the peer sends another
 * RTU only in reply to a repeated REP. So a REP is repeated, at longer intervals.
 */
static void
stretch_timer(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint64_t now_ns)
{
	uint64_t wait_ns = conn->service_ns + uroce_cm_rtt_interval(cm, conn->av.remote_gid);

	conn->give_up_ns += conn->service_ns;
	uroce_cm_outbox_cancel(cm, conn);
	if (conn->tx_attr == UROCE_CM_REP && conn->nb_retries_left) {
		if (conn->interval_ns < ACKED_REP_INTERVAL_NS)
			conn->interval_ns = ACKED_REP_INTERVAL_NS;
		if (conn->interval_ns < wait_ns)
			wait_ns = conn->interval_ns;
	}
	set_timer(cm, conn, now_ns + wait_ns);
}

/*
 * Prepare another attempt to connect after a REJ "stale connection". The peer ends its old
 * connection by a DREQ, which needs some time. So each attempt waits twice as long as the one
 * before.
 */
static void
delay_request(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint64_t now_ns)
{
	const unsigned nb_before = NB_STALE_ATTEMPTS - conn->nb_stale_left;

	conn->nb_stale_left--;
	uroce_cm_identity_renew(cm, conn);
	conn->local_psn = (uint32_t)uroce_cm_random(cm) & 0xffffff;
	conn->nb_sent = 0;
	uroce_cm_outbox_cancel(cm, conn);
	begin_retries(cm, conn, now_ns);
	set_timer(cm, conn, now_ns + (conn->interval_ns << nb_before));
}

/* Report an event to the user, or withdraw a CONNECT_REQUEST that the user has not received. */
static void
do_report(struct uroce_cm *cm, struct uroce_cm_conn *conn, enum uroce_cm_event_kind kind,
	  int status)
{
	if (uroce_cm_event_is_pending(conn, UROCE_CM_EVENT_CONNECT_REQUEST)) {
		uroce_cm_event_clear(cm, conn);
		uroce_cm_owner_leave(cm, conn);
	}
	if (conn->has_owner)
		uroce_cm_event_report(cm, conn, kind, status);
}

/* Record the round-trip time of an answered message, if the message was transmitted only once. */
static void
sample_rtt(struct uroce_cm *cm, const struct uroce_cm_conn *conn, enum uroce_cm_input input,
	   uint64_t now_ns)
{
	const bool is_message = input >= UROCE_CM_ON_REQ && input < UROCE_CM_ON_SUPERSEDED;

	if (is_message && conn->nb_sent == 1 && now_ns > conn->sent_ns &&
	    uroce_cm_state_timer(conn->state) == UROCE_CM_TIMER_RETRY &&
	    !conn->link[UROCE_CM_LINK_TX].is_in)
		uroce_cm_rtt_sample(cm, conn->av.remote_gid, now_ns - conn->sent_ns);
}

/* Whether a CM id of the passive side waits for the answer of its user, or for the RTU. */
static bool
is_half_open(enum uroce_cm_state state)
{
	return state == UROCE_CM_STATE_REQ_RCVD || state == UROCE_CM_STATE_REP_SENT ||
	       state == UROCE_CM_STATE_REP_ACKED || state == UROCE_CM_STATE_SIDR_REQ_RCVD;
}

static void
enter_state(struct uroce_cm *cm, struct uroce_cm_conn *conn, enum uroce_cm_state next,
	    uint64_t now_ns)
{
	conn->state = next;
	begin_timer(cm, conn, now_ns);
	if (!is_half_open(next))
		uroce_cm_admission_end_half_open(cm, conn);
	/* the connection has ended, so a new REQ of the peer's QP finds no stale connection */
	if (next == UROCE_CM_STATE_TIMEWAIT || next == UROCE_CM_STATE_REJ_SENT)
		uroce_cm_identity_release_peer_qpn(cm, conn);
	if (next == UROCE_CM_STATE_CLOSED)
		uroce_cm_identity_clear(cm, conn);
}

/* If a CM id has no owner, free it if it is CLOSED, or allow its reuse if it is lingering. */
static void
settle_orphan(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	if (conn->has_owner)
		return;
	if (conn->state == UROCE_CM_STATE_CLOSED) {
		free_conn(cm, conn);
	} else if (uroce_cm_state_timer(conn->state) == UROCE_CM_TIMER_LINGER &&
		   !conn->is_lingering) {
		uroce_cm_queue_push(cm, &cm->lingering, UROCE_CM_LINK_SPARE,
				    uroce_cm_id_of(cm, conn));
		conn->is_lingering = true;
		uroce_cm_owner_discount(cm, conn);
	}
}

const struct uroce_cm_step *
uroce_cm_conn_input(struct uroce_cm *cm, struct uroce_cm_conn *conn, enum uroce_cm_input input,
		    int status, uint64_t now_ns)
{
	const struct uroce_cm_step *step = uroce_cm_state_step(conn->state, input);
	enum uroce_cm_state next;

	if (!step)
		return NULL;
	next = step->next_plus_one - 1;
	if (next != conn->state) {
		sample_rtt(cm, conn, input, now_ns);
		if (step->send == UROCE_CM_SEND_NOTHING)
			uroce_cm_outbox_cancel(cm, conn);
	}
	uroce_cm_conn_send(cm, conn, step->send, input);
	if (next != conn->state)
		enter_state(cm, conn, next, now_ns);
	if (uroce_cm_state_timer(next) == UROCE_CM_TIMER_RETRY &&
	    step->send != UROCE_CM_SEND_NOTHING && step->send != UROCE_CM_SEND_AGAIN)
		begin_retries(cm, conn, now_ns);
	if (step->effect == UROCE_CM_EFFECT_STRETCH)
		stretch_timer(cm, conn, now_ns);
	if (step->effect == UROCE_CM_EFFECT_NEW_ID)
		delay_request(cm, conn, now_ns);
	if (step->report)
		do_report(cm, conn, step->report - 1, status);
	settle_orphan(cm, conn);
	return step;
}

bool
uroce_cm_conn_supersede(struct uroce_cm *cm, be64 guid, const uint8_t gid[16], uint32_t qpn,
			const struct uroce_cm_conn *self, uint64_t now_ns)
{
	struct uroce_cm_conn *old = uroce_cm_identity_find_peer_qpn(cm, guid, gid, qpn, self);
	const unsigned before = old ? old->state : UROCE_CM_STATE_CLOSED;

	if (!old)
		return false;
	(void)uroce_cm_conn_input(cm, old, UROCE_CM_ON_SUPERSEDED, UROCE_CM_REASON_STALE_CONN,
				  now_ns);
	cm->stats.nb_superseded += old->state != before;
	return true;
}

void
uroce_cm_conn_destroy(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint64_t now_ns)
{
	uroce_cm_owner_leave(cm, conn);
	uroce_cm_event_clear(cm, conn);
	uroce_cm_port_release(cm, conn);
	/* if the REQ was never transmitted, no REJ is sent, because the peer has no CM id for it */
	if (conn->state == UROCE_CM_STATE_REQ_SENT && !conn->nb_sent)
		free_conn(cm, conn);
	else
		(void)uroce_cm_conn_input(cm, conn, UROCE_CM_ON_DESTROY, 0, now_ns);
}

/* Handle the expiry of the timer of a CM id. */
static void
expire_conn(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint64_t now_ns)
{
	enum uroce_cm_input input = UROCE_CM_ON_TIMEOUT;

	if (uroce_cm_state_timer(conn->state) == UROCE_CM_TIMER_RETRY &&
	    now_ns < conn->give_up_ns) {
		if (conn->link[UROCE_CM_LINK_TX].is_in || !conn->nb_retries_left) {
			set_timer(cm, conn, conn->give_up_ns);
			return;
		}
		conn->nb_retries_left--;
		conn->interval_ns *= 2;
		input = UROCE_CM_ON_RETRY;
		/* when the repetition is transmitted, uroce_cm_conn_sent() arms the timer again */
		set_timer(cm, conn, conn->give_up_ns);
	}
	(void)uroce_cm_conn_input(cm, conn, input, input == UROCE_CM_ON_TIMEOUT ? -ETIMEDOUT : 0,
				  now_ns);
}

uint64_t
uroce_cme_deadline(const struct uroce_cm *cm)
{
	return uroce_timer_heap_deadline(&cm->timers);
}

bool
uroce_cme_expire_some(struct uroce_cm *cm, uint64_t now_ns, unsigned max)
{
	for (unsigned i = 0; i < max && uroce_cme_deadline(cm) <= now_ns; i++)
		expire_conn(cm, &cm->conns[cm->timers.heap[0]], now_ns);
	return uroce_cme_deadline(cm) <= now_ns;
}
