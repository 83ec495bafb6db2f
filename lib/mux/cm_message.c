/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The sizes and the checks of the messages between a client of uroced and uroced's connection
 * manager. A table has a row for each type of request: the size of its member of the union, and the
 * function that checks this member.
 */

#include "mux/cm_message.h"

#include <errno.h>
#include <string.h>

#include "cm/service_id.h"

#define REQUEST_HEAD offsetof(struct uroce_mux_cm_request, hello)
#define REPLY_HEAD   offsetof(struct uroce_mux_cm_reply, id)

#define QPN_MAX      0xffffffu
#define FLOW_MAX     0xfffffu
#define COUNT_MAX    7u /* largest retry count of a connection, which has 3 bits */
#define TIMEOUT_MAX  31u
#define MTU_CODE_MAX 5u /* largest value of enum ibv_mtu: IBV_MTU_4096 */

/* Whether `len` bytes from `bytes` on are zero. */
static bool
is_zero(const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len > 0 && at[len - 1] == 0)
		len--;
	return len == 0;
}

/* --- arguments ---------------------------------------------------------------------------------- */

static const char *
check_addr(const struct uroce_mux_cm_addr *addr)
{
	if (addr->reserved != 0)
		return "a reserved member is not 0";
	if (addr->ip_version != 0 && addr->ip_version != 4 && addr->ip_version != 6)
		return "an IP version is not 0, 4 or 6";
	if (addr->ip_version == 4 && !is_zero(addr->ip, 12))
		return "an IPv4 address has more than 4 bytes";
	return NULL;
}

/* Whether a GID is a unicast address. A multicast address cannot be the address of a peer. */
static bool
is_unicast(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const bool is_ipv4 = memcmp(gid, mapped, sizeof(mapped)) == 0;

	return !is_zero(gid, 16) && (is_ipv4 ? gid[12] < 224 : gid[0] != 0xff);
}

static const char *
check_av(const struct uroce_mux_cm_av *av)
{
	if (av->reserved != 0)
		return "a reserved member is not 0";
	if (av->flow_label > FLOW_MAX)
		return "a flow label has more than 20 bits";
	return is_unicast(av->remote_gid) ? NULL : "the GID of the peer is no unicast address";
}

static const char *
check_param(const struct uroce_mux_cm_param *param)
{
	if (!is_zero(param->reserved, sizeof(param->reserved)))
		return "a reserved member is not 0";
	if (param->is_xrc_target > 1 || param->has_flow_control > 1 || param->has_srq > 1)
		return "a flag is not 0 or 1";
	if (param->qpn > QPN_MAX)
		return "a QP number has more than 24 bits";
	if (param->transport == UROCE_CM_TRANSPORT_RD ||
	    param->transport > UROCE_CM_TRANSPORT_EXTENDED)
		return "the transport is not RC, UC or XRC";
	if (param->retry_count > COUNT_MAX || param->rnr_retry_count > COUNT_MAX)
		return "a retry count exceeds 7";
	if (param->ack_timeout_code > TIMEOUT_MAX)
		return "a timeout code exceeds 31";
	return param->mtu_code <= MTU_CODE_MAX ? NULL : "the path MTU is unknown";
}

static const char *
check_private(const struct uroce_mux_cm_private *private_data)
{
	if (!is_zero(private_data->reserved, sizeof(private_data->reserved)))
		return "a reserved member is not 0";
	return private_data->len <= UROCE_MUX_CM_PRIVATE_MAX ? NULL : "private data is too long";
}

/* --- requests ----------------------------------------------------------------------------------- */

static const char *
check_hello(const struct uroce_mux_cm_request *request)
{
	return request->hello.reserved == 0 ? NULL : "a reserved member is not 0";
}

static const char *
check_create(const struct uroce_mux_cm_request *request)
{
	const uint16_t space = request->create.space;

	if (!is_zero(request->create.reserved, sizeof(request->create.reserved)))
		return "a reserved member is not 0";
	if (request->create.is_datagram > 1)
		return "a flag is not 0 or 1";
	return space == UROCE_CM_PS_IPOIB || space == UROCE_CM_PS_TCP || space == UROCE_CM_PS_UDP ||
			       space == UROCE_CM_PS_IB
		       ? NULL
		       : "the port space is unknown";
}

static const char *
check_bind(const struct uroce_mux_cm_request *request)
{
	if (request->bind.reserved != 0)
		return "a reserved member is not 0";
	if (request->bind.is_v6only > 1 || request->bind.is_shared > 1)
		return "a flag is not 0 or 1";
	return check_addr(&request->bind.addr);
}

