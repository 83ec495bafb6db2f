/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bandwidth tests. The messages of a size are sent in batches. Without --verify one batch has
 * all messages. With --verify each batch has as many messages as the buffer has slots. Both sides
 * execute the same steps for a batch:
 *
 *	sync `batch`: the client sends the number of messages, 0 to end the size
 *	prepare: slots are filled and spoiled (verify.h), receive requests are posted
 *	sync `go`
 *	pump: requests are posted and completed; a side whose requests have completed sends `done`
 *	check: received data is checked, with --verify
 *
 * A size ends with sync `checked` and sync `rate`. Only the pump is measured.
 *
 * The file has more than 500 lines: because requests, completions and the result share the state of
 * one pump.
 */

#include "order.h"
#include "requests.h"
#include "session.h"
#include "stop.h"
#include "test.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#define POLL_BATCH 16
/* number of random QPs that --qp-order=random chooses between two polls */
#define DRAWS          64
#define UNTIL_DEADLINE UINT64_MAX
/*
 * time in microseconds: when nothing has arrived for so long, no more messages of an unreliable
 * transport are expected
 */
#define SETTLE_US  20000
#define PROGRESS_S 1

struct pump {
	struct session *session;
	struct requests requests;
	struct order order; /* the random order of QPs, for --qp-order=random */
	uint64_t goal;      /* number of messages of this batch for each QP, or UNTIL_DEADLINE */
	uint64_t deadline;  /* end of the time of --duration, as a TSC value */
	/*
	 * number of requests in this batch, over all QPs, that were posted, completed and received
	 */
	uint64_t posted, completed, received;
	/* TSC values at the start and at the end of the requests of this batch */
	uint64_t begin_tsc, end_tsc;
	uint64_t recv_begin_tsc, recv_end_tsc;
	uint64_t told_tsc; /* TSC value at the last line about progress */
	bool is_failed;
	/* the peer was told by the step `done` that the requests of this side have completed */
	bool is_told;
	bool is_peer_done;
	uint64_t peer_sent; /* number of messages that the peer sent; valid if is_peer_done */
	/*
	 * TSC values of the posts and of the completions, in order, from which the peak rate is
	 * computed; NULL if it is not computed
	 */
	uint64_t *posted_tsc, *completed_tsc;
	uint64_t times_max;
};

/* Sums over the batches of a message size. */
struct total {
	uint64_t messages; /* number of messages of each QP */
	uint64_t sent, received;
	uint64_t peer_sent;
	double seconds, recv_seconds;
	double peak; /* highest rate, in messages per second; 0 if it is not computed */
};

static double
seconds_of(uint64_t tsc)
{
	return (double)tsc / (double)rte_get_tsc_hz();
}

/* --- requests -------------------------------------------------------------------------------- */

/*
 * Get the number of requests that a QP may post now: the length of the next list of requests, or 0.
 */
static unsigned
room_for(const struct pump *pump, const struct stream *stream)
{
	const struct options *opt = pump->session->opt;
	/*
	 * a batch ends with a signaled request, so that its completion shows that all requests have
	 * completed
	 */
	const uint64_t left = pump->goal == UNTIL_DEADLINE ? opt->cq_mod - stream->unsignaled
							   : pump->goal - stream->posted;
	const uint64_t nb = left < opt->post_list ? left : opt->post_list;

	if (stream->posted + nb - stream->completed > opt->tx_depth)
		return 0;
	/* the clock is read only if the QP has room: if there are many QPs, most have none */
	if (pump->goal == UNTIL_DEADLINE && stream->unsignaled == 0 &&
	    rte_rdtsc() >= pump->deadline)
		return 0;
	return (unsigned)nb;
}

