/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory windows. A bind first counts the window in the state word of its region. From then on the
 * region cannot be withdrawn. If another worker has changed the window in the meantime, the bind
 * subtracts the count again.
 *
 * Every change of a window begins with a compare-and-swap of its state word. The word has a
 * generation number, so that the compare-and-swap fails if any change came in between.
 */

#include "mem/mw.h"

#include <errno.h>
#include <infiniband/verbs.h>

#include "mem/table.h"

static uint64_t
get_life(uint64_t state)
{
	return state & UROCE_ENTRY_LIFE;
}

/*
 * Compute the next state word of a window. Its generation, a counter of changes, is incremented by
 * 1.
 */
static uint64_t
next_state(uint64_t state, uint64_t life, uint32_t rkey)
{
	return ((state & ~UROCE_ENTRY_WHO) + UROCE_ENTRY_ONE) | life | rkey;
}

static bool
swap_state(struct uroce_entry *entry, uint64_t state, uint64_t to)
{
	return atomic_compare_exchange_strong_explicit(&entry->state, &state, to,
						       memory_order_acq_rel, memory_order_relaxed);
}

/* Subtract a window from the count of windows in the state word of its region. */
static void
release_parent(struct uroce_mr_table *table, uint32_t parent_idx)
{
	atomic_fetch_sub_explicit(&table->entries[parent_idx].state, UROCE_ENTRY_ONE,
				  memory_order_acq_rel);
}

/*
 * Find the entry of a window, bound or not.
 * @return the entry; NULL: the key is not that of a window
 */
static struct uroce_entry *
find_window(const struct uroce_mr_table *table, uint32_t rkey, uint64_t *state)
{
	struct uroce_entry *entry = uroce_entry_find(table, rkey);

	if (entry == NULL)
		return NULL;
	*state = atomic_load_explicit(&entry->state, memory_order_acquire);
	if (get_life(*state) != UROCE_ENTRY_LIVE && get_life(*state) != UROCE_ENTRY_IDLE)
		return NULL;
	return uroce_entry_is_window(UROCE_ENTRY_GET(entry, kind)) ? entry : NULL;
}

int
uroce_mw_add(struct uroce_mr_table *table, enum uroce_mw_kind kind, uint32_t pdn, uint32_t *rkey)
{
	uint32_t key;
	struct uroce_entry *entry = uroce_entry_take(table, &key);

	if (entry == NULL)
		return -ENOMEM;
	UROCE_ENTRY_SET(entry, kind, (uint8_t)kind);
	UROCE_ENTRY_SET(entry, pdn, pdn);
	UROCE_ENTRY_SET(entry, access, 0);
	/*
	 * Release R1: a thread that loads this state (acquire in find_window()) sees the window's
	 * fields.
	 */
	atomic_store_explicit(&entry->state, UROCE_ENTRY_IDLE | key, memory_order_release);
	*rkey = key;
	return 0;
}

/*
 * Whether a bind of the window is in progress. The state DEAD means that a bind is in progress, or
 * that the window was removed. A removed window has generation 0; a bind increments the generation.
 */
static bool
is_being_bound(const struct uroce_mr_table *table, uint32_t rkey)
{
	const struct uroce_entry *entry = uroce_entry_find(table, rkey);

	if (entry == NULL)
		return false;
	const uint64_t state = atomic_load_explicit(&entry->state, memory_order_relaxed);

	return get_life(state) == UROCE_ENTRY_DEAD && state >= UROCE_ENTRY_ONE;
}

int
uroce_mw_remove(struct uroce_mr_table *table, uint32_t rkey, uint32_t *last_rkey)
{
	uint64_t state;
	struct uroce_entry *entry = find_window(table, rkey, &state);

	if (entry == NULL)
		return is_being_bound(table, rkey) ? -EBUSY : -EINVAL;
	const uint32_t parent_idx = UROCE_ENTRY_GET(entry, parent_idx);

	if (!swap_state(entry, state, UROCE_ENTRY_DEAD | (uint32_t)state))
		return -EBUSY;
	if (get_life(state) == UROCE_ENTRY_LIVE)
		release_parent(table, parent_idx);
	entry->tag = (uint8_t)state;
	table->nb_live--;
	*last_rkey = (uint32_t)state;
	return 0;
}

