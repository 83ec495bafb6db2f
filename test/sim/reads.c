/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * READs under loss and reordering: 4 MiB each over 100 Gb/s, MTU 4096, as a share of what the same
 * stream carries when nothing is lost; beside it the share of the cable that this is. A response is
 * spurious if what it brings was there.
 */

#include "host.h"
#include "measure.h"

#define RATE_BPS  UINT64_C(100000000000)
#define READ_LEN  (4u << 20)
#define MTU       4096
#define WIRE_LEN  (MTU + 90)
#define RD_ATOMIC 16

struct trial {
	uint32_t rtt_ns;
	uint32_t lose_ppm;
	uint32_t late_ppm;
	bool is_req_gbn;
	bool is_resp_gbn;
};

struct outcome {
	double rate;    /* responses taken in a nanosecond */
	uint64_t ns;    /* that it took */
	uint64_t nb_tx; /* packets of the responder */
	uint64_t nb_acked;
};

/* Two bandwidth-delay products, and not less than what the engine has by itself. */
static uint32_t
window_of(uint32_t rtt_ns)
{
	const uint64_t nb = (uint64_t)rtt_ns * (RATE_BPS / 1000000000) / 4 / WIRE_LEN;

	return nb < UROCE_WINDOW_PSNS ? UROCE_WINDOW_PSNS : (uint32_t)nb;
}

static struct outcome
run(struct report *report, struct world *world, uint64_t seed, const struct trial *trial,
    uint64_t limit_ns)
{
	const struct stream stream = {
		.rd_atomic = RD_ATOMIC,
		.nb_writes = trial->rtt_ns > 100000 ? 128 : 32,
		.len = READ_LEN,
		.window_psns = window_of(trial->rtt_ns),
		.timeout = trial->rtt_ns > 100000 ? 14 : 8,
		.is_req_gbn = trial->is_req_gbn,
		.is_resp_gbn = trial->is_resp_gbn,
	};

	report_begin(report, world, seed);
	for (unsigned i = 0; i < 2; i++) {
		struct host *host = world_add_host(world);

		host->link.rate_bps = RATE_BPS;
		host->link.delay_ns = trial->rtt_ns / 4;
		host->link.lose_ppm = trial->lose_ppm;
		host->link.late_ppm = trial->late_ppm;
		host->link.late_ns = (uint32_t)(64 * WIRE_LEN * 8 / (RATE_BPS / 1000000000));
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
		.nb_tx = qp->peer->qpc.stats.tx_packets,
		.nb_acked = qp->acked,
	};
}

static void
report_trial(struct report *report, struct world *world, uint64_t seed, const struct trial *trial,
	     const struct outcome *lossless)
{
	const struct outcome outcome = run(report, world, seed, trial, 30 * lossless->ns);

	report_row(report,
		   "\"rtt_us\": %u, \"loss\": %g, \"reordered\": %g, \"requester\": \"%s\", "
		   "\"responder\": \"%s\", \"goodput_share\": %.4f, \"of_cable\": %.4f, "
		   "\"sent_for_each\": %.4f",
		   trial->rtt_ns / 1000, trial->lose_ppm / 1e6, trial->late_ppm / 1e6,
		   trial->is_req_gbn ? "gbn" : "uroce", trial->is_resp_gbn ? "gbn" : "uroce",
		   outcome.rate / lossless->rate, outcome.rate * WIRE_LEN * 8 / (RATE_BPS / 1e9),
		   (double)outcome.nb_tx / (double)outcome.nb_acked);
}

void
scenario_reads(struct report *report, struct world *world, uint64_t seed)
{
	static const uint32_t rtts_ns[] = { 10000, 1000000 };
	static const uint32_t losses_ppm[] = { 0, 100, 1000, 10000 };
	static const uint32_t lates_ppm[] = { 1000, 10000 };

	for (unsigned r = 0; r < 2; r++) {
		struct trial trial = { .rtt_ns = rtts_ns[r] };
		const struct outcome lossless = run(report, world, seed, &trial, UROCE_NEVER);

		for (unsigned l = 0; l < 4; l++) {
			trial.lose_ppm = losses_ppm[l];
			for (unsigned pair = 0; pair < 4; pair++) {
				trial.is_req_gbn = pair & 1;
				trial.is_resp_gbn = pair & 2;
				report_trial(report, world, seed, &trial, &lossless);
			}
		}
		trial = (struct trial){ .rtt_ns = rtts_ns[r] };
		for (unsigned l = 0; l < 2; l++) {
			trial.late_ppm = lates_ppm[l];
			report_trial(report, world, seed, &trial, &lossless);
		}
	}
}
