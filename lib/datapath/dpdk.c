/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Control threads and the memif driver's queue record, in the variants of the supported releases of
 * DPDK.
 */

#include "datapath/dpdk.h"

#include <rte_lcore.h>
#include <rte_memory.h>

#define RELEASE(year, month) ((year)*100u + (month))

/*
 * MEMIF_OLDEST and MEMIF_NEWEST are the oldest and the newest release whose memif driver has been
 * checked.
 */
#define MEMIF_OLDEST RELEASE(22, 11)
#define MEMIF_NEWEST RELEASE(26, 7)

#if UROCE_DPDK_SINCE(23, 11)

static uint32_t
run_thread(void *arg)
{
	const struct uroce_dpdk_thread *thread = arg;

	(void)thread->run(thread->arg);
	return 0;
}

int
uroce_dpdk_thread_start(struct uroce_dpdk_thread *thread, const char *name, void *(*call)(void *),
			void *arg)
{
	thread->run = call;
	thread->arg = arg;
	return rte_thread_create_control(&thread->id, name, run_thread, thread);
}

void
uroce_dpdk_thread_join(struct uroce_dpdk_thread *thread)
{
	(void)rte_thread_join(thread->id, NULL);
}

#else

int
uroce_dpdk_thread_start(struct uroce_dpdk_thread *thread, const char *name, void *(*call)(void *),
			void *arg)
{
	thread->run = call;
	thread->arg = arg;
	return rte_ctrl_thread_create(&thread->id, name, NULL, thread->run, thread->arg);
}

void
uroce_dpdk_thread_join(struct uroce_dpdk_thread *thread)
{
	(void)pthread_join(thread->id, NULL);
}

#endif

bool
uroce_dpdk_knows_memif(void)
{
	const unsigned release = RELEASE(rte_version_year(), rte_version_month());

	return release >= MEMIF_OLDEST && release <= MEMIF_NEWEST;
}

/*
 * Find the interrupt handle of a memif queue by its value and not by DPDK's version. In some
 * releases a count of errors precedes the handle in the driver's queue record, and a distribution
 * may backport this count into any release. The driver allocates its handles from EAL's heap. A
 * count of errors never reaches the addresses of that heap.
 */
struct rte_intr_handle *
uroce_dpdk_memif_handle(const uint64_t words[2])
{
	for (unsigned i = 0; i < 2; i++) {
		void *const handle = (void *)(uintptr_t)words[i];

		if (handle && rte_mem_virt2memseg_list(handle))
			return handle;
	}
	return NULL;
}
