/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_KERN_H
#define UROCE_IBVERBS_KERN_H

/**
 * @file
 * Converts the structs of the kernel's verbs interface to those of libibverbs, and back. librdmacm
 * imports the functions whose names begin with ibv_. The handlers of librdmacm's commands (ucma/)
 * call the other functions.
 */

#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *dst, struct ib_uverbs_ah_attr *src);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst, struct ib_uverbs_qp_attr *src);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *dst, struct ib_user_path_rec *src);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *dst, struct ibv_sa_path_rec *src);
void kern_copy_ah_attr(struct ib_uverbs_ah_attr *dst, const struct ibv_ah_attr *src);
/**
 * Copy all attributes of a QP. The caller sets qp_attr_mask of `dst`, the mask of the valid
 * attributes.
 */
void kern_copy_qp_attr(struct ib_uverbs_qp_attr *dst, const struct ibv_qp_attr *src);

#endif /* UROCE_IBVERBS_KERN_H */
