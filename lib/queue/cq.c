/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completion queues. How no wake-up is lost: the producer publishes entries, then reads `arm`. The
 * consumer sets `arm`, then reads the index of the entries. All four operations are seq_cst, so
 * all threads see them in one order:
 *
 *	S1	the producer publishes entries
 *	S2	the consumer reads the index of the entries
 *	S3	`arm` is set or cleared
 *	S4	the producer reads `arm`
 *
 * Either S3 comes before S4, and the producer raises the event; or S1 comes before S2, and the
 * consumer finds the entries.
 *
 * Slots are written only under push_lock. So a producer that has push_lock may still read the
 * entries of a batch after their publication.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "queue/cq.h"

size_t
uroce_cq_memsize(uint32_t nb_cqe)
{
	return uroce_ring_memsize(nb_cqe, sizeof(struct uroce_cqe));
}

void
uroce_cq_init(struct uroce_cq *cq, void *mem, uint32_t nb_cqe)
{
	*cq = (struct uroce_cq){ .arm = UROCE_CQ_UNARMED };
	uroce_ring_init(&cq->ring, mem, nb_cqe, sizeof(struct uroce_cqe));
}

void
uroce_cq_begin(struct uroce_cq *cq)
{
	uroce_lock_take(&cq->push_lock);
}

/*
 * Whether one of the `nb` newest entries of the CQ wakes a consumer that waits for solicited
 * events. Solicited entries and errors do so [IBA 11.4.2.2].
 */
static bool
has_solicited(const struct uroce_cq *cq, uint32_t nb)
{
	const uint32_t head = uroce_ring_head(&cq->ring);

	for (uint32_t i = 1; i <= nb; i++) {
		const struct uroce_cqe *cqe = uroce_ring_at(&cq->ring, head - i);

		if (cqe->is_solicited || cqe->status != IBV_WC_SUCCESS)
			return true;
	}
	return false;
}

/*
 * Clear the state `arm` of a CQ if the CQ is armed for one of its `nb` newest entries.
 * @return whether `arm` was cleared, so that the event must be raised
 */
static bool
disarm_consumer(struct uroce_cq *cq, uint32_t nb)
{
	/*
	 * Load S4 reads `arm` after store S1, which publishes the entries (both seq_cst). So a
	 * consumer that found no entry is seen as armed.
	 */
	uint32_t arm = atomic_load_explicit(&cq->arm, memory_order_seq_cst);

	if (arm == UROCE_CQ_UNARMED)
		return false;
	const bool wakes_solicited = has_solicited(cq, nb);

	/*
	 * A compare-and-swap that fails loads the present value of the CQ's state into `arm`,
	 * because a consumer may have changed the state. The loop then tests this value.
	 */
	while (arm == UROCE_CQ_ARMED || (arm == UROCE_CQ_ARMED_SOLICITED && wakes_solicited)) {
		if (atomic_compare_exchange_weak_explicit(&cq->arm, &arm, UROCE_CQ_UNARMED,
							  /*
							   * on success: store S3 clears `arm`,
							   * ordered (seq_cst) with store S1, which
							   * published the entries
							   */
							  memory_order_seq_cst,
							  /*
							   * on failure: load S4 reads `arm` again,
							   * after store S1, which published the
							   * entries (both seq_cst)
							   */
							  memory_order_seq_cst))
			return true;
	}
	return false;
}

/* Publish the oldest `nb` entries of the CQ that are not published. The caller holds push_lock. */
static void
publish_entries(struct uroce_cq *cq, uint32_t nb)
{
	cq->nb_due = 0;
	if (nb > 0) {
		cq->nb_open -= nb;
		/*
		 * Store S1 publishes the entries before load S4 reads `arm`, so that no wake-up is
		 * lost.
		 */
		uroce_ring_push_ordered(&cq->ring, nb);
		if (disarm_consumer(cq, nb))
			cq->is_awaited = true;
	}
	if (cq->has_overrun && cq->nb_open == 0) {
		cq->has_overrun = false;
		/*
		 * Release R3: a thread that sees the overrun (acquire A3) also sees all entries
		 * that did fit.
		 */
		atomic_store_explicit(&cq->is_overrun, true, memory_order_release);
	}
}

/*
 * Publish the oldest `nb` entries of the CQ that are not published, and release push_lock.
 * @return whether the CQ was armed for one of the entries, so that the event must be raised
 */
