/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_SERVICE_THREAD_H
#define UROCE_DATAPATH_SERVICE_THREAD_H

/**
 * @file
 * The state of a service thread, which two files share: service.c has the thread, and
 * service_wake.c has the functions that wake it.
 */

#include "datapath/dpdk.h"
#include "datapath/port/rx_wakeup.h"
#include "datapath/worker/service.h"

/**
 * Maximum time without a poll by the application after which the service thread drives a worker.
 */
#define TAKE_OVER_NS UINT64_C(1000000)

/**
 * The timeout of a worker in `ns`: the time in nanoseconds without a poll by the application after
 * which the service thread drives the worker. The other fields are the history that determines the
 * timeout.
 */
struct app_idle {
	uint64_t ns;
	bool was_active; /* the latest check of the worker found the application active */
	/*
	 * The service thread has begun to drive the worker instead of the application, and no
	 * frames have arrived since.
	 */
	bool awaits_frames;
	unsigned nb_active; /* number of checks in a row that found the application active */
	/*
	 * Number of times in a row that the service thread began to drive the worker too late for
	 * received frames.
	 */
	unsigned nb_late;
};

struct uroce_service_thread {
	struct uroce_dev *dev;
	struct uroce_dpdk_thread thread;
	int wake_fd;            /* eventfd that ends a sleep of the service thread */
	_Atomic uint32_t wakes; /* number of times that a thread woke the service thread */
	atomic_bool is_asleep;
	atomic_bool is_stopping;
	/* Only the service thread uses the fields from `rx_wakeups` to `is_armed`. */
	struct uroce_rx_wakeups rx_wakeups;
	/*
	 * For each worker: the time without a poll by the application after which the service
	 * thread drives the worker.
	 */
	struct app_idle app_idle[UROCE_WORKERS_MAX];
	bool has_slept; /* the service thread has slept since its latest check of the workers */
	/*
	 * Time at which the latest sleep was to end; UROCE_NEVER: another event has ended the sleep,
	 * or the workers were checked since.
	 */
	uint64_t due_ns;
	/*
	 * Time up to which the latest check of the workers counts the silence of the application.
	 * After a sleep this is the time at which the sleep was to end, but at most 100 us before
	 * the check: the thread may have taken the CPU from the application, which could not poll
	 * in between.
	 */
	uint64_t check_ns;
	bool is_armed; /* the workers are marked as unattended, so RX wake-ups may be armed */
	struct uroce_service_stats stats;
};

#endif /* UROCE_DATAPATH_SERVICE_THREAD_H */
