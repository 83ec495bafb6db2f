/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_DISPATCH_H
#define UROCE_VERBS_CM_CM_DISPATCH_H

/**
 * @file
 * Conversion of the events of connection managers and ports to events in the channels of ids. The
 * caller holds uroce_vcm_lock.
 */

/**
 * Take the events of all connection managers and ports, and add the resulting events to the
 * channels of the ids.
 */
void uroce_vcm_dispatch(void);

#endif /* UROCE_VERBS_CM_CM_DISPATCH_H */
