/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_EXAMPLES_EMBED_CONTROL_H
#define APPS_EXAMPLES_EMBED_CONTROL_H

/**
 * @file
 * Creates a control thread of EAL, which runs on the CPUs that no lcore uses. DPDK 23.11 and newer
 * versions have another call for this than older versions.
 */

#include <rte_version.h>

#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)

#include <rte_thread.h>

typedef rte_thread_t control_thread_t;
typedef uint32_t control_result_t; /* return type of the function that a control thread runs */

static inline int
control_create(control_thread_t *thread, const char *name, rte_thread_func run)
{
	return rte_thread_create_control(thread, name, run, NULL);
}

static inline void
control_join(control_thread_t thread)
{
	(void)rte_thread_join(thread, NULL);
}

#else

#include <pthread.h>
#include <rte_lcore.h>

typedef pthread_t control_thread_t;
typedef void *control_result_t;

static inline int
control_create(control_thread_t *thread, const char *name, control_result_t (*run)(void *))
{
	return rte_ctrl_thread_create(thread, name, NULL, run, NULL);
}

static inline void
control_join(control_thread_t thread)
{
	(void)pthread_join(thread, NULL);
}

#endif

#endif /* APPS_EXAMPLES_EMBED_CONTROL_H */
