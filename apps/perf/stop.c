/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals that end a run. A second signal has its default effect and ends the process at once.
 * SIGPIPE is ignored: some drivers, such as virtio, write to sockets whose other end may have
 * closed, and check the return value instead.
 */

#include "stop.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_bool is_asked;
static atomic_int signal_seen;

static void
on_signal(int number)
{
	atomic_store_explicit(&signal_seen, number, memory_order_relaxed);
	atomic_store_explicit(&is_asked, true, memory_order_relaxed);
}

void
stop_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

void
stop_ask(void)
{
	atomic_store_explicit(&is_asked, true, memory_order_relaxed);
}

void
stop_withdraw(void)
{
	atomic_store_explicit(&signal_seen, 0, memory_order_relaxed);
	atomic_store_explicit(&is_asked, false, memory_order_relaxed);
}

bool
stop_is_asked(void)
{
	return atomic_load_explicit(&is_asked, memory_order_relaxed);
}

int
stop_signal(void)
{
	return atomic_load_explicit(&signal_seen, memory_order_relaxed);
}
