/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Readers, and the process that forks them. All of these processes ignore the signals that end
 * uroced. They end with uroced: either because their socket hangs up, or by the SIGKILL that the
 * kernel sends when their parent has ended. SIGALRM ends a reader whose job takes too long, unless
 * the reader is in an uninterruptible sleep.
 */

#include "reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "fd_message.h"

/* the longest time of a job, in seconds; longer than uroced waits for the reply */
#define JOB_S 5u

/* --- the reader ---------------------------------------------------------------------------------- */

static void
set_why(struct reader_answer *answer, const char *why)
{
	if (why)
		(void)snprintf(answer->why, sizeof(answer->why), "%s", why);
}

/*
 * Receive a message of a client, and check the file of shared memory that it brings.
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
	case READER_CLOSE:
		break;
	}
	return file;
}

static void
act(int uroced, const struct reader_job *job, int fd)
{
	static struct reader_answer answer;
	const int file = reader_do(job, fd, &answer);

	if (job->kind != READER_CLOSE)
		answer_with(uroced, &answer, file);
	/* close the file after the reply was sent, so that uroced does not wait for close() */
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

/* --- the process that forks readers -------------------------------------------------------------- */

static void
make_on(int uroced)
{
	char nothing;
	int fd;

	while (fd_message_receive(uroced, &nothing, sizeof(nothing), &fd, 0) > 0) {
		if (child_fork() == 0) {
			(void)close(uroced);
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
reader_make(int start)
{
	char nothing = 0;
	int ends[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	ret = fd_message_send(start, &nothing, sizeof(nothing), ends[1], MSG_DONTWAIT);
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
