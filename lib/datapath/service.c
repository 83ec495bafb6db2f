/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The service thread. It looks at each worker in turn: one that the application drove within the
 * last millisecond is left alone, the others get a round. After activity it spins briefly, because
 * what happened once mostly goes on; then it sleeps, longer each time. An application that polls on and
 * on is looked at every few milliseconds only; one that a look finds silent already is waited for no longer
 * than it may still come back. So whoever stops polling is taken over from within SPINNER_NAP_NS and the
 * little that one may be silent.
 *
 * Sleeping: it raises `is_asleep`, then looks at the doorbells once more, then waits while `wakes` (a
 * futex) is what it was before the last look at the workers. Who rings pushes the doorbell first, and
 * who wakes counts first, and both look at `is_asleep` afterwards: so one of the two sees the other.
 */

#include "datapath/service.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <rte_lcore.h>

#include "datapath/clock.h"
#include "datapath/log.h"
#include "datapath/numa.h"
#include "datapath/round.h"
#include "datapath/stage.h"

#define TAKE_OVER_NS UINT64_C(1000000) /* the application has not polled for so long */
#define SPIN_NS      UINT64_C(50000)   /* after activity */
#define NAP_MIN_NS   UINT64_C(20000)
#define NAP_MAX_NS   UINT64_C(1000000)
/*
 * While the application polls on and on, each look of ours costs it some microseconds of its CPU. So
 * after some looks that found it there we look less often.
 */
#define SPINNER_LOOKS  8
#define SPINNER_NAP_NS UINT64_C(3000000)
#define SPINNER_AGE_NS UINT64_C(50000) /* one that polls on has done so within this time */

struct uroce_service_thread {
	struct uroce_dev *dev;
	pthread_t thread;
	_Atomic uint32_t wakes; /* futex: counts wake-ups */
	atomic_bool is_asleep;
	atomic_bool is_stopping;
};

/* How a look at a worker went. */
struct glance {
	unsigned nb;      /* frames moved */
	uint64_t wait_ns; /* it can be left alone for so long */
	bool is_spinning; /* the application drives it, and polls on and on */
};

/* A worker that has frames which only we may send is not left to the application. */
static bool
is_apps(const struct uroce_worker *worker, uint64_t now_ns, uint64_t *left_ns)
{
	const uint64_t app_ns = atomic_load_explicit(&worker->app_ns, memory_order_relaxed);
	const uint64_t age_ns = now_ns > app_ns ? now_ns - app_ns : 0;

	*left_ns = age_ns < TAKE_OVER_NS ? TAKE_OVER_NS - age_ns : 0;
	return *left_ns > 0 &&
	       !(worker->dev->port->policy->may_block &&
		 atomic_load_explicit(&worker->tx.is_stalled, memory_order_relaxed));
}

static struct glance
look_after(struct uroce_worker *worker)
{
	const uint64_t now_ns = uroce_clock_ns();
	struct glance glance = { .nb = 0 };
	uint64_t next_ns;

	if (is_apps(worker, now_ns, &glance.wait_ns)) {
		glance.is_spinning = glance.wait_ns > TAKE_OVER_NS - SPINNER_AGE_NS;
		return glance;
	}
	if (uroce_lock_try(&worker->lock)) {
		uroce_stage_skip();
		glance.nb = uroce_worker_round(worker);
		uroce_lock_release(&worker->lock);
	}
	next_ns = uroce_worker_next_ns(worker);
	glance.wait_ns = next_ns > now_ns ? next_ns - now_ns : 0;
	return glance;
}

static struct glance
look_after_all(struct uroce_dev *dev)
{
	struct glance all = { .wait_ns = NAP_MAX_NS, .is_spinning = true };

	for (unsigned i = 0; i < dev->nb_workers; i++) {
		const struct glance one = look_after(dev->worker[i]);

		all.nb += one.nb;
		all.is_spinning &= one.is_spinning;
		if (one.wait_ns < all.wait_ns)
			all.wait_ns = one.wait_ns;
	}
	return all;
}

