/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_MEASURE_H
#define TEST_SIM_MEASURE_H

/**
 * @file
 * Building blocks of scenarios: worlds with bulk WRITEs, and rows of a report.
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

/** Add a row to the report: the members of a JSON object, without its brackets. */
void report_row(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** The file for lines of a time series, which can be plotted; NULL: no series was requested. */
FILE *report_series(const struct report *report);

/** Start an empty world. */
void report_begin(struct report *report, struct world *world, uint64_t seed);

/** End a world. If it is at rest, the oracle's final checks are executed. */
void report_end(struct report *report, struct world *world, bool is_at_rest);

/** A stream of WRITEs from one host to another, or of READs in the other direction. */
struct stream {
	uint8_t rd_atomic; /* READs with so many outstanding; 0: WRITEs */
	uint32_t nb_writes;
	uint32_t len;
	uint32_t window_psns; /* maximum number of packets in flight */
	uint8_t timeout;
	uint8_t tclass;
	bool is_req_gbn;                /* the requester recovers by go-back-N */
	bool is_resp_gbn;               /* the responder drops out-of-order packets */
	const struct uroce_cc_conf *cc; /* parameters; NULL: no congestion control */
};

/**
 * Connect two hosts and plan the stream.
 * @return the end that posts the requests
 */
struct qp *stream_open(struct world *world, struct host *from, struct host *to,
		       const struct stream *stream);

/** The cable of a trial, its path MTU, and the bytes of a full frame on the cable. */
#define TRIAL_RATE_BPS UINT64_C(100000000000)
#define TRIAL_MTU      4096
#define TRIAL_WIRE_LEN (TRIAL_MTU + 90)

/** Maximum delay of a late frame: the time of 64 full frames. */
#define TRIAL_LATE_NS ((uint32_t)(64 * TRIAL_WIRE_LEN * 8 / (TRIAL_RATE_BPS / 1000000000)))

/** One stream between two hosts, over a network with these faults in both directions. */
struct trial {
	uint32_t rtt_ns;
	uint32_t lose_ppm;
	uint32_t late_ppm;
	uint32_t late_ns;
	uint8_t rd_atomic; /* READs with so many outstanding; 0: WRITEs */
	/* number of WRITEs over a short round trip; four times as many over a long one */
	uint32_t nb_writes;
	uint32_t len;
	bool is_req_gbn;
	bool is_resp_gbn;
};

struct outcome {
	double rate; /* packets acknowledged, or received by READ, per nanosecond */
	uint64_t ns; /* duration of the measurement */
	uint64_t nb_acked;
	uint64_t nb_answers; /* number of packets that the responder sent */
	uint64_t spurious;
	uint64_t spurious_early; /* spurious retransmissions among the first 1000 packets */
};

/**
 * Run a trial until all packets are acknowledged or until `limit_ns`. With high loss the rest of
 * the stream would take long and not change the result.
 */
struct outcome trial_run(struct report *report, struct world *world, uint64_t seed,
			 const struct trial *trial, uint64_t limit_ns);

/** The name of an end's loss recovery in a row. */
const char *trial_end_name(bool is_gbn);

#endif /* TEST_SIM_MEASURE_H */
