/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The latency tests. For SEND and WRITE the client sends a message and the server returns one with
 * the same operation. Half of the round-trip time is reported. For READ and atomics the transport
 * of the server responds, and the program of the server only drives its workers. The whole
 * round-trip time is reported.
 *
 * A side notices a WRITE by its last byte, which contains the number of the round, and which the
 * transport places last. A side that polls this byte also drives its workers, because another
 * thread would not do so as fast.
 *
 * The client decides when the test of a message size ends. The server then receives the step
 * `over`.
 *
 * The file has more than 500 lines: both sides of a round share the state of one test.
 */

#include "requests.h"
#include "session.h"
#include "stop.h"
#include "test.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

/*
 * time in seconds after which a message of an unreliable transport without a response counts as
 * lost
 */
#define SILENCE_S 10
/*
 * number of rounds of a waiting loop between two checks for rare events, such as a failure of the
 * peer
 */
#define POLL_EVERY 64

struct pingpong {
	struct session *session;
	struct requests requests;
	uint64_t rounds; /* number of rounds of the test that are finished */
	/* number of rounds to execute; UINT64_MAX if the deadline ends the test */
	uint64_t goal;
	uint64_t measured; /* number of rounds whose time was measured */
	/* TSC values between which the time of rounds is measured */
	uint64_t measure_begin, measure_end;
	uint64_t deadline;     /* end of the time of --duration, as a TSC value */
	uint64_t progress_tsc; /* TSC value when the progress was last printed */
	uint64_t waiting_since;
	bool is_over; /* the client has ended the test of this message size */
	bool is_failed;
	/* the latency of each round, in the unit of the report; NULL if only the sum is kept */
	double *times;
	/* histogram of the latencies, used with --histogram and --plot */
	struct histogram histogram;
	double sum;
};

static bool
is_one_sided(const struct session *session)
{
	return session->opt->op == PERF_READ || session->opt->op == PERF_ATOMIC;
}

/* Get the number of TSC cycles in one unit of the report, which is a microsecond or a cycle. */
static double
cycles_per_unit(const struct pingpong *pp)
{
	return pp->session->opt->is_cycles ? 1 : (double)rte_get_tsc_hz() / 1e6;
}

/*
 * Get the factor from the values of the histogram (nanoseconds, or cycles) to the unit of the
 * report (microseconds, or cycles).
 */
static double
histogram_scale(const struct pingpong *pp)
{
	return pp->session->opt->is_cycles ? 1 : 1e-3;
}

static bool
has_histogram(const struct pingpong *pp)
{
	return pp->session->opt->is_histogram || pp->session->opt->plot_file != NULL;
}

/*
 * Get the last byte of the message in a round. It differs from the last byte in the previous round,
 * so a WRITE of this round can be noticed.
 */
static uint8_t
stamp_of(uint64_t round)
{
	return (uint8_t)(round + 1);
}

/* --- completions ----------------------------------------------------------------------------- */

/*
 * Check a received message. The number of the message is the number of messages received before it.
 * It is not the number of the current round, because the message of the next round may arrive
 * before the current round ends.
 */
static void
check_received(struct pingpong *pp, const struct ibv_wc *wc)
{
	const struct requests *requests = &pp->requests;
	size_t head = requests->layout.head;
	uint8_t *at = requests_in(requests, 0, requests_idx(wc)) + head;

	if (wc->byte_len - head != requests->layout.size) {
		fprintf(stderr, "uroce-perf: verify: a message of %zu bytes instead of %zu\n",
			wc->byte_len - head, requests->layout.size);
		pp->session->verify.wrong += requests->layout.size;
		return;
	}
	verify_message(&pp->session->verify, at, requests->layout.size,
		       requests->stream[0].received);
}

static void
take(struct pingpong *pp, const struct ibv_wc *wc)
{
	bool is_recv = requests_is_recv(wc);

	if (wc->status != IBV_WC_SUCCESS) {
		failures_add(&pp->session->failures, wc,
			     is_recv ? NULL : requests_name(&pp->requests));
		pp->is_failed = true;
	} else if (is_recv && pp->session->opt->is_verify) {
		check_received(pp, wc);
	}
	if (is_recv) {
		pp->session->endpoint.receives[0].done++;
		pp->requests.stream[0].received++;
	} else {
		pp->requests.stream[0].completed++;
	}
}

