/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Reader processes, closer processes, and the process that forks them. These processes ignore the
 * signals that end uroced. They end with uroced: either because their socket hangs up, or by the
 * SIGKILL that the kernel sends when their parent has ended. SIGALRM ends a reader whose job takes
 * too long, unless the reader is in an uninterruptible sleep.
 */

#include "reader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "fd_message.h"

/*
 * maximum time of a job of a reader process, in seconds; it is not shorter than READERS_TIMEOUT_NS,
 * the time that uroced waits for the reply
 */
#define JOB_S 5u
/*
 * maximum number of sockets that a child of a closer process closes; the exit status of the child
 * is the number of its sockets
 */
#define BATCH_MAX 64
/* microseconds after which a failed fork() is repeated */
#define FORK_RETRY_US 10000

/* The requests to the process that forks reader and closer processes. */
enum make { MAKE_READER, MAKE_CLOSER };

/*
 * Messages to a closer process: a socket, and the notice that uroced has closed its own descriptor
 * of the socket.
 */
enum pass { PASS_SOCKET, PASS_NOTICE };

/* --- the reader ---------------------------------------------------------------------------------- */

static void
set_why(struct reader_answer *answer, const char *why)
{
	if (why)
		(void)snprintf(answer->why, sizeof(answer->why), "%s", why);
}

/*
 * Receive a message of a client in a reader process, and check the file of shared memory that comes
 * with the message.
 * @return the file; -1 if the message has none
 */
static int
take(struct reader_answer *answer, int socket)
{
	int fd;

	answer->ret = uroce_mux_receive(socket, &answer->message, &fd);
	if (answer->ret == 1 && fd >= 0)
		set_why(answer, uroce_shm_check(&answer->message.attach.plan, fd, 0));
	if (answer->why[0] != '\0')
		answer->ret = -EINVAL;
	return fd;
}

static void
answer_with(int uroced, const struct reader_answer *answer, int fd)
{
	(void)fd_message_send(uroced, answer,
			      answer->ret == 1 ? sizeof(*answer)
					       : offsetof(struct reader_answer, message),
			      answer->ret == 1 ? fd : -1, 0);
}

int
reader_do(const struct reader_job *job, int fd, struct reader_answer *answer)
{
	int file = -1;

	*answer = (struct reader_answer){ .kind = job->kind,
					  .slot = job->slot,
					  .number = job->number };
	switch ((enum reader_kind)job->kind) {
	case READER_TAKE:
		file = take(answer, fd);
		break;
	case READER_SEAL:
		set_why(answer, uroce_shm_seal(&job->plan, fd));
		break;
	}
	return file;
}

static void
act(int uroced, const struct reader_job *job, int fd)
{
	static struct reader_answer answer;
	const int file = reader_do(job, fd, &answer);

	answer_with(uroced, &answer, file);
	/*
	 * the file that came with the message is closed after the reply was sent, so that uroced
	 * does not wait for close()
	 */
	if (file >= 0)
		(void)close(file);
	(void)close(fd);
}

static void
read_on(int uroced)
{
	struct reader_job job;
	int fd;

	while (fd_message_receive(uroced, &job, sizeof(job), &fd, 0) == sizeof(job)) {
		(void)alarm(JOB_S);
		act(uroced, &job, fd);
		(void)alarm(0);
	}
}

/* --- the closer ---------------------------------------------------------------------------------- */

/*
 * Receive the sockets that a closer process has to close, without closing them. Wait for the
 * notices that uroced has closed its own descriptors of the sockets: if uroced had the last
 * descriptor of a socket, the close() of uroced would wait.
 * @return the number of sockets
 */
static int
take_batch(int uroced)
{
	int fd, nb = 0, nb_notices = 0;
	char what;

	while (nb < BATCH_MAX || nb_notices < nb) {
		if (fd_message_receive(uroced, &what, sizeof(what), &fd,
				       nb_notices < nb ? 0 : MSG_DONTWAIT) <= 0)
			break;
		nb += what == PASS_SOCKET;
		nb_notices += what == PASS_NOTICE;
	}
	return nb;
}

