/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_FAIR_LOCK_H
#define UROCE_VERBS_CM_FAIR_LOCK_H

/**
 * @file
 * A lock for a thread that takes it again and again. The next one that gets the lock is the thread
 * that waits, and not the one that has just released it, which would win otherwise.
 */

#include <pthread.h>

struct uroce_fair_lock {
	pthread_mutex_t entry; /* held by the thread that waits for `lock` */
	pthread_mutex_t lock;
};

static inline void
uroce_fair_lock_init(struct uroce_fair_lock *lock)
{
	pthread_mutex_init(&lock->entry, NULL);
	pthread_mutex_init(&lock->lock, NULL);
}

static inline void
uroce_fair_lock_destroy(struct uroce_fair_lock *lock)
{
	pthread_mutex_destroy(&lock->lock);
	pthread_mutex_destroy(&lock->entry);
}

static inline void
uroce_fair_lock_get(struct uroce_fair_lock *lock)
{
	pthread_mutex_lock(&lock->entry);
	pthread_mutex_lock(&lock->lock);
	pthread_mutex_unlock(&lock->entry);
}

static inline void
uroce_fair_lock_release(struct uroce_fair_lock *lock)
{
	pthread_mutex_unlock(&lock->lock);
}

#endif /* UROCE_VERBS_CM_FAIR_LOCK_H */
