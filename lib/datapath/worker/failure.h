/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_FAILURE_H
#define UROCE_DATAPATH_FAILURE_H

/**
 * @file
 * A line in the log about a QP that has failed: the peer, the PSN, the cause, and what to try.
 */

#include "transport/context.h"

/**
 * Log why a QP has failed. The function is called once for each failure, with the event
 * UROCE_QPC_FAILED. The number of lines in a second is limited.
 */
void uroce_failure_log(const struct uroce_qpc *qpc);

#endif /* UROCE_DATAPATH_FAILURE_H */
