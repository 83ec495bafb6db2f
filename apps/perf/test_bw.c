/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bandwidth tests. The messages of a size are sent in batches. Without --verify one batch has
 * all messages. With --verify each batch has as many messages as the buffer has slots. Both sides
 * execute the same steps for a batch:
 *
 *	sync `batch`: the client sends the number of messages; 0 ends the test of the size
 *	prepare: slots are filled and poisoned (verify.h), receive requests are posted
 *	sync `go`
 *	transfer (transfer.c): requests are posted and completed
 *	check: received data is checked, with --verify
 *
 * The test of a size ends with sync `checked` and sync `rate`. Only the transfer is measured.
 */

#include "interval.h"
#include "order.h"
#include "requests.h"
#include "session.h"
#include "stop.h"
#include "test.h"
#include "transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

/*
 * The result of the test of one message size: sums over its batches, which are the messages between
 * two synchronizations of client and server, and the peak rate.
 */
struct total {
	uint64_t messages; /* number of messages of each QP */
	uint64_t sent, received;
	uint64_t peer_sent;
	double seconds, recv_seconds;
	double peak; /* highest rate in messages per second; 0 if it is not computed */
};

/* --- batches --------------------------------------------------------------------------------- */

static void
reset_batch(struct transfer *transfer, uint64_t first, uint64_t goal)
{
	requests_begin(&transfer->requests, first);
	order_begin(&transfer->order, &transfer->requests, transfer->session->endpoint.nb_qp);
	transfer->goal = goal;
	transfer->posted = transfer->completed = transfer->received = 0;
	transfer->is_done_sent = transfer->is_peer_done = false;
	transfer->peer_sent = 0;
	transfer->recv_begin_tsc = transfer->recv_end_tsc = 0;
}

/*
 * Fill the slots that this side sends from with data, and poison (verify.h) the slots that it
 * receives into.
 */
static void
prepare_slots(struct transfer *transfer, unsigned qp_idx)
{
	const struct session *session = transfer->session;
	const struct requests *requests = &transfer->requests;
	enum perf_op op = session->opt->op;
	bool is_outbound = op == PERF_SEND || op == PERF_WRITE;
	bool is_source = is_outbound ? session->is_requester : session->is_responder;
	bool is_target = is_outbound ? session->is_responder : session->is_requester;
	size_t len = requests->layout.size;

	for (uint64_t i = 0; i < transfer->goal; i++) {
		uint64_t number = requests_number(requests, qp_idx, requests->first + i);

		if (is_source && op != PERF_ATOMIC)
			verify_fill(requests_out(requests, qp_idx, i), len, number);
		if (is_target && op != PERF_SEND)
			verify_poison(requests_in(requests, qp_idx, i), len, number);
	}
}

/*
 * Post the receive requests of a batch. Messages use receive requests in the order of posting. So
 * message i of the batch uses the pending receive request with index i. With --verify the slot of
 * each new receive request is poisoned (verify.h) for the message that will arrive there.
 */
static int
prepare_recvs(struct transfer *transfer, unsigned qp_idx)
{
	const struct options *opt = transfer->session->opt;
	const struct requests *requests = &transfer->requests;
	uint64_t waiting = requests_nb_recv(requests, qp_idx);

	if (!opt->is_verify)
		return requests_post_recv(&transfer->requests, qp_idx, opt->rx_depth);
	for (uint64_t i = waiting; i < transfer->goal; i++) {
		uint64_t slot = requests_next_recv_slot(requests, qp_idx, i - waiting);

		verify_poison(requests_in(requests, qp_idx, slot) + requests->layout.head,
			      requests->layout.size,
			      requests_number(requests, qp_idx, requests->first + i));
	}
	return requests_post_recv(&transfer->requests, qp_idx, transfer->goal);
}

static int
prepare(struct transfer *transfer)
{
	const struct session *session = transfer->session;
	const uint64_t zero = 0;

	for (unsigned i = 0; i < session->endpoint.nb_qp; i++) {
		if (session->opt->is_verify)
			prepare_slots(transfer, i);
		if (session->opt->op == PERF_ATOMIC && transfer->requests.first == 0)
			memcpy(requests_out(&transfer->requests, i, 0), &zero, sizeof(zero));
		if (session->opt->op == PERF_SEND && session->is_responder &&
		    prepare_recvs(transfer, i) != 0)
			return -1;
	}
	return 0;
}

