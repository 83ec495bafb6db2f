/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_STATS_H
#define UROCE_DATAPATH_STATS_H

/**
 * @file
 * Reading the counters of a device and of its QPs, while the device and the QPs are in use.
 *
 * The workers are not stopped while the counters of a device are read. Each value is right, but the
 * values may be from slightly different moments.
 */

#include <stdint.h>

#include "datapath/device/dev.h"
#include "transport/counter.h"

/**
 * Read the sums of the counters of all workers, since the device came up. Any thread may call this
 * function.
 */
void uroce_stats_read(const struct uroce_dev *dev, struct uroce_counters *counters);

/**
 * Read how many received frames got each verdict, the result of the checks of a frame. A frame that
 * one worker has forwarded to another has two verdicts. Any thread may call this function.
 */
void uroce_stats_read_verdicts(const struct uroce_dev *dev, uint64_t nb[UROCE_VERDICT_NB]);

/**
 * A counter of a QP. If the device has a counter with this name, the device's counter is the sum
 * over all QPs.
 */
struct uroce_stats_row {
	const char *name;
	const char *text;
	bool is_qps_alone; /* only QPs have a counter with this name; the device has none */
	uint64_t nb;
};

/** Number of counters of a QP. */
#define UROCE_STATS_QP_NB 16

/** Read the counters of a QP. The function runs in the context of the QP's worker. */
void uroce_stats_read_qp(const struct uroce_qpc *qpc,
			 struct uroce_stats_row rows[UROCE_STATS_QP_NB]);

#endif /* UROCE_DATAPATH_STATS_H */
