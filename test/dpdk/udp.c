/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The port `udp`: two devices at two addresses of the loopback interface exchange data over UDP
 * sockets of the kernel. The program wraps the system calls that send, so that a test can let them
 * fail.
 */

#include "udp_pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "datapath/port/port.h"
#include "datapath/udp/udp_port.h"
#include "datapath/udp/udp_queue.h"
#include "datapath/worker/round.h"
#include "datapath/worker/service.h"
#include "wire/build.h"

/* --- send calls that fail ---------------------------------------------------------------------- */

static unsigned nb_errors; /* number of send calls that still have to fail */
static int error_number;   /* errno of the send calls that fail */
/* whether only send calls with a message of several datagrams fail */
static bool is_only_of_segment;

ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
int __real_sendmmsg(int fd, struct mmsghdr *msg, unsigned nb, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *msg, unsigned nb, int flags);

static bool
has_segment(const struct msghdr *msg)
{
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg;
	     cmsg = CMSG_NXTHDR((struct msghdr *)(uintptr_t)msg, cmsg)) {
		if (cmsg->cmsg_level == IPPROTO_UDP && cmsg->cmsg_type == UDP_SEGMENT)
			return true;
	}
	return false;
}

static bool
must_fail(const struct msghdr *msg)
{
	if (nb_errors == 0 || (is_only_of_segment && !has_segment(msg)))
		return false;
	nb_errors--;
	errno = error_number;
	return true;
}

ssize_t
__wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return must_fail(msg) ? -1 : __real_sendmsg(fd, msg, flags);
}

/*
 * Send only the first of several messages, as the kernel does if the socket becomes full after it.
 */
int
__wrap_sendmmsg(int fd, struct mmsghdr *msg, unsigned nb, int flags)
{
	(void)nb;
	return must_fail(&msg->msg_hdr) ? -1 : __real_sendmmsg(fd, msg, 1, flags);
}

static void
let_fail(unsigned nb, int error, bool is_of_segment)
{
	nb_errors = nb;
	error_number = error;
	is_only_of_segment = is_of_segment;
}

static unsigned nb_rx_errors; /* number of receive calls that still have to fail */

ssize_t __real_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);

/* Fail as the kernel does if ICMP has reported an error. Reads of the error queue do not fail. */
ssize_t
__wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	if (nb_rx_errors == 0 || (flags & MSG_ERRQUEUE))
		return __real_recvmsg(fd, msg, flags);
	nb_rx_errors--;
	errno = ECONNREFUSED;
	return -1;
}

static unsigned nb_empty; /* number of empty datagrams that were sent to the discard port */

ssize_t __real_sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to,
		      socklen_t to_len);
ssize_t __wrap_sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to,
		      socklen_t to_len);

ssize_t
__wrap_sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to,
	      socklen_t to_len)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)to;

	nb_empty += len == 0 && to->sa_family == AF_INET && ntohs(sin->sin_port) == 9;
	return __real_sendto(fd, data, len, flags, to, to_len);
}

/* --- tests ------------------------------------------------------------------------------------- */

static void
udp_port__data_and_messages_over_ipv4(void **state)
{
	struct ibv_wc wc;

	(void)state;
	udp_write_and_read();
	rig_post_recv(udp_to, 7, 0, 100);
	rig_post_send(udp_from, IBV_WR_SEND, 3, 200, 99, NULL, 0);
	wc = rig_await(&udp_to->rcq, dev_a, dev_b);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, 99);
	rig_check(udp_to, 0, udp_from, 200, 99);
	assert_int_equal(udp_bad_icrcs(dev_a) + udp_bad_icrcs(dev_b), 0);
}

static void
udp_port__data_over_ipv6(void **state)
{
	(void)state;
	if (!udp_has_namespace) {
		print_message("no network namespace, so there are not two addresses of IPv6\n");
		skip();
	}
	snprintf(udp_addr_a, sizeof(udp_addr_a), "2001:db8::1");
	snprintf(udp_addr_b, sizeof(udp_addr_b), "2001:db8::2");
	udp_open_pair("", IBV_QPT_RC);
	udp_write_and_read();
	assert_int_equal(udp_bad_icrcs(dev_a) + udp_bad_icrcs(dev_b), 0);
}

