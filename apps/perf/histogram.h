/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_HISTOGRAM_H
#define PERF_HISTOGRAM_H

/**
 * @file
 * A histogram of latencies with logarithmic buckets: 16 buckets for each power of two, so the width
 * of a bucket is 1 or at most 1/16 of the smallest value in the bucket. The size of the histogram
 * does not depend on the number of messages, so it can also count the latencies of tests that run
 * for a given time.
 */

#include <stdint.h>
#include <stdio.h>

#define HISTOGRAM_SUB_BITS 4u
#define HISTOGRAM_BUCKETS  ((64u - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

struct histogram {
	uint64_t nb; /* number of values that the histogram has counted */
	uint64_t count[HISTOGRAM_BUCKETS];
};

/** Get the index of the bucket that counts a value. */
unsigned histogram_bucket(uint64_t value);

/**
 * Get the smallest value that a bucket counts. For the bucket number after the last one the result
 * is UINT64_MAX.
 */
uint64_t histogram_begin(unsigned bucket);

void histogram_add(struct histogram *histogram, uint64_t value);

/**
 * Find the range of the buckets that have counted a value.
 * @param[out] first  index of the first bucket that has counted a value
 * @param[out] end    index after the last bucket that has counted a value; `first` and `end` are 0
 *         if the histogram is empty
 */
void histogram_range(const struct histogram *histogram, unsigned *first, unsigned *end);

/**
 * Print a table: a row for each bucket that has counted something.
 * @param scale  factor that converts a counted value to the unit of the table
 * @param unit   name of the unit
 */
void histogram_print(const struct histogram *histogram, double scale, const char *unit);

/**
 * Write a JSON list: for each bucket that has counted something its smallest value and its count.
 */
void histogram_print_json(const struct histogram *histogram, double scale, FILE *file);

#endif /* PERF_HISTOGRAM_H */
