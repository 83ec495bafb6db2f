/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The functions that wake the service thread. service.c explains the order of their memory
 * accesses.
 */

#include <sys/eventfd.h>

#include "datapath/clock.h"
#include "datapath/worker/round.h"
#include "datapath/worker/service_thread.h"

void
uroce_service_wake(struct uroce_service_thread *service)
{
	atomic_fetch_add(&service->wakes, 1);
	if (atomic_load(&service->is_asleep))
		(void)eventfd_write(service->wake_fd, 1);
}

/*
 * Whether the service thread must drive the worker now. While the service thread sleeps until a
 * wake-up, the result is true for every worker.
 */
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
