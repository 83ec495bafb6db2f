/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_POST_H
#define UROCE_VERBS_POST_H

/**
 * @file
 * The steps of a post to the send queue, between uroce_wq_begin() and uroce_vqp_end_send(). wr.c
 * uses these steps for requests that ibv_wr_*() calls have built.
 */

#include "verbs/object.h"

/**
 * Check whether the QP accepts send requests.
 * @return 0; -EINVAL: the QP has not reached RTS
 */
int uroce_vqp_check_send(const struct uroce_vqp *qp);

/**
 * Write a request to the send queue, behind `nth` requests that are not published yet.
 * @return 0; -EINVAL: the QP's type does not have the opcode, or a request of a UD QP has no
 *         address handle of the QP's domain; otherwise as uroce_sq_fill()
 */
int uroce_vqp_fill_send(struct uroce_vqp *qp, uint32_t nth, const struct ibv_send_wr *wr);

/**
 * Publish the next `nb` send requests of a QP, transmit them or ring the doorbell, and unlock the
 * send queue.
 */
void uroce_vqp_end_send(struct uroce_vqp *qp, uint32_t nb);

/** Get the number of bytes that uroce_vwr_init() needs for the request that is being built. */
size_t uroce_vwr_memsize(void);

/**
 * Give a QP the ibv_wr_*() calls that `send_ops_flags` selects.
 * @param mem  uroce_vwr_memsize() bytes, used as long as the QP exists
 */
void uroce_vwr_init(struct uroce_vqp *qp, void *mem, uint64_t send_ops_flags);

/**
 * Get the flags of enum ibv_qp_create_send_ops_flags for the opcodes whose bits are set in
 * `opcodes`. Bit i is opcode i of enum ibv_wr_opcode.
 */
uint64_t uroce_vwr_flags(uint32_t opcodes);

#endif /* UROCE_VERBS_POST_H */
