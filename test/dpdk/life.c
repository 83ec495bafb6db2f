/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Creation and destruction of devices. If a device cannot be created, the error number depends on
 * the reason, one line is logged, and no memory stays allocated. A destroyed device releases all
 * its memory in the heaps of EAL.
 */

#include "rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <rte_dev.h>
#include <rte_malloc.h>

#include "datapath/port/link.h"
#include "datapath/worker/round.h"

static char *text;
static size_t text_len;

/*
 * Create a device, store the log lines of the library in `text`, and destroy the device.
 * @return the result of the creation
 */
static int
create(const char *spec)
{
	struct uroce_dev_conf conf;
	struct uroce_dev *dev;
	FILE *sink;
	int ret;

	free(text);
	sink = open_memstream(&text, &text_len);
	assert_non_null(sink);
	assert_int_equal(uroce_dev_conf_parse(spec, &conf), 0);
	rte_openlog_stream(sink);
	ret = uroce_dev_create(&conf, &dev);
	rte_openlog_stream(NULL);
	fclose(sink);
	if (ret == 0)
		assert_int_equal(uroce_dev_destroy(dev), 0);
	return ret;
}

static void
expect_refusal(const char *spec, int ret, const char *reason)
{
	const char *line;

	assert_int_equal(create(spec), ret);
	line = strstr(text, "roce: ");
	assert_non_null(line);
	assert_null(strstr(line + 1, "roce: "));
	if (!strstr(line, reason))
		fail_msg("'%s' does not say '%s'", line, reason);
}

/* The number of bytes in use in the heap of EAL and in the heap of the library. */
static size_t
heap_in_use(void)
{
	const int own = rte_malloc_heap_get_socket("uroce");
	struct rte_malloc_socket_stats stats, own_stats;

	assert_true(own >= 0);
	assert_int_equal(rte_malloc_get_socket_stats(0, &stats), 0);
	assert_int_equal(rte_malloc_get_socket_stats(own, &own_stats), 0);
	return stats.heap_allocsz_bytes + own_stats.heap_allocsz_bytes;
}

static void
dev_create__no_such_port(void **state)
{
	(void)state;
	expect_refusal("net_nothing0,addr=192.0.2.1/24", -ENODEV, "EAL has");
}

static void
dev_create__no_address(void **state)
{
	(void)state;
	assert_int_equal(rte_eal_hotplug_add("vdev", "net_null0", ""), 0);
	expect_refusal("net_null0", -EINVAL, "addr=");
}

static void
dev_create__path_mtu_above_the_ports_limit(void **state)
{
	(void)state;
	assert_int_equal(
		rte_eal_hotplug_add("vdev", "net_memif1", "role=server,socket=uroce-test-life-1"),
		0);
	expect_refusal("net_memif1,addr=192.0.2.1/24,mtu=2048", -EINVAL, "mtu up to 1024");
}

static void
dev_create__more_workers_than_queues(void **state)
{
	(void)state;
	rig_wire("q", "r", 1, 0);
	expect_refusal("net_ring_q,addr=192.0.2.1/24,workers=2", -EINVAL, "up to 1");
}

static void
dev_create__more_workers_than_lcores(void **state)
{
	(void)state;
	expect_refusal("net_null0,addr=192.0.2.1/24,workers=3,drive=lcore", -EINVAL, "EAL has 2");
}

static void
dev_create__a_port_has_one_device(void **state)
{
	struct uroce_dev *dev;

	(void)state;
	assert_int_equal(rte_eal_hotplug_add("vdev", "net_null2", ""), 0);
	dev = rig_dev("net_null2,addr=192.0.2.1/24,drive=none");
	expect_refusal("net_null2,addr=192.0.2.2/24", -EBUSY, "allowed is one");
	assert_int_equal(uroce_dev_destroy(dev), 0);
}

static void
dev_create__no_memory(void **state)
{
	(void)state;
	assert_int_equal(rte_eal_hotplug_add("vdev", "net_null3", ""), 0);
	expect_refusal("net_null3,addr=192.0.2.1/24,mrs=16777216", -ENOMEM, "no memory");
}

static void
dev_destroy__is_refused_while_something_is_left(void **state)
{
	struct uroce_dev *dev;
	uint32_t qpn;

	(void)state;
	assert_int_equal(rte_eal_hotplug_add("vdev", "net_null4", ""), 0);
	dev = rig_dev("net_null4,addr=192.0.2.1/24,drive=none");
	assert_int_equal(uroce_dev_alloc_qpn(dev, &qpn), 0);
	assert_int_equal(uroce_dev_destroy(dev), -EBUSY);
	uroce_dev_free_qpn(dev, qpn);
	assert_int_equal(uroce_dev_destroy(dev), 0);
}

