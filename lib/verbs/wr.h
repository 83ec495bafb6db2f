/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_WR_H
#define UROCE_VERBS_WR_H

/**
 * @file
 * A request that is being built by calls: what the builders of wr.c and mkey_wr.c share.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "mem/sge.h"
#include "verbs/fork.h"
#include "verbs/object.h"

/** What is being built; under the send queue's lock. */
struct uroce_vwr {
	struct ibv_send_wr wr;
	bool is_open;   /* wr was begun, and is not in its slot */
	bool has_mkeys; /* the QP may configure mkeys */
	uint32_t nb;    /* slots filled */
	int err;        /* of the first that failed */
	struct ibv_sge sge[UROCE_SGE_MAX];
	/* of a configuration */
	uint8_t nb_setters; /* that are to follow */
	uint8_t set;        /* enum uroce_mkey_part: what setters did */
	_Alignas(8) uint8_t data[UROCE_MAX_INLINE];
};

/** In a child that inherited the QP nothing of it is written: calls go nowhere, and the last one says so. */
extern struct uroce_vwr uroce_vwr_nowhere;

static inline struct uroce_vwr *
uroce_vwr_of(const struct uroce_vqp *qp)
{
	return uroce_is_fork_child() ? &uroce_vwr_nowhere : qp->vwr;
}

/** Begin a request, whose scatter list is `sge`; the one before it is complete. */
struct ibv_send_wr *uroce_vwr_begin(struct ibv_qp_ex *ibv, enum ibv_wr_opcode opcode);

/** Whether the request is still the configuration that its builder and setters made. */
bool uroce_vwr_is_conf(const struct uroce_vwr *vwr);

/** A builder or setter refuses what it is given, unless one did before. */
static inline void
uroce_vwr_fail(struct uroce_vwr *vwr, int err)
{
	vwr->err = vwr->err != 0 ? vwr->err : err;
}

#endif /* UROCE_VERBS_WR_H */
