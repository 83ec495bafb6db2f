/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_FD_MESSAGE_H
#define UROCED_FD_MESSAGE_H

/**
 * @file
 * Messages with one descriptor, between processes of uroced.
 */

#include <stddef.h>
#include <sys/types.h>

/**
 * Send a message over a UNIX socket, with or without a descriptor.
 * @param fd  the descriptor; -1 if there is none
 * @param flags  flags for sendmsg()
 * @return 0, or -errno
 */
int fd_message_send(int socket, const void *bytes, size_t len, int fd, int flags);

/**
 * Receive a message from a UNIX socket, and the descriptor that it brings.
 * @param[out] fd  the descriptor, which the caller has to close; -1 if there is none
 * @param flags  flags for recvmsg()
 * @return the number of bytes; 0 if the peer has hung up; -errno
 */
ssize_t fd_message_receive(int socket, void *bytes, size_t room, int *fd, int flags);

#endif /* UROCED_FD_MESSAGE_H */
