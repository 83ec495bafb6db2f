/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The neighbour cache and multicast groups, with frames of ARP, neighbour discovery, ping, IGMP and
 * MLD. The frames were made by scapy. They are mutated and truncated, and most of them get valid
 * checksums. Between these frames, the tested host sends requests. The neighbour cache must accept
 * only allowed entries, a reply must go back to the sender, and two hosts of this implementation
 * must understand each other.
 */

#include "bytes.h"

#include <rte_common.h>
#include <rte_random.h>

#include "checksums.h"
#include "datapath/net/neigh.h"
#include "neigh_seeds.h"
#include "wire/build.h"

#define STEPS_MAX  64
#define FRAME_ROOM 256u
#define ASKED_MAX  STEPS_MAX

/* Addresses of the tested host and of a second host. */
static const uint8_t macs[2][6] = { { 2, 0, 0, 0, 0, 1 }, { 2, 0, 0, 0, 0, 0x99 } };
static const struct uroce_addr addrs[2][3] = {
	{ { { [10] = 0xff, 0xff, 192, 0, 2, 1 }, 96 + 24 },
	  { { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 }, 64 },
	  { { 0xfe, 0x80, [11] = 0xff, 0xfe, [15] = 1 }, 64 } },
	{ { { [10] = 0xff, 0xff, 192, 0, 2, 9 }, 96 + 24 },
	  { { 0x20, 0x01, 0x0d, 0xb8, [15] = 9 }, 64 },
	  { { 0xfe, 0x80, [11] = 0xff, 0xfe, [15] = 0x99 }, 64 } },
};

/* Addresses that no host can have. */
static const uint8_t nobodys[][16] = {
	{ [10] = 0xff, 0xff, 192, 0, 2, 255 },
	{ [10] = 0xff, 0xff, 255, 255, 255, 255 },
	{ [10] = 0xff, 0xff },
	{ [10] = 0xff, 0xff, 127, 0, 0, 1 },
	{ [10] = 0xff, 0xff, 239, 1, 2, 3 },
	{ [0] = 0 },
	{ [15] = 1 },
	{ 0xff, 2, [15] = 1 },
	{ 0xff, 0x15, [15] = 7 },
};

static struct uroce_neigh *hosts[2];
static struct uroce_neigh_conf confs[2];
static uint64_t now_ns;

/* IP addresses for which the tested host has sent requests. */
static uint8_t asked[ASKED_MAX][16];
static unsigned nb_asked;

static void
remember(const uint8_t ip[16])
{
	if (nb_asked < ASKED_MAX)
		memcpy(asked[nb_asked++], ip, 16);
}

static bool
is_asked(const uint8_t ip[16])
{
	for (unsigned i = 0; i < nb_asked; i++) {
		if (memcmp(asked[i], ip, 16) == 0)
			return true;
	}
	return false;
}

static bool
find(unsigned host, const uint8_t ip[16], uint8_t mac[6])
{
	const bool is_found = uroce_neigh_find(hosts[host], ip, now_ns, mac);

	expect(!is_found || !(mac[0] & 1));
	return is_found;
}

static void
expect_sane(unsigned host)
{
	uint8_t mac[6];

	for (unsigned i = 0; i < RTE_DIM(addrs[host]); i++)
		expect(!find(host, addrs[host][i].ip, mac));
	for (unsigned i = 0; i < RTE_DIM(nobodys); i++)
		expect(!find(host, nobodys[i], mac));
}

/* --- received frames ---------------------------------------------------------------------------- */

struct frame {
	uint32_t len;
	uint8_t bytes[FRAME_ROOM];
};

/* Draw a frame: a seed with up to seven changed bytes, and sometimes with another length. */
static void
draw_frame(struct bytes *in, struct frame *frame)
{
	const uint8_t seed = bytes_u8(in), bits = bytes_u8(in);

	memset(frame->bytes, 0, sizeof(frame->bytes));
	frame->len = seeds[seed % RTE_DIM(seeds)].len;
	memcpy(frame->bytes, seeds[seed % RTE_DIM(seeds)].bytes, frame->len);
	for (unsigned i = bits & 7; i > 0; i--) {
		const uint8_t at = bytes_u8(in);

		frame->bytes[at] = bytes_u8(in);
	}
	if (bits & 0x08)
		frame->len = bytes_u8(in);
	if ((bits & 0x30) != 0x30)
		checksums_mend(frame->bytes, frame->len);
}

static uint32_t
l3_offset(const uint8_t *bytes)
{
	return bytes[12] == 0x81 && bytes[13] == 0 ? 18 : 14;
}

/*
 * Read the IP addresses to which a frame claims to give a MAC.
 * @return whether the frame is a request; if it is not, it may be a response
 */
static bool
read_claims(const struct frame *frame, uint8_t ips[2][16])
{
	const uint8_t *l3 = frame->bytes + l3_offset(frame->bytes);
	const uint8_t *type = l3 - 2;

	memset(ips, 0, 2 * sizeof(ips[0]));
	if (type[0] == 0x08 && type[1] == 0x06) {
		ips[0][10] = ips[0][11] = 0xff;
		memcpy(ips[0] + 12, l3 + 14, 4);
		memcpy(ips[1], ips[0], 16);
		return l3[7] == 1;
	}
	memcpy(ips[0], l3 + 8, 16);  /* the source address of the IPv6 header */
	memcpy(ips[1], l3 + 48, 16); /* the target address of the neighbour message */
	return l3[40] == 135;
}

/*
 * Check a reply of the tested host. The reply goes back to the sender, or to all nodes if the
 * sender has no address yet. It is at most 8 bytes longer than the request.
 */