/*
 * Check the values that the atomics of this side have returned, and the 64-bit word in the buffer
 * that the peer's atomics have changed.
 */
static void
check_atomics(struct transfer *transfer, unsigned qp_idx)
{
	struct session *session = transfer->session;
	uint64_t last;

	for (uint64_t i = 0; session->is_requester && i < transfer->goal; i++)
		verify_value(
			&session->verify, (uint64_t *)requests_in(&transfer->requests, qp_idx, i),
			transfer->requests.first + i,
			requests_number(&transfer->requests, qp_idx, transfer->requests.first + i));
	memcpy(&last, requests_out(&transfer->requests, qp_idx, 0), sizeof(last));
	if (session->is_responder && last != transfer->requests.first + transfer->goal) {
		fprintf(stderr,
			"uroce-perf: verify: %" PRIu64 " atomics left the value %" PRIu64 "\n",
			transfer->requests.first + transfer->goal, last);
		session->verify.wrong += PERF_ATOMIC_LEN;
	}
}

static void
check_slots(struct transfer *transfer, unsigned qp_idx)
{
	struct session *session = transfer->session;

	for (uint64_t i = 0; i < transfer->goal; i++) {
		uint64_t number =
			requests_number(&transfer->requests, qp_idx, transfer->requests.first + i);
		uint8_t *at = requests_in(&transfer->requests, qp_idx, i);

		if (options_is_reliable(session->opt))
			verify_message(&session->verify, at, transfer->requests.layout.size,
				       number);
		else
			verify_lossy(&session->verify, at, transfer->requests.layout.size, number);
	}
}

/* Check the received data. Messages that arrive by SEND were checked when they arrived. */
static void
check(struct transfer *transfer)
{
	struct session *session = transfer->session;
	enum perf_op op = session->opt->op;

	for (unsigned i = 0; i < session->endpoint.nb_qp; i++) {
		if (op == PERF_ATOMIC)
			check_atomics(transfer, i);
		else if ((op == PERF_WRITE && session->is_responder) ||
			 (op == PERF_READ && session->is_requester))
			check_slots(transfer, i);
	}
}

/*
 * Agree on the number of messages of the next batch; 0 ends the test of this message size. Both
 * sides use the number of the client.
 */
static int
agree_batch(struct transfer *transfer, const struct total *total, uint64_t *goal)
{
	const struct options *opt = transfer->session->opt;
	uint64_t iters = session_iters(transfer->session, transfer->requests.layout.size);
	uint64_t left = iters > total->messages ? iters - total->messages : 0;
	struct sync mine, theirs;

	if (opt->duration_s != 0)
		left = total->messages == UINT64_MAX || rte_rdtsc() >= transfer->deadline
			       ? 0
			       : TRANSFER_UNTIL_DEADLINE;
	if (opt->is_verify && left > transfer->requests.layout.slots)
		left = transfer->requests.layout.slots;
	mine = (struct sync){ .value = { left } };
	if (session_sync(transfer->session, "batch", &mine, &theirs) != 0)
		return -1;
	*goal = transfer->session->is_client ? left : theirs.value[0];
	return 0;
}

/*
 * Get the interval of the transfer that is measured: the whole transfer, unless the option --margin
 * excludes its start and its end.
 */
static struct interval
measured_part(const struct transfer *transfer)
{
	if (interval_is_measured(transfer))
		return transfer->interval;
	return (struct interval){ .begin_tsc = transfer->begin_tsc,
				  .end_tsc = transfer->end_tsc,
				  .end_sent = transfer->completed,
				  .end_received = transfer->received };
}

static void
add_up(struct total *total, const struct transfer *transfer)
{
	struct interval measured = measured_part(transfer);
	double seconds = transfer_seconds(measured.end_tsc - measured.begin_tsc);
	double rate = seconds > 0 ? (double)transfer->completed / seconds : 0;

	if (transfer->goal == TRANSFER_UNTIL_DEADLINE)
		/* a test with --duration has only one batch, so no messages are left after it */
		total->messages = UINT64_MAX;
	else
		total->messages += transfer->goal;
	total->sent += measured.end_sent - measured.begin_sent;
	total->received += measured.end_received - measured.begin_received;
	total->peer_sent += transfer->peer_sent;
	total->seconds += seconds;
	total->recv_seconds +=
		interval_is_measured(transfer)
			? seconds
			: transfer_seconds(transfer->recv_end_tsc - transfer->recv_begin_tsc);
	if (rate > total->peak && transfer->session->opt->is_verify)
		total->peak = rate;
}