static int
post_list(struct pump *pump, unsigned qp_idx, unsigned nb)
{
	if (pump->posted_tsc != NULL) {
		uint64_t now = rte_rdtsc();

		for (unsigned i = 0; i < nb && pump->posted + i < pump->times_max; i++)
			pump->posted_tsc[pump->posted + i] = now;
	}
	pump->posted += nb;
	return requests_post_send(&pump->requests, qp_idx, nb, pump->session->opt->cq_mod,
				  pump->goal - 1);
}

/*
 * Post a list of requests on randomly chosen QPs until the limit of messages in flight is reached.
 */
static int
post_in_random_order(struct pump *pump)
{
	const struct options *opt = pump->session->opt;
	const uint64_t nb = opt->post_list;

	if (rte_rdtsc() >= pump->deadline)
		return 0;
	for (unsigned draws = 0; draws < DRAWS; draws++) {
		if (pump->posted + nb - pump->completed > PERF_IN_FLIGHT)
			return 0;
		unsigned qp_idx = order_next(&pump->order);
		const struct stream *stream = &pump->requests.stream[qp_idx];

		if (stream->posted + nb - stream->completed <= opt->tx_depth &&
		    post_list(pump, qp_idx, (unsigned)nb) != 0)
			return -1;
	}
	return 0;
}

static int
post_sends(struct pump *pump)
{
	if (pump->session->opt->order == PERF_RANDOM)
		return post_in_random_order(pump);
	for (unsigned i = 0; i < pump->session->endpoint.nb_qp; i++) {
		unsigned nb;

		while ((nb = room_for(pump, &pump->requests.stream[i])) > 0)
			if (post_list(pump, i, nb) != 0)
				return -1;
	}
	return 0;
}

/* --- completions ----------------------------------------------------------------------------- */

/*
 * Handle the completion of a send request. It shows that all requests of the QP that were posted
 * before have completed, too.
 */
static void
take_send(struct pump *pump, const struct ibv_wc *wc)
{
	struct stream *stream = &pump->requests.stream[requests_qp_idx(wc)];
	uint32_t nb = requests_idx(wc) - (uint32_t)stream->completed + 1;

	if (pump->completed_tsc != NULL) {
		uint64_t now = rte_rdtsc();

		for (uint32_t i = 0; i < nb && pump->completed + i < pump->times_max; i++)
			pump->completed_tsc[pump->completed + i] = now;
	}
	stream->completed += nb;
	pump->completed += nb;
}

static void
check_received(struct pump *pump, const struct ibv_wc *wc)
{
	struct session *session = pump->session;
	const struct requests *requests = &pump->requests;
	unsigned qp_idx = requests_qp_idx(wc);
	size_t head = requests->layout.head, len = wc->byte_len - head;
	uint64_t message = requests->first + requests->stream[qp_idx].received;

	if (len != requests->layout.size) {
		fprintf(stderr, "uroce-perf: verify: a message of %zu bytes instead of %zu\n", len,
			requests->layout.size);
		session->verify.wrong += requests->layout.size;
		return;
	}
	if (!options_is_reliable(session->opt))
		message = requests->first + (ntohl(wc->imm_data) - (uint32_t)requests->first);
	verify_message(&session->verify, requests_in(requests, qp_idx, requests_idx(wc)) + head,
		       len, requests_number(requests, qp_idx, message));
}

static bool
is_received_by(const struct ibv_wc *wc, unsigned qp_idx)
{
	return wc->status == IBV_WC_SUCCESS && requests_is_recv(wc) &&
	       requests_qp_idx(wc) == qp_idx;
}

/*
 * Handle successive completions, as far as they are of receive requests of the same QP.
 * @return the number of completions that were handled
 */
