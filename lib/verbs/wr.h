/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_WR_H
#define UROCE_VERBS_WR_H

/**
 * @file
 * The send request that ibv_wr_*() calls are building. The builders and setters of wr.c and
 * mkey_wr.c fill in this request.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "mem/sge.h"
#include "verbs/fork.h"
#include "verbs/object.h"

/**
 * A send request that is being built. The thread that builds the request holds the lock of the send
 * queue.
 */
struct uroce_vwr {
	struct ibv_send_wr wr;
	bool is_open;   /* `wr` has a request that is not in its slot of the send queue yet */
	bool has_mkeys; /* the QP may configure mkeys */
	uint32_t nb;    /* number of requests since ibv_wr_start() that are in their slots */
	/* -errno of the first builder or setter that has failed; 0: none has failed */
	int err;
	struct ibv_sge sge[UROCE_SGE_MAX];
	/* The fields from `nb_setters` on are used if the request configures an mkey. */
	uint8_t nb_setters; /* number of setters that the program must still call */
	/* parts of the mkey configuration that setters have set (enum uroce_mkey_part) */
	uint8_t set;
	_Alignas(8) uint8_t data[UROCE_MAX_INLINE];
};

/**
 * Request that a child of fork() uses in place of the `vwr` of an inherited QP, because the child
 * must not write to the QP. Requests that the child builds are discarded, and ibv_wr_complete()
 * returns EIO.
 */
extern struct uroce_vwr uroce_vwr_nowhere;

static inline struct uroce_vwr *
uroce_vwr_of(const struct uroce_vqp *qp)
{
	return uroce_is_fork_child() ? &uroce_vwr_nowhere : qp->vwr;
}

/**
 * Begin to build a send request. Its scatter list is the field `sge` of struct uroce_vwr. If
 * another request was begun before, it is first written to its slot.
 * @return the new request, which builders and setters fill in
 */
struct ibv_send_wr *uroce_vwr_begin(struct ibv_qp_ex *ibv, enum ibv_wr_opcode opcode);

/**
 * The lkey by which inline data of a request is marked as the configuration of an mkey. Other
 * inline data has the lkey 0.
 */
#define UROCE_VWR_CONF_KEY UINT32_MAX

/**
 * Whether the data of the request that is being built is still the mkey configuration that its
 * builder and setters made.
 */
static inline bool
uroce_vwr_is_conf(const struct uroce_vwr *vwr)
{
	return vwr->wr.num_sge == 1 && vwr->sge[0].lkey == UROCE_VWR_CONF_KEY &&
	       vwr->sge[0].addr == (uintptr_t)vwr->data;
}

/** Record the error of a builder or setter. Only the first error is kept. */
static inline void
uroce_vwr_fail(struct uroce_vwr *vwr, int err)
{
	vwr->err = vwr->err != 0 ? vwr->err : err;
}

#endif /* UROCE_VERBS_WR_H */
