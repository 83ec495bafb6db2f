/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Readers, and the process that forks them. All of these processes ignore the signals that end
 * uroced. They end with uroced: either because their socket hangs up, or by the SIGKILL that the
 * kernel sends when their parent has ended. SIGALRM ends a reader whose job takes too long, unless
 * the reader is in an uninterruptible sleep.
 */

#include "reader.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* the longest time of a job, in seconds; longer than uroced waits for the reply */
#define JOB_S         5u
#define INHERITED_MAX 1024 /* the largest number of descriptors that uroced may have inherited */

/* --- messages with a descriptor ------------------------------------------------------------------ */

union room {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static int
send_with(int socket, const void *bytes, size_t len, int fd, int flags)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	union room room = { .bytes = { 0 } };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		room.align = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
					       .cmsg_type = SCM_RIGHTS,
					       .cmsg_len = CMSG_LEN(sizeof(fd)) };
		memcpy(CMSG_DATA(&room.align), &fd, sizeof(fd));
		msg.msg_control = &room;
		msg.msg_controllen = sizeof(room);
	}
	return sendmsg(socket, &msg, flags | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/*
 * Receive a message, and the descriptor that it brings.
 * @return the number of bytes; 0 if the peer has hung up; -errno
 */
static ssize_t
receive_with(int socket, void *bytes, size_t room_len, int *fd, int flags)
{
	struct iovec iov = { .iov_base = bytes, .iov_len = room_len };
	union room room = { .bytes = { 0 } };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &room,
			      .msg_controllen = sizeof(room) };
	const ssize_t len = recvmsg(socket, &msg, flags | MSG_CMSG_CLOEXEC);

	*fd = -1;
	if (len < 0)
		return -errno;
	if (msg.msg_controllen >= CMSG_LEN(sizeof(*fd)) && room.align.cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(&room.align), sizeof(*fd));
	return len;
}

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
	(void)send_with(uroced, answer,
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

	while (receive_with(uroced, &job, sizeof(job), &fd, 0) == sizeof(job)) {
		(void)alarm(JOB_S);
		act(uroced, &job, fd);
		(void)alarm(0);
	}
}

/* --- the process that forks readers -------------------------------------------------------------- */

static void
outlive_signals(void)
{
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGALRM, SIG_DFL);
	/* the kernel discards the exit status of children, so they do not become zombies */
	(void)signal(SIGCHLD, SIG_IGN);
}

/* Fork a child that is killed when its parent ends. */
static pid_t
fork_child(void)
{
	const pid_t parent = getpid();
	const pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	return 0;
}

static void
make_on(int uroced)
{
	char nothing;
	int fd;

	while (receive_with(uroced, &nothing, sizeof(nothing), &fd, 0) > 0) {
		if (fork_child() == 0) {
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
	pid = fork_child();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		(void)prctl(PR_SET_NAME, "uroced-reader");
		for (int fd = 0; fd < INHERITED_MAX; fd++) {
			if (fd != ends[1])
				(void)close(fd);
		}
		outlive_signals();
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
	ret = send_with(start, &nothing, sizeof(nothing), ends[1], MSG_DONTWAIT);
	(void)close(ends[1]);
	if (ret == 0)
		return ends[0];
	(void)close(ends[0]);
	return ret;
}

int
reader_ask(int reader, const struct reader_job *job, int fd)
{
	return send_with(reader, job, sizeof(*job), fd, MSG_DONTWAIT);
}

int
reader_answered(int reader, struct reader_answer *answer, int *fd)
{
	const ssize_t len = receive_with(reader, answer, sizeof(*answer), fd, MSG_DONTWAIT);

	if (len < 0)
		return (int)len;
	return len >= (ssize_t)offsetof(struct reader_answer, message);
}
