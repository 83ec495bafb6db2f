/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RX wake-ups, and the service thread that sleeps until a wake-up. The first tests wait for the
 * descriptors of the wake-ups themselves, step by step. The other tests wait until the service
 * thread sleeps, and check what wakes this thread. Both ends of the memif ports are in this
 * process. The AF_PACKET ports use a veth pair in a network namespace of this process, if the
 * machine allows a namespace.
 */

#include "datapath/dpdk.h"
#include "rig.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <rte_dev.h>
#include <rte_malloc.h>

#include "datapath/port/rx_wakeup.h"
#include "datapath/port/port.h"
#include "datapath/worker/round.h"
#include "datapath/worker/service.h"
#include "datapath/worker/service_thread.h"

#define TIMEOUT_S 300 /* time limit in seconds, which only a hang exceeds */

/* A kind of port: the name of its driver, and the arguments of two connected ports. */
struct kind {
	const char *name, *args[2];
	unsigned first; /* number in the name of the first port, such as net_memif0 */
};

static struct kind memif = {
	"net_memif",
	{ "role=server,socket=uroce-test-notice", "role=client,socket=uroce-test-notice" },
	0,
};
static struct kind af_packet = { "net_af_packet", { "iface=v0", "iface=v1" }, 0 };

static struct uroce_dev *dev[2];
static struct rig_qp *qp[2];
static bool has_namespace;

static bool
make_namespace(void)
{
	const int user = geteuid() == 0 ? 0 : CLONE_NEWUSER;

	return unshare(CLONE_NEWNET | user) == 0 &&
	       system("ip link add v0 type veth peer name v1 && "
		      "ip link set v0 addrgenmode none && ip link set v1 addrgenmode none && "
		      "ip link set v0 up && ip link set v1 up") == 0;
}

static bool
plug(const struct kind *kind)
{
	for (unsigned i = 0; i < 2; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%s%u", kind->name, kind->first + i);
		if (rte_eal_hotplug_add("vdev", name, kind->args[i]) != 0)
			return false;
	}
	return true;
}

/*
 * Create two AF_PACKET ports on the veth pair of the network namespace of this process. The veth
 * pair disappears with the namespace.
 * @return false if the machine allows no namespace
 */
static bool
plug_af_packet(void)
{
	if (!has_namespace) {
		print_message("# no network namespace: this machine allows none\n");
		return false;
	}
	af_packet.first += 2;
	assert_true(plug(&af_packet));
	return true;
}

static void
drive_both(void)
{
	rig_drive(dev[0]);
	rig_drive(dev[1]);
}

static void
nothing(void)
{
}

/* Repeat `meanwhile` until `is_so` returns true. The test fails after TIMEOUT_S. */
static void
wait_until(bool (*is_so)(void), void (*meanwhile)(void))
{
	const time_t end = time(NULL) + TIMEOUT_S;

	while (!is_so()) {
		assert_true(time(NULL) < end);
		meanwhile();
		sched_yield();
	}
}

static bool
has_link(void)
{
	return uroce_dev_is_link_up(dev[0]) && uroce_dev_is_link_up(dev[1]);
}

static void
make_dev(const struct kind *kind, unsigned end, const char *keys)
{
	char spec[96];

	snprintf(spec, sizeof(spec), "%s%u,addr=192.0.2.%u/24,%s", kind->name, kind->first + end,
		 1 + end, keys);
	dev[end] = rig_dev(spec);
}

static void
connect_qps(unsigned worker)
{
	for (unsigned i = 0; i < 2; i++)
		qp[i] = rig_qp(dev[i], worker, IBV_QPT_RC);
	rig_connect(qp[0], qp[1], 1);
	rig_connect(qp[1], qp[0], 1);
	rig_fill(qp[0], 1);
}

static void
make_world(const struct kind *kind, const char *keys)
{
	for (unsigned i = 0; i < 2; i++)
		make_dev(kind, i, keys);
	wait_until(has_link, dev[0]->service ? nothing : drive_both);
	connect_qps(0);
}

static void
end_world(void)
{
	for (unsigned i = 0; i < 2; i++) {
		rig_qp_free(qp[i]);
		assert_int_equal(uroce_dev_destroy(dev[i]), 0);
	}
}

