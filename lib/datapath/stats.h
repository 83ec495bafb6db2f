/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_STATS_H
#define UROCE_DATAPATH_STATS_H

/**
 * @file
 * Reading what a device and its QPs have counted, while they go on counting. Workers are not stopped for
 * the former: each number is right, and they may be of moments that are a little apart.
 */

#include <stdint.h>

#include "datapath/dev.h"
#include "transport/counter.h"

/** What all workers of a device that is up have counted since. Any thread. */
void uroce_stats_read(const struct uroce_dev *dev, struct uroce_counters *counters);

/** The verdicts on the frames that they received; one that hopped has two. Any thread. */
void uroce_stats_read_verdicts(const struct uroce_dev *dev, uint64_t nb[UROCE_VERDICT_NB]);

/** One of a QP's counters: with the name of the device's that is the sum, where there is one. */
struct uroce_stats_row {
	const char *name;
	const char *text;
	bool is_qps_alone; /* there is none of that name of the device */
	uint64_t nb;
};

/** How many a QP has. */
#define UROCE_STATS_QP_NB 16

/** What a QP has counted; as its worker. */
void uroce_stats_read_qp(const struct uroce_qpc *qpc,
			 struct uroce_stats_row rows[UROCE_STATS_QP_NB]);

#endif /* UROCE_DATAPATH_STATS_H */
