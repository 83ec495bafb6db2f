/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The wire: uroced has one end of a veth in a network namespace of the test, and the test has the
 * other end by a packet socket. Frames go out and come in unchanged; neighbours are resolved in
 * both directions; addresses and link of the kernel change. Needs root.
 */

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon.h"
#include "peer.h"
#include "wire/hdr.h"

#define VDEV       "net_af_packet0,iface=ua0,framesz=8192,blocksz=65536,framecnt=512"
#define TIMEOUT_MS 300000
#define HANG_S     300 /* a limit that only a hang exceeds */

static const uint8_t far_mac[6] = { 2, 0, 0, 0, 0, 9 };
static const uint8_t own_mac[6] = { 2, 0, 0, 0, 0, 1 };

static struct daemon daemon_;
static struct peer a, b;
static int wire;
static uint8_t frame[UROCE_SHM_FRAME_MAX], got[UROCE_SHM_FRAME_MAX];

static void
shell(const char *command)
{
	if (system(command) != 0)
		fail_msg("%s", command);
}

static void
open_wire(void)
{
	const struct sockaddr_ll addr = { .sll_family = AF_PACKET,
					  .sll_protocol = htons(ETH_P_ALL),
					  .sll_ifindex = (int)if_nametoindex("ua1") };

	const int room = 4 << 20, one = 1;

	wire = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
	assert_true(wire >= 0);
	assert_int_equal(bind(wire, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	(void)setsockopt(wire, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	(void)setsockopt(wire, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
}

static int
set_up(void **state)
{
	(void)state;
	shell("ip link set lo up");
	shell("ip link add ua0 address 02:00:00:00:00:01 mtu 6000 type veth peer name ua1 address "
	      "02:00:00:00:00:09 mtu 6000");
	shell("sysctl -qw net.ipv6.conf.ua0.disable_ipv6=1 net.ipv6.conf.ua1.disable_ipv6=1");
	shell("ip link set ua0 up && ip link set ua1 up");
	open_wire();
	daemon_make(&daemon_);
	daemon_start_on(&daemon_, VDEV, "net_af_packet0,addr=192.0.2.1/24,addr=2001:db8::1/64");
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	daemon_end(&daemon_);
	daemon_remove(&daemon_);
	return 0;
}

/*
 * Get the QP number of a peer that is bound to the other peer of the test. All other QP numbers of
 * the peer are bound to QPs of another host.
 */
static uint32_t
local_qpn(const struct peer *peer)
{
	return peer_qpn(peer, 0) + 1;
}

static int
open_two(void **state)
{
	(void)state;
	peer_open(&a, daemon_.socket, 1, 256);
	peer_open(&b, daemon_.socket, 1, 256);
	peer_accept(&a, NULL);
	peer_accept(&b, NULL);
	peer_bind(&a, local_qpn(&a), local_qpn(&b), UROCE_BINDING_LOCAL);
	peer_bind(&b, local_qpn(&b), local_qpn(&a), UROCE_BINDING_LOCAL);
	while (recv(wire, got, sizeof(got), MSG_DONTWAIT) > 0)
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

static void
to_us(const void *bytes, size_t len)
{
	assert_int_equal(send(wire, bytes, len, 0), len);
}

/*
 * Receive the next frame of uroced that has this EtherType.
 * @return the length of the frame; 0 if no such frame came in time
 */
static size_t
from_us(uint16_t type, int timeout_ms)
{
	struct pollfd fd = { wire, POLLIN, 0 };
	ssize_t len;

	while (poll(&fd, 1, timeout_ms) == 1) {
		len = recv(wire, got, sizeof(got), 0);
		if (len >= 14 && got[12] == type >> 8 && got[13] == (type & 0xff))
			return (size_t)len;
	}
	return 0;
}

/* Build a frame as another host would send it. */
static uint16_t
build_far(const struct peer *to, uint32_t qpn, uint16_t len)
{
	struct uroce_ipv4 *ip = (struct uroce_ipv4 *)(frame + 14);

	(void)peer_build(to, frame, own_mac, qpn, len);
	memcpy(frame + 6, far_mac, 6);
	ip->src[3] = 9;
	ip->dst[3] = 1;
	return len;
}

static void
frames__go_out_and_come_in(void **state)
{
	static const uint16_t lens[] = { 60, 64, 128, 1500, 4242 };

	(void)state;
	assert_memory_equal(a.host.mac, own_mac, 6);
	assert_int_equal(a.host.is_up, 1);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		(void)peer_build(&a, frame, far_mac, 0x1234, lens[i]);
		peer_send(&a, 0, frame, lens[i]);
		assert_int_equal(from_us(UROCE_ETHERTYPE_IPV4, TIMEOUT_MS), lens[i]);
		assert_memory_equal(got, frame, lens[i]);
		(void)build_far(&b, peer_qpn(&b, 0), lens[i]);
		to_us(frame, lens[i]);
		assert_int_equal(peer_receive(&b, 0, got), lens[i]);
		assert_memory_equal(got, frame, lens[i]);
	}
	/* frames between clients are not sent to the wire */
	(void)peer_build(&a, frame, NULL, local_qpn(&b), 500);
	peer_send(&a, 0, frame, 500);
	assert_int_equal(peer_receive(&b, 0, got), 500);
	assert_int_equal(from_us(UROCE_ETHERTYPE_IPV4, 100), 0);
}

/* Send more frames than the wire takes at once: clients wait, and no frame is lost. */
static void
frames__wait_for_the_wire(void **state)
{
	const time_t late = time(NULL) + HANG_S;
	uint32_t nb_sent = 0, nb_got = 0, nth;

	(void)state;
	(void)peer_build(&a, frame, far_mac, 0x1234, 4242);
	while (nb_got < 20000 && time(NULL) < late) {
		while (nb_sent < 20000 && nb_sent - nb_got < 800) {
			memcpy(frame + 100, &nb_sent, 4);
			if (!peer_put(&a, 0, frame, 4242))
				break;
			peer_push(&a, 0, 1);
			nb_sent++;
		}
		while (recv(wire, got, sizeof(got), MSG_DONTWAIT) == 4242) {
			memcpy(&nth, got + 100, 4);
			assert_int_equal(nth, nb_got);
			nb_got++;
		}
	}
	assert_int_equal(nb_got, 20000);
}

static void
put_barrier(struct peer *peer)
{
	uroce_spsc_put(&peer->up[0], 0, (struct uroce_spsc_desc){ .offset = UROCE_SPSC_BARRIER });
	peer_push(peer, 0, 1);
}

static bool
is_passed(const struct peer *peer)
{
	return atomic_load(&peer->up[0].ring->tail) == peer->up[0].mine;
}

static void
wait_for_barrier(const struct peer *peer)
{
	const time_t late = time(NULL) + HANG_S;

	while (!is_passed(peer))
		assert_true(time(NULL) < late);
}

static unsigned
count_taken(struct peer *peer)
{
	unsigned nb = 0;

	while (peer_take(peer, 0, got) > 0)
		nb++;
	return nb;
}

/* Write frames to a client, and publish them at once. */
static void
put_frames(struct peer *from, const struct peer *to, unsigned nb, uint16_t len)
{
	(void)peer_build(from, frame, NULL, local_qpn(to), len);
	for (unsigned i = 0; i < nb; i++) {
		assert_true(peer_put(from, 0, frame, len));
		peer_push(from, 0, 1);
	}
}

/*
 * When a barrier returns to a client, the client has all frames that other clients and the wire had
 * sent before the barrier. The test has many rounds, since a uroced that ignores barriers may be
 * quick enough in some rounds.
 */
static void
barrier__is_behind_what_was_on_its_way(void **state)
{
	unsigned slots[2];

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		for (unsigned i = 0; i < 20; i++) {
			(void)build_far(&a, peer_qpn(&a, 0), 200);
			to_us(frame, 200);
			(void)peer_build(&b, frame, NULL, local_qpn(&a), 200);
			assert_true(peer_put(&b, 0, frame, 200));
			peer_push(&b, 0, 1);
		}
		put_barrier(&a);
		wait_for_barrier(&a);
		assert_int_equal(count_taken(&a), 40);
	}
	/* a barrier is not counted as garbage */
	assert_int_equal(daemon_clients(&daemon_, slots, 2), 2);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(daemon_ask_client(&daemon_, slots[i], "drop_slot"), 0);
}

/* A barrier waits for all frames of another client, even if these take many turns. */
static void
barrier__is_behind_all_turns_that_it_takes(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		put_frames(&b, &a, 240, 4000);
		put_barrier(&a);
		wait_for_barrier(&a);
		assert_int_equal(count_taken(&a), 240);
	}
}

/*
 * A barrier waits for the frames of a client that had left the run queue. The client with the
 * barrier keeps uroced awake.
 */
static void
barrier__is_behind_clients_that_were_parked(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		struct timespec begin, now;

		clock_gettime(CLOCK_MONOTONIC, &begin);
		do {
			(void)peer_build(&a, frame, far_mac, 0x1234, 100);
			peer_send(&a, 0, frame, 100);
			clock_gettime(CLOCK_MONOTONIC, &now);
		} while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec <
			 3000000);
		put_frames(&b, &a, 20, 200);
		put_barrier(&a);
		wait_for_barrier(&a);
		assert_int_equal(count_taken(&a), 20);
	}
}

