/* SPDX-License-Identifier: BSD-3-Clause */

#include "udp_pair.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "datapath/port/port.h"
#include "datapath/udp/udp_port.h"
#include "datapath/worker/round.h"

bool udp_has_namespace;
char udp_addr_a[INET6_ADDRSTRLEN], udp_addr_b[INET6_ADDRSTRLEN];
struct rig_qp *udp_from, *udp_to;

/* --- the network namespace --------------------------------------------------------------------- */

/* A copy of struct in6_ifreq, because its header linux/ipv6.h conflicts with netinet/in.h. */
struct ifreq_ipv6 {
	struct in6_addr addr;
	uint32_t prefix_len;
	int if_index;
};

/*
 * Add an address to the loopback interface, or remove it.
 * @param what  SIOCSIFADDR to add, SIOCDIFADDR to remove
 */
int
udp_change_ipv6(int fd, const char *text, unsigned long what)
{
	struct ifreq_ipv6 req = { .prefix_len = 128, .if_index = (int)if_nametoindex("lo") };

	return inet_pton(AF_INET6, text, &req.addr) == 1 ? ioctl(fd, what, &req) : -1;
}

/*
 * Wait until sockets can bind to a new address. The kernel checks a new address in the background.
 */
static int
wait_until_usable(const char *text)
{
	struct sockaddr_in6 addr = { .sin6_family = AF_INET6 };
	const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const time_t end = time(NULL) + 60;
	int ret = -1;

	(void)inet_pton(AF_INET6, text, &addr.sin6_addr);
	while (ret < 0 && time(NULL) < end) {
		ret = bind(fd, (const struct sockaddr *)&addr, sizeof(addr));
		sched_yield();
	}
	close(fd);
	return ret;
}

int
udp_add_ipv6(int fd, const char *text)
{
	return udp_change_ipv6(fd, text, SIOCSIFADDR) < 0 ? -1 : wait_until_usable(text);
}

/* Make a network namespace whose loopback interface is up and has two additional IPv6 addresses. */
bool
udp_make_namespace(void)
{
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_LOOPBACK };
	int fd;
	bool is_made;

	if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	is_made = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &req) == 0 &&
		  udp_add_ipv6(fd, "2001:db8::1") == 0 && udp_add_ipv6(fd, "2001:db8::2") == 0;
	if (fd >= 0)
		close(fd);
	return is_made;
}

/* --- devices ----------------------------------------------------------------------------------- */

struct uroce_dev *
udp_open_dev(const char *addr, const char *drive, const char *more)
{
	char spec[160];

	snprintf(spec, sizeof(spec), "udp,addr=%s,drive=%s%s", addr, drive, more);
	return rig_dev(spec);
}

void
udp_connect_pair(enum ibv_qp_type type)
{
	udp_from = rig_qp(dev_a, 0, type);
	udp_to = rig_qp(dev_b, 0, type);
	rig_connect(udp_from, udp_to, 0);
	rig_connect(udp_to, udp_from, 0);
	rig_fill(udp_from, 3);
}

/*
 * Open two devices, and create a QP on each.
 * @param drive  value of the key `drive` of dev_b; the test drives dev_a
 */
void
udp_open_driven_pair(const char *drive, const char *more, enum ibv_qp_type type)
{
	dev_a = udp_open_dev(udp_addr_a, "none", more);
	dev_b = udp_open_dev(udp_addr_b, drive, more);
	udp_connect_pair(type);
}

void
udp_open_pair(const char *more, enum ibv_qp_type type)
{
	udp_open_driven_pair("none", more, type);
}

void
udp_choose_ipv4(void)
{
	const unsigned pid = (unsigned)getpid();

	snprintf(udp_addr_a, sizeof(udp_addr_a), "127.%u.%u.1", 16 + (pid >> 8 & 0x7f), pid & 0xff);
	snprintf(udp_addr_b, sizeof(udp_addr_b), "127.%u.%u.2", 16 + (pid >> 8 & 0x7f), pid & 0xff);
}

int
udp_setup_ipv4(void **state)
{
	(void)state;
	udp_choose_ipv4();
	udp_open_pair("", IBV_QPT_RC);
	return 0;
}

int
udp_teardown(void **state)
{
	if (!dev_a)
		return 0;
	rig_qp_free(udp_from);
	rig_qp_free(udp_to);
	assert_int_equal(rig_teardown(state), 0);
	dev_a = dev_b = NULL;
	return 0;
}

int
udp_open_sender(struct sockaddr_in *to_addr)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	*to_addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(4791) };
	assert_int_equal(inet_pton(AF_INET, udp_addr_b, &to_addr->sin_addr), 1);
	return fd;
}

void
udp_open_two_sockets(void)
{
	char more[32];

	udp_choose_ipv4();
	dev_a = udp_open_dev(udp_addr_a, "none", "");
	snprintf(more, sizeof(more), ",addr=%.*s3", (int)strlen(udp_addr_b) - 1, udp_addr_b);
	dev_b = udp_open_dev(udp_addr_b, "none", more);
	udp_connect_pair(IBV_QPT_RC);
}

struct uroce_udp_queue *
udp_queue_of(const struct uroce_dev *dev)
{
	return dev->port->udp->queue[0];
}

uint64_t
udp_bad_icrcs(const struct uroce_dev *dev)
{
	return dev->worker[0]->stats.verdict[UROCE_VERDICT_BAD_ICRC];
}

/* Write 64 KiB, and read them back to another offset of the buffer. */
void
udp_write_and_read(void)
{
	struct ibv_wc wc;

	memset(udp_to->buf, 0, RIG_BUF_LEN);
	rig_fill(udp_from, 5);
	rig_post_send(udp_from, IBV_WR_RDMA_WRITE, 1, 0, RIG_BUF_LEN, udp_to, 0);
	wc = rig_await(&udp_from->scq, dev_a, dev_b);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	rig_check(udp_to, 0, udp_from, 0, RIG_BUF_LEN);
	memset(udp_from->buf, 0, RIG_BUF_LEN);
	rig_post_send(udp_from, IBV_WR_RDMA_READ, 2, 0, RIG_BUF_LEN - 3, udp_to, 3);
	wc = rig_await(&udp_from->scq, dev_a, dev_b);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	rig_check(udp_from, 0, udp_to, 3, RIG_BUF_LEN - 3);
}
