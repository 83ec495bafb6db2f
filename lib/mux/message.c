/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sending and receiving messages over the socket between uroced and a client. A table has a row for
 * each type of message: its length, its elements, and whether a file descriptor comes with it. Only
 * messages that match their row are accepted.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "mux/message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * maximum number of file descriptors that recvmsg() takes with a message; the kernel closes further
 * ones
 */
#define FDS_MAX 8

static const struct layout {
	size_t fixed;
	/*
	 * length in bytes of each lease or block of QP numbers in the message; 0 if it has neither
	 */
	size_t each;
	size_t nb_at; /* offset of the message's field with the number of leases or blocks */
	uint32_t max; /* maximum number of leases or blocks of QP numbers in the message */
	bool has_fd;
} layouts[UROCE_MUX_NB_TYPES] = {
	[UROCE_MUX_HELLO] = { sizeof(struct uroce_mux_hello), 0, 0, 0, false },
	[UROCE_MUX_HOST] = { sizeof(struct uroce_mux_this_host), 0, 0, 0, false },
	[UROCE_MUX_ATTACH] = { sizeof(struct uroce_mux_attach), sizeof(struct uroce_mux_lease),
			       offsetof(struct uroce_mux_attach, nb_leases), UROCE_MUX_LEASES_MAX,
			       true },
	[UROCE_MUX_ATTACHED] = { sizeof(struct uroce_mux_attached), sizeof(uint32_t),
				 offsetof(struct uroce_mux_attached, nb_good), UROCE_MUX_LEASES_MAX,
				 true },
	[UROCE_MUX_LEASE] = { sizeof(struct uroce_mux_lease_more), 0, 0, 0, false },
	[UROCE_MUX_LEASED] = { sizeof(struct uroce_mux_leased), sizeof(struct uroce_mux_lease),
			       offsetof(struct uroce_mux_leased, nb), UROCE_MUX_LEASES_MAX, false },
	[UROCE_MUX_RELEASE] = { sizeof(struct uroce_mux_release), sizeof(uint32_t),
				offsetof(struct uroce_mux_release, nb), UROCE_MUX_LEASES_MAX,
				false },
	[UROCE_MUX_WAKE] = { sizeof(struct uroce_mux_wake), 0, 0, 0, false },
	[UROCE_MUX_REFUSED] = { sizeof(struct uroce_mux_refused), 0, 0, 0, false },
};

size_t
uroce_mux_message_size(uint32_t type, uint32_t nb)
{
	if (type >= UROCE_MUX_NB_TYPES || nb > layouts[type].max)
		return 0;
	return layouts[type].fixed + nb * layouts[type].each;
}

static uint32_t
nb_elements(const union uroce_mux_message *message)
{
	const struct layout *layout = &layouts[message->type];
	uint32_t nb = 0;

	if (layout->each > 0)
		memcpy(&nb, message->bytes + layout->nb_at, sizeof(nb));
	return nb;
}

