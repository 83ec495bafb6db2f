/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_PIPELINE_H
#define UROCE_TRANSPORT_PIPELINE_H

/**
 * @file
 * Signature pipelining: the requester stops behind a request whose data has a bad signature.
 */

#include "transport/context.h"

/**
 * If the QP was created for signature pipelining, stop its send queue (SQD), because the data of a
 * request has a bad signature. Requests that were begun are finished, and no others are begun.
 */
void uroce_pipeline_stop(struct uroce_qpc *qpc);

#endif /* UROCE_TRANSPORT_PIPELINE_H */
