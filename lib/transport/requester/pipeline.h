/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_PIPELINE_H
#define UROCE_TRANSPORT_PIPELINE_H

/**
 * @file
 * Signature pipelining: the requester stops behind a request whose data has a bad signature.
 */

#include "transport/context.h"

/**
 * If the QP is pipelined, stop its send queue behind the present request, because the data of this
 * request has a bad signature.
 */
void uroce_pipeline_stop(struct uroce_qpc *qpc);

#endif /* UROCE_TRANSPORT_PIPELINE_H */