union room {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

int
uroce_mux_send(int socket, const union uroce_mux_message *message, int fd)
{
	struct iovec bytes = {
		.iov_base = (void *)(uintptr_t)message,
		.iov_len = uroce_mux_message_size(message->type, nb_elements(message)),
	};
	union room room = { .bytes = { 0 } };
	struct msghdr msg = { .msg_iov = &bytes, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *header = &room.align;

		*header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
					    .cmsg_type = SCM_RIGHTS,
					    .cmsg_len = CMSG_LEN(sizeof(fd)) };
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
		msg.msg_control = &room;
		msg.msg_controllen = CMSG_SPACE(sizeof(fd));
	}
	if (sendmsg(socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

/*
 * Take the one file descriptor that may come with a message, and close all others.
 * @return whether at most one descriptor came with the message
 */
static bool
take_fd(struct msghdr *msg, int *fd)
{
	int nb = 0;

	*fd = -1;
	for (struct cmsghdr *header = CMSG_FIRSTHDR(msg); header;
	     header = CMSG_NXTHDR(msg, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len;
		     at += sizeof(int)) {
			int one;

			memcpy(&one, (const char *)header + at, sizeof(one));
			if (nb++ == 0)
				*fd = one;
			else
				(void)close(one);
		}
	}
	return nb <= 1 && !(msg->msg_flags & MSG_CTRUNC);
}

static bool
is_message_valid(const union uroce_mux_message *message, size_t len, bool has_fd)
{
	size_t size;

	if (len < sizeof(message->type) || message->type >= UROCE_MUX_NB_TYPES ||
	    len < layouts[message->type].fixed)
		return false;
	size = uroce_mux_message_size(message->type, nb_elements(message));
	return size > 0 && len == size && has_fd == layouts[message->type].has_fd;
}

int
uroce_mux_receive(int socket, union uroce_mux_message *message, int *fd)
{
	struct iovec bytes = { .iov_base = message, .iov_len = sizeof(*message) };
	union room room;
	struct msghdr msg = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = &room,
		.msg_controllen = sizeof(room),
	};
	const ssize_t len = recvmsg(socket, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	bool is_good;

	*fd = -1;
	if (len < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	is_good = take_fd(&msg, fd) && !(msg.msg_flags & MSG_TRUNC) &&
		  is_message_valid(message, (size_t)len, *fd >= 0);
	if (is_good)
		return 1;
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	return len == 0 ? 0 : -EPROTO;
}

int
uroce_mux_peek(int socket, bool *has_fds)
{
	uint32_t type;
	struct iovec bytes = { .iov_base = &type, .iov_len = sizeof(type) };
	struct msghdr msg = { .msg_iov = &bytes, .msg_iovlen = 1 };
	const ssize_t len = recvmsg(socket, &msg, MSG_DONTWAIT | MSG_PEEK);

	*has_fds = false;
	if (len < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	/*
	 * MSG_CTRUNC means that file descriptors come with the message, for which this recvmsg()
	 * provided no buffer.
	 */
	*has_fds = msg.msg_flags & MSG_CTRUNC;
	return len > 0 || *has_fds;
}

static int
make_socket(const char *path, struct sockaddr_un *addr)
{
	int fd;

	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(addr->sun_path))
		return -ENAMETOOLONG;
	memcpy(addr->sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd < 0 ? -errno : fd;
}

int
uroce_mux_connect(const char *path)
{
	struct sockaddr_un addr;
	const int fd = make_socket(path, &addr);
	int ret;

	if (fd < 0 || connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	ret = -errno;
	(void)close(fd);
	return ret;
}

/*
 * Remove the socket file that a terminated process has left at `path`. connect() to such a file
 * fails with ECONNREFUSED. connect() to a file of another type fails with the same error, so the
 * file's type is checked before the file is removed.
 */
static int
clear_path(const char *path)
{
	const int fd = uroce_mux_connect(path);
	struct stat st;

	if (fd >= 0) {
		(void)close(fd);
		return -EADDRINUSE;
	}
	if (fd != -ECONNREFUSED)
		return fd == -ENOENT ? 0 : fd == -EAGAIN ? -EADDRINUSE : fd;
	if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return -EEXIST;
	return unlink(path) < 0 ? -errno : 0;
}

int
uroce_mux_listen(const char *path, unsigned mode)
{
	struct sockaddr_un addr;
	int ret = clear_path(path), fd;

	if (ret < 0)
		return ret;
	fd = make_socket(path, &addr);
	if (fd < 0)
		return fd;
	/*
	 * chmod() sets the mode of the socket file after bind() has created the file. No client can
	 * connect before listen(), so no client connects while the file has another mode.
	 */
	if (bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0 && chmod(path, mode) == 0 &&
	    listen(fd, UROCE_MUX_BACKLOG) == 0)
		return fd;
	ret = -errno;
	(void)close(fd);
	return ret;
}
