/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_POST_H
#define UROCE_VERBS_POST_H

/**
 * @file
 * The steps of a post, for those who build requests otherwise (wr.c): between uroce_wq_begin() of the send
 * queue and the last of them.
 */

#include "verbs/object.h"

/** Whether the QP takes send requests. @return 0, -EINVAL: it is before RTS */
int uroce_vqp_check_send(const struct uroce_vqp *qp);

/** Fill the slot after `nth` others that are not published yet. @return as uroce_sq_fill() */
int uroce_vqp_fill_send(struct uroce_vqp *qp, uint32_t nth, const struct ibv_send_wr *wr);

/** Publish `nb` that were filled, see to it that they are sent, and let other posters in. */
void uroce_vqp_end_send(struct uroce_vqp *qp, uint32_t nb);

/** Room for what is built between wr_start() and wr_complete(). */
size_t uroce_vwr_memsize(void);

/** Let a QP have the calls that `send_ops_flags` asks for, with that room. */
void uroce_vwr_init(struct uroce_vqp *qp, void *mem, uint64_t send_ops_flags);

/** The enum ibv_qp_create_send_ops_flags that go with opcodes, a bit of enum ibv_wr_opcode each. */
uint64_t uroce_vwr_flags(uint32_t opcodes);

#endif /* UROCE_VERBS_POST_H */
