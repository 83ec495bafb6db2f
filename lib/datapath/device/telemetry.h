/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_TELEMETRY_H
#define UROCE_DATAPATH_TELEMETRY_H

/**
 * @file
 * DPDK telemetry of devices, for usertools/uroce-stat and dpdk-telemetry.py:
 *
 *	/uroce/devices          the names of all devices that are up
 *	/uroce/device,NAME      a device: its port, interface, number of QPs, counters, verdicts
 *	/uroce/counters         the meaning of each counter
 *	/uroce/qps,NAME[,QPN]   the QPNs of a device; with QPN, those that follow it
 *	/uroce/qp,NAME,QPN      a QP: its state, its peer, its counters
 *
 * EAL's telemetry threads run the queries, at any time.
 */

#include "datapath/device/dev.h"

/**
 * Add a device that is up to telemetry, under this name. The first call registers the telemetry
 * commands.
 */
void uroce_telemetry_add(struct uroce_dev *dev, const char *name);

/**
 * Remove a device from telemetry. On return no telemetry thread uses the device. If the device was
 * not added, the call does nothing.
 */
void uroce_telemetry_remove(struct uroce_dev *dev);

#endif /* UROCE_DATAPATH_TELEMETRY_H */
