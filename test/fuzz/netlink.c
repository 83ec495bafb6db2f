/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Responses and notifications of rtnetlink: valid messages that are mutated and truncated, and
 * random bytes. The functions under test must not read behind the message, and must write a result
 * only if the response is valid.
 */

#include "bytes.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "datapath/net/netlink_message.h"

#define ROOM     sizeof(union uroce_netlink_message)
#define IF_INDEX 3

/* A message under construction; `len` is its length so far. */
struct message {
	union uroce_netlink_message msg;
	size_t len;
};

static void
put(struct message *to, const void *bytes, size_t len)
{
	if (to->len + NLMSG_ALIGN(len) > ROOM)
		return;
	memcpy(to->msg.bytes + to->len, bytes, len);
	to->len += NLMSG_ALIGN(len);
}

static void
put_attr(struct message *to, struct bytes *in)
{
	static const uint8_t lens[] = { 4, 16, 6, 0, 1, 255 };
	const uint8_t bits = bytes_u8(in);
	const uint8_t len = lens[bits % sizeof(lens)];
	const struct rtattr attr = { .rta_type = bytes_u8(in) % 16,
				     .rta_len = (uint16_t)(RTA_LENGTH(len) +
							   (bits & 0x80 ? bytes_u8(in) : 0)) };
	uint8_t value[255];

	bytes_take(in, value, len);
	put(to, &attr, sizeof(attr));
	put(to, value, len);
}

/* Append a message with a valid type, a fixed part and attributes. */
static void
put_message(struct message *to, struct bytes *in)
{
	static const uint16_t types[] = { RTM_NEWROUTE, RTM_NEWNEIGH, NLMSG_ERROR,
					  RTM_NEWADDR,  RTM_DELADDR,  NLMSG_DONE };
	const uint8_t bits = bytes_u8(in);
	const size_t at = to->len;
	struct nlmsghdr hdr = { .nlmsg_type = types[bits % 6] };
	union {
		struct rtmsg route;
		struct ndmsg neigh;
		struct nlmsgerr error;
		struct ifaddrmsg addr;
	} fixed = { 0 };
	size_t fixed_len = 0;

	put(to, &hdr, sizeof(hdr));
	switch (hdr.nlmsg_type) {
	case RTM_NEWROUTE:
		fixed.route.rtm_type = bytes_u8(in) % 4;
		fixed_len = sizeof(fixed.route);
		break;
	case RTM_NEWNEIGH:
		fixed.neigh.ndm_state = bytes_u8(in);
		fixed_len = sizeof(fixed.neigh);
		break;
	case NLMSG_ERROR:
		fixed.error.error = (int)bytes_u32(in);
		fixed_len = sizeof(fixed.error);
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		fixed.addr.ifa_index = bytes_u8(in) % 5;
		fixed_len = sizeof(fixed.addr);
		break;
	}
	put(to, &fixed, fixed_len);
	for (unsigned i = bits >> 4 & 7; i > 0; i--)
		put_attr(to, in);
	hdr.nlmsg_len = (uint32_t)(to->len - at);
	if (bits & 0x80)
		hdr.nlmsg_len += (uint32_t)(bytes_u8(in) - 128);
	if (at + sizeof(hdr) <= ROOM)
		memcpy(to->msg.bytes + at, &hdr, sizeof(hdr));
}

/* Copy a message to memory of its exact length, so that the sanitizer detects an overrun. */
static const union uroce_netlink_message *
copy(const struct message *message)
{
	void *arrived = malloc(message->len ? message->len : 1);

	expect(arrived);
	memcpy(arrived, message->msg.bytes, message->len);
	return arrived;
}

static void
get_route(const union uroce_netlink_message *msg, size_t len, bool is_v4)
{
	static const uint8_t dips[2][16] = { { 0x20, 1, [15] = 9 },
					     { [10] = 0xff, 0xff, 192, 0, 2, 9 } };
	const uint8_t untouched[16] = { 0xee, 0xee, 0xee };
	const uint8_t *dip = dips[is_v4];
	uint8_t next_hop[16];
	bool is_local = false;

	memcpy(next_hop, untouched, 16);
	const int ret = uroce_netlink_get_route(msg, len, dip, next_hop, &is_local);

	expect(ret <= 0 && ret > -4096);
	if (ret < 0)
		expect(!is_local && memcmp(next_hop, untouched, 16) == 0);
	else
		expect(msg->hdr.nlmsg_type == RTM_NEWROUTE &&
		       memcmp(next_hop, dip, is_v4 ? 12 : 0) == 0);
}

static void
get_neigh(const union uroce_netlink_message *msg, size_t len)
{
	const uint8_t untouched[6] = { 0xee, 0xee, 0xee };
	uint8_t mac[6];

	memcpy(mac, untouched, 6);
	const int ret = uroce_netlink_get_neigh(msg, len, mac);

	expect(ret <= 0 && ret > -4096);
	expect(ret == 0 || memcmp(mac, untouched, 6) == 0);
	expect(ret < 0 || msg->hdr.nlmsg_type == RTM_NEWNEIGH);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes in = { data, len };
	const uint8_t bits = bytes_u8(&in);
	static struct message message;
	const union uroce_netlink_message *arrived;

	memset(&message, 0, sizeof(message));
	for (unsigned i = bits & 3; i > 0; i--)
		put_message(&message, &in);
	if ((bits & 3) == 0) {
		message.len = in.left < ROOM ? in.left : ROOM;
		bytes_take(&in, message.msg.bytes, message.len);
	}
	if (bits & 0x80)
		message.len -= bytes_u8(&in) % (message.len + 1);
	arrived = copy(&message);
	get_route(arrived, message.len, bits & 0x40);
	get_neigh(arrived, message.len);
	(void)uroce_netlink_has_addr(arrived, message.len, IF_INDEX);
	free((void *)(uintptr_t)arrived);
	return 0;
}
