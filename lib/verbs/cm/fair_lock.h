/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_FAIR_LOCK_H
#define UROCE_VERBS_CM_FAIR_LOCK_H

/**
 * @file
 * A fair lock, for a thread that takes the lock again and again. When this thread releases the
 * lock, a waiting thread gets the lock next. With a plain mutex the thread that has just released
 * the mutex would often take it first again.
 */

#include <pthread.h>

struct uroce_fair_lock {
	/* mutex held by the thread that waits for `lock` and gets it next */
	pthread_mutex_t entry;
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
