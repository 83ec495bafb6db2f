/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Performance management: the response to Get(ClassPortInfo), by which a host learns that frames
 * reach this device.
 */

#include "datapath/net/perf_mgt.h"

#include <stddef.h>
#include <string.h>

#include "wire/hdr.h"
#include "wire/icrc.h"

/* The header of all MADs [IBA 13.4.2]. */
struct mad_hdr {
	uint8_t base_version;
	uint8_t mgmt_class;
	uint8_t class_version;
	uint8_t method;
	be16 status;
	be16 class_specific;
	be64 transaction_id;
	be16 attr_id;
	be16 resv;
	be32 attr_modifier;
};
static_assert(sizeof(struct mad_hdr) == 24, "a MAD header is 24 bytes");

#define MAD_LEN        256
#define MAD_VERSION    1
#define CLASS_PERF     0x04
#define METHOD_GET     0x01
#define METHOD_GETRESP 0x81
#define CLASSPORTINFO  0x0001 /* attribute ID of ClassPortInfo */
/*
 * Offset of the attribute in a MAD of the performance management class: behind the header and 40
 * reserved bytes.
 */
#define ATTR_OFF 64
/*
 * Offsets of the bytes of ClassPortInfo [IBA 13.4.8.1] that are not zero: the versions, and the
 * time of a response.
 */
#define INFO_VERSION       0
#define INFO_CLASS_VERSION 1
#define INFO_RESP_TIME     7
#define RESP_TIME          8 /* encoded response time: 4.096 us * 2^8 = 1 ms */

#define QKEY_GSI           0x80010000u /* Q_Key of QP 1 [IBA 3.5.3] */
#define QPN_GSI            1u
#define PKEY_BASE          0x7fff /* low 15 bits of the default P_Key */
#define HOP_LIMIT          64

bool
uroce_perf_mgt_is_get(const struct uroce_pkt *pkt)
{
	const struct mad_hdr *mad = (const struct mad_hdr *)pkt->payload;

	return pkt->opcode == (UROCE_SERVICE_UD << 5 | UROCE_OP_SEND_ONLY) &&
	       pkt->payload_len == MAD_LEN && (pkt->pkey & PKEY_BASE) == PKEY_BASE &&
	       be32_get(uroce_pkt_deth(pkt)->qkey) == QKEY_GSI &&
	       mad->base_version == MAD_VERSION && mad->mgmt_class == CLASS_PERF &&
	       mad->method == METHOD_GET && be16_get(mad->attr_id) == CLASSPORTINFO;
}

static void
swap(uint8_t *a, uint8_t *b, size_t len)
{
	uint8_t old[16];

	memcpy(old, a, len);
	memcpy(a, b, len);
	memcpy(b, old, len);
}

/* Set the checksum of an IPv4 header, which may have options. */
static void
set_checksum(struct uroce_ipv4 *ip)
{
	const uint8_t *byte = (const uint8_t *)ip;
	const uint32_t len = (ip->version_ihl & 0xfu) * 4;
	uint32_t sum = 0;

	ip->checksum = be16_make(0);
	for (uint32_t i = 0; i < len; i += 2)
		sum += (uint32_t)byte[i] << 8 | byte[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	ip->checksum = be16_make((uint16_t)~sum);
}

/*
 * Exchange the source and the destination addresses of a request's frame. The UDP ports do not
 * change: the response goes to port 4791, as the request did.
 */
static void
turn_addresses(struct uroce_eth *eth, uint8_t *ip, bool is_ipv6)
{
	swap(eth->dst, eth->src, sizeof(eth->src));
	if (is_ipv6) {
		struct uroce_ipv6 *ip6 = (struct uroce_ipv6 *)ip;

		swap(ip6->src, ip6->dst, sizeof(ip6->src));
		ip6->hop_limit = HOP_LIMIT;
	} else {
		struct uroce_ipv4 *ip4 = (struct uroce_ipv4 *)ip;

		swap(ip4->src, ip4->dst, sizeof(ip4->src));
		ip4->ttl = HOP_LIMIT;
		set_checksum(ip4);
	}
}

static void
fill_mad(uint8_t *bytes)
{
	struct mad_hdr *mad = (struct mad_hdr *)bytes;

	mad->method = METHOD_GETRESP;
	mad->status = be16_make(0);
	memset(bytes + ATTR_OFF, 0, MAD_LEN - ATTR_OFF);
	bytes[ATTR_OFF + INFO_VERSION] = MAD_VERSION;
	bytes[ATTR_OFF + INFO_CLASS_VERSION] = MAD_VERSION;
	bytes[ATTR_OFF + INFO_RESP_TIME] = RESP_TIME;
}

void
uroce_perf_mgt_reply(const struct uroce_pkt *pkt)
{
	uint8_t *const frame = (uint8_t *)(uintptr_t)pkt->frame;
	uint8_t *const ip = frame + (pkt->ip - pkt->frame);
	struct uroce_udp *const udp =
		(struct uroce_udp *)(frame + ((const uint8_t *)pkt->bth - pkt->frame) -
				     sizeof(struct uroce_udp));
	struct uroce_bth *const bth = (struct uroce_bth *)(udp + 1);
	struct uroce_deth *const deth = (struct uroce_deth *)(bth + 1);
	uint8_t *const mad = (uint8_t *)(deth + 1);
	uint8_t *const icrc = mad + MAD_LEN;

	turn_addresses((struct uroce_eth *)frame, ip, pkt->is_ipv6);
	udp->checksum = be16_make(0); /* a RoCEv2 packet has no UDP checksum [IBA A17.3.2] */
	bth->dest_qpn = deth->src_qpn;
	deth->src_qpn = be24_make(QPN_GSI);
	fill_mad(mad);
	uroce_icrc_store(icrc, uroce_icrc_frame(ip, (size_t)(icrc - ip)));
}
