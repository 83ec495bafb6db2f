/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The service thread. It looks at each worker in turn: one that the application drove within the
 * last millisecond is left alone, the others get a round. After activity it spins briefly, because
 * what happened once mostly goes on; then it sleeps, longer each time. An application that polls on and
 * on is looked at every few milliseconds only; one that a look finds silent already is waited for no longer
 * than it may still come back. So whoever stops polling is taken over from within POLLER_SLEEP_NS and the
 * little that one may be silent.
 *
 * An application may also wait in other ways than by polling: it watches memory that its peer writes to, or
 * computes. Who takes over and has frames before it is back was late, and after some times waits for less. It may
 * poll in between, for a completion that its peer's service thread is as late with; only one that many looks in
 * a row find there was kept from polling, and is waited for as long as ever. Such a one shares its CPU with us, maybe,
 * so that we do not spin while it is about, and the longer it is there the later we look again.
 *
 * Napping: it raises `is_asleep`, then looks at the doorbells once more, and whether `wakes` is what it was
 * before the last look at the workers, then waits for the eventfd. Who rings pushes the doorbell first, and
 * who wakes counts first, and both look at `is_asleep` afterwards: so one of the two sees the other.
 *
 * Sleeping: where the port gives notice of frames (rx_wakeup.h) and all workers are at rest, with nobody about,
 * naps end early: it has notices given, marks the workers as unattended, naps once more for the least time,
 * looks again, and if there still is nothing waits for the eventfd, the port and the nearest timer alone.
 * A round of the application's wakes it, by that mark: it may leave a timer behind. So does each doorbell.
 */

#include "datapath/service.h"

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
#include "datapath/log.h"
#include "datapath/rx_wakeup.h"
#include "datapath/numa.h"
#include "datapath/port.h"
#include "datapath/round.h"
#include "datapath/stage.h"

#define TAKE_OVER_NS        UINT64_C(1000000) /* the application has not polled for so long, at the most */
#define TAKE_OVER_MIN_NS    UINT64_C(20000) /* the same, at the least */
#define LATE_MAX            4               /* times that it is too long before it is less */
#define FORGET_CHECKS       32 /* that find it there, and it is not known as late any more */
#define SPIN_NS             UINT64_C(50000) /* after activity */
#define TIMED_SLEEP_MIN_NS  UINT64_C(20000)
#define TIMED_SLEEP_MAX_NS  UINT64_C(1000000)
#define TIMED_SLEEP_DOWN_NS UINT64_C(5000000) /* while the port has no link */
/*
 * After naps of this length it lies down. Who sends pays some microseconds to wake it, which a program
 * that sends every now and then should not.
 */
#define TIMED_SLEEP_LAST_NS UINT64_C(80000)
#define SLEEP_MAX_NS        UINT64_C(100000000) /* the link is looked at meanwhile */
/*
 * While the application polls on and on, each look of ours costs it some microseconds of its CPU. So
 * after some looks that found it there we look less often.
 */
#define POLLER_CHECKS   8
#define POLLER_SLEEP_NS UINT64_C(3000000)
#define POLLER_IDLE_NS  UINT64_C(50000) /* one that polls on has done so within this time */

/* How long the application of a worker may be silent. */
struct app_idle {
	uint64_t ns;
	bool was_apps;     /* the last look found the application there */
	bool is_vain;      /* we have taken over since, and no frames have come */
	unsigned nb_there; /* looks in a row that did */
	unsigned nb_late;  /* times in a row that we took over, and not in vain */
};

struct uroce_service_thread {
	struct uroce_dev *dev;
	struct uroce_dpdk_thread thread;
	int wake_fd;            /* eventfd: ends a nap */
	_Atomic uint32_t wakes; /* counts wake-ups */
	atomic_bool is_asleep;
	atomic_bool is_stopping;
	/* the thread's own */
	struct uroce_rx_wakeups rx_wakeups;
	struct app_idle app_idle[UROCE_WORKERS_MAX]; /* by worker */
	bool is_rested;                              /* it has waited since the last look */
	bool is_armed; /* workers are marked as unattended, notices may be given */
	struct uroce_service_stats stats;
};

/* How a look at a worker went. */
struct check_result {
	unsigned nb;      /* frames moved */
	uint64_t wait_ns; /* it can be left alone for so long */
	bool is_spinning; /* the application drives it, and polls on and on */
	bool is_shared;   /* the application is about, and comes too late for frames */
	bool is_quiet;    /* nobody is about, and it is at rest */
};

