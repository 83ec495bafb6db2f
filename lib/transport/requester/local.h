/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_LOCAL_H
#define UROCE_TRANSPORT_LOCAL_H

/**
 * @file
 * Local requests: send requests without packets, such as the bind of a memory window.
 */

#include "transport/context.h"

/**
 * Execute a local request, unless it was executed before.
 * @return IBV_WC_SUCCESS, or the status with which the request fails
 */
enum ibv_wc_status uroce_local_execute(struct uroce_qpc *qpc, struct uroce_send_wqe *wqe);

#endif /* UROCE_TRANSPORT_LOCAL_H */
