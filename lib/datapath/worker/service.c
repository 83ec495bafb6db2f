/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The service thread.
 *
 * The thread checks each worker in turn. A worker that the application has driven within a timeout
 * is left to the application; all other workers get a round. The timeout is 1 ms (TAKE_OVER_NS) or
 * less. After activity the thread spins for a short time, because activity usually continues. Then
 * it sleeps, longer each time.
 *
 * Applications that spin in poll_cq: each check costs such an application some microseconds of CPU.
 * After several checks in a row that found the application polling, the checks come every
 * POLLER_SLEEP_NS. If a check finds the application silent for longer than POLLER_IDLE_NS, the next
 * check comes at the end of its timeout. So the thread takes over at most POLLER_SLEEP_NS plus
 * POLLER_IDLE_NS plus WAKE_UP_NS after the last poll, and later if it gets no CPU.
 *
 * Applications that wait by other means than polling: they watch memory to which their peer writes,
 * or they compute. If the thread takes over and has frames before the application polls, the
 * takeover was late. After LATE_MAX late takeovers the timeout becomes shorter. Such an application
 * may also poll in between, for a completion that its peer's service thread delays. So a single
 * poll does not restore the timeout. Many checks in a row that find the application polling restore
 * the timeout, and a takeover without frames doubles the timeout. The application may share its CPU
 * with the thread. So the thread does not spin while the application is active, and makes the next
 * check later each time it finds the application active.
 *
 * Timed sleep: the thread sets `is_asleep`. Then it checks the doorbells once more, and compares
 * `wakes` with its value before the latest check of the workers. Then it waits for the eventfd. A
 * poster first pushes its doorbell; a waking thread first increments `wakes`. Both read `is_asleep`
 * afterwards. So at least one of the two threads sees the other, and no wake-up is lost.
 *
 * Sleep until a wake-up: this needs a port with RX wake-ups (rx_wakeup.h), workers that are all at
 * rest, and no active application. The thread arms the RX wake-ups, marks the workers as
 * unattended, sleeps for the minimum time, and checks once more. If there is still nothing to do,
 * it waits for the eventfd, the port and the nearest timer, for at most UROCE_IDLE_WAKEUP_MAX_NS. A
 * round of the application may set a timer. So a thread that drives an unattended worker wakes the
 * service thread, as every doorbell does.
 */

#include "datapath/worker/service_thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <rte_lcore.h>

#include "datapath/clock.h"
#include "datapath/dpdk.h"
#include "datapath/idle_policy.h"
#include "datapath/log.h"
#include "datapath/port/rx_wakeup.h"
#include "datapath/device/numa.h"
#include "datapath/port/port.h"
#include "datapath/worker/at_rest.h"
#include "datapath/worker/round.h"
#include "datapath/stage.h"

/* Minimum of the time without a poll after which the service thread drives a worker. */
#define TAKE_OVER_MIN_NS UINT64_C(20000)
/*
 * After this number of late takeovers in a row, the thread takes over a worker sooner. A takeover
 * is late if the thread receives or sends frames before the application polls again.
 */
#define LATE_MAX 4
/*
 * Number of consecutive checks that found the application active, after which the number of
 * consecutive late takeovers (see LATE_MAX) is reset to 0.
 */
#define FORGET_CHECKS 32
/*
 * While the application spins in poll_cq, each check costs the application some microseconds of
 * CPU. So after POLLER_CHECKS checks that found it polling, checks come every POLLER_SLEEP_NS.
 */
#define POLLER_CHECKS   8
#define POLLER_SLEEP_NS UINT64_C(3000000)
/* Maximum time between two polls of an application that spins. */
#define POLLER_IDLE_NS UINT64_C(50000)
/* Maximum time from the end of a sleep to the check that is not counted as silence. */
#define WAKE_UP_NS UINT64_C(100000)

/* The result of a check of a worker by the service thread. */
struct check_result {
	unsigned nb;      /* number of frames that the worker received and sent during the check */
	uint64_t wait_ns; /* time for which the worker need not be checked */
	bool is_spinning; /* the application drives the worker, and spins in poll_cq */
	/* The application polls too late for frames, so the thread drives the worker early. */
	bool is_shared;
	bool is_quiet; /* the application is not active, and the worker has nothing to do */
};

