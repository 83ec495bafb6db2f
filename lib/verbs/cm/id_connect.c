/* SPDX-License-Identifier: BSD-3-Clause */
/* Public calls of both sides for connections and for resolutions of datagram services. */

#include <arpa/inet.h>
#include <errno.h>

#include "cm/reason.h"
#include "verbs/cm/cm_device.h"
#include "verbs/cm/cm_path.h"
#include "verbs/cm/cm_qp_state.h"
#include "verbs/cm/cm_take.h"
#include "verbs/cm/id_new.h"
#include "verbs/cm/sockaddr.h"
#include "verbs/uroce.h"
#include "verbs/uroce_cm.h"

/*
 * Retry count if the program gives none. It is also the maximum, because a retry count has three
 * bits.
 */
#define DEFAULT_RETRIES 7

/* --- parameters of a connection ------------------------------------------------------------------ */

static uint8_t
lower_of(int a, int b)
{
	return (uint8_t)(a < b ? a : b);
}

/*
 * Check a depth of READs and atomics that the program has given. If the program has given
 * RDMA_MAX_RESP_RES, the depth becomes `instead`: the limit of the device, or the lower value that
 * the peer has requested.
 * @return 0; -EINVAL: the depth is beyond the limit of the device
 */
static int
check_depth(uint8_t given, uint8_t instead, int limit, uint8_t *depth)
{
	if (given != RDMA_MAX_RESP_RES && given > limit)
		return -EINVAL;
	*depth = given != RDMA_MAX_RESP_RES ? given : instead;
	return 0;
}

/*
 * Fill in the depths of READs and atomics (responder resources, initiator depth).
 * @param asked  parameters that the peer has requested, which lower the limits; NULL: only the
 *         limits of the device count
 */
static int
fill_depths(const struct uroce_vcm_id *id, const struct rdma_conn_param *conn,
	    const struct uroce_cm_info *asked, struct uroce_cm_param *param)
{
	struct ibv_device_attr limits;
	int ret = -uroce_query_device(id->device->own, &limits);
	uint8_t resources, depth;

	if (ret != 0)
		return ret;
	resources = lower_of(limits.max_qp_rd_atom, asked ? asked->responder_resources : 255);
	depth = lower_of(limits.max_qp_init_rd_atom, asked ? asked->initiator_depth : 255);
	param->responder_resources = resources;
	param->initiator_depth = depth;
	if (conn == NULL)
		return 0;
	ret = check_depth(conn->responder_resources, resources, limits.max_qp_rd_atom,
			  &param->responder_resources);
	return ret != 0 ? ret
			: check_depth(conn->initiator_depth, depth, limits.max_qp_init_rd_atom,
				      &param->initiator_depth);
}

/*
 * Fill in the QPN, and whether the QP has an SRQ, from the QP of the id. If the id has no QP, the
 * program has given both in its parameters. The ECE options of the id are filled in, too.
 */
static int
fill_qp_part(const struct uroce_vcm_id *id, const struct rdma_conn_param *conn,
	     struct uroce_cm_param *param)
{
	if (id->cm.qp != NULL) {
		param->qpn = id->cm.qp->qp_num;
		param->has_srq = id->cm.qp->srq != NULL;
	} else if (conn != NULL) {
		param->qpn = conn->qp_num;
		param->has_srq = conn->srq != 0;
	}
	param->ece_vendor_id = id->local_ece.vendor_id;
	param->ece_options = id->local_ece.options;
	return param->qpn != 0 ? 0 : -EINVAL;
}

static void
fill_user_part(const struct rdma_conn_param *conn, struct uroce_cm_param *param)
{
	param->retry_count = DEFAULT_RETRIES;
	param->rnr_retry_count = DEFAULT_RETRIES;
	if (conn == NULL)
		return;
	param->has_flow_control = conn->flow_control != 0;
	param->retry_count = lower_of(conn->retry_count, DEFAULT_RETRIES);
	param->rnr_retry_count = lower_of(conn->rnr_retry_count, DEFAULT_RETRIES);
	param->private_len = conn->private_data != NULL ? conn->private_data_len : 0;
	param->private_data = param->private_len > 0 ? conn->private_data : NULL;
}

