/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * uroced on the port `udp`: it has an address of the loopback interface, and the test has another
 * one, with a socket of its own. Frames of clients leave as datagrams, and datagrams arrive as
 * frames. Multicast groups that clients report are joined by the kernel. Hostile clients and
 * foreign sockets get no further than on other ports. If root runs the test, it has a network
 * namespace of its own, and uroced has user 65534.
 */

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon.h"
#include "now_ms.h"
#include "peer.h"
#include "wire/hdr.h"
#include "wire/icrc.h"

#define NOBODY      65534
#define TIMEOUT_MS  300000
#define HDR_LEN     42u /* length of the headers in front of a datagram: Ethernet, IPv4, UDP */
#define UDP_PORT    4791
#define GROUPS_MAX  64u
#define MAD_AT      (HDR_LEN + 12 + 8) /* offset of the MAD in a datagram to QP 1 */
#define MAD_LEN     256
#define NB_REQUESTS 100u /* number of requests in a burst, more than uroced answers at once */

static const uint8_t foreign_mac[6] = { 2, 0, 0, 0, 0, 9 };

static struct daemon daemon_;
static struct peer a, b;
static uint8_t frame[UROCE_SHM_FRAME_MAX], got[UROCE_SHM_FRAME_MAX];
static struct in_addr our_ip, far_ip;
static int far = -1; /* the socket of the other host */

/* Open a socket of an address and a port. @param port  the UDP port; 0 for any port */
static int
open_socket(struct in_addr ip, uint16_t port)
{
	const struct sockaddr_in addr = { .sin_family = AF_INET,
					  .sin_addr = ip,
					  .sin_port = htons(port) };
	const struct timeval limit = { .tv_sec = TIMEOUT_MS / 1000 };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0) {
		(void)close(fd);
		return -1;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	/* multicast datagrams leave by the loopback interface */
	(void)setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &ip, sizeof(ip));
	return fd;
}

static void
start_daemon(void)
{
	char spec[64];

	(void)snprintf(spec, sizeof(spec), "udp,addr=%s", inet_ntoa(our_ip));
	daemon_start_on(&daemon_, "net_null0", spec);
}

static int
set_up(void **state)
{
	const uint32_t net =
		127u << 24 | (16u + (getpid() >> 8 & 127)) << 16 | (uint32_t)(getpid() & 255) << 8;

	(void)state;
	our_ip.s_addr = htonl(net | 5);
	/* the destination address of the frames to other hosts that peer_build() makes */
	far_ip.s_addr = htonl(net | 6);
	daemon_make(&daemon_);
	if (geteuid() == 0) {
		assert_int_equal(system("ip link set lo up"), 0);
		assert_int_equal(chown(daemon_.folder, NOBODY, NOBODY), 0);
		daemon_.uid = NOBODY;
	}
	start_daemon();
	far = open_socket(far_ip, UDP_PORT);
	assert_true(far >= 0);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	(void)close(far);
	if (daemon_.pid > 0)
		daemon_end(&daemon_);
	daemon_remove(&daemon_);
	return 0;
}

static int
open_two(void **state)
{
	(void)state;
	peer_open(&a, daemon_.socket, 1, 256);
	peer_open(&b, daemon_.socket, 1, 256);
	peer_accept(&a, NULL);
	peer_accept(&b, NULL);
	while (recv(far, got, sizeof(got), MSG_DONTWAIT) >= 0)
		;
	return 0;
}

static int
close_two(void **state)
{
	(void)state;
	peer_close(&a);
	peer_close(&b);
	return 0;
}

static uint64_t
query_host(const char *counter)
{
	return daemon_ask(&daemon_, "/uroced/host", counter);
}

static void
await_host_counter(const char *counter, uint64_t value)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;

	while (query_host(counter) < value) {
		if (now_ms() > until_ms)
			fail_msg("%s stays below %u", counter, (unsigned)value);
		(void)usleep(1000);
	}
	assert_int_equal(query_host(counter), value);
}

