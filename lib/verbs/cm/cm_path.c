/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paths of ids. A RoCE path needs no resolution by a subnet manager: the addresses, the traffic
 * class and the port determine the path.
 */

#include "verbs/cm/cm_path.h"

#include <arpa/inet.h>
#include <string.h>

#include "verbs/cm/cm_device.h"
#include "verbs/cm/sockaddr.h"
#include "verbs/uroce.h"

/* Encoded packet lifetime (cm/timeout.h) that Linux assumes for Ethernet: 1.07 s. */
#define PACKET_LIFE_TIME_CODE 18

/* selector of a value in a path record: the value is exact [IBA 15.2.5.16] */
#define SELECTOR_EXACTLY 2
#define FLOW_LABEL_MASK  0xfffffu

static void
gids_of_id(const struct uroce_vcm_id *id, union ibv_gid *local, union ibv_gid *remote)
{
	const struct rdma_addr *const route = &id->cm.route.addr;
	struct uroce_cm_addr addr;
	uint32_t scope;

	memset(local, 0, sizeof(*local));
	memset(remote, 0, sizeof(*remote));
	if (uroce_vcm_sockaddr_parse(&route->src_addr, &addr, &scope) == 0)
		uroce_vcm_addr_to_gid(&addr, local);
	if (uroce_vcm_sockaddr_parse(&route->dst_addr, &addr, &scope) == 0)
		uroce_vcm_addr_to_gid(&addr, remote);
}

void
uroce_vcm_path_fill_gids(struct uroce_vcm_id *id)
{
	struct rdma_ib_addr *const ib = &id->cm.route.addr.addr.ibaddr;

	gids_of_id(id, &ib->sgid, &ib->dgid);
	ib->pkey = htons(UROCE_VCM_PKEY);
}

/*
 * Compute the flow label of a connection as Linux does. Networks distribute flows by the flow
 * label. For IPv4 the flow label determines the UDP source port.
 */
static uint32_t
flow_label_of(const struct uroce_vcm_id *id)
{
	const struct rdma_addr *const route = &id->cm.route.addr;
	const uint32_t sport = ntohs(uroce_vcm_sockaddr_port(&route->src_addr));
	const uint32_t dport = ntohs(uroce_vcm_sockaddr_port(&route->dst_addr));

	return (sport * 31 + dport) & FLOW_LABEL_MASK;
}

/*
 * Get the rate of a port: the highest of eight values of enum ibv_rate that is not above the speed
 * of the port.
 */
static enum ibv_rate
rate_of_port(const struct ibv_port_attr *port)
{
	/* Mb/s of a link of width 1; the bit number of active_speed is the index [IBA 14.2.5.6] */
	static const uint32_t mbps[] = { 2500, 5000, 10000, 10000, 14000, 25000, 50000 };
	/* number of lanes of the link; the bit number of active_width is the index */
	static const uint32_t widths[] = { 1, 4, 8, 12, 2 };
	static const struct {
		uint32_t mbps;
		enum ibv_rate rate;
	} rates[] = {
		{ 400000, IBV_RATE_400_GBPS }, { 200000, IBV_RATE_200_GBPS },
		{ 100000, IBV_RATE_100_GBPS }, { 50000, IBV_RATE_50_GBPS },
		{ 40000, IBV_RATE_40_GBPS },   { 25000, IBV_RATE_25_GBPS },
		{ 10000, IBV_RATE_10_GBPS },   { 0, IBV_RATE_2_5_GBPS },
	};
	const int speed = __builtin_ffs(port->active_speed),
		  width = __builtin_ffs(port->active_width);
	uint32_t sum = 0;
	unsigned row = 0;

	if (speed > 0 && width > 0 && (unsigned)speed <= sizeof(mbps) / sizeof(mbps[0]) &&
	    (unsigned)width <= sizeof(widths) / sizeof(widths[0]))
		sum = mbps[speed - 1] * widths[width - 1];
	while (sum < rates[row].mbps)
		row++;
	return rates[row].rate;
}

/* Fill in the fields of the path record that do not depend on addresses. */
static void
fill_port_part(struct uroce_vcm_id *id)
{
	struct ibv_sa_path_rec *const path = &id->path;
	struct ibv_port_attr port;

	*path = (struct ibv_sa_path_rec){
		.reversible = 1,
		.numb_path = 1,
		.pkey = htons(UROCE_VCM_PKEY),
		.mtu_selector = SELECTOR_EXACTLY,
		.rate_selector = SELECTOR_EXACTLY,
		.packet_life_time_selector = SELECTOR_EXACTLY,
		.packet_life_time = PACKET_LIFE_TIME_CODE,
	};
	/*
	 * both codes are exponents of two, and the ACK timeout is twice the packet lifetime, so the
	 * code of the lifetime is one less
	 */
	if (id->ack_timeout_code > 0)
		path->packet_life_time = id->ack_timeout_code - 1;
	if (uroce_query_port(id->device->own, 1, &port) == 0) {
		path->mtu = (uint8_t)port.active_mtu;
		path->rate = (uint8_t)rate_of_port(&port);
	}
	id->cm.route.path_rec = path;
	id->cm.route.num_paths = 1;
}

void
uroce_vcm_path_fill(struct uroce_vcm_id *id)
{
	fill_port_part(id);
	gids_of_id(id, &id->path.sgid, &id->path.dgid);
	id->path.flow_label = htonl(flow_label_of(id));
	id->path.hop_limit = UROCE_VCM_HOP_LIMIT;
	id->path.traffic_class = id->tos;
	id->path.sl = id->tos >> 5;
}

void
uroce_vcm_path_fill_from(struct uroce_vcm_id *id, const struct uroce_cm_av *av)
{
	fill_port_part(id);
	memcpy(id->path.sgid.raw, av->local_gid, 16);
	memcpy(id->path.dgid.raw, av->remote_gid, 16);
	id->path.flow_label = htonl(av->flow_label);
	id->path.hop_limit = av->hop_limit;
	id->path.traffic_class = av->traffic_class;
	id->path.sl = av->traffic_class >> 5;
}

void
uroce_vcm_path_to_av(const struct uroce_vcm_id *id, struct uroce_cm_av *av)
{
	*av = (struct uroce_cm_av){
		.port = 1,
		.flow_label = ntohl(id->path.flow_label) & FLOW_LABEL_MASK,
		.traffic_class = id->path.traffic_class,
		.hop_limit = id->path.hop_limit,
	};
	memcpy(av->local_gid, id->path.sgid.raw, 16);
	memcpy(av->remote_gid, id->path.dgid.raw, 16);
}

int
uroce_vcm_path_to_ah(const struct uroce_vcm_id *id, const struct uroce_cm_av *av,
		     struct ibv_ah_attr *ah)
{
	union ibv_gid local;
	int idx;

	memcpy(local.raw, av->local_gid, 16);
	idx = uroce_vcm_device_find_gid(id->device, &local);
	if (idx < 0)
		return -EADDRNOTAVAIL;
	*ah = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.sl = av->traffic_class >> 5,
		.grh = { .sgid_index = (uint8_t)idx,
			 .flow_label = av->flow_label,
			 .traffic_class = av->traffic_class,
			 .hop_limit = av->hop_limit > 1 ? av->hop_limit : UROCE_VCM_HOP_LIMIT },
	};
	memcpy(ah->grh.dgid.raw, av->remote_gid, 16);
	return 0;
}