static uint8_t
transport_of_type(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_UC:
		return UROCE_CM_TRANSPORT_UC;
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return UROCE_CM_TRANSPORT_EXTENDED;
	default:
		return UROCE_CM_TRANSPORT_RC;
	}
}

/* Fill in the parameters for the connection manager from those of uroce_cm_connect(). */
static int
fill_connect_param(const struct uroce_vcm_id *id, const struct rdma_conn_param *conn,
		   struct uroce_cm_param *param)
{
	int ret;

	*param = (struct uroce_cm_param){ 0 };
	fill_user_part(conn, param);
	if (uroce_vcm_is_datagram(id))
		return 0;
	param->transport = transport_of_type(id->cm.qp_type);
	param->mtu_code = id->path.mtu;
	param->pkey = UROCE_VCM_PKEY;
	param->ack_timeout_code = (uint8_t)(id->path.packet_life_time + 1);
	ret = fill_depths(id, conn, NULL, param);
	return ret != 0 ? ret : fill_qp_part(id, conn, param);
}

/* Fill in the parameters for the connection manager from those of uroce_cm_accept(). */
static int
fill_accept_param(const struct uroce_vcm_id *id, const struct rdma_conn_param *conn,
		  const struct uroce_cm_info *info, struct uroce_cm_param *param)
{
	int ret;

	*param = (struct uroce_cm_param){ 0 };
	fill_user_part(conn, param);
	if (uroce_vcm_is_datagram(id)) {
		param->qkey = RDMA_UDP_QKEY;
		return fill_qp_part(id, conn, param);
	}
	param->is_xrc_target = id->cm.qp_type == IBV_QPT_XRC_RECV;
	if (conn == NULL)
		param->rnr_retry_count = info->rnr_retry_count;
	ret = fill_depths(id, conn, info, param);
	return ret != 0 ? ret : fill_qp_part(id, conn, param);
}

/* --- the active side ----------------------------------------------------------------------------- */

static int
begin_connection(struct uroce_vcm_id *id, const struct rdma_conn_param *conn)
{
	struct uroce_cm_manager *manager;
	struct uroce_cm_param param;
	struct uroce_cm_addr remote;
	struct uroce_cm_av av;
	uint32_t scope;
	int ret;

	if (id->state != UROCE_VCM_ROUTE_RESOLVED)
		return -EINVAL;
	ret = fill_connect_param(id, conn, &param);
	if (ret == 0)
		ret = uroce_vcm_sockaddr_parse(&id->cm.route.addr.dst_addr, &remote, &scope);
	if (ret != 0)
		return ret;
	uroce_vcm_path_to_av(id, &av);
	manager = id->ends->device->manager;
	ret = manager->ops->connect(manager, id->ends->number, &remote, &av, &param);
	if (ret != 0)
		return ret;
	id->responder_resources = param.responder_resources;
	id->initiator_depth = param.initiator_depth;
	id->state = UROCE_VCM_CONNECT;
	return 0;
}

int
uroce_cm_connect(struct rdma_cm_id *cm, struct rdma_conn_param *conn_param)
{
	struct uroce_vcm_id *const id = uroce_vcm_id(cm);
	int ret;

	if (cm == NULL)
		return uroce_vcm_ret(-EINVAL);
	uroce_vcm_take_forget(id);
	pthread_mutex_lock(&uroce_vcm_lock);
	ret = begin_connection(id, conn_param);
	pthread_mutex_unlock(&uroce_vcm_lock);
	return uroce_vcm_ret(ret != 0 ? ret : uroce_vcm_take_end(id));
}

