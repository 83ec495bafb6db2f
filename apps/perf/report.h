/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_REPORT_H
#define PERF_REPORT_H

/**
 * @file
 * Prints the results in a table with the columns of perftest, and writes the same results as JSON
 * with the keys of perftest.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "endpoint.h"
#include "options.h"
#include "stages.h"
#include "verify.h"

/** A measured bandwidth. With --bidirectional it is the sum of both directions. */
struct bandwidth {
	uint64_t size;
	uint64_t messages;
	double average_bps; /* bytes of payload per second */
	/* highest rate, in bytes of payload per second; 0 if it is not computed */
	double peak_bps;
	double messages_per_s;
};

/**
 * Measured latencies in microseconds: those of half a round trip, or of a whole round trip for READ
 * and atomics.
 */
struct latency {
	uint64_t size;
	uint64_t messages;
	double min, max, typical, average, deviation, p90, p99, p999, p9999;
	double messages_per_s; /* round trips per second */
};

struct report {
	const struct options *opt;
	/* the cycles that each stage of the library took for the current message size */
	const struct stages *stages;
	/* the report prints nothing, because it is of the second side in loopback */
	bool is_quiet;
	char *rows; /* the JSON objects written so far */
	size_t rows_len;
	FILE *rows_file; /* stream that writes to `rows`; NULL if no JSON was requested */
	unsigned nb_rows;
};

/** Begin the report of a run. @return 0, or -1 after one line on stderr */
int report_begin(struct report *report, const struct options *opt, const struct stages *stages,
		 bool is_quiet);

/**
 * Print the parameters of the test, the addresses of both sides, and the line with the names of the
 * columns.
 */
void report_head(struct report *report, const struct endpoint *endpoint);

void report_bandwidth(struct report *report, const struct bandwidth *row,
		      const struct verify *verify);
void report_latency(struct report *report, const struct latency *row, const struct verify *verify);

/** Print the row of a test in which this side was only the responder: the result of --verify. */
void report_answered(struct report *report, uint64_t size, uint64_t messages,
		     const struct verify *verify);

/**
 * Close the table and write the JSON file.
 * @return 0, or -1 after one line on stderr
 */
int report_end(struct report *report, const struct endpoint *endpoint);

#endif /* PERF_REPORT_H */
