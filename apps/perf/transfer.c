/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One side of a transfer posts send requests while the limit of its queues permits, and polls
 * completions. When its last request has completed, it sends the step `done` with the number of its
 * messages. A side that receives SENDs continues until it has received the number of messages that
 * the peer has sent in `done`.
 */

#include "transfer.h"
#include "interval.h"
#include "stop.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define POLL_BATCH 16
/* number of random QPs that --qp-order=random chooses between two polls */
#define DRAWS 64
/*
 * time in microseconds without an arrival after which no more messages of an unreliable transport
 * are expected
 */
#define SETTLE_US  20000
#define PROGRESS_S 1
/* time in seconds for which other programs may have the CPU while requests complete in error */
#define HANG_S 30

/* --- requests -------------------------------------------------------------------------------- */

/*
 * Get the number of requests that a QP may post now: the length of the next list of requests, or 0.
 */
static unsigned
room_for(const struct transfer *transfer, const struct stream *stream)
{
	const struct options *opt = transfer->session->opt;
	/*
	 * The last request of a batch is signaled, because its completion shows that all requests
	 * have completed.
	 */
	const uint64_t left = transfer->goal == TRANSFER_UNTIL_DEADLINE
				      ? opt->cq_mod - stream->unsignaled
				      : transfer->goal - stream->posted;
	const uint64_t nb = left < opt->post_list ? left : opt->post_list;

	if (stream->posted + nb - stream->completed > opt->tx_depth)
		return 0;
	/*
	 * The clock is read only for a QP that has room, because with many QPs most have no room.
	 */
	if (transfer->goal == TRANSFER_UNTIL_DEADLINE && stream->unsignaled == 0 &&
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
 * Post a list of requests on each of several randomly chosen QPs, until PERF_IN_FLIGHT messages are
 * in flight.
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

/* Check whether --rate_limit permits a list of requests now. If so, count its messages. */
static bool
is_in_time(struct transfer *transfer, unsigned nb)
{
	if (pace_room(&transfer->pace, rte_rdtsc()) == 0)
		return false;
	pace_take(&transfer->pace, nb);
	return true;
}

/*
 * Post requests until the send queues are full, or --rate_limit forbids more requests. A full queue
 * has room again only after a completion, so the queues are not checked again before a completion.
 */
static int
post_sends(struct transfer *transfer)
{
	if (transfer->session->opt->order == PERF_RANDOM)
		return post_in_random_order(transfer);
	if (!transfer->may_have_room)
		return 0;
	for (unsigned i = 0; i < transfer->session->endpoint.nb_qp; i++) {
		unsigned nb;

		while ((nb = room_for(transfer, &transfer->requests.stream[i])) > 0) {
			if (transfer->pace.burst != 0 && !is_in_time(transfer, nb))
				return 0;
			if (post_list(transfer, i, nb) != 0)
				return -1;
		}
	}
	transfer->may_have_room = false;
	return 0;
}

/* --- completions ----------------------------------------------------------------------------- */

/*
 * Handle the completion of a send request, which shows that all requests that the QP posted before
 * have completed, too.
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
	transfer->may_have_room = true;
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
 * Handle successive completions, as long as they are receive requests of one QP.
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
		 * with --verify all receive requests of a batch are posted before the batch begins,
		 * so none is posted here
		 */
		return n;
	uint64_t missing = opt->rx_depth - requests_nb_recv(&transfer->requests, qp_idx);
	if ((missing >= transfer->requests.recv_list || 2 * missing >= opt->rx_depth) &&
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
	double spent = transfer_seconds(now - transfer->begin_tsc);
	double rate = (double)transfer->completed * (double)transfer->requests.layout.size / spent;
	fprintf(stderr, "\r%4.0f s of %" PRIu64 " s: %.2f %s/sec ", spent, opt->duration_s,
		rate / (opt->is_gbits ? 1e9 / 8 : 1 << 20), opt->is_gbits ? "Gb" : "MB");
}

static bool
is_progress_shown(const struct transfer *transfer)
{
	return transfer->goal == TRANSFER_UNTIL_DEADLINE &&
	       transfer->session->is_client != transfer->session->opt->is_reversed &&
	       !transfer->session->opt->is_infinite && isatty(STDERR_FILENO);
}

static bool
is_sending_over(const struct transfer *transfer)
{
	if (transfer->session->is_peer_gone)
		return transfer->completed == transfer->posted;
	if (transfer->goal == TRANSFER_UNTIL_DEADLINE)
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
 * Get the limit in seconds for the completion of all requests after an error: the time of the
 * retransmissions, and HANG_S more, because another program may have the CPU meanwhile. With an ACK
 * timeout of 0, requests to a peer that is gone never complete, so the limit is short.
 */
static double
drain_limit(const struct options *opt)
{
	double ack_s = 4.096e-6 * ldexp(1, (int)opt->timeout_code);

	return opt->timeout_code == 0 ? 1 : HANG_S + 4 * ack_s * (double)(opt->retry_cnt + 1);
}

/*
 * Wait for the completions of all requests after an error or after the peer has ended. Every
 * request completes, with success or in error.
 */
static void
drain(struct transfer *transfer)
{
	const double limit_s = drain_limit(transfer->session->opt);
	const uint64_t deadline = rte_rdtsc() + (uint64_t)(limit_s * (double)rte_get_tsc_hz());

	while (transfer->completed < transfer->posted && rte_rdtsc() < deadline && !stop_is_asked())
		if (take_completions(transfer) < 0)
			return;
	if (transfer->completed < transfer->posted && !stop_is_asked())
		fprintf(stderr,
			"uroce-perf: %" PRIu64 " requests have not completed within %.1f s\n",
			transfer->posted - transfer->completed, limit_s);
}

/* Receive the messages of an unreliable transport that are still in flight at the end. */
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
 * Check whether the transfer has to end at once. With --run_infinitely a signal does not end the
 * transfer of a requester at once: interval.c ends it in order.
 */
static bool
is_stopped(const struct transfer *transfer)
{
	const struct session *session = transfer->session;

	if (session->opt->is_infinite && (session->is_requester || session->opt->is_loopback))
		return false;
	return stop_is_asked();
}

/*
 * Execute one round of transfer_run(): post, complete, and check whether the batch is over.
 * @return 1 if the batch is over, 0 if it continues, -1 if it failed
 */
static int
run_round(struct transfer *transfer, bool is_requester)
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
	if (is_stopped(transfer))
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

int
transfer_run(struct transfer *transfer)
{
	struct session *session = transfer->session;
	bool is_shown = is_progress_shown(transfer);
	int result;

	transfer->may_have_room = true;
	measures_begin(&session->measures);
	transfer->begin_tsc = transfer->progress_tsc = rte_rdtsc();
	interval_begin(transfer);
	while ((result = run_round(transfer, session->is_requester)) == 0) {
		if (is_shown)
			print_progress(transfer);
		if (transfer->interval.next_tsc != 0)
			interval_check(transfer);
	}
	measures_end(&session->measures);
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
