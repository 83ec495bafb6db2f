/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CREDS_H
#define UROCED_CREDS_H

/**
 * @file
 * The user of a client of uroced, to whom limits and turns apply. A user who has subordinate user
 * IDs (subuid(5)) may run processes with thousands of user IDs in user namespaces. Such a process
 * is a client of the user to whom its user ID is assigned. Otherwise one user could take the shares
 * of many users.
 */

#include <sys/socket.h>

/** The path of the file of subordinate user IDs (subuid(5)). */
#define CREDS_SUBUID_PATH "/etc/subuid"

/**
 * Read the file of subordinate user IDs. Its assignments replace those of an earlier call. A file
 * that does not exist, and lines that are not as in subuid(5), assign no user IDs. The function
 * must be called while the process has only one thread.
 * @return 0, or -errno
 */
int creds_read_subuids(const char *path);

/**
 * Get the process ID and the user of the process that connected a socket to uroced. If the process
 * has a subordinate user ID, the user is the one to whom this user ID is assigned. All user IDs of
 * a range that is assigned to root count as the first user ID of the range, because they do not
 * have the rights of root.
 */
struct ucred creds_of(int socket);

#endif /* UROCED_CREDS_H */
