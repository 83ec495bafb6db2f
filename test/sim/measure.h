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

/** Whether the engine can do other than go back N, and windows other than its default. */
bool stream_has_choice(void);

#endif /* TEST_SIM_MEASURE_H */
