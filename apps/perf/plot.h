/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_PLOT_H
#define PERF_PLOT_H

/**
 * @file
 * A plot of latencies as an SVG file, which browsers show. Each message size has a panel: bars show
 * the share of the messages in each bucket of the histogram, and a line shows the share of the
 * messages whose latency is at most that of the bucket.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "histogram.h"

struct plot {
	const char *path; /* name of the file for the plot */
	char *panels;     /* the panels written so far */
	size_t len;
	FILE *file; /* stream that writes to `panels`; NULL if there is no plot */
	unsigned nb_panels;
};

/**
 * Begin a plot.
 * @param path  name of the file for the plot; NULL if no plot is requested
 * @return 0, or -1 after a line on stderr
 */
int plot_begin(struct plot *plot, const char *path);

/**
 * Add a panel for a message size, unless there is no plot or the histogram is empty.
 * @param scale, unit  as for histogram_print()
 */
void plot_add(struct plot *plot, const char *test, uint64_t size, const struct histogram *histogram,
	      double scale, const char *unit);

/** Write the file, and free the plot. @return 0, or -1 after a line on stderr */
int plot_end(struct plot *plot);

#endif /* PERF_PLOT_H */
