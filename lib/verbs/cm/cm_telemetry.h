/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_TELEMETRY_H
#define UROCE_VERBS_CM_CM_TELEMETRY_H

/**
 * @file
 * Commands of DPDK's telemetry about the connection management of devices whose port this process
 * owns:
 *
 *	/uroce/cm,DEVICE           counters of messages
 *	/uroce/cm_ids,DEVICE       ids: listeners, connections, resolutions of services
 *	/uroce/cm_ids,DEVICE,ID    ids that follow ID
 *
 * A reply has at most UROCE_CM_REPLY_ROWS ids. An empty reply means that no more ids follow.
 */

struct uroce_cm_agent;

/**
 * Show an agent (verbs/cm/agent.h) in replies of telemetry, until uroce_cm_telemetry_remove() is
 * called.
 */
void uroce_cm_telemetry_add(struct uroce_cm_agent *agent);

/**
 * Remove an agent (verbs/cm/agent.h) from telemetry. On return no thread of telemetry reads the
 * agent.
 */
void uroce_cm_telemetry_remove(struct uroce_cm_agent *agent);

#endif /* UROCE_VERBS_CM_CM_TELEMETRY_H */
