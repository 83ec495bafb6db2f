/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving the QP of an id from state to state: the attributes, and the masks of ibv_modify_qp(). The
 * masks are those that Linux uses, so that a program may add attributes of its own.
 */

#include "verbs/cm/cm_qp_state.h"

#include <stdlib.h>

#include "verbs/cm/cm_device.h"
#include "verbs/cm/cm_path.h"
#include "verbs/uroce.h"
#include "verbs/uroce_cm.h"

#define PSN_MASK 0xffffffu

/*
 * Masks of the attributes that a QP type needs for RTR and RTS, in addition to the attributes that
 * all connected types need.
 */
static const struct {
	int rtr;
	int rts;
} type_masks[] = {
	[IBV_QPT_RC] = { .rtr = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
			 .rts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				IBV_QP_MAX_QP_RD_ATOMIC },
	[IBV_QPT_XRC_SEND] = { .rts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_MAX_QP_RD_ATOMIC },
	[IBV_QPT_XRC_RECV] = { .rtr = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
			       .rts = IBV_QP_TIMEOUT },
	[IBV_QPT_UC] = { .rtr = 0 },
};

static int
fill_init(const struct uroce_vcm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	attr->pkey_index = 0;
	attr->port_num = 1;
	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (uroce_vcm_is_datagram(id)) {
		attr->qkey = RDMA_UDP_QKEY;
		*mask |= IBV_QP_QKEY;
		return 0;
	}
	attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (id->responder_resources > 0 && id->cm.qp_type != IBV_QPT_UC)
		attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	*mask |= IBV_QP_ACCESS_FLAGS;
	return 0;
}

/*
 * Fill in the attributes for RTR. For a connection these are the values on which the two hosts have
 * agreed.
 */
static int
fill_rtr(const struct uroce_vcm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	struct uroce_cm_info info;
	int ret;

	*mask = IBV_QP_STATE;
	if (uroce_vcm_is_datagram(id))
		return 0;
	ret = uroce_vcm_end_query(id, &info);
	if (ret == 0 && info.remote_qpn == 0)
		ret = -EINVAL;
	if (ret == 0)
		ret = uroce_vcm_path_to_ah(id, &info.av, &attr->ah_attr);
	if (ret != 0)
		return ret;
	attr->path_mtu = info.mtu_code;
	attr->dest_qp_num = info.remote_qpn;
	attr->rq_psn = info.rq_psn & PSN_MASK;
	attr->max_dest_rd_atomic = info.responder_resources;
	attr->min_rnr_timer = 0;
	*mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		 type_masks[id->cm.qp_type].rtr;
	return 0;
}

static int
fill_rts(const struct uroce_vcm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	struct uroce_cm_info info;
	int ret;

	*mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (uroce_vcm_is_datagram(id)) {
		attr->sq_psn = (uint32_t)random() & PSN_MASK;
		return 0;
	}
	ret = uroce_vcm_end_query(id, &info);
	if (ret != 0)
		return ret;
	if (info.remote_qpn == 0)
		return -EINVAL;
	attr->sq_psn = info.sq_psn & PSN_MASK;
	attr->timeout = id->has_ack_timeout ? id->ack_timeout_code : info.ack_timeout_code;
	attr->retry_cnt = info.retry_count;
	attr->rnr_retry = info.rnr_retry_count;
	attr->max_rd_atomic = info.initiator_depth;
	*mask |= type_masks[id->cm.qp_type].rts;
	return 0;
}

/* Fill in the attributes for the state `attr->qp_state`, and their mask. */
static int
fill_attr(struct uroce_vcm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	static int (*const fill[])(const struct uroce_vcm_id *, struct ibv_qp_attr *, int *) = {
		[IBV_QPS_INIT] = fill_init,
		[IBV_QPS_RTR] = fill_rtr,
		[IBV_QPS_RTS] = fill_rts,
	};
	int ret = -EINVAL;

	pthread_mutex_lock(&uroce_vcm_lock);
	if (id->device != NULL && attr->qp_state < sizeof(fill) / sizeof(fill[0]) &&
	    fill[attr->qp_state] != NULL)
		ret = fill[attr->qp_state](id, attr, mask);
	pthread_mutex_unlock(&uroce_vcm_lock);
	return ret;
}

int
uroce_cm_init_qp_attr(struct rdma_cm_id *cm, struct ibv_qp_attr *qp_attr, int *qp_attr_mask)
{
	struct ibv_qp_attr attr;
	int ret, mask = 0;

	if (cm == NULL || qp_attr == NULL || qp_attr_mask == NULL)
		return uroce_vcm_ret(-EINVAL);
	attr = *qp_attr;
	ret = fill_attr(uroce_vcm_id(cm), &attr, &mask);
	if (ret == 0) {
		*qp_attr = attr;
		*qp_attr_mask = mask;
	}
	return uroce_vcm_ret(ret);
}

/*
 * Move the QP of an id to a state, with the attributes that the state needs. The caller gives the
 * limits of READs and atomics, `responder_resources` and `initiator_depth`.
 */
static int
move_qp(struct uroce_vcm_id *id, struct ibv_qp *qp, enum ibv_qp_state state,
	uint8_t responder_resources, uint8_t initiator_depth)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask = 0, ret = fill_attr(id, &attr, &mask);

	if (ret != 0)
		return ret;
	attr.max_dest_rd_atomic = responder_resources;
	attr.max_rd_atomic = initiator_depth;
	return -uroce_modify_qp(qp, &attr, mask);
}

int
uroce_vcm_qp_begin(struct uroce_vcm_id *id, struct ibv_qp *qp)
{
	int ret = move_qp(id, qp, IBV_QPS_INIT, 0, 0);

	if (ret != 0 || !uroce_vcm_is_datagram(id))
		return ret;
	ret = move_qp(id, qp, IBV_QPS_RTR, 0, 0);
	return ret != 0 ? ret : move_qp(id, qp, IBV_QPS_RTS, 0, 0);
}

int
uroce_vcm_qp_connect(struct uroce_vcm_id *id, uint8_t responder_resources, uint8_t initiator_depth)
{
	struct ibv_qp *const qp = id->cm.qp;
	int ret;

	if (qp == NULL)
		return 0;
	/*
	 * The access rights depend on the responder resources, which are not known before the
	 * connection is accepted. So a transition from INIT to INIT sets the access rights again.
	 */
	ret = move_qp(id, qp, IBV_QPS_INIT, 0, 0);
	if (ret == 0)
		ret = move_qp(id, qp, IBV_QPS_RTR, responder_resources, initiator_depth);
	return ret != 0 ? ret : move_qp(id, qp, IBV_QPS_RTS, responder_resources, initiator_depth);
}

int
uroce_vcm_qp_end(struct uroce_vcm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (id->cm.qp == NULL || uroce_vcm_is_datagram(id))
		return 0;
	return -uroce_modify_qp(id->cm.qp, &attr, IBV_QP_STATE);
}