static int
take_recvs(struct pump *pump, const struct ibv_wc *wc, int nb)
{
	const struct options *opt = pump->session->opt;
	unsigned qp_idx = requests_qp_idx(wc);
	struct stream *stream = &pump->requests.stream[qp_idx];
	int n = 0;

	if (pump->received == 0)
		pump->recv_begin_tsc = rte_rdtsc();
	do {
		if (opt->is_verify)
			check_received(pump, &wc[n]);
		stream->received++;
	} while (++n < nb && is_received_by(&wc[n], qp_idx));
	pump->session->endpoint.receives[qp_idx].done += (uint64_t)n;
	pump->received += (uint64_t)n;
	if (opt->is_verify)
		/*
		 * with --verify all receive requests of a batch are posted before the batch begins
		 */
		return n;
	uint64_t missing = opt->rx_depth - requests_nb_recv(&pump->requests, qp_idx);
	if ((missing >= RECV_BATCH || 2 * missing >= opt->rx_depth) &&
	    requests_post_recv(&pump->requests, qp_idx, opt->rx_depth) != 0)
		pump->is_failed = true;
	return n;
}

static void
take_failure(struct pump *pump, const struct ibv_wc *wc)
{
	bool is_recv = requests_is_recv(wc);

	failures_add(&pump->session->failures, wc, is_recv ? NULL : requests_name(&pump->requests));
	pump->is_failed = true;
	if (!is_recv)
		take_send(pump, wc);
}

/* Poll completions and handle them. @return the number of completions */
static int
take_completions(struct pump *pump)
{
	struct ibv_wc wc[POLL_BATCH];
	int nb = endpoint_poll(&pump->session->endpoint, POLL_BATCH, wc);

	for (int i = 0, n; i < nb; i += n) {
		n = 1;
		if (wc[i].status != IBV_WC_SUCCESS)
			take_failure(pump, &wc[i]);
		else if (requests_is_recv(&wc[i]))
			n = take_recvs(pump, &wc[i], nb - i);
		else
			take_send(pump, &wc[i]);
	}
	if (nb > 0 && requests_is_recv(&wc[nb - 1]))
		pump->recv_end_tsc = rte_rdtsc();
	if (nb < 0) {
		fprintf(stderr, "uroce-perf: poll the completion queue: error %d\n", nb);
		pump->is_failed = true;
	}
	return nb;
}

/* --- the pump -------------------------------------------------------------------------------- */

static void
tell_progress(struct pump *pump)
{
	uint64_t now = rte_rdtsc();
	const struct options *opt = pump->session->opt;

	if (now - pump->told_tsc < PROGRESS_S * rte_get_tsc_hz())
		return;
	pump->told_tsc = now;
	double spent = seconds_of(now - pump->begin_tsc);
	double rate = (double)pump->completed * (double)pump->requests.layout.size / spent;
	fprintf(stderr, "\r%4.0f s of %" PRIu64 " s: %.2f %s/sec ", spent, opt->duration_s,
		rate / (opt->is_gbits ? 1e9 / 8 : 1 << 20), opt->is_gbits ? "Gb" : "MB");
}

static bool
is_progress_shown(const struct pump *pump)
{
	return pump->goal == UNTIL_DEADLINE && pump->session->is_client && isatty(STDERR_FILENO);
}

static bool
is_sending_over(const struct pump *pump)
{
	if (pump->session->is_peer_gone)
		return pump->completed == pump->posted;
	if (pump->goal == UNTIL_DEADLINE)
		return pump->completed == pump->posted && rte_rdtsc() >= pump->deadline;
	return pump->completed == pump->goal * pump->session->endpoint.nb_qp;
}

/*
 * Check whether all messages of the peer have arrived.
 * @return 1 if all have arrived, 0 if not yet, -1 if the peer has failed
 */
static int
is_receiving_over(struct pump *pump)
{
	struct session *session = pump->session;

	if (!pump->is_peer_done) {
		struct sync theirs;
		int got = session_poll(session, "done", &theirs);

		if (got <= 0)
			return got;
		pump->is_peer_done = true;
		pump->peer_sent = theirs.value[0];
	}
	return session->opt->op != PERF_SEND || !session->is_responder ||
	       !options_is_reliable(session->opt) || pump->received >= pump->peer_sent;
}

