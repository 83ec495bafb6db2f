/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A sorted list of delayed frames. A new frame is mostly due after all other frames, so its place
 * is searched from the end of the list.
 */

#include "hold.h"

#include <stdlib.h>
#include <string.h>

bool
hold_put(struct hold *hold, const uint8_t *frame, uint32_t len, uint64_t due_ns, uint64_t after)
{
	struct held *held = malloc(sizeof(*held) + len);
	struct held *before = TAILQ_LAST(hold, hold);

	if (!held)
		return false;
	held->due_ns = due_ns;
	held->after = after;
	held->len = len;
	memcpy(held->frame, frame, len);
	while (before && before->due_ns > due_ns)
		before = TAILQ_PREV(before, hold, entry);
	if (before)
		TAILQ_INSERT_AFTER(hold, before, held, entry);
	else
		TAILQ_INSERT_HEAD(hold, held, entry);
	return true;
}

struct held *
hold_take_overtaken(struct hold *hold, uint64_t nb_come)
{
	struct held *held;

	TAILQ_FOREACH(held, hold, entry)
	{
		if (held->after <= nb_come) {
			TAILQ_REMOVE(hold, held, entry);
			return held;
		}
	}
	return NULL;
}

struct held *
hold_take_due(struct hold *hold, uint64_t now_ns)
{
	struct held *held = TAILQ_FIRST(hold);

	if (!held || held->due_ns > now_ns)
		return NULL;
	TAILQ_REMOVE(hold, held, entry);
	return held;
}

uint64_t
hold_due(const struct hold *hold)
{
	const struct held *first = TAILQ_FIRST(hold);

	return first ? first->due_ns : HOLD_NEVER;
}
