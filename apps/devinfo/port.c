/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the attributes of a port.
 */

#include "devinfo.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <uroce.h>

#include "column.h"

static const struct column_name states[] = {
	{ IBV_PORT_DOWN, "PORT_DOWN" },
	{ IBV_PORT_INIT, "PORT_INIT" },
	{ IBV_PORT_ARMED, "PORT_ARMED" },
	{ IBV_PORT_ACTIVE, "PORT_ACTIVE" },
	{ 0, NULL },
};

static const struct column_name mtus[] = {
	{ IBV_MTU_256, "256" },   { IBV_MTU_512, "512" },   { IBV_MTU_1024, "1024" },
	{ IBV_MTU_2048, "2048" }, { IBV_MTU_4096, "4096" }, { 0, NULL },
};

/*
 * Names for the values of fields of struct ibv_port_attr for which verbs.h has no enum [IBA
 * 14.2.5.6].
 */
static const struct column_name vl_nums[] = {
	{ 1, "1" }, { 2, "2" }, { 3, "4" }, { 4, "8" }, { 5, "15" }, { 0, NULL },
};

static const struct column_name widths[] = {
	{ 1, "1X" }, { 2, "4X" }, { 4, "8X" }, { 8, "12X" }, { 16, "2X" }, { 0, NULL },
};

static const struct column_name speeds[] = {
	{ 1, "2.5 Gbps" },   { 2, "5.0 Gbps" },     { 4, "10.0 Gbps" },
	{ 8, "10.0 Gbps" },  { 16, "14.0 Gbps" },   { 32, "25.0 Gbps" },
	{ 64, "50.0 Gbps" }, { 128, "100.0 Gbps" }, { 0, NULL },
};

static const struct column_name phys_states[] = {
	{ 1, "SLEEP" },    { 2, "POLLING" },
	{ 3, "DISABLED" }, { 4, "PORT_CONFIGURATION TRAINNING" },
	{ 5, "LINK_UP" },  { 6, "LINK_ERROR_RECOVERY" },
	{ 7, "PHY TEST" }, { 0, NULL },
};

static const char *
link_layer(uint8_t layer)
{
	static const char *const names[] = {
		[IBV_LINK_LAYER_UNSPECIFIED] = "Unspecified",
		[IBV_LINK_LAYER_INFINIBAND] = "InfiniBand",
		[IBV_LINK_LAYER_ETHERNET] = "Ethernet",
	};

	return layer < sizeof(names) / sizeof(names[0]) ? names[layer] : "Unknown";
}

static void
print_always(uint8_t port_num, const struct ibv_port_attr *attr)
{
	printf("\t\tport:\t%u\n", port_num);
	column_print_named(OF_PORT, "state", states, attr->state);
	column_print_named(OF_PORT, "max_mtu", mtus, attr->max_mtu);
	column_print_named(OF_PORT, "active_mtu", mtus, attr->active_mtu);
	column_print(OF_PORT, "sm_lid", "%d", attr->sm_lid);
	column_print(OF_PORT, "port_lid", "%d", attr->lid);
	column_print(OF_PORT, "port_lmc", "0x%02x", attr->lmc);
	column_print(OF_PORT, "link_layer", "%s", link_layer(attr->link_layer));
}

static void
print_more(const struct ibv_port_attr *attr)
{
	column_print(OF_PORT, "max_msg_sz", "0x%x", attr->max_msg_sz);
	column_print(OF_PORT, "port_cap_flags", "0x%08x", attr->port_cap_flags);
	column_print(OF_PORT, "port_cap_flags2", "0x%04x", attr->port_cap_flags2);
	column_print_named(OF_PORT, "max_vl_num", vl_nums, attr->max_vl_num);
	column_print(OF_PORT, "bad_pkey_cntr", "0x%x", attr->bad_pkey_cntr);
	column_print(OF_PORT, "qkey_viol_cntr", "0x%x", attr->qkey_viol_cntr);
	column_print(OF_PORT, "sm_sl", "%d", attr->sm_sl);
	column_print(OF_PORT, "pkey_tbl_len", "%d", attr->pkey_tbl_len);
	column_print(OF_PORT, "gid_tbl_len", "%d", attr->gid_tbl_len);
	column_print(OF_PORT, "subnet_timeout", "%d", attr->subnet_timeout);
	column_print(OF_PORT, "init_type_reply", "%d", attr->init_type_reply);
	column_print_named(OF_PORT, "active_width", widths, attr->active_width);
	column_print_named(OF_PORT, "active_speed", speeds, attr->active_speed);
	column_print_named(OF_PORT, "phys_state", phys_states, attr->phys_state);
}

static int
print_gids(struct ibv_context *context, uint8_t port_num, int gid_tbl_len)
{
	struct ibv_gid_entry entry;
	char text[INET6_ADDRSTRLEN];
	int ret;

	for (int i = 0; i < gid_tbl_len; i++) {
		ret = uroce_query_gid_ex(context, port_num, (uint32_t)i, &entry, 0);
		if (ret == ENODATA)
			continue;
		if (ret != 0)
			return ret;
		inet_ntop(AF_INET6, entry.gid.raw, text, sizeof(text));
		printf("\t\t\tGID[%3d]:\t\t%s, RoCE v2\n", i, text);
	}
	return 0;
}

int
port_print(struct ibv_context *context, uint8_t port_num, bool is_verbose)
{
	struct ibv_port_attr attr;
	const int ret = uroce_query_port(context, port_num, &attr);

	if (ret != 0)
		return ret;
	print_always(port_num, &attr);
	if (!is_verbose)
		return 0;
	print_more(&attr);
	return print_gids(context, port_num, attr.gid_tbl_len);
}
