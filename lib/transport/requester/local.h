/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_LOCAL_H
#define UROCE_TRANSPORT_LOCAL_H

/**
 * @file
 * Local requests: requests without packets.
 */

#include "transport/context.h"

/**
 * Execute a local request, unless it was executed before.
 * @return IBV_WC_SUCCESS, or the status in which the request fails
 */
enum ibv_wc_status uroce_local_execute(struct uroce_qpc *qpc, struct uroce_send_wqe *wqe);

#endif /* UROCE_TRANSPORT_LOCAL_H */
