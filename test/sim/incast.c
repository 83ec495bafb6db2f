/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Incast: 64 hosts write to one host over 100 Gb/s links, once without congestion control and once
 * with DCQCN as published.
 *
 * A row for each millisecond has the fairness of the senders' shares (Jain: 1 is equal, 1/64 is one
 * sender with all), the goodput, the bytes that the switch queues for the receiver, and the frames
 * that the switch dropped and marked. The time series has a line for each 50 us, with the rate of
 * every sender.
 */

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "host.h"
#include "measure.h"

#define NB_SENDERS 64
#define RATE_BPS   UINT64_C(100000000000)
#define MTU        4096
#define WRITE_LEN  (64u << 10)
#define NB_WRITES  128
#define LINE_NS    50000
#define ROW_NS     1000000
#define STEADY_NS  20000000 /* from this time on the senders' shares are assumed to be stable */
#define END_NS     40000000

/* The switch: its queue length in bytes, and the thresholds of its ECN marks [DCQCN, figure 14]. */
#define QUEUE_LEN (4u << 20)
#define MARK_MIN  5000
#define MARK_MAX  200000
#define MARK_PPM  10000

struct incast {
	struct report *report;
	struct world *world;
	const char *cc;
	struct qp *senders[NB_SENDERS];
	/* packets of each sender that had arrived when the last row was written */
	uint32_t row_seen[NB_SENDERS];
	/* packets of each sender that had arrived when the last line of the series was written */
	uint32_t line_seen[NB_SENDERS];
	uint64_t drops;
	uint64_t marks;
};

/*
 * Count the packets of each sender that arrived since the last call with the same `seen`.
 * @param gained  receives the counts
 * @return the sum of the counts
 */
static uint32_t
look(const struct incast *incast, uint32_t *seen, uint32_t *gained)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < NB_SENDERS; i++) {
		gained[i] = incast->senders[i]->exec - seen[i];
		seen[i] = incast->senders[i]->exec;
		sum += gained[i];
	}
	return sum;
}

static double
jain(const uint32_t *gained)
{
	double sum = 0, squares = 0;

	for (unsigned i = 0; i < NB_SENDERS; i++) {
		sum += gained[i];
		squares += (double)gained[i] * gained[i];
	}
	return squares > 0 ? sum * sum / (NB_SENDERS * squares) : 0;
}

static double
gbps(uint32_t packets, uint64_t ns)
{
	return packets * (double)MTU * 8 / (double)ns;
}

static void
set_up(struct incast *incast, const struct uroce_cc_conf *cc)
{
	const struct stream stream = {
		.nb_writes = NB_WRITES,
		.len = WRITE_LEN,
		.timeout = 12,
		.tclass = 2, /* frames are sent with ECT(0) */
		.cc = cc,
	};
	struct world *world = incast->world;
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
		incast->senders[i] = stream_open(world, &world->hosts[1 + i], sink, &stream);
}

static void
report_step(struct incast *incast)
{
	const struct tally *tally = &incast->world->tally;
	struct link *link = &incast->world->hosts[0].link;
	uint32_t gained[NB_SENDERS];
	const uint32_t sum = look(incast, incast->row_seen, gained);

	report_row(incast->report,
		   "\"cc\": \"%s\", \"phase\": \"%s\", \"t_us\": %llu, \"jain\": %.4f, "
		   "\"goodput_gbps\": %.2f, \"queue_bytes\": %llu, \"queue_peak_bytes\": %llu, "
		   "\"drops\": %llu, \"marks\": %llu, \"kmin\": %u, \"kmax\": %u, \"pmax\": %g, "
		   "\"buffer\": %u",
		   incast->cc, incast->world->now_ns > STEADY_NS ? "steady" : "start",
		   (unsigned long long)(incast->world->now_ns / 1000), jain(gained),
		   gbps(sum, ROW_NS), (unsigned long long)link_backlog(incast->world, link),
		   (unsigned long long)link->peak_bytes,
		   (unsigned long long)(tally->faults[FAULT_OVERFLOW] - incast->drops),
		   (unsigned long long)(tally->faults[FAULT_MARK] - incast->marks), MARK_MIN,
		   MARK_MAX, MARK_PPM / 1e6, QUEUE_LEN);
	incast->drops = tally->faults[FAULT_OVERFLOW];
	incast->marks = tally->faults[FAULT_MARK];
	link->peak_bytes = 0;
}

/* The rate that a sender may use: an unlimited sender has the rate of its cable. */
static double
rate_gbps(const struct qp *qp)
{
	return (double)(qp->qpc.cc.is_limited ? qp->qpc.cc.rate_bps : RATE_BPS) / 1e9;
}

static void
write_line(struct incast *incast, FILE *series)
{
	uint32_t gained[NB_SENDERS];
	const uint32_t sum = look(incast, incast->line_seen, gained);

	fprintf(series, "%s,%llu,%llu,%.3f", incast->cc,
		(unsigned long long)(incast->world->now_ns / 1000),
		(unsigned long long)link_backlog(incast->world, &incast->world->hosts[0].link),
		gbps(sum, LINE_NS));
	for (unsigned i = 0; i < NB_SENDERS; i++)
		fprintf(series, ",%.3f", rate_gbps(incast->senders[i]));
	fputc('\n', series);
}

static void
write_head(FILE *series)
{
	fputs("cc,t_us,queue_bytes,goodput_gbps", series);
	for (unsigned i = 0; i < NB_SENDERS; i++)
		fprintf(series, ",rate_gbps_%u", i);
	fputc('\n', series);
}

static void
run(struct report *report, struct world *world, uint64_t seed, const char *cc)
{
	struct incast incast = { .report = report, .world = world, .cc = cc };
	FILE *series = report_series(report);
	struct uroce_cc_conf conf;

	uroce_cc_conf_init(&conf);
	const bool is_found = uroce_cc_find(cc, &conf.ops);

	assert(is_found);
	(void)is_found;
	report_begin(report, world, seed);
	set_up(&incast, &conf);
	for (uint64_t at_ns = LINE_NS; at_ns <= END_NS && world_is_well(world); at_ns += LINE_NS) {
		world_run(world, at_ns);
		if (series)
			write_line(&incast, series);
		if (at_ns % ROW_NS == 0)
			report_step(&incast);
	}
	world_run(world, UROCE_NEVER);
	report_end(report, world, true);
}

void
scenario_incast(struct report *report, struct world *world, uint64_t seed)
{
	if (report_series(report))
		write_head(report_series(report));
	run(report, world, seed, "none");
	run(report, world, seed, "dcqcn");
}
