/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checks of a modify of a QP. The transition and the attribute mask are checked by the table in
 * qp_state.c. Each value is checked against its range, which for some attributes depends on limits
 * of the device.
 */
#include "transport/refusal.h"

#include <errno.h>

#include "base/newer_verbs.h"
#include "transport/qp_state.h"
#include "transport/qpc.h"

#define TIMER_CODE_MAX 31
#define RETRY_MAX      7
/*
 * Access flags that a QP accepts. Flags that only memory regions use are included, because
 * applications pass the same flags for regions and for QPs. Only the remote rights have a meaning
 * for a QP.
 */
#define ACCESS_KNOWN                                                                               \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |                   \
	 IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB | IBV_ACCESS_RELAXED_ORDERING |                 \
	 UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT)

/* A rule for the value of an attribute: the value must be in [min, max]. */
struct rule {
	int bit; /* the bit of the attribute in the mask of a modify */
	const char *field;
	uint64_t value, min, max;
};

/*
 * Check a rule if the attribute is in the mask of a modify.
 * @param refusal  output, only if the modify breaks the rule: the reason why it is refused
 * @return whether the modify breaks the rule
 */
static inline bool
breaks(struct uroce_refusal *refusal, int mask, struct rule rule)
{
	if (!(mask & rule.bit) || (rule.value >= rule.min && rule.value <= rule.max))
		return false;
	*refusal = (struct uroce_refusal){
		.reason = UROCE_REFUSAL_VALUE,
		.mask = rule.bit,
		.field = rule.field,
		.value = rule.value,
		.min = rule.min,
		.max = rule.max,
	};
	return true;
}

#define BREAKS(...) breaks(refusal, mask, (struct rule){ __VA_ARGS__ })

/*
 * Find the first attribute in the mask of a modify whose value is out of its range.
 * @param refusal  output, only if there is such an attribute: the reason why the modify is refused
 * @return whether there is such an attribute
 */
static bool
find_value(struct uroce_refusal *refusal, const struct uroce_qpc_limits *limits,
	   const struct ibv_qp_attr *attr, int mask)
{
	const struct ibv_ah_attr *const av = &attr->ah_attr, *const alt = &attr->alt_ah_attr;
	const uint64_t last_pkey = limits->nb_pkeys - 1u, last_gid = limits->nb_gids - 1u;

	return BREAKS(IBV_QP_PKEY_INDEX, "pkey_index", attr->pkey_index, 0, last_pkey) ||
	       BREAKS(IBV_QP_PORT, "port_num", attr->port_num, 1, limits->nb_ports) ||
	       BREAKS(IBV_QP_ACCESS_FLAGS, "qp_access_flags, unknown bits",
		      attr->qp_access_flags & ~(unsigned)ACCESS_KNOWN, 0, 0) ||
	       BREAKS(IBV_QP_AV, "ah_attr.is_global", av->is_global != 0, 1, 1) ||
	       BREAKS(IBV_QP_AV, "ah_attr.port_num", av->port_num, 1, limits->nb_ports) ||
	       BREAKS(IBV_QP_AV, "ah_attr.grh.sgid_index", av->grh.sgid_index, 0, last_gid) ||
	       BREAKS(IBV_QP_ALT_PATH, "alt_ah_attr.is_global", alt->is_global != 0, 1, 1) ||
	       BREAKS(IBV_QP_ALT_PATH, "alt_ah_attr.port_num", alt->port_num, 1,
		      limits->nb_ports) ||
	       BREAKS(IBV_QP_ALT_PATH, "alt_ah_attr.grh.sgid_index", alt->grh.sgid_index, 0,
		      last_gid) ||
	       BREAKS(IBV_QP_ALT_PATH, "alt_port_num", attr->alt_port_num, 1, limits->nb_ports) ||
	       BREAKS(IBV_QP_ALT_PATH, "alt_pkey_index", attr->alt_pkey_index, 0, last_pkey) ||
	       BREAKS(IBV_QP_ALT_PATH, "alt_timeout", attr->alt_timeout, 0, TIMER_CODE_MAX) ||
	       BREAKS(IBV_QP_PATH_MTU, "path_mtu", attr->path_mtu, IBV_MTU_256,
		      limits->active_mtu) ||
	       BREAKS(IBV_QP_DEST_QPN, "dest_qp_num", attr->dest_qp_num, 0, UROCE_PSN_MASK) ||
	       BREAKS(IBV_QP_RQ_PSN, "rq_psn", attr->rq_psn, 0, UROCE_PSN_MASK) ||
	       BREAKS(IBV_QP_SQ_PSN, "sq_psn", attr->sq_psn, 0, UROCE_PSN_MASK) ||
	       BREAKS(IBV_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic", attr->max_rd_atomic, 0,
		      limits->max_rd_atomic) ||
	       BREAKS(IBV_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic", attr->max_dest_rd_atomic, 0,
		      limits->max_dest_rd_atomic) ||
	       BREAKS(IBV_QP_MIN_RNR_TIMER, "min_rnr_timer", attr->min_rnr_timer, 0,
		      TIMER_CODE_MAX) ||
	       BREAKS(IBV_QP_TIMEOUT, "timeout", attr->timeout, 0, TIMER_CODE_MAX) ||
	       BREAKS(IBV_QP_RETRY_CNT, "retry_cnt", attr->retry_cnt, 0, RETRY_MAX) ||
	       BREAKS(IBV_QP_RNR_RETRY, "rnr_retry", attr->rnr_retry, 0, RETRY_MAX) ||
	       BREAKS(IBV_QP_PATH_MIG_STATE, "path_mig_state", (unsigned)attr->path_mig_state, 0,
		      IBV_MIG_ARMED);
}