static bool
publish_and_release(struct uroce_cq *cq, uint32_t nb)
{
	publish_entries(cq, nb);
	const bool is_awaited = cq->is_awaited;

	cq->is_awaited = false;
	uroce_lock_release(&cq->push_lock);
	return is_awaited;
}

bool
uroce_cq_end(struct uroce_cq *cq)
{
	return publish_and_release(cq, cq->nb_open);
}

static void
append_to_list(struct uroce_cq_list *list, struct uroce_cq *cq)
{
	cq->list = list;
	cq->list_next = NULL;
	if (list->first)
		list->last->list_next = cq;
	else
		list->first = cq;
	list->last = cq;
}

void
uroce_cq_end_later(struct uroce_cq *cq, struct uroce_cq_list *list)
{
	if (!cq->list)
		append_to_list(list, cq);
	/* if the CQ is on the list of another worker, that worker raises the event of the CQ */
	else if (cq->list != list)
		publish_entries(cq, cq->nb_open);
	uroce_lock_release(&cq->push_lock);
}

void
uroce_cq_list_mark_due(struct uroce_cq_list *list)
{
	for (struct uroce_cq *cq = list->first; cq; cq = cq->list_next) {
		uroce_lock_take(&cq->push_lock);
		cq->nb_due = cq->nb_open;
		uroce_lock_release(&cq->push_lock);
	}
}

struct uroce_cq *
uroce_cq_list_take(struct uroce_cq_list *list)
{
	struct uroce_cq *first = list->first;

	list->first = NULL;
	return first;
}

struct uroce_cq *
uroce_cq_publish(struct uroce_cq *cq, struct uroce_cq_list *list, bool is_all, bool *is_awaited)
{
	struct uroce_cq *next = cq->list_next;

	uroce_lock_take(&cq->push_lock);
	const uint32_t nb = is_all ? cq->nb_open : cq->nb_due;

	cq->list = NULL;
	if (cq->nb_open > nb)
		append_to_list(list, cq);
	*is_awaited = publish_and_release(cq, nb);
	return next;
}

/* Convert `nb` consecutive entries of a CQ, from `cqe` on, to work completions. */
static void
convert_cqes(const struct uroce_cqe *cqe, uint32_t nb, struct ibv_wc *wc)
{
	for (uint32_t i = 0; i < nb; i++)
		memcpy(&wc[i], &cqe[i], sizeof(wc[i]));
}

/* Poll up to `nb` completions of a CQ. The caller holds the poll_lock of the CQ. */
static int
poll_locked(struct uroce_cq *cq, uint32_t nb, struct ibv_wc *wc)
{
	/*
	 * Acquire A3 pairs with release R3, the store of `is_overrun`. The overrun is read before
	 * the index of the entries, so -EOVERFLOW is returned only after all entries.
	 */
	const bool is_overrun = atomic_load_explicit(&cq->is_overrun, memory_order_acquire);
	const uint32_t tail = uroce_ring_tail(&cq->ring);
	/*
	 * Load S2 reads the index of the entries after store S3, which sets `arm` (both seq_cst).
	 * So the consumer sees every entry that was published before the CQ was armed.
	 */
	const uint32_t ready = uroce_ring_head_ordered(&cq->ring) - tail;
	const uint32_t n = ready < nb ? ready : nb;

	if (n == 0)
		return is_overrun ? -EOVERFLOW : 0;
	const uint32_t to_end = cq->ring.mask + 1 - (tail & cq->ring.mask);
	const uint32_t nb_first = n < to_end ? n : to_end;

	convert_cqes(uroce_ring_at(&cq->ring, tail), nb_first, wc);
	convert_cqes(uroce_ring_at(&cq->ring, 0), n - nb_first, wc + nb_first);
	uroce_ring_pop(&cq->ring, n);
	return (int)n;
}

int
uroce_cq_poll(struct uroce_cq *cq, int nb, struct ibv_wc *wc)
{
	if (nb <= 0 || uroce_cq_has_nothing(cq))
		return 0;
	uroce_lock_take(&cq->poll_lock);
	const int polled = poll_locked(cq, (uint32_t)nb, wc);

	uroce_lock_release(&cq->poll_lock);
	return polled;
}

