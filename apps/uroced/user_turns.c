/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Chooses, for each user, the client of this user that was served the longest ago. The chosen
 * clients are kept at the front of the array, in order of service. There is one chosen client for
 * each user, so a search through these clients is short if there are few users, even if they have
 * many clients. qsort() is not used, since it allocates memory and queries the kernel for the size
 * of memory.
 */

#include "user_turns.h"

/*
 * Insert a client into the array of chosen clients, which is in the order of the times when they
 * were served last.
 */
static void
insert_turn(struct user_turn *turns, unsigned nb_chosen, const struct user_turn *turn)
{
	const struct user_turn moved = *turn;

	for (; nb_chosen > 0 && turns[nb_chosen - 1].served > moved.served; nb_chosen--)
		turns[nb_chosen] = turns[nb_chosen - 1];
	turns[nb_chosen] = moved;
}

/*
 * Find the chosen client of a user.
 * @return the index of the client; `nb_chosen` if the user has no chosen client yet
 */
static unsigned
find_chosen(const struct user_turn *turns, unsigned nb_chosen, uid_t uid)
{
	unsigned i = 0;

	while (i < nb_chosen && turns[i].uid != uid)
		i++;
	return i;
}

unsigned
user_turns_choose(struct user_turn *turns, unsigned nb)
{
	unsigned nb_chosen = 0;

	for (unsigned i = 0; i < nb; i++) {
		const struct user_turn turn = turns[i];
		const unsigned at = find_chosen(turns, nb_chosen, turn.uid);

		if (at == nb_chosen)
			insert_turn(turns, nb_chosen++, &turn);
		else if (turn.served < turns[at].served)
			insert_turn(turns, at, &turn);
	}
	return nb_chosen;
}
