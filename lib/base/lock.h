/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_BASE_LOCK_H
#define UROCE_BASE_LOCK_H

/**
 * @file
 * A test-and-test-and-set spinlock for the short critical sections that access a queue. The lock is
 * rarely contended, and its holder never blocks. After a bounded number of spins a waiting thread
 * yields its processor, since the holder and the waiting thread may share a core.
 */

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

struct uroce_lock {
	atomic_bool is_held;
};

static inline bool
uroce_lock_try(struct uroce_lock *lock)
{
	return !atomic_load_explicit(&lock->is_held, memory_order_relaxed) &&
	       !atomic_exchange_explicit(&lock->is_held, true, memory_order_acquire);
}

static inline void
uroce_lock_take(struct uroce_lock *lock)
{
	for (unsigned spins = 0; !uroce_lock_try(lock); spins++) {
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
		if (spins >= 1000) {
			sched_yield();
			spins = 0;
		}
	}
}

static inline void
uroce_lock_release(struct uroce_lock *lock)
{
	atomic_store_explicit(&lock->is_held, false, memory_order_release);
}

#endif /* UROCE_BASE_LOCK_H */