static void
take_completions(struct pingpong *pp)
{
	struct ibv_wc wc[4];
	int nb = endpoint_poll(&pp->session->endpoint, 4, wc);

	for (int i = 0; i < nb; i++)
		take(pp, &wc[i]);
	if (nb < 0) {
		fprintf(stderr, "uroce-perf: poll the completion queue: error %d\n", nb);
		pp->is_failed = true;
	}
}

/* --- waiting --------------------------------------------------------------------------------- */

/*
 * Check for events that end a wait early, such as a failed request, a signal, or the step `over` of
 * the client.
 * @return 0 if the wait goes on, -1 if it has to end
 */
static int
poll_events(struct pingpong *pp)
{
	struct session *session = pp->session;
	struct sync theirs;

	if (pp->is_failed || stop_is_asked())
		return -1;
	if (!session->is_client && !pp->is_over) {
		int got = session_poll(session, "over", &theirs);

		if (got < 0)
			return -1;
		pp->is_over = got > 0;
	} else if (session->is_client && session_poll(session, "over", &theirs) != 0) {
		/*
		 * The server sends a line only after the client has sent the step `over`, or if the
		 * server has failed. So a line or an error at this point means that the server has
		 * failed.
		 */
		return -1;
	}
	if (!options_is_reliable(session->opt) && session->is_client &&
	    rte_rdtsc() - pp->waiting_since > SILENCE_S * rte_get_tsc_hz()) {
		fprintf(stderr,
			"uroce-perf: no answer to message %" PRIu64
			" within %d s: lost, and %s does not repair it\n",
			pp->rounds, SILENCE_S, options_conn_name(session->opt));
		return -1;
	}
	return 0;
}

/* Get the number of rounds of a waiting loop between two calls of poll_events(). */
static unsigned
poll_every(const struct pingpong *pp)
{
	/*
	 * with --events each round of the loop may sleep, so poll_events() is called in each round
	 */
	return pp->session->opt->is_events ? 1 : POLL_EVERY;
}

/* Check whether the other side's SEND of the current round has arrived. */
static bool
has_received(struct pingpong *pp)
{
	if (pp->requests.stream[0].received <= pp->rounds)
		take_completions(pp);
	return pp->requests.stream[0].received > pp->rounds;
}

/*
 * Check whether the other side's WRITE of the current round has arrived. The transport places the
 * last byte last, so all other bytes are visible after the acquire load of this byte.
 */
static bool
has_arrived(struct pingpong *pp)
{
	const struct layout *layout = &pp->requests.layout;
	_Atomic uint8_t *last =
		(_Atomic uint8_t *)(requests_in(&pp->requests, 0, 0) + layout->size - 1);

	if (atomic_load_explicit(last, memory_order_acquire) == stamp_of(pp->rounds))
		return true;
	take_completions(pp);
	return false;
}

/* Get the number of send requests that were posted and have not completed. */
static uint64_t
nb_open_now(const struct pingpong *pp)
{
	return pp->requests.stream[0].posted - pp->requests.stream[0].completed;
}

/*
 * Wait for the other side's message of the current round.
 * @return 1 if the message has arrived, 0 if the client has ended the test of this message size, -1
 *         if the test has failed
 */
static int
wait_message(struct pingpong *pp)
{
	bool is_write = pp->session->opt->op == PERF_WRITE;

	pp->waiting_since = rte_rdtsc();
	for (unsigned spins = 1;; spins++) {
		if (is_write ? has_arrived(pp) : has_received(pp))
			return pp->is_failed ? -1 : 1;
		if (pp->is_over)
			return 0;
		if (spins % poll_every(pp) == 0 && poll_events(pp) != 0)
			return -1;
	}
}

/*
 * Wait until no more than `nb_open` send requests are pending.
 * @return 0, or -1 if a request failed or the run was stopped
 */
static int
wait_completions(struct pingpong *pp, uint64_t nb_open)
{
	pp->waiting_since = rte_rdtsc();
	for (unsigned spins = 1; nb_open_now(pp) > nb_open; spins++) {
		take_completions(pp);
		if (spins % poll_every(pp) == 0 && poll_events(pp) != 0)
			return -1;
	}
	return pp->is_failed ? -1 : 0;
}

/*
 * Wait until the send queue has room for one request. The requests in the queue may complete later,
 * while the program waits for the message of the other side.
 */
