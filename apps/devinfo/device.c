/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the attributes of a device.
 */

#include "devinfo.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "column.h"

static const struct column_name transports[] = {
	{ IBV_TRANSPORT_IB, "InfiniBand" },
	{ IBV_TRANSPORT_IWARP, "iWARP" },
	{ IBV_TRANSPORT_USNIC, "usNIC" },
	{ IBV_TRANSPORT_USNIC_UDP, "usNIC UDP" },
	{ IBV_TRANSPORT_UNSPECIFIED, "unspecified" },
	{ 0, NULL },
};

static const struct column_name atomics[] = {
	{ IBV_ATOMIC_NONE, "ATOMIC_NONE" },
	{ IBV_ATOMIC_HCA, "ATOMIC_HCA" },
	{ IBV_ATOMIC_GLOB, "ATOMIC_GLOB" },
	{ 0, NULL },
};

#define CAP(name)                                                                                  \
	{                                                                                          \
		IBV_DEVICE_##name, #name                                                           \
	}

static const struct column_name caps[] = {
	CAP(RESIZE_MAX_WR),
	CAP(BAD_PKEY_CNTR),
	CAP(BAD_QKEY_CNTR),
	CAP(RAW_MULTI),
	CAP(AUTO_PATH_MIG),
	CAP(CHANGE_PHY_PORT),
	CAP(UD_AV_PORT_ENFORCE),
	CAP(CURR_QP_STATE_MOD),
	CAP(SHUTDOWN_PORT),
	CAP(INIT_TYPE),
	CAP(PORT_ACTIVE_EVENT),
	CAP(SYS_IMAGE_GUID),
	CAP(RC_RNR_NAK_GEN),
	CAP(SRQ_RESIZE),
	CAP(N_NOTIFY_CQ),
	CAP(MEM_WINDOW),
	CAP(UD_IP_CSUM),
	CAP(XRC),
	CAP(MEM_MGT_EXTENSIONS),
	CAP(MEM_WINDOW_TYPE_2A),
	CAP(MEM_WINDOW_TYPE_2B),
	CAP(RC_IP_CSUM),
	CAP(RAW_IP_CSUM),
	CAP(MANAGED_FLOW_STEERING),
	{ 0, NULL },
};

static const struct column_name general_odp[] = {
	{ IBV_ODP_SUPPORT, "ODP_SUPPORT" },
	{ IBV_ODP_SUPPORT_IMPLICIT, "ODP_SUPPORT_IMPLICIT" },
	{ 0, NULL },
};

static const struct column_name transport_odp[] = {
	{ IBV_ODP_SUPPORT_SEND, "SUPPORT_SEND" },
	{ IBV_ODP_SUPPORT_RECV, "SUPPORT_RECV" },
	{ IBV_ODP_SUPPORT_WRITE, "SUPPORT_WRITE" },
	{ IBV_ODP_SUPPORT_READ, "SUPPORT_READ" },
	{ IBV_ODP_SUPPORT_ATOMIC, "SUPPORT_ATOMIC" },
	{ IBV_ODP_SUPPORT_SRQ_RECV, "SUPPORT_SRQ" },
	{ 0, NULL },
};

/* The limits of a device that are plain numbers, in the order in which ibv_devinfo prints them. */
#define LIMIT(name)                                                                                \
	{                                                                                          \
#name, offsetof(struct ibv_device_attr, name)                                      \
	}

struct limit {
	const char *label;
	size_t offset; /* offset of the limit, an int, in struct ibv_device_attr */
};

static const struct limit limits_of_work[] = {
	LIMIT(max_sge),
	LIMIT(max_sge_rd),
	LIMIT(max_cq),
	LIMIT(max_cqe),
	LIMIT(max_mr),
	LIMIT(max_pd),
	LIMIT(max_qp_rd_atom),
	LIMIT(max_ee_rd_atom),
	LIMIT(max_res_rd_atom),
	LIMIT(max_qp_init_rd_atom),
	LIMIT(max_ee_init_rd_atom),
	{ NULL, 0 },
};

static const struct limit limits_of_objects[] = {
	LIMIT(max_ee),
	LIMIT(max_rdd),
	LIMIT(max_mw),
	LIMIT(max_raw_ipv6_qp),
	LIMIT(max_raw_ethy_qp),
	LIMIT(max_mcast_grp),
	LIMIT(max_mcast_qp_attach),
	LIMIT(max_total_mcast_qp_attach),
	LIMIT(max_ah),
	LIMIT(max_fmr),
	LIMIT(max_srq),
	LIMIT(max_srq_wr),
	LIMIT(max_srq_sge),
	{ NULL, 0 },
};

static void
print_limits(const struct ibv_device_attr *attr, const struct limit *limits)
{
	int value;

	for (; limits->label != NULL; limits++) {
		memcpy(&value, (const uint8_t *)attr + limits->offset, sizeof(value));
		column_print(OF_DEVICE, limits->label, "%d", value);
	}
}

static void
print_guid(const char *label, __be64 guid)
{
	uint16_t part[4];

	memcpy(part, &guid, sizeof(part));
	column_print(OF_DEVICE, label, "%04x:%04x:%04x:%04x", ntohs(part[0]), ntohs(part[1]),
		     ntohs(part[2]), ntohs(part[3]));
}