static uint64_t
get_idle_ns(const struct uroce_worker *worker, uint64_t now_ns)
{
	const uint64_t app_ns = atomic_load_explicit(&worker->app_ns, memory_order_relaxed);

	return now_ns > app_ns ? now_ns - app_ns : 0;
}

/*
 * Whether the service thread leaves worker `i` to the application, which has polled within its
 * timeout. The result is false if only the service thread may transmit the pending frames. If the
 * worker has a delayed ACK, for which the peer may wait, the timeout is TAKE_OVER_MIN_NS.
 */
static bool
is_app_driven(const struct uroce_service_thread *service, unsigned i, uint64_t *left_ns)
{
	const struct uroce_worker *worker = service->dev->worker[i];
	const uint64_t age_ns = get_idle_ns(worker, service->check_ns);
	const bool has_delayed_ack = age_ns > TAKE_OVER_MIN_NS && uroce_delayed_ack_is_left(worker);
	const uint64_t timeout_ns = has_delayed_ack ? TAKE_OVER_MIN_NS : service->app_idle[i].ns;

	*left_ns = age_ns < timeout_ns ? timeout_ns - age_ns : 0;
	return *left_ns > 0 &&
	       !(worker->dev->port->policy->may_block &&
		 atomic_load_explicit(&worker->tx.is_stalled, memory_order_relaxed));
}

/*
 * Record that a check found the application active. A check that does not follow a sleep of the
 * service thread is not counted, because it proves little so soon after the previous check.
 */
static void
note_app_active(struct app_idle *app_idle, bool has_slept)
{
	if (app_idle->awaits_frames) {
		app_idle->nb_late = 0;
		app_idle->ns = RTE_MIN(app_idle->ns * 2, TAKE_OVER_NS);
	}
	app_idle->awaits_frames = false;
	app_idle->was_active = true;
	if (!has_slept)
		return;
	app_idle->nb_active++;
	if (app_idle->nb_active > POLLER_CHECKS)
		app_idle->ns = TAKE_OVER_NS;
	if (app_idle->nb_active > FORGET_CHECKS)
		app_idle->nb_late = 0;
}

/*
 * Get the time until the next check of an active application. If the timeout is TAKE_OVER_NS, this
 * time is the rest of the timeout, as if the application did not poll again. With a shorter timeout
 * the time doubles with each check in a row that found the application active, because the
 * application may poll until its peer has responded.
 */
static uint64_t
get_next_check_ns(const struct app_idle *app_idle, uint64_t left_ns)
{
	if (app_idle->ns == TAKE_OVER_NS || app_idle->nb_active == 0)
		return left_ns;
	return left_ns << (app_idle->nb_active - 1);
}

/*
 * Record that the application does not poll, and the service thread drives the worker. The thread
 * is late if it receives or sends frames before the application polls again.
 */
static void
note_app_idle(struct app_idle *app_idle, bool has_frames)
{
	if (app_idle->was_active) {
		app_idle->was_active = false;
		app_idle->awaits_frames = true;
		app_idle->nb_active = 0;
	}
	if (!app_idle->awaits_frames || !has_frames)
		return;
	app_idle->awaits_frames = false;
	app_idle->nb_late++;
	if (app_idle->nb_late >= LATE_MAX)
		app_idle->ns = RTE_MAX(app_idle->ns / 8, TAKE_OVER_MIN_NS);
}

