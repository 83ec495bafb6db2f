/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_DISPATCH_H
#define UROCE_VERBS_CM_CM_DISPATCH_H

/**
 * @file
 * From the events of the connection managers and of the ports to the channels of the ids. The
 * caller holds uroce_vcm_lock.
 */

/** Take the events of all devices, and add those of the ids to their channels. */
void uroce_vcm_dispatch(void);

#endif /* UROCE_VERBS_CM_CM_DISPATCH_H */