/*
 * Transfer a batch that fills the send queue of each QP once, so that the memory of both sides is
 * in the caches. This batch is not measured.
 */
static int
warm_up(struct transfer *transfer)
{
	const struct layout *layout = &transfer->requests.layout;
	const struct options *opt = transfer->session->opt;
	const uint64_t depth = opt->tx_depth;
	struct sync none = { 0 }, theirs;

	reset_batch(transfer, 0, opt->is_verify && depth > layout->slots ? layout->slots : depth);
	if (prepare(transfer) != 0 ||
	    session_sync(transfer->session, "warm", &none, &theirs) != 0 ||
	    transfer_run(transfer) != 0)
		return -1;
	measures_reset(&transfer->session->measures);
	/*
	 * Keep the wrong bytes that were found in the warm-up. Reset the numbers of checked
	 * messages and bytes, so that the report has those of the measured batches only.
	 */
	transfer->session->verify.messages = 0;
	transfer->session->verify.bytes = 0;
	return 0;
}

/*
 * Get the deadline of a message size whose test begins now: the test runs for the time of
 * --duration, or with --run_infinitely without a limit.
 */
static uint64_t
deadline_of(const struct options *opt)
{
	return opt->is_infinite ? UINT64_MAX : rte_rdtsc() + opt->duration_s * rte_get_tsc_hz();
}

static int
run_batches(struct transfer *transfer, struct total *total)
{
	struct sync none = { 0 }, theirs;
	uint64_t goal;

	if (transfer->session->opt->is_warmed_up && warm_up(transfer) != 0)
		return -1;
	transfer->deadline = deadline_of(transfer->session->opt);
	for (;;) {
		if (agree_batch(transfer, total, &goal) != 0)
			return -1;
		if (goal == 0)
			return 0;
		reset_batch(transfer, total->messages, goal);
		if (prepare(transfer) != 0 ||
		    session_sync(transfer->session, "go", &none, &theirs) != 0 ||
		    transfer_run(transfer) != 0)
			return -1;
		if (transfer->session->opt->is_verify)
			check(transfer);
		if (transfer->session->opt->op == PERF_SEND && transfer->session->is_responder)
			transfer->session->verify.lost += transfer->peer_sent - transfer->received;
		add_up(total, transfer);
	}
}

/* --- the result ------------------------------------------------------------------------------ */

/*
 * Compute the peak rate: the best rate between the post of a request and the completion of the same
 * or a later one. Of completions with equal timestamps only the last is used.
 */
static double
peak_of(const struct transfer *transfer)
{
	double best = 0;

	if (transfer->posted_tsc == NULL)
		return 0;
	for (uint64_t j = 0; j < transfer->completed; j++) {
		if (j + 1 < transfer->completed &&
		    transfer->completed_tsc[j + 1] == transfer->completed_tsc[j])
			continue;
		for (uint64_t i = 0; i <= j; i++) {
			uint64_t spent = transfer->completed_tsc[j] - transfer->posted_tsc[i];
			double rate = spent > 0 ? (double)(j - i + 1) / (double)spent : 0;

			if (rate > best)
				best = rate;
		}
	}
	return best * (double)rte_get_tsc_hz();
}

/* Compute the rates of this side. */
static struct bandwidth
local_rates(const struct transfer *transfer, const struct total *total)
{
	bool is_sender = transfer->session->is_requester;
	double seconds = is_sender ? total->seconds : total->recv_seconds;
	struct bandwidth row = { .size = transfer->requests.layout.size,
				 .messages = is_sender ? total->sent : total->received };

	row.messages_per_s = seconds > 0 ? (double)row.messages / seconds : 0;
	row.peak_bps = total->peak * (double)row.size;
	row.average_bps = row.messages_per_s * (double)row.size;
	return row;
}