/* Wait for a counter of the client that attached first. */
static void
await_client_counter(const char *counter, uint64_t value)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	unsigned slot;

	assert_int_equal(daemon_clients(&daemon_, &slot, 1), 1);
	while (daemon_ask_client(&daemon_, slot, counter) < value) {
		if (now_ms() > until_ms)
			fail_msg("%s stays below %u", counter, (unsigned)value);
		(void)usleep(1000);
	}
	assert_int_equal(daemon_ask_client(&daemon_, slot, counter), value);
}

/* Build a frame to the other host, with the UDP source port that the sockets use. */
static uint16_t
build_far(uint16_t len)
{
	(void)peer_build(&a, frame, foreign_mac, 0x1234, len);
	((struct uroce_udp *)(frame + 34))->sport = be16_make(UDP_PORT);
	return len;
}

static void
send_from(int fd, struct in_addr to, const void *bytes, size_t len)
{
	const struct sockaddr_in addr = { .sin_family = AF_INET,
					  .sin_addr = to,
					  .sin_port = htons(UDP_PORT) };

	assert_int_equal(sendto(fd, bytes, len, 0, (const struct sockaddr *)&addr, sizeof(addr)),
			 (ssize_t)len);
}

/* Expect that the frame that was built arrives at the other host as a datagram. */
static void
expect_at_far(uint16_t len)
{
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	const ssize_t got_len =
		recvfrom(far, got, sizeof(got), 0, (struct sockaddr *)&from, &from_len);

	assert_int_equal(got_len, len - HDR_LEN);
	assert_memory_equal(got, frame + HDR_LEN, len - HDR_LEN);
	assert_int_equal(from.sin_addr.s_addr, our_ip.s_addr);
	assert_int_equal(ntohs(from.sin_port), UDP_PORT);
}

/* Expect that the payload of the frame that was built arrives at a client. */
static void
expect_at_client(struct peer *peer, uint16_t len)
{
	const struct uroce_ipv4 *ip = (const struct uroce_ipv4 *)(got + 14);

	assert_int_equal(peer_receive(peer, 0, got), len < 60 ? 60 : len);
	assert_memory_equal(ip->dst, &our_ip, 4);
	assert_memory_equal(got + HDR_LEN, frame + HDR_LEN, len - HDR_LEN);
}

static void
host__says_that_the_kernel_routes(void **state)
{
	(void)state;
	assert_int_equal(a.host.is_udp, 1);
	assert_int_equal(a.host.nb_addr, 1);
	assert_memory_equal(a.host.addr[0].ip + 12, &our_ip, 4);
	assert_int_equal(a.host.is_up, 1);
}

static void
frames__leave_and_arrive_as_datagrams(void **state)
{
	static const uint16_t lens[] = { HDR_LEN + 16, 60, 300, 4138 };
	const uint64_t nb_up = query_host("frames_up");

	(void)state;
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		peer_send(&a, 0, frame, build_far(lens[i]));
		expect_at_far(lens[i]);
	}
	await_host_counter("frames_up", nb_up + 4);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		(void)peer_build(&a, frame, NULL, peer_qpn(&a, 0), lens[i]);
		send_from(far, our_ip, frame + HDR_LEN, lens[i] - HDR_LEN);
		expect_at_client(&a, lens[i]);
		assert_memory_equal(got, a.host.mac, 6);
		assert_memory_equal(got + 26, &far_ip, 4);
	}
}

/*
 * Datagrams of one length leave as one message, and a shorter one ends it. The ICRC of all but the
 * first datagram of a message is corrected, so the last bytes differ.
 */
static void
frames__of_many_lengths_leave_in_order(void **state)
{
	(void)state;
	for (uint16_t i = 0; i < 200; i++)
		peer_send(&a, 0, frame, build_far((uint16_t)(100 + i / 3 % 7)));
	for (uint16_t i = 0; i < 200; i++) {
		const uint16_t len = build_far((uint16_t)(100 + i / 3 % 7));

		assert_int_equal(recv(far, got, sizeof(got), 0), len - HDR_LEN);
		assert_memory_equal(got, frame + HDR_LEN, len - HDR_LEN - 4);
	}
}

static void
frames__of_two_clients_do_not_touch_the_sockets(void **state)
{
	const uint64_t nb_up = query_host("frames_up");

	(void)state;
	peer_accept(&b, &a);
	peer_bind(&a, peer_qpn(&a, 0), peer_qpn(&b, 0), UROCE_BINDING_LOCAL);
	(void)peer_build(&a, frame, NULL, peer_qpn(&b, 0), 500);
	peer_send(&a, 0, frame, 500);
	expect_at_client(&b, 500);
	assert_int_equal(query_host("frames_up"), nb_up);
}

