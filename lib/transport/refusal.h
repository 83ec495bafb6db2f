/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_REFUSAL_H
#define UROCE_TRANSPORT_REFUSAL_H

/**
 * @file
 * Why a modify of a QP is refused. The transport (lib/transport) does not log, so it returns the
 * reason as data. The caller makes the message for the user.
 */

#include <stdint.h>
#include <infiniband/verbs.h>

struct uroce_qpc;

/** Reasons why a modify is refused, in the order of the checks. */
enum uroce_refusal_reason {
	UROCE_REFUSAL_NONE,       /* the modify (ibv_modify_qp()) is legal */
	UROCE_REFUSAL_CUR_STATE,  /* cur_qp_state is not the state of the QP */
	UROCE_REFUSAL_TRANSITION, /* no transition leads from `from` to `to` */
	UROCE_REFUSAL_LACKS,      /* the transition requires the attributes `mask` */
	UROCE_REFUSAL_EXCESS,     /* the transition does not allow the attributes `mask` */
	UROCE_REFUSAL_DRAINING,   /* the QP is in SQD, and its send queue has not drained yet */
	UROCE_REFUSAL_VALUE,      /* the value of `field` is not in [min, max] */
};

/** A refused modify. The fields after `to` are valid only for the reasons that refer to them. */
struct uroce_refusal {
	enum uroce_refusal_reason reason;
	enum ibv_qp_state from; /* present state of the QP */
	/* state that the modify requested; `from` if the modify requested no state */
	enum ibv_qp_state to;
	/*
	 * attributes that `reason` refers to (enum ibv_qp_attr_mask, or-ed); if `reason` is
	 * UROCE_REFUSAL_VALUE, the attribute that `field` belongs to
	 */
	int mask;
	/* if `reason` is UROCE_REFUSAL_VALUE: name of the field of struct ibv_qp_attr */
	const char *field;
	uint64_t value, min, max;
};

/**
 * Find out whether a modify of the QP is legal [IBA 10.3.1, 11.2.5.2], and if not, the first reason
 * against it. The context is not changed.
 */
struct uroce_refusal uroce_refusal_of(const struct uroce_qpc *qpc, const struct ibv_qp_attr *attr,
				      int mask);

#endif /* UROCE_TRANSPORT_REFUSAL_H */
