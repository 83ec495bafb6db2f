/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The counters of the port `udp`. A device that is not driven gets more datagrams than the buffer
 * of its socket can hold. Another test sends datagrams that are too long.
 */

#include "rig.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "datapath/udp/udp_counter.h"
#include "datapath/udp/udp_port.h"
#include "datapath/udp/udp_queue.h"

#define NB_DATAGRAMS 40u
#define LEN          1000

static struct uroce_dev *dev;
/* address of the device; it depends on the process ID, so that no other test uses it */
static char addr[INET_ADDRSTRLEN];

static int
setup(void **state)
{
	const unsigned pid = (unsigned)getpid();
	char spec[80];

	(void)state;
	snprintf(addr, sizeof(addr), "127.%u.%u.5", 16 + (pid >> 8 & 0x7f), pid & 0xff);
	snprintf(spec, sizeof(spec), "udp,addr=%s,drive=none,mtu=1024", addr);
	dev = rig_dev(spec);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	return uroce_dev_destroy(dev);
}

static uint64_t
counted(enum uroce_udp_counter counter)
{
	uint64_t nb[UROCE_UDP_COUNTER_NB];

	uroce_udp_counters_read(dev, nb);
	return nb[counter];
}

/* Send `nb` datagrams of `len` bytes to the device, from a new socket. */
static void
send_datagrams(unsigned nb, size_t len)
{
	static const char zeros[20000];
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(4791) };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0 && inet_pton(AF_INET, addr, &to.sin_addr) == 1);
	for (unsigned i = 0; i < nb; i++)
		assert_int_equal(
			sendto(fd, zeros, len, 0, (const struct sockaddr *)&to, sizeof(to)),
			(ssize_t)len);
	close(fd);
}

/* Drive the device until it has received all datagrams that wait in its socket. */
static void
receive_all(void)
{
	uint64_t nb;

	do {
		nb = counted(UROCE_UDP_COUNTER_RX_MESSAGES);
		rig_drive(dev);
	} while (counted(UROCE_UDP_COUNTER_RX_MESSAGES) != nb);
}

static void
udp_counters__a_datagram_is_received_or_dropped(void **state)
{
	const int size = 4 * LEN;
	const struct uroce_udp_queue *queue = dev->port->udp->queue[0];

	(void)state;
	/* replace the size of the receive buffer that the port has requested by a smaller one */
	assert_int_equal(
		setsockopt(queue->socket[0].fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	assert_int_equal(counted(UROCE_UDP_COUNTER_RX_DROPPED), 0);
	send_datagrams(NB_DATAGRAMS, LEN);
	assert_in_range(counted(UROCE_UDP_COUNTER_RX_DROPPED), 1, NB_DATAGRAMS - 1);
	receive_all();
	assert_int_equal(counted(UROCE_UDP_COUNTER_RX_DROPPED) +
				 counted(UROCE_UDP_COUNTER_RX_MESSAGES),
			 NB_DATAGRAMS);
}

static void
udp_counters__long_datagrams(void **state)
{
	(void)state;
	send_datagrams(3, 20000);
	receive_all();
	assert_int_equal(counted(UROCE_UDP_COUNTER_RX_MESSAGES), 3);
	assert_int_equal(counted(UROCE_UDP_COUNTER_RX_COPIED), 3);
	assert_int_equal(counted(UROCE_UDP_COUNTER_RX_TOO_LONG), 3);
	assert_int_equal(counted(UROCE_UDP_COUNTER_RX_DROPPED), 0);
}

/*
 * When the socket of a multicast group is closed, its count of dropped datagrams must be added to
 * the queue.
 */
static void
udp_counters__remain_when_a_socket_is_closed(void **state)
{
	struct uroce_udp_queue *queue = dev->port->udp->queue[0];
	const struct uroce_udp_socket_conf conf = { .ip = queue->socket[0].ip, .is_shared = true };
	const int size = 1;

	(void)state;
	uroce_udp_socket_share(&queue->socket[0]);
	assert_int_equal(uroce_udp_queue_add(queue, &conf), 0);
	for (unsigned i = 0; i < queue->nb_sockets; i++)
		assert_int_equal(
			setsockopt(queue->socket[i].fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)),
			0);
	for (unsigned i = 0; i < NB_DATAGRAMS; i++)
		/* each datagram has a different source port, so that both sockets get datagrams */
		send_datagrams(1, LEN);
	const uint64_t nb = counted(UROCE_UDP_COUNTER_RX_DROPPED);

	assert_true(uroce_udp_socket_drops(&queue->socket[1]) > 0);
	uroce_udp_queue_remove(queue, 1);
	assert_int_equal(counted(UROCE_UDP_COUNTER_RX_DROPPED), nb);
}

static void
udp_counters__have_names_and_texts(void **state)
{
	(void)state;
	assert_string_equal(uroce_udp_counter_name(UROCE_UDP_COUNTER_TX_MESSAGES),
			    "udp_tx_messages");
	assert_string_equal(uroce_udp_counter_name(UROCE_UDP_COUNTER_RX_DROPPED), "udp_rx_dropped");
	assert_string_equal(uroce_udp_counter_name(UROCE_UDP_COUNTER_NB), "?");
	assert_string_equal(uroce_udp_counter_text(UROCE_UDP_COUNTER_NB), "?");
	for (unsigned c = 0; c < UROCE_UDP_COUNTER_NB; c++)
		assert_true(strlen(uroce_udp_counter_text(c)) > 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(udp_counters__a_datagram_is_received_or_dropped,
						setup, teardown),
		cmocka_unit_test_setup_teardown(udp_counters__long_datagrams, setup, teardown),
		cmocka_unit_test_setup_teardown(udp_counters__remain_when_a_socket_is_closed, setup,
						teardown),
		cmocka_unit_test(udp_counters__have_names_and_texts),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