static int
wait_depth(struct pingpong *pp)
{
	return wait_completions(pp, pp->session->opt->tx_depth - 1);
}

/*
 * Wait until the buffer of the message may be written again: if the message was not sent inline,
 * its request must have completed.
 */
static int
wait_buffer(struct pingpong *pp)
{
	return pp->requests.layout.size <= pp->session->opt->inline_len ? 0
									: wait_completions(pp, 0);
}

/* --- messages -------------------------------------------------------------------------------- */

static int
post(struct pingpong *pp)
{
	const struct session *session = pp->session;
	const struct requests *requests = &pp->requests;
	uint8_t *out = requests_out(requests, 0, 0);

	if (session->opt->is_verify && !is_one_sided(session))
		verify_fill(out, requests->layout.size, pp->rounds);
	if (session->opt->is_verify && is_one_sided(session))
		verify_poison(requests_in(requests, 0, 0), requests->layout.size,
			      session->opt->op == PERF_READ ? 0 : pp->rounds);
	if (session->opt->op == PERF_WRITE)
		out[requests->layout.size - 1] = stamp_of(pp->rounds);
	return requests_post_send(&pp->requests, 0, 1, 1, UINT64_MAX);
}

/*
 * Check a message that a WRITE placed, except for its last byte, which is the number of the round.
 * Then poison the buffer for the next message.
 */
static void
check_written(struct pingpong *pp)
{
	const struct requests *requests = &pp->requests;
	size_t len = requests->layout.size;
	uint8_t *at = requests_in(requests, 0, 0);
	struct verify *verify = &pp->session->verify;

	if (len > 1) {
		verify_message(verify, at, len - 1, pp->rounds);
		verify_poison(at, len - 1, pp->rounds + 1);
	} else {
		verify->messages++;
	}
	verify->bytes += len > 1 ? 1 : len;
}

static void
check_answer(struct pingpong *pp)
{
	const struct requests *requests = &pp->requests;
	struct verify *verify = &pp->session->verify;
	uint8_t *at = requests_in(requests, 0, 0);

	if (pp->session->opt->op == PERF_ATOMIC)
		verify_value(verify, (uint64_t *)at, pp->rounds, pp->rounds);
	else
		verify_message(verify, at, requests->layout.size, 0);
}

/* Post receive requests in place of those that messages have used. */
static int
renew_receive(struct pingpong *pp)
{
	if (pp->session->opt->op != PERF_SEND)
		return 0;
	return requests_post_recv(&pp->requests, 0, pp->session->opt->rx_depth);
}

/* --- rounds ---------------------------------------------------------------------------------- */

/* Wait for the time of --latency_gap, and drive the workers meanwhile. */
static void
wait_gap(struct pingpong *pp)
{
	const uint64_t end = rte_rdtsc() + pp->session->opt->gap_us * rte_get_tsc_hz() / 1000000;

	while (rte_rdtsc() < end)
		endpoint_drive(&pp->session->endpoint);
}

/* Add the time of a round, which is `tsc` cycles of the TSC, to the results. */
static void
add_time(struct pingpong *pp, uint64_t tsc)
{
	double spent = (double)tsc / cycles_per_unit(pp) / (is_one_sided(pp->session) ? 1 : 2);

	pp->sum += spent;
	pp->measured++;
	if (pp->times != NULL)
		pp->times[pp->rounds] = spent;
	if (has_histogram(pp))
		histogram_add(&pp->histogram, (uint64_t)(spent / histogram_scale(pp)));
}

/*
 * Execute one round of the client: send a message, or post a READ or an atomic, and wait for the
 * response.
 * @return 1, or -1 if the round failed or the run was stopped
 */
static int
client_round(struct pingpong *pp)
{
	if (pp->session->opt->gap_us != 0)
		wait_gap(pp);
	uint64_t begin = rte_rdtsc();

	if (post(pp) != 0 || wait_depth(pp) != 0)
		return -1;
	if (is_one_sided(pp->session) ? wait_completions(pp, 0) != 0 : wait_message(pp) <= 0)
		return -1;
	if (begin >= pp->measure_begin && begin < pp->measure_end)
		add_time(pp, rte_rdtsc() - begin);
	if (pp->session->opt->is_verify && is_one_sided(pp->session))
		check_answer(pp);
	if (pp->session->opt->is_verify && pp->session->opt->op == PERF_WRITE)
		check_written(pp);
	if (wait_buffer(pp) != 0 || renew_receive(pp) != 0)
		return -1;
	pp->rounds++;
	return 1;
}

