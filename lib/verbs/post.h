/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_POST_H
#define UROCE_VERBS_POST_H

/**
 * @file
 * The steps of a post to the send queue, between uroce_wq_begin() and uroce_vqp_end_send(). wr.c
 * uses them for requests that are built by calls.
 */

#include "verbs/object.h"

/**
 * Check whether the QP accepts send requests.
 * @return 0; -EINVAL: the QP has not reached RTS
 */
int uroce_vqp_check_send(const struct uroce_vqp *qp);

/**
 * Write a request to the send queue, behind `nth` requests that are not published yet.
 * @return 0; -EINVAL: the QP's type does not have the opcode, or UD: there is no address handle of
 *         the QP's domain; otherwise as uroce_sq_fill()
 */
int uroce_vqp_fill_send(struct uroce_vqp *qp, uint32_t nth, const struct ibv_send_wr *wr);

/**
 * Publish the next `nb` requests, transmit them or ring the doorbell, and unlock the send queue.
 */
void uroce_vqp_end_send(struct uroce_vqp *qp, uint32_t nb);

/** @return the bytes that uroce_vwr_init() needs for the request that is being built */
size_t uroce_vwr_memsize(void);

/**
 * Give a QP the ibv_wr_*() calls that `send_ops_flags` selects.
 * @param mem  uroce_vwr_memsize() bytes, used as long as the QP exists
 */
void uroce_vwr_init(struct uroce_vqp *qp, void *mem, uint64_t send_ops_flags);

/**
 * @return the enum ibv_qp_create_send_ops_flags of some opcodes; `opcodes` has a bit for each enum
 *         ibv_wr_opcode
 */
uint64_t uroce_vwr_flags(uint32_t opcodes);

#endif /* UROCE_VERBS_POST_H */
