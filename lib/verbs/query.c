/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queries of a device: its limits, its port, its clock and its P_Keys. The limits are those that
 * the create calls enforce.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <rte_byteorder.h>
#include <rte_ethdev.h>

#include "config/limits.h"
#include "datapath/clock.h"
#include "datapath/device/odp.h"
#include "mem/sge.h"
#include "verbs/errno_ret.h"
#include "verbs/object.h"
#include "verbs/query.h"
#include "verbs/uroce.h"
#include "verbs/uroce_version.h"

/* uroce has no vendor id, so the number is one of the locally administered OUIs. */
#define VENDOR_ID 0x020000

/* Frequency of the clock of completion timestamps: 1 GHz, because timestamps are in nanoseconds. */
#define CLOCK_KHZ 1000000

/*
 * Values of phys_state, active_width and active_speed in struct ibv_port_attr, for which
 * <infiniband/verbs.h> has no names [IBA 14.2.5.6].
 */
#define PHYS_STATE_POLLING 2
#define PHYS_STATE_LINK_UP 5
#define WIDTH_1X           1
#define WIDTH_4X           2
#define WIDTH_8X           4
/* code of the speed SDR in active_speed: 2.5 Gb/s for each lane of the link */
#define SPEED_SDR 1
/* code of the speed QDR in active_speed: 10 Gb/s for each lane of the link */
#define SPEED_QDR 4
/* code of the speed FDR10 in active_speed: 10 Gb/s for each lane of the link */
#define SPEED_FDR10 8
/* code of the speed EDR in active_speed: 25 Gb/s for each lane of the link */
#define SPEED_EDR 32
/* code of the speed HDR in active_speed: 50 Gb/s for each lane of the link */
#define SPEED_HDR 64

/*
 * Table that expresses speeds of Ethernet by the width and speed of an InfiniBand link, fastest
 * first. The last row is for all lower speeds.
 */
static const struct {
	uint32_t mbps; /* lowest Ethernet speed in Mb/s to which this row of the table applies */
	uint8_t width;
	uint8_t speed;
} link_rates[] = {
	{ 400000, WIDTH_8X, SPEED_HDR },  { 200000, WIDTH_4X, SPEED_HDR },
	{ 100000, WIDTH_4X, SPEED_EDR },  { 50000, WIDTH_1X, SPEED_HDR },
	{ 40000, WIDTH_4X, SPEED_QDR },   { 25000, WIDTH_1X, SPEED_EDR },
	{ 10000, WIDTH_1X, SPEED_FDR10 }, { 0, WIDTH_1X, SPEED_SDR },
};

void
uroce_query_rate(uint32_t mbps, uint8_t *width, uint8_t *speed)
{
	unsigned row = 0;

	if (mbps == RTE_ETH_SPEED_NUM_UNKNOWN)
		mbps = RTE_ETH_SPEED_NUM_10G;
	while (mbps < link_rates[row].mbps)
		row++;
	*width = link_rates[row].width;
	*speed = link_rates[row].speed;
}

static void
set_port_rate(const struct uroce_dev *dev, struct ibv_port_attr *attr)
{
	uint32_t mbps = dev->plan.mbps;
	uint16_t port_id;

	if (dev->port != NULL && (!uroce_port_is_ethdev(dev->port) ||
				  rte_eth_dev_get_port_by_name(dev->conf.port, &port_id) == 0))
		mbps = uroce_port_mbps(dev->port);
	uroce_query_rate(mbps, &attr->active_width, &attr->active_speed);
}

int
uroce_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr)
{
	struct uroce_dev *dev;

	if (context == NULL || attr == NULL || port_num != 1)
		return uroce_fail(EINVAL);
	dev = uroce_vcontext_dev(context);
	uroce_dev_check_link(dev);
	const bool is_up = uroce_dev_is_link_up(dev);

	*attr = (struct ibv_port_attr){
		.state = is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = dev->limits.active_mtu,
		.gid_tbl_len = UROCE_GIDS_MAX,
		.port_cap_flags = IBV_PORT_IP_BASED_GIDS,
		.max_msg_sz = 1u << 31,
		.pkey_tbl_len = RTE_DIM(dev->pkeys),
		.max_vl_num = 1,
		.phys_state = is_up ? PHYS_STATE_LINK_UP : PHYS_STATE_POLLING,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.flags = IBV_QPF_GRH_REQUIRED,
	};
	set_port_rate(dev, attr);
	return 0;
}

int
uroce_query_port_sized(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		       size_t len)
{
	struct ibv_port_attr ours;
	const int ret =
		attr != NULL ? uroce_query_port(context, port_num, &ours) : uroce_fail(EINVAL);

	if (ret != 0)
		return ret;
	memset(attr, 0, len);
	memcpy(attr, &ours, RTE_MIN(len, sizeof(ours)));
	return 0;
}

/*
 * Compute max_res_rd_atom: the number of READs and atomics that the device can execute as responder
 * at a time. A worker has responder resources for UROCE_RD_BLOCKS QPs at a time.
 */
static int
get_max_responders(const struct uroce_dev *dev)
{
	const uint64_t nb_qp = RTE_MIN((uint64_t)dev->conf.max_qp,
				       (uint64_t)dev->conf.nb_workers * UROCE_RD_BLOCKS);

	return (int)(nb_qp * dev->limits.max_dest_rd_atomic);
}

