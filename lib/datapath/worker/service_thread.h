/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_SERVICE_THREAD_H
#define UROCE_DATAPATH_SERVICE_THREAD_H

/**
 * @file
 * The state of a service thread: for service.c, which is the thread, and for service_wake.c, which
 * wakes it.
 */

#include "datapath/dpdk.h"
#include "datapath/port/rx_wakeup.h"
#include "datapath/worker/service.h"

/** Maximum timeout: if the application has not polled for this time, the thread takes over. */
#define TAKE_OVER_NS UINT64_C(1000000)

/** The timeout of a worker's application, and its history. */
struct app_idle {
	uint64_t ns;
	bool was_apps;     /* the latest check found the application active */
	bool is_vain;      /* the thread has taken over, and no frames have arrived since */
	unsigned nb_there; /* checks in a row that found the application active */
	unsigned nb_late;  /* late takeovers in a row */
};

struct uroce_service_thread {
	struct uroce_dev *dev;
	struct uroce_dpdk_thread thread;
	int wake_fd;            /* eventfd that ends a sleep */
	_Atomic uint32_t wakes; /* count of wake-ups */
	atomic_bool is_asleep;
	atomic_bool is_stopping;
	/* Used by the service thread only. */
	struct uroce_rx_wakeups rx_wakeups;
	struct app_idle app_idle[UROCE_WORKERS_MAX]; /* timeout of the application, by worker */
	bool is_rested; /* the thread has slept since the latest check */
	bool is_armed;  /* the workers are marked as unattended, and RX wake-ups may be armed */
	struct uroce_service_stats stats;
};

#endif /* UROCE_DATAPATH_SERVICE_THREAD_H */