static struct check_result
check_worker(struct uroce_service_thread *service, unsigned i)
{
	struct uroce_worker *worker = service->dev->worker[i];
	struct app_idle *app_idle = &service->app_idle[i];
	struct check_result check_result = { .nb = 0 };
	uint64_t next_ns = UROCE_NEVER, left_ns, now_ns;

	if (is_app_driven(service, i, &check_result.wait_ns)) {
		check_result.is_spinning = check_result.wait_ns > TAKE_OVER_NS - POLLER_IDLE_NS;
		note_app_active(app_idle, service->has_slept);
		check_result.wait_ns = get_next_check_ns(app_idle, check_result.wait_ns);
		return check_result;
	}
	/* if another thread holds the worker's lock, that thread drives the worker */
	if (uroce_lock_try(&worker->lock)) {
		uroce_stage_skip();
		check_result.nb = uroce_worker_round(worker);
		next_ns = uroce_worker_next_ns(worker);
		check_result.is_quiet =
			uroce_worker_is_at_rest(worker) && !is_app_driven(service, i, &left_ns);
		uroce_lock_release(&worker->lock);
		note_app_idle(app_idle, check_result.nb > 0);
	}
	check_result.is_shared = app_idle->ns < TAKE_OVER_NS &&
				 get_idle_ns(worker, service->check_ns) < TAKE_OVER_NS;
	now_ns = uroce_clock_ns();
	check_result.wait_ns = next_ns > now_ns ? next_ns - now_ns : 0;
	return check_result;
}

static struct check_result
check_workers(struct uroce_service_thread *service)
{
	const struct uroce_dev *dev = service->dev;
	struct check_result all = { .wait_ns = UROCE_IDLE_WAKEUP_MAX_NS,
				    .is_spinning = true,
				    .is_quiet = true };
	const uint64_t now_ns = uroce_clock_ns();
	unsigned nb_early = 0;

	service->check_ns = RTE_MAX(RTE_MIN(now_ns, service->due_ns), now_ns - WAKE_UP_NS);
	service->due_ns = UROCE_NEVER;
	for (unsigned i = 0; i < dev->nb_workers; i++) {
		const struct check_result one = check_worker(service, i);

		all.nb += one.nb;
		nb_early += service->app_idle[i].ns < TAKE_OVER_NS;
		all.is_shared |= one.is_shared;
		all.is_spinning &= one.is_spinning;
		all.is_quiet &= one.is_quiet;
		if (one.wait_ns < all.wait_ns)
			all.wait_ns = one.wait_ns;
	}
	service->has_slept = false;
	atomic_store_explicit(&service->stats.early_takeovers, nb_early, memory_order_relaxed);
	return all;
}

/*
 * Whether there is a doorbell for the service thread. Doorbells of a worker that the application
 * drives do not count: the service thread may have preempted the application between a post and a
 * poll. If the service thread did not sleep then, both threads would wait for each other.
 */
static bool
has_doorbells(const struct uroce_service_thread *service)
{
	const struct uroce_dev *dev = service->dev;

	for (unsigned i = 0; i < dev->nb_workers; i++) {
		uint64_t left_ns;

		if (atomic_load(&dev->worker[i]->doorbells) &&
		    (service->is_armed || !is_app_driven(service, i, &left_ns)))
			return true;
	}
	return false;
}

/*
 * Wait until any of the `nb` file descriptors in `fds` is ready. The first one is the eventfd.
 * @return number of ready file descriptors; -1: error, or no wait because there was work
 */
static int
wait_for_fds(struct uroce_service_thread *service, struct pollfd *fds, unsigned nb, uint64_t max_ns,
	     uint32_t wakes)
{
	const struct timespec time = { .tv_nsec = (long)max_ns };
	const uint64_t due_ns = uroce_clock_ns() + max_ns;
	eventfd_t nothing;
	int nb_ready = -1;

	atomic_store(&service->is_asleep, true);
	if (!has_doorbells(service) && !atomic_load(&service->is_stopping) &&
	    atomic_load(&service->wakes) == wakes)
		nb_ready = ppoll(fds, nb, &time, NULL);
	atomic_store(&service->is_asleep, false);
	service->has_slept = true;
	service->due_ns = nb_ready == 0 ? due_ns : UROCE_NEVER;
	if (nb_ready <= 0 || fds[0].revents == 0)
		return nb_ready;
	if (fds[0].revents &
	    POLLNVAL) /* the process has closed the eventfd, so that poll() returns at once */
		(void)nanosleep(&time, NULL);
	else
		(void)eventfd_read(service->wake_fd, &nothing);
	return nb_ready;
}