/* Get the rates of the other side, which the other side has sent with the step `rate`. */
static struct bandwidth
remote_rates(const struct transfer *transfer, const struct total *total, const struct sync *theirs)
{
	struct bandwidth row = { .size = transfer->requests.layout.size,
				 .messages = total->peer_sent,
				 .messages_per_s = (double)theirs->value[0] / 1e3,
				 .peak_bps = (double)theirs->value[1] };

	row.average_bps = row.messages_per_s * (double)row.size;
	return row;
}

static void
report_rates(struct transfer *transfer, const struct total *total, const struct sync *theirs)
{
	struct session *session = transfer->session;
	struct bandwidth both[2] = { local_rates(transfer, total),
				     remote_rates(transfer, total, theirs) };
	struct bandwidth row = both[0];

	if (session->opt->is_bidir) {
		row.messages_per_s += both[1].messages_per_s;
		row.peak_bps += both[1].peak_bps;
		row.average_bps += both[1].average_bps;
	}
	report_bandwidth(&session->report, &row, &session->verify,
			 session->opt->is_bidir ? both : NULL);
}

/*
 * Exchange the results of the checks and the measured rates with the other side, and report them.
 */
static int
finish(struct transfer *transfer, struct total *total)
{
	struct session *session = transfer->session;
	struct verify *verify = &session->verify;
	struct sync theirs, mine = { .value = { verify->messages, verify->bytes, verify->wrong,
						verify->lost } };
	struct sync rate = { .value = { total->seconds > 0 ? (uint64_t)((double)total->sent /
									total->seconds * 1e3)
							   : 0,
					0 } };

	if (total->peak == 0 && !session->opt->is_no_peak)
		total->peak = peak_of(transfer);
	rate.value[1] = (uint64_t)(total->peak * (double)transfer->requests.layout.size);
	if (session_sync(session, "checked", &mine, &theirs) != 0)
		return -1;
	verify->messages += theirs.value[0];
	verify->bytes += theirs.value[1];
	verify->wrong += theirs.value[2];
	verify->lost += theirs.value[3];
	session->wrong += verify->wrong;
	if (session_sync(session, "rate", &rate, &theirs) != 0)
		return -1;
	if (session->opt->is_infinite)
		return 0; /* with --run_infinitely each interval was already reported */
	if (session->is_requester || session->opt->op == PERF_SEND)
		report_rates(transfer, total, &theirs);
	else
		report_answered(&session->report, transfer->requests.layout.size, total->peer_sent,
				verify);
	return 0;
}

static void
free_transfer(struct transfer *transfer)
{
	requests_free(&transfer->requests);
	free(transfer->posted_tsc);
	free(transfer->completed_tsc);
}

static int
make_times(struct transfer *transfer)
{
	const struct session *session = transfer->session;
	uint64_t nb = session_iters(session, transfer->requests.layout.size) * session->opt->nb_qp;

	if (session->opt->is_no_peak || session->opt->is_verify || session->opt->duration_s != 0 ||
	    nb > PERF_PEAK_ITERS || !session->is_requester)
		return 0;
	transfer->times_max = nb;
	transfer->posted_tsc = calloc(nb, sizeof(*transfer->posted_tsc));
	transfer->completed_tsc = calloc(nb, sizeof(*transfer->completed_tsc));
	return transfer->posted_tsc == NULL || transfer->completed_tsc == NULL ? -1 : 0;
}

int
test_bw(struct session *session, uint64_t size)
{
	const struct options *opt = session->opt;
	bool is_flipped = session->verify.is_flipped;
	struct transfer transfer = { .session = session };
	struct total total = { 0 };
	int result = -1;

	session->verify =
		(struct verify){ .is_selftest = opt->is_selftest, .is_flipped = is_flipped };
	measures_reset(&session->measures);
	pace_init(&transfer.pace, opt, size, rte_get_tsc_hz());
	if (requests_init(&transfer.requests, session, size) != 0 || make_times(&transfer) != 0)
		fprintf(stderr, "uroce-perf: no memory for %" PRIu64 " queue pairs\n", opt->nb_qp);
	else if (run_batches(&transfer, &total) == 0)
		result = finish(&transfer, &total);
	free_transfer(&transfer);
	return result;
}
