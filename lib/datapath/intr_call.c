/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Interrupt thread calls use an interrupt source of their own: an eventfd that is registered once
 * and never unregistered. Each registration or unregistration makes the interrupt thread read the
 * list of sources again, some time later. uroce_intr_call_synchronize() waits until the thread has
 * read the list. So this function must not register or unregister a source itself. The source's
 * memory is not from EAL's heap, so that it outlives EAL's cleanup.
 */

#include "datapath/dpdk.h"
#include "datapath/intr_call.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <rte_cycles.h>
#include <rte_interrupts.h>

struct intr_call {
	void (*call)(void *arg);
	void *arg;
	atomic_bool is_done;
};

/*
 * The lock is held during an interrupt thread call, so that there is only one such call at a time.
 */
static pthread_mutex_t call_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t source_once = PTHREAD_ONCE_INIT;
/*
 * Interrupt source of the interrupt thread calls; NULL: the source could not be registered, and
 * calls run in the calling thread.
 */
static struct rte_intr_handle *intr_handle;
static int event_fd = -1;
static _Atomic(struct intr_call *) pending_call;

static void
run_pending_call(void *arg)
{
	struct intr_call *intr_call;
	eventfd_t count;

	(void)arg;
	(void)eventfd_read(event_fd, &count);
	intr_call = atomic_exchange(&pending_call, NULL);
	if (!intr_call)
		return;
	intr_call->call(intr_call->arg);
	/*
	 * The thread that waits in uroce_intr_call_run() returns when it sees is_done. `intr_call`
	 * is on the stack of that thread, and so is invalid from then on.
	 */
	atomic_store_explicit(&intr_call->is_done, true, memory_order_release);
}

static void
register_source(void)
{
	event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	intr_handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	if (event_fd >= 0 && intr_handle && rte_intr_fd_set(intr_handle, event_fd) == 0 &&
	    rte_intr_type_set(intr_handle, RTE_INTR_HANDLE_EXT) == 0 &&
	    rte_intr_callback_register(intr_handle, run_pending_call, NULL) == 0)
		return;
	rte_intr_instance_free(intr_handle);
	intr_handle = NULL;
}

void
uroce_intr_call_run(void (*call)(void *arg), void *arg)
{
	struct intr_call intr_call = { .call = call, .arg = arg };

	pthread_once(&source_once, register_source);
	if (!intr_handle) {
		call(arg);
		return;
	}
	pthread_mutex_lock(&call_lock);
	atomic_store(&pending_call, &intr_call);
	(void)eventfd_write(event_fd, 1);
	while (!atomic_load_explicit(&intr_call.is_done, memory_order_acquire))
		rte_delay_us_sleep(10);
	pthread_mutex_unlock(&call_lock);
}

static void
run_empty_call(void *arg)
{
	(void)arg;
}

/*
 * Wait until the interrupt thread has read the list of interrupt sources again, by two calls. The
 * interrupt thread takes events in batches. A notification that the list has changed, if it was
 * pending when the first call was sent, is in the batch of that call, or in an earlier one. The
 * interrupt thread reads the list again before it takes the next batch, which has the second call.
 */
void
uroce_intr_call_synchronize(void)
{
	uroce_intr_call_run(run_empty_call, NULL);
	uroce_intr_call_run(run_empty_call, NULL);
}