static void
udp_port__a_message_has_many_datagrams(void **state)
{
	struct uroce_udp_stats *stats = &udp_queue_of(dev_a)->stats;
	uint64_t nb_messages;

	(void)state;
	if (!udp_queue_of(dev_a)->tx.has_segment)
		skip();
	nb_messages = atomic_load(&stats->tx_messages);
	rig_post_send(udp_from, IBV_WR_RDMA_WRITE, 1, 0, RIG_BUF_LEN, udp_to, 0);
	assert_int_equal(rig_await(&udp_from->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
	/* The WRITE has 16 datagrams of 4 KiB. All datagrams of a burst are one message. */
	assert_in_range(atomic_load(&stats->tx_messages) - nb_messages, 1, 8);
	assert_int_equal(atomic_load(&stats->tx_lost), 0);
}

static void
udp_port__single_datagrams_without_udp_segment(void **state)
{
	(void)state;
	udp_queue_of(dev_a)->tx.has_segment = false;
	udp_queue_of(dev_b)->tx.has_segment = false;
	udp_write_and_read();
	assert_int_equal(udp_bad_icrcs(dev_a) + udp_bad_icrcs(dev_b), 0);
}

static void
udp_port__small_path_mtu(void **state)
{
	(void)state;
	udp_choose_ipv4();
	udp_open_pair(",mtu=256", IBV_QPT_RC);
	udp_write_and_read();
	assert_int_equal(udp_bad_icrcs(dev_a) + udp_bad_icrcs(dev_b), 0);
}

/*
 * Let both ports accept only frames with the expected identification of IPv4. Normally the port
 * `udp` accepts any identification for which the ICRC is valid, which could hide a mistake in the
 * ICRC.
 */
static void
expect_idents(void)
{
	static struct uroce_port_policy strict;

	strict = *dev_a->port->policy;
	strict.is_ident_unknown = false;
	dev_a->port->policy = dev_b->port->policy = &strict;
}

/* If a socket is full, the frames must stay pending, with valid ICRCs. */
static void
udp_port__a_full_socket_keeps_the_frames(void **state)
{
	(void)state;
	expect_idents();
	let_fail(7, EAGAIN, false);
	udp_write_and_read();
	assert_int_equal(nb_errors, 0);
	let_fail(7, ENOBUFS, true);
	udp_write_and_read();
	assert_int_equal(nb_errors, 0);
	assert_int_equal(udp_bad_icrcs(dev_a) + udp_bad_icrcs(dev_b), 0);
	assert_int_equal(atomic_load(&udp_queue_of(dev_a)->stats.tx_lost), 0);
}

/*
 * If the kernel refuses a message of several datagrams, the port must send the frames as single
 * datagrams.
 */
static void
udp_port__a_refused_message_leaves_as_datagrams(void **state)
{
	(void)state;
	if (!udp_queue_of(dev_a)->tx.has_segment)
		skip();
	expect_idents();
	let_fail(2, EIO, true); /* the port repeats each failed call once */
	udp_write_and_read();
	assert_int_equal(nb_errors, 0);
	assert_false(udp_queue_of(dev_a)->tx.has_segment && udp_queue_of(dev_b)->tx.has_segment);
	assert_int_equal(atomic_load(&udp_queue_of(dev_a)->stats.tx_lost), 0);
	assert_int_equal(udp_bad_icrcs(dev_a) + udp_bad_icrcs(dev_b), 0);
}

static uint64_t
nb_discarded(void)
{
	return uroce_worker_counted(dev_a->worker[0], UROCE_COUNTER_PORT_XMIT_DISCARDS) +
	       uroce_worker_counted(dev_b->worker[0], UROCE_COUNTER_PORT_XMIT_DISCARDS);
}

/*
 * A send call that fails for another reason loses the datagram, as a network may do. The error must
 * not stop the port.
 */
static void
udp_port__a_refused_datagram_is_lost(void **state)
{
	const bool has_segment_before = udp_queue_of(dev_a)->tx.has_segment;

	(void)state;
	let_fail(6, EPERM, false); /* the port repeats each failed call once */
	udp_write_and_read();
	assert_int_equal(nb_errors, 0);
	/* after an error of the path, the port must still send messages of several datagrams */
	let_fail(4, EINVAL, false);
	udp_write_and_read();
	assert_int_equal(nb_errors, 0);
	assert_int_equal(udp_queue_of(dev_a)->tx.has_segment, has_segment_before);
	assert_true(nb_discarded() >= 3);
	assert_int_equal(atomic_load(&udp_queue_of(dev_a)->stats.tx_lost) +
				 atomic_load(&udp_queue_of(dev_b)->stats.tx_lost),
			 nb_discarded());
}

/*
 * The kernel reports an ICMP error in a later send call. The port must not lose the datagram of
 * this call.
 */
static void
udp_port__an_earlier_error_loses_nothing(void **state)
{
	(void)state;
	let_fail(1, ECONNREFUSED, false);
	udp_write_and_read();
	assert_int_equal(nb_errors, 0);
	assert_int_equal(atomic_load(&udp_queue_of(dev_a)->stats.tx_lost), 0);
	assert_int_equal(atomic_load(&udp_queue_of(dev_b)->stats.tx_lost), 0);
}

/* A burst that begins with the error of an earlier datagram must have the frames that wait. */
static void
udp_port__an_earlier_error_hides_no_datagram(void **state)
{
	struct rte_mbuf *frame;

	(void)state;
	rig_post_send(udp_from, IBV_WR_RDMA_WRITE, 1, 0, 100, udp_to, 0);
	rig_drive(dev_a);
	nb_rx_errors = 1;
	assert_int_equal(uroce_udp_port_rx(dev_b->port, 0, &frame, 1), 1);
	assert_int_equal(nb_rx_errors, 0);
	assert_true(udp_queue_of(dev_b)->errors.are_waiting);
	rte_pktmbuf_free(frame);
}

/* ICMP reports, which anybody can forge, must not make the port send single datagrams. */
static void
udp_port__reports_of_the_network_do_not_stop_long_messages(void **state)
{
	static const int errors[] = { EMSGSIZE, EOPNOTSUPP, ECONNREFUSED };

	(void)state;
	if (!udp_queue_of(dev_a)->tx.has_segment)
		skip();
	for (unsigned i = 0; i < RTE_DIM(errors); i++) {
		let_fail(2, errors[i], true); /* the port repeats each failed call once */
		udp_write_and_read();
		assert_int_equal(nb_errors, 0);
	}
	assert_true(udp_queue_of(dev_a)->tx.has_segment && udp_queue_of(dev_b)->tx.has_segment);
}

/*
 * The peer has no socket at the UDP port, so its kernel responds by ICMP. The port `udp` must count
 * and log the error.
 */
static void
udp_port__a_host_without_the_port_is_reported(void **state)
{
	const struct uroce_udp_queue *queue = udp_queue_of(dev_a);
	const time_t end = time(NULL) + 60;

	(void)state;
	uroce_udp_socket_close(&udp_queue_of(dev_b)->socket[0]);
	rig_post_send(udp_from, IBV_WR_RDMA_WRITE, 1, 0, 100, udp_to, 0);
	while (atomic_load(&queue->stats.icmp_errors) == 0 && time(NULL) < end)
		rig_drive(dev_a);
	assert_true(atomic_load(&queue->stats.icmp_errors) > 0);
	assert_int_equal(queue->errors.logged[0].error, ECONNREFUSED);
	assert_memory_equal(queue->errors.logged[0].ip, dev_b->gids->addr[0].ip, 16);
	assert_int_equal(queue->errors.logged[1].error, 0);
	assert_int_equal(atomic_load(&queue->stats.tx_lost), 0);
}

/* Datagrams of many senders must arrive in the queues of several workers. */
static void
udp_port__several_workers_share_an_address(void **state)
{
	struct sockaddr_in to_addr;
	unsigned nb_used = 0, nb_messages = 0;

	(void)state;
	udp_choose_ipv4();
	udp_open_pair(",workers=3", IBV_QPT_RC);
	for (unsigned i = 0; i < 64; i++) {
		const int fd = udp_open_sender(&to_addr);

		assert_int_equal(sendto(fd, "12345678", 8, 0, (const struct sockaddr *)&to_addr,
					sizeof(to_addr)),
				 8);
		close(fd);
		rig_drive(dev_b);
	}
	for (unsigned i = 0; i < 3; i++) {
		const unsigned nb =
			(unsigned)atomic_load(&dev_b->port->udp->queue[i]->stats.rx_messages);

		nb_used += nb > 0;
		nb_messages += nb;
	}
	assert_int_equal(nb_messages, 64);
	assert_in_range(nb_used, 2, 3);
	udp_write_and_read();
}

/*
 * The port must receive a datagram of a peer in one burst, although empty datagrams are before it.
 */
static void
udp_port__empty_datagrams_do_not_delay_others(void **state)
{
	struct sockaddr_in to_addr;
	const int fd = udp_open_sender(&to_addr);
	const struct uroce_udp_stats *stats = &udp_queue_of(dev_b)->stats;
	struct rte_mbuf *frames[UROCE_BURST];

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(sendto(fd, "12345678", i == 19 ? 8 : 0, 0,
					(const struct sockaddr *)&to_addr, sizeof(to_addr)),
				 i == 19 ? 8 : 0);
	close(fd);
	assert_int_equal(uroce_udp_port_rx(dev_b->port, 0, frames, UROCE_BURST), 1);
	assert_int_equal(frames[0]->pkt_len, UROCE_UDP_HDR_IPV4 + 8);
	rte_pktmbuf_free(frames[0]);
	assert_int_equal(atomic_load(&stats->rx_messages), 20);
	udp_write_and_read();
}

/*
 * Datagrams of all lengths from a program that is no peer, sent one by one and as messages of
 * several datagrams. The port must only count them.
 */
static void
udp_port__foreign_datagrams_are_dropped(void **state)
{
	static const uint16_t lens[] = { 0,   1,   3,    4,    11,   12,    15,   16,
					 100, 999, 4096, 4177, 9000, 40000, 65507 };
	static const int segments[] = { 0, 1, 16, 100, 1040, 1472 };
	static uint8_t noise[65536];
	struct sockaddr_in to_addr;
	const int fd = udp_open_sender(&to_addr);

	(void)state;
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)(i * 31 + (i >> 8));
	for (size_t i = 0; i < sizeof(segments) / sizeof(segments[0]); i++) {
		if (setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segments[i], sizeof(segments[i])) < 0)
			continue;
		for (size_t j = 0; j < sizeof(lens) / sizeof(lens[0]); j++) {
			/* the kernel refuses a message of too many or too long datagrams */
			(void)sendto(fd, noise, lens[j], 0, (const struct sockaddr *)&to_addr,
				     sizeof(to_addr));
			rig_drive(dev_b);
		}
	}
	close(fd);
	udp_write_and_read();
	assert_true(atomic_load(&udp_queue_of(dev_b)->stats.rx_too_long) > 0);
}

