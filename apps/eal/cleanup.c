/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends EAL. rte_eal_cleanup() unmaps EAL's heap, and the interrupt handles of ports are in it.
 * EAL's interrupt thread goes on, and would fault if a peer of a memif port disconnects meanwhile.
 * So the interrupt thread is stopped before rte_eal_cleanup(), in a callback that does not return.
 * The callback waits for a semaphore, because the sandbox of uroced refuses pause().
 */

/* before DPDK 23.11 the calls about interrupt sources are experimental */
#define ALLOW_EXPERIMENTAL_API

#include "eal/eal.h"

#include <errno.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/eventfd.h>

#include <rte_eal.h>
#include <rte_interrupts.h>

static sem_t has_stopped;
static sem_t never; /* nothing posts it */

static void
stop_here(void *arg)
{
	(void)arg;
	(void)sem_post(&has_stopped);
	for (;;)
		(void)sem_wait(&never);
}

/*
 * Let EAL's interrupt thread run stop_here(): register stop_here() as the callback of an interrupt
 * source, which stays registered. An alarm of EAL cannot be used instead: stop_here() does not
 * return, and rte_eal_cleanup() waits for the callbacks of alarms.
 * @return whether the interrupt thread will run stop_here()
 */
static bool
register_stop(struct rte_intr_handle *handle)
{
	const int fd = eventfd(1, EFD_CLOEXEC);

	return fd >= 0 && sem_init(&has_stopped, 0, 0) == 0 && sem_init(&never, 0, 0) == 0 &&
	       rte_intr_fd_set(handle, fd) == 0 &&
	       rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT) == 0 &&
	       rte_intr_callback_register(handle, stop_here, NULL) == 0;
}

static void
stop_intr_thread(void)
{
	struct rte_intr_handle *handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);

	if (handle == NULL)
		return;
	if (register_stop(handle))
		while (sem_wait(&has_stopped) < 0 && errno == EINTR)
			;
	rte_intr_instance_free(handle); /* EAL made a copy of the handle at its registration */
}

void
eal_cleanup(void)
{
	stop_intr_thread();
	(void)rte_eal_cleanup();
}