/* Barriers of two clients do not wait for each other, whatever frames are behind them. */
static void
barrier__of_two_at_once_are_passed(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		put_frames(&a, &b, 10, 200);
		put_frames(&b, &a, 10, 200);
		put_barrier(&a);
		put_barrier(&b);
		put_frames(&a, &b, 10, 200);
		put_frames(&b, &a, 10, 200);
		put_barrier(&a);
		put_barrier(&b);
		wait_for_barrier(&a);
		wait_for_barrier(&b);
		assert_int_equal(count_taken(&a), 20);
		assert_int_equal(count_taken(&b), 20);
	}
}

static uint64_t
host_count(const char *name)
{
	return daemon_ask(&daemon_, "/uroced/host", name);
}

static void
expect_drop(const char *reason, uint16_t len)
{
	const uint64_t before = host_count(reason);

	to_us(frame, len);
	for (unsigned i = 0; host_count(reason) == before && i < 60000; i++)
		(void)usleep(1000);
	assert_int_equal(host_count(reason), before + 1);
	peer_expect_silence(&a);
	assert_int_equal(peer_take(&b, 0, got), 0);
}

static void
frame__from_the_wire_that_may_not_pass_is_counted(void **state)
{
	(void)state;
	(void)build_far(&b, peer_qpn(&b, 0) ^ 0x800000, 200);
	expect_drop("drop_nobody", 200);
	/* the frame is from the wire, but the peer of its destination QP is on this host */
	(void)build_far(&b, local_qpn(&b), 200);
	expect_drop("drop_unbound", 200);
	/*
	 * the source is an address of this host: the frame is forged, or the port has returned it
	 */
	(void)build_far(&b, peer_qpn(&b, 0), 200);
	((struct uroce_ipv4 *)(frame + 14))->src[3] = 1;
	expect_drop("drop_our_source", 200);
	(void)build_far(&b, local_qpn(&b), 200);
	((struct uroce_ipv4 *)(frame + 14))->src[3] = 1;
	expect_drop("drop_our_source", 200);
	(void)build_far(&b, peer_qpn(&b, 0), 200);
	memcpy(frame + 6, own_mac, 6);
	expect_drop("drop_our_source", 200);
	(void)build_far(&b, 1, 200);
	expect_drop("drop_qp1", 200);
	(void)build_far(&b, peer_qpn(&b, 0), 200);
	((struct uroce_ipv4 *)(frame + 14))->dst[3] = 77;
	expect_drop("drop_not_ours", 200);
	(void)build_far(&b, peer_qpn(&b, 0), 200);
	frame[36] = 1; /* a UDP port other than that of RoCE */
	expect_drop("drop_kind", 200);
}

