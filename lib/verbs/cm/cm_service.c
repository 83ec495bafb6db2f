/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The service of connection management: it does the work that is due without a call of the program,
 * such as taking events and resolving addresses. A thread of the library does this work, or the
 * program does it by calls.
 */

#include "verbs/cm/cm_service.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "verbs/cm/cm_device.h"
#include "verbs/cm/cm_dispatch.h"
#include "verbs/cm/cm_event.h"
#include "verbs/cm/cm_resolve.h"
#include "verbs/cm/wakeup.h"
#include "verbs/uroce_cm.h"

/*
 * Lock that guards the members of `service`. A thread holds this lock while it starts or ends the
 * thread of connection management.
 */
static pthread_mutex_t service_lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
	unsigned nb_channels;
	/*
	 * thread that does the work of connection management; it exists while there are channels,
	 * unless the program does the work
	 */
	pthread_t thread;
	atomic_bool is_ending;
} service;

unsigned
uroce_vcm_service_run(void)
{
	unsigned before, after;

	pthread_mutex_lock(&uroce_vcm_lock);
	before = uroce_vcm_event_count();
	uroce_vcm_wakeup_clear();
	uroce_vcm_device_drive_agents();
	uroce_vcm_dispatch();
	uroce_vcm_wakeup_in(uroce_vcm_resolve_step());
	after = uroce_vcm_event_count();
	pthread_mutex_unlock(&uroce_vcm_lock);
	return after - before;
}

static void *
serve(void *unused)
{
	struct pollfd pollfd = { .fd = uroce_vcm_wakeup_fd(), .events = POLLIN };

	(void)unused;
	/*
	 * uroce_vcm_service_run() also clears the wake-up of uroce_vcm_service_put(), so
	 * `is_ending` is checked after each run
	 */
	while (uroce_vcm_service_run(), !atomic_load(&service.is_ending))
		(void)poll(&pollfd, 1, -1);
	return NULL;
}

/*
 * Start the thread of connection management. All signals are blocked in the thread, because they
 * are for the program's threads.
 */
static int
start_thread(void)
{
	sigset_t all, before;
	int ret;

	atomic_store(&service.is_ending, false);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&service.thread, NULL, serve, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret == 0)
		(void)pthread_setname_np(service.thread, "uroce-cm");
	return -ret;
}

int
uroce_vcm_service_get(void)
{
	int ret;

	pthread_mutex_lock(&service_lock);
	ret = uroce_vcm_wakeup_open();
	if (ret == 0 && service.nb_channels == 0 && !uroce_vcm_drive_is_none)
		ret = start_thread();
	service.nb_channels += ret == 0;
	pthread_mutex_unlock(&service_lock);
	return ret;
}

void
uroce_vcm_service_put(void)
{
	pthread_mutex_lock(&service_lock);
	if (--service.nb_channels == 0 && !uroce_vcm_drive_is_none) {
		atomic_store(&service.is_ending, true);
		uroce_vcm_wakeup_notify(NULL);
		pthread_join(service.thread, NULL);
	}
	pthread_mutex_unlock(&service_lock);
}

int
uroce_vcm_service_wait(int channel_fd)
{
	struct pollfd pollfds[] = {
		{ .fd = channel_fd, .events = POLLIN },
		{ .fd = uroce_vcm_wakeup_fd(), .events = POLLIN },
	};
	bool is_driven;

	pthread_mutex_lock(&service_lock);
	is_driven = uroce_vcm_drive_is_none;
	pthread_mutex_unlock(&service_lock);
	if (is_driven)
		(void)uroce_vcm_service_run();
	return poll(pollfds, is_driven ? 2 : 1, -1) < 0 ? -errno : 0;
}

int
uroce_cm_set_drive(enum uroce_cm_drive drive)
{
	int ret = 0;

	if (drive != UROCE_CM_DRIVE_THREAD && drive != UROCE_CM_DRIVE_NONE) {
		errno = EINVAL;
		return -1;
	}
	pthread_mutex_lock(&service_lock);
	if (service.nb_channels > 0)
		ret = -EBUSY;
	else
		uroce_vcm_drive_is_none = drive == UROCE_CM_DRIVE_NONE;
	pthread_mutex_unlock(&service_lock);
	return uroce_vcm_ret(ret);
}

unsigned
uroce_cm_poll(void)
{
	struct pollfd pollfd = { .fd = uroce_vcm_wakeup_fd(), .events = POLLIN };

	/* poll() shows whether work is due, and needs no lock */
	return pollfd.fd >= 0 && poll(&pollfd, 1, 0) > 0 ? uroce_vcm_service_run() : 0;
}

int
uroce_cm_get_fd(void)
{
	const int ret = uroce_vcm_wakeup_open();

	return ret == 0 ? uroce_vcm_wakeup_fd() : uroce_vcm_ret(ret);
}
