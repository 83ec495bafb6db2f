/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One stream over a network with loss or reordering. A stream over a long round trip has more
 * requests, so that its slow beginning has as little weight as that of a stream over a short one.
 */

#include "host.h"
#include "measure.h"

/* The window: two bandwidth-delay products, and at least the default of a QP. */
static uint32_t
window_of(uint32_t rtt_ns)
{
	const uint64_t in_flight = (uint64_t)rtt_ns * (TRIAL_RATE_BPS / 1000000000) / 8;
	const uint32_t window = (uint32_t)(2 * in_flight / TRIAL_WIRE_LEN) + 64;

	return window > UROCE_WINDOW_PSNS ? window : UROCE_WINDOW_PSNS;
}

struct outcome
trial_run(struct report *report, struct world *world, uint64_t seed, const struct trial *trial,
	  uint64_t limit_ns)
{
	const bool is_long = trial->rtt_ns > 100000;
	const struct stream stream = {
		.rd_atomic = trial->rd_atomic,
		.nb_writes = is_long ? 4 * trial->nb_writes : trial->nb_writes,
		.len = trial->len,
		.window_psns = window_of(trial->rtt_ns),
		.timeout = is_long ? 14 : 8,
		.is_req_gbn = trial->is_req_gbn,
		.is_resp_gbn = trial->is_resp_gbn,
	};

	report_begin(report, world, seed);
	for (unsigned i = 0; i < 2; i++) {
		struct host *host = world_add_host(world);

		host->link.rate_bps = TRIAL_RATE_BPS;
		host->link.delay_ns = trial->rtt_ns / 4;
		host->link.lose_ppm = trial->lose_ppm;
		host->link.late_ppm = trial->late_ppm;
		host->link.late_ns = trial->late_ns;
		host->gap_ns = 100;
		host_add_hold(world, host, 16, 8192);
	}
	const struct qp *qp = stream_open(world, &world->hosts[0], &world->hosts[1], &stream);

	world_run(world, limit_ns);
	const bool is_done = qp->done == qp->nb_planned;

	if (is_done)
		world_run(world, UROCE_NEVER);
	report_end(report, world, is_done);
	const uint64_t ns = is_done ? qp->done_ns : limit_ns;

	return (struct outcome){
		.rate = (double)qp->acked / (double)ns,
		.ns = ns,
		.nb_acked = qp->acked,
		.nb_answers = qp->peer->qpc.stats.tx_packets,
		.spurious = world->tally.spurious,
		.spurious_early = qp->spurious_early,
	};
}

const char *
trial_end_name(bool is_gbn)
{
	return is_gbn ? "gbn" : "uroce";
}