/*
 * Check the attribute mask of a modify against the attributes that its state transition requires
 * and allows.
 */
static struct uroce_refusal
find_mask(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	struct uroce_refusal refusal = { .reason = UROCE_REFUSAL_NONE };
	int required, allowed;

	if (!uroce_qp_state_attrs(type, from, to, &required, &allowed)) {
		refusal.reason = UROCE_REFUSAL_TRANSITION;
	} else if (required & ~mask) {
		refusal.reason = UROCE_REFUSAL_LACKS;
		refusal.mask = required & ~mask;
	} else if (mask & ~allowed) {
		refusal.reason = UROCE_REFUSAL_EXCESS;
		refusal.mask = mask & ~allowed;
	}
	return refusal;
}

struct uroce_refusal
uroce_refusal_of(const struct uroce_qpc *qpc, const struct ibv_qp_attr *attr, int mask)
{
	const bool has_cur = mask & IBV_QP_CUR_STATE;
	const enum ibv_qp_state state = (enum ibv_qp_state)qpc->state;
	const enum ibv_qp_state from = has_cur ? attr->cur_qp_state : state;
	const enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;
	struct uroce_refusal refusal = { .reason = UROCE_REFUSAL_NONE };

	/*
	 * cur_qp_state must be the present state of the QP, and one from RTR to SQE: in these
	 * states a QP may change its state without a modify
	 */
	if (has_cur && (from < IBV_QPS_RTR || from > IBV_QPS_SQE || from != state))
		refusal.reason = UROCE_REFUSAL_CUR_STATE;
	else
		refusal = find_mask((enum ibv_qp_type)qpc->type, from, to, mask);
	/* in SQD, paths and timers may change only after the queue has drained [IBA 11.2.5.2] */
	if (refusal.reason == UROCE_REFUSAL_NONE && from == IBV_QPS_SQD && to == IBV_QPS_SQD &&
	    qpc->req.is_draining)
		refusal.reason = UROCE_REFUSAL_DRAINING;
	if (refusal.reason == UROCE_REFUSAL_NONE)
		(void)find_value(&refusal, qpc->limits, attr, mask);
	refusal.from = refusal.reason == UROCE_REFUSAL_CUR_STATE ? state : from;
	refusal.to = to;
	return refusal;
}

int
uroce_qpc_modify_check(const struct uroce_qpc *qpc, const struct ibv_qp_attr *attr, int mask)
{
	return uroce_refusal_of(qpc, attr, mask).reason == UROCE_REFUSAL_NONE ? 0 : -EINVAL;
}
