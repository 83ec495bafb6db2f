/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first 16 buckets of a histogram count one value each. For larger values, the range from each
 * power of two to the next one is divided into 16 buckets of the same width.
 */

#include "histogram.h"

#include <inttypes.h>

#define SUBS    (1u << HISTOGRAM_SUB_BITS)
#define BAR_LEN 40

unsigned
histogram_bucket(uint64_t value)
{
	if (value < SUBS)
		return (unsigned)value;
	const unsigned exponent = 63 - (unsigned)__builtin_clzll(value);
	const unsigned shift = exponent - HISTOGRAM_SUB_BITS;

	return (shift + 1) * SUBS + (unsigned)(value >> shift & (SUBS - 1));
}

uint64_t
histogram_begin(unsigned bucket)
{
	if (bucket >= HISTOGRAM_BUCKETS)
		return UINT64_MAX;
	if (bucket < SUBS)
		return bucket;
	return (uint64_t)(SUBS + bucket % SUBS) << (bucket / SUBS - 1);
}

void
histogram_add(struct histogram *histogram, uint64_t value)
{
	histogram->count[histogram_bucket(value)]++;
	histogram->nb++;
}

void
histogram_range(const struct histogram *histogram, unsigned *first, unsigned *end)
{
	*first = *end = 0;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (histogram->count[i] == 0)
			continue;
		if (*end == 0)
			*first = i;
		*end = i + 1;
	}
}

static uint64_t
highest_count(const struct histogram *histogram)
{
	uint64_t highest = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (histogram->count[i] > highest)
			highest = histogram->count[i];
	return highest;
}

void
histogram_print(const struct histogram *histogram, double scale, const char *unit)
{
	static const char bar[BAR_LEN + 1] = "########################################";
	const uint64_t highest = highest_count(histogram);
	uint64_t sum = 0;

	printf(" from[%s]    to[%s]       messages   share[%%]  sum[%%]\n", unit, unit);
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		const uint64_t count = histogram->count[i];

		if (count == 0)
			continue;
		sum += count;
		printf(" %-12.3f  %-12.3f  %-10" PRIu64 " %-8.3f  %-7.3f %.*s\n",
		       (double)histogram_begin(i) * scale, (double)histogram_begin(i + 1) * scale,
		       count, 100.0 * (double)count / (double)histogram->nb,
		       100.0 * (double)sum / (double)histogram->nb,
		       (int)(count * BAR_LEN / highest), bar);
	}
}

void
histogram_print_json(const struct histogram *histogram, double scale, FILE *file)
{
	const char *separator = "";

	fputc('[', file);
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (histogram->count[i] == 0)
			continue;
		fprintf(file, "%s[%.3f, %" PRIu64 "]", separator,
			(double)histogram_begin(i) * scale, histogram->count[i]);
		separator = ", ";
	}
	fputc(']', file);
}