/* Tell the peer that the connection of an id without QP is ready. */
static int
establish_response(struct uroce_vcm_id *id)
{
	struct uroce_cm_manager *manager;
	int ret;

	if (id->cm.qp != NULL || id->state != UROCE_VCM_RESPONSE)
		return -EINVAL;
	manager = id->ends->device->manager;
	ret = manager->ops->establish(manager, id->ends->number, NULL, 0);
	if (ret == 0)
		id->state = UROCE_VCM_CONNECTED;
	return ret;
}

int
uroce_cm_establish(struct rdma_cm_id *cm)
{
	int ret;

	if (cm == NULL)
		return uroce_vcm_ret(-EINVAL);
	uroce_vcm_take_forget(uroce_vcm_id(cm));
	pthread_mutex_lock(&uroce_vcm_lock);
	ret = establish_response(uroce_vcm_id(cm));
	pthread_mutex_unlock(&uroce_vcm_lock);
	return uroce_vcm_ret(ret);
}

/* --- the passive side ---------------------------------------------------------------------------- */

static int
prepare_accept(struct uroce_vcm_id *id, const struct rdma_conn_param *conn,
	       struct uroce_cm_param *param)
{
	struct uroce_cm_info info;
	int ret;

	if (id->state != UROCE_VCM_REQUEST)
		return -EINVAL;
	ret = uroce_vcm_end_query(id, &info);
	if (ret == 0)
		ret = fill_accept_param(id, conn, &info, param);
	/*
	 * the private data is checked before the QP is moved, because the reply with this data is
	 * sent after the move
	 */
	if (ret == 0 &&
	    param->private_len > (uroce_vcm_is_datagram(id) ? UROCE_CM_SIDR_REP_PRIVATE_LEN
							    : UROCE_CM_REP_PRIVATE_LEN))
		ret = -EINVAL;
	if (ret == 0)
		id->responder_resources = param->responder_resources;
	return ret;
}

static int
send_accept(struct uroce_vcm_id *id, const struct uroce_cm_param *param)
{
	struct uroce_cm_manager *const manager = id->ends->device->manager;
	const int ret = manager->ops->accept(manager, id->ends->number, param);

	if (ret == 0)
		id->state = UROCE_VCM_ACCEPTED;
	return ret;
}

/*
 * Accept a request of a peer. The QP is moved to RTS before the reply is sent, so that the peer's
 * first packet finds the QP ready.
 */
static int
accept_request(struct uroce_vcm_id *id, const struct rdma_conn_param *conn)
{
	struct uroce_cm_param param;
	int ret;

	pthread_mutex_lock(&uroce_vcm_lock);
	ret = prepare_accept(id, conn, &param);
	pthread_mutex_unlock(&uroce_vcm_lock);
	if (ret == 0 && !uroce_vcm_is_datagram(id))
		ret = uroce_vcm_qp_connect(id, param.responder_resources, param.initiator_depth);
	if (ret != 0)
		return ret;
	pthread_mutex_lock(&uroce_vcm_lock);
	ret = send_accept(id, &param);
	pthread_mutex_unlock(&uroce_vcm_lock);
	if (ret != 0)
		(void)uroce_vcm_qp_end(id);
	/*
	 * the id of a datagram service gets no event after an accept, so the call does not wait for
	 * one
	 */
	return ret != 0 || uroce_vcm_is_datagram(id) ? ret : uroce_vcm_take_end(id);
}

int
uroce_cm_accept(struct rdma_cm_id *cm, struct rdma_conn_param *conn_param)
{
	struct uroce_vcm_id *const id = uroce_vcm_id(cm);
	int ret;

	if (cm == NULL)
		return uroce_vcm_ret(-EINVAL);
	if (!id->is_passive)
		return uroce_cm_establish(cm);
	ret = accept_request(id, conn_param);
	return uroce_vcm_ret(ret);
}

