/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Goodput under loss, and under reordering: 1 MiB WRITEs over 100 Gb/s, MTU 4096, between two hosts,
 * the same stream with and without faults; what is left is the share of the time that the lossless
 * run needs. Loss is in both directions. A retransmission is spurious if what it repeats had
 * arrived, or still does.
 */

#include "host.h"
#include "measure.h"

#define RATE_BPS  UINT64_C(100000000000)
#define WRITE_LEN (1u << 20)
#define MTU       4096
#define NB_WORLDS 4
#define WIRE_LEN  (MTU + 90) /* of a full frame, on the cable */

struct trial {
	uint32_t rtt_ns;
	uint32_t lose_ppm;
	uint32_t late_ppm;
	uint32_t late_ns;
	bool is_req_gbn;
	bool is_resp_gbn;
};

struct outcome {
	double rate; /* packets acknowledged in a nanosecond */
	uint64_t ns; /* that it took */
	uint64_t spurious;
	uint64_t spurious_early; /* of those, among the first 1000 packets */
};

/* Two bandwidth-delay products, and no less than a QP has by default. */
static uint32_t
window_of(uint32_t rtt_ns)
{
	const uint64_t in_flight = (uint64_t)rtt_ns * (RATE_BPS / 1000000000) / 8;

	const uint32_t window = (uint32_t)(2 * in_flight / WIRE_LEN) + 64;

	return window > UROCE_WINDOW_PSNS ? window : UROCE_WINDOW_PSNS;
}

/* Until all is acknowledged, or `limit_ns`: some lose so much that waiting for the rest says nothing. */
static struct outcome
run(struct report *report, struct world *world, uint64_t seed, const struct trial *trial,
    uint64_t limit_ns)
{
	const struct stream stream = {
		.nb_writes = trial->rtt_ns > 100000 ? 1024 : 256,
		.len = WRITE_LEN,
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
		host->link.late_ns = trial->late_ns;
		host->gap_ns = 100;
		host_add_hold(world, host, 16, 8192);
	}
	const struct qp *qp = stream_open(world, &world->hosts[0], &world->hosts[1], &stream);

	world_run(world, limit_ns);
	if (qp->done == qp->nb_planned)
		world_run(world, UROCE_NEVER);
	report_end(report, world, qp->done == qp->nb_planned);
	const uint64_t ns = qp->done == qp->nb_planned ? qp->done_ns : limit_ns;

	return (struct outcome){
		.rate = (double)qp->acked / (double)ns,
		.ns = ns,
		.spurious = world->tally.spurious,
		.spurious_early = qp->spurious_early,
	};
}

static const char *
name_of(bool is_gbn)
{
	return is_gbn || !stream_has_choice() ? "gbn" : "uroce";
}

static void
report_goodput(struct report *report, struct world *world, uint64_t seed, const struct trial *trial,
	       const struct outcome *lossless)
{
	double acked = 0, ns = 0;
	uint64_t spurious = 0;

	for (uint64_t i = 0; i < NB_WORLDS; i++) {
		const struct outcome outcome =
			run(report, world, seed * NB_WORLDS + i, trial, 6 * lossless->ns);

		acked += outcome.rate * (double)outcome.ns;
		ns += (double)outcome.ns;
		spurious += outcome.spurious;
	}
	report_row(report,
		   "\"rtt_us\": %u, \"loss\": %g, \"requester\": \"%s\", \"responder\": \"%s\", "
		   "\"goodput_share\": %.4f, \"spurious_retransmissions\": %llu",
		   trial->rtt_ns / 1000, trial->lose_ppm / 1e6, name_of(trial->is_req_gbn),
		   name_of(trial->is_resp_gbn), acked / ns / lossless->rate,
		   (unsigned long long)spurious);
}

void
scenario_goodput(struct report *report, struct world *world, uint64_t seed)
{
	static const uint32_t rtts_ns[] = { 10000, 1000000 };
	static const uint32_t losses_ppm[] = { 100, 1000, 10000 };
	const unsigned nb_pairs = stream_has_choice() ? 4 : 1;

	for (unsigned r = 0; r < 2; r++) {
		struct trial trial = { .rtt_ns = rtts_ns[r] };
		const struct outcome lossless = run(report, world, seed, &trial, UROCE_NEVER);

		for (unsigned l = 0; l < 3; l++) {
			for (unsigned pair = 0; pair < nb_pairs; pair++) {
				trial.lose_ppm = losses_ppm[l];
				trial.is_req_gbn = pair & 1;
				trial.is_resp_gbn = pair & 2;
				report_goodput(report, world, seed, &trial, &lossless);
			}
		}
	}
}

void
scenario_reorder(struct report *report, struct world *world, uint64_t seed)
{
	static const uint32_t shares_ppm[] = { 10000, 100000, 500000 };
	struct trial trial = { .rtt_ns = 10000 };
	const struct outcome ordered = run(report, world, seed, &trial, UROCE_NEVER);

	/* 64 full frames */
	trial.late_ns = (uint32_t)(64 * WIRE_LEN * 8 / (RATE_BPS / 1000000000));
	for (unsigned i = 0; i < 3; i++) {
		trial.late_ppm = shares_ppm[i];
		const struct outcome outcome = run(report, world, seed, &trial, 30 * ordered.ns);

		report_row(report,
			   "\"rtt_us\": 10, \"reordered\": %g, \"requester\": \"%s\", "
			   "\"responder\": \"%s\", \"goodput_share\": %.4f, "
			   "\"spurious_first_1000\": %llu, \"spurious_later\": %llu",
			   trial.late_ppm / 1e6, name_of(false), name_of(false),
			   outcome.rate / ordered.rate, (unsigned long long)outcome.spurious_early,
			   (unsigned long long)(outcome.spurious - outcome.spurious_early));
	}
}