static uint64_t
get_idle_ns(const struct uroce_worker *worker, uint64_t now_ns)
{
	const uint64_t app_ns = atomic_load_explicit(&worker->app_ns, memory_order_relaxed);

	return now_ns > app_ns ? now_ns - app_ns : 0;
}

/*
 * A worker that has frames which only we may send is not left to the application. Nor is one with an acknowledgement that
 * was left to its next round, if that does not come at once: the peer may wait for it.
 */
static bool
is_app_driven(const struct uroce_worker *worker, const struct app_idle *app_idle, uint64_t now_ns,
	      uint64_t *left_ns)
{
	const uint64_t age_ns = get_idle_ns(worker, now_ns);
	const bool is_owing = age_ns > TAKE_OVER_MIN_NS && uroce_delayed_ack_is_left(worker);
	const uint64_t may_ns = is_owing ? TAKE_OVER_MIN_NS : app_idle->ns;

	*left_ns = age_ns < may_ns ? may_ns - age_ns : 0;
	return *left_ns > 0 &&
	       !(worker->dev->port->policy->may_block &&
		 atomic_load_explicit(&worker->tx.is_stalled, memory_order_relaxed));
}

/* The application is there. That it is when we spin, just after it was busy, tells no more. */
static void
note_app_active(struct app_idle *app_idle, bool is_rested)
{
	if (app_idle->is_vain) {
		app_idle->nb_late = 0;
		app_idle->ns = RTE_MIN(app_idle->ns * 2, TAKE_OVER_NS);
	}
	app_idle->is_vain = false;
	app_idle->was_apps = true;
	if (!is_rested)
		return;
	app_idle->nb_there++;
	if (app_idle->nb_there > POLLER_CHECKS)
		app_idle->ns = TAKE_OVER_NS;
	if (app_idle->nb_there > FORGET_CHECKS)
		app_idle->nb_late = 0;
}

/*
 * When to look again at an application that is there: when it is over, if it were to be silent from now on. Who is
 * served in haste may poll for as long as its peer takes, and is looked at later each time.
 */
static uint64_t
get_next_check_ns(const struct app_idle *app_idle, uint64_t left_ns)
{
	if (app_idle->ns == TAKE_OVER_NS || app_idle->nb_there == 0)
		return left_ns;
	return left_ns << (app_idle->nb_there - 1);
}

/* It was, and we have taken over; are there frames, or do they come before it is back? */
static void
note_app_idle(struct app_idle *app_idle, bool has_frames)
{
	if (app_idle->was_apps) {
		app_idle->was_apps = false;
		app_idle->is_vain = true;
		app_idle->nb_there = 0;
	}
	if (!app_idle->is_vain || !has_frames)
		return;
	app_idle->is_vain = false;
	app_idle->nb_late++;
	if (app_idle->nb_late >= LATE_MAX)
		app_idle->ns = RTE_MAX(app_idle->ns / 8, TAKE_OVER_MIN_NS);
}

static struct check_result
check_worker(struct uroce_worker *worker, struct app_idle *app_idle, bool is_rested)
{
	const uint64_t now_ns = uroce_clock_ns();
	struct check_result check_result = { .nb = 0 };
	uint64_t next_ns = UROCE_NEVER, left_ns;

	if (is_app_driven(worker, app_idle, now_ns, &check_result.wait_ns)) {
		check_result.is_spinning = check_result.wait_ns > TAKE_OVER_NS - POLLER_IDLE_NS;
		note_app_active(app_idle, is_rested);
		check_result.wait_ns = get_next_check_ns(app_idle, check_result.wait_ns);
		return check_result;
	}
	/* else who drives will see to it */
	if (uroce_lock_try(&worker->lock)) {
		uroce_stage_skip();
		check_result.nb = uroce_worker_round(worker);
		next_ns = uroce_worker_next_ns(worker);
		check_result.is_quiet = uroce_worker_is_at_rest(worker) &&
					!is_app_driven(worker, app_idle, now_ns, &left_ns);
		uroce_lock_release(&worker->lock);
		note_app_idle(app_idle, check_result.nb > 0);
	}
	check_result.is_shared =
		app_idle->ns < TAKE_OVER_NS && get_idle_ns(worker, now_ns) < TAKE_OVER_NS;
	check_result.wait_ns = next_ns > now_ns ? next_ns - now_ns : 0;
	return check_result;
}

