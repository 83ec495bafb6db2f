/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The timing wheel. The ticks of all filed QPs are within [cursor, cursor + UROCE_WHEEL_SLOTS), so
 * all QPs in a slot have the same tick. A bitmap of occupied slots, and a bitmap of its non-zero
 * words, find the next expiry without a search through the slots. This matters because a wheel
 * usually has a single timer, far in the future.
 */

#include "datapath/worker/wheel.h"

#include <stddef.h>
#include <string.h>

#define SLOT_MASK (UROCE_WHEEL_SLOTS - 1)
#define NB_WORDS  (UROCE_WHEEL_SLOTS / 64)

void
uroce_wheel_init(struct uroce_wheel *wheel, uint64_t now_ns)
{
	memset(wheel, 0, sizeof(*wheel));
	wheel->cursor = now_ns >> UROCE_WHEEL_SHIFT;
	wheel->now_tick = wheel->cursor;
	wheel->next_tick = UROCE_NEVER;
}

void
uroce_wheel_init_qp(struct uroce_worker_qp *wqp)
{
	wqp->timer_next = NULL;
	wqp->timer_prev = NULL;
	wqp->timer_tick = UROCE_NEVER;
}

static void
link_qp(struct uroce_wheel *wheel, struct uroce_worker_qp *wqp, uint64_t tick)
{
	const uint32_t idx = tick & SLOT_MASK;
	struct uroce_worker_qp **head = &wheel->slot[idx];

	wqp->timer_tick = tick;
	wqp->timer_next = *head;
	wqp->timer_prev = head;
	if (*head)
		(*head)->timer_prev = &wqp->timer_next;
	*head = wqp;
	wheel->occupied[idx / 64] |= UINT64_C(1) << idx % 64;
	wheel->has_some[idx / 4096] |= UINT64_C(1) << idx / 64 % 64;
	wheel->nb_filed++;
	if (tick < wheel->next_tick)
		wheel->next_tick = tick;
}

static void
clear_bit(struct uroce_wheel *wheel, uint32_t idx)
{
	uint64_t *word = &wheel->occupied[idx / 64];

	*word &= ~(UINT64_C(1) << idx % 64);
	if (!*word)
		wheel->has_some[idx / 4096] &= ~(UINT64_C(1) << idx / 64 % 64);
}

void
uroce_wheel_remove(struct uroce_wheel *wheel, struct uroce_worker_qp *wqp)
{
	const uint32_t idx = wqp->timer_tick & SLOT_MASK;

	if (wqp->timer_tick == UROCE_NEVER)
		return;
	*wqp->timer_prev = wqp->timer_next;
	if (wqp->timer_next)
		wqp->timer_next->timer_prev = wqp->timer_prev;
	if (!wheel->slot[idx])
		clear_bit(wheel, idx);
	wheel->nb_filed--;
	uroce_wheel_init_qp(wqp);
}

void
uroce_wheel_file(struct uroce_wheel *wheel, struct uroce_worker_qp *wqp, uint64_t deadline_ns)
{
	const uint64_t last = wheel->cursor + UROCE_WHEEL_SLOTS - 1;
	uint64_t tick;

	if (deadline_ns == UROCE_NEVER)
		return;
	/* The tick is rounded up, so that rounding never causes an early expiry. */
	tick = (deadline_ns >> UROCE_WHEEL_SHIFT) + 1;
	if (tick <= wheel->now_tick)
		/* A QP never expires twice in one round of the worker. */
		tick = wheel->now_tick + 1;
	if (tick > last)
		tick = last;
	if (tick >= wqp->timer_tick)
		return;
	uroce_wheel_remove(wheel, wqp);
	link_qp(wheel, wqp, tick);
}

/*
 * Find the first bit set at or behind `from`, in a ring of `nb_words` words, at least one of which
 * is not zero.
 * @return the distance from `from`
 */
static uint32_t
find_next_set(const uint64_t *words, uint32_t nb_words, uint32_t from)
{
	const uint64_t first = words[from / 64] >> from % 64;
	uint32_t to = from;

	if (first)
		return (uint32_t)__builtin_ctzll(first);
	do {
		to = (to | 63) + 1;
	} while (!words[to / 64 % nb_words]);
	return to - from + (uint32_t)__builtin_ctzll(words[to / 64 % nb_words]);
}

/*
 * Get the first tick in [from, from + UROCE_WHEEL_SLOTS) in which a QP is filed. The wheel must not
 * be empty.
 */
static uint64_t
find_next_occupied(const struct uroce_wheel *wheel, uint64_t from)
{
	const uint32_t idx = from & SLOT_MASK;
	const uint64_t word = wheel->occupied[idx / 64] >> idx % 64;
	uint32_t at;

	if (word)
		return from + (unsigned)__builtin_ctzll(word);
	at = (idx / 64 + 1) % NB_WORDS;
	at = (at + find_next_set(wheel->has_some, NB_WORDS / 64, at)) % NB_WORDS;
	at = at * 64 + (uint32_t)__builtin_ctzll(wheel->occupied[at]);
	return from + ((at - idx) & SLOT_MASK);
}

struct uroce_worker_qp *
uroce_wheel_take(struct uroce_wheel *wheel, uint64_t now_ns)
{
	const uint64_t now_tick = now_ns >> UROCE_WHEEL_SHIFT;
	struct uroce_worker_qp *wqp;

	if (now_tick > wheel->now_tick)
		wheel->now_tick = now_tick;
	/* Search the slots only if a timer may be due. In most rounds no timer is due. */
	if (wheel->next_tick <= wheel->now_tick)
		wheel->next_tick =
			wheel->nb_filed ? find_next_occupied(wheel, wheel->cursor) : UROCE_NEVER;
	if (wheel->next_tick > wheel->now_tick) {
		wheel->cursor = wheel->now_tick + 1;
		return NULL;
	}
	wheel->cursor = wheel->next_tick;
	wqp = wheel->slot[wheel->cursor & SLOT_MASK];
	uroce_wheel_remove(wheel, wqp);
	return wqp;
}

uint64_t
uroce_wheel_next_ns(const struct uroce_wheel *wheel)
{
	if (!wheel->nb_filed)
		return UROCE_NEVER;
	return find_next_occupied(wheel, wheel->cursor) << UROCE_WHEEL_SHIFT;
}
