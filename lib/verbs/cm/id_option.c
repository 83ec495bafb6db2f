/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options of an id. A table has for each option the length of its value, and the function that sets
 * the option.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "verbs/cm/cm_event.h"
#include "verbs/cm/cm_path.h"
#include "verbs/uroce_cm.h"

#define TIMEOUT_CODE_MAX 31
#define FLOW_LABEL_SHIFT 8
#define FLOW_LABEL_MASK  0xfffffu
#define PATH_FLAGS       (IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL)

static int
set_tos(struct uroce_vcm_id *id, const void *value)
{
	memcpy(&id->tos, value, sizeof(id->tos));
	return 0;
}

static int
set_flag_before_bind(const struct uroce_vcm_id *id, const void *value, bool *flag)
{
	int number;

	if (id->state != UROCE_VCM_IDLE)
		return -EINVAL;
	memcpy(&number, value, sizeof(number));
	*flag = number != 0;
	return 0;
}

static int
set_reuseaddr(struct uroce_vcm_id *id, const void *value)
{
	return set_flag_before_bind(id, value, &id->is_shared);
}

static int
set_afonly(struct uroce_vcm_id *id, const void *value)
{
	return set_flag_before_bind(id, value, &id->is_v6only);
}

static int
set_ack_timeout(struct uroce_vcm_id *id, const void *value)
{
	uint8_t code;

	memcpy(&code, value, sizeof(code));
	if (code > TIMEOUT_CODE_MAX)
		return -EINVAL;
	id->ack_timeout_code = code;
	id->has_ack_timeout = true;
	return 0;
}

/*
 * Set the path of an id to the path that the program gives, instead of resolving the route. Only
 * the flow label, the traffic class, the hop limit and the SL of the given path are used. The
 * addresses are those of the id.
 */
static int
set_path(struct uroce_vcm_id *id, const void *value)
{
	struct ibv_path_data data;
	uint32_t word;

	memcpy(&data, value, sizeof(data));
	if (id->state != UROCE_VCM_ADDR_RESOLVED || data.flags != PATH_FLAGS)
		return -EINVAL;
	uroce_vcm_path_fill(id);
	word = ntohl(data.path.flowlabel_hoplimit);
	id->path.flow_label = htonl(word >> FLOW_LABEL_SHIFT & FLOW_LABEL_MASK);
	id->path.hop_limit = (uint8_t)word;
	id->path.traffic_class = data.path.tclass;
	id->path.sl = ntohs(data.path.qosclass_sl) & 0xf;
	id->state = UROCE_VCM_ROUTE_RESOLVED;
	uroce_vcm_raise(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return 0;
}

static const struct {
	int level, name;
	size_t len;
	int (*set)(struct uroce_vcm_id *id, const void *value);
} options[] = {
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, sizeof(uint8_t), set_tos },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, sizeof(int), set_reuseaddr },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, sizeof(int), set_afonly },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, sizeof(uint8_t), set_ack_timeout },
	{ RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, sizeof(struct ibv_path_data), set_path },
};

int
uroce_cm_set_option(struct rdma_cm_id *cm, int level, int optname, void *optval, size_t optlen)
{
	unsigned row = 0;
	int ret = -EINVAL;

	if (cm == NULL || optval == NULL)
		return uroce_vcm_ret(-EINVAL);
	while (row < sizeof(options) / sizeof(options[0]) &&
	       (options[row].level != level || options[row].name != optname))
		row++;
	if (row == sizeof(options) / sizeof(options[0]))
		return uroce_vcm_ret(-ENOSYS);
	pthread_mutex_lock(&uroce_vcm_lock);
	if (optlen == options[row].len)
		ret = options[row].set(uroce_vcm_id(cm), optval);
	pthread_mutex_unlock(&uroce_vcm_lock);
	return uroce_vcm_ret(ret);
}