static struct check_result
check_workers(struct uroce_service_thread *service)
{
	const struct uroce_dev *dev = service->dev;
	struct check_result all = { .wait_ns = SLEEP_MAX_NS,
				    .is_spinning = true,
				    .is_quiet = true };
	unsigned nb_hasty = 0;

	for (unsigned i = 0; i < dev->nb_workers; i++) {
		const struct check_result one =
			check_worker(dev->worker[i], &service->app_idle[i], service->is_rested);

		all.nb += one.nb;
		nb_hasty += service->app_idle[i].ns < TAKE_OVER_NS;
		all.is_shared |= one.is_shared;
		all.is_spinning &= one.is_spinning;
		all.is_quiet &= one.is_quiet;
		if (one.wait_ns < all.wait_ns)
			all.wait_ns = one.wait_ns;
	}
	service->is_rested = false;
	atomic_store_explicit(&service->stats.early_takeovers, nb_hasty, memory_order_relaxed);
	return all;
}

/*
 * Whether a doorbell waits for us. One of a worker that the application drives does not: it may have
 * been preempted by us between its post and its poll, and would wait for us to wait for it.
 */
static bool
has_doorbells(const struct uroce_service_thread *service)
{
	const struct uroce_dev *dev = service->dev;
	const uint64_t now_ns = uroce_clock_ns();

	for (unsigned i = 0; i < dev->nb_workers; i++) {
		uint64_t left_ns;

		if (atomic_load(&dev->worker[i]->doorbells) &&
		    (service->is_armed ||
		     !is_app_driven(dev->worker[i], &service->app_idle[i], now_ns, &left_ns)))
			return true;
	}
	return false;
}

