/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_USER_TURNS_H
#define UROCED_USER_TURNS_H

/**
 * @file
 * Chooses the clients whose messages the control thread handles next. All clients that have a
 * message are known. Of each user the client that was served the longest ago is chosen. So a client
 * waits for one message of each other user, however many clients these users have.
 */

#include <stdint.h>
#include <sys/types.h>

/** A client with a message to be handled. */
struct user_turn {
	uid_t uid;
	uint32_t slot; /* index of the client in the array `client` of the control thread */
	/*
	 * when the client was served last, counted in messages of all clients; 0: it is served
	 * first
	 */
	uint64_t served;
};

/**
 * Choose a client of each user.
 * @param[in,out] turns  the chosen ones come first, those that were served the longest ago before others
 * @return how many are chosen
 */
unsigned user_turns_choose(struct user_turn *turns, unsigned nb);

#endif /* UROCED_USER_TURNS_H */
