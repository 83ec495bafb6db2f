/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The parser of rtnetlink messages that the kernel sends in response to a request. The test builds
 * valid and invalid messages.
 */

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <cmocka.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "datapath/net/netlink_message.h"

#define IF_INDEX 3

static const uint8_t dip[16] = { [10] = 0xff, 0xff, 192, 0, 2, 9 };

static union uroce_netlink_message msg;

/*
 * Begin a message whose fixed part has `fixed_len` bytes.
 * @return the fixed part, all zero
 */
static void *
begin(uint16_t type, size_t fixed_len)
{
	memset(&msg, 0, sizeof(msg));
	msg.hdr.nlmsg_type = type;
	msg.hdr.nlmsg_len = (uint32_t)NLMSG_LENGTH(fixed_len);
	return NLMSG_DATA(&msg.hdr);
}

static void
add_attr(uint16_t type, const void *value, uint16_t len)
{
	struct rtattr *attr = (struct rtattr *)(msg.bytes + NLMSG_ALIGN(msg.hdr.nlmsg_len));

	attr->rta_type = type;
	attr->rta_len = (uint16_t)RTA_LENGTH(len);
	memcpy(RTA_DATA(attr), value, len);
	msg.hdr.nlmsg_len = NLMSG_ALIGN(msg.hdr.nlmsg_len) + (uint32_t)RTA_ALIGN(attr->rta_len);
}

static void
netlink_get_route__the_next_hop_is_the_gateway(void **state)
{
	static const uint8_t gateway[4] = { 192, 0, 2, 254 };
	struct rtmsg *route = begin(RTM_NEWROUTE, sizeof(*route));
	uint8_t next_hop[16];
	bool is_local = true;

	(void)state;
	route->rtm_type = RTN_UNICAST;
	add_attr(RTA_OIF, &(int){ IF_INDEX }, sizeof(int));
	add_attr(RTA_GATEWAY, gateway, sizeof(gateway));
	assert_int_equal(uroce_netlink_get_route(&msg, msg.hdr.nlmsg_len, dip, next_hop, &is_local),
			 0);
	assert_false(is_local);
	assert_memory_equal(next_hop, dip, 12);
	assert_memory_equal(next_hop + 12, gateway, 4);
}

static void
netlink_get_route__an_error_is_one_of_the_kernels_or_of_the_protocol(void **state)
{
	static const struct {
		int told, expected;
	} rows[] = {
		{ -ENETUNREACH, -ENETUNREACH },
		{ -4095, -4095 },
		/* error 0 is an acknowledgement, which the request did not ask for */
		{ 0, -EPROTO },
		{ EPERM, -EPROTO },
		{ -4096, -EPROTO },
		{ INT_MIN, -EPROTO },
	};
	struct nlmsgerr *error;
	uint8_t next_hop[16];
	bool is_local;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		error = begin(NLMSG_ERROR, sizeof(*error));
		error->error = rows[i].told;
		assert_int_equal(
			uroce_netlink_get_route(&msg, msg.hdr.nlmsg_len, dip, next_hop, &is_local),
			rows[i].expected);
	}
}

/*
 * A truncated message is invalid. The bytes behind the message belong to the request, which was in
 * the same buffer, so they must not complete the message.
 */
static void
netlink_get_route__what_is_behind_the_message_is_none_of_it(void **state)
{
	struct rtmsg *route = begin(RTM_NEWROUTE, 0);
	struct nlmsgerr *error;
	uint8_t next_hop[16];
	bool is_local;

	(void)state;
	route->rtm_type = RTN_UNICAST;
	assert_int_equal(uroce_netlink_get_route(&msg, msg.hdr.nlmsg_len, dip, next_hop, &is_local),
			 -EPROTO);
	error = begin(NLMSG_ERROR, 0);
	error->error = -EPERM;
	assert_int_equal(uroce_netlink_get_route(&msg, msg.hdr.nlmsg_len, dip, next_hop, &is_local),
			 -EPROTO);
}

static void
netlink_get_neigh__only_of_a_state_that_has_a_mac(void **state)
{
	static const uint8_t lladdr[6] = { 2, 0, 0, 0, 0, 9 };
	struct ndmsg *neigh = begin(RTM_NEWNEIGH, sizeof(*neigh));
	uint8_t mac[6];

	(void)state;
	add_attr(NDA_LLADDR, lladdr, sizeof(lladdr));
	neigh->ndm_state = NUD_REACHABLE;
	assert_int_equal(uroce_netlink_get_neigh(&msg, msg.hdr.nlmsg_len, mac), 0);
	assert_memory_equal(mac, lladdr, 6);
	neigh->ndm_state = NUD_INCOMPLETE;
	assert_int_equal(uroce_netlink_get_neigh(&msg, msg.hdr.nlmsg_len, mac), -ENOENT);
}

static void
netlink_has_addr__of_this_interface(void **state)
{
	struct ifaddrmsg *addr = begin(RTM_DELADDR, sizeof(*addr));

	(void)state;
	addr->ifa_index = IF_INDEX;
	assert_true(uroce_netlink_has_addr(&msg, msg.hdr.nlmsg_len, IF_INDEX));
	assert_false(uroce_netlink_has_addr(&msg, msg.hdr.nlmsg_len, IF_INDEX + 1));
}

/*
 * The last message has a length that is no multiple of 4. The padded length must not make the
 * remaining length negative, because the parser would then read the bytes behind the message.
 */
static void
netlink_has_addr__nothing_is_behind_the_last_message(void **state)
{
	struct nlmsghdr *behind;

	(void)state;
	(void)begin(RTM_NEWLINK, 1);
	behind = (struct nlmsghdr *)(msg.bytes + NLMSG_ALIGN(msg.hdr.nlmsg_len));
	behind->nlmsg_type = RTM_NEWADDR;
	behind->nlmsg_len = NLMSG_LENGTH(sizeof(struct ifaddrmsg));
	((struct ifaddrmsg *)NLMSG_DATA(behind))->ifa_index = IF_INDEX;
	assert_false(uroce_netlink_has_addr(&msg, msg.hdr.nlmsg_len, IF_INDEX));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(netlink_get_route__the_next_hop_is_the_gateway),
		cmocka_unit_test(
			netlink_get_route__an_error_is_one_of_the_kernels_or_of_the_protocol),
		cmocka_unit_test(netlink_get_route__what_is_behind_the_message_is_none_of_it),
		cmocka_unit_test(netlink_get_neigh__only_of_a_state_that_has_a_mac),
		cmocka_unit_test(netlink_has_addr__of_this_interface),
		cmocka_unit_test(netlink_has_addr__nothing_is_behind_the_last_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
