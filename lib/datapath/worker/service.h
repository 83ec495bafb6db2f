/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_SERVICE_H
#define UROCE_DATAPATH_SERVICE_H

/**
 * @file
 * The service thread of a device that has the key drive=app: threads of the application drive the
 * workers of this device when they poll a CQ. The service thread drives a worker if the application
 * has not polled for a while. So responses are sent, timers expire and one-sided operations are
 * executed while the application computes or sleeps.
 *
 * The service thread sleeps when there is no activity, at most until the nearest timer or an upper
 * limit. If the port has RX wake-ups (rx_wakeup.h), received frames wake the thread, and the limit
 * is 0.1 s.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "datapath/worker/worker.h"

struct uroce_service_thread;

/**
 * Statistics of the service thread's sleeps. The service thread writes them; any thread may read
 * them as hints.
 */
struct uroce_service_stats {
	/* Number of sleeps that end after a time, whatever arrives. */
	_Atomic uint64_t timed_sleeps;
	/* number of sleeps until a wake-up, which received frames may end */
	_Atomic uint64_t sleeps;
	/* number of sleeps until a wake-up that received frames have ended */
	_Atomic uint64_t rx_wakeups;
	/*
	 * Number of workers that the service thread drives after less than TAKE_OVER_NS without a
	 * poll by the application, because it earlier drove them too late for received frames.
	 */
	_Atomic unsigned early_takeovers;
};

/**
 * Start the service thread of a device.
 * @return 0, or -errno after one logged line
 */
int uroce_service_start(struct uroce_dev *dev, struct uroce_service_thread **service);

/** Stop the service thread and wait for its end. `service` may be NULL. */
void uroce_service_stop(struct uroce_service_thread *service);

/** Wake the service thread for a doorbell that was pushed, unless the application is polling. */
void uroce_service_wake_for_doorbell(struct uroce_service_thread *service,
				     const struct uroce_worker *worker);

/**
 * Wake the service thread as uroce_service_wake_for_doorbell() does, but for work without a
 * doorbell. The thread checks doorbells before it sleeps, but does not check for other work.
 */
void uroce_service_wake_for_work(struct uroce_service_thread *service,
				 const struct uroce_worker *worker);

/** Wake the service thread, whether or not the application is polling. */
void uroce_service_wake(struct uroce_service_thread *service);

const struct uroce_service_stats *uroce_service_stats(const struct uroce_service_thread *service);

#endif /* UROCE_DATAPATH_SERVICE_H */