static const struct arp {
	uint8_t dst[6], src[6], type[2], what[6], op[2], smac[6], sip[4], tmac[6], tip[4], pad[18];
} asked = {
	.dst = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
	.src = { 2, 0, 0, 0, 0, 9 },
	.type = { 8, 6 },
	.what = { 0, 1, 8, 0, 6, 4 },
	.op = { 0, 1 },
	.smac = { 2, 0, 0, 0, 0, 9 },
	.sip = { 192, 0, 2, 9 },
	.tip = { 192, 0, 2, 1 },
};

static void
arp__is_answered_by_uroced_alone(void **state)
{
	const struct arp *answer = (const struct arp *)got;

	(void)state;
	to_us(&asked, sizeof(asked));
	assert_true(from_us(0x0806, TIMEOUT_MS) >= 42);
	assert_int_equal(answer->op[1], 2);
	assert_memory_equal(answer->smac, own_mac, 6);
	assert_memory_equal(answer->sip, asked.tip, 4);
	assert_memory_equal(answer->tmac, far_mac, 6);
	peer_expect_silence(&a);
	peer_expect_silence(&b);
}

/* A client sends an ARP request to the wire, and all clients receive the reply. */
static void
arp__of_a_client_is_asked_and_answered(void **state)
{
	struct arp arp = asked;

	(void)state;
	memcpy(arp.src, own_mac, 6);
	memcpy(arp.smac, own_mac, 6);
	memcpy(arp.sip, asked.tip, 4);
	memcpy(arp.tip, asked.sip, 4);
	peer_send(&a, 0, (const uint8_t *)&arp, sizeof(arp));
	assert_int_equal(from_us(0x0806, TIMEOUT_MS), sizeof(arp));
	assert_memory_equal(got, &arp, sizeof(arp));
	memcpy(arp.dst, own_mac, 6);
	memcpy(arp.src, far_mac, 6);
	arp.op[1] = 2;
	memcpy(arp.smac, far_mac, 6);
	memcpy(arp.sip, asked.sip, 4);
	memcpy(arp.tmac, own_mac, 6);
	memcpy(arp.tip, asked.tip, 4);
	to_us(&arp, sizeof(arp));
	assert_int_equal(peer_receive(&a, 0, frame), sizeof(arp));
	assert_memory_equal(frame, &arp, sizeof(arp));
	assert_int_equal(peer_receive(&b, 0, frame), sizeof(arp));
	/* a reply without Ethernet padding arrives at the client with padding, which uroced adds */
	to_us(&arp, 42);
	assert_int_equal(peer_receive(&a, 0, frame), sizeof(arp));
	assert_memory_equal(frame, &arp, sizeof(arp));
	/* ARP frames in which the sender is forged do not reach the wire */
	arp = asked;
	memcpy(arp.src, own_mac, 6);
	peer_send(&a, 0, (const uint8_t *)&arp, sizeof(arp));
	memcpy(arp.smac, own_mac, 6);
	memcpy(arp.sip, asked.tip, 4);
	arp.op[1] = 2;
	peer_send(&a, 0, (const uint8_t *)&arp, sizeof(arp));
	assert_int_equal(from_us(0x0806, 100), 0);
}