static void
sleep_timed(struct uroce_service_thread *service, uint64_t timed_ns, uint32_t wakes)
{
	struct pollfd fd = { .fd = service->wake_fd, .events = POLLIN };

	atomic_fetch_add_explicit(&service->stats.timed_sleeps, 1, memory_order_relaxed);
	(void)wait_for_fds(service, &fd, 1, timed_ns, wakes);
}

/* --- sleep until a wake-up --------------------------------------------------------------------- */

static void
disarm_wakeup(struct uroce_service_thread *service)
{
	struct uroce_dev *dev = service->dev;

	if (!service->is_armed)
		return;
	service->is_armed = false;
	for (unsigned i = 0; i < dev->nb_workers; i++)
		atomic_store_explicit(&dev->worker[i]->is_unattended, false, memory_order_relaxed);
	uroce_rx_wakeups_disarm(&service->rx_wakeups);
}

/*
 * Arm the wake-ups by received frames and by rounds of other threads. Afterwards the workers must
 * be checked once more before the thread sleeps.
 * @return whether all wake-ups are armed
 */
static bool
arm_wakeup_and_sleep(struct uroce_service_thread *service)
{
	struct uroce_dev *dev = service->dev;
	const uint64_t now_ns = uroce_clock_ns();
	bool is_ok = uroce_port_rx_wakeup(dev->port) != UROCE_RX_WAKEUP_NONE;

	for (unsigned i = 0; i < dev->nb_workers && is_ok; i++) {
		struct uroce_worker *worker = dev->worker[i];

		is_ok = uroce_lock_try(&worker->lock);
		if (!is_ok)
			break;
		service->is_armed = true;
		atomic_store_explicit(&worker->is_unattended, true, memory_order_relaxed);
		is_ok = uroce_rx_wakeup_arm(&service->rx_wakeups, worker->queue, now_ns);
		uroce_lock_release(&worker->lock);
	}
	if (!is_ok)
		disarm_wakeup(service);
	return is_ok;
}

/*
 * Sleep until a wake-up, but at most for `sleep_ns`.
 * @return whether received frames ended the sleep, according to the port
 */
static bool
sleep_until_wakeup(struct uroce_service_thread *service, uint64_t sleep_ns, uint32_t wakes)
{
	const struct uroce_dev *dev = service->dev;
	struct pollfd fds[1 + UROCE_WORKERS_MAX] = { { service->wake_fd, POLLIN, 0 } };
	bool is_noticed = false;

	for (unsigned i = 0; i < dev->nb_workers; i++)
		fds[1 + i] = (struct pollfd){ service->rx_wakeups.of[i].fd, POLLIN, 0 };
	atomic_fetch_add_explicit(&service->stats.sleeps, 1, memory_order_relaxed);
	if (wait_for_fds(service, fds, 1 + dev->nb_workers, sleep_ns, wakes) <= 0)
		return false;
	for (uint16_t i = 0; i < dev->nb_workers; i++) {
		is_noticed |= fds[1 + i].revents != 0;
		uroce_rx_wakeup_take(&service->rx_wakeups, i, fds[1 + i].revents);
	}
	if (is_noticed)
		atomic_fetch_add_explicit(&service->stats.rx_wakeups, 1, memory_order_relaxed);
	return is_noticed;
}

/* --- the thread -------------------------------------------------------------------------------- */

