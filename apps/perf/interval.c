/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transfer with --run_infinitely ends by a signal, and has no deadline. The first signal sets the
 * deadline to the present time. So the transfer ends in order, and the JSON report is written.
 */

#include "interval.h"
#include "stop.h"

#include <rte_cycles.h>

static uint64_t
seconds(uint64_t nb)
{
	return nb * rte_get_tsc_hz();
}

void
interval_begin(struct transfer *transfer)
{
	const struct options *opt = transfer->session->opt;
	struct interval *interval = &transfer->interval;

	*interval = (struct interval){ .begin_tsc = transfer->begin_tsc };
	if (opt->is_infinite)
		interval->next_tsc = transfer->begin_tsc + seconds(opt->duration_s);
	else if (opt->margin_s != 0)
		interval->next_tsc = transfer->begin_tsc + seconds(opt->margin_s);
}

static void
start_interval(struct transfer *transfer, uint64_t now)
{
	struct interval *interval = &transfer->interval;

	interval->is_begun = true;
	interval->begin_tsc = now;
	interval->begin_sent = transfer->completed;
	interval->begin_received = transfer->received;
}

static void
end_interval(struct transfer *transfer, uint64_t now)
{
	struct interval *interval = &transfer->interval;

	interval->end_tsc = now;
	interval->end_sent = transfer->completed;
	interval->end_received = transfer->received;
}

/* Report the rates since the previous report, on a side that measures rates. */
static void
report_interval(struct transfer *transfer)
{
	struct session *session = transfer->session;
	const struct interval *interval = &transfer->interval;
	struct bandwidth row = { .size = transfer->requests.layout.size };

	row.messages = session->is_requester ? interval->end_sent - interval->begin_sent
					     : interval->end_received - interval->begin_received;
	row.messages_per_s =
		(double)row.messages / transfer_seconds(interval->end_tsc - interval->begin_tsc);
	row.average_bps = row.messages_per_s * (double)row.size;
	if (session->is_requester || session->opt->op == PERF_SEND)
		report_bandwidth(&session->report, &row, &session->verify, NULL);
}

/*
 * With --run_infinitely the first signal, or the end of the other side, ends the transfer in order.
 * A side that only responds is ended by the side that sends requests.
 */
static void
check_end(struct transfer *transfer, uint64_t now)
{
	const struct session *session = transfer->session;
	/* the end of the peer ends the transfer of this side only if the peer sends requests */
	const bool is_peer_over = transfer->is_peer_done && session->is_responder;

	if (!session->is_requester || transfer->deadline <= now ||
	    !(is_peer_over || stop_is_asked()))
		return;
	stop_withdraw();
	transfer->deadline = now;
	transfer->interval.next_tsc = 0;
}

void
interval_check(struct transfer *transfer)
{
	const struct options *opt = transfer->session->opt;
	struct interval *interval = &transfer->interval;
	const uint64_t now = rte_rdtsc();

	if (opt->is_infinite)
		check_end(transfer, now);
	if (interval->next_tsc == 0 || now < interval->next_tsc)
		return;
	if (opt->is_infinite) {
		end_interval(transfer, now);
		report_interval(transfer);
		start_interval(transfer, now);
		interval->next_tsc += seconds(opt->duration_s);
	} else if (!interval->is_begun) {
		start_interval(transfer, now);
		interval->next_tsc = transfer->begin_tsc + seconds(opt->duration_s - opt->margin_s);
	} else {
		end_interval(transfer, now);
		interval->next_tsc = 0;
	}
}

bool
interval_is_measured(const struct transfer *transfer)
{
	return transfer->interval.end_tsc != 0 && !transfer->session->opt->is_infinite;
}