static uint16_t
checksum(const uint8_t *bytes, size_t len, uint32_t sum)
{
	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void
ping__is_answered(void **state)
{
	uint16_t sum;

	(void)state;
	(void)build_far(&a, 0, 98);
	frame[23] = 1; /* IP protocol ICMP */
	memset(frame + 34, 0, 64);
	frame[34] = 8;
	frame[24] = frame[25] = 0;
	sum = checksum(frame + 14, 20, 0);
	frame[24] = (uint8_t)(sum >> 8);
	frame[25] = (uint8_t)sum;
	sum = checksum(frame + 34, 64, 0);
	frame[36] = (uint8_t)(sum >> 8);
	frame[37] = (uint8_t)sum;
	to_us(frame, 98);
	assert_int_equal(from_us(UROCE_ETHERTYPE_IPV4, TIMEOUT_MS), 98);
	assert_int_equal(got[34], 0);
	assert_memory_equal(got, far_mac, 6);
	peer_expect_silence(&a);
}

/* uroced replies to a neighbour solicitation for 2001:db8::1 that comes from 2001:db8::9. */
static void
solicitation__is_answered(void **state)
{
	static const uint8_t head[] = { 0x33, 0x33, 0xff, 0,    0, 1, 2, 0, 0,  0,  0,
					9,    0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, 58, 255 };
	static const uint8_t net[8] = { 0x20, 1, 0xd, 0xb8 };
	uint32_t pseudo = 32 + 58;
	uint16_t sum;

	(void)state;
	memset(frame, 0, 86);
	memcpy(frame, head, sizeof(head));
	memcpy(frame + 22, net, 8);
	frame[37] = 9;
	frame[38] = 0xff;
	frame[39] = 2;
	frame[49] = 1;
	frame[50] = 0xff;
	frame[53] = 1;
	frame[54] = 135;
	memcpy(frame + 62, net, 8);
	frame[77] = 1;
	frame[78] = frame[79] = 1;
	memcpy(frame + 80, far_mac, 6);
	sum = checksum(frame + 22, 64, pseudo);
	frame[56] = (uint8_t)(sum >> 8);
	frame[57] = (uint8_t)sum;
	to_us(frame, 86);
	assert_int_equal(from_us(UROCE_ETHERTYPE_IPV6, TIMEOUT_MS), 86);
	assert_int_equal(got[54], 136);
	assert_memory_equal(got + 6, own_mac, 6);
	peer_expect_silence(&a);
	/* all clients receive the reply to a solicitation that this host has sent */
	memcpy(frame, own_mac, 6);
	frame[54] = 136;
	to_us(frame, 86);
	assert_int_equal(peer_receive(&a, 0, got), 86);
	assert_int_equal(peer_receive(&b, 0, got), 86);
}

static void
mcast_group__goes_out_and_comes_in(void **state)
{
	static const uint8_t group[6] = { 1, 0, 0x5e, 1, 2, 3 };

	(void)state;
	(void)peer_build(&a, frame, group, 0xffffff, 200);
	peer_send(&a, 0, frame, 200);
	assert_int_equal(peer_receive(&b, 0, got), 200);
	assert_int_equal(from_us(UROCE_ETHERTYPE_IPV4, TIMEOUT_MS), 200);
	assert_memory_equal(got, frame, 200);
	(void)build_far(&a, 0xffffff, 200);
	memcpy(frame, group, 6);
	to_us(frame, 200);
	assert_int_equal(peer_receive(&a, 0, got), 200);
	assert_int_equal(peer_receive(&b, 0, got), 200);
}

static void
link__that_is_down_is_reported_and_keeps_nobody_waiting(void **state)
{
	(void)state;
	shell("ip link set ua1 down");
	assert_true(peer_hear(&a, UROCE_MUX_HOST));
	assert_int_equal(peer_message.this_host.host.is_up, 0);
	(void)peer_build(&a, frame, far_mac, 0x1234, 500);
	for (unsigned i = 0; i < 2000; i++)
		peer_send(&a, 0, frame, 500);
	(void)peer_build(&a, frame, NULL, local_qpn(&b), 500);
	peer_send(&a, 0, frame, 500);
	assert_int_equal(peer_receive(&b, 0, got), 500);
	shell("ip link set ua1 up");
	assert_true(peer_hear(&a, UROCE_MUX_HOST));
	assert_int_equal(peer_message.this_host.host.is_up, 1);
	(void)close(wire);
	open_wire();
	(void)peer_build(&a, frame, far_mac, 0x1234, 500);
	for (unsigned i = 0; i < 1200 && from_us(UROCE_ETHERTYPE_IPV4, 50) == 0; i++)
		peer_send(&a, 0, frame, 500);
	assert_memory_equal(got, frame, 500);
}

static void
wire__wakes_who_sleeps_and_idle_costs_little(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		struct pollfd fd = { b.socket, POLLIN, 0 };

		(void)usleep(30000);
		assert_true(uroce_spsc_may_sleep(&b.down[0]));
		to_us(frame, build_far(&b, peer_qpn(&b, 0), 300));
		assert_int_equal(poll(&fd, 1, TIMEOUT_MS), 1);
		assert_true(peer_hear(&b, UROCE_MUX_WAKE));
		assert_int_equal(peer_take(&b, 0, got), 300);
	}
	daemon_expect_idle(&daemon_);
}