static void *
run_service(void *arg)
{
	struct uroce_service_thread *service = arg;
	uint64_t active_ns = uroce_clock_ns();
	uint64_t timed_ns = UROCE_IDLE_TIMED_MIN_NS, sleep_ns;
	uint32_t wakes_before = 0;
	/* Number of checks in a row that found the application spinning in poll_cq. */
	unsigned nb_spinning = 0;
	/* wake-ups are armed: if the next check of the workers finds no work, the thread sleeps */
	bool is_ready = false;
	bool is_noticed = false; /* the port woke the thread since its last check of the workers */

	(void)prctl(PR_SET_TIMERSLACK, 1000ul);
	uroce_numa_keep_near(pthread_self(), service->dev->port->socket_id);
	if (rte_lcore_id() == LCORE_ID_ANY)
		(void)rte_thread_register();
	while (!atomic_load_explicit(&service->is_stopping, memory_order_relaxed)) {
		const uint32_t wakes = atomic_load(&service->wakes);
		const struct check_result check_result = check_workers(service);
		const uint64_t now_ns = uroce_clock_ns();

		if (check_result.nb > 0 || !check_result.is_quiet)
			uroce_rx_wakeups_end_trials(&service->rx_wakeups);
		if (check_result.nb > 0 || wakes != wakes_before) {
			active_ns = now_ns;
			timed_ns = UROCE_IDLE_TIMED_MIN_NS;
			wakes_before = wakes;
			is_ready = is_noticed = false;
			disarm_wakeup(service);
		}
		if (now_ns - active_ns < UROCE_IDLE_SPIN_NS && !check_result.is_shared)
			continue;
		if (check_result.is_quiet && is_ready) {
			is_ready = false;
			is_noticed = sleep_until_wakeup(service, check_result.wait_ns, wakes);
			continue;
		}
		is_ready = check_result.is_quiet && timed_ns > UROCE_IDLE_TIMED_LAST_NS &&
			   !is_noticed && arm_wakeup_and_sleep(service);
		if (is_ready) {
			sleep_timed(service, UROCE_IDLE_TIMED_MIN_NS, wakes);
			continue;
		}
		disarm_wakeup(service);
		nb_spinning = check_result.is_spinning ? nb_spinning + 1 : 0;
		if (nb_spinning > POLLER_CHECKS) {
			sleep_timed(service, POLLER_SLEEP_NS, wakes);
			continue;
		}
		/* A long sleep limits the rate of wake-ups by the port without frames. */
		if (is_noticed)
			timed_ns = UROCE_IDLE_TIMED_MAX_NS;
		is_noticed = false;
		sleep_ns = RTE_MAX(check_result.wait_ns, UROCE_IDLE_TIMED_MIN_NS);
		sleep_timed(service, RTE_MIN(sleep_ns, timed_ns), wakes);
		timed_ns = RTE_MIN(timed_ns * 2, uroce_port_is_up(service->dev->port)
							 ? UROCE_IDLE_TIMED_MAX_NS
							 : UROCE_IDLE_TIMED_DOWN_NS);
	}
	disarm_wakeup(service);
	rte_thread_unregister();
	return NULL;
}

/* Block all signals in the service thread, because they are for the application's threads. */
static int
start_thread(struct uroce_service_thread *service)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = uroce_dpdk_thread_start(&service->thread, "uroce-service", run_service, service);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

static void
free_service(struct uroce_service_thread *service)
{
	uroce_rx_wakeups_fini(&service->rx_wakeups);
	if (service->wake_fd >= 0)
		close(service->wake_fd);
	free(service);
}

int
uroce_service_start(struct uroce_dev *dev, struct uroce_service_thread **out)
{
	struct uroce_service_thread *service = calloc(1, sizeof(*service));
	int ret;

	if (!service) {
		UROCE_LOG(ERR, mem, "no memory for the service thread");
		return -ENOMEM;
	}
	service->dev = dev;
	service->due_ns = UROCE_NEVER;
	for (unsigned i = 0; i < UROCE_WORKERS_MAX; i++)
		service->app_idle[i].ns = TAKE_OVER_NS;
	uroce_rx_wakeups_init(&service->rx_wakeups, dev->port);
	service->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = service->wake_fd < 0 ? -errno : start_thread(service);
	if (ret < 0) {
		UROCE_LOG(ERR, dev, "no service thread: %s", strerror(-ret));
		free_service(service);
		return ret;
	}
	*out = service;
	return 0;
}

void
uroce_service_stop(struct uroce_service_thread *service)
{
	if (!service)
		return;
	atomic_store(&service->is_stopping, true);
	uroce_service_wake(service);
	uroce_dpdk_thread_join(&service->thread);
	free_service(service);
}

const struct uroce_service_stats *
uroce_service_stats(const struct uroce_service_thread *service)
{
	return &service->stats;
}
