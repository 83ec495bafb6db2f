/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pipe whose read end is readable while something is ready. The byte that makes the pipe readable
 * is read in two places. A thread that waits reads the byte without the lock. A thread with the
 * lock reads the byte to make the pipe not ready, but only if no thread waits: its read would block
 * if a waiting thread took the byte first. If threads wait, one of them takes the byte, finds
 * nothing that is ready, and waits again.
 */

#include "ready_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * Make a descriptor for the program, with the smallest free number. This function makes the system
 * call, because the engine's fcntl() would give the descriptor a large number
 * (engine/descriptors.c).
 */
static int
give(int fd, int flags)
{
	const int cmd = (flags & O_CLOEXEC) != 0 ? F_DUPFD_CLOEXEC : F_DUPFD;

	if ((flags & O_NONBLOCK) != 0 && fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
		return -1;
	return (int)syscall(SYS_fcntl, fd, cmd, 0);
}

int
ready_pipe_open(struct ready_pipe *pipe_of, int flags)
{
	struct stat stat;
	int ends[2], fd, err;

	if (pipe(ends) != 0)
		return -errno;
	fd = give(ends[0], flags);
	err = errno;
	if (fd >= 0 && (fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0 || fstat(ends[1], &stat) != 0)) {
		err = errno;
		(void)syscall(SYS_close, fd);
		fd = -1;
	}
	close(ends[0]);
	if (fd < 0) {
		close(ends[1]);
		return -err;
	}
	*pipe_of = (struct ready_pipe){
		.write_fd = ends[1],
		.dev = stat.st_dev,
		.ino = stat.st_ino,
	};
	return fd;
}

void
ready_pipe_close(struct ready_pipe *pipe)
{
	close(pipe->write_fd);
	pipe->write_fd = -1;
}

bool
ready_pipe_is_abandoned(const struct ready_pipe *pipe)
{
	struct pollfd end = { .fd = pipe->write_fd };

	return poll(&end, 1, 0) == 1 && (end.revents & POLLERR) != 0;
}

/*
 * Write a byte to a pipe whose read end the program may have closed a moment ago. Such a write
 * raises SIGPIPE, which would end the program. So the signal is blocked, and removed if it is
 * pending.
 */
static bool
put_byte(int fd)
{
	static const struct timespec now;
	sigset_t sigpipe, before, pending;
	bool is_put;
	char byte = 0;

	sigemptyset(&sigpipe);
	sigaddset(&sigpipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &sigpipe, &before);
	sigpending(&pending);
	is_put = write(fd, &byte, sizeof(byte)) == sizeof(byte);
	if (!is_put && errno == EPIPE && !sigismember(&pending, SIGPIPE))
		(void)sigtimedwait(&sigpipe, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return is_put;
}

/*
 * Read a byte from a pipe. This function calls readv(), because the preloaded library refuses
 * read() on a descriptor of the program.
 */
static ssize_t
get_byte(int fd)
{
	char byte;
	const struct iovec part = { .iov_base = &byte, .iov_len = sizeof(byte) };

	return readv(fd, &part, 1);
}

void
ready_pipe_set(struct ready_pipe *pipe, int fd, bool is_ready)
{
	const int err = errno;

	if (is_ready && !pipe->has_byte)
		pipe->has_byte = put_byte(pipe->write_fd);
	else if (!is_ready && pipe->has_byte && pipe->nb_waiting == 0 && fd >= 0)
		pipe->has_byte = get_byte(fd) != 1;
	errno = err;
}

/*
 * The arguments of stop_waiting(), which ends the wait of a thread for a pipe, also if the thread
 * is cancelled.
 */
struct wait {
	struct ready_pipe *pipe;
	pthread_mutex_t *lock;
	bool has_read;
};

static void
stop_waiting(void *arg)
{
	struct wait *const wait = arg;

	pthread_mutex_lock(wait->lock);
	wait->pipe->nb_waiting--;
	if (wait->has_read)
		wait->pipe->has_byte = false;
}

static void
cancel_waiting(void *arg)
{
	struct wait *const wait = arg;

	stop_waiting(arg);
	pthread_mutex_unlock(wait->lock);
}

int
ready_pipe_wait(struct ready_pipe *pipe, int fd, pthread_mutex_t *lock, int cancel_state)
{
	struct wait wait = { .pipe = pipe, .lock = lock };
	ssize_t nb;
	int err;

	pipe->nb_waiting++;
	pthread_mutex_unlock(lock);
	pthread_cleanup_push(cancel_waiting, &wait);
	pthread_setcancelstate(cancel_state, NULL);
	nb = get_byte(fd);
	err = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	wait.has_read = nb == 1;
	pthread_cleanup_pop(0);
	stop_waiting(&wait);
	if (nb == 1)
		return 0;
	return nb == 0 ? -EIO : -err;
}
