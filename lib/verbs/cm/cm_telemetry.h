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
 *	/uroce/cm_ids,DEVICE,ID    ids after this one
 *
 * A reply has at most UROCE_CM_REPLY_ROWS ids. The list ends with an empty reply.
 */

struct uroce_cm_agent;

/** Show an agent, until uroce_cm_telemetry_remove(). */
void uroce_cm_telemetry_add(struct uroce_cm_agent *agent);

/** Hide an agent. On return no reply reads it any more. */
void uroce_cm_telemetry_remove(struct uroce_cm_agent *agent);

#endif /* UROCE_VERBS_CM_CM_TELEMETRY_H */
