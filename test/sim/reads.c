/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * READs under loss and reordering: 4 MiB each over 100 Gb/s, MTU 4096. A row gives the rate divided
 * by the rate of a stream without faults, the share of the cable's rate, and the number of packets
 * that the responder sent for each packet of the READs.
 */

#include "host.h"
#include "measure.h"

#define READ_LEN  (4u << 20)
#define NB_READS  32
#define RD_ATOMIC 16

static void
report_trial(struct report *report, struct world *world, uint64_t seed, const struct trial *trial,
	     const struct outcome *lossless)
{
	const struct outcome outcome = trial_run(report, world, seed, trial, 30 * lossless->ns);

	report_row(report,
		   "\"rtt_us\": %u, \"loss\": %g, \"reordered\": %g, \"requester\": \"%s\", "
		   "\"responder\": \"%s\", \"goodput_share\": %.4f, \"of_cable\": %.4f, "
		   "\"sent_for_each\": %.4f",
		   trial->rtt_ns / 1000, trial->lose_ppm / 1e6, trial->late_ppm / 1e6,
		   trial_end_name(trial->is_req_gbn), trial_end_name(trial->is_resp_gbn),
		   outcome.rate / lossless->rate,
		   outcome.rate * TRIAL_WIRE_LEN * 8 / (TRIAL_RATE_BPS / 1e9),
		   (double)outcome.nb_answers / (double)outcome.nb_acked);
}

void
scenario_reads(struct report *report, struct world *world, uint64_t seed)
{
	static const uint32_t rtts_ns[] = { 10000, 1000000 };
	static const uint32_t losses_ppm[] = { 0, 100, 1000, 10000 };
	static const uint32_t lates_ppm[] = { 1000, 10000 };

	for (unsigned r = 0; r < 2; r++) {
		const struct trial clean = {
			.rtt_ns = rtts_ns[r],
			.late_ns = TRIAL_LATE_NS,
			.rd_atomic = RD_ATOMIC,
			.nb_writes = NB_READS,
			.len = READ_LEN,
		};
		struct trial trial = clean;
		const struct outcome lossless = trial_run(report, world, seed, &trial, UROCE_NEVER);

		for (unsigned l = 0; l < 4; l++) {
			trial.lose_ppm = losses_ppm[l];
			for (unsigned pair = 0; pair < 4; pair++) {
				trial.is_req_gbn = pair & 1;
				trial.is_resp_gbn = pair & 2;
				report_trial(report, world, seed, &trial, &lossless);
			}
		}
		trial = clean;
		for (unsigned l = 0; l < 2; l++) {
			trial.late_ppm = lates_ppm[l];
			report_trial(report, world, seed, &trial, &lossless);
		}
	}
}
