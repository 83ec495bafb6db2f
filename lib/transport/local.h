/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_LOCAL_H
#define UROCE_TRANSPORT_LOCAL_H

/**
 * @file
 * Requests that send nothing.
 */

#include "transport/context.h"

/**
 * Do what a local request asks for, unless that was done already.
 * @return IBV_WC_SUCCESS, or how it ends
 */
enum ibv_wc_status uroce_local_execute(struct uroce_qpc *qpc, struct uroce_send_wqe *wqe);

#endif /* UROCE_TRANSPORT_LOCAL_H */