/*
 * Wait for the completions of all requests after an error or after the peer has ended. Every
 * request completes, with success or in error.
 */
static void
drain(struct pump *pump)
{
	const struct options *opt = pump->session->opt;
	double ack_s = 4.096e-6 * ldexp(1, (int)opt->timeout_code);
	double limit_s = 1 + 4 * ack_s * (double)(opt->retry_cnt + 1);
	uint64_t deadline = rte_rdtsc() + (uint64_t)(limit_s * (double)rte_get_tsc_hz());

	while (pump->completed < pump->posted && rte_rdtsc() < deadline && !stop_is_asked())
		if (take_completions(pump) < 0)
			return;
	if (pump->completed < pump->posted && !stop_is_asked())
		fprintf(stderr,
			"uroce-perf: %" PRIu64 " requests have not completed within %.1f s\n",
			pump->posted - pump->completed, limit_s);
}

/* Receive the messages of an unreliable transport that are still in flight. */
static void
settle(struct pump *pump)
{
	uint64_t window = SETTLE_US * rte_get_tsc_hz() / 1000000;
	uint64_t quiet_since = rte_rdtsc();

	while (rte_rdtsc() - quiet_since < window && !pump->is_failed) {
		if (take_completions(pump) > 0 || endpoint_drive(&pump->session->endpoint) > 0)
			quiet_since = rte_rdtsc();
		if (pump->session->opt->op == PERF_SEND && pump->received >= pump->peer_sent)
			return;
	}
}

static int
tell_done(struct pump *pump)
{
	struct sync mine = { .value = { pump->completed } };

	pump->end_tsc = rte_rdtsc();
	pump->is_told = true;
	return session_tell(pump->session, "done", &mine);
}

/*
 * Execute one round of run_pump(): post, complete, and check whether the batch is over.
 * @return 1 if the batch is over, 0 if it continues, -1 if it failed
 */
static int
pump_round(struct pump *pump, bool is_requester)
{
	struct session *session = pump->session;
	int over;

	if (is_requester && !pump->is_told && post_sends(pump) != 0)
		return -1;
	int taken = take_completions(pump);
	if (pump->is_failed)
		return -1;
	if (!pump->is_told && (!is_requester || is_sending_over(pump)) && tell_done(pump) != 0)
		return -1;
	if (stop_is_asked())
		return -1;
	if (taken > 0)
		return 0;
	/*
	 * ibv_poll_cq() drives the worker of its CQ. If there are more workers, endpoint_drive()
	 * drives all of them. The call takes little time for a worker that another thread drives.
	 */
	if (session->endpoint.nb_workers > 1 || !is_requester)
		endpoint_drive(&session->endpoint);
	over = is_receiving_over(pump);
	if (over < 0)
		return -1;
	return over > 0 && pump->is_told;
}

static int
run_pump(struct pump *pump)
{
	struct session *session = pump->session;
	bool is_shown = is_progress_shown(pump);
	int result;

	stages_begin(&session->stages);
	pump->begin_tsc = pump->told_tsc = rte_rdtsc();
	while ((result = pump_round(pump, session->is_requester)) == 0)
		if (is_shown)
			tell_progress(pump);
	stages_end(&session->stages);
	if (is_shown)
		fprintf(stderr, "\r%40s\r", "");
	if (result < 0) {
		if (session->is_requester)
			drain(pump);
		return -1;
	}
	if (session->is_responder && !options_is_reliable(session->opt))
		settle(pump);
	return pump->is_failed ? -1 : 0;
}

/* --- batches --------------------------------------------------------------------------------- */

static void
reset_batch(struct pump *pump, uint64_t first, uint64_t goal)
{
	requests_begin(&pump->requests, first);
	order_begin(&pump->order, &pump->requests, pump->session->endpoint.nb_qp);
	pump->goal = goal;
	pump->posted = pump->completed = pump->received = 0;
	pump->is_told = pump->is_peer_done = false;
	pump->peer_sent = 0;
	pump->recv_begin_tsc = pump->recv_end_tsc = 0;
}