static const char *
check_listen(const struct uroce_mux_cm_request *request)
{
	return request->listen.reserved == 0 ? NULL : "a reserved member is not 0";
}

static const char *
check_connect(const struct uroce_mux_cm_request *request)
{
	const char *wrong = check_addr(&request->connect.remote);

	if (!wrong)
		wrong = check_av(&request->connect.av);
	if (!wrong)
		wrong = check_param(&request->connect.param);
	return wrong ? wrong : check_private(&request->connect.private_data);
}

static const char *
check_accept(const struct uroce_mux_cm_request *request)
{
	const char *wrong = check_param(&request->accept.param);

	return wrong ? wrong : check_private(&request->accept.private_data);
}

static const char *
check_reject(const struct uroce_mux_cm_request *request)
{
	if (!is_zero(request->reject.reserved, sizeof(request->reject.reserved)))
		return "a reserved member is not 0";
	return check_private(&request->reject.private_data);
}

static const char *
check_establish(const struct uroce_mux_cm_request *request)
{
	return check_private(&request->establish.private_data);
}

static const char *
check_qpn_busy(const struct uroce_mux_cm_request *request)
{
	if (request->qpn_busy.reserved != 0)
		return "a reserved member is not 0";
	return request->qpn_busy.qpn <= QPN_MAX ? NULL : "a QP number has more than 24 bits";
}

#define MEMBER(name) sizeof(((struct uroce_mux_cm_request *)0)->name)

static const struct shape {
	/*
	 * length in bytes of the member of struct uroce_mux_cm_request that this type of request
	 * has
	 */
	size_t size;
	/*
	 * Function that checks the member of the request: it returns NULL, or the reason why the
	 * request is refused. If the pointer is NULL, the member needs no check.
	 */
	const char *(*check)(const struct uroce_mux_cm_request *request);
} request_shapes[UROCE_MUX_CM_NB_REQUESTS] = {
	[UROCE_MUX_CM_HELLO] = { MEMBER(hello), check_hello },
	[UROCE_MUX_CM_CREATE] = { MEMBER(create), check_create },
	[UROCE_MUX_CM_BIND] = { MEMBER(bind), check_bind },
	[UROCE_MUX_CM_LISTEN] = { MEMBER(listen), check_listen },
	[UROCE_MUX_CM_CONNECT] = { MEMBER(connect), check_connect },
	[UROCE_MUX_CM_ACCEPT] = { MEMBER(accept), check_accept },
	[UROCE_MUX_CM_REJECT] = { MEMBER(reject), check_reject },
	[UROCE_MUX_CM_ESTABLISH] = { MEMBER(establish), check_establish },
	[UROCE_MUX_CM_DISCONNECT] = { MEMBER(disconnect), check_establish },
	[UROCE_MUX_CM_SET_USER] = { MEMBER(set_user), NULL },
	[UROCE_MUX_CM_QPN_BUSY] = { MEMBER(qpn_busy), check_qpn_busy },
};

size_t
uroce_mux_cm_request_size(uint32_t type)
{
	if (type == 0 || type >= UROCE_MUX_CM_NB_REQUESTS)
		return 0;
	return REQUEST_HEAD + request_shapes[type].size;
}

const char *
uroce_mux_cm_check(const struct uroce_mux_cm_request *request, size_t len)
{
	size_t size;

	if (len < sizeof(request->type))
		return "it has no type";
	size = uroce_mux_cm_request_size(request->type);
	if (size == 0)
		return "its type is unknown";
	if (len != size)
		return "its length is not that of its type";
	return request_shapes[request->type].check ? request_shapes[request->type].check(request)
						   : NULL;
}

/* --- messages of the connection manager --------------------------------------------------------- */

size_t
uroce_mux_cm_reply_size(uint32_t type)
{
	static const size_t sizes[UROCE_MUX_CM_NB_TYPES] = {
		[UROCE_MUX_CM_CREATE] = sizeof(uint32_t),
		[UROCE_MUX_CM_QUERY] = sizeof(struct uroce_cm_info),
		[UROCE_MUX_CM_NEXT_EVENT] = sizeof(struct uroce_cm_event),
		[UROCE_MUX_CM_QPN_BUSY] = sizeof(uint64_t),
		[UROCE_MUX_CM_REFUSED] = sizeof(((struct uroce_mux_cm_reply *)0)->why),
	};

	if (type == 0 || type >= UROCE_MUX_CM_NB_TYPES)
		return 0;
	return REPLY_HEAD + sizes[type];
}