static void
expect_reply(const struct frame *before, const uint8_t *reply, uint32_t len, uint32_t room)
{
	static const uint8_t all_nodes[6] = { 0x33, 0x33, 0, 0, 0, 1 };

	expect(len <= room && len <= before->len + 8);
	expect(memcmp(reply + 6, confs[0].mac, 6) == 0);
	expect(!(reply[0] & 1) || memcmp(reply, all_nodes, 6) == 0);
	expect(memcmp(reply + 12, before->bytes + 12, 2) == 0);
}

static void
input(struct bytes *in)
{
	struct frame frame;
	uint8_t claims[2][16], mac[6], *copy;
	bool was_known[2], is_question;
	uint32_t len, room;
	enum uroce_neigh_verdict verdict;

	draw_frame(in, &frame);
	is_question = read_claims(&frame, claims);
	for (unsigned i = 0; i < 2; i++)
		was_known[i] = find(0, claims[i], mac);
	len = frame.len;
	room = len + bytes_u8(in) % 40;
	/* memory of the exact length, so that the sanitizer detects an overrun */
	copy = malloc(room ? room : 1);
	expect(copy);
	memcpy(copy, frame.bytes, len);
	verdict = uroce_neigh_input(hosts[0], copy, &len, room, now_ns);
	if (verdict == UROCE_NEIGH_REPLY)
		expect_reply(&frame, copy, len, room);
	else
		expect(len == frame.len && memcmp(copy, frame.bytes, len) == 0);
	for (unsigned i = 0; i < 2; i++) {
		if (!find(0, claims[i], mac) || was_known[i])
			continue;
		expect(verdict != UROCE_NEIGH_IGNORED);
		expect(is_question || is_asked(claims[i]));
		if (is_question)
			/* An entry that a request has made may be changed by a later frame. */
			remember(claims[i]);
	}
	free(copy);
}

/* --- actions of the tested host ----------------------------------------------------------------- */

static void
ask(struct bytes *in)
{
	const uint8_t bits = bytes_u8(in);
	const uint8_t *ours = addrs[0][bits % 3].ip;
	uint8_t frame[UROCE_NEIGH_REQUEST_MAX], ip[16];

	memcpy(ip, addrs[1][bits % 3].ip, 16);
	ip[15] ^= bits >> 4;
	expect(uroce_neigh_request(hosts[0], ours, ip, now_ns, frame) <= sizeof(frame));
	remember(ip);
}

/*
 * The tested host sends a request to the second host, and gets a response. After the response, the
 * tested host must know the MAC of the second host, whatever entries its cache had before.
 */
static void
converse(struct bytes *in)
{
	const unsigned i = bytes_u8(in) % 3;
	uint8_t frame[FRAME_ROOM] = { 0 }, mac[6];
	uint32_t len = uroce_neigh_request(hosts[0], addrs[0][i].ip, addrs[1][i].ip, now_ns, frame);

	remember(addrs[1][i].ip);
	expect(uroce_neigh_input(hosts[1], frame, &len, sizeof(frame), now_ns) ==
	       UROCE_NEIGH_REPLY);
	expect(uroce_neigh_input(hosts[0], frame, &len, sizeof(frame), now_ns) ==
	       UROCE_NEIGH_LEARNT);
	expect(find(0, addrs[1][i].ip, mac) && memcmp(mac, macs[1], 6) == 0);
}

/*
 * Pass a report of a multicast group to the second host. The host must ignore the report, which is
 * for routers.
 */
static void
report(struct bytes *in)
{
	const uint8_t bits = bytes_u8(in);
	uint8_t group[16] = { [10] = 0xff, 0xff, 239 }, frame[FRAME_ROOM] = { 0 };
	uint32_t len;

	if (bits & 0x80) {
		memset(group, 0, sizeof(group));
		group[0] = 0xff;
		group[1] = bits & 0x0f;
	}
	group[15] = bytes_u8(in);
	len = uroce_neigh_report(hosts[0], group,
				 (enum uroce_neigh_report)(bits >> 4 & 3) % (UROCE_NEIGH_LEFT + 1),
				 now_ns, frame);
	expect(len <= UROCE_NEIGH_REQUEST_MAX);
	if (len > 0)
		expect(uroce_neigh_input(hosts[1], frame, &len, sizeof(frame), now_ns) ==
		       UROCE_NEIGH_IGNORED);
	if (uroce_neigh_is_report_due(hosts[0], now_ns))
		expect(!uroce_neigh_is_report_due(hosts[0], now_ns));
}

static void
wait(struct bytes *in)
{
	now_ns += (uint64_t)bytes_u8(in) << 28;
}

static void (*const deeds[])(struct bytes *in) = {
	input, input, input, ask, converse, report, wait
};

static void
make_hosts(bool has_vlan)
{
	now_ns = 1000000000;
	nb_asked = 0;
	for (unsigned i = 0; i < 2; i++) {
		confs[i] = (struct uroce_neigh_conf){ .has_vlan = has_vlan,
						      .vlan_tci = 7,
						      .nb_addr = RTE_DIM(addrs[i]) };
		memcpy(confs[i].mac, macs[i], 6);
		memcpy(confs[i].addr, addrs[i], sizeof(addrs[i]));
		hosts[i] = uroce_neigh_create(&confs[i]);
		expect(hosts[i]);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes in = { data, len };

	rte_srand(0);
	make_hosts(bytes_u8(&in) & 1);
	for (unsigned i = 0; i < STEPS_MAX && in.left > 0; i++) {
		deeds[bytes_u8(&in) % RTE_DIM(deeds)](&in);
		expect_sane(0);
		expect_sane(1);
	}
	uroce_neigh_destroy(hosts[0]);
	uroce_neigh_destroy(hosts[1]);
	return 0;
}