static int
send_rejection(struct uroce_vcm_id *id, uint16_t reason, const void *data, uint8_t len)
{
	struct uroce_cm_manager *manager;
	int ret;

	if (id->state != UROCE_VCM_REQUEST && id->state != UROCE_VCM_RESPONSE)
		return -EINVAL;
	if (uroce_vcm_is_datagram(id))
		reason = UROCE_CM_SIDR_REJECT;
	manager = id->ends->device->manager;
	ret = manager->ops->reject(manager, id->ends->number, reason, data, len);
	if (ret == 0)
		id->state = UROCE_VCM_ENDED;
	return ret;
}

static int
reject_with(struct rdma_cm_id *cm, uint16_t reason, const void *data, uint8_t len)
{
	int ret;

	if (cm == NULL || (data == NULL && len > 0))
		return uroce_vcm_ret(-EINVAL);
	pthread_mutex_lock(&uroce_vcm_lock);
	ret = send_rejection(uroce_vcm_id(cm), reason, data, len);
	pthread_mutex_unlock(&uroce_vcm_lock);
	return uroce_vcm_ret(ret);
}

int
uroce_cm_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	return reject_with(id, UROCE_CM_REASON_CONSUMER_DEFINED, private_data, private_data_len);
}

int
uroce_cm_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	return reject_with(id, UROCE_CM_REASON_VENDOR_OPTION_NOT_SUPPORTED, private_data,
			   private_data_len);
}

/*
 * Establish a connection whose data arrived before the RTU. The data proves that the peer has
 * established the connection.
 */
static int
note_data(struct uroce_vcm_id *id)
{
	struct uroce_cm_manager *manager;

	if (id->state == UROCE_VCM_CONNECTED)
		return 0;
	if (id->state != UROCE_VCM_ACCEPTED)
		return -EINVAL;
	manager = id->ends->device->manager;
	return manager->ops->establish(manager, id->ends->number, NULL, 0);
}

int
uroce_cm_notify(struct rdma_cm_id *cm, enum ibv_event_type event)
{
	int ret;

	if (cm == NULL || event != IBV_EVENT_COMM_EST)
		return uroce_vcm_ret(-EINVAL);
	pthread_mutex_lock(&uroce_vcm_lock);
	ret = note_data(uroce_vcm_id(cm));
	pthread_mutex_unlock(&uroce_vcm_lock);
	return uroce_vcm_ret(ret);
}

/* --- calls of both sides ------------------------------------------------------------------------- */

/* Begin to disconnect. @param[out] has_event  whether DISCONNECTED is pending, or will follow */
static int
end_connection(struct uroce_vcm_id *id, bool *has_event)
{
	const bool has_connection = id->state == UROCE_VCM_RESPONSE ||
				    id->state == UROCE_VCM_ACCEPTED ||
				    id->state == UROCE_VCM_CONNECTED;
	struct uroce_cm_manager *manager;

	*has_event = (has_connection || id->has_end) && !id->is_end_taken && !id->has_failed;
	if (uroce_vcm_is_datagram(id) || (!has_connection && id->state != UROCE_VCM_ENDED) ||
	    id->ends == NULL)
		return -EINVAL;
	manager = id->ends->device->manager;
	return manager->ops->disconnect(manager, id->ends->number, NULL, 0);
}

int
uroce_cm_disconnect(struct rdma_cm_id *cm)
{
	struct uroce_vcm_id *const id = uroce_vcm_id(cm);
	bool has_event;
	int ret;

	if (cm == NULL)
		return uroce_vcm_ret(-EINVAL);
	pthread_mutex_lock(&uroce_vcm_lock);
	ret = end_connection(id, &has_event);
	pthread_mutex_unlock(&uroce_vcm_lock);
	if (ret == 0)
		ret = uroce_vcm_qp_end(id);
	if (ret == 0 && has_event)
		ret = uroce_vcm_take_end(id);
	return uroce_vcm_ret(ret);
}
