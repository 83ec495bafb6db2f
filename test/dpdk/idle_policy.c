/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The time after a poll in which the service thread does not take over a worker. The time is short
 * if frames arrive before the application polls again, as with a program that watches memory. The
 * time has its full length again when the application polls continuously.
 */

#include "rig.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "datapath/worker/service.h"

#define TIMEOUT_S 300 /* time limit in seconds, which only a hang exceeds */
/* twice the number of checks that must find the short time at both devices */
#define LOOKS 1000
#define OUT   0  /* offset in each buffer of the data that is written to the peer */
#define IN    64 /* offset in each buffer of the data that the peer writes */
#define LEN   8  /* bytes of data; the last byte is watched */

static struct rig_qp *qp_a, *qp_b;

/*
 * A program that watches memory for the peer's WRITE, posts a WRITE, and polls for its completion,
 * as ib_write_lat does.
 */
struct watcher {
	struct rig_qp *qp, *peer;
	int cpu; /* CPU that the watching thread shares with the service thread */
	bool is_first;
	pthread_t thread;
};

static atomic_bool is_over;

static int
make_pair(void **state)
{
	(void)state;
	if (!rig_init())
		return -1;
	rig_wire("a", "b", 1, 0);
	dev_a = rig_dev("net_ring_a,addr=192.0.2.1/24,drive=app");
	dev_b = rig_dev("net_ring_b,addr=192.0.2.2/24,drive=app");
	/* the scheduler may delay the service thread, which responds */
	rig_timeout = RIG_TIMEOUT_LONG;
	qp_a = rig_qp(dev_a, 0, IBV_QPT_RC);
	qp_b = rig_qp(dev_b, 0, IBV_QPT_RC);
	rig_connect(qp_a, qp_b, 1);
	rig_connect(qp_b, qp_a, 1);
	return 0;
}

static int
end_pair(void **state)
{
	rig_qp_free(qp_a);
	rig_qp_free(qp_b);
	return rig_teardown(state);
}

static unsigned
nb_hasty_of(const struct uroce_dev *dev)
{
	return atomic_load(&uroce_service_stats(dev->service)->early_takeovers);
}

static unsigned
nb_hasty(void)
{
	return nb_hasty_of(dev_b);
}

/*
 * The application of host b polls once and stops. After `after_us` microseconds the application of
 * host a posts a WRITE, and waits for the ACK, which the service thread of host b must send.
 */
static void
write_unseen(unsigned after_us)
{
	rig_drive(dev_b);
	(void)usleep(after_us);
	rig_post_send(qp_a, IBV_WR_RDMA_WRITE, 1, 0, 8, qp_b, 0);
	assert_int_equal(rig_await(&qp_a->scq, dev_a, dev_a).status, IBV_WC_SUCCESS);
}

static void
idle_policy__is_short_for_who_watches_memory(void **state)
{
	const time_t end = time(NULL) + TIMEOUT_S;

	(void)state;
	while (nb_hasty() == 0) {
		assert_true(time(NULL) < end);
		write_unseen(0);
	}
}

/*
 * The application of host b polls until the service thread waits for the full time again before it
 * takes over the worker.
 */
static void
poll_on(void)
{
	const time_t end = time(NULL) + TIMEOUT_S;

	while (nb_hasty() > 0) {
		assert_true(time(NULL) < end);
		for (unsigned i = 0; i < 1000; i++)
			rig_drive(dev_b);
	}
}

static void
idle_policy__is_long_again_for_who_polls_on(void **state)
{
	(void)state;
	while (nb_hasty() == 0)
		write_unseen(0);
	poll_on();
}

/*
 * A frame arrives 5 ms after the latest poll. The service thread has taken over the worker before,
 * and has received nothing until then.
 */
static void
idle_policy__is_short_if_frames_come_before_polls_do(void **state)
{
	const time_t end = time(NULL) + TIMEOUT_S;

	(void)state;
	poll_on();
	while (nb_hasty() == 0) {
		assert_true(time(NULL) < end);
		write_unseen(5000);
	}
}

static void
pin(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(tid, sizeof(set), &set), 0);
}

/*
 * Pin the service threads of the two devices to CPUs, in the order in which the threads were
 * started.
 */
