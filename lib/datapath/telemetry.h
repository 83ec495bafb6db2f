/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_TELEMETRY_H
#define UROCE_DATAPATH_TELEMETRY_H

/**
 * @file
 * What devices count, by DPDK's telemetry (usertools/uroce-stat, dpdk-telemetry.py):
 *
 *	/uroce/devices          the names of those that are up
 *	/uroce/device,NAME      one of them: its port, how many QPs, counters, verdicts
 *	/uroce/counters         what each counter counts
 *	/uroce/qps,NAME[,QPN]   numbers of QPs; with QPN the next ones after that one
 *	/uroce/qp,NAME,QPN      a QP: its state, its peer, its counters
 *
 * EAL's telemetry threads ask, at any time.
 */

#include "datapath/dev.h"

/** Tell of a device that is up, by this name; the first one makes the commands known. */
void uroce_telemetry_add(struct uroce_dev *dev, const char *name);

/** Not any more: on return nobody looks at it. One that was not added is allowed. */
void uroce_telemetry_remove(struct uroce_dev *dev);

#endif /* UROCE_DATAPATH_TELEMETRY_H */