static void
set_device_limits(const struct uroce_dev *dev, struct ibv_device_attr *attr)
{
	const struct uroce_qpc_limits *const limits = &dev->limits;

	attr->max_mr_size = UROCE_MAX_MR_LEN;
	attr->page_size_cap = UINT32_MAX & ~(uint64_t)0xfff;
	attr->max_qp = (int)dev->conf.max_qp;
	attr->max_qp_wr = UROCE_MAX_QP_WR;
	attr->max_sge = UROCE_SGE_MAX;
	attr->max_sge_rd = UROCE_SGE_MAX;
	attr->max_cq = UROCE_MAX_CQS;
	attr->max_cqe = UROCE_MAX_CQE;
	attr->max_mr = (int)dev->conf.max_mr;
	/* the limit of MWs is that of MRs, because MWs and MRs are entries of the same table */
	attr->max_mw = (int)dev->conf.max_mr;
	attr->max_pd = UROCE_MAX_PDS;
	attr->max_ah = UROCE_MAX_AHS;
	attr->max_qp_rd_atom = limits->max_dest_rd_atomic;
	attr->max_qp_init_rd_atom = limits->max_rd_atomic;
	attr->max_res_rd_atom = get_max_responders(dev);
	attr->max_mcast_grp = UROCE_MCAST_MEMBERS;
	attr->max_mcast_qp_attach = UROCE_MCAST_MEMBERS;
	attr->max_total_mcast_qp_attach = UROCE_MCAST_MEMBERS;
	attr->max_srq = UROCE_MAX_SRQS;
	attr->max_srq_wr = UROCE_MAX_SRQ_WR;
	attr->max_srq_sge = UROCE_SGE_MAX;
	attr->max_pkeys = limits->nb_pkeys;
	attr->phys_port_cnt = limits->nb_ports;
}

int
uroce_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	const struct uroce_dev *dev;

	if (context == NULL || attr == NULL)
		return uroce_fail(EINVAL);
	dev = uroce_vcontext_dev(context);
	/* memset() also clears the padding, because programs compare such structs with memcmp() */
	memset(attr, 0, sizeof(*attr));
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%s", UROCE_VERSION_STRING);
	attr->node_guid = uroce_get_device_guid(context->device);
	attr->sys_image_guid = attr->node_guid;
	attr->vendor_id = VENDOR_ID;
	attr->vendor_part_id = 1;
	attr->hw_ver = 1;
	attr->device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
				 IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
				 IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
				 IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC;
	attr->atomic_cap = IBV_ATOMIC_GLOB;
	/*
	 * Code 15 means 134 ms. An ACK may be delayed for this time, because a worker may share its
	 * CPU with other threads.
	 */
	attr->local_ca_ack_delay = 15;
	set_device_limits(dev, attr);
	return 0;
}

/* Report on-demand paging for all operations that name memory. */
static void
set_odp_caps(struct ibv_device_attr_ex *attr)
{
	const uint32_t datagrams = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
	const uint32_t unreliable = datagrams | IBV_ODP_SUPPORT_WRITE;
	const uint32_t reliable = unreliable | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC |
				  IBV_ODP_SUPPORT_SRQ_RECV;

	if (!uroce_odp_is_possible())
		return;
	attr->odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
	attr->odp_caps.per_transport_caps.rc_odp_caps = reliable;
	attr->odp_caps.per_transport_caps.uc_odp_caps = unreliable | IBV_ODP_SUPPORT_SRQ_RECV;
	attr->odp_caps.per_transport_caps.ud_odp_caps = datagrams | IBV_ODP_SUPPORT_SRQ_RECV;
	attr->xrc_odp_caps = reliable;
}

int
uroce_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		      struct ibv_device_attr_ex *attr)
{
	if (context == NULL || attr == NULL || (input != NULL && input->comp_mask != 0))
		return uroce_fail(EINVAL);
	memset(attr, 0, sizeof(*attr));
	attr->completion_timestamp_mask = UINT64_MAX;
	attr->hca_core_clock = CLOCK_KHZ;
	attr->phys_port_cnt_ex = 1;
	attr->max_dm_size = UROCE_MAX_DM;
	(void)uroce_query_device(context, &attr->orig_attr);
	attr->device_cap_flags_ex = attr->orig_attr.device_cap_flags;
	set_odp_caps(attr);
	return 0;
}

int
uroce_query_device_sized(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t len)
{
	struct ibv_device_attr_ex ours;
	const int ret =
		attr != NULL ? uroce_query_device_ex(context, input, &ours) : uroce_fail(EINVAL);

	if (ret != 0)
		return ret;
	memset(attr, 0, len);
	memcpy(attr, &ours, RTE_MIN(len, sizeof(ours)));
	return 0;
}

/*
 * Programs read the clock's ticks from tv_nsec and ignore tv_sec. So tv_nsec gets the whole time.
 */
int
uroce_query_rt_values_ex(struct ibv_context *context, struct ibv_values_ex *values)
{
	/*
	 * an announced device is started by this call, because only a device that is up has a clock
	 */
	const int ret = context != NULL && values != NULL ? uroce_vcontext_start(context) : -EINVAL;

	if (ret != 0)
		return uroce_errno_ret(ret);
	values->comp_mask &= IBV_VALUES_MASK_RAW_CLOCK;
	if (values->comp_mask != 0)
		values->raw_clock = (struct timespec){ .tv_nsec = (long)uroce_clock_ns() };
	return 0;
}

int
uroce_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	const struct uroce_dev *dev;

	if (context == NULL || pkey == NULL || port_num != 1 || index < 0 ||
	    index >= uroce_vcontext_dev(context)->limits.nb_pkeys) {
		errno = EINVAL;
		return -1;
	}
	dev = uroce_vcontext_dev(context);
	*pkey = rte_cpu_to_be_16(dev->pkeys[index]);
	return 0;
}

int
uroce_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	__be16 entry;

	for (int i = 0; uroce_query_pkey(context, port_num, i, &entry) == 0; i++)
		if (entry == pkey)
			return i;
	errno = EINVAL;
	return -1;
}