/*
 * Whether a doorbell waits for us. One of a worker that the application drives does not: it may have
 * been preempted by us between its post and its poll, and would wait for us to wait for it.
 */
static bool
has_bells(const struct uroce_dev *dev)
{
	const uint64_t now_ns = uroce_clock_ns();

	for (unsigned i = 0; i < dev->nb_workers; i++) {
		uint64_t left_ns;

		if (atomic_load(&dev->worker[i]->bells) &&
		    !is_apps(dev->worker[i], now_ns, &left_ns))
			return true;
	}
	return false;
}

static void
nap(struct uroce_service_thread *service, uint64_t nap_ns, uint32_t wakes)
{
	const struct timespec time = { .tv_nsec = (long)nap_ns };

	atomic_store(&service->is_asleep, true);
	if (!has_bells(service->dev) && !atomic_load(&service->is_stopping))
		(void)syscall(SYS_futex, &service->wakes, FUTEX_WAIT_PRIVATE, wakes, &time, NULL,
			      0);
	atomic_store(&service->is_asleep, false);
}

static void *
serve(void *arg)
{
	struct uroce_service_thread *service = arg;
	uint64_t active_ns = uroce_clock_ns();
	uint64_t nap_ns = NAP_MIN_NS;
	uint32_t wakes_before = 0;
	unsigned nb_spinning = 0; /* looks in a row that found the application polling on */

	(void)prctl(PR_SET_TIMERSLACK, 1000ul);
	if (rte_lcore_id() == LCORE_ID_ANY)
		(void)rte_thread_register();
	while (!atomic_load_explicit(&service->is_stopping, memory_order_relaxed)) {
		const uint32_t wakes = atomic_load(&service->wakes);
		const struct glance glance = look_after_all(service->dev);
		const uint64_t now_ns = uroce_clock_ns();

		if (glance.nb > 0 || wakes != wakes_before) {
			active_ns = now_ns;
			nap_ns = NAP_MIN_NS;
			wakes_before = wakes;
		}
		if (now_ns - active_ns < SPIN_NS)
			continue;
		nb_spinning = glance.is_spinning ? nb_spinning + 1 : 0;
		if (nb_spinning > SPINNER_LOOKS) {
			nap(service, SPINNER_NAP_NS, wakes);
			continue;
		}
		nap(service, RTE_MIN(RTE_MAX(glance.wait_ns, NAP_MIN_NS), nap_ns), wakes);
		nap_ns = RTE_MIN(nap_ns * 2, NAP_MAX_NS);
	}
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
	ret = rte_ctrl_thread_create(&service->thread, "uroce-service", NULL, serve, service);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret == 0)
		uroce_numa_keep_near(service->thread, service->dev->port->socket_id);
	return ret;
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
	ret = start_thread(service);
	if (ret < 0) {
		UROCE_LOG(ERR, dev, "no service thread: %s", strerror(-ret));
		free(service);
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
		(void)syscall(SYS_futex, &service->wakes, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static bool
is_app_gone(const struct uroce_worker *worker)
{
	const uint64_t app_ns = atomic_load_explicit(&worker->app_ns, memory_order_relaxed);

	return uroce_clock_ns() - app_ns > TAKE_OVER_NS;
}

void
uroce_service_nudge(struct uroce_service_thread *service, const struct uroce_worker *worker)
{
	if (atomic_load(&service->is_asleep) && is_app_gone(worker))
		uroce_service_wake(service);
}

void
uroce_service_summon(struct uroce_service_thread *service, const struct uroce_worker *worker)
{
	if (is_app_gone(worker))
		uroce_service_wake(service);
}

void
uroce_service_stop(struct uroce_service_thread *service)
{
	if (!service)
		return;
	atomic_store(&service->is_stopping, true);
	uroce_service_wake(service);
	pthread_join(service->thread, NULL);
	free(service);
}
