/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Errands are run by an interrupt source of our own, an eventfd that is registered once and never
 * taken back: (un)registering makes the interrupt thread look at all sources again, some time later,
 * which is what we must be able to rule out. Its memory is not from EAL's heap, so that it outlives
 * EAL's clean-up.
 */

#include "datapath/dpdk.h"
#include "datapath/errand.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <rte_cycles.h>
#include <rte_interrupts.h>

struct errand {
	void (*call)(void *arg);
	void *arg;
	atomic_bool is_done;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one errand at a time */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct rte_intr_handle *handle; /* NULL: errands are run by who asks */
static int fd = -1;
static _Atomic(struct errand *) pending;

static void
on_event(void *arg)
{
	struct errand *errand;
	eventfd_t count;

	(void)arg;
	(void)eventfd_read(fd, &count);
	errand = atomic_exchange(&pending, NULL);
	if (!errand)
		return;
	errand->call(errand->arg);
	/* The errand lies on the stack of who waits for this. */
	atomic_store_explicit(&errand->is_done, true, memory_order_release);
}

static void
open_source(void)
{
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	if (fd >= 0 && handle && rte_intr_fd_set(handle, fd) == 0 &&
	    rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT) == 0 &&
	    rte_intr_callback_register(handle, on_event, NULL) == 0)
		return;
	rte_intr_instance_free(handle);
	handle = NULL;
}

void
uroce_errand_run(void (*call)(void *arg), void *arg)
{
	struct errand errand = { .call = call, .arg = arg };

	pthread_once(&once, open_source);
	if (!handle) {
		call(arg);
		return;
	}
	pthread_mutex_lock(&lock);
	atomic_store(&pending, &errand);
	(void)eventfd_write(fd, 1);
	while (!atomic_load_explicit(&errand.is_done, memory_order_acquire))
		rte_delay_us_sleep(10);
	pthread_mutex_unlock(&lock);
}

static void
do_nothing(void *arg)
{
	(void)arg;
}

/*
 * The thread takes events by the batch. A notice that waited when the first errand was sent is in
 * the first errand's batch or before, and the second errand is in a later one.
 */
void
uroce_errand_settle(void)
{
	uroce_errand_run(do_nothing, NULL);
	uroce_errand_run(do_nothing, NULL);
}