/*
 * Take all mbufs of the mempool of a device, and leave one mbuf to its port.
 * @return number of mbufs that were taken
 */
static unsigned
take_mbufs(const struct uroce_dev *dev, struct rte_mbuf **mbufs, unsigned max)
{
	struct uroce_udp_rx *rx = &udp_queue_of(dev)->rx;
	unsigned nb = 0;

	rig_drive(dev_b); /* let the port take mbufs for reception */
	while (rx->nb_spare > 1)
		rte_pktmbuf_free(rx->spare[--rx->nb_spare]);
	while (nb < max && (mbufs[nb] = rte_pktmbuf_alloc(dev->port->pool[0])))
		nb++;
	return nb;
}

/*
 * A port with two sockets has only one mbuf when a datagram arrives at each socket. The second
 * datagram must wait.
 */
static void
udp_port__sockets_wait_for_mbufs(void **state)
{
	static struct rte_mbuf *mbufs[16384];
	struct sockaddr_in to_addr;
	unsigned nb;
	int fd;

	(void)state;
	udp_open_two_sockets();
	fd = udp_open_sender(&to_addr);
	nb = take_mbufs(dev_b, mbufs, 16384);
	assert_in_range(nb, 1, 16383);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(
			sendto(fd, "12345678", 8, 0, (struct sockaddr *)&to_addr, sizeof(to_addr)),
			8);
		to_addr.sin_addr.s_addr += htonl(1);
	}
	close(fd);
	rig_drive(dev_b);
	rig_drive(dev_b);
	assert_int_equal(atomic_load(&udp_queue_of(dev_b)->stats.rx_messages), 1);
	assert_true(atomic_load(&udp_queue_of(dev_b)->stats.no_mbuf) > 0);
	rte_pktmbuf_free_bulk(mbufs, nb);
	udp_write_and_read();
}

