/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The chosen clients are kept at the front of the array, in order of service. There is one for each user, so a search through them
 * is short where a user has many clients. qsort() would allocate memory and ask the kernel how much there is.
 */

#include "user_turns.h"

/* Put a client among those that are chosen, which are in order of service. */
static void
insert_turn(struct user_turn *turns, unsigned nb_chosen, const struct user_turn *turn)
{
	const struct user_turn moved = *turn;

	for (; nb_chosen > 0 && turns[nb_chosen - 1].served > moved.served; nb_chosen--)
		turns[nb_chosen] = turns[nb_chosen - 1];
	turns[nb_chosen] = moved;
}

/* @return where the chosen client of a user is; `nb_chosen`: there is none */
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