/* The counters of the port are those of uroced, after a short time. */
static void
host__has_the_counters_of_the_port(void **state)
{
	static const uint8_t zeros[20000]; /* longer than the longest frame */

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		send_from(far, our_ip, zeros, sizeof(zeros));
	peer_send(&a, 0, frame, build_far(200));
	expect_at_far(200);
	await_host_counter("udp_rx_too_long", 3);
	assert_true(query_host("udp_rx_messages") >= 3);
	assert_true(query_host("udp_tx_messages") >= 1);
	assert_int_equal(query_host("udp_tx_lost"), 0);
}

/* --- hostile input ------------------------------------------------------------------------------- */

static void
client__sends_no_forged_frames(void **state)
{
	static const uint8_t arp[60] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, [12] = 8, 6,
					 0,    1,    8,    0,    6,    4,    0,        1 };

	(void)state;
	(void)build_far(300);
	frame[29] ^= 1; /* change the source IP address */
	peer_send(&a, 0, frame, 300);
	(void)build_far(300);
	frame[6] ^= 4; /* change the source MAC */
	peer_send(&a, 0, frame, 300);
	await_client_counter("drop_source", 2);
	memcpy(frame, arp, sizeof(arp));
	memcpy(frame + 6, a.host.mac, 6);
	memcpy(frame + 22, a.host.mac, 6);
	memcpy(frame + 28, &our_ip, 4);
	memcpy(frame + 38, &far_ip, 4);
	peer_send(&a, 0, frame, sizeof(arp));
	await_client_counter("drop_kind", 1);
	/* none of these frames has arrived at the other host */
	peer_send(&a, 0, frame, build_far(200));
	expect_at_far(200);
}

/*
 * A frame with options of IPv4 is dropped. Otherwise the datagram would begin at other bytes than
 * those that uroced has checked.
 */
static void
client__sends_no_options(void **state)
{
	const uint64_t nb_lost = query_host("drop_wire");

	(void)state;
	(void)build_far(300);
	memmove(frame + 38, frame + 34, 300 - 38);
	frame[14] = 0x46;
	peer_send(&a, 0, frame, 300);
	await_host_counter("drop_wire", nb_lost + 1);
	peer_send(&a, 0, frame, build_far(200));
	expect_at_far(200);
}

static void
datagram__with_an_address_of_the_host_is_dropped(void **state)
{
	const uint64_t nb_ours = query_host("drop_our_source");
	const int foreign = open_socket(our_ip, 0);

	(void)state;
	assert_true(foreign >= 0);
	(void)peer_build(&a, frame, NULL, peer_qpn(&a, 0), 300);
	send_from(foreign, our_ip, frame + HDR_LEN, 300 - HDR_LEN);
	await_host_counter("drop_our_source", nb_ours + 1);
	(void)close(foreign);
	peer_expect_silence(&a);
}

static void
datagram__that_is_no_packet_is_dropped(void **state)
{
	const uint64_t nb_kinds = query_host("drop_kind");

	(void)state;
	send_from(far, our_ip, "", 0);
	send_from(far, our_ip, "x", 1);
	send_from(far, our_ip, "123456789ab", 11);
	await_host_counter("drop_kind", nb_kinds + 2); /* the empty datagram makes no frame */
	(void)peer_build(&a, frame, NULL, peer_qpn(&a, 0), 300);
	send_from(far, our_ip, frame + HDR_LEN, 300 - HDR_LEN);
	expect_at_client(&a, 300);
}

/* Build a frame with Get(ClassPortInfo), from the other host to QP 1. @return its length */
static uint16_t
build_class_port_info(void)
{
	static const uint8_t mad[MAD_LEN] = { 1, 4, 1, 1, [15] = 7, [17] = 1 };
	const uint16_t len = MAD_AT + MAD_LEN + 4;

	(void)peer_build(&a, frame, NULL, 1, len);
	peer_make_datagram(&a, frame, 0x80010000);
	((struct uroce_udp *)(frame + 34))->sport = be16_make(UDP_PORT);
	((struct uroce_bth *)(frame + HDR_LEN))->pkey = be16_make(0xffff);
	memcpy(frame + 26, &far_ip, 4);
	memcpy(frame + MAD_AT, mad, sizeof(mad));
	uroce_icrc_store(frame + len - 4, uroce_icrc_frame(frame + 14, len - 14 - 4));
	return len;
}

