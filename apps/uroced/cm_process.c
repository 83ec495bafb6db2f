/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Starts connection managers. uroced forked a process for this purpose, and this process forks
 * connection managers. For each descriptor of the next connection manager, uroced sends the process
 * a message: the descriptor, and a byte that is its number in enum cm_fd. The connection to uroced
 * is the last descriptor, and starts the connection manager, which runs the same program as uroced.
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
#include "cm_ports.h"
#include "fd_message.h"
#include "log_line.h"

/* --- the process that forks connection managers -------------------------------------------------- */

/*
 * Move the descriptors of a connection manager to the numbers of enum cm_fd, which they keep after
 * exec(), and close all other descriptors. Each descriptor is duplicated twice, since its first
 * number may be one that enum cm_fd gives to another descriptor.
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

/* Whether uroced creates a new descriptor of this kind (enum cm_fd) for each connection manager. */
static bool
is_made_by_uroced(int which)
{
	return which == CM_FD_UROCED || which == CM_FD_LISTENER || which == CM_FD_REPORTS;
}

static void
replace_fd(int fds[CM_FD_END], int which, int fd)
{
	if (fds[which] >= 0)
		(void)close(fds[which]);
	fds[which] = fd;
}

static void
start_managers(int uroced, int fds[CM_FD_END], bool is_unconfined)
{
	char which;
	int fd;

	while (fd_message_receive(uroced, &which, sizeof(which), &fd, 0) > 0) {
		if (!is_made_by_uroced(which)) {
			if (fd >= 0)
				(void)close(fd);
			continue;
		}
		replace_fd(fds, which, fd);
		if (which != CM_FD_UROCED)
			continue;
		if (child_fork() == 0)
			become_manager(fds, is_unconfined);
		for (int i = CM_FD_UROCED; i < CM_FD_END; i++) {
			if (is_made_by_uroced(i))
				replace_fd(fds, i, -1);
		}
	}
}

/*
 * Open the file of leases for reading only, by its descriptor. The file is opened through
 * /proc/self/fd, because its path may name another file by now.
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
	int fds[CM_FD_END] = { [CM_FD_UROCED] = -1,
			       [CM_FD_LISTENER] = -1,
			       [CM_FD_REPORTS] = -1,
			       [CM_FD_READERS] = readers };
	int kept[3];

	(void)prctl(PR_SET_NAME, "uroced-starter");
	fds[CM_FD_LEASES] = open_readonly(leases);
	kept[0] = uroced;
	kept[1] = fds[CM_FD_LEASES];
	kept[2] = readers;
	close_others(kept, sizeof(kept) / sizeof(kept[0]));
	fds[CM_FD_PORTS] = cm_ports_create();
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

/*
 * Send a descriptor for the next connection manager to the process that forks connection managers.
 * The descriptor CM_FD_UROCED is the last one, and starts the connection manager.
 * @return 0, or -errno
 */
static int
give(const struct cm_process *process, char which, int fd)
{
	return fd_message_send(process->starter, &which, sizeof(which), fd, MSG_DONTWAIT);
}

/*
 * Make a connection to the next connection manager, and send its end of the connection.
 * @return uroced's end of the connection, or -errno
 */
static int
connect_manager(const struct cm_process *process, char which)
{
	int ends[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return -errno;
	ret = give(process, which, ends[1]);
	(void)close(ends[1]);
	if (ret == 0)
		return ends[0];
	(void)close(ends[0]);
	return ret;
}

/*
 * Send all descriptors of the next connection manager. The parameters and the result are those of
 * cm_process_start(). The socket `*reports` may be open after an error.
 */
static int
request_start(const struct cm_process *process, int listener, int *reports)
{
	const int ret = give(process, CM_FD_LISTENER, listener);

	*reports = -1;
	if (ret < 0)
		return ret;
	*reports = connect_manager(process, CM_FD_REPORTS);
	return *reports < 0 ? *reports : connect_manager(process, CM_FD_UROCED);
}

int
cm_process_start(struct cm_process *process, int listener, int *reports, uint64_t now_ns)
{
	int ret;

	process->is_running = true;
	process->start_ns = now_ns;
	ret = request_start(process, listener, reports);
	if (ret >= 0)
		return ret;
	if (*reports >= 0)
		(void)close(*reports);
	*reports = -1;
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