bool
uroce_mux_cm_is_reply(const struct uroce_mux_cm_reply *reply, size_t len)
{
	if (len < sizeof(reply->type) || len != uroce_mux_cm_reply_size(reply->type) || len == 0)
		return false;
	if (reply->type != UROCE_MUX_CM_NEXT_EVENT || reply->ret != 1)
		return true;
	return reply->event.kind < UROCE_CM_EVENT_NB &&
	       reply->event.private_len <= sizeof(reply->event.private_data);
}

/* --- conversions -------------------------------------------------------------------------------- */

void
uroce_mux_cm_put_addr(struct uroce_mux_cm_addr *to, const struct uroce_cm_addr *from)
{
	*to = (struct uroce_mux_cm_addr){ .ip_version = from->ip_version, .port = from->port };
	memcpy(to->ip, from->ip, sizeof(to->ip));
}

void
uroce_mux_cm_get_addr(struct uroce_cm_addr *to, const struct uroce_mux_cm_addr *from)
{
	*to = (struct uroce_cm_addr){ .ip_version = from->ip_version, .port = from->port };
	memcpy(to->ip, from->ip, sizeof(to->ip));
}

void
uroce_mux_cm_put_av(struct uroce_mux_cm_av *to, const struct uroce_cm_av *from)
{
	*to = (struct uroce_mux_cm_av){
		.flow_label = from->flow_label,
		.traffic_class = from->traffic_class,
		.hop_limit = from->hop_limit,
	};
	memcpy(to->local_gid, from->local_gid, sizeof(to->local_gid));
	memcpy(to->remote_gid, from->remote_gid, sizeof(to->remote_gid));
}

void
uroce_mux_cm_get_av(struct uroce_cm_av *to, const struct uroce_mux_cm_av *from)
{
	*to = (struct uroce_cm_av){
		.port = 1,
		.flow_label = from->flow_label,
		.traffic_class = from->traffic_class,
		.hop_limit = from->hop_limit,
	};
	memcpy(to->local_gid, from->local_gid, sizeof(to->local_gid));
	memcpy(to->remote_gid, from->remote_gid, sizeof(to->remote_gid));
}

int
uroce_mux_cm_put_private(struct uroce_mux_cm_private *to, const void *from, uint8_t len)
{
	*to = (struct uroce_mux_cm_private){ .len = len };
	if (len > UROCE_MUX_CM_PRIVATE_MAX)
		return -EINVAL;
	if (len > 0)
		memcpy(to->bytes, from, len);
	return 0;
}

int
uroce_mux_cm_put_param(struct uroce_mux_cm_param *to, struct uroce_mux_cm_private *private_data,
		       const struct uroce_cm_param *from)
{
	*to = (struct uroce_mux_cm_param){
		.qpn = from->qpn,
		.qkey = from->qkey,
		.ece_vendor_id = from->ece_vendor_id,
		.ece_options = from->ece_options,
		.pkey = from->pkey,
		.transport = from->transport,
		.is_xrc_target = from->is_xrc_target,
		.responder_resources = from->responder_resources,
		.initiator_depth = from->initiator_depth,
		.has_flow_control = from->has_flow_control,
		.retry_count = from->retry_count & COUNT_MAX,
		.rnr_retry_count = from->rnr_retry_count & COUNT_MAX,
		.has_srq = from->has_srq,
		.mtu_code = from->mtu_code,
		.ack_timeout_code = from->ack_timeout_code,
	};
	return uroce_mux_cm_put_private(private_data, from->private_data, from->private_len);
}

void
uroce_mux_cm_get_param(struct uroce_cm_param *to, const struct uroce_mux_cm_param *from,
		       const struct uroce_mux_cm_private *private_data)
{
	*to = (struct uroce_cm_param){
		.qpn = from->qpn,
		.qkey = from->qkey,
		.transport = from->transport,
		.is_xrc_target = from->is_xrc_target,
		.responder_resources = from->responder_resources,
		.initiator_depth = from->initiator_depth,
		.has_flow_control = from->has_flow_control,
		.retry_count = from->retry_count,
		.rnr_retry_count = from->rnr_retry_count,
		.has_srq = from->has_srq,
		.mtu_code = from->mtu_code,
		.pkey = from->pkey,
		.ack_timeout_code = from->ack_timeout_code,
		.ece_vendor_id = from->ece_vendor_id,
		.ece_options = from->ece_options,
		.private_len = private_data->len,
		.private_data = private_data->len > 0 ? private_data->bytes : NULL,
	};
}
