/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The port `udp` and fork(): a child that executes no other program does not keep the sockets of its
 * parent, and the parent's sockets go on.
 */

#include "rig.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "datapath/udp/udp_counter.h"
#include "datapath/udp/udp_port.h"

#define WAIT_MS 300000

/* address of the device; it depends on the process ID, so that no other test uses it */
static struct sockaddr_in addr;
static struct uroce_dev *dev;
static pid_t child;
static int child_pipe; /* the child ends when this end of the pipe is closed */

static int
bind_address(void)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int ret;

	assert_true(fd >= 0);
	ret = bind(fd, (const struct sockaddr *)&addr, sizeof(addr));
	close(fd);
	return ret;
}

/* Start a child of this process, which waits until the end of the test. */
static void
start_child(void)
{
	int ends[2];
	char byte;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(ends[0]);
	child_pipe = ends[1];
}

static int
setup(void **state)
{
	const unsigned pid = (unsigned)getpid();
	char text[INET_ADDRSTRLEN], spec[80];

	(void)state;
	snprintf(text, sizeof(text), "127.%u.%u.6", 16 + (pid >> 8 & 0x7f), pid & 0xff);
	addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(4791) };
	assert_int_equal(inet_pton(AF_INET, text, &addr.sin_addr), 1);
	snprintf(spec, sizeof(spec), "udp,addr=%s,drive=none,workers=2", text);
	dev = rig_dev(spec);
	start_child();
	return 0;
}

static int
teardown(void **state)
{
	int status = -1;

	(void)state;
	close(child_pipe);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return dev ? uroce_dev_destroy(dev) : 0;
}

/* The address must be free when the parent has destroyed its device, although the child lives. */
static void
udp_fork__a_child_keeps_no_address(void **state)
{
	const uint64_t end_s = (uint64_t)time(NULL) + WAIT_MS / 1000;

	(void)state;
	assert_int_equal(bind_address(), -1);
	assert_int_equal(uroce_dev_destroy(dev), 0);
	dev = NULL;
	/* the child closes its copies when it runs for the first time */
	while (bind_address() < 0)
		assert_true((uint64_t)time(NULL) < end_s);
}

/* The parent must receive datagrams, and be woken by them, after the child has closed its copies. */
static void
udp_fork__the_sockets_of_the_parent_go_on(void **state)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t nb[UROCE_UDP_COUNTER_NB];
	struct pollfd fds[2];

	(void)state;
	for (uint16_t i = 0; i < 2; i++)
		fds[i] = (struct pollfd){ .fd = uroce_udp_port_wakeup_fd(dev->port->udp, i),
					  .events = POLLIN };
	assert_int_equal(poll(fds, 2, 0), 0);
	assert_int_equal(sendto(fd, "12345678", 8, 0, (const struct sockaddr *)&addr, sizeof(addr)),
			 8);
	close(fd);
	assert_int_equal(poll(fds, 2, WAIT_MS), 1);
	rig_drive(dev);
	uroce_udp_counters_read(dev, nb);
	assert_int_equal(nb[UROCE_UDP_COUNTER_RX_MESSAGES], 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(udp_fork__a_child_keeps_no_address, setup,
						teardown),
		cmocka_unit_test_setup_teardown(udp_fork__the_sockets_of_the_parent_go_on, setup,
						teardown),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