static int
server_round(struct pingpong *pp)
{
	if (is_one_sided(pp->session)) {
		if (pp->session->opt->is_events)
			take_completions(pp);
		for (unsigned i = 0; i < poll_every(pp); i++)
			endpoint_drive(&pp->session->endpoint);
		if (poll_events(pp) != 0)
			return -1;
		return pp->is_over ? 0 : 1;
	}
	int got = wait_message(pp);
	if (got <= 0)
		return got;
	if (pp->session->opt->is_verify && pp->session->opt->op == PERF_WRITE)
		check_written(pp);
	if (post(pp) != 0 || wait_depth(pp) != 0 || wait_buffer(pp) != 0 || renew_receive(pp) != 0)
		return -1;
	pp->rounds++;
	return 1;
}

static bool
is_client_through(const struct pingpong *pp)
{
	return pp->goal == UINT64_MAX ? rte_rdtsc() >= pp->deadline : pp->rounds >= pp->goal;
}

static void
print_progress(struct pingpong *pp)
{
	uint64_t now = rte_rdtsc();

	if (now - pp->progress_tsc < rte_get_tsc_hz())
		return;
	pp->progress_tsc = now;
	fprintf(stderr, "\r%4.0f s of %" PRIu64 " s: %.2f %s ",
		(double)pp->session->opt->duration_s -
			(double)(pp->deadline - now) / (double)rte_get_tsc_hz(),
		pp->session->opt->duration_s, pp->sum / (double)(pp->measured + 1),
		pp->session->opt->is_cycles ? "cycles" : "usec");
}

static int
run_client(struct pingpong *pp)
{
	const struct sync none = { 0 };
	bool is_shown = pp->goal == UINT64_MAX && isatty(STDERR_FILENO);

	while (!is_client_through(pp)) {
		if (client_round(pp) < 0)
			return -1;
		if (is_shown)
			print_progress(pp);
	}
	if (is_shown)
		fprintf(stderr, "\r%40s\r", "");
	if (wait_completions(pp, 0) != 0)
		return -1;
	return session_send(pp->session, "over", &none);
}

static int
run_server(struct pingpong *pp)
{
	int result;

	do
		result = server_round(pp);
	while (result > 0);
	if (result < 0 || wait_completions(pp, 0) != 0)
		return -1;
	const struct sync none = { 0 };
	return session_send(pp->session, "over", &none);
}

/*
 * Wait for the completions of all requests after an error. If the peer does not respond, the
 * retries run out and the requests fail.
 */
static void
drain(struct pingpong *pp)
{
	const struct options *opt = pp->session->opt;
	double ack_s = 4.096e-6 * ldexp(1, (int)opt->timeout_code);
	double limit_s = 1 + 4 * ack_s * (double)(opt->retry_cnt + 1);
	uint64_t deadline = rte_rdtsc() + (uint64_t)(limit_s * (double)rte_get_tsc_hz());

	while (nb_open_now(pp) > 0 && rte_rdtsc() < deadline && !stop_is_asked())
		take_completions(pp);
}

/* --- the result ------------------------------------------------------------------------------ */

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
percentile(const struct pingpong *pp, double share)
{
	uint64_t idx = (uint64_t)ceil((double)pp->rounds * share);

	return pp->times[idx > 0 ? idx - 1 : 0];
}