/*
 * uroced sends the kernel's addresses to its clients whenever they change, and the kernel replies
 * to ARP requests for these addresses.
 */
static void
addresses__are_the_kernels(void **state)
{
	static const uint8_t second[4] = { 192, 0, 2, 33 };
	const struct uroce_mux_host *host = &peer_message.this_host.host;

	(void)state;
	daemon_end(&daemon_);
	shell("ip addr add 192.0.2.1/24 dev ua0");
	daemon_start_on(&daemon_, VDEV, "net_af_packet0");
	(void)open_two(NULL);
	assert_int_equal(a.host.if_index, if_nametoindex("ua0"));
	assert_int_equal(a.host.nb_addr, 1);
	assert_int_equal(a.host.addr[0].is_kernels, 1);
	shell("ip addr add 192.0.2.33/24 dev ua0");
	assert_true(peer_hear(&a, UROCE_MUX_HOST));
	assert_int_equal(host->nb_addr, 2);
	assert_memory_equal(host->addr[1].ip + 12, second, 4);
	/* frames to and from the new address pass */
	(void)build_far(&b, peer_qpn(&b, 0), 300);
	((struct uroce_ipv4 *)(frame + 14))->dst[3] = 33;
	to_us(frame, 300);
	assert_int_equal(peer_receive(&b, 0, got), 300);
	/* the kernel replies to the ARP request, and uroced sends no second reply */
	to_us(&asked, sizeof(asked));
	assert_true(from_us(0x0806, TIMEOUT_MS) >= 42);
	assert_memory_equal(got, far_mac, 6);
	assert_int_equal(from_us(0x0806, 100), 0);
	peer_close(&a);
	peer_close(&b);
}

int
main(int argc, char **argv)
{
#define TWO(test) cmocka_unit_test_setup_teardown(test, open_two, close_two)
	const struct CMUnitTest tests[] = {
		TWO(frames__go_out_and_come_in),
		TWO(frames__wait_for_the_wire),
		TWO(barrier__is_behind_what_was_on_its_way),
		TWO(barrier__is_behind_all_turns_that_it_takes),
		TWO(barrier__is_behind_clients_that_were_parked),
		TWO(barrier__of_two_at_once_are_passed),
		TWO(frame__from_the_wire_that_may_not_pass_is_counted),
		TWO(arp__is_answered_by_uroced_alone),
		TWO(arp__of_a_client_is_asked_and_answered),
		TWO(ping__is_answered),
		TWO(solicitation__is_answered),
		TWO(mcast_group__goes_out_and_comes_in),
		TWO(wire__wakes_who_sleeps_and_idle_costs_little),
		TWO(link__that_is_down_is_reported_and_keeps_nobody_waiting),
		cmocka_unit_test(addresses__are_the_kernels),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	if (unshare(CLONE_NEWNET) < 0) {
		printf("1..0 # no network namespace can be made here: nothing was tested\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