/* Fill the slots that this side sends from, and spoil the slots that it receives into. */
static void
prepare_slots(struct pump *pump, unsigned qp_idx)
{
	const struct session *session = pump->session;
	const struct requests *requests = &pump->requests;
	enum perf_op op = session->opt->op;
	bool is_outbound = op == PERF_SEND || op == PERF_WRITE;
	bool is_source = is_outbound ? session->is_requester : session->is_responder;
	bool is_target = is_outbound ? session->is_responder : session->is_requester;
	size_t len = requests->layout.size;

	for (uint64_t i = 0; i < pump->goal; i++) {
		uint64_t number = requests_number(requests, qp_idx, requests->first + i);

		if (is_source && op != PERF_ATOMIC)
			verify_fill(requests_out(requests, qp_idx, i), len, number);
		if (is_target && op != PERF_SEND)
			verify_spoil(requests_in(requests, qp_idx, i), len, number);
	}
}

/*
 * Post receive requests. Messages use receive requests in the order of posting. If no receive
 * requests remain from an earlier batch, message i uses request i.
 */
static int
prepare_recvs(struct pump *pump, unsigned qp_idx)
{
	const struct options *opt = pump->session->opt;
	const struct requests *requests = &pump->requests;
	uint64_t waiting = requests_nb_recv(requests, qp_idx);

	if (!opt->is_verify)
		return requests_post_recv(&pump->requests, qp_idx, opt->rx_depth);
	for (uint64_t i = waiting; i < pump->goal; i++) {
		uint64_t slot = requests_next_recv_slot(requests, qp_idx, i - waiting);

		verify_spoil(requests_in(requests, qp_idx, slot) + requests->layout.head,
			     requests->layout.size,
			     requests_number(requests, qp_idx, requests->first + i));
	}
	return requests_post_recv(&pump->requests, qp_idx, pump->goal);
}

static int
prepare(struct pump *pump)
{
	const struct session *session = pump->session;
	const uint64_t zero = 0;

	for (unsigned i = 0; i < session->endpoint.nb_qp; i++) {
		if (session->opt->is_verify)
			prepare_slots(pump, i);
		if (session->opt->op == PERF_ATOMIC && pump->requests.first == 0)
			memcpy(requests_out(&pump->requests, i, 0), &zero, sizeof(zero));
		if (session->opt->op == PERF_SEND && session->is_responder &&
		    prepare_recvs(pump, i) != 0)
			return -1;
	}
	return 0;
}

/* Check the values that atomics returned, and the word that the peer's atomics changed. */
static void
check_atomics(struct pump *pump, unsigned qp_idx)
{
	struct session *session = pump->session;
	uint64_t last;

	for (uint64_t i = 0; session->is_requester && i < pump->goal; i++)
		verify_value(&session->verify, (uint64_t *)requests_in(&pump->requests, qp_idx, i),
			     pump->requests.first + i,
			     requests_number(&pump->requests, qp_idx, pump->requests.first + i));
	memcpy(&last, requests_out(&pump->requests, qp_idx, 0), sizeof(last));
	if (session->is_responder && last != pump->requests.first + pump->goal) {
		fprintf(stderr,
			"uroce-perf: verify: %" PRIu64 " atomics left the value %" PRIu64 "\n",
			pump->requests.first + pump->goal, last);
		session->verify.wrong += PERF_ATOMIC_LEN;
	}
}

static void
check_slots(struct pump *pump, unsigned qp_idx)
{
	struct session *session = pump->session;

	for (uint64_t i = 0; i < pump->goal; i++) {
		uint64_t number =
			requests_number(&pump->requests, qp_idx, pump->requests.first + i);
		uint8_t *at = requests_in(&pump->requests, qp_idx, i);

		if (options_is_reliable(session->opt))
			verify_message(&session->verify, at, pump->requests.layout.size, number);
		else
			verify_lossy(&session->verify, at, pump->requests.layout.size, number);
	}
}

