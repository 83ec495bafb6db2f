/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * NUMA placement by libnuma and by EAL's information about lcores. If the kernel does not support
 * NUMA, or the machine has one node, memory and threads are not placed.
 */

#include "datapath/device/numa.h"

#include <numa.h>
#include <sched.h>
#include <stdbool.h>
#include <rte_launch.h>
#include <rte_lcore.h>

int
uroce_numa_has_nodes(void)
{
	return numa_available() >= 0 && numa_max_node() > 0;
}

static bool
is_node(int node)
{
	return node >= 0 && uroce_numa_has_nodes() && node <= numa_max_node();
}

void
uroce_numa_place(void *mem, size_t len, int node)
{
	if (is_node(node))
		numa_tonode_memory(mem, len, node);
}

/*
 * Remove all CPUs from `set` that do not belong to the NUMA node `node`.
 * @return whether `set` still has CPUs
 */
static bool
keep_those_of(cpu_set_t *set, int node)
{
	struct bitmask *const cpus = numa_allocate_cpumask();
	bool has_any = false;

	if (!cpus)
		return false;
	if (numa_node_to_cpus(node, cpus) == 0) {
		for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (cpu >= cpus->size || !numa_bitmask_isbitset(cpus, cpu))
				CPU_CLR(cpu, set);
		}
		has_any = CPU_COUNT(set) > 0;
	}
	numa_free_cpumask(cpus);
	return has_any;
}

void
uroce_numa_keep_near(pthread_t thread, int node)
{
	cpu_set_t set;

	if (is_node(node) && pthread_getaffinity_np(thread, sizeof(set), &set) == 0 &&
	    keep_those_of(&set, node))
		(void)pthread_setaffinity_np(thread, sizeof(set), &set);
}

unsigned
uroce_numa_free_lcore(int node)
{
	unsigned lcore_id, other = RTE_MAX_LCORE;

	RTE_LCORE_FOREACH_WORKER(lcore_id)
	{
		if (rte_eal_get_lcore_state(lcore_id) != WAIT)
			continue;
		if (node < 0 || (int)rte_lcore_to_socket_id(lcore_id) == node)
			return lcore_id;
		if (other == RTE_MAX_LCORE)
			other = lcore_id;
	}
	return other;
}