static unsigned nb_madvise; /* number of calls of madvise() that populate memory */

/* This function takes the place of the function of libc, which the library must not call. */
int
madvise(void *addr, size_t len, int advice)
{
	nb_madvise += advice == MADV_POPULATE_WRITE;
	return (int)syscall(SYS_madvise, addr, len, advice);
}

/*
 * Map memory that looks like the memory of a memif peer, and let the link come up. Check the number
 * of bytes of this memory that the link check populates: at least `least`, at most `most`.
 */
static void
expect_populated(struct uroce_port *port, size_t len, size_t least, size_t most)
{
	const int fd = memfd_create("memif_region_test", MFD_CLOEXEC);
	struct stat stat;
	void *mem;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(mem, MAP_FAILED);
	atomic_store(&port->is_up, false);
	uroce_link_check(port);
	assert_true(uroce_port_is_up(port));
	assert_int_equal(fstat(fd, &stat), 0);
	assert_in_range((size_t)stat.st_blocks * 512, least, most);
	munmap(mem, len);
	close(fd);
}

static void
link_check__memory_of_a_memif_peer_is_populated_within_bounds(void **state)
{
	const struct uroce_port_policy *policy;
	struct uroce_dev *dev;

	(void)state;
	assert_int_equal(rte_eal_hotplug_add("vdev", "net_null7", "size=64"), 0);
	dev = rig_dev("net_null7,drive=none,addr=192.0.2.1/24");
	policy = dev->port->policy;
	/* the port is not a memif port, so nothing is populated */
	expect_populated(dev->port, 1 << 20, 0, 0);
	dev->port->policy = uroce_port_policy_of("net_memif");
	/* the minimum is 0, because an old kernel refuses to populate memory */
	expect_populated(dev->port, 1 << 20, 0, 1 << 20);
	expect_populated(dev->port, (size_t)1 << 30, 0, (size_t)256 << 20);
	assert_int_equal(nb_madvise, 0);
	dev->port->policy = policy;
	assert_int_equal(uroce_dev_destroy(dev), 0);
	assert_int_equal(rte_eal_hotplug_remove("vdev", "net_null7"), 0);
}

static void
dev_create__memif_without_its_server(void **state)
{
	struct uroce_dev *dev;

	(void)state;
	assert_int_equal(
		rte_eal_hotplug_add("vdev", "net_memif5", "role=client,socket=uroce-test-life-5"),
		0);
	dev = rig_dev("net_memif5,addr=192.0.2.1/24");
	assert_false(uroce_dev_is_link_up(dev));
	assert_int_equal(uroce_dev_destroy(dev), 0);
}

/*
 * A memif server can be created again after its device was destroyed, because EAL keeps the
 * listening socket.
 */
static void
dev_create__memif_server_again(void **state)
{
	(void)state;
	assert_int_equal(
		rte_eal_hotplug_add("vdev", "net_memif6", "role=server,socket=uroce-test-life-6"),
		0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(create("net_memif6,addr=192.0.2.1/24"), 0);
}

static void
dev_destroy__gives_everything_back(void **state)
{
	size_t before;
	char name[16], spec[64];

	(void)state;
	for (unsigned i = 10; i < 14; i++) {
		snprintf(name, sizeof(name), "net_null%u", i);
		assert_int_equal(rte_eal_hotplug_add("vdev", name, ""), 0);
	}
	before = heap_in_use();
	for (unsigned i = 10; i < 14; i++) {
		snprintf(spec, sizeof(spec), "net_null%u,addr=192.0.2.1/24,workers=1", i);
		assert_int_equal(create(spec), 0);
	}
	assert_true(heap_in_use() <= before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dev_create__no_such_port),
		cmocka_unit_test(dev_create__no_address),
		cmocka_unit_test(dev_create__more_workers_than_lcores),
		cmocka_unit_test(dev_create__path_mtu_above_the_ports_limit),
		cmocka_unit_test(dev_create__more_workers_than_queues),
		cmocka_unit_test(dev_create__a_port_has_one_device),
		cmocka_unit_test(dev_create__no_memory),
		cmocka_unit_test(link_check__memory_of_a_memif_peer_is_populated_within_bounds),
		cmocka_unit_test(dev_create__memif_without_its_server),
		cmocka_unit_test(dev_create__memif_server_again),
		cmocka_unit_test(dev_destroy__is_refused_while_something_is_left),
		cmocka_unit_test(dev_destroy__gives_everything_back),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
