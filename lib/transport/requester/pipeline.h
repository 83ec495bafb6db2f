/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_PIPELINE_H
#define UROCE_TRANSPORT_PIPELINE_H

/**
 * @file
 * Signature pipelining: the requester stops behind a request whose data has a bad signature.
 */

#include "transport/context.h"

/**
 * Stop the send queue of a pipelined QP behind the present request, whose data has a bad signature.
 */
void uroce_pipeline_stop(struct uroce_qpc *qpc);

#endif /* UROCE_TRANSPORT_PIPELINE_H */
