/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Gives up capabilities in all threads. A thread can give up only its own capabilities, and the
 * threads of EAL run no code of uroced. So uroced sends a signal to each thread, one after the
 * other, and the handler of the signal gives up the capabilities. Afterwards uroced asks the kernel
 * which capabilities each thread still has.
 */

#include "capability.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_S  10
#define PASSES_MAX 100u

static struct __user_cap_data_struct kept_sets[_LINUX_CAPABILITY_U32S_3];
static sem_t is_done;

static int
get_sets(pid_t tid, struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3])
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, tid };

	return syscall(SYS_capget, &head, sets) < 0 ? -errno : 0;
}

static int
drop_own(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };

	return syscall(SYS_capset, &head, kept_sets) < 0 ? -errno : 0;
}

static void
take_signal(int signal)
{
	const int error = errno;

	(void)signal;
	(void)drop_own();
	(void)sem_post(&is_done);
	errno = error;
}

static bool
has_dropped(pid_t tid)
{
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	if (get_sets(tid, sets) < 0)
		return false;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		if (sets[i].permitted & ~kept_sets[i].permitted)
			return false;
	}
	return true;
}

/*
 * Make a thread give up its capabilities, by a signal to it.
 * @return 0 if the thread has handled the signal or has ended, otherwise -errno
 */
static int
drop_of(pid_t tid)
{
	struct timespec until;

	if (syscall(SYS_tgkill, getpid(), tid, SIGRTMIN) < 0)
		return errno == ESRCH ? 0 : -errno;
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += TIMEOUT_S;
	while (sem_timedwait(&is_done, &until) < 0) {
		if (errno != EINTR)
			return syscall(SYS_tgkill, getpid(), tid, 0) < 0 ? 0 : -EBUSY;
	}
	return 0;
}

/*
 * Make all other threads of the process give up their capabilities.
 * @param[in,out] nb  increased by the number of threads that had more capabilities than the process
 *         keeps
 */
static int
drop_of_others(DIR *tasks, unsigned *nb)
{
	struct dirent *task;
	int ret = 0;

	while (ret == 0 && (task = readdir(tasks))) {
		const pid_t tid = (pid_t)strtol(task->d_name, NULL, 10);

		if (tid <= 0 || has_dropped(tid))
			continue;
		ret = drop_of(tid);
		(*nb)++;
	}
	return ret;
}

/*
 * Make all threads of the process give up their capabilities. The passes over the threads are
 * repeated until no thread has more than the kept capabilities, because telemetry starts and ends
 * threads at any time.
 */
static int
drop_of_all(void)
{
	int ret = drop_own();
	unsigned nb = 1;

	for (unsigned i = 0; ret == 0 && nb > 0; i++) {
		DIR *tasks = opendir("/proc/self/task");

		if (!tasks)
			return -errno;
		nb = 0;
		ret = i < PASSES_MAX ? drop_of_others(tasks, &nb) : -EPERM;
		(void)closedir(tasks);
	}
	return ret;
}

int
capability_drop(uint64_t kept)
{
	const struct sigaction take = { .sa_handler = take_signal, .sa_flags = SA_RESTART };
	struct sigaction before;
	int ret = get_sets(0, kept_sets);

	if (ret < 0)
		return ret;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		kept_sets[i].permitted &= (uint32_t)(kept >> 32 * i);
		kept_sets[i].effective = kept_sets[i].permitted;
		kept_sets[i].inheritable = 0;
	}
	(void)sem_init(&is_done, 0, 0);
	if (sigaction(SIGRTMIN, &take, &before) < 0)
		return -errno;
	ret = drop_of_all();
	(void)sigaction(SIGRTMIN, &before, NULL);
	(void)sem_destroy(&is_done);
	return ret;
}