static pid_t
fork_patiently(void)
{
	pid_t pid;

	while ((pid = child_fork()) < 0)
		(void)usleep(FORK_RETRY_US);
	return pid;
}

/*
 * Let a child of the closer process receive sockets and end, which closes them. The kernel reports
 * the end of the child when it has closed all files, including those in the messages of the
 * sockets.
 * @return the number of the sockets; 0 if there were none, or the child was killed
 */
static uint32_t
close_batch(int uroced)
{
	const pid_t pid = fork_patiently();
	int status;

	if (pid == 0)
		_exit(take_batch(uroced));
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 0;
	return (uint32_t)WEXITSTATUS(status);
}

static void
close_on(int uroced)
{
	struct pollfd fd = { .fd = uroced, .events = POLLIN };
	uint32_t nb;

	/*
	 * restore SIGCHLD: while the signal is ignored, the closer process does not get the exit
	 * status of its children
	 */
	(void)signal(SIGCHLD, SIG_DFL);
	while (poll(&fd, 1, -1) == 1 && (nb = close_batch(uroced)) > 0)
		(void)fd_message_send(uroced, &nb, sizeof(nb), -1, 0);
}

/* --- the process that forks readers and closers -------------------------------------------------- */

static void
make_on(int uroced)
{
	char what;
	int fd;

	while (fd_message_receive(uroced, &what, sizeof(what), &fd, 0) > 0) {
		/*
		 * fork() must succeed: if no child had this socket, close() of it would also close
		 * the descriptors of the jobs that wait in the socket
		 */
		if (fork_patiently() == 0) {
			(void)close(uroced);
			if (what == MAKE_CLOSER)
				close_on(fd);
			else
				read_on(fd);
			_exit(0);
		}
		(void)close(fd);
	}
}

int
reader_start(void)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid = child_fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		(void)prctl(PR_SET_NAME, "uroced-reader");
		for (int fd = 0; fd < CHILD_INHERITED_MAX; fd++) {
			if (fd != ends[1])
				(void)close(fd);
		}
		child_outlive_signals();
		make_on(ends[1]);
		_exit(0);
	}
	(void)close(ends[1]);
	return ends[0];
}

/* --- functions of uroced ------------------------------------------------------------------------- */

int
reader_make(int start, bool is_closer)
{
	const char what = is_closer ? MAKE_CLOSER : MAKE_READER;
	int ends[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	ret = fd_message_send(start, &what, sizeof(what), ends[1], MSG_DONTWAIT);
	(void)close(ends[1]);
	if (ret == 0)
		return ends[0];
	(void)close(ends[0]);
	return ret;
}

int
reader_ask(int reader, const struct reader_job *job, int fd)
{
	return fd_message_send(reader, job, sizeof(*job), fd, MSG_DONTWAIT);
}

int
reader_answered(int reader, struct reader_answer *answer, int *fd)
{
	const ssize_t len = fd_message_receive(reader, answer, sizeof(*answer), fd, MSG_DONTWAIT);

	if (len < 0)
		return (int)len;
	return len >= (ssize_t)offsetof(struct reader_answer, message);
}

int
reader_pass(int closer, int socket)
{
	const char what = PASS_SOCKET;

	return fd_message_send(closer, &what, sizeof(what), socket, MSG_DONTWAIT);
}

int
reader_notify(int closer)
{
	const char what = PASS_NOTICE;

	return fd_message_send(closer, &what, sizeof(what), -1, MSG_DONTWAIT);
}

int
reader_closed(int closer)
{
	uint32_t nb;
	const ssize_t len = recv(closer, &nb, sizeof(nb), MSG_DONTWAIT);

	if (len < 0)
		return -errno;
	return len == sizeof(nb) ? (int)nb : 0;
}
