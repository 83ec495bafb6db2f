/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_USER_TURNS_H
#define UROCED_USER_TURNS_H

/**
 * @file
 * Chooses the clients whose messages the control thread handles next. The caller passes all clients
 * that have a message. Of the clients of each user, the one that was served the longest ago is
 * chosen. So a client waits for one message of each other user, however many clients these users
 * have.
 */

#include <stdint.h>
#include <sys/types.h>

/** A client that has sent a message which is not handled yet. */
struct user_turn {
	uid_t uid;
	uint32_t slot; /* index of the client in the array control.client */
	/*
	 * number of messages of all clients that had been handled when this client was served last;
	 * 0 if this client is to be served first
	 */
	uint64_t served;
};

/**
 * Choose one client of each user, whose message is handled next.
 * @param[in,out] turns  all clients that have a message. On return the chosen clients are first, in
 *         the order in which they are to be served.
 * @return the number of chosen clients
 */
unsigned user_turns_choose(struct user_turn *turns, unsigned nb);

#endif /* UROCED_USER_TURNS_H */
