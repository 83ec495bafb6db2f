/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The listening sockets of memif servers. The test has sockets that act as clients. These clients
 * leave at moments at which the driver of DPDK alone would end the process.
 */

#include "datapath/dpdk.h"
#include "rig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <rte_dev.h>
#include <rte_eal.h>

#include "datapath/intr_call.h"
#include "datapath/port/port.h"

#define TIMEOUT_S   300 /* time limit in seconds, which only a hang exceeds */
#define MESSAGE_LEN 128 /* length of each message of memif */

/* Create a memif port whose socket has the name of the test. */
static void
plug(const char *port, const char *role, const char *test)
{
	char args[96];

	snprintf(args, sizeof(args), "role=%s,socket=uroce-test-memif-%s", role, test);
	assert_int_equal(rte_eal_hotplug_add("vdev", port, args), 0);
}

/*
 * Connect to the server of a test.
 * @return the socket, on which a receive call takes at most TIMEOUT_S; or -errno
 */
static int
connect_to(const char *test)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	const struct timeval limit = { .tv_sec = TIMEOUT_S };
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	const int len =
		snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "uroce-test-memif-%s", test);
	const socklen_t un_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	const int ret = connect(fd, (struct sockaddr *)&un, un_len) == 0 ? fd : -errno;

	if (ret < 0)
		close(fd);
	return ret;
}

static void
await_link(struct uroce_dev *dev)
{
	const time_t begin = time(NULL);

	while (!uroce_dev_is_link_up(dev) && time(NULL) < begin + TIMEOUT_S)
		usleep(1000);
	assert_true(uroce_dev_is_link_up(dev));
}

/* A client port connects to the server of a device. The link of both must come up. */
static void
expect_link(struct uroce_dev *server, const char *port, const char *test)
{
	char spec[64];
	struct uroce_dev *client;

	plug(port, "client", test);
	snprintf(spec, sizeof(spec), "%s,addr=192.0.2.2/24", port);
	client = rig_dev(spec);
	await_link(client);
	await_link(server);
	assert_int_equal(uroce_dev_destroy(client), 0);
	assert_int_equal(rte_eal_hotplug_remove("vdev", port), 0);
}

/*
 * Connect to the server and leave. The call runs in the interrupt thread, so the server cannot
 * greet the client in between.
 */
static void
connect_and_leave(void *arg)
{
	int *fd = arg;

	*fd = connect_to("early");
	close(*fd);
}

static void
memif_server__survives_clients_that_leave_before_the_greeting(void **state)
{
	struct uroce_dev *dev;
	int fd;

	(void)state;
	plug("net_memif0", "server", "early");
	dev = rig_dev("net_memif0,addr=192.0.2.1/24");
	for (int i = 0; i < 3; i++) {
		uroce_intr_call_run(connect_and_leave, &fd);
		assert_true(fd >= 0);
		uroce_intr_call_synchronize();
	}
	expect_link(dev, "net_memif1", "early");
	assert_int_equal(uroce_dev_destroy(dev), 0);
}

static void
memif_server__refuses_clients_while_it_has_no_device(void **state)
{
	struct uroce_dev *dev;

	(void)state;
	plug("net_memif2", "server", "closed");
	for (int i = 0; i < 2; i++) {
		dev = rig_dev("net_memif2,addr=192.0.2.1/24");
		expect_link(dev, "net_memif3", "closed");
		assert_int_equal(uroce_dev_destroy(dev), 0);
		assert_int_equal(connect_to("closed"), -ECONNREFUSED);
	}
}

static void
memif_server__listens_while_another_of_its_path_has_a_device(void **state)
{
	struct uroce_dev *dev[2];

	(void)state;
	plug("net_memif5", "server,id=0", "two");
	plug("net_memif6", "server,id=1", "two");
	dev[0] = rig_dev("net_memif5,addr=192.0.2.1/24");
	dev[1] = rig_dev("net_memif6,addr=192.0.2.3/24");
	assert_int_equal(uroce_dev_destroy(dev[1]), 0);
	expect_link(dev[0], "net_memif7", "two");
	assert_int_equal(uroce_dev_destroy(dev[0]), 0);
	assert_int_equal(connect_to("two"), -ECONNREFUSED);
}

static void
memif_server__is_unplugged_and_plugged_again(void **state)
{
	struct uroce_dev *dev;

	(void)state;
	for (int i = 0; i < 2; i++) {
		plug("net_memif8", "server", "unplugged");
		dev = rig_dev("net_memif8,addr=192.0.2.1/24");
		expect_link(dev, "net_memif9", "unplugged");
		assert_int_equal(uroce_dev_destroy(dev), 0);
		assert_int_equal(rte_eal_hotplug_remove("vdev", "net_memif8"), 0);
	}
}

/*
 * The interrupt thread of EAL still runs after rte_eal_cleanup(), which unmaps the memory of the
 * sockets of memif. So no socket may remain that causes an event in this thread. The test must be
 * the last one of the group, because EAL cannot start again.
 */
static void
memif_server__has_no_socket_after_the_cleanup_of_eal(void **state)
{
	char message[MESSAGE_LEN];
	int fd;

	(void)state;
	plug("net_memif10", "server", "cleanup");
	struct uroce_dev *dev = rig_dev("net_memif10,addr=192.0.2.1/24");

	fd = connect_to("cleanup");
	assert_true(fd >= 0);
	assert_int_equal(recv(fd, message, sizeof(message), 0), sizeof(message));
	assert_int_equal(uroce_dev_destroy(dev), 0);
	assert_int_equal(rte_eal_cleanup(), 0);
	assert_int_equal(recv(fd, message, sizeof(message), 0), 0);
	close(fd);
	assert_int_equal(connect_to("cleanup"), -ECONNREFUSED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memif_server__survives_clients_that_leave_before_the_greeting),
		cmocka_unit_test(memif_server__refuses_clients_while_it_has_no_device),
		cmocka_unit_test(memif_server__listens_while_another_of_its_path_has_a_device),
		cmocka_unit_test(memif_server__is_unplugged_and_plugged_again),
		cmocka_unit_test(memif_server__has_no_socket_after_the_cleanup_of_eal),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
