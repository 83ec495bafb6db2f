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
#include "plot.h"
#include "histogram.h"
#include "measures.h"
#include "verify.h"

/** A measured bandwidth. With --bidirectional it is the sum of both directions. */
struct bandwidth {
	uint64_t size;
	uint64_t messages;
	double average_bps; /* average rate in bytes of payload per second */
	/* highest rate in bytes of payload per second; 0 if it is not computed */
	double peak_bps;
	double messages_per_s;
};

/**
 * Measured latencies in microseconds, with --report-cycles in cycles: those of half a round trip,
 * or of a whole round trip for READ and atomics.
 */
struct latency {
	uint64_t size;
	uint64_t messages;
	double min, max, typical, average, deviation, p90, p99, p999, p9999;
	double messages_per_s; /* number of round trips per second */
	/*
	 * histogram of the latencies, each divided by `scale`; NULL if neither --histogram nor
	 * --plot is given
	 */
	const struct histogram *histogram;
	double scale;
};

struct report {
	const struct options *opt;
	/* CPU time, stages and counters that were measured for the current message size */
	const struct measures *measures;
	/* the report prints nothing, because it belongs to the second side in loopback */
	bool is_quiet;
	/* rates were reported in this run, so that its limits can be checked */
	bool has_rates;
	/* highest average bandwidth of all message sizes, in the unit of the report */
	double best_bw;
	double best_msgrate; /* highest message rate of all message sizes, in millions per second */
	struct plot plot;
	char *rows; /* the JSON objects written so far */
	size_t rows_len;
	FILE *rows_file; /* stream that writes to `rows`; NULL if no JSON was requested */
	unsigned nb_rows;
};

/** Begin the report of a run. @return 0, or -1 after one line on stderr */
int report_begin(struct report *report, const struct options *opt, const struct measures *measures,
		 bool is_quiet);

/**
 * Print the parameters of the test, the addresses of both sides, and the line with the names of the
 * columns.
 */
void report_head(struct report *report, const struct endpoint *endpoint);

/** Check whether the report prints a table, and not only numbers or nothing. */
static inline bool
report_is_table(const struct report *report)
{
	return !report->is_quiet && report->opt->output == PERF_OUTPUT_TABLE;
}

/** Print a horizontal rule. */
void report_rule(void);

/** Print the line with the names of the columns. */
void report_columns(const struct options *opt);

/**
 * Report the row of a message size.
 * @param directions  with --bidirectional the rates of this side and of the other side; otherwise
 *         NULL
 */
void report_bandwidth(struct report *report, const struct bandwidth *row,
		      const struct verify *verify, const struct bandwidth directions[2]);

/** Print all latencies of a message size. */
void report_times(const struct report *report, const double *times, uint64_t nb);
void report_latency(struct report *report, const struct latency *row, const struct verify *verify);

/**
 * Print the row of a message size on a side that was only the responder. The row has the result of
 * --verify, and no rate.
 */
void report_answered(struct report *report, uint64_t size, uint64_t messages,
		     const struct verify *verify);

/**
 * Close the table, write the JSON file and the plot, and check the limits of the options.
 * @return 0, or -1 after one line on stderr
 */
int report_end(struct report *report, const struct endpoint *endpoint);

#endif /* PERF_REPORT_H */