/* Check the received data. Messages that arrive by SEND were checked when they arrived. */
static void
check(struct pump *pump)
{
	struct session *session = pump->session;
	enum perf_op op = session->opt->op;

	for (unsigned i = 0; i < session->endpoint.nb_qp; i++) {
		if (op == PERF_ATOMIC)
			check_atomics(pump, i);
		else if ((op == PERF_WRITE && session->is_responder) ||
			 (op == PERF_READ && session->is_requester))
			check_slots(pump, i);
	}
}

/*
 * Agree on the number of messages of the next batch; 0 ends the message size. Both sides use the
 * number of the client.
 */
static int
agree_batch(struct pump *pump, const struct total *total, uint64_t *goal)
{
	const struct options *opt = pump->session->opt;
	uint64_t iters = session_iters(pump->session, pump->requests.layout.size);
	uint64_t left = iters > total->messages ? iters - total->messages : 0;
	struct sync mine, theirs;

	if (opt->duration_s != 0)
		left = rte_rdtsc() >= pump->deadline ? 0 : UNTIL_DEADLINE;
	if (opt->is_verify && left > pump->requests.layout.slots)
		left = pump->requests.layout.slots;
	mine = (struct sync){ .value = { left } };
	if (session_sync(pump->session, "batch", &mine, &theirs) != 0)
		return -1;
	*goal = pump->session->is_client ? left : theirs.value[0];
	return 0;
}

static void
add_up(struct total *total, const struct pump *pump)
{
	double seconds = seconds_of(pump->end_tsc - pump->begin_tsc);
	double rate = seconds > 0 ? (double)pump->completed / seconds : 0;

	if (pump->goal == UNTIL_DEADLINE)
		total->messages = UINT64_MAX; /* with --duration this was the only batch */
	else
		total->messages += pump->goal;
	total->sent += pump->completed;
	total->received += pump->received;
	total->peer_sent += pump->peer_sent;
	total->seconds += seconds;
	total->recv_seconds += seconds_of(pump->recv_end_tsc - pump->recv_begin_tsc);
	if (rate > total->peak && pump->session->opt->is_verify)
		total->peak = rate;
}

static int
run_batches(struct pump *pump, struct total *total)
{
	struct sync none = { 0 }, theirs;
	uint64_t goal;

	for (;;) {
		if (agree_batch(pump, total, &goal) != 0)
			return -1;
		if (goal == 0)
			return 0;
		reset_batch(pump, total->messages, goal);
		if (prepare(pump) != 0 || session_sync(pump->session, "go", &none, &theirs) != 0 ||
		    run_pump(pump) != 0)
			return -1;
		if (pump->session->opt->is_verify)
			check(pump);
		if (pump->session->opt->op == PERF_SEND && pump->session->is_responder)
			pump->session->verify.lost += pump->peer_sent - pump->received;
		add_up(total, pump);
	}
}

/* --- the result ------------------------------------------------------------------------------ */

/*
 * Compute the peak rate: the best rate between the post of a request and the completion of the same
 * or a later one. Of completions with equal timestamps only the last is used.
 */
static double
peak_of(const struct pump *pump)
{
	double best = 0;

	if (pump->posted_tsc == NULL)
		return 0;
	for (uint64_t j = 0; j < pump->completed; j++) {
		if (j + 1 < pump->completed && pump->completed_tsc[j + 1] == pump->completed_tsc[j])
			continue;
		for (uint64_t i = 0; i <= j; i++) {
			uint64_t spent = pump->completed_tsc[j] - pump->posted_tsc[i];
			double rate = spent > 0 ? (double)(j - i + 1) / (double)spent : 0;

			if (rate > best)
				best = rate;
		}
	}
	return best * (double)rte_get_tsc_hz();
}

