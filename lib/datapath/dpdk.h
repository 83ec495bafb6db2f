/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_DPDK_H
#define UROCE_DATAPATH_DPDK_H

/**
 * @file
 * What differs between the releases of DPDK that uroce is built with, 22.11 and later. No other file of the
 * library asks for the release.
 *
 *	before 23.11  the calls about interrupt sources and about the version are marked as experimental. A file that
 *	              uses them includes this header before any of DPDK's.
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

/** Whether the headers are those of this release, or of a later one. */
#define UROCE_DPDK_SINCE(year, month) (RTE_VERSION >= RTE_VERSION_NUM(year, month, 0, 0))

/* Telemetry: 23.03 gave the calls for unsigned integers new names. <rte_telemetry.h> declares them. */
#if UROCE_DPDK_SINCE(23, 3)
#define UROCE_DPDK_TEL_ADD_DICT  rte_tel_data_add_dict_uint
#define UROCE_DPDK_TEL_ADD_ARRAY rte_tel_data_add_array_uint
#define UROCE_DPDK_TEL_UINT      RTE_TEL_UINT_VAL
#else
#define UROCE_DPDK_TEL_ADD_DICT  rte_tel_data_add_dict_u64
#define UROCE_DPDK_TEL_ADD_ARRAY rte_tel_data_add_array_u64
#define UROCE_DPDK_TEL_UINT      RTE_TEL_U64_VAL
#endif

/** A control thread: EAL lets it run on the CPUs of the process that no lcore has. 23.11 made the call a new one. */
struct uroce_dpdk_thread {
#if UROCE_DPDK_SINCE(23, 11)
	rte_thread_t id;
#else
	pthread_t id;
#endif
	void *(*run)(void *arg); /* its result is not used */
	void *arg;
};

/** @param name  at most 15 characters. @return 0, or -errno: there is no thread */
int uroce_dpdk_thread_start(struct uroce_dpdk_thread *thread, const char *name,
			    void *(*run)(void *), void *arg);

/** Wait for its end. */
void uroce_dpdk_thread_join(struct uroce_dpdk_thread *thread);

/**
 * Whether it is known how the memif driver of the DPDK that runs here records a queue, which rx_wakeup_ring.c reads. Where
 * it is not, a port of memif gives no notices, and the service thread polls it from time to time.
 */
bool uroce_dpdk_knows_memif(void);

/**
 * The interrupt handle in that record. Releases since 26.03, and the stable releases 23.11.7, 24.11.5, 25.11.1 and
 * their successors, count errors in front of it.
 * @param words  what follows the counts of packets and bytes: the handle, or the count of errors and the handle
 * @return NULL: neither is one
 */
struct rte_intr_handle *uroce_dpdk_memif_handle(const uint64_t words[2]);

#endif /* UROCE_DATAPATH_DPDK_H */
