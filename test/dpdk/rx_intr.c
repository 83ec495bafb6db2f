/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RX wake-ups by receive interrupts, without a NIC. This program replaces the calls of ethdev that
 * concern interrupts, and writes to the eventfds of queues as vfio-pci does.
 */

#include "rig.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rte_ethdev.h>

#include "datapath/clock.h"
#include "datapath/port/port.h"
#include "datapath/port/rx_wakeup.h"

#define NB_QUEUES 2
#define SECOND_NS UINT64_C(1000000000)
#define GAP_MS    17

/* The interrupts of the NIC that this program simulates. */
static int fd[NB_QUEUES];
static bool is_enabled[NB_QUEUES];
static unsigned nb_calls; /* number of calls that get a descriptor or enable an interrupt */
static int enable_ret;    /* result of the call that enables an interrupt */
static bool has_fds;

int __wrap_rte_eth_dev_rx_intr_ctl_q_get_fd(uint16_t port_id, uint16_t queue_id);
int __wrap_rte_eth_dev_rx_intr_enable(uint16_t port_id, uint16_t queue_id);
int __wrap_rte_eth_dev_rx_intr_disable(uint16_t port_id, uint16_t queue_id);

int
__wrap_rte_eth_dev_rx_intr_ctl_q_get_fd(uint16_t port_id, uint16_t queue_id)
{
	(void)port_id;
	nb_calls++;
	return has_fds ? fd[queue_id] : -1;
}

int
__wrap_rte_eth_dev_rx_intr_enable(uint16_t port_id, uint16_t queue_id)
{
	(void)port_id;
	nb_calls++;
	is_enabled[queue_id] = enable_ret == 0;
	return enable_ret;
}

int
__wrap_rte_eth_dev_rx_intr_disable(uint16_t port_id, uint16_t queue_id)
{
	(void)port_id;
	is_enabled[queue_id] = false;
	return 0;
}

static const struct uroce_port_policy policy = { .driver = "net_test",
						 .rx_wakeup = UROCE_RX_WAKEUP_INTR };
static const struct uroce_port_policy policy_gap = { .driver = "net_test",
						     .rx_wakeup = UROCE_RX_WAKEUP_INTR,
						     .rx_intr_gap_ms = GAP_MS };
static struct uroce_port port;
static struct uroce_rx_wakeups wakeups;