/* Count the responses to Get(ClassPortInfo) that wait at the other host. */
static unsigned
take_responses(void)
{
	unsigned nb = 0;

	while (recv(far, got, sizeof(got), MSG_DONTWAIT) > 0) {
		assert_int_equal(got[MAD_AT - HDR_LEN + 3], 0x81); /* method GetResp */
		nb++;
	}
	return nb;
}

/*
 * Each Get(ClassPortInfo) gets a response, or is counted because there were too many. Otherwise
 * anybody could fill the send buffer of uroced by requests with addresses of dead hosts.
 */
static void
datagram__requests_to_qp_1_are_answered_at_a_limited_rate(void **state)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	const uint16_t len = build_class_port_info();
	uint64_t nb_sent = 0, nb_responses = 0, nb_limited = 0;

	(void)state;
	/* on a slow machine a burst of requests may take so long that all of them are answered */
	while (nb_limited == 0) {
		for (unsigned i = 0; i < NB_REQUESTS; i++)
			send_from(far, our_ip, frame + HDR_LEN, len - HDR_LEN);
		nb_sent += NB_REQUESTS;
		while (nb_responses + nb_limited < nb_sent) {
			assert_true(now_ms() < until_ms);
			nb_responses += take_responses();
			nb_limited = query_host("drop_limited");
		}
	}
	assert_true(nb_responses > 0);
}

/* --- multicast ----------------------------------------------------------------------------------- */

static struct in_addr
group_of(unsigned i)
{
	return (struct in_addr){ htonl(239u << 24 | (uint32_t)(getpid() & 0xffff) << 8 | i) };
}

static void
send_report(struct peer *peer, struct in_addr group, bool is_leave)
{
	uint8_t report[60] = { 1, 0, 0x5e, [12] = 8, 0, 0x46, [23] = 2, [34] = 0x94, 4 };

	memcpy(report + 6, peer->host.mac, 6);
	memcpy(report + 26, &our_ip, 4);
	report[38] = is_leave ? 0x17 : 0x16;
	memcpy(report + 42, &group, 4);
	peer_send(peer, 0, report, sizeof(report));
}

/* Whether the kernel is a member of a group. */
static bool
is_joined(struct in_addr group)
{
	FILE *file = fopen("/proc/net/igmp", "re");
	char line[256], text[16];
	bool is_found = false;

	assert_non_null(file);
	(void)snprintf(text, sizeof(text), "%08X", group.s_addr);
	while (fgets(line, sizeof(line), file))
		is_found |= strstr(line, text) != NULL;
	(void)fclose(file);
	return is_found;
}

static void
await_joined(struct in_addr group, bool is_expected)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;

	while (is_joined(group) != is_expected) {
		assert_true(now_ms() < until_ms);
		(void)usleep(1000);
	}
}

/* Wait until the frames of a client are processed, by a further frame behind them. */
static void
expect_processed(struct peer *peer)
{
	peer_send(peer, 0, frame, build_far(200));
	expect_at_far(200);
}

static void
send_to_group(struct in_addr group, uint16_t len)
{
	(void)peer_build(&a, frame, NULL, 0xffffff, len);
	peer_make_datagram(&a, frame, 1);
	send_from(far, group, frame + HDR_LEN, len - HDR_LEN);
}

static void
group__is_joined_while_it_has_members(void **state)
{
	static const uint8_t mac[3] = { 1, 0, 0x5e };

	(void)state;
	send_report(&a, group_of(1), false);
	await_joined(group_of(1), true);
	send_report(&b, group_of(1), false);
	expect_processed(&b);
	send_report(&a, group_of(1), true);
	expect_processed(&a);
	send_to_group(group_of(1), 300);
	/* each client gets a copy of each datagram, also client a, which has left the group */
	assert_int_equal(peer_receive(&b, 0, got), 300);
	assert_memory_equal(got, mac, sizeof(mac));
	assert_memory_equal(got + HDR_LEN, frame + HDR_LEN, 300 - HDR_LEN);
	assert_int_equal(peer_receive(&a, 0, got), 300);
	peer_close(&b);
	await_joined(group_of(1), false);
	peer_open(&b, daemon_.socket, 1, 256);
}