/*
 * Whether a window may be bound: its protection domain is that of the bind, the access flags are
 * known, and its state permits a bind of a window of this type [IBA 10.6.7.2.2].
 */
static bool
is_bindable(const struct uroce_entry *window, uint64_t state, const struct uroce_mw_bind *bind)
{
	const bool is_type_1 = UROCE_ENTRY_GET(window, kind) == UROCE_MW_1;

	if (UROCE_ENTRY_GET(window, pdn) != bind->pdn ||
	    (bind->access & ~(UROCE_MW_RIGHTS | IBV_ACCESS_LOCAL_WRITE)) != 0)
		return false;
	return is_type_1 || (get_life(state) == UROCE_ENTRY_IDLE && bind->len > 0);
}

/*
 * Check that a window may be bound to `region`. The caller has found the state of the region to be
 * LIVE.
 */
static int
check_region(const struct uroce_entry *region, const struct uroce_mw_bind *bind)
{
	const uint32_t changes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
	const uint32_t needed =
		IBV_ACCESS_MW_BIND | (bind->access & changes ? IBV_ACCESS_LOCAL_WRITE : 0);
	const uint64_t offset = bind->addr - UROCE_ENTRY_GET(region, iova);
	const uint64_t region_len = UROCE_ENTRY_GET(region, len);

	const uint8_t kind = UROCE_ENTRY_GET(region, kind);

	if ((kind != 0 && kind != UROCE_ENTRY_ODP) || UROCE_ENTRY_GET(region, pdn) != bind->pdn)
		return -EINVAL;
	if (offset > region_len || bind->len > region_len - offset)
		return -EINVAL;
	return (needed & ~UROCE_ENTRY_GET(region, access)) != 0 ? -EACCES : 0;
}

/*
 * Add a window to the count of windows in the state word of its region, if the region is still
 * registered.
 */
static int
claim_region(const struct uroce_mr_table *table, const struct uroce_mw_bind *bind,
	     struct uroce_entry **out)
{
	struct uroce_entry *region = uroce_entry_find(table, bind->mr_key);

	if (region == NULL)
		return -EINVAL;
	/* Acquire A1 pairs with release R1 in mr.c: the fields of the region are visible. */
	uint64_t state = atomic_load_explicit(&region->state, memory_order_acquire);

	do {
		if ((state & UROCE_ENTRY_WHO) != (UROCE_ENTRY_LIVE | bind->mr_key))
			return -EINVAL;
		const int ret = check_region(region, bind);

		if (ret != 0)
			return ret;
	} while (!atomic_compare_exchange_weak_explicit(
		&region->state, &state, state + UROCE_ENTRY_ONE, memory_order_acq_rel,
		memory_order_acquire));
	*out = region;
	return 0;
}

static void
fill_window(struct uroce_entry *window, const struct uroce_mw_bind *bind,
	    const struct uroce_entry *region)
{
	const bool is_zero_based = (bind->access & IBV_ACCESS_ZERO_BASED) != 0;
	const uint64_t offset = bind->addr - UROCE_ENTRY_GET(region, iova);

	UROCE_ENTRY_SET(window, iova, is_zero_based ? 0 : bind->addr);
	UROCE_ENTRY_SET(window, len, bind->len);
	UROCE_ENTRY_SET(window, addr, UROCE_ENTRY_GET(region, addr) + offset);
	UROCE_ENTRY_SET(window, access,
			(bind->access & UROCE_MW_RIGHTS) |
				(UROCE_ENTRY_GET(region, access) & IBV_ACCESS_ON_DEMAND));
	UROCE_ENTRY_SET(window, qpn, bind->qpn);
}

static int
unbind_window(struct uroce_mr_table *table, struct uroce_entry *window, uint64_t state,
	      uint32_t rkey)
{
	const uint32_t parent_idx = UROCE_ENTRY_GET(window, parent_idx);

	if (!swap_state(window, state, next_state(state, UROCE_ENTRY_IDLE, rkey)))
		return -EINVAL;
	if (get_life(state) == UROCE_ENTRY_LIVE)
		release_parent(table, parent_idx);
	return 0;
}