static int
setup(void **state)
{
	(void)state;
	port = (struct uroce_port){ .policy = &policy, .name = "nic", .has_rx_intr = true };
	atomic_store(&port.is_ready, true);
	for (unsigned i = 0; i < NB_QUEUES; i++) {
		fd[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		is_enabled[i] = false;
	}
	nb_calls = 0;
	enable_ret = 0;
	has_fds = true;
	uroce_rx_wakeups_init(&wakeups, &port);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	uroce_rx_wakeups_fini(&wakeups);
	for (unsigned i = 0; i < NB_QUEUES; i++) {
		assert_false(is_enabled[i]);
		close(fd[i]);
	}
	return 0;
}

static bool
arm(uint16_t queue, uint64_t now_ns)
{
	return uroce_rx_wakeup_arm(&wakeups, queue, now_ns);
}

static void
raise_intr(uint16_t queue)
{
	assert_int_equal(eventfd_write(fd[queue], 1), 0);
}

static bool
is_readable(uint16_t queue)
{
	struct pollfd poll_fd = { .fd = wakeups.of[queue].fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

static void
prove(uint16_t queue)
{
	assert_false(arm(queue, 1));
	raise_intr(queue);
	uroce_rx_wakeups_end_trials(&wakeups);
	assert_false(is_enabled[queue]);
}

/* A trial goes on while the port is idle. It is checked once a second. */
static void
rx_intr__is_used_once_it_has_arrived(void **state)
{
	(void)state;
	for (uint64_t s = 1; s < 4; s++) {
		assert_false(arm(0, s * SECOND_NS));
		uroce_rx_wakeups_disarm(&wakeups);
		assert_true(is_enabled[0]);
	}
	raise_intr(0);
	assert_false(arm(0, 4 * SECOND_NS - 1));
	assert_true(arm(0, 4 * SECOND_NS));
	assert_true(is_enabled[0]);
	assert_false(is_readable(0));
	raise_intr(0);
	assert_true(is_readable(0));
	uroce_rx_wakeup_take(&wakeups, 0, POLLIN);
	assert_false(is_readable(0));
	uroce_rx_wakeups_disarm(&wakeups);
	assert_false(is_enabled[0]);
}

/* While the port is busy, no interrupt is enabled. */
static void
rx_intr__a_busy_port_ends_the_trial(void **state)
{
	(void)state;
	assert_false(arm(0, 1));
	uroce_rx_wakeups_end_trials(&wakeups);
	assert_false(is_enabled[0]);
	/* an interrupt that is not enabled proves nothing */
	raise_intr(0);
	assert_false(arm(0, 2));
	prove(0);
	assert_true(arm(0, 3));
}

static void
rx_intr__each_queue_has_its_own(void **state)
{
	(void)state;
	prove(1);
	assert_false(arm(0, 2));
	assert_true(arm(1, 2));
	assert_int_not_equal(wakeups.of[0].fd, wakeups.of[1].fd);
	uroce_rx_wakeups_disarm(&wakeups);
	assert_true(is_enabled[0]);
	assert_false(is_enabled[1]);
}

/* An interrupt that arrived while it was not needed does not wake the thread. */
static void
rx_intr__an_old_one_is_forgotten(void **state)
{
	(void)state;
	prove(0);
	raise_intr(0);
	assert_true(arm(0, 2));
	assert_false(is_readable(0));
}

static void
rx_intr__a_driver_without_is_asked_once(void **state)
{
	(void)state;
	enable_ret = -ENOTSUP;
	assert_false(arm(0, 1));
	has_fds = false;
	assert_false(arm(1, 1));
	nb_calls = 0;
	for (uint64_t s = 1; s < 4; s++) {
		assert_false(arm(0, s * SECOND_NS));
		assert_false(arm(1, s * SECOND_NS));
	}
	assert_int_equal(nb_calls, 0);
}

/* Some NICs delay an interrupt that follows another. Meanwhile the thread polls. */
static void
rx_intr__one_soon_after_another_is_not_awaited(void **state)
{
	uint64_t until_ns;

	(void)state;
	port.policy = &policy_gap;
	prove(0);
	until_ns = uroce_clock_ns() + GAP_MS * UINT64_C(1000000);
	assert_false(arm(0, 2));
	assert_true(arm(0, until_ns));
	raise_intr(0);
	uroce_rx_wakeup_take(&wakeups, 0, POLLIN);
	uroce_rx_wakeups_disarm(&wakeups);
	assert_false(arm(0, wakeups.of[0].intr_ns - 1));
	assert_true(arm(0, wakeups.of[0].intr_ns));
}

static void
rx_intr__a_port_that_was_removed_is_left_alone(void **state)
{
	(void)state;
	prove(0);
	assert_true(arm(0, 2));
	atomic_store(&port.is_gone, true);
	uroce_rx_wakeups_disarm(&wakeups);
	assert_true(is_enabled[0]);
	assert_false(arm(0, 3));
	is_enabled[0] = false;
}

static void
rx_intr__a_port_without_is_not_asked(void **state)
{
	(void)state;
	port.has_rx_intr = false;
	assert_int_equal(uroce_port_rx_wakeup(&port), UROCE_RX_WAKEUP_NONE);
	assert_false(arm(0, 1));
	assert_int_equal(nb_calls, 0);
}

/* --- set-up of a port -------------------------------------------------------------------------- */

/*
 * Results of rte_eth_dev_configure() and rte_eth_dev_start() for a port with receive interrupts; 0:
 * the functions of ethdev are called.
 */
static int configure_ret, start_ret;
static bool was_asked;    /* the latest configuration had receive interrupts */
static unsigned nb_asked; /* number of configurations with receive interrupts */
static bool is_offered;   /* the port may have receive interrupts */

bool __wrap_uroce_rx_intr_is_offered(const struct uroce_port *of,
				     const struct rte_eth_dev_info *info);
int __real_rte_eth_dev_configure(uint16_t port_id, uint16_t nb_rx, uint16_t nb_tx,
				 const struct rte_eth_conf *conf);
int __wrap_rte_eth_dev_configure(uint16_t port_id, uint16_t nb_rx, uint16_t nb_tx,
				 const struct rte_eth_conf *conf);
int __real_rte_eth_dev_start(uint16_t port_id);
int __wrap_rte_eth_dev_start(uint16_t port_id);

bool
__wrap_uroce_rx_intr_is_offered(const struct uroce_port *of, const struct rte_eth_dev_info *info)
{
	(void)of;
	(void)info;
	return is_offered;
}

int
__wrap_rte_eth_dev_configure(uint16_t port_id, uint16_t nb_rx, uint16_t nb_tx,
			     const struct rte_eth_conf *conf)
{
	struct rte_eth_conf plain = *conf;

	was_asked = conf->intr_conf.rxq;
	nb_asked += was_asked;
	if (was_asked && configure_ret < 0)
		return configure_ret;
	plain.intr_conf.rxq = 0;
	return __real_rte_eth_dev_configure(port_id, nb_rx, nb_tx, &plain);
}

int
__wrap_rte_eth_dev_start(uint16_t port_id)
{
	return was_asked && start_ret < 0 ? start_ret : __real_rte_eth_dev_start(port_id);
}

static void
set_up(const char *name, const char *keys, bool has_intr)
{
	char spec[96], other[32];
	struct uroce_dev *dev;

	(void)snprintf(other, sizeof(other), "%s_peer", name);
	rig_wire(name, other, 1, 0);
	(void)snprintf(spec, sizeof(spec), "net_ring_%s,addr=192.0.2.1/24,%s", name, keys);
	nb_asked = 0;
	is_enabled[0] = true; /* drivers enable the interrupts when they start */
	dev = rig_dev(spec);
	assert_int_equal(dev->port->has_rx_intr, has_intr);
	assert_int_equal(was_asked, has_intr);
	assert_int_equal(is_enabled[0], !has_intr);
	is_enabled[0] = false;
	assert_int_equal(uroce_dev_destroy(dev), 0);
}

static void
port_set_up__with_receive_interrupts(void **state)
{
	(void)state;
	is_offered = true;
	configure_ret = start_ret = 0;
	set_up("i0", "drive=app", true);
}

static void
port_set_up__without_if_the_driver_refuses(void **state)
{
	(void)state;
	is_offered = true;
	configure_ret = -ENOTSUP;
	set_up("i1", "drive=app", false);
	assert_int_not_equal(nb_asked, 0);
	configure_ret = 0;
	start_ret = -EIO;
	set_up("i2", "drive=app", false);
	assert_int_not_equal(nb_asked, 0);
	start_ret = 0;
}

/* Without a service thread, no thread waits for interrupts. */
static void
port_set_up__without_if_nobody_sleeps(void **state)
{
	(void)state;
	is_offered = true;
	set_up("i3", "drive=none", false);
	assert_int_equal(nb_asked, 0);
	is_offered = false;
	set_up("i4", "drive=app", false);
	assert_int_equal(nb_asked, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rx_intr__is_used_once_it_has_arrived, setup,
						teardown),
		cmocka_unit_test_setup_teardown(rx_intr__a_busy_port_ends_the_trial, setup,
						teardown),
		cmocka_unit_test_setup_teardown(rx_intr__each_queue_has_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(rx_intr__an_old_one_is_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(rx_intr__a_driver_without_is_asked_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(rx_intr__one_soon_after_another_is_not_awaited,
						setup, teardown),
		cmocka_unit_test_setup_teardown(rx_intr__a_port_that_was_removed_is_left_alone,
						setup, teardown),
		cmocka_unit_test_setup_teardown(rx_intr__a_port_without_is_not_asked, setup,
						teardown),
		cmocka_unit_test(port_set_up__with_receive_interrupts),
		cmocka_unit_test(port_set_up__without_if_the_driver_refuses),
		cmocka_unit_test(port_set_up__without_if_nobody_sleeps),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
