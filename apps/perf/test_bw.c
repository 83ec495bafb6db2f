/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bandwidth tests. The messages of a size are sent in batches. Without --verify one batch has
 * all messages. With --verify each batch has as many messages as the buffer has slots. Both sides
 * execute the same steps for a batch:
 *
 *	sync `batch`: the client sends the number of messages, 0 to end the size
 *	prepare: slots are filled and poisoned (verify.h), receive requests are posted
 *	sync `go`
 *	transfer: requests are posted and completed; a side whose requests have completed sends `done`
 *	check: received data is checked, with --verify
 *
 * A size ends with sync `checked` and sync `rate`. Only the transfer is measured.
 *
 * The file has more than 500 lines: because requests, completions and the result share the state of
 * one transfer.
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

struct transfer {
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
	uint64_t progress_tsc; /* TSC value at the last line about progress */
	bool is_failed;
	/* this side has sent the step `done`: its requests have completed */
	bool is_done_sent;
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
room_for(const struct transfer *transfer, const struct stream *stream)
{
	const struct options *opt = transfer->session->opt;
	/*
	 * a batch ends with a signaled request, so that its completion shows that all requests have
	 * completed
	 */
	const uint64_t left = transfer->goal == UNTIL_DEADLINE ? opt->cq_mod - stream->unsignaled
							       : transfer->goal - stream->posted;
	const uint64_t nb = left < opt->post_list ? left : opt->post_list;

	if (stream->posted + nb - stream->completed > opt->tx_depth)
		return 0;
	/* the clock is read only if the QP has room: if there are many QPs, most have none */
	if (transfer->goal == UNTIL_DEADLINE && stream->unsignaled == 0 &&
	    rte_rdtsc() >= transfer->deadline)
		return 0;
	return (unsigned)nb;
}

static int
post_list(struct transfer *transfer, unsigned qp_idx, unsigned nb)
{
	if (transfer->posted_tsc != NULL) {
		uint64_t now = rte_rdtsc();

		for (unsigned i = 0; i < nb && transfer->posted + i < transfer->times_max; i++)
			transfer->posted_tsc[transfer->posted + i] = now;
	}
	transfer->posted += nb;
	return requests_post_send(&transfer->requests, qp_idx, nb, transfer->session->opt->cq_mod,
				  transfer->goal - 1);
}

/*
 * Post a list of requests on randomly chosen QPs until the limit of messages in flight is reached.
 */
static int
post_in_random_order(struct transfer *transfer)
{
	const struct options *opt = transfer->session->opt;
	const uint64_t nb = opt->post_list;

	if (rte_rdtsc() >= transfer->deadline)
		return 0;
	for (unsigned draws = 0; draws < DRAWS; draws++) {
		if (transfer->posted + nb - transfer->completed > PERF_IN_FLIGHT)
			return 0;
		unsigned qp_idx = order_next(&transfer->order);
		const struct stream *stream = &transfer->requests.stream[qp_idx];

		if (stream->posted + nb - stream->completed <= opt->tx_depth &&
		    post_list(transfer, qp_idx, (unsigned)nb) != 0)
			return -1;
	}
	return 0;
}

static int
post_sends(struct transfer *transfer)
{
	if (transfer->session->opt->order == PERF_RANDOM)
		return post_in_random_order(transfer);
	for (unsigned i = 0; i < transfer->session->endpoint.nb_qp; i++) {
		unsigned nb;

		while ((nb = room_for(transfer, &transfer->requests.stream[i])) > 0)
			if (post_list(transfer, i, nb) != 0)
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
take_send(struct transfer *transfer, const struct ibv_wc *wc)
{
	struct stream *stream = &transfer->requests.stream[requests_qp_idx(wc)];
	uint32_t nb = requests_idx(wc) - (uint32_t)stream->completed + 1;

	if (transfer->completed_tsc != NULL) {
		uint64_t now = rte_rdtsc();

		for (uint32_t i = 0; i < nb && transfer->completed + i < transfer->times_max; i++)
			transfer->completed_tsc[transfer->completed + i] = now;
	}
	stream->completed += nb;
	transfer->completed += nb;
}

static void
check_received(struct transfer *transfer, const struct ibv_wc *wc)
{
	struct session *session = transfer->session;
	const struct requests *requests = &transfer->requests;
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
take_recvs(struct transfer *transfer, const struct ibv_wc *wc, int nb)
{
	const struct options *opt = transfer->session->opt;
	unsigned qp_idx = requests_qp_idx(wc);
	struct stream *stream = &transfer->requests.stream[qp_idx];
	int n = 0;

	if (transfer->received == 0)
		transfer->recv_begin_tsc = rte_rdtsc();
	do {
		if (opt->is_verify)
			check_received(transfer, &wc[n]);
		stream->received++;
	} while (++n < nb && is_received_by(&wc[n], qp_idx));
	transfer->session->endpoint.receives[qp_idx].done += (uint64_t)n;
	transfer->received += (uint64_t)n;
	if (opt->is_verify)
		/*
		 * with --verify all receive requests of a batch are posted before the batch begins
		 */
		return n;
	uint64_t missing = opt->rx_depth - requests_nb_recv(&transfer->requests, qp_idx);
	if ((missing >= RECV_BATCH || 2 * missing >= opt->rx_depth) &&
	    requests_post_recv(&transfer->requests, qp_idx, opt->rx_depth) != 0)
		transfer->is_failed = true;
	return n;
}

static void
take_failure(struct transfer *transfer, const struct ibv_wc *wc)
{
	bool is_recv = requests_is_recv(wc);

	failures_add(&transfer->session->failures, wc,
		     is_recv ? NULL : requests_name(&transfer->requests));
	transfer->is_failed = true;
	if (!is_recv)
		take_send(transfer, wc);
}

/* Poll completions and handle them. @return the number of completions */
static int
take_completions(struct transfer *transfer)
{
	struct ibv_wc wc[POLL_BATCH];
	int nb = endpoint_poll(&transfer->session->endpoint, POLL_BATCH, wc);

	for (int i = 0, n; i < nb; i += n) {
		n = 1;
		if (wc[i].status != IBV_WC_SUCCESS)
			take_failure(transfer, &wc[i]);
		else if (requests_is_recv(&wc[i]))
			n = take_recvs(transfer, &wc[i], nb - i);
		else
			take_send(transfer, &wc[i]);
	}
	if (nb > 0 && requests_is_recv(&wc[nb - 1]))
		transfer->recv_end_tsc = rte_rdtsc();
	if (nb < 0) {
		fprintf(stderr, "uroce-perf: poll the completion queue: error %d\n", nb);
		transfer->is_failed = true;
	}
	return nb;
}

/* --- the transfer -------------------------------------------------------------------------------- */

static void
print_progress(struct transfer *transfer)
{
	uint64_t now = rte_rdtsc();
	const struct options *opt = transfer->session->opt;

	if (now - transfer->progress_tsc < PROGRESS_S * rte_get_tsc_hz())
		return;
	transfer->progress_tsc = now;
	double spent = seconds_of(now - transfer->begin_tsc);
	double rate = (double)transfer->completed * (double)transfer->requests.layout.size / spent;
	fprintf(stderr, "\r%4.0f s of %" PRIu64 " s: %.2f %s/sec ", spent, opt->duration_s,
		rate / (opt->is_gbits ? 1e9 / 8 : 1 << 20), opt->is_gbits ? "Gb" : "MB");
}

static bool
is_progress_shown(const struct transfer *transfer)
{
	return transfer->goal == UNTIL_DEADLINE && transfer->session->is_client &&
	       isatty(STDERR_FILENO);
}

static bool
is_sending_over(const struct transfer *transfer)
{
	if (transfer->session->is_peer_gone)
		return transfer->completed == transfer->posted;
	if (transfer->goal == UNTIL_DEADLINE)
		return transfer->completed == transfer->posted && rte_rdtsc() >= transfer->deadline;
	return transfer->completed == transfer->goal * transfer->session->endpoint.nb_qp;
}

/*
 * Check whether all messages of the peer have arrived.
 * @return 1 if all have arrived, 0 if not yet, -1 if the peer has failed
 */
static int
is_receiving_over(struct transfer *transfer)
{
	struct session *session = transfer->session;

	if (!transfer->is_peer_done) {
		struct sync theirs;
		int got = session_poll(session, "done", &theirs);

		if (got <= 0)
			return got;
		transfer->is_peer_done = true;
		transfer->peer_sent = theirs.value[0];
	}
	return session->opt->op != PERF_SEND || !session->is_responder ||
	       !options_is_reliable(session->opt) || transfer->received >= transfer->peer_sent;
}

/*
 * Wait for the completions of all requests after an error or after the peer has ended. Every
 * request completes, with success or in error.
 */
static void
drain(struct transfer *transfer)
{
	const struct options *opt = transfer->session->opt;
	double ack_s = 4.096e-6 * ldexp(1, (int)opt->timeout_code);
	double limit_s = 1 + 4 * ack_s * (double)(opt->retry_cnt + 1);
	uint64_t deadline = rte_rdtsc() + (uint64_t)(limit_s * (double)rte_get_tsc_hz());

	while (transfer->completed < transfer->posted && rte_rdtsc() < deadline && !stop_is_asked())
		if (take_completions(transfer) < 0)
			return;
	if (transfer->completed < transfer->posted && !stop_is_asked())
		fprintf(stderr,
			"uroce-perf: %" PRIu64 " requests have not completed within %.1f s\n",
			transfer->posted - transfer->completed, limit_s);
}

/* Receive the messages of an unreliable transport that are still in flight. */
static void
settle(struct transfer *transfer)
{
	uint64_t window = SETTLE_US * rte_get_tsc_hz() / 1000000;
	uint64_t quiet_since = rte_rdtsc();

	while (rte_rdtsc() - quiet_since < window && !transfer->is_failed) {
		if (take_completions(transfer) > 0 ||
		    endpoint_drive(&transfer->session->endpoint) > 0)
			quiet_since = rte_rdtsc();
		if (transfer->session->opt->op == PERF_SEND &&
		    transfer->received >= transfer->peer_sent)
			return;
	}
}

static int
send_done(struct transfer *transfer)
{
	struct sync mine = { .value = { transfer->completed } };

	transfer->end_tsc = rte_rdtsc();
	transfer->is_done_sent = true;
	return session_send(transfer->session, "done", &mine);
}

/*
 * Execute one round of run_transfer(): post, complete, and check whether the batch is over.
 * @return 1 if the batch is over, 0 if it continues, -1 if it failed
 */
static int
transfer_round(struct transfer *transfer, bool is_requester)
{
	struct session *session = transfer->session;
	int over;

	if (is_requester && !transfer->is_done_sent && post_sends(transfer) != 0)
		return -1;
	int taken = take_completions(transfer);
	if (transfer->is_failed)
		return -1;
	if (!transfer->is_done_sent && (!is_requester || is_sending_over(transfer)) &&
	    send_done(transfer) != 0)
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
	over = is_receiving_over(transfer);
	if (over < 0)
		return -1;
	return over > 0 && transfer->is_done_sent;
}

static int
run_transfer(struct transfer *transfer)
{
	struct session *session = transfer->session;
	bool is_shown = is_progress_shown(transfer);
	int result;

	stages_begin(&session->stages);
	transfer->begin_tsc = transfer->progress_tsc = rte_rdtsc();
	while ((result = transfer_round(transfer, session->is_requester)) == 0)
		if (is_shown)
			print_progress(transfer);
	stages_end(&session->stages);
	if (is_shown)
		fprintf(stderr, "\r%40s\r", "");
	if (result < 0) {
		if (session->is_requester)
			drain(transfer);
		return -1;
	}
	if (session->is_responder && !options_is_reliable(session->opt))
		settle(transfer);
	return transfer->is_failed ? -1 : 0;
}

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

/* Fill the slots that this side sends from, and poison the slots that it receives into. */
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
 * Post receive requests. Messages use receive requests in the order of posting. If no receive
 * requests remain from an earlier batch, message i uses request i.
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

/* Check the values that atomics returned, and the word that the peer's atomics changed. */
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
 * Agree on the number of messages of the next batch; 0 ends the message size. Both sides use the
 * number of the client.
 */
static int
agree_batch(struct transfer *transfer, const struct total *total, uint64_t *goal)
{
	const struct options *opt = transfer->session->opt;
	uint64_t iters = session_iters(transfer->session, transfer->requests.layout.size);
	uint64_t left = iters > total->messages ? iters - total->messages : 0;
	struct sync mine, theirs;

	if (opt->duration_s != 0)
		left = rte_rdtsc() >= transfer->deadline ? 0 : UNTIL_DEADLINE;
	if (opt->is_verify && left > transfer->requests.layout.slots)
		left = transfer->requests.layout.slots;
	mine = (struct sync){ .value = { left } };
	if (session_sync(transfer->session, "batch", &mine, &theirs) != 0)
		return -1;
	*goal = transfer->session->is_client ? left : theirs.value[0];
	return 0;
}

static void
add_up(struct total *total, const struct transfer *transfer)
{
	double seconds = seconds_of(transfer->end_tsc - transfer->begin_tsc);
	double rate = seconds > 0 ? (double)transfer->completed / seconds : 0;

	if (transfer->goal == UNTIL_DEADLINE)
		total->messages = UINT64_MAX; /* with --duration this was the only batch */
	else
		total->messages += transfer->goal;
	total->sent += transfer->completed;
	total->received += transfer->received;
	total->peer_sent += transfer->peer_sent;
	total->seconds += seconds;
	total->recv_seconds += seconds_of(transfer->recv_end_tsc - transfer->recv_begin_tsc);
	if (rate > total->peak && transfer->session->opt->is_verify)
		total->peak = rate;
}

static int
run_batches(struct transfer *transfer, struct total *total)
{
	struct sync none = { 0 }, theirs;
	uint64_t goal;

	for (;;) {
		if (agree_batch(transfer, total, &goal) != 0)
			return -1;
		if (goal == 0)
			return 0;
		reset_batch(transfer, total->messages, goal);
		if (prepare(transfer) != 0 ||
		    session_sync(transfer->session, "go", &none, &theirs) != 0 ||
		    run_transfer(transfer) != 0)
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

/*
 * Compute the bandwidth that is reported. With --bidirectional the rates of both sides are added.
 */
static struct bandwidth
result_of(const struct transfer *transfer, const struct total *total, const struct sync *theirs)
{
	const struct session *session = transfer->session;
	bool is_sender = session->is_requester;
	double seconds = is_sender ? total->seconds : total->recv_seconds;
	struct bandwidth row = { .size = transfer->requests.layout.size,
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
	struct bandwidth row = result_of(transfer, total, &theirs);
	if (session->is_requester || session->opt->op == PERF_SEND)
		report_bandwidth(&session->report, &row, verify);
	else
		report_answered(&session->report, row.size, total->peer_sent, verify);
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
	struct transfer transfer = { .session = session,
				     .deadline = rte_rdtsc() + opt->duration_s * rte_get_tsc_hz() };
	struct total total = { 0 };
	int result = -1;

	session->verify =
		(struct verify){ .is_selftest = opt->is_selftest, .is_flipped = is_flipped };
	stages_reset(&session->stages);
	if (requests_init(&transfer.requests, session, size) != 0 || make_times(&transfer) != 0)
		fprintf(stderr, "uroce-perf: no memory for %" PRIu64 " queue pairs\n", opt->nb_qp);
	else if (run_batches(&transfer, &total) == 0)
		result = finish(&transfer, &total);
	free_transfer(&transfer);
	return result;
}
