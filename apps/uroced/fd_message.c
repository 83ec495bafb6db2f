/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sends and receives socket messages with one descriptor. A received descriptor is closed on
 * exec().
 */

#include "fd_message.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

union room {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int
fd_message_send(int socket, const void *bytes, size_t len, int fd, int flags)
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

ssize_t
fd_message_receive(int socket, void *bytes, size_t room_len, int *fd, int flags)
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
