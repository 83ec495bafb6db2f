/* SPDX-License-Identifier: BSD-3-Clause */

/* The order in which the port `udp` reads its sockets. */

#include "udp_pair.h"

#include <unistd.h>
#include <arpa/inet.h>

static void
send_bytes(int fd, const struct sockaddr_in *to_addr, size_t len)
{
	static const uint8_t bytes[64];

	assert_int_equal(
		sendto(fd, bytes, len, 0, (const struct sockaddr *)to_addr, sizeof(*to_addr)), len);
}

static uint32_t
receive_len(const struct uroce_dev *dev)
{
	struct rte_mbuf *frame;
	uint32_t len;

	if (uroce_udp_port_rx(dev->port, 0, &frame, 1) == 0)
		return 0;
	len = frame->pkt_len - UROCE_UDP_HDR_IPV4;
	rte_pktmbuf_free(frame);
	return len;
}

/*
 * Many datagrams wait in the socket of one address, and one datagram in that of another address.
 * Neither may wait for the last datagram of the other.
 */
static void
udp_turns__a_busy_socket_leaves_turns_to_others(void **state)
{
	struct sockaddr_in to_addr;
	unsigned nb_before = 0;
	int fd;

	(void)state;
	udp_open_two_sockets();
	fd = udp_open_sender(&to_addr);
	for (unsigned i = 0; i < 40; i++)
		send_bytes(fd, &to_addr, 8);
	to_addr.sin_addr.s_addr += htonl(1);
	send_bytes(fd, &to_addr, 16);
	while (receive_len(dev_b) == 8)
		nb_before++;
	assert_in_range(nb_before, 0, 20);
	for (unsigned i = nb_before; i < 40; i++)
		assert_int_equal(receive_len(dev_b), 8);
	close(fd);
}

/* A burst without a look at the sockets, as after a doorbell, must leave datagrams to the next. */
static void
udp_turns__a_skipped_burst_loses_nothing(void **state)
{
	struct sockaddr_in to_addr;
	const int fd = udp_open_sender(&to_addr);

	(void)state;
	send_bytes(fd, &to_addr, 8);
	close(fd);
	uroce_udp_port_found_empty(dev_b->port->udp, 0);
	assert_int_equal(receive_len(dev_b), 0);
	assert_int_equal(receive_len(dev_b), 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(udp_turns__a_busy_socket_leaves_turns_to_others,
					  udp_teardown),
		cmocka_unit_test_setup_teardown(udp_turns__a_skipped_burst_loses_nothing,
						udp_setup_ipv4, udp_teardown),
	};

	udp_has_namespace = udp_make_namespace();
	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
