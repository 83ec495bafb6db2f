/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sleeping threads of a device that is attached to uroced, and their wake-ups. Another test forks:
 * the child must not keep the connection of the parent to uroced open.
 */

#include "mux_rig.h"

#include <sys/wait.h>
#include <unistd.h>

#include "datapath/worker/round.h"
#include "datapath/worker/service.h"

/* --- sleep and wake-up ------------------------------------------------------------------------- */

/* number of sleeps that the service thread of dev_b had made before wait_for_sleep() was called */
static uint64_t nb_sleeps;

static const struct uroce_service_stats *
service(void)
{
	return uroce_service_stats(dev_b->service);
}

static bool
is_down(void)
{
	return atomic_load(&dev_b->worker[0]->is_unattended) &&
	       atomic_load(&service()->sleeps) > nb_sleeps && switch_is_asleep(attached_switch);
}

static bool
has_slept_on(void)
{
	return atomic_load(&service()->sleeps) >= nb_sleeps + 4;
}

static void
wait_for_sleep(void)
{
	nb_sleeps = atomic_load(&service()->sleeps);
	attached_wait(is_down, attached_nothing);
}

static void
expect_frames_wake(const char *keys)
{
	uint64_t nb_notices, nb_doorbells, nb_timed_sleeps;

	attached_begin(keys);
	for (unsigned i = 0; i < dev_a->nb_workers; i++) {
		uroce_worker_leave(dev_a->worker[i]);
		uroce_worker_leave(dev_b->worker[i]);
	}
	wait_for_sleep();
	nb_notices = atomic_load(&service()->rx_wakeups);
	nb_doorbells = atomic_load(&attached_stats(0)->doorbells);
	for (unsigned i = 0; i < 10; i++) {
		rig_post_send(attached_qp[0], IBV_WR_RDMA_WRITE, i, 0, 100, attached_qp[1], 0);
		assert_int_equal(rig_wait(&attached_qp[0]->scq).status, IBV_WC_SUCCESS);
		wait_for_sleep();
	}
	/*
	 * A frame may arrive while the service thread is awake to check the link, but not each
	 * time. There may be more doorbells than frames, because a late frame causes a probe.
	 */
	assert_true(atomic_load(&service()->rx_wakeups) - nb_notices >= 5);
	assert_true(atomic_load(&attached_stats(0)->doorbells) - nb_doorbells >= 10);
	/*
	 * Without frames only link checks end the sleeps. Before each sleep there is at most one
	 * timed sleep.
	 */
	wait_for_sleep();
	nb_notices = atomic_load(&service()->rx_wakeups);
	nb_timed_sleeps = atomic_load(&service()->timed_sleeps);
	nb_sleeps = atomic_load(&service()->sleeps);
	attached_wait(has_slept_on, attached_nothing);
	nb_timed_sleeps = atomic_load(&service()->timed_sleeps) - nb_timed_sleeps;
	/* this thread may have seen more than four sleeps, if it was kept from its CPU */
	assert_in_range(nb_timed_sleeps, 0, atomic_load(&service()->sleeps) - nb_sleeps + 2);
	assert_int_equal(atomic_load(&service()->rx_wakeups), nb_notices);
	attached_end();
}

static void
mux_client__frames_wake_who_sleeps(void **state)
{
	(void)state;
	expect_frames_wake("drive=app");
}

static void
mux_client__frames_of_any_worker_wake_who_sleeps(void **state)
{
	(void)state;
	expect_frames_wake("drive=app,workers=2");
}

/*
 * Frames must wake a sleeping service thread also after a restart of uroced. A thread that sleeps
 * during the restart must continue, too.
 */
static void
mux_client__who_sleeps_is_woken_after_a_restart(void **state)
{
	uint64_t nb_notices;

	(void)state;
	attached_begin("drive=app");
	for (unsigned i = 0; i < 5; i++) {
		wait_for_sleep();
		attached_restart();
		attached_wait(attached_has_both, attached_nothing);
		wait_for_sleep();
		nb_notices = atomic_load(&service()->rx_wakeups);
		for (unsigned j = 0; j < 4; j++) {
			rig_post_send(attached_qp[0], IBV_WR_RDMA_WRITE, j, 0, 100, attached_qp[1],
				      0);
			assert_int_equal(rig_wait(&attached_qp[0]->scq).status, IBV_WC_SUCCESS);
			wait_for_sleep();
		}
		assert_true(atomic_load(&service()->rx_wakeups) > nb_notices);
	}
	attached_end();
}

/* --- fork() ------------------------------------------------------------------------------------ */

static bool
has_left(void)
{
	return switch_nb_clients(attached_switch) == 0;
}

/*
 * uroced must notice that a parent process has destroyed its device, although the child process
 * still runs. Between fork() and that moment the device of the parent must work.
 */
static void
mux_client__a_child_is_no_client(void **state)
{
	int way[2];
	pid_t child;
	int status;

	(void)state;
	attached_begin("drive=none");
	assert_int_equal(pipe(way), 0);
	child = fork();
	if (child == 0) {
		char c;

		close(way[1]);
		_exit(read(way[0], &c, 1) == 0 ? 0 : 1);
	}
	assert_true(child > 0);
	close(way[0]);
	attached_write(RIG_BUF_LEN);
	attached_end_devs();
	attached_wait(has_left, attached_nothing);
	assert_int_equal(waitpid(child, &status, WNOHANG), 0);
	close(way[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	switch_stop(attached_switch);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mux_client__frames_wake_who_sleeps),
		cmocka_unit_test(mux_client__frames_of_any_worker_wake_who_sleeps),
		cmocka_unit_test(mux_client__who_sleeps_is_woken_after_a_restart),
		cmocka_unit_test(mux_client__a_child_is_no_client),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
