/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_DPDK_H
#define UROCE_DATAPATH_DPDK_H

/**
 * @file
 * The differences between the releases of DPDK that uroce supports, 22.11 and later. No other file
 * of the library depends on the release.
 *
 * Before release 23.11 DPDK marks its functions for interrupt sources, for events of devices and for
 * the version as experimental. A file that uses these functions includes this header before any
 * header of DPDK.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef ALLOW_EXPERIMENTAL_API
#define ALLOW_EXPERIMENTAL_API
#endif
#include <rte_thread.h>
#include <rte_version.h>

struct rte_intr_handle;

/** Whether the headers of DPDK are those of this release (year and month) or of a later release. */
#define UROCE_DPDK_SINCE(year, month) (RTE_VERSION >= RTE_VERSION_NUM(year, month, 0, 0))

/*
 * The telemetry functions for unsigned integers, which DPDK 23.03 renamed. <rte_telemetry.h>
 * declares them.
 */
#if UROCE_DPDK_SINCE(23, 3)
#define UROCE_DPDK_TEL_ADD_DICT  rte_tel_data_add_dict_uint
#define UROCE_DPDK_TEL_ADD_ARRAY rte_tel_data_add_array_uint
#define UROCE_DPDK_TEL_UINT      RTE_TEL_UINT_VAL
#else
#define UROCE_DPDK_TEL_ADD_DICT  rte_tel_data_add_dict_u64
#define UROCE_DPDK_TEL_ADD_ARRAY rte_tel_data_add_array_u64
#define UROCE_DPDK_TEL_UINT      RTE_TEL_U64_VAL
#endif

/**
 * A control thread. EAL runs it on those CPUs of the process that no lcore uses. DPDK 23.11
 * introduced a new function that creates such a thread.
 */
struct uroce_dpdk_thread {
#if UROCE_DPDK_SINCE(23, 11)
	rte_thread_t id;
#else
	pthread_t id;
#endif
	void *(*run)(void *arg); /* function that the thread runs; its result is not used */
	void *arg;
};

/**
 * Start a control thread that calls `run(arg)`.
 * @param name  name of the thread, at most 15 characters
 * @return 0, or -errno: the thread was not created
 */
int uroce_dpdk_thread_start(struct uroce_dpdk_thread *thread, const char *name,
			    void *(*run)(void *), void *arg);

/** Wait until the control thread has ended. */
void uroce_dpdk_thread_join(struct uroce_dpdk_thread *thread);

/**
 * Whether the layout of the memif driver's queue record is known for the running DPDK.
 * rx_wakeup_ring.c reads this record. If the layout is unknown, no file descriptor reports the
 * arrival of a frame on a memif port, and the thread that drives the device polls the port at
 * intervals.
 */
bool uroce_dpdk_knows_memif(void);

/**
 * Find the interrupt handle in a queue record of the memif driver. In releases since 26.03, and in
 * the stable releases 23.11.7, 24.11.5, 25.11.1 and their successors, a count of errors precedes
 * the handle.
 * @param words  the two 64-bit words that follow the counts of packets and bytes in the record: the
 *   handle is the first word, or the second word if the first is a count of errors
 * @return the handle; NULL: neither word is a handle
 */
struct rte_intr_handle *uroce_dpdk_memif_handle(const uint64_t words[2]);

#endif /* UROCE_DATAPATH_DPDK_H */