static void
print_always(const struct ibv_device *device, const struct ibv_device_attr *attr)
{
	printf("hca_id:\t%s\n", device->name);
	column_print_named(OF_DEVICE, "transport", transports, (uint64_t)device->transport_type);
	column_print(OF_DEVICE, "fw_ver", "%s", attr->fw_ver);
	print_guid("node_guid", attr->node_guid);
	print_guid("sys_image_guid", attr->sys_image_guid);
	column_print(OF_DEVICE, "vendor_id", "0x%04x", attr->vendor_id);
	column_print(OF_DEVICE, "vendor_part_id", "%d", attr->vendor_part_id);
	column_print(OF_DEVICE, "hw_ver", "0x%X", attr->hw_ver);
	column_print(OF_DEVICE, "phys_port_cnt", "%d", attr->phys_port_cnt);
}

static void
print_plain(const struct ibv_device_attr *attr)
{
	column_print(OF_DEVICE, "max_mr_size", "0x%" PRIx64, attr->max_mr_size);
	column_print(OF_DEVICE, "page_size_cap", "0x%" PRIx64, attr->page_size_cap);
	column_print(OF_DEVICE, "max_qp", "%d", attr->max_qp);
	column_print(OF_DEVICE, "max_qp_wr", "%d", attr->max_qp_wr);
	column_print(OF_DEVICE, "device_cap_flags", "0x%08x", attr->device_cap_flags);
	column_print_bits(caps, attr->device_cap_flags);
	print_limits(attr, limits_of_work);
	column_print_named(OF_DEVICE, "atomic_cap", atomics, attr->atomic_cap);
	print_limits(attr, limits_of_objects);
	column_print(OF_DEVICE, "max_pkeys", "%d", attr->max_pkeys);
	column_print(OF_DEVICE, "local_ca_ack_delay", "%d", attr->local_ca_ack_delay);
}

static void
print_transport_odp(const char *label, uint32_t bits)
{
	printf("\t%s:\n", label);
	if (bits == 0)
		column_print_more("NO SUPPORT");
	column_print_bits(transport_odp, bits);
}

static void
print_odp(const struct ibv_device_attr_ex *attr)
{
	printf("\tgeneral_odp_caps:\n");
	column_print_bits(general_odp, attr->odp_caps.general_caps);
	print_transport_odp("rc_odp_caps", attr->odp_caps.per_transport_caps.rc_odp_caps);
	print_transport_odp("uc_odp_caps", attr->odp_caps.per_transport_caps.uc_odp_caps);
	print_transport_odp("ud_odp_caps", attr->odp_caps.per_transport_caps.ud_odp_caps);
	print_transport_odp("xrc_odp_caps", attr->xrc_odp_caps);
}

static void
print_clock(const struct ibv_device_attr_ex *attr)
{
	if (attr->completion_timestamp_mask != 0)
		printf("\tcompletion timestamp_mask:\t\t\t0x%016" PRIx64 "\n",
		       attr->completion_timestamp_mask);
	else
		puts("\tcompletion_timestamp_mask not supported");
	if (attr->hca_core_clock != 0)
		column_print(OF_DEVICE, "hca_core_clock", "%" PRIu64 "kHZ", attr->hca_core_clock);
	else
		puts("\tcore clock not supported");
}

/*
 * Print the attributes in struct ibv_device_attr_ex. Attributes that devices of uroce do not have
 * are printed as not supported, and their fields are not read.
 */
static void
print_extended(const struct ibv_context *context, const struct ibv_device_attr_ex *attr)
{
	print_odp(attr);
	print_clock(attr);
	column_print(OF_DEVICE, "device_cap_flags_ex", "0x%" PRIX64, attr->device_cap_flags_ex);
	printf("\ttso_caps:\n\t\tmax_tso:\t\t\t%u\n", attr->tso_caps.max_tso);
	printf("\trss_caps:\n");
	printf("\t\tmax_rwq_indirection_tables:\t\t\t%u\n",
	       attr->rss_caps.max_rwq_indirection_tables);
	printf("\t\tmax_rwq_indirection_table_size:\t\t\t%u\n",
	       attr->rss_caps.max_rwq_indirection_table_size);
	printf("\t\trx_hash_function:\t\t\t\t0x%x\n", attr->rss_caps.rx_hash_function);
	printf("\t\trx_hash_fields_mask:\t\t\t\t0x%" PRIX64 "\n",
	       attr->rss_caps.rx_hash_fields_mask);
	column_print(OF_DEVICE, "max_wq_type_rq", "%u", attr->max_wq_type_rq);
	printf("\tpacket_pacing_caps:\n");
	printf("\t\tqp_rate_limit_min:\t%ukbps\n", attr->packet_pacing_caps.qp_rate_limit_min);
	printf("\t\tqp_rate_limit_max:\t%ukbps\n", attr->packet_pacing_caps.qp_rate_limit_max);
	puts("\ttag matching not supported");
	if (attr->max_dm_size != 0)
		printf("\tmaximum available device memory:\t%" PRIu64 "Bytes\n", attr->max_dm_size);
	column_print(OF_DEVICE, "num_comp_vectors", "%d", context->num_comp_vectors);
}

void
device_print(struct ibv_context *context, const struct ibv_device_attr_ex *attr, bool is_verbose)
{
	print_always(context->device, &attr->orig_attr);
	if (is_verbose) {
		print_plain(&attr->orig_attr);
		print_extended(context, attr);
	}
}
