/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_LOG_H
#define UROCE_VERBS_CM_CM_LOG_H

/**
 * @file
 * Log lines about ids of connection management. A connection that fails has a line at level
 * WARNING, which gives the reason; the number of these lines is limited. All other lines have the
 * level DEBUG.
 *
 * The caller holds uroce_vcm_lock.
 */

#include "verbs/cm/event_queue.h"

/** Log that an id listens. */
void uroce_vcm_log_listen(const struct uroce_vcm_id *id);

/** Log an event of an id. */
void uroce_vcm_log_event(const struct uroce_vcm_event *event);

#endif /* UROCE_VERBS_CM_CM_LOG_H */
