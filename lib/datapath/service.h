/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_SERVICE_H
#define UROCE_DATAPATH_SERVICE_H

/**
 * @file
 * The service thread of a device that its application drives: it takes over when the application
 * has not polled for a while, so that peers are answered, timers expire and one-sided operations
 * are served while the application computes or sleeps. When nothing happens it sleeps, no longer
 * than to the nearest timer and a cap; where the port gives notice of frames (rx_wakeup.h), these wake it, and
 * the cap is 0.1 s.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "datapath/worker.h"

struct uroce_service_thread;

/** How it has slept, and how it is: single writer, read by anyone as hints. */
struct uroce_service_stats {
	_Atomic uint64_t timed_sleeps; /* that end by time, whatever comes */
	_Atomic uint64_t sleeps;       /* that frames end */
	_Atomic uint64_t rx_wakeups;   /* sleeps that frames ended */
	_Atomic unsigned
		early_takeovers; /* workers that are taken over early, since frames came before polls did */
};

/** Start the thread for the device's workers. @return 0, or -errno after one logged line */
int uroce_service_start(struct uroce_dev *dev, struct uroce_service_thread **service);

/** Stop it and wait for its end. NULL is allowed. */
void uroce_service_stop(struct uroce_service_thread *service);

/** A doorbell was pushed: wake the thread, unless the application is polling. */
void uroce_service_wake_for_doorbell(struct uroce_service_thread *service,
				     const struct uroce_worker *worker);

/** The same where no doorbell was pushed, which the thread would see before it falls asleep. */
void uroce_service_wake_for_work(struct uroce_service_thread *service,
				 const struct uroce_worker *worker);

/** Wake the thread in any case. */
void uroce_service_wake(struct uroce_service_thread *service);

const struct uroce_service_stats *uroce_service_stats(const struct uroce_service_thread *service);

#endif /* UROCE_DATAPATH_SERVICE_H */
