/* SPDX-License-Identifier: BSD-3-Clause */
/* The descriptor that polls readable when work of connection management is due (wakeup.h). */

#include "verbs/cm/wakeup.h"

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cm/cm.h"

#define NS_PER_S UINT64_C(1000000000)

/* Lock that guards the creation of `epoll_fd`, `notify_fd` and `timer_fd`. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

static int epoll_fd = -1; /* epoll descriptor; set last, after `notify_fd` and `timer_fd` */
static int notify_fd = -1;
static int timer_fd = -1;

static int
watch_cm_fd(int at, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(at, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static void
close_if_open(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int
make_wakeup(void)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);
	int ret = fd < 0 ? -errno : 0;

	notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ret == 0)
		ret = notify_fd < 0 ? -errno : watch_cm_fd(fd, notify_fd);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (ret == 0)
		ret = timer_fd < 0 ? -errno : watch_cm_fd(fd, timer_fd);
	if (ret == 0) {
		__atomic_store_n(&epoll_fd, fd, __ATOMIC_RELEASE);
		return 0;
	}
	close_if_open(&notify_fd);
	close_if_open(&timer_fd);
	close_if_open(&fd);
	return ret;
}

int
uroce_vcm_wakeup_open(void)
{
	int ret = 0;

	pthread_mutex_lock(&open_lock);
	if (epoll_fd < 0)
		ret = make_wakeup();
	pthread_mutex_unlock(&open_lock);
	return ret;
}

int
uroce_vcm_wakeup_fd(void)
{
	return __atomic_load_n(&epoll_fd, __ATOMIC_ACQUIRE);
}

void
uroce_vcm_wakeup_notify(void *unused)
{
	(void)unused;
	(void)eventfd_write(notify_fd, 1);
}

void
uroce_vcm_wakeup_clear(void)
{
	eventfd_t count;
	uint64_t expirations;

	(void)eventfd_read(notify_fd, &count);
	/* read() fails with EAGAIN if the timer has not expired */
	if (read(timer_fd, &expirations, sizeof(expirations)) < 0)
		return;
}

void
uroce_vcm_wakeup_in(uint64_t ns)
{
	struct itimerspec time = { 0 };

	/* a time of zero would disarm the timer, so it becomes one nanosecond */
	if (ns != UROCE_CM_NEVER) {
		time.it_value.tv_sec = (time_t)(ns / NS_PER_S);
		time.it_value.tv_nsec = (long)(ns % NS_PER_S) + (ns == 0);
	}
	(void)timerfd_settime(timer_fd, 0, &time, NULL);
}

int
uroce_vcm_wakeup_watch(int fd)
{
	return watch_cm_fd(epoll_fd, fd);
}
