/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Incast: 64 hosts write to one over 100 Gb/s links. Every 100 us a row says what each got through
 * since the last: the fairness of the shares (Jain: 1 is equal, 1/64 is one for all), what the switch
 * holds for the receiver, what it dropped and marked.
 */

#include <string.h>

#include "host.h"
#include "measure.h"

#define NB_SENDERS 64
#define RATE_BPS   UINT64_C(100000000000)
#define WRITE_LEN  (64u << 10)
#define NB_WRITES  128
#define STEP_NS    250000
#define END_NS     30000000

/* The switch: what it holds for a port, and where it marks. */
#define QUEUE_LEN (4u << 20)
#define MARK_MIN  (100u << 10)
#define MARK_MAX  (400u << 10)
#define MARK_PPM  100000

static double
jain(const uint32_t *gained, uint32_t nb)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < nb; i++) {
		sum += gained[i];
		squares += (double)gained[i] * gained[i];
	}
	return squares > 0 ? sum * sum / (nb * squares) : 1;
}

static void
set_up(struct world *world, struct qp **senders)
{
	const struct stream stream = {
		.nb_writes = NB_WRITES, .len = WRITE_LEN, .timeout = 12, .tclass = 2, /* ECT(0) */
	};
	struct host *sink = world_add_host(world);

	for (unsigned i = 0; i < NB_SENDERS; i++)
		world_add_host(world);
	for (unsigned i = 0; i < world->nb_hosts; i++) {
		struct host *host = &world->hosts[i];

		host->link.rate_bps = RATE_BPS;
		host->link.delay_ns = 1000;
		host->link.queue_len = QUEUE_LEN;
		host->link.mark_min = MARK_MIN;
		host->link.mark_max = MARK_MAX;
		host->link.mark_ppm = MARK_PPM;
		host->gap_ns = 100;
		host_add_hold(world, host, 80, 1024);
	}
	for (unsigned i = 0; i < NB_SENDERS; i++)
		senders[i] = stream_open(world, &world->hosts[1 + i], sink, &stream);
}

static void
report_step(struct report *report, struct world *world, struct qp **senders, uint32_t *seen)
{
	struct link *link = &world->hosts[0].link;
	uint32_t gained[NB_SENDERS], sum = 0;

	for (unsigned i = 0; i < NB_SENDERS; i++) {
		gained[i] = senders[i]->exec - seen[i];
		seen[i] = senders[i]->exec;
		sum += gained[i];
	}
	report_row(report,
		   "\"t_us\": %llu, \"cc\": \"none\", \"jain\": %.4f, \"goodput_gbps\": %.2f, "
		   "\"queue_bytes\": %llu, \"queue_peak_bytes\": %llu, \"drops\": %llu, "
		   "\"marks\": %llu, \"kmin\": %u, \"kmax\": %u, \"pmax\": %g, \"buffer\": %u",
		   (unsigned long long)(world->now_ns / 1000), jain(gained, NB_SENDERS),
		   sum * 4096.0 * 8 / STEP_NS, (unsigned long long)link_backlog(world, link),
		   (unsigned long long)link->peak_bytes,
		   (unsigned long long)world->tally.faults[FAULT_OVERFLOW],
		   (unsigned long long)world->tally.faults[FAULT_MARK], MARK_MIN, MARK_MAX,
		   MARK_PPM / 1e6, QUEUE_LEN);
	link->peak_bytes = 0;
}

void
scenario_incast(struct report *report, struct world *world, uint64_t seed)
{
	struct qp *senders[NB_SENDERS];
	uint32_t seen[NB_SENDERS] = { 0 };

	report_begin(report, world, seed);
	set_up(world, senders);
	for (uint64_t at_ns = STEP_NS; at_ns <= END_NS && world_is_well(world); at_ns += STEP_NS) {
		world_run(world, at_ns);
		report_step(report, world, senders, seen);
	}
	world_run(world, UROCE_NEVER);
	report_end(report, world, true);
}