static void
pin_services(const int cpu[2])
{
	DIR *tasks = opendir("/proc/self/task");
	pid_t tid[2];
	unsigned nb = 0;

	assert_non_null(tasks);
	for (const struct dirent *entry; nb < 2 && (entry = readdir(tasks));) {
		char path[64], name[16] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fgets(name, sizeof(name), file) && strcmp(name, "uroce-service\n") == 0)
			tid[nb++] = (pid_t)strtoul(entry->d_name, NULL, 10);
		fclose(file);
	}
	closedir(tasks);
	assert_int_equal(nb, 2);
	for (unsigned i = 0; i < 2; i++)
		pin(tid[i], cpu[i]);
}

static void
watch_for(const struct watcher *watcher, uint8_t stamp)
{
	const _Atomic uint8_t *last = (const _Atomic uint8_t *)(watcher->qp->buf + IN + LEN - 1);

	while (!atomic_load(&is_over) && atomic_load_explicit(last, memory_order_acquire) != stamp)
		;
}

static void
write_and_poll(const struct watcher *watcher, uint8_t stamp)
{
	struct rig_qp *qp = watcher->qp;
	struct ibv_wc wc;

	qp->buf[OUT + LEN - 1] = stamp;
	rig_post_send(qp, IBV_WR_RDMA_WRITE, 1, OUT, LEN, watcher->peer, IN);
	while (uroce_cq_poll(&qp->scq, 1, &wc) == 0)
		rig_drive(qp->dev);
}

static void *
go_to_and_fro(void *arg)
{
	struct watcher *watcher = arg;

	pin(0, watcher->cpu);
	for (unsigned i = 1; !atomic_load(&is_over); i++) {
		const uint8_t stamp = (uint8_t)(1 + i % 255);

		if (!watcher->is_first)
			watch_for(watcher, stamp);
		write_and_poll(watcher, stamp);
		if (watcher->is_first)
			watch_for(watcher, stamp);
	}
	return NULL;
}

/*
 * Find two CPUs that the process may use. If the process may use only one CPU, both entries are
 * that CPU.
 */
static void
find_cpus(int cpu[2])
{
	cpu_set_t set;
	unsigned nb = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int i = 0; i < CPU_SETSIZE && nb < 2; i++) {
		if (CPU_ISSET(i, &set))
			cpu[nb++] = i;
	}
	if (nb == 1)
		cpu[1] = cpu[0];
}

/*
 * The programs at both hosts watch memory. Each program polls only until its WRITE is acknowledged,
 * and then watches memory until the WRITE of the other program arrives.
 */
static void
idle_policy__is_short_for_who_polls_in_between(void **state)
{
	struct watcher watchers[2] = { { .qp = qp_a, .peer = qp_b, .is_first = true },
				       { .qp = qp_b, .peer = qp_a } };
	const time_t end = time(NULL) + TIMEOUT_S;
	unsigned nb_found = 0;
	int cpu[2];

	(void)state;
	if (RIG_HAS_TSAN) {
		print_message(
			"# a program that watches memory is a race to the thread sanitizer\n");
		return;
	}
	find_cpus(cpu);
	pin_services(cpu);
	for (unsigned i = 0; i < 2; i++) {
		watchers[i].cpu = cpu[i];
		assert_int_equal(
			pthread_create(&watchers[i].thread, NULL, go_to_and_fro, &watchers[i]), 0);
	}
	while (nb_found < LOOKS / 2 && time(NULL) < end) {
		(void)usleep(1000);
		nb_found += nb_hasty_of(dev_a) > 0 && nb_hasty_of(dev_b) > 0;
	}
	atomic_store(&is_over, true);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(watchers[i].thread, NULL);
	assert_int_equal(nb_found, LOOKS / 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_policy__is_short_for_who_watches_memory),
		cmocka_unit_test(idle_policy__is_long_again_for_who_polls_on),
		cmocka_unit_test(idle_policy__is_short_if_frames_come_before_polls_do),
		cmocka_unit_test(idle_policy__is_short_for_who_polls_in_between),
	};

	return cmocka_run_group_tests(tests, make_pair, end_pair);
}