static void
count_sleep(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* Wait for any of these, of which the eventfd is the first. @return how many came; -1: it was not waited */
static int
wait_for_fds(struct uroce_service_thread *service, struct pollfd *fds, unsigned nb, uint64_t max_ns,
	     uint32_t wakes)
{
	const struct timespec time = { .tv_nsec = (long)max_ns };
	eventfd_t nothing;
	int nb_come = -1;

	atomic_store(&service->is_asleep, true);
	if (!has_doorbells(service) && !atomic_load(&service->is_stopping) &&
	    atomic_load(&service->wakes) == wakes)
		nb_come = ppoll(fds, nb, &time, NULL);
	atomic_store(&service->is_asleep, false);
	service->is_rested = true;
	if (nb_come <= 0 || fds[0].revents == 0)
		return nb_come;
	if (fds[0].revents &
	    POLLNVAL) /* the process has closed it: poll() does not wait any more */
		(void)nanosleep(&time, NULL);
	else
		(void)eventfd_read(service->wake_fd, &nothing);
	return nb_come;
}

static void
sleep_timed(struct uroce_service_thread *service, uint64_t timed_ns, uint32_t wakes)
{
	struct pollfd fd = { .fd = service->wake_fd, .events = POLLIN };

	count_sleep(&service->stats.timed_sleeps);
	(void)wait_for_fds(service, &fd, 1, timed_ns, wakes);
}

/* --- lying down -------------------------------------------------------------------------------- */

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

/* Whether frames give notice from now on, and rounds of others do. To be looked again after that. */
static bool
arm_wakeup_and_sleep(struct uroce_service_thread *service)
{
	struct uroce_dev *dev = service->dev;
	const uint64_t now_ns = uroce_clock_ns();
	bool is_ok = dev->port->policy->rx_wakeup != UROCE_RX_WAKEUP_NONE;

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

/* @return whether frames ended it, as the port says */
static bool
sleep_until_wakeup(struct uroce_service_thread *service, uint64_t sleep_ns, uint32_t wakes)
{
	const struct uroce_dev *dev = service->dev;
	struct pollfd fds[1 + UROCE_WORKERS_MAX] = { { service->wake_fd, POLLIN, 0 } };
	bool is_noticed = false;

	for (unsigned i = 0; i < dev->nb_workers; i++)
		fds[1 + i] = (struct pollfd){ service->rx_wakeups.of[i].fd, POLLIN, 0 };
	count_sleep(&service->stats.sleeps);
	if (wait_for_fds(service, fds, 1 + dev->nb_workers, sleep_ns, wakes) <= 0)
		return false;
	for (uint16_t i = 0; i < dev->nb_workers; i++) {
		is_noticed |= fds[1 + i].revents != 0;
		uroce_rx_wakeup_take(&service->rx_wakeups, i, fds[1 + i].revents);
	}
	if (is_noticed)
		count_sleep(&service->stats.rx_wakeups);
	return is_noticed;
}

/* --- the thread -------------------------------------------------------------------------------- */

static uint64_t
get_max_sleep_ns(const struct uroce_service_thread *service)
{
	return uroce_port_is_up(service->dev->port) ? TIMED_SLEEP_MAX_NS : TIMED_SLEEP_DOWN_NS;
}

static void *
run_service(void *arg)
{
	struct uroce_service_thread *service = arg;
	uint64_t active_ns = uroce_clock_ns();
	uint64_t timed_ns = TIMED_SLEEP_MIN_NS;
	uint32_t wakes_before = 0;
	unsigned nb_spinning = 0; /* looks in a row that found the application polling on */
	bool is_ready = false;    /* to sleep, if this look finds nothing */
	bool is_noticed = false;  /* by the port, before this look */

	(void)prctl(PR_SET_TIMERSLACK, 1000ul);
	uroce_numa_keep_near(pthread_self(), service->dev->port->socket_id);
	if (rte_lcore_id() == LCORE_ID_ANY)
		(void)rte_thread_register();
	while (!atomic_load_explicit(&service->is_stopping, memory_order_relaxed)) {
		const uint32_t wakes = atomic_load(&service->wakes);
		const struct check_result check_result = check_workers(service);
		const uint64_t now_ns = uroce_clock_ns();

		if (check_result.nb > 0 || wakes != wakes_before) {
			active_ns = now_ns;
			timed_ns = TIMED_SLEEP_MIN_NS;
			wakes_before = wakes;
			is_ready = is_noticed = false;
			disarm_wakeup(service);
		}
		if (now_ns - active_ns < SPIN_NS && !check_result.is_shared)
			continue;
		if (check_result.is_quiet && is_ready) {
			is_ready = false;
			is_noticed = sleep_until_wakeup(service, check_result.wait_ns, wakes);
			continue;
		}
		is_ready = check_result.is_quiet && timed_ns > TIMED_SLEEP_LAST_NS && !is_noticed &&
			   arm_wakeup_and_sleep(service);
		if (is_ready) {
			sleep_timed(service, TIMED_SLEEP_MIN_NS, wakes);
			continue;
		}
		disarm_wakeup(service);
		nb_spinning = check_result.is_spinning ? nb_spinning + 1 : 0;
		if (nb_spinning > POLLER_CHECKS) {
			sleep_timed(service, POLLER_SLEEP_NS, wakes);
			continue;
		}
		if (is_noticed) /* of nothing, which should not go on and on */
			timed_ns = TIMED_SLEEP_MAX_NS;
		is_noticed = false;
		sleep_timed(service,
			    RTE_MIN(RTE_MAX(check_result.wait_ns, TIMED_SLEEP_MIN_NS), timed_ns),
			    wakes);
		timed_ns = RTE_MIN(timed_ns * 2, get_max_sleep_ns(service));
	}
	disarm_wakeup(service);
	rte_thread_unregister();
	return NULL;
}

/* Signals are the application's: its threads get them, this one never. */
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
uroce_service_wake(struct uroce_service_thread *service)
{
	atomic_fetch_add(&service->wakes, 1);
	if (atomic_load(&service->is_asleep))
		(void)eventfd_write(service->wake_fd, 1);
}

/* Whether the service thread is the one that sees to the worker; while it is down, in any case. */
static bool
is_serviced(const struct uroce_worker *worker)
{
	const uint64_t app_ns = atomic_load_explicit(&worker->app_ns, memory_order_relaxed);

	return atomic_load_explicit(&worker->is_unattended, memory_order_relaxed) ||
	       uroce_clock_ns() - app_ns > TAKE_OVER_NS;
}

void
uroce_service_wake_for_doorbell(struct uroce_service_thread *service,
				const struct uroce_worker *worker)
{
	if (atomic_load(&service->is_asleep) && is_serviced(worker))
		uroce_service_wake(service);
}

void
uroce_service_wake_for_work(struct uroce_service_thread *service, const struct uroce_worker *worker)
{
	if (is_serviced(worker))
		uroce_service_wake(service);
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
