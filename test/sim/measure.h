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

/** The file for the lines of a time series; NULL: no series was requested. */
FILE *report_series(const struct report *report);

/** Make the world empty for a run of the report. */
void report_begin(struct report *report, struct world *world, uint64_t seed);

/**
 * Add the results of a run to the report.
 * @param is_at_rest  no events are left, so the oracle's final checks are executed
 */
void report_end(struct report *report, struct world *world, bool is_at_rest);

/** A stream of WRITEs from host `from` to host `to`, or of READs of the memory of host `to`. */
struct stream {
	/* maximum number of outstanding READs; 0: the stream consists of WRITEs */
	uint8_t rd_atomic;
	uint32_t nb_writes;
	uint32_t len;
	uint32_t window_psns; /* maximum number of packets in flight */
	uint8_t timeout;
	uint8_t tclass;
	bool is_req_gbn;  /* the requester recovers by go-back-N */
	bool is_resp_gbn; /* the responder drops out-of-order packets */
	/* parameters of congestion control; NULL: no congestion control */
	const struct uroce_cc_conf *cc;
};

/**
 * Connect two hosts and plan the stream.
 * @return the end that posts the requests
 */
struct qp *stream_open(struct world *world, struct host *from, struct host *to,
		       const struct stream *stream);

/** The rate of the cables in bit/s, and the path MTU, in all trials. */
#define TRIAL_RATE_BPS UINT64_C(100000000000)
#define TRIAL_MTU      4096
#define TRIAL_WIRE_LEN (TRIAL_MTU + 90)

/** Maximum additional delay of a late frame in a trial: the time of 64 full frames. */
#define TRIAL_LATE_NS ((uint32_t)(64 * TRIAL_WIRE_LEN * 8 / (TRIAL_RATE_BPS / 1000000000)))

/** One stream between two hosts. Both directions of the network have the faults of the trial. */
struct trial {
	uint32_t rtt_ns;
	uint32_t lose_ppm;
	uint32_t late_ppm;
	uint32_t late_ns;
	/* maximum number of outstanding READs; 0: the stream consists of WRITEs */
	uint8_t rd_atomic;
	/* number of WRITEs or READs; four times as many with a round trip of more than 100 us */
	uint32_t nb_writes;
	uint32_t len;
	bool is_req_gbn;
	bool is_resp_gbn;
};

struct outcome {
	double rate; /* packets that were acknowledged, or received by READs, per nanosecond */
	uint64_t ns; /* duration of the measurement in nanoseconds */
	uint64_t nb_acked;
	uint64_t nb_answers; /* number of packets that the responder sent */
	uint64_t spurious;
	uint64_t spurious_early; /* spurious retransmissions among the first 1000 packets */
};

/**
 * Run a trial until all its packets are acknowledged, or until `limit_ns`. With high loss the
 * remaining packets would take long and not change the rate.
 */
struct outcome trial_run(struct report *report, struct world *world, uint64_t seed,
			 const struct trial *trial, uint64_t limit_ns);

/** The name that a row of the report gives to the loss recovery of an end. */
const char *trial_end_name(bool is_gbn);

#endif /* TEST_SIM_MEASURE_H */