/*
 * Compute the bandwidth that is reported. With --bidirectional the rates of both sides are added.
 */
static struct bandwidth
result_of(const struct pump *pump, const struct total *total, const struct sync *theirs)
{
	const struct session *session = pump->session;
	bool is_sender = session->is_requester;
	double seconds = is_sender ? total->seconds : total->recv_seconds;
	struct bandwidth row = { .size = pump->requests.layout.size,
				 .messages = is_sender ? total->sent : total->received };

	row.messages_per_s = seconds > 0 ? (double)row.messages / seconds : 0;
	row.peak_bps = total->peak * (double)row.size;
	if (session->opt->is_bidir) {
		row.messages_per_s += (double)theirs->value[0] / 1e3;
		row.peak_bps += (double)theirs->value[1];
	}
	row.average_bps = row.messages_per_s * (double)row.size;
	return row;
}

/*
 * Exchange the results of the checks and the measured rates with the other side, and report them.
 */
static int
finish(struct pump *pump, struct total *total)
{
	struct session *session = pump->session;
	struct verify *verify = &session->verify;
	struct sync theirs, mine = { .value = { verify->messages, verify->bytes, verify->wrong,
						verify->lost } };
	struct sync rate = { .value = { total->seconds > 0 ? (uint64_t)((double)total->sent /
									total->seconds * 1e3)
							   : 0,
					0 } };

	if (total->peak == 0 && !session->opt->is_no_peak)
		total->peak = peak_of(pump);
	rate.value[1] = (uint64_t)(total->peak * (double)pump->requests.layout.size);
	if (session_sync(session, "checked", &mine, &theirs) != 0)
		return -1;
	verify->messages += theirs.value[0];
	verify->bytes += theirs.value[1];
	verify->wrong += theirs.value[2];
	verify->lost += theirs.value[3];
	session->wrong += verify->wrong;
	if (session_sync(session, "rate", &rate, &theirs) != 0)
		return -1;
	struct bandwidth row = result_of(pump, total, &theirs);
	if (session->is_requester || session->opt->op == PERF_SEND)
		report_bandwidth(&session->report, &row, verify);
	else
		report_answered(&session->report, row.size, total->peer_sent, verify);
	return 0;
}

static void
free_pump(struct pump *pump)
{
	requests_free(&pump->requests);
	free(pump->posted_tsc);
	free(pump->completed_tsc);
}

static int
make_times(struct pump *pump)
{
	const struct session *session = pump->session;
	uint64_t nb = session_iters(session, pump->requests.layout.size) * session->opt->nb_qp;

	if (session->opt->is_no_peak || session->opt->is_verify || session->opt->duration_s != 0 ||
	    nb > PERF_PEAK_ITERS || !session->is_requester)
		return 0;
	pump->times_max = nb;
	pump->posted_tsc = calloc(nb, sizeof(*pump->posted_tsc));
	pump->completed_tsc = calloc(nb, sizeof(*pump->completed_tsc));
	return pump->posted_tsc == NULL || pump->completed_tsc == NULL ? -1 : 0;
}

int
test_bw(struct session *session, uint64_t size)
{
	const struct options *opt = session->opt;
	bool is_flipped = session->verify.is_flipped;
	struct pump pump = { .session = session,
			     .deadline = rte_rdtsc() + opt->duration_s * rte_get_tsc_hz() };
	struct total total = { 0 };
	int result = -1;

	session->verify =
		(struct verify){ .is_selftest = opt->is_selftest, .is_flipped = is_flipped };
	stages_reset(&session->stages);
	if (requests_init(&pump.requests, session, size) != 0 || make_times(&pump) != 0)
		fprintf(stderr, "uroce-perf: no memory for %" PRIu64 " queue pairs\n", opt->nb_qp);
	else if (run_batches(&pump, &total) == 0)
		result = finish(&pump, &total);
	free_pump(&pump);
	return result;
}