/* The socket of the peer disappears and comes back. Only the frames in between may be lost. */
static void
udp_port__a_peer_without_socket_does_not_stop_the_port(void **state)
{
	struct uroce_udp_socket *sock = &udp_queue_of(dev_b)->socket[0];
	const struct uroce_udp_socket_conf conf = { .ip = udp_to->dev->gids->addr[0].ip,
						    .if_index = sock->if_index };
	struct rig_qp *qp;

	(void)state;
	uroce_udp_socket_close(sock);
	rig_post_send(udp_from, IBV_WR_RDMA_WRITE, 1, 0, RIG_BUF_LEN, udp_to, 0);
	for (unsigned i = 0; i < 1000; i++)
		rig_drive(dev_a);
	assert_int_equal(uroce_udp_socket_open(sock, &conf), 0);
	assert_int_equal(rig_await(&udp_from->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
	qp = udp_from;
	rig_check(udp_to, 0, qp, 0, RIG_BUF_LEN);
}

static int
refusal(const char *spec)
{
	struct uroce_dev_conf conf;
	struct uroce_dev *dev = NULL;
	int ret = uroce_dev_conf_parse(spec, &conf);

	if (ret == 0)
		ret = uroce_dev_create(&conf, &dev);
	assert_null(dev);
	return ret;
}

static void
udp_port__refusals(void **state)
{
	char spec[80];

	(void)state;
	snprintf(spec, sizeof(spec), "udp,addr=%s", udp_addr_a);
	assert_int_equal(refusal(spec), -EADDRINUSE);
	assert_int_equal(refusal("udp,addr=192.0.2.77"), -ENODEV);
	assert_int_equal(refusal("udp,iface=uroce-none"), -ENODEV);
	assert_int_equal(refusal("udp,addr=127.0.0.9,iface=lo"), -EINVAL);
	assert_int_equal(refusal("udp,addr=127.0.0.9,gw=127.0.0.8"), -EINVAL);
	assert_int_equal(refusal("udp,addr=127.0.0.9,vlan=5"), -EINVAL);
	assert_int_equal(refusal("udp,addr=0.0.0.1"), -EINVAL);
	assert_int_equal(refusal("net_ring_x,iface=lo,addr=192.0.2.1/24"), -EINVAL);
	assert_int_equal(refusal("net_ring_x,addr=192.0.2.1"), -EINVAL);
	assert_int_equal(refusal("net_ring_x,addr=127.0.0.1/8"), -EINVAL);
}

/* Check the number of IPv4 and of IPv6 addresses of a device. */
static void
expect_gids(const char *spec, unsigned nb_ipv4, unsigned nb_ipv6)
{
	struct uroce_dev *dev = rig_dev(spec);
	const struct uroce_gid_table *gids = atomic_load(&dev->gids);
	unsigned nb[2] = { 0 };

	for (unsigned i = 0; i < gids->nb; i++)
		nb[uroce_ip_is_v4(gids->addr[i].ip)]++;
	assert_int_equal(nb[1], nb_ipv4);
	assert_int_equal(nb[0], nb_ipv6);
	assert_true(uroce_dev_is_link_up(dev));
	assert_int_equal(uroce_dev_destroy(dev), 0);
}

static void
udp_port__addresses_of_the_interfaces(void **state)
{
	(void)state;
	if (!udp_has_namespace)
		skip(); /* the test does not know the addresses of the host */
	expect_gids("udp,drive=none,iface=lo", 1, 3);
	expect_gids("udp,drive=none", 1, 3);
	expect_gids("udp,drive=none,addr=127.0.0.1", 1, 0);
}

static bool
has_gid(const struct uroce_dev *dev, const char *text)
{
	uint8_t ip[16];

	assert_int_equal(inet_pton(AF_INET6, text, ip), 1);
	return uroce_gid_find(atomic_load(&dev->gids), ip) >= 0;
}

/* When an address is added to the host, the device must get a GID for it. */
static void
udp_port__gids_follow_the_addresses(void **state)
{
	const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const time_t end = time(NULL) + 60;
	struct uroce_dev *dev;

	(void)state;
	if (!udp_has_namespace)
		skip(); /* the test must not change the addresses of the host */
	dev = rig_dev("udp,drive=none");
	assert_false(has_gid(dev, "2001:db8::3"));
	assert_int_equal(udp_add_ipv6(fd, "2001:db8::3"), 0);
	while (!has_gid(dev, "2001:db8::3") && time(NULL) < end)
		rig_drive(dev);
	assert_true(has_gid(dev, "2001:db8::3"));
	close(fd);
	assert_int_equal(uroce_dev_destroy(dev), 0);
}

static void
wait_for_link(struct uroce_dev *dev, bool is_up)
{
	const time_t end = time(NULL) + 60;

	while (uroce_dev_is_link_up(dev) != is_up && time(NULL) < end)
		rig_drive(dev);
	assert_int_equal(uroce_dev_is_link_up(dev), is_up);
}

/* The link of a device must be down while the host does not have the address of the device. */
static void
udp_port__the_link_follows_the_address(void **state)
{
	static const char *const address = "2001:db8::4";
	const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct uroce_dev *dev;

	(void)state;
	if (!udp_has_namespace)
		skip(); /* the test must not change the addresses of the host */
	assert_int_equal(udp_add_ipv6(fd, address), 0);
	dev = udp_open_dev(address, "none", "");
	wait_for_link(dev, true);
	assert_int_equal(udp_change_ipv6(fd, address, SIOCDIFADDR), 0);
	wait_for_link(dev, false);
	assert_int_equal(udp_add_ipv6(fd, address), 0);
	wait_for_link(dev, true);
	close(fd);
	assert_int_equal(uroce_dev_destroy(dev), 0);
}

/*
 * Wait until the service thread of dev_b is in a sleep without a time limit. The test fails after a
 * minute.
 */
static void
wait_for_sleep(void)
{
	const struct uroce_service_stats *stats = uroce_service_stats(dev_b->service);
	const uint64_t nb_sleeps = atomic_load(&stats->sleeps);
	const time_t end = time(NULL) + 60;

	while (!atomic_load(&dev_b->worker[0]->is_unattended) ||
	       atomic_load(&stats->sleeps) == nb_sleeps) {
		assert_true(time(NULL) < end);
		sched_yield();
	}
}

static void
udp_port__datagrams_wake_who_sleeps(void **state)
{
	const struct uroce_service_stats *stats;
	const uint8_t timeout = rig_timeout;
	uint64_t nb_wakeups;

	(void)state;
	udp_choose_ipv4();
	/* the scheduler may delay the service thread, which responds */
	rig_timeout = RIG_TIMEOUT_LONG;
	udp_open_driven_pair("app", "", IBV_QPT_RC);
	rig_timeout = timeout;
	uroce_worker_leave(dev_b->worker[0]);
	stats = uroce_service_stats(dev_b->service);
	wait_for_sleep();
	nb_wakeups = atomic_load(&stats->rx_wakeups);
	for (unsigned i = 0; i < 10; i++) {
		rig_post_send(udp_from, IBV_WR_RDMA_WRITE, i, 0, 100, udp_to, 0);
		assert_int_equal(rig_await(&udp_from->scq, dev_a, dev_a).status, IBV_WC_SUCCESS);
		wait_for_sleep();
	}
	/* A datagram may arrive while the thread is awake to check the link, but not each time. */
	assert_true(atomic_load(&stats->rx_wakeups) - nb_wakeups >= 5);
}

/* A path to a host for which the kernel has no route must be refused at once. */
/* When a path is resolved, a datagram must leave that makes the kernel resolve the next hop. */
static void
udp_port__a_path_makes_the_kernel_resolve_the_next_hop(void **state)
{
	struct ibv_ah_attr av = { .is_global = 1, .port_num = 1 };
	struct uroce_path path;
	const unsigned nb_before = nb_empty;

	(void)state;
	memcpy(av.grh.dgid.raw, dev_b->gids->addr[0].ip, sizeof(av.grh.dgid.raw));
	assert_int_equal(uroce_dev_resolve(dev_a, &av, 0xc000, &path), 0);
	assert_int_equal(nb_empty - nb_before, 1);
}

static void
udp_port__a_missing_route_is_an_error(void **state)
{
	struct ibv_ah_attr av = { .is_global = 1, .port_num = 1 };
	struct uroce_path path;
	static const uint8_t far_away[16] = { [10] = 0xff, 0xff, 192, 0, 2, 77 };

	(void)state;
	if (!udp_has_namespace)
		skip(); /* the host may have a route to this address */
	memcpy(av.grh.dgid.raw, far_away, sizeof(far_away));
	assert_int_equal(uroce_dev_resolve(dev_a, &av, 0xc000, &path), -ENETUNREACH);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(udp_port__data_and_messages_over_ipv4,
						udp_setup_ipv4, udp_teardown),
		cmocka_unit_test_teardown(udp_port__data_over_ipv6, udp_teardown),
		cmocka_unit_test_setup_teardown(udp_port__a_message_has_many_datagrams,
						udp_setup_ipv4, udp_teardown),
		cmocka_unit_test_setup_teardown(udp_port__single_datagrams_without_udp_segment,
						udp_setup_ipv4, udp_teardown),
		cmocka_unit_test_setup_teardown(udp_port__a_full_socket_keeps_the_frames,
						udp_setup_ipv4, udp_teardown),
		cmocka_unit_test_setup_teardown(udp_port__a_refused_message_leaves_as_datagrams,
						udp_setup_ipv4, udp_teardown),
		cmocka_unit_test_setup_teardown(udp_port__a_refused_datagram_is_lost,
						udp_setup_ipv4, udp_teardown),
		cmocka_unit_test_setup_teardown(udp_port__an_earlier_error_loses_nothing,
						udp_setup_ipv4, udp_teardown),
		cmocka_unit_test_setup_teardown(udp_port__an_earlier_error_hides_no_datagram,
						udp_setup_ipv4, udp_teardown),
		cmocka_unit_test_setup_teardown(
			udp_port__reports_of_the_network_do_not_stop_long_messages, udp_setup_ipv4,
			udp_teardown),
		cmocka_unit_test_setup_teardown(udp_port__a_host_without_the_port_is_reported,
						udp_setup_ipv4, udp_teardown),
		cmocka_unit_test_teardown(udp_port__small_path_mtu, udp_teardown),
		cmocka_unit_test_teardown(udp_port__several_workers_share_an_address, udp_teardown),
		cmocka_unit_test_teardown(udp_port__sockets_wait_for_mbufs, udp_teardown),
		cmocka_unit_test_setup_teardown(udp_port__empty_datagrams_do_not_delay_others,
						udp_setup_ipv4, udp_teardown),
		cmocka_unit_test_setup_teardown(udp_port__foreign_datagrams_are_dropped,
						udp_setup_ipv4, udp_teardown),
		cmocka_unit_test_setup_teardown(
			udp_port__a_peer_without_socket_does_not_stop_the_port, udp_setup_ipv4,
			udp_teardown),
		cmocka_unit_test_setup_teardown(udp_port__refusals, udp_setup_ipv4, udp_teardown),
		cmocka_unit_test(udp_port__addresses_of_the_interfaces),
		cmocka_unit_test(udp_port__gids_follow_the_addresses),
		cmocka_unit_test(udp_port__the_link_follows_the_address),
		cmocka_unit_test_teardown(udp_port__datagrams_wake_who_sleeps, udp_teardown),
		cmocka_unit_test_setup_teardown(
			udp_port__a_path_makes_the_kernel_resolve_the_next_hop, udp_setup_ipv4,
			udp_teardown),
		cmocka_unit_test_setup_teardown(udp_port__a_missing_route_is_an_error,
						udp_setup_ipv4, udp_teardown),
	};

	udp_has_namespace = udp_make_namespace();
	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
