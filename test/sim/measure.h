/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_MEASURE_H
#define TEST_SIM_MEASURE_H

/**
 * @file
 * What scenarios are made of: worlds of bulk WRITEs, and rows of a report.
 */

#include <stdint.h>
#include <stdio.h>

#include "qp.h"

struct report;

void scenario_goodput(struct report *report, struct world *world, uint64_t seed);
void scenario_reorder(struct report *report, struct world *world, uint64_t seed);
void scenario_reads(struct report *report, struct world *world, uint64_t seed);
void scenario_reuse(struct report *report, struct world *world, uint64_t seed);
void scenario_forged(struct report *report, struct world *world, uint64_t seed);
void scenario_incast(struct report *report, struct world *world, uint64_t seed);

/** Add a row: the members of a JSON object, without its brackets. */
void report_row(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** Where lines of a time series go, for a plot; NULL: nobody asked for one. */
FILE *report_series(const struct report *report);

/** An empty world. */
void report_begin(struct report *report, struct world *world, uint64_t seed);

/** A world is done with: the oracle's last word on it, if it has come to rest. */
void report_end(struct report *report, struct world *world, bool is_at_rest);

/** A stream of WRITEs from one host to another, or of READs in the other direction. */
struct stream {
	uint8_t rd_atomic; /* READs, so many outstanding; 0: WRITEs */
	uint32_t nb_writes;
	uint32_t len;
	uint32_t window_psns; /* packets in flight */
	uint8_t timeout;
	uint8_t tclass;
	bool is_req_gbn;                /* the requester goes back N */
	bool is_resp_gbn;               /* the responder drops what comes ahead */
	const struct uroce_cc_conf *cc; /* NULL: no congestion control */
};

/** Connect two hosts and plan the stream. @return the end that asks */
struct qp *stream_open(struct world *world, struct host *from, struct host *to,
		       const struct stream *stream);

/** The cable of a trial, path MTU, and what a full frame is on the cable. */
#define TRIAL_RATE_BPS UINT64_C(100000000000)
#define TRIAL_MTU      4096
#define TRIAL_WIRE_LEN (TRIAL_MTU + 90)

/** How long 64 full frames take: how late a late frame may be. */
#define TRIAL_LATE_NS ((uint32_t)(64 * TRIAL_WIRE_LEN * 8 / (TRIAL_RATE_BPS / 1000000000)))

/** One stream between two hosts, over a network with these faults in both directions. */
struct trial {
	uint32_t rtt_ns;
	uint32_t lose_ppm;
	uint32_t late_ppm;
	uint32_t late_ns;
	uint8_t rd_atomic;  /* READs, so many outstanding; 0: WRITEs */
	uint32_t nb_writes; /* where the round trip is short; four times as many where it is long */
	uint32_t len;
	bool is_req_gbn;
	bool is_resp_gbn;
};

struct outcome {
	double rate; /* packets acknowledged, or taken, in a nanosecond */
	uint64_t ns; /* that it took */
	uint64_t nb_acked;
	uint64_t nb_answers; /* packets of the end that is asked */
	uint64_t spurious;
	uint64_t spurious_early; /* of those, among the first 1000 packets */
};

/** Until all is acknowledged, or `limit_ns`: some lose so much that waiting for the rest says nothing. */
struct outcome trial_run(struct report *report, struct world *world, uint64_t seed,
			 const struct trial *trial, uint64_t limit_ns);

/** What an end is called in a row. */
const char *trial_end_name(bool is_gbn);

#endif /* TEST_SIM_MEASURE_H */
