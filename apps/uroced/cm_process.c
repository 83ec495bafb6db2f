/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Starts connection managers. The process that forks them receives two messages for each: the
 * listener, and the connection to uroced. The program is that of uroced itself.
 */

#include "cm_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "fd_message.h"
#include "log_line.h"

/* --- the process that forks connection managers -------------------------------------------------- */

/*
 * Move the descriptors to their numbers, which they keep after exec(), and close all others. They
 * are duplicated twice, since a descriptor may have the number of another one.
 */
static void
place_fds(const int from[CM_FD_END])
{
	int moved[CM_FD_END];

	for (int i = CM_FD_UROCED; i < CM_FD_END; i++)
		moved[i] = fcntl(from[i], F_DUPFD_CLOEXEC, CM_FD_END);
	for (int i = CM_FD_UROCED; i < CM_FD_END; i++)
		(void)dup2(moved[i], i);
	for (int fd = CM_FD_END; fd < CHILD_INHERITED_MAX; fd++)
		(void)close(fd);
}

static void
become_manager(const int fds[CM_FD_END], bool is_unconfined)
{
	char *const argv[] = { "uroced", CM_ARGUMENT, is_unconfined ? "--no-sandbox" : NULL, NULL };

	place_fds(fds);
	(void)execv("/proc/self/exe", argv);
	log_line("the connection manager does not start: /proc/self/exe: %m");
	_exit(1);
}

static void
start_managers(int uroced, int fds[CM_FD_END], bool is_unconfined)
{
	char is_listener;
	int fd;

	while (fd_message_receive(uroced, &is_listener, sizeof(is_listener), &fd, 0) > 0) {
		if (is_listener) {
			fds[CM_FD_LISTENER] = fd;
			continue;
		}
		fds[CM_FD_UROCED] = fd;
		if (child_fork() == 0)
			become_manager(fds, is_unconfined);
		(void)close(fd);
		(void)close(fds[CM_FD_LISTENER]);
	}
}

/*
 * Open the file of leases for reading only. The path of the file may belong to another file by now,
 * so it is opened by its descriptor.
 */
static int
open_readonly(int leases)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", leases);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void
close_others(const int kept[], unsigned nb)
{
	for (int fd = STDERR_FILENO + 1; fd < CHILD_INHERITED_MAX; fd++) {
		unsigned i = 0;

		while (i < nb && kept[i] != fd)
			i++;
		if (i == nb)
			(void)close(fd);
	}
}

static void
run_starter(int uroced, int leases, int readers, bool is_unconfined)
{
	int fds[CM_FD_END] = { [CM_FD_LISTENER] = -1, [CM_FD_READERS] = readers };
	int kept[3];

	(void)prctl(PR_SET_NAME, "uroced-starter");
	fds[CM_FD_LEASES] = open_readonly(leases);
	kept[0] = uroced;
	kept[1] = fds[CM_FD_LEASES];
	kept[2] = readers;
	close_others(kept, sizeof(kept) / sizeof(kept[0]));
	child_outlive_signals();
	start_managers(uroced, fds, is_unconfined);
	_exit(0);
}

int
cm_process_fork(struct cm_process *process, int leases, int readers, bool is_unconfined)
{
	int ends[2];
	pid_t pid;

	*process = (struct cm_process){ .starter = -1, .delay_ns = CM_DELAY_MIN_NS };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid = child_fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		run_starter(ends[1], leases, readers, is_unconfined);
	(void)close(ends[1]);
	process->starter = ends[0];
	return 0;
}

/* --- functions of uroced ------------------------------------------------------------------------- */

bool
cm_process_is_due(const struct cm_process *process, uint64_t now_ns)
{
	return process->starter >= 0 && !process->is_running && now_ns >= process->start_ns;
}

/* Let the process that forks connection managers start one. @return 0, or -errno */
static int
request_start(const struct cm_process *process, int listener, int connection)
{
	char is_listener = 1;
	int ret = fd_message_send(process->starter, &is_listener, sizeof(is_listener), listener,
				  MSG_DONTWAIT);

	if (ret < 0)
		return ret;
	is_listener = 0;
	return fd_message_send(process->starter, &is_listener, sizeof(is_listener), connection,
			       MSG_DONTWAIT);
}

int
cm_process_start(struct cm_process *process, int listener, uint64_t now_ns)
{
	int ends[2], ret;

	process->is_running = true;
	process->start_ns = now_ns;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) {
		ret = -errno;
		cm_process_ended(process, now_ns);
		return ret;
	}
	ret = request_start(process, listener, ends[1]);
	(void)close(ends[1]);
	if (ret == 0)
		return ends[0];
	(void)close(ends[0]);
	cm_process_ended(process, now_ns);
	return ret;
}

void
cm_process_ended(struct cm_process *process, uint64_t now_ns)
{
	if (now_ns - process->start_ns >= CM_DELAY_MAX_NS)
		process->delay_ns = CM_DELAY_MIN_NS;
	process->is_running = false;
	process->start_ns = now_ns + process->delay_ns;
	process->delay_ns *= 2;
	if (process->delay_ns > CM_DELAY_MAX_NS)
		process->delay_ns = CM_DELAY_MAX_NS;
}