/* --- the test waits for the descriptors -------------------------------------------------------- */

static struct uroce_rx_wakeups notices;

static bool
arm(uint16_t queue)
{
	return uroce_rx_wakeup_arm(&notices, queue, UINT64_MAX / 2);
}

static bool
is_noticed(uint16_t queue)
{
	struct pollfd fd = { .fd = notices.of[queue].fd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

/*
 * Whether the descriptor of queue 0 is readable. Tests call this function repeatedly, because the
 * kernel may deliver a frame to AF_PACKET after the transmit call.
 */
static bool
is_noticed_now(void)
{
	return is_noticed(0);
}

static void
send_one(void)
{
	rig_post_send(qp[0], IBV_WR_RDMA_WRITE, 1, 0, 100, qp[1], 0);
	rig_drive(dev[0]);
}

static void
expect_done(void)
{
	assert_int_equal(rig_await(&qp[0]->scq, dev[0], dev[1]).status, IBV_WC_SUCCESS);
	drive_both();
}

static void
a_frame_gives_notice(void)
{
	assert_true(arm(0));
	rig_drive(dev[1]);
	assert_false(is_noticed(0));
	send_one();
	wait_until(is_noticed_now, nothing);
	expect_done();
	assert_false(is_noticed(0));
}

static void
give_notice(const struct kind *kind)
{
	make_world(kind, "drive=none");
	uroce_rx_wakeups_init(&notices, dev[1]->port);
	for (unsigned i = 0; i < 3; i++)
		a_frame_gives_notice();
	/* Here the frame arrives before the wake-up is armed. The next poll must find the frame. */
	send_one();
	assert_true(arm(0));
	expect_done();
	a_frame_gives_notice();
	uroce_rx_wakeups_fini(&notices);
	assert_int_equal(notices.of[0].fd, -1);
	end_world();
}

static void
rx_wakeup__memif_tells_of_frames(void **state)
{
	(void)state;
	give_notice(&memif);
	/*
	 * In this part, device 0 receives. The server and the client of memif have different roles
	 * in a ring, so both directions are tested.
	 */
	make_world(&memif, "drive=none");
	uroce_rx_wakeups_init(&notices, dev[0]->port);
	assert_true(arm(0));
	rig_post_send(qp[1], IBV_WR_RDMA_WRITE, 1, 0, 100, qp[0], 0);
	rig_drive(dev[1]);
	assert_true(is_noticed(0));
	assert_int_equal(rig_await(&qp[1]->scq, dev[0], dev[1]).status, IBV_WC_SUCCESS);
	uroce_rx_wakeups_fini(&notices);
	end_world();
}

static void
rx_wakeup__af_packet_tells_of_frames(void **state)
{
	(void)state;
	if (plug_af_packet())
		give_notice(&af_packet);
}

/*
 * If no thread sleeps, no wake-up may remain armed. Otherwise the peer would make a system call for
 * each burst, and this side would make one for each poll.
 */
static void
rx_wakeup__memif_without_costs_nothing(void **state)
{
	(void)state;
	make_world(&memif, "drive=none");
	uroce_rx_wakeups_init(&notices, dev[1]->port);
	assert_true(arm(0));
	uroce_rx_wakeups_disarm(&notices);
	rig_drive(dev[1]);
	send_one();
	assert_false(is_noticed(0));
	expect_done();
	a_frame_gives_notice();
	uroce_rx_wakeups_fini(&notices);
	/*
	 * uroce_rx_wakeups_fini() has closed the descriptor, and must have disarmed the wake-up
	 * before.
	 */
	send_one();
	expect_done();
	end_world();
}

/*
 * Each queue has a separate descriptor, which reports only frames of this queue, although the rings
 * of all queues are in one memory region.
 */
static void
rx_wakeup__memif_has_one_for_each_queue(void **state)
{
	(void)state;
	make_world(&memif, "drive=none,workers=2");
	for (unsigned i = 0; i < 2; i++)
		rig_qp_free(qp[i]);
	connect_qps(1);
	uroce_rx_wakeups_init(&notices, dev[1]->port);
	assert_true(arm(0));
	assert_true(arm(1));
	assert_int_not_equal(notices.of[0].fd, notices.of[1].fd);
	drive_both();
	send_one();
	assert_true(is_noticed(1));
	assert_false(is_noticed(0));
	expect_done();
	uroce_rx_wakeups_fini(&notices);
	end_world();
}

/*
 * The link goes down, and a new peer connects. The rings and descriptors of the new peer may have
 * the addresses of the old ones.
 */
static void
rx_wakeup__memif_follows_the_link(void **state)
{
	(void)state;
	make_world(&memif, "drive=none");
	uroce_rx_wakeups_init(&notices, dev[1]->port);
	for (unsigned i = 0; i < 3; i++) {
		a_frame_gives_notice();
		rig_qp_free(qp[0]);
		assert_int_equal(uroce_dev_destroy(dev[0]), 0);
		rig_qp_free(qp[1]);
		assert_int_equal(uroce_dev_destroy(dev[1]), 0);
		make_dev(&memif, 0, "drive=none");
		make_dev(&memif, 1, "drive=none");
		wait_until(has_link, drive_both);
		connect_qps(0);
		notices.port = dev[1]->port;
	}
	a_frame_gives_notice();
	uroce_rx_wakeups_fini(&notices);
	end_world();
}

/* --- releases of DPDK ----------------------------------------------------------------------------- */

#define FUTURE_YEAR 99

unsigned __real_rte_version_year(void);
unsigned __wrap_rte_version_year(void);

/* whether rte_version_year() reports a release of DPDK that does not exist yet */
static bool is_future;

unsigned
__wrap_rte_version_year(void)
{
	return is_future ? FUTURE_YEAR : __real_rte_version_year();
}

static void *
handle_in(uint64_t first, uint64_t second)
{
	const uint64_t words[2] = { first, second };

	return uroce_dpdk_memif_handle(words);
}

/*
 * In some releases of DPDK, the memif handle in interrupt data is in the first word, and the size
 * of the ring follows. In other releases a count of errors is before the handle.
 */
static void
dpdk_memif_handle__with_and_without_a_count_of_errors(void **state)
{
	void *handle = rte_zmalloc(NULL, 64, 0);
	const uint64_t at = (uintptr_t)handle;

	(void)state;
	assert_non_null(handle);
	assert_ptr_equal(handle_in(at, 10), handle);
	assert_ptr_equal(handle_in(0, at), handle);
	assert_ptr_equal(handle_in(3, at), handle);
	assert_null(handle_in(3, 0));
	assert_null(handle_in(0, 10));
	/* the first word points to memory that EAL has not allocated */
	assert_null(handle_in((uintptr_t)&handle, 10));
	rte_free(handle);
}

static void
rx_wakeup__memif_of_an_unknown_release_gives_none(void **state)
{
	(void)state;
	is_future = true;
	make_world(&memif, "drive=none");
	uroce_rx_wakeups_init(&notices, dev[1]->port);
	assert_false(arm(0));
	/*
	 * The call that failed delays the next attempt. The deadline of this call is later, so DPDK
	 * is called again.
	 */
	is_future = false;
	assert_true(uroce_rx_wakeup_arm(&notices, 0, UINT64_MAX));
	uroce_rx_wakeups_fini(&notices);
	end_world();
}

/* --- the service thread waits for the descriptors ---------------------------------------------- */

static const struct uroce_service_stats *
stats(unsigned end)
{
	return uroce_service_stats(dev[end]->service);
}

/* number of sleeps that the service thread of dev[1] had made before wait_for_sleep() was called */
static uint64_t nb_sleeps;

static bool
is_down(void)
{
	return atomic_load(&dev[1]->worker[0]->is_unattended) &&
	       atomic_load(&stats(1)->sleeps) > nb_sleeps;
}

static bool
has_slept_on(void)
{
	return atomic_load(&stats(1)->sleeps) >= nb_sleeps + 4;
}

static bool
is_up(void)
{
	return !atomic_load(&dev[1]->worker[0]->is_unattended);
}

static void
wait_for_sleep(void)
{
	nb_sleeps = atomic_load(&stats(1)->sleeps);
	wait_until(is_down, nothing);
}

/*
 * The service thread of dev[1] must sleep when there are no frames, and frames must wake it. A
 * frame may arrive while the thread is awake to check the link, but not each time.
 */
static void
sleep_and_wake(const struct kind *kind)
{
	const uint8_t timeout = rig_timeout;
	uint64_t nb_notices, nb_timed_sleeps;

	/* the scheduler may delay the service threads: a repeated frame would wake end 1, too */
	rig_timeout = RIG_TIMEOUT_LONG;
	make_world(kind, "drive=app");
	rig_timeout = timeout;
	uroce_worker_leave(dev[0]->worker[0]);
	uroce_worker_leave(dev[1]->worker[0]);
	wait_for_sleep();
	nb_notices = atomic_load(&stats(1)->rx_wakeups);
	for (unsigned i = 0; i < 10; i++) {
		rig_post_send(qp[0], IBV_WR_RDMA_WRITE, i, 0, 100, qp[1], 0);
		assert_int_equal(rig_wait(&qp[0]->scq).status, IBV_WC_SUCCESS);
		wait_for_sleep();
	}
	assert_in_range(atomic_load(&stats(1)->rx_wakeups) - nb_notices, 5, 10);

	/*
	 * Without frames only link checks end the sleeps. Before each sleep there is at most one
	 * timed sleep.
	 */
	wait_for_sleep();
	nb_notices = atomic_load(&stats(1)->rx_wakeups);
	nb_timed_sleeps = atomic_load(&stats(1)->timed_sleeps);
	nb_sleeps = atomic_load(&stats(1)->sleeps);
	wait_until(has_slept_on, nothing);
	nb_timed_sleeps = atomic_load(&stats(1)->timed_sleeps) - nb_timed_sleeps;
	/* this thread may have seen more than four sleeps, if it was kept from its CPU */
	assert_in_range(nb_timed_sleeps, 0, atomic_load(&stats(1)->sleeps) - nb_sleeps + 2);
	assert_int_equal(atomic_load(&stats(1)->rx_wakeups), nb_notices);
	end_world();
}

static void
service__sleeps_on_memif(void **state)
{
	(void)state;
	sleep_and_wake(&memif);
}

/*
 * With an unknown release of DPDK there are no RX wake-ups. The service thread makes timed sleeps,
 * and polls after each of them.
 */
static void
service__polls_memif_of_an_unknown_release(void **state)
{
	(void)state;
	is_future = true;
	make_world(&memif, "drive=app");
	uroce_worker_leave(dev[0]->worker[0]);
	uroce_worker_leave(dev[1]->worker[0]);
	for (unsigned i = 0; i < 10; i++) {
		const uint64_t nb_timed_sleeps = atomic_load(&stats(1)->timed_sleeps);

		while (atomic_load(&stats(1)->timed_sleeps) < nb_timed_sleeps + 10)
			sched_yield();
		rig_post_send(qp[0], IBV_WR_RDMA_WRITE, i, 0, 100, qp[1], 0);
		assert_int_equal(rig_wait(&qp[0]->scq).status, IBV_WC_SUCCESS);
	}
	assert_int_equal(atomic_load(&stats(1)->sleeps), 0);
	assert_int_equal(atomic_load(&stats(1)->rx_wakeups), 0);
	end_world();
	is_future = false;
}

static void
service__sleeps_on_af_packet(void **state)
{
	(void)state;
	if (plug_af_packet())
		sleep_and_wake(&af_packet);
}

/*
 * A poll of the application must wake the service thread. If the application does not poll again,
 * the thread must sleep again.
 */
static void
service__gets_up_when_the_application_comes(void **state)
{
	(void)state;
	make_world(&memif, "drive=app");
	for (unsigned i = 0; i < 3; i++) {
		unsigned nb_polls = 0;

		wait_for_sleep();
		while (!is_up() && ++nb_polls)
			(void)uroce_worker_poll(dev[1]->worker[0]);
		/*
		 * The service thread must wake up before its next link check, which is due after
		 * 0.1 s.
		 */
		assert_in_range(nb_polls, 0, 100);
	}
	wait_for_sleep();
	end_world();
}

/*
 * While the service threads of both devices sleep, the retry timers must still expire. The request
 * goes to a QP that was destroyed, so it must fail after its retries.
 */
static void
service__wakes_for_timers(void **state)
{
	struct rig_qp *lonely;

	(void)state;
	make_world(&memif, "drive=app");
	lonely = rig_qp(dev[1], 0, IBV_QPT_RC);
	rig_connect(lonely, qp[0], 1);
	rig_qp_free(qp[0]);
	wait_for_sleep();
	rig_post_send(qp[1], IBV_WR_RDMA_WRITE, 1, 0, 100, lonely, 0);
	assert_int_equal(rig_wait(&qp[1]->scq).status, IBV_WC_RETRY_EXC_ERR);
	wait_for_sleep();
	rig_qp_free(lonely);
	rig_qp_free(qp[1]);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(uroce_dev_destroy(dev[i]), 0);
}

static uint32_t
nb_wakes(void)
{
	return atomic_load(&dev[1]->service->wakes);
}

/*
 * A command about a QP must not wake the service thread if it leaves nothing to do. A program that
 * connects many QPs would otherwise share its CPU with the thread.
 */
static void
service__sleeps_through_a_command_without_work(void **state)
{
	struct ibv_qp_attr attr = { .min_rnr_timer = 1 };
	uint32_t nb_before;

	(void)state;
	make_world(&memif, "drive=app");
	wait_for_sleep();
	nb_before = nb_wakes();
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(rig_modify(qp[1], &attr, IBV_QP_MIN_RNR_TIMER), 0);
	assert_int_equal(nb_wakes(), nb_before);
	end_world();
}

static int
do_nothing(void *arg)
{
	(void)arg;
	return 0;
}

/*
 * A command that makes a QP start or stop receiving must wake the service thread, although it
 * leaves nothing to do: it may have received frames for another worker, and the peer may have
 * connected again.
 */
static void
service__wakes_when_a_qp_starts_to_receive(void **state)
{
	uint32_t nb_before;

	(void)state;
	make_world(&memif, "drive=app");
	wait_for_sleep();
	nb_before = nb_wakes();
	assert_int_equal(uroce_worker_qp_quiesce(&qp[1]->wqp, do_nothing, NULL), 0);
	assert_true(nb_wakes() != nb_before);
	end_world();
}

/* A command after which a request can be sent must wake the service thread, which sends it. */
static void
service__wakes_for_a_command_that_leaves_work(void **state)
{
	struct ibv_qp_attr sqd = { .qp_state = IBV_QPS_SQD }, rts = { .qp_state = IBV_QPS_RTS };
	uint32_t nb_before;

	(void)state;
	make_world(&memif, "drive=app");
	assert_int_equal(rig_modify(qp[1], &sqd, IBV_QP_STATE), 0);
	rig_post_send(qp[1], IBV_WR_RDMA_WRITE, 1, 0, 100, qp[0], 0);
	wait_for_sleep();
	nb_before = nb_wakes();
	assert_int_equal(rig_modify(qp[1], &rts, IBV_QP_STATE), 0);
	assert_true(nb_wakes() != nb_before);
	assert_int_equal(rig_wait(&qp[1]->scq).status, IBV_WC_SUCCESS);
	end_world();
}

static int
setup(void **state)
{
	(void)state;
	has_namespace = make_namespace();
	return plug(&memif) ? 0 : -1;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rx_wakeup__memif_tells_of_frames),
		cmocka_unit_test(rx_wakeup__af_packet_tells_of_frames),
		cmocka_unit_test(rx_wakeup__memif_without_costs_nothing),
		cmocka_unit_test(rx_wakeup__memif_has_one_for_each_queue),
		cmocka_unit_test(rx_wakeup__memif_follows_the_link),
		cmocka_unit_test(dpdk_memif_handle__with_and_without_a_count_of_errors),
		cmocka_unit_test(rx_wakeup__memif_of_an_unknown_release_gives_none),
		cmocka_unit_test(service__sleeps_on_memif),
		cmocka_unit_test(service__polls_memif_of_an_unknown_release),
		cmocka_unit_test(service__sleeps_on_af_packet),
		cmocka_unit_test(service__gets_up_when_the_application_comes),
		cmocka_unit_test(service__wakes_for_timers),
		cmocka_unit_test(service__sleeps_through_a_command_without_work),
		cmocka_unit_test(service__wakes_for_a_command_that_leaves_work),
		cmocka_unit_test(service__wakes_when_a_qp_starts_to_receive),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, setup, NULL);
}
