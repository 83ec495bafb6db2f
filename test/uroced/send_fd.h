/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_SEND_FD_H
#define TEST_UROCED_SEND_FD_H

/**
 * @file
 * A message of a client that carries a descriptor, as a hostile client may send it.
 */

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/** Send bytes with a descriptor, without blocking. @return as sendmsg(2) */
static inline ssize_t
send_fd(int socket, const void *bytes, size_t len, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} room = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	const struct msghdr msg = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = &room,
				    .msg_controllen = sizeof(room) };

	memcpy(CMSG_DATA(&room.header), &fd, sizeof(int));
	return sendmsg(socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

#endif /* TEST_UROCED_SEND_FD_H */