int
uroce_cq_take(struct uroce_cq *cq, struct uroce_cqe *cqe)
{
	int ret = 0;

	if (uroce_cq_has_nothing(cq))
		return -ENOENT;
	uroce_lock_take(&cq->poll_lock);
	/*
	 * Acquire A3 pairs with release R3, the store of `is_overrun`. The overrun is read before
	 * the index of the entries, so -EOVERFLOW is returned only after all entries.
	 */
	const bool is_overrun = atomic_load_explicit(&cq->is_overrun, memory_order_acquire);
	const uint32_t tail = uroce_ring_tail(&cq->ring);

	/*
	 * Load S2 reads the index of the entries after store S3, which sets `arm` (both seq_cst).
	 * So the consumer sees every entry that was published before the CQ was armed.
	 */
	if (uroce_ring_head_ordered(&cq->ring) == tail) {
		ret = is_overrun ? -EOVERFLOW : -ENOENT;
	} else {
		*cqe = *(const struct uroce_cqe *)uroce_ring_at(&cq->ring, tail);
		uroce_ring_pop(&cq->ring, 1);
	}
	uroce_lock_release(&cq->poll_lock);
	return ret;
}

void
uroce_cq_arm(struct uroce_cq *cq, bool solicited_only)
{
	const uint32_t wanted = solicited_only ? UROCE_CQ_ARMED_SOLICITED : UROCE_CQ_ARMED;
	uint32_t arm = atomic_load_explicit(&cq->arm, memory_order_seq_cst);

	/*
	 * If the CQ is already armed for every completion, an event is still to be raised. That
	 * event also reports the completions for which this call would arm the CQ, so the state of
	 * the CQ is not changed.
	 */
	while (arm < wanted &&
	       !atomic_compare_exchange_weak_explicit(&cq->arm, &arm, wanted,
						      /*
						       * store S3 sets `arm`, before load S2 reads
						       * the index of the entries (both seq_cst)
						       */
						      memory_order_seq_cst, memory_order_seq_cst))
		;
}

/*
 * Take both locks of a CQ, the consumers' lock first. Thus a producer that has push_lock never
 * waits for a consumer.
 */
static void
lock_both(struct uroce_cq *cq)
{
	uroce_lock_take(&cq->poll_lock);
	uroce_lock_take(&cq->push_lock);
	/*
	 * A purge or a resize must process all entries of the CQ, so the entries that are not
	 * published yet are published first.
	 */
	publish_entries(cq, cq->nb_open);
}

static void
unlock_both(struct uroce_cq *cq)
{
	uroce_lock_release(&cq->push_lock);
	uroce_lock_release(&cq->poll_lock);
}

void
uroce_cq_purge(struct uroce_cq *cq, const void *qp)
{
	lock_both(cq);
	const uint32_t tail = uroce_ring_tail(&cq->ring);
	uint32_t to = uroce_ring_head(&cq->ring);

	/*
	 * In a purge, the entries that stay move towards the newest entry, into the slots of
	 * removed entries. So the producer's index does not change.
	 */
	for (uint32_t from = to; from != tail; from--) {
		const struct uroce_cqe *cqe = uroce_ring_at(&cq->ring, from - 1);

		if (cqe->qp == qp)
			continue;
		to--;
		if (to != from - 1)
			memcpy(uroce_ring_at(&cq->ring, to), cqe, sizeof(*cqe));
	}
	uroce_ring_pop(&cq->ring, to - tail);
	unlock_both(cq);
}

/* Move the entries of a CQ to new memory. The caller holds both locks of the CQ. */
static int
move_entries(struct uroce_cq *cq, void *mem, uint32_t nb_cqe)
{
	const uint32_t tail = uroce_ring_tail(&cq->ring);
	const uint32_t head = uroce_ring_head(&cq->ring);
	struct uroce_ring ring;

	if (head - tail > nb_cqe)
		return -EINVAL;
	uroce_ring_init(&ring, mem, nb_cqe, sizeof(struct uroce_cqe));
	for (uint32_t i = tail; i != head; i++)
		memcpy(uroce_ring_at(&ring, i), uroce_ring_at(&cq->ring, i),
		       sizeof(struct uroce_cqe));
	/*
	 * The indices of the CQ's ring do not change, because threads may read them without a lock.
	 */
	cq->ring.slots = ring.slots;
	cq->ring.mask = ring.mask;
	cq->ring.limit = ring.limit;
	return 0;
}

int
uroce_cq_resize(struct uroce_cq *cq, void *mem, uint32_t nb_cqe)
{
	lock_both(cq);
	const int ret = move_entries(cq, mem, nb_cqe);

	unlock_both(cq);
	return ret;
}
