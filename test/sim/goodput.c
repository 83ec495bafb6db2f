/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Goodput under loss and under reordering: 1 MiB WRITEs over 100 Gb/s, MTU 4096, between two hosts.
 * Loss is in both directions. The same stream runs with and without faults, and a row gives the
 * rate with faults divided by the rate without. A retransmission counts as spurious if the original
 * packet had arrived or arrives later.
 */

#include "host.h"
#include "measure.h"

#define WRITE_LEN (1u << 20)
#define NB_WRITES 256
#define NB_WORLDS 4

static void
report_goodput(struct report *report, struct world *world, uint64_t seed, const struct trial *trial,
	       const struct outcome *lossless)
{
	double acked = 0, ns = 0;
	uint64_t spurious = 0;

	for (uint64_t i = 0; i < NB_WORLDS; i++) {
		const struct outcome outcome =
			trial_run(report, world, seed * NB_WORLDS + i, trial, 6 * lossless->ns);

		acked += outcome.rate * (double)outcome.ns;
		ns += (double)outcome.ns;
		spurious += outcome.spurious;
	}
	report_row(report,
		   "\"rtt_us\": %u, \"loss\": %g, \"requester\": \"%s\", \"responder\": \"%s\", "
		   "\"goodput_share\": %.4f, \"spurious_retransmissions\": %llu",
		   trial->rtt_ns / 1000, trial->lose_ppm / 1e6, trial_end_name(trial->is_req_gbn),
		   trial_end_name(trial->is_resp_gbn), acked / ns / lossless->rate,
		   (unsigned long long)spurious);
}

void
scenario_goodput(struct report *report, struct world *world, uint64_t seed)
{
	static const uint32_t rtts_ns[] = { 10000, 1000000 };
	static const uint32_t losses_ppm[] = { 100, 1000, 10000 };

	for (unsigned r = 0; r < 2; r++) {
		struct trial trial = { .rtt_ns = rtts_ns[r],
				       .len = WRITE_LEN,
				       .nb_writes = NB_WRITES };
		const struct outcome lossless = trial_run(report, world, seed, &trial, UROCE_NEVER);

		for (unsigned l = 0; l < 3; l++) {
			for (unsigned pair = 0; pair < 4; pair++) {
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
	struct trial trial = { .rtt_ns = 10000, .len = WRITE_LEN, .nb_writes = NB_WRITES };
	const struct outcome ordered = trial_run(report, world, seed, &trial, UROCE_NEVER);

	trial.late_ns = TRIAL_LATE_NS;
	for (unsigned i = 0; i < 3; i++) {
		trial.late_ppm = shares_ppm[i];
		const struct outcome outcome =
			trial_run(report, world, seed, &trial, 30 * ordered.ns);

		report_row(report,
			   "\"rtt_us\": 10, \"reordered\": %g, \"requester\": \"%s\", "
			   "\"responder\": \"%s\", \"goodput_share\": %.4f, "
			   "\"spurious_first_1000\": %llu, \"spurious_later\": %llu",
			   trial.late_ppm / 1e6, trial_end_name(false), trial_end_name(false),
			   outcome.rate / ordered.rate, (unsigned long long)outcome.spurious_early,
			   (unsigned long long)(outcome.spurious - outcome.spurious_early));
	}
}
