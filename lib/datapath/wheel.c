/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The timing wheel. All QPs filed lie in [cursor, cursor + SLOTS), so a slot holds QPs of one tick
 * only. A bitmap of occupied slots answers "when next?" without walking the slots.
 */

#include "datapath/wheel.h"

#include <stddef.h>
#include <string.h>

#define SLOT_MASK (UROCE_WHEEL_SLOTS - 1)

void
uroce_wheel_init(struct uroce_wheel *wheel, uint64_t now_ns)
{
	memset(wheel, 0, sizeof(*wheel));
	wheel->cursor = now_ns >> UROCE_WHEEL_SHIFT;
	wheel->now_tick = wheel->cursor;
	wheel->next_tick = UROCE_NEVER;
}

void
uroce_wheel_init_qpr(struct uroce_qpr *qpr)
{
	qpr->timer_next = NULL;
	qpr->timer_prev = NULL;
	qpr->timer_tick = UROCE_NEVER;
}

static void
link_qpr(struct uroce_wheel *wheel, struct uroce_qpr *qpr, uint64_t tick)
{
	const uint32_t idx = tick & SLOT_MASK;
	struct uroce_qpr **head = &wheel->slot[idx];

	qpr->timer_tick = tick;
	qpr->timer_next = *head;
	qpr->timer_prev = head;
	if (*head)
		(*head)->timer_prev = &qpr->timer_next;
	*head = qpr;
	wheel->occupied[idx / 64] |= UINT64_C(1) << idx % 64;
	wheel->nb_filed++;
	if (tick < wheel->next_tick)
		wheel->next_tick = tick;
}

void
uroce_wheel_remove(struct uroce_wheel *wheel, struct uroce_qpr *qpr)
{
	const uint32_t idx = qpr->timer_tick & SLOT_MASK;

	if (qpr->timer_tick == UROCE_NEVER)
		return;
	*qpr->timer_prev = qpr->timer_next;
	if (qpr->timer_next)
		qpr->timer_next->timer_prev = qpr->timer_prev;
	if (!wheel->slot[idx])
		wheel->occupied[idx / 64] &= ~(UINT64_C(1) << idx % 64);
	wheel->nb_filed--;
	uroce_wheel_init_qpr(qpr);
}

void
uroce_wheel_file(struct uroce_wheel *wheel, struct uroce_qpr *qpr, uint64_t deadline_ns)
{
	const uint64_t last = wheel->cursor + UROCE_WHEEL_SLOTS - 1;
	uint64_t tick;

	if (deadline_ns == UROCE_NEVER)
		return;
	tick = (deadline_ns >> UROCE_WHEEL_SHIFT) + 1; /* rounded up: never early by rounding */
	if (tick <= wheel->now_tick)
		tick = wheel->now_tick + 1; /* not again in the expire that is under way */
	if (tick > last)
		tick = last;
	if (tick >= qpr->timer_tick)
		return;
	uroce_wheel_remove(wheel, qpr);
	link_qpr(wheel, qpr, tick);
}

/* The first occupied tick in [from, from + SLOTS); the wheel is not empty. */
static uint64_t
next_occupied(const struct uroce_wheel *wheel, uint64_t from)
{
	uint32_t idx = from & SLOT_MASK;
	uint64_t word = wheel->occupied[idx / 64] >> idx % 64;

	if (word)
		return from + (unsigned)__builtin_ctzll(word);
	from += 64 - idx % 64;
	for (;; from += 64) {
		idx = from & SLOT_MASK;
		word = wheel->occupied[idx / 64];
		if (word)
			return from + (unsigned)__builtin_ctzll(word);
	}
}

struct uroce_qpr *
uroce_wheel_take(struct uroce_wheel *wheel, uint64_t now_ns)
{
	const uint64_t now_tick = now_ns >> UROCE_WHEEL_SHIFT;
	struct uroce_qpr *qpr;

	if (now_tick > wheel->now_tick)
		wheel->now_tick = now_tick;
	/* Most rounds end here: the slots are searched when something is due, not before. */
	if (wheel->next_tick <= wheel->now_tick)
		wheel->next_tick =
			wheel->nb_filed ? next_occupied(wheel, wheel->cursor) : UROCE_NEVER;
	if (wheel->next_tick > wheel->now_tick) {
		wheel->cursor = wheel->now_tick + 1;
		return NULL;
	}
	wheel->cursor = wheel->next_tick;
	qpr = wheel->slot[wheel->cursor & SLOT_MASK];
	uroce_wheel_remove(wheel, qpr);
	return qpr;
}

uint64_t
uroce_wheel_next_ns(const struct uroce_wheel *wheel)
{
	if (!wheel->nb_filed)
		return UROCE_NEVER;
	return next_occupied(wheel, wheel->cursor) << UROCE_WHEEL_SHIFT;
}
