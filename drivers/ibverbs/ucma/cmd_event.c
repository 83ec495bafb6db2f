/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command GET_EVENT of librdmacm, which takes an event of an id and converts it to the struct
 * of the kernel.
 */

#include <errno.h>
#include <string.h>

#include "command.h"
#include "ctx.h"
#include "file.h"
#include "kern.h"
#include "user_memory.h"

/* --- conversion ----------------------------------------------------------------------------------- */

static void
copy_private(uint8_t *to, uint8_t *to_len, const void *private_data, uint8_t len)
{
	*to_len = len;
	if (len != 0)
		memcpy(to, private_data, len);
}

static void
copy_conn(struct rdma_ucm_conn_param *to, const struct rdma_conn_param *from)
{
	copy_private(to->private_data, &to->private_data_len, from->private_data,
		     from->private_data_len);
	to->responder_resources = from->responder_resources;
	to->initiator_depth = from->initiator_depth;
	to->flow_control = from->flow_control;
	to->retry_count = from->retry_count;
	to->rnr_retry_count = from->rnr_retry_count;
	to->srq = from->srq;
	to->qp_num = from->qp_num;
}

static bool
is_mcast(const struct rdma_cm_event *event)
{
	return event->event == RDMA_CM_EVENT_MULTICAST_JOIN ||
	       event->event == RDMA_CM_EVENT_MULTICAST_ERROR;
}

/*
 * Copy the parameters of an event of a UD id to the response of GET_EVENT. An event of a multicast
 * group has no private data: in its place is the cookie that was given to
 * uroce_cm_join_multicast().
 */
static void
copy_ud(struct rdma_ucm_ud_param *to, const struct rdma_cm_event *event)
{
	const struct rdma_ud_param *const from = &event->param.ud;

	if (!is_mcast(event))
		copy_private(to->private_data, &to->private_data_len, from->private_data,
			     from->private_data_len);
	kern_copy_ah_attr(&to->ah_attr, &from->ah_attr);
	to->qp_num = from->qp_num;
	to->qkey = from->qkey;
}

/*
 * Copy the peer's ECE options from an event, if it is a connection request or a reply of the peer.
 */
static void
copy_ece(struct rdma_ucm_ece *to, const struct rdma_cm_event *event)
{
	struct ibv_ece ece;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST &&
	    event->event != RDMA_CM_EVENT_CONNECT_RESPONSE)
		return;
	if (uroce_cm_get_remote_ece(event->id, &ece) != 0)
		return;
	to->vendor_id = ece.vendor_id;
	to->attr_mod = ece.options;
}

/* Convert an event to the response of GET_EVENT, except for the fields that name the id. */
static void
convert(struct rdma_ucm_event_resp *to, const struct rdma_cm_event *from)
{
	memset(to, 0, sizeof(*to));
	to->event = from->event;
	to->status = (uint32_t)from->status;
	if (from->id->qp_type == IBV_QPT_UD)
		copy_ud(&to->param.ud, from);
	else
		copy_conn(&to->param.conn, &from->param.conn);
	copy_ece(&to->ece, from);
}

/* --- names: the callers of these functions hold ucma_lock ------------------------------------- */

/*
 * Publish the new id of a CONNECT_REQUEST, so that commands find it, and enter its number in the
 * response of GET_EVENT. The cookie in the response is that of the listener.
 */
static void
name_request(struct rdma_ucm_event_resp *resp, const struct rdma_cm_event *event,
	     struct ucma_ctx *ctx, struct ucma_file *file)
{
	struct ucma_ctx *const listener = event->listen_id->context;

	ctx->cm_id = event->id;
	ucma_ctx_publish(ctx, file);
	listener->nb_events_reported++;
	resp->uid = listener->uid;
	resp->id = ctx->id;
}

static void
name(struct rdma_ucm_event_resp *resp, const struct rdma_cm_event *event)
{
	struct ucma_ctx *const ctx = event->id->context;
	struct ucma_mcast *mcast;

	ctx->nb_events_reported++;
	resp->uid = ctx->uid;
	resp->id = ctx->id;
	if (!is_mcast(event))
		return;
	mcast = (struct ucma_mcast *)(uintptr_t)event->param.ud.private_data;
	mcast->nb_events_reported++;
	resp->uid = mcast->uid;
	resp->id = mcast->id;
}

/* --- the command ---------------------------------------------------------------------------------- */

/*
 * Fill the response of GET_EVENT with an event that was taken from the channel, and acknowledge the
 * event. If there is no memory for the id of a CONNECT_REQUEST, the connection request is rejected.
 * @return 0, or -ENOMEM
 */
static int
fill(struct rdma_ucm_event_resp *resp, struct rdma_cm_event *event, struct ucma_file *file)
{
	const bool is_request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
	struct ucma_ctx *const ctx = is_request ? ucma_ctx_new(0) : NULL;
	struct rdma_cm_id *const id = event->id;

	if (is_request && ctx == NULL) {
		(void)uroce_cm_ack_cm_event(event);
		(void)uroce_cm_destroy_id(id);
		return -ENOMEM;
	}
	convert(resp, event);
	pthread_mutex_lock(&ucma_lock);
	if (is_request)
		name_request(resp, event, ctx, file);
	else
		name(resp, event);
	pthread_mutex_unlock(&ucma_lock);
	(void)uroce_cm_ack_cm_event(event);
	return 0;
}

/*
 * Take the oldest event of the event channel, and fill the response of GET_EVENT.
 * @return 0; -EAGAIN: there is no event; another -errno
 */
static int
take(struct ucma_call *call, struct rdma_ucm_event_resp *resp)
{
	struct rdma_cm_event *event;
	int ret = 0;

	if (uroce_cm_get_cm_event(call->file->channel, &event) != 0)
		ret = -errno;
	else
		ret = fill(resp, event, call->file);
	if (ret == -EAGAIN)
		return ret;
	pthread_mutex_lock(&ucma_lock);
	ucma_file_update(call->file, call->fd);
	pthread_mutex_unlock(&ucma_lock);
	return ret;
}

static int
wait_for_event(struct ucma_call *call)
{
	int ret;

	pthread_mutex_lock(&ucma_lock);
	ret = ready_pipe_wait(&call->file->pipe, call->fd, &ucma_lock, call->cancel_state);
	ucma_file_update(call->file, call->fd);
	pthread_mutex_unlock(&ucma_lock);
	return ret;
}

int
ucma_get_event(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_get_event *const cmd = in;
	struct rdma_ucm_event_resp resp = { .uid = 0 };
	/*
	 * The response of GET_EVENT is written once before an event is taken, to check the memory
	 * of the program: an event that was taken cannot be put back.
	 */
	int ret = ucma_respond(call, cmd->response, &resp, sizeof(resp));

	if (ret != 0)
		return ret;
	while ((ret = take(call, &resp)) == -EAGAIN) {
		ret = wait_for_event(call);
		if (ret != 0)
			return ret;
	}
	return ret == 0 ? ucma_respond(call, cmd->response, &resp, sizeof(resp)) : ret;
}