static struct latency
result_of(struct pingpong *pp)
{
	struct latency row = { .size = pp->requests.layout.size, .messages = pp->measured };
	double squares = 0;

	if (pp->measured == 0)
		return row;
	row.average = pp->sum / (double)pp->measured;
	row.messages_per_s = (double)rte_get_tsc_hz() / (row.average * cycles_per_unit(pp) *
							 (is_one_sided(pp->session) ? 1 : 2));
	row.histogram = has_histogram(pp) ? &pp->histogram : NULL;
	row.scale = histogram_scale(pp);
	if (pp->times == NULL)
		return row;
	if (pp->session->opt->is_time_list)
		report_times(&pp->session->report, pp->times, pp->rounds);
	qsort(pp->times, pp->rounds, sizeof(*pp->times), compare_doubles);
	if (pp->session->opt->is_sorted_list)
		report_times(&pp->session->report, pp->times, pp->rounds);
	for (uint64_t i = 0; i < pp->rounds; i++)
		squares += (pp->times[i] - row.average) * (pp->times[i] - row.average);
	row.min = pp->times[0];
	row.max = pp->times[pp->rounds - 1];
	row.typical = percentile(pp, 0.5);
	row.deviation = sqrt(squares / (double)pp->rounds);
	row.p90 = percentile(pp, 0.9);
	row.p99 = percentile(pp, 0.99);
	row.p999 = percentile(pp, 0.999);
	row.p9999 = percentile(pp, 0.9999);
	return row;
}

static int
finish(struct pingpong *pp)
{
	struct session *session = pp->session;
	struct verify *verify = &session->verify;
	struct sync theirs, mine = { .value = { verify->messages, verify->bytes, verify->wrong,
						verify->lost } };

	if (session_sync(session, "checked", &mine, &theirs) != 0)
		return -1;
	verify->messages += theirs.value[0];
	verify->bytes += theirs.value[1];
	verify->wrong += theirs.value[2];
	verify->lost += theirs.value[3];
	session->wrong += verify->wrong;
	if (session->is_client) {
		struct latency row = result_of(pp);

		report_latency(&session->report, &row, verify);
	} else {
		report_answered(&session->report, pp->requests.layout.size, pp->rounds, verify);
	}
	return 0;
}

static int
prepare(struct pingpong *pp)
{
	const struct session *session = pp->session;
	const struct requests *requests = &pp->requests;
	size_t len = requests->layout.size;
	uint8_t *in = requests_in(requests, 0, 0) + requests->layout.head;

	requests_begin(&pp->requests, 0);
	if (session->opt->op == PERF_ATOMIC)
		memset(requests_out(requests, 0, 0), 0, PERF_ATOMIC_LEN);
	else if (session->opt->is_verify)
		verify_fill(requests_out(requests, 0, 0), len, 0);
	if (session->opt->is_verify)
		verify_poison(in, len, 0);
	if (session->opt->op == PERF_WRITE)
		in[len - 1] = 0;
	return renew_receive(pp);
}

static int
run(struct pingpong *pp)
{
	struct session *session = pp->session;
	struct sync none = { 0 }, theirs;
	int result;

	if (prepare(pp) != 0 || session_sync(session, "go", &none, &theirs) != 0)
		return -1;
	pp->deadline = rte_rdtsc() + session->opt->duration_s * rte_get_tsc_hz();
	pp->progress_tsc = rte_rdtsc();
	pp->measure_end = UINT64_MAX;
	if (session->opt->margin_s != 0) {
		pp->measure_begin = pp->progress_tsc + session->opt->margin_s * rte_get_tsc_hz();
		pp->measure_end = pp->deadline - session->opt->margin_s * rte_get_tsc_hz();
	}
	measures_begin(&session->measures);
	result = session->is_client ? run_client(pp) : run_server(pp);
	measures_end(&session->measures);
	if (result == 0 && session->is_client)
		while ((result = session_poll(session, "over", &theirs)) == 0) {
			if (stop_is_asked())
				return -1;
			endpoint_drive(&session->endpoint);
		}
	if (result < 0) {
		drain(pp);
		return -1;
	}
	return finish(pp);
}

int
test_lat(struct session *session, uint64_t size)
{
	const struct options *opt = session->opt;
	struct pingpong pp = { .session = session,
			       .goal = opt->duration_s != 0 ? UINT64_MAX
							    : session_iters(session, size) };
	int result = -1;

	session->verify = (struct verify){ .is_selftest = opt->is_selftest,
					   .is_flipped = session->verify.is_flipped };
	measures_reset(&session->measures);
	if (opt->duration_s == 0 && session->is_client)
		pp.times = calloc(pp.goal, sizeof(*pp.times));
	if (requests_init(&pp.requests, session, size) != 0 ||
	    (opt->duration_s == 0 && session->is_client && pp.times == NULL))
		fprintf(stderr, "uroce-perf: no memory for %" PRIu64 " times\n", pp.goal);
	else
		result = run(&pp);
	requests_free(&pp.requests);
	free(pp.times);
	return result;
}
