/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_REPORT_H
#define PERF_REPORT_H

/**
 * @file
 * The tables, in perftest's columns, and the same as JSON with perftest's keys.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "endpoint.h"
#include "options.h"
#include "stages.h"
#include "verify.h"

/** A measured bandwidth; both directions together with --bidirectional. */
struct bandwidth {
	uint64_t size;
	uint64_t messages;
	double average_bps; /* payload bytes per second */
	double peak_bps;    /* 0: not computed */
	double messages_per_s;
};

/** Measured latencies, in microseconds: half a round trip, or a whole one for READ and atomics. */
struct latency {
	uint64_t size;
	uint64_t messages;
	double min, max, typical, average, deviation, p90, p99, p999, p9999;
	double messages_per_s; /* round trips */
};

struct report {
	const struct options *opt;
	const struct stages *stages; /* of the present size */
	bool is_quiet;               /* the second end in loopback prints nothing */
	char *rows;                  /* the JSON objects so far */
	size_t rows_len;
	FILE *rows_file; /* writes them; NULL: no JSON */
	unsigned nb_rows;
};

/** Start a report. @return 0, or -1 after one line on stderr */
int report_begin(struct report *report, const struct options *opt, const struct stages *stages,
		 bool is_quiet);

/** What is run, between whom, and the heads of the columns. */
void report_head(struct report *report, const struct endpoint *endpoint);

void report_bandwidth(struct report *report, const struct bandwidth *row,
		      const struct verify *verify);
void report_latency(struct report *report, const struct latency *row, const struct verify *verify);

/** A row of a test that this side only answered: with --verify, what was checked. */
void report_answered(struct report *report, uint64_t size, uint64_t messages,
		     const struct verify *verify);

/** Close the table and write the JSON file. @return 0, or -1 after one line on stderr */
int report_end(struct report *report, const struct endpoint *endpoint);

#endif /* PERF_REPORT_H */