static void
group__of_a_client_leaves_to_others(void **state)
{
	static const uint8_t group_mac[6] = { 1, 0, 0x5e, 1, 2, 3 };
	const struct in_addr group = group_of(2);
	const struct ip_mreq join = { .imr_multiaddr = group, .imr_interface = far_ip };
	const int member = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const struct sockaddr_in addr = { .sin_family = AF_INET,
					  .sin_addr = group,
					  .sin_port = htons(UDP_PORT) };
	const int one = 1;

	(void)state;
	assert_int_equal(setsockopt(member, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(setsockopt(member, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof(join)), 0);
	assert_int_equal(bind(member, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	(void)build_far(300);
	peer_make_datagram(&a, frame, 1);
	((struct uroce_bth *)(frame + HDR_LEN))->dest_qpn = be24_make(0xffffff);
	memcpy(frame, group_mac, 6);
	memcpy(frame + 30, &group, 4);
	peer_send(&a, 0, frame, 300);
	/* the other client and the other socket get a copy each, and the sender gets none */
	assert_int_equal(peer_receive(&b, 0, got), 300);
	assert_int_equal(recv(member, got, sizeof(got), 0), 300 - HDR_LEN);
	assert_memory_equal(got, frame + HDR_LEN, 300 - HDR_LEN);
	peer_expect_silence(&a);
	(void)close(member);
}

/*
 * A user may have half of the groups. A report of a group that the kernel does not join is dropped,
 * too.
 */
static void
group__beyond_the_limit_is_dropped(void **state)
{
	(void)state;
	for (unsigned i = 0; i < GROUPS_MAX / 2; i++)
		send_report(&a, group_of(i), false);
	send_report(&a, group_of(GROUPS_MAX), false);
	await_client_counter("drop_group_limit", 1);
	send_report(&a, group_of(0), true);
	await_joined(group_of(0), false);
	send_report(&a, far_ip, false); /* an address that is no multicast group */
	await_client_counter("drop_group", 1);
	send_report(&a, group_of(GROUPS_MAX), false);
	send_report(&b, group_of(1), false);
	expect_processed(&a);
	await_client_counter("drop_group_limit", 1);
	await_client_counter("drop_group", 1);
}

/* --- sleep, restart and shutdown ----------------------------------------------------------------- */

static void
daemon__sleeps_and_is_woken_by_a_datagram(void **state)
{
	(void)state;
	daemon_expect_idle(&daemon_);
	for (unsigned i = 0; i < 20; i++) {
		(void)usleep(20000);
		(void)peer_build(&a, frame, NULL, peer_qpn(&a, 0), 300);
		send_from(far, our_ip, frame + HDR_LEN, 300 - HDR_LEN);
		expect_at_client(&a, 300);
	}
}

/* A client attaches again to the next uroced, on the same address. */
static void
daemon__is_killed_and_started_again(void **state)
{
	const uint32_t qpn = peer_qpn(&a, 0);

	(void)state;
	daemon_kill(&daemon_);
	assert_false(peer_hear(&a, 0));
	peer_hang_up(&a);
	peer_close(&b);
	start_daemon();
	peer_connect(&a, daemon_.socket);
	peer_attach(&a);
	assert_int_equal(peer_qpn(&a, 0), qpn);
	peer_accept(&a, NULL);
	peer_send(&a, 0, frame, build_far(200));
	expect_at_far(200);
	peer_open(&b, daemon_.socket, 1, 256);
}

static void
daemon__leaves_the_port_to_others(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(open_socket(our_ip, UDP_PORT), -1);
	daemon_end(&daemon_);
	fd = open_socket(our_ip, UDP_PORT);
	assert_true(fd >= 0);
	(void)close(fd);
	start_daemon();
	(void)open_two(NULL);
	assert_int_equal(a.host.is_up, 1);
	(void)close_two(NULL);
}

/* --- addresses ----------------------------------------------------------------------------------- */

static void
shell(const char *command)
{
	if (system(command) != 0)
		fail_msg("%s", command);
}

static void
begin_addresses(const char *spec)
{
	if (geteuid() != 0)
		skip(); /* only root changes addresses */
	shell("ip addr add 192.0.2.7/32 dev lo");
	daemon_end(&daemon_);
	/* a uroced with all addresses of the interface leaves UDP port 4791 to no other socket */
	(void)close(far);
	far = open_socket(far_ip, 0);
	daemon_start_on(&daemon_, "net_null0", spec);
	(void)open_two(NULL);
}

static void
end_addresses(void)
{
	(void)close_two(NULL);
	daemon_end(&daemon_);
	shell("ip addr del 192.0.2.7/32 dev lo");
	(void)close(far);
	far = open_socket(far_ip, UDP_PORT);
	start_daemon();
}

static void
addresses__follow_the_interface(void **state)
{
	static const uint8_t added[4] = { 192, 0, 2, 8 };
	const struct uroce_mux_host *host = &peer_message.this_host.host;
	const struct in_addr to = { htonl(0xc0000208) };
	unsigned i = 0;

	(void)state;
	begin_addresses("udp,iface=lo");
	shell("ip addr add 192.0.2.8/32 dev lo");
	do
		assert_true(peer_hear(&a, UROCE_MUX_HOST));
	while (host->nb_addr == a.host.nb_addr);
	assert_int_equal(host->nb_addr, a.host.nb_addr + 1);
	while (i < host->nb_addr && memcmp(host->addr[i].ip + 12, added, 4) != 0)
		i++;
	assert_true(i < host->nb_addr);
	(void)peer_build(&a, frame, NULL, peer_qpn(&a, 0), 300);
	send_from(far, to, frame + HDR_LEN, 300 - HDR_LEN);
	assert_int_equal(peer_receive(&a, 0, got), 300);
	assert_memory_equal(got + 30, added, 4);
	shell("ip addr del 192.0.2.8/32 dev lo");
	end_addresses();
}

static void
addresses__that_the_host_loses_take_the_link_down(void **state)
{
	const struct uroce_mux_host *host = &peer_message.this_host.host;

	(void)state;
	begin_addresses("udp,addr=192.0.2.7");
	assert_int_equal(a.host.is_up, 1);
	shell("ip addr del 192.0.2.7/32 dev lo");
	assert_true(peer_hear(&a, UROCE_MUX_HOST));
	assert_int_equal(host->is_up, 0);
	shell("ip addr add 192.0.2.7/32 dev lo");
	assert_true(peer_hear(&a, UROCE_MUX_HOST));
	assert_int_equal(host->is_up, 1);
	end_addresses();
}

int
main(int argc, char **argv)
{
#define TWO(test) cmocka_unit_test_setup_teardown(test, open_two, close_two)
	const struct CMUnitTest tests[] = {
		TWO(host__says_that_the_kernel_routes),
		TWO(frames__leave_and_arrive_as_datagrams),
		TWO(frames__of_many_lengths_leave_in_order),
		TWO(frames__of_two_clients_do_not_touch_the_sockets),
		TWO(host__has_the_counters_of_the_port),
		TWO(client__sends_no_forged_frames),
		TWO(client__sends_no_options),
		TWO(datagram__with_an_address_of_the_host_is_dropped),
		TWO(datagram__that_is_no_packet_is_dropped),
		TWO(datagram__requests_to_qp_1_are_answered_at_a_limited_rate),
		TWO(group__is_joined_while_it_has_members),
		TWO(group__of_a_client_leaves_to_others),
		TWO(group__beyond_the_limit_is_dropped),
		TWO(daemon__sleeps_and_is_woken_by_a_datagram),
		TWO(daemon__is_killed_and_started_again),
		cmocka_unit_test(daemon__leaves_the_port_to_others),
		cmocka_unit_test(addresses__follow_the_interface),
		cmocka_unit_test(addresses__that_the_host_loses_take_the_link_down),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	if (geteuid() == 0 && unshare(CLONE_NEWNET) < 0) {
		printf("1..0 # no network namespace can be made here: nothing was tested\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
