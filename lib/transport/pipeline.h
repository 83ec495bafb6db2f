/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_PIPELINE_H
#define UROCE_TRANSPORT_PIPELINE_H

/**
 * @file
 * Signature pipelining: the requester stops behind a request.
 */

#include "transport/context.h"

/** The data of a request has a bad signature: a QP that is pipelined stops behind that request. */
void uroce_pipeline_stop(struct uroce_qpc *qpc);

#endif /* UROCE_TRANSPORT_PIPELINE_H */