int
uroce_mw_bind(struct uroce_mr_table *table, const struct uroce_mw_bind *bind)
{
	struct uroce_entry *region;
	uint64_t state;
	struct uroce_entry *window = find_window(table, bind->rkey, &state);

	if (window == NULL || !is_bindable(window, state, bind))
		return -EINVAL;
	if (bind->len == 0)
		return unbind_window(table, window, state, bind->rkey);
	const int ret = claim_region(table, bind, &region);

	if (ret != 0)
		return ret;
	const uint32_t region_idx = (uint32_t)(region - table->entries);
	const uint64_t bind_state = next_state(state, UROCE_ENTRY_DEAD, (uint32_t)state);

	/*
	 * The state DEAD reserves the window for this bind, until the bind sets the state to LIVE.
	 */
	if (!swap_state(window, state, bind_state)) {
		release_parent(table, region_idx);
		return -EINVAL;
	}
	/*
	 * Fence R4 pairs with fence A4 in uroce_mw_resolve(). The state of the window changes
	 * before its fields are written.
	 */
	atomic_thread_fence(memory_order_release);
	if (get_life(state) == UROCE_ENTRY_LIVE)
		release_parent(table, UROCE_ENTRY_GET(window, parent_idx));
	UROCE_ENTRY_SET(window, parent_idx, region_idx);
	fill_window(window, bind, region);
	atomic_store_explicit(&window->state, next_state(bind_state, UROCE_ENTRY_LIVE, bind->rkey),
			      /*
			       * Release R1: a thread that loads this state (acquire A1 in mr.c)
			       * sees the window's fields.
			       */
			      memory_order_release);
	return 0;
}

/* Whether the QP `qpn` of the protection domain `pdn` may use or invalidate a bound window. */
static bool
is_of_qp(const struct uroce_entry *window, uint32_t pdn, uint32_t qpn)
{
	const uint8_t kind = UROCE_ENTRY_GET(window, kind);

	if (kind != UROCE_MW_2A && UROCE_ENTRY_GET(window, pdn) != pdn)
		return false;
	return kind == UROCE_MW_1 || UROCE_ENTRY_GET(window, qpn) == qpn;
}

int
uroce_mw_invalidate(struct uroce_mr_table *table, uint32_t rkey, uint32_t pdn, uint32_t qpn)
{
	uint64_t state;
	struct uroce_entry *window = find_window(table, rkey, &state);

	if (window == NULL || (state & UROCE_ENTRY_WHO) != (UROCE_ENTRY_LIVE | rkey))
		return -EINVAL;
	if (UROCE_ENTRY_GET(window, kind) == UROCE_MW_1 || !is_of_qp(window, pdn, qpn))
		return -EINVAL;
	return unbind_window(table, window, state, rkey);
}

void *
uroce_mw_resolve(const struct uroce_entry *window, uint64_t state, uint32_t pdn, uint32_t qpn,
		 uint64_t va, uint64_t len, uint32_t access)
{
	const uint64_t offset = va - UROCE_ENTRY_GET(window, iova);
	const uint64_t window_len = UROCE_ENTRY_GET(window, len);
	const uint64_t addr = UROCE_ENTRY_GET(window, addr);
	const uint32_t granted = UROCE_ENTRY_GET(window, access);
	const bool is_allowed = is_of_qp(window, pdn, qpn) && (access & ~granted) == 0;

	/*
	 * Fence A4 pairs with fence R4 in uroce_mw_bind(). The fields of the window are read before
	 * its state is read again.
	 */
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&window->state, memory_order_relaxed) != state)
		return NULL;
	if (!is_allowed || offset > window_len || len > window_len - offset)
		return NULL;
	void *const at = (void *)(uintptr_t)(addr + offset);

	return granted & IBV_ACCESS_ON_DEMAND ? uroce_entry_page_in(window, at, len, access) : at;
}
