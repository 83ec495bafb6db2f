/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fault guard. When a receive or transmit burst under the guard raises SIGSEGV or SIGBUS, the
 * signal handler jumps to a point before the burst.
 *
 * The jump is safe because of the code that it interrupts: the copy loops of a driver, which hold
 * no lock while they touch the peer's memory. The driver initializes its state again with the next
 * connection.
 *
 * The signal mask is not saved and not changed (SA_NODEFER), so a burst needs no system call. Only
 * before the first burst of a thread SIGSEGV and SIGBUS are unblocked.
 */

#include "datapath/port/fault_guard.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <rte_branch_prediction.h>
#include <rte_ethdev.h>

static const int guarded[] = { SIGSEGV, SIGBUS };

static struct sigaction old_action[RTE_DIM(guarded)];
static pthread_once_t install_once = PTHREAD_ONCE_INIT;
static int install_ret;

/* The fault guard of one thread, with the point to which the signal handler jumps. */
struct guard {
	sigjmp_buf way_out;
	atomic_bool is_inside;
	bool is_open; /* SIGSEGV and SIGBUS are unblocked in the thread */
};

static _Thread_local struct guard thread_guard;

/*
 * Key of thread-specific data by which the signal handler finds the struct guard of its thread. The
 * handler may run in any thread, at any point. It must not allocate memory. If the library was
 * loaded at run time, the first access to a thread-local variable may allocate memory, so the
 * handler uses this key instead.
 */
static pthread_key_t guard_key;

/*
 * Handle a fault outside of a guarded burst as if this handler were not installed: call the
 * previous handler, or restore the previous action.
 */
static void
chain_handler(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *was = &old_action[sig == guarded[0] ? 0 : 1];

	if (was->sa_flags & SA_SIGINFO)
		was->sa_sigaction(sig, info, context);
	else if (was->sa_handler != SIG_DFL && was->sa_handler != SIG_IGN)
		was->sa_handler(sig);
	/*
	 * Restore the previous action. The instruction then faults again, and the previous action
	 * handles the fault.
	 */
	else
		(void)sigaction(sig, was, NULL);
}

static void
on_fault(int sig, siginfo_t *info, void *context)
{
	struct guard *const guard = pthread_getspecific(guard_key);

	if (!guard || !atomic_load_explicit(&guard->is_inside, memory_order_relaxed)) {
		chain_handler(sig, info, context);
		return;
	}
	atomic_store_explicit(&guard->is_inside, false, memory_order_relaxed);
	siglongjmp(guard->way_out, 1);
}

static void
install_handler(void)
{
	struct sigaction action = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK,
	};

	install_ret = -pthread_key_create(&guard_key, NULL);
	sigemptyset(&action.sa_mask);
	for (unsigned i = 0; i < RTE_DIM(guarded) && install_ret == 0; i++) {
		if (sigaction(guarded[i], &action, &old_action[i]) < 0)
			install_ret = -errno;
	}
}

int
uroce_fault_guard_install(void)
{
	pthread_once(&install_once, install_handler);
	return install_ret;
}

/*
 * Unblock SIGSEGV and SIGBUS in this thread. A program may block signals in its threads, and a
 * fault whose signal is blocked ends the process.
 */
static void
unblock_signals(struct guard *guard)
{
	sigset_t faults;

	sigemptyset(&faults);
	for (unsigned i = 0; i < RTE_DIM(guarded); i++)
		sigaddset(&faults, guarded[i]);
	pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
	guard->is_open = pthread_setspecific(guard_key, guard) == 0;
}

static void
enter_guard(struct guard *guard)
{
	if (unlikely(!guard->is_open))
		unblock_signals(guard);
	atomic_store_explicit(&guard->is_inside, true, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
}

static void
leave_guard(struct guard *guard)
{
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&guard->is_inside, false, memory_order_relaxed);
}

uint16_t
uroce_fault_guard_rx(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames, uint16_t nb)
{
	struct guard *const guard = &thread_guard;
	uint16_t nb_rx;

	if (sigsetjmp(guard->way_out, 0))
		return 0;
	enter_guard(guard);
	nb_rx = rte_eth_rx_burst(port_id, queue, frames, nb);
	leave_guard(guard);
	return nb_rx;
}

uint16_t
uroce_fault_guard_tx(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames, uint16_t nb)
{
	struct guard *const guard = &thread_guard;
	uint16_t nb_tx;

	if (sigsetjmp(guard->way_out, 0))
		return UINT16_MAX;
	enter_guard(guard);
	nb_tx = rte_eth_tx_burst(port_id, queue, frames, nb);
	leave_guard(guard);
	return nb_tx;
}

bool
uroce_fault_guard_swap(_Atomic uint16_t *at, uint16_t value, uint16_t *was)
{
	struct guard *const guard = &thread_guard;
	uint16_t found;

	if (sigsetjmp(guard->way_out, 0))
		return false;
	enter_guard(guard);
	found = atomic_exchange(at, value);
	leave_guard(guard);
	if (was)
		*was = found;
	return true;
}

bool
uroce_fault_guard_is(const uint32_t *at, uint32_t value)
{
	struct guard *const guard = &thread_guard;
	bool is_it;

	if (sigsetjmp(guard->way_out, 0))
		return false;
	enter_guard(guard);
	is_it = *at == value;
	leave_guard(guard);
	return is_it;
}
