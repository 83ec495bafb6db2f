/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completion queues: order, batches, events, overrun, purge and resize. Tests with several threads
 * are in race.c.
 */

#include "make_cq.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define NB_CQE 4

static int
setup(void **state)
{
	*state = make_cq(NB_CQE);
	return 0;
}

static int
teardown(void **state)
{
	free_cq(*state);
	return 0;
}

static void
put(struct uroce_cq *cq, uint64_t wr_id)
{
	struct uroce_cqe *cqe = uroce_cq_put(cq);

	assert_non_null(cqe);
	cqe->wr_id = wr_id;
}

/*
 * Add a batch of `nb` entries, whose wr_id counts up from `wr_id`.
 * @return whether the batch causes an event
 */
static bool
complete(struct uroce_cq *cq, uint64_t wr_id, unsigned nb)
{
	uroce_cq_begin(cq);
	for (unsigned i = 0; i < nb; i++)
		put(cq, wr_id + i);
	return uroce_cq_end(cq);
}

/* Add a batch of `nb` entries, which are published when `list` is published. */
static void
complete_later(struct uroce_cq *cq, struct uroce_cq_list *list, uint64_t wr_id, unsigned nb)
{
	uroce_cq_begin(cq);
	for (unsigned i = 0; i < nb; i++)
		put(cq, wr_id + i);
	uroce_cq_end_later(cq, list);
}

/*
 * Add one entry that is solicited or has an error status.
 * @return whether the entry causes an event
 */
static bool
complete_as(struct uroce_cq *cq, bool is_solicited, enum ibv_wc_status status)
{
	uroce_cq_begin(cq);
	struct uroce_cqe *cqe = uroce_cq_put(cq);

	assert_non_null(cqe);
	cqe->is_solicited = is_solicited;
	cqe->status = status;
	return uroce_cq_end(cq);
}

/*
 * Poll until the queue is empty, and compare the entries with the numbers in `wr_id`, whose end is
 * marked by 0.
 */
static void
expect_polled(struct uroce_cq *cq, const uint64_t *wr_id)
{
	struct ibv_wc wc;

	for (; *wr_id != 0; wr_id++) {
		assert_int_equal(uroce_cq_poll(cq, 1, &wc), 1);
		assert_int_equal(wc.wr_id, *wr_id);
	}
	assert_int_equal(uroce_cq_poll(cq, 1, &wc), 0);
}

static void
cq_memsize__is_a_line_for_each_slot(void **state)
{
	(void)state;
	assert_int_equal(uroce_cq_memsize(1), 64);
	assert_int_equal(uroce_cq_memsize(5), 8 * 64);
}

static void
cq_poll__converts_every_field(void **state)
{
	struct uroce_cq *cq = *state;
	struct ibv_wc wc;

	uroce_cq_begin(cq);
	struct uroce_cqe *cqe = uroce_cq_put(cq);

	cqe->wr_id = 0x123456789abcdef0;
	cqe->byte_len = 4000000000;
	cqe->imm = 0x44332211;
	cqe->qpn = 0xabcdef;
	cqe->src_qpn = 0xfedcba;
	cqe->vendor_err = 17;
	cqe->pkey_index = 0xbeef;
	cqe->status = IBV_WC_REM_ACCESS_ERR;
	cqe->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	cqe->wc_flags = IBV_WC_GRH | IBV_WC_WITH_IMM;
	cqe->sl = 5;
	uroce_cq_end(cq);

	memset(&wc, 0xee, sizeof(wc));
	assert_int_equal(uroce_cq_poll(cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 0x123456789abcdef0);
	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.vendor_err, 17);
	assert_int_equal(wc.byte_len, 4000000000);
	assert_int_equal(wc.imm_data, 0x44332211);
	assert_int_equal(wc.invalidated_rkey, 0x44332211);
	assert_int_equal(wc.qp_num, 0xabcdef);
	assert_int_equal(wc.src_qp, 0xfedcba);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	assert_int_equal(wc.pkey_index, 0xbeef);
	assert_int_equal(wc.slid, 0);
	assert_int_equal(wc.sl, 5);
	assert_int_equal(wc.dlid_path_bits, 0);
}

static void
cq_put__entry_is_zeroed(void **state)
{
	static const struct uroce_cqe zero;
	struct uroce_cq *cq = *state;

	uroce_cq_begin(cq);
	assert_memory_equal(uroce_cq_put(cq), &zero, sizeof(zero));
	uroce_cq_end(cq);
}

static void
cq_put_copy__is_as_its_model(void **state)
{
	const struct uroce_cqe model = { .wr_id = 7, .status = IBV_WC_WR_FLUSH_ERR, .qpn = 9 };
	struct uroce_cq *cq = *state;

	uroce_cq_begin(cq);
	for (unsigned i = 0; i < NB_CQE; i++)
		assert_memory_equal(uroce_cq_put_copy(cq, &model), &model, sizeof(model));
	assert_null(uroce_cq_put_copy(cq, &model));
	uroce_cq_end(cq);
}

static void
cq_put__is_not_seen_before_the_end(void **state)
{
	struct uroce_cq *cq = *state;
	struct ibv_wc wc;

	uroce_cq_begin(cq);
	put(cq, 1);
	assert_true(uroce_cq_is_empty(cq));
	assert_int_equal(uroce_cq_poll(cq, 1, &wc), 0);
	put(cq, 2);
	assert_int_equal(uroce_cq_poll(cq, 1, &wc), 0);
	uroce_cq_end(cq);
	assert_false(uroce_cq_is_empty(cq));
	expect_polled(cq, (uint64_t[]){ 1, 2, 0 });
	assert_true(uroce_cq_is_empty(cq));
}

static void
cq_poll__takes_at_most_what_was_asked_for(void **state)
{
	struct uroce_cq *cq = *state;
	struct ibv_wc wc[4];

	assert_int_equal(uroce_cq_poll(cq, 4, wc), 0);
	complete(cq, 1, 4);
	assert_int_equal(uroce_cq_poll(cq, 0, wc), 0);
	assert_int_equal(uroce_cq_poll(cq, -1, wc), 0);
	assert_int_equal(uroce_cq_poll(cq, 3, wc), 3);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[2].wr_id, 3);
	assert_int_equal(uroce_cq_poll(cq, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 4);
	assert_int_equal(uroce_cq_poll(cq, 4, wc), 0);
}

static void
cq_poll__indices_wrap_at_2_to_the_32(void **state)
{
	struct uroce_cq *cq = *state;
	struct ibv_wc wc[NB_CQE];
	uint64_t polled = 0;

	start_at(cq, UINT32_MAX - 6);
	for (uint64_t next = 0; next < 21; next += 3) {
		complete(cq, next, 3);
		assert_int_equal(uroce_cq_poll(cq, NB_CQE, wc), 3);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(wc[i].wr_id, polled++);
	}
}

static void
cq_end__an_empty_batch_is_nothing(void **state)
{
	struct uroce_cq *cq = *state;

	uroce_cq_arm(cq, false);
	assert_false(complete(cq, 0, 0));
	assert_true(uroce_cq_is_empty(cq));
	assert_true(complete(cq, 1, 1));
}

static void
cq_end__event_as_it_was_asked_for(void **state)
{
	static const struct {
		enum uroce_cq_arm arm;
		bool is_solicited;
		enum ibv_wc_status status;
		bool is_event;
	} rows[] = {
		{ UROCE_CQ_UNARMED, false, IBV_WC_SUCCESS, false },
		{ UROCE_CQ_UNARMED, true, IBV_WC_SUCCESS, false },
		{ UROCE_CQ_UNARMED, true, IBV_WC_RETRY_EXC_ERR, false },
		{ UROCE_CQ_ARMED_SOLICITED, false, IBV_WC_SUCCESS, false },
		{ UROCE_CQ_ARMED_SOLICITED, true, IBV_WC_SUCCESS, true },
		{ UROCE_CQ_ARMED_SOLICITED, false, IBV_WC_WR_FLUSH_ERR, true },
		{ UROCE_CQ_ARMED, false, IBV_WC_SUCCESS, true },
		{ UROCE_CQ_ARMED, true, IBV_WC_SUCCESS, true },
		{ UROCE_CQ_ARMED, false, IBV_WC_WR_FLUSH_ERR, true },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct uroce_cq *cq = make_cq(NB_CQE);

		if (rows[i].arm != UROCE_CQ_UNARMED)
			uroce_cq_arm(cq, rows[i].arm == UROCE_CQ_ARMED_SOLICITED);
		assert_int_equal(complete_as(cq, rows[i].is_solicited, rows[i].status),
				 rows[i].is_event);
		/* an event disarms the queue; a queue that caused no event stays armed */
		assert_int_equal(atomic_load(&cq->arm),
				 rows[i].is_event ? UROCE_CQ_UNARMED : rows[i].arm);
		free_cq(cq);
	}
}

static void
cq_end__any_entry_of_the_batch_may_be_the_solicited_one(void **state)
{
	(void)state;
	for (unsigned solicited = 0; solicited < 4; solicited++) {
		struct uroce_cq *cq = make_cq(NB_CQE);

		start_at(cq, UINT32_MAX - 1);
		uroce_cq_arm(cq, true);
		uroce_cq_begin(cq);
		for (unsigned i = 0; i < 4; i++)
			uroce_cq_put(cq)->is_solicited = i == solicited;
		assert_true(uroce_cq_end(cq));
		free_cq(cq);
	}
}

/*
 * Only entries of a batch can cause the event of the batch: a solicited entry of an earlier batch
 * was there before the consumer armed the queue.
 */
static void
cq_end__only_the_batch_itself_counts(void **state)
{
	struct uroce_cq *cq = *state;

	assert_false(complete_as(cq, true, IBV_WC_SUCCESS));
	uroce_cq_arm(cq, true);
	assert_false(complete_as(cq, false, IBV_WC_SUCCESS));
	assert_true(complete_as(cq, true, IBV_WC_SUCCESS));
	assert_false(complete_as(cq, true, IBV_WC_SUCCESS));
}

static void
cq_arm__the_stronger_request_wins(void **state)
{
	struct uroce_cq *cq = *state;

	uroce_cq_arm(cq, true);
	uroce_cq_arm(cq, false);
	assert_int_equal(atomic_load(&cq->arm), UROCE_CQ_ARMED);
	uroce_cq_arm(cq, true);
	assert_int_equal(atomic_load(&cq->arm), UROCE_CQ_ARMED);
	assert_true(complete(cq, 1, 1));
	assert_false(complete(cq, 2, 1));
}

static void
cq_put__full_queue_overruns(void **state)
{
	struct uroce_cq *cq = *state;
	struct ibv_wc wc[NB_CQE];

	complete(cq, 1, 3);
	assert_false(atomic_load(&cq->is_overrun));
	uroce_cq_begin(cq);
	put(cq, 4);
	assert_null(uroce_cq_put(cq));
	assert_null(uroce_cq_put(cq));
	uroce_cq_end(cq);
	assert_true(atomic_load(&cq->is_overrun));
	/* entries that found room are delivered first; then every poll reports the overrun */
	assert_int_equal(uroce_cq_poll(cq, NB_CQE, wc), 4);
	assert_int_equal(wc[3].wr_id, 4);
	assert_int_equal(uroce_cq_poll(cq, NB_CQE, wc), -EOVERFLOW);
	assert_int_equal(uroce_cq_poll(cq, 1, wc), -EOVERFLOW);
	assert_int_equal(uroce_cq_poll(cq, 0, wc), 0);
}

static void
cq_put__overrun_with_nothing_that_fits(void **state)
{
	struct uroce_cq *cq = *state;

	complete(cq, 1, NB_CQE);
	uroce_cq_arm(cq, false);
	uroce_cq_begin(cq);
	assert_null(uroce_cq_put(cq));
	assert_false(uroce_cq_end(cq));
	assert_true(atomic_load(&cq->is_overrun));
	/* an empty batch afterwards does not report the overrun again */
	assert_false(complete(cq, 0, 0));
}

/*
 * A batch that overruns the queue: its first entries, which found room, are not published before
 * the batch ends.
 */
static void
cq_poll__overrun_shows_after_the_entries_that_fitted(void **state)
{
	struct uroce_cq *cq = *state;
	struct ibv_wc wc;

	uroce_cq_begin(cq);
	for (unsigned i = 0; i < NB_CQE; i++)
		put(cq, 1 + i);
	assert_null(uroce_cq_put(cq));
	assert_int_equal(uroce_cq_poll(cq, 1, &wc), 0);
	uroce_cq_end(cq);
	assert_int_equal(uroce_cq_poll(cq, 1, &wc), 1);
}

static void
cq_take__one_by_one_with_all_of_it(void **state)
{
	struct uroce_cq *cq = *state;
	struct uroce_cqe cqe;

	assert_int_equal(uroce_cq_take(cq, &cqe), -ENOENT);
	uroce_cq_begin(cq);
	uroce_cq_put(cq)->timestamp_ns = 1234;
	put(cq, 2);
	(void)uroce_cq_end(cq);
	assert_int_equal(uroce_cq_take(cq, &cqe), 0);
	assert_int_equal(cqe.timestamp_ns, 1234);
	expect_polled(cq, (uint64_t[]){ 2, 0 });
	assert_int_equal(uroce_cq_take(cq, &cqe), -ENOENT);
}

static void
cq_take__overrun_shows_after_the_entries_that_fitted(void **state)
{
	struct uroce_cq *cq = *state;
	struct uroce_cqe cqe;

	(void)complete(cq, 1, NB_CQE);
	uroce_cq_begin(cq);
	assert_null(uroce_cq_put(cq));
	(void)uroce_cq_end(cq);
	for (uint64_t i = 1; i <= NB_CQE; i++) {
		assert_int_equal(uroce_cq_take(cq, &cqe), 0);
		assert_int_equal(cqe.wr_id, i);
	}
	assert_int_equal(uroce_cq_take(cq, &cqe), -EOVERFLOW);
}

static void
cq_put__limit_is_exact_below_a_power_of_two(void **state)
{
	struct uroce_cq *cq = make_cq(3);

	(void)state;
	uroce_cq_begin(cq);
	put(cq, 1);
	put(cq, 2);
	put(cq, 3);
	assert_null(uroce_cq_put(cq));
	uroce_cq_end(cq);
	free_cq(cq);
}

/* Entries that are polled while a batch is open make room for that batch. */
static void
cq_put__room_that_came_free_meanwhile(void **state)
{
	struct uroce_cq *cq = *state;
	struct ibv_wc wc[2];

	complete(cq, 1, 2);
	uroce_cq_begin(cq);
	put(cq, 3);
	put(cq, 4);
	assert_int_equal(uroce_cq_poll(cq, 2, wc), 2);
	put(cq, 5);
	put(cq, 6);
	uroce_cq_end(cq);
	expect_polled(cq, (uint64_t[]){ 3, 4, 5, 6, 0 });
}

/*
 * Fill a queue with one entry for each letter of `owners`, from index `at` on. Purge the entries of
 * owner 'x', and check the rest.
 */
static void
expect_purged(const char *owners, uint32_t at)
{
	const size_t nb = strlen(owners);
	struct uroce_cq *cq = make_cq(8);
	struct ibv_wc wc;

	start_at(cq, at);
	uroce_cq_begin(cq);
	for (size_t i = 0; i < nb; i++) {
		struct uroce_cqe *cqe = uroce_cq_put(cq);

		cqe->qp = (void *)(uintptr_t)owners[i];
		cqe->wr_id = i;
	}
	uroce_cq_end(cq);
	uroce_cq_purge(cq, (void *)(uintptr_t)'x');
	for (size_t i = 0; i < nb; i++) {
		if (owners[i] == 'x')
			continue;
		assert_int_equal(uroce_cq_poll(cq, 1, &wc), 1);
		assert_int_equal(wc.wr_id, i);
	}
	assert_int_equal(uroce_cq_poll(cq, 1, &wc), 0);
	/* after the purge and the polls all 8 slots are free */
	complete(cq, 0, 8);
	assert_false(atomic_load(&cq->is_overrun));
	free_cq(cq);
}

static void
cq_purge__keeps_the_order_of_the_rest(void **state)
{
	static const char *const rows[] = { "",     "x",     "a",        "xa",       "ax",
					    "xxxx", "abcd",  "axbxc",    "xabxxcx",  "xxab",
					    "abxx", "axxxb", "abcdefgh", "xxxxxxxx", "axbxcxdx" };

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		expect_purged(rows[i], 0);
		expect_purged(rows[i], UINT32_MAX - 2);
	}
}

static void
resize_to(struct uroce_cq *cq, uint32_t nb_cqe, int ret)
{
	void *old = cq->ring.slots;
	void *mem = NULL;

	assert_int_equal(posix_memalign(&mem, 64, uroce_cq_memsize(nb_cqe)), 0);
	assert_int_equal(uroce_cq_resize(cq, mem, nb_cqe), ret);
	if (ret == 0)
		memset(old, 0xee, 64);
	free(ret == 0 ? old : mem);
}

static void
cq_resize__keeps_entries_and_order(void **state)
{
	static const uint32_t places[] = { 0, 3, UINT32_MAX - 1 };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct uroce_cq *cq = make_cq(NB_CQE);

		start_at(cq, places[i]);
		complete(cq, 1, 3);
		resize_to(cq, 9, 0);
		uroce_cq_begin(cq);
		for (unsigned n = 4; n <= 9; n++)
			put(cq, n);
		assert_null(uroce_cq_put(cq));
		uroce_cq_end(cq);
		atomic_store(&cq->is_overrun, false);
		expect_polled(cq, (uint64_t[]){ 1, 2, 3, 4, 5, 6, 7, 8, 9, 0 });
		free_cq(cq);
	}
}

static void
cq_resize__to_what_just_fits(void **state)
{
	struct uroce_cq *cq = make_cq(8);

	(void)state;
	start_at(cq, 5);
	complete(cq, 1, 5);
	resize_to(cq, 4, -EINVAL);
	resize_to(cq, 5, 0);
	uroce_cq_begin(cq);
	assert_null(uroce_cq_put(cq));
	uroce_cq_end(cq);
	atomic_store(&cq->is_overrun, false);
	expect_polled(cq, (uint64_t[]){ 1, 2, 3, 4, 5, 0 });
	free_cq(cq);
}

static void
cq_resize__refusal_changes_nothing(void **state)
{
	struct uroce_cq *cq = *state;
	const void *slots = cq->ring.slots;

	complete(cq, 1, 3);
	resize_to(cq, 2, -EINVAL);
	assert_ptr_equal(cq->ring.slots, slots);
	assert_false(complete(cq, 4, 1));
	expect_polled(cq, (uint64_t[]){ 1, 2, 3, 4, 0 });
}

static void
cq_resize__empty_and_armed(void **state)
{
	struct uroce_cq *cq = *state;

	uroce_cq_arm(cq, false);
	resize_to(cq, 1, 0);
	assert_true(complete(cq, 1, 1));
	expect_polled(cq, (uint64_t[]){ 1, 0 });
}

static void
cq_end_later__is_seen_when_the_list_is_published(void **state)
{
	struct uroce_cq *cq = *state;
	struct uroce_cq_list list = { NULL };
	bool is_awaited;

	complete_later(cq, &list, 1, 2);
	complete_later(cq, &list, 3, 1);
	assert_true(uroce_cq_has_nothing(cq));
	/* the CQ is armed before the first of the three entries is published */
	uroce_cq_arm(cq, false);
	assert_ptr_equal(uroce_cq_list_take(&list), cq);
	assert_null(uroce_cq_publish(cq, &list, true, &is_awaited));
	assert_true(is_awaited);
	assert_null(list.first);
	expect_polled(cq, (uint64_t[]){ 1, 2, 3, 0 });
	assert_false(complete(cq, 4, 1)); /* the queue was disarmed by the event */
}

/*
 * Entries that are added after uroce_cq_list_mark_due() are not published by the next call, but by
 * the one after it: the CQ is put on the list again.
 */
static void
cq_list_mark_due__leaves_what_comes_later(void **state)
{
	struct uroce_cq *cq = *state;
	struct uroce_cq_list list = { NULL };
	bool is_awaited;

	complete_later(cq, &list, 1, 1);
	uroce_cq_list_mark_due(&list);
	complete_later(cq, &list, 2, 2);
	assert_null(uroce_cq_publish(uroce_cq_list_take(&list), &list, false, &is_awaited));
	assert_false(is_awaited);
	assert_ptr_equal(list.first, cq);
	expect_polled(cq, (uint64_t[]){ 1, 0 });
	assert_null(uroce_cq_publish(uroce_cq_list_take(&list), &list, true, &is_awaited));
	assert_null(list.first);
	expect_polled(cq, (uint64_t[]){ 2, 3, 0 });
}

/*
 * CQs on a list are published in the order of their oldest entries: a program may sleep for the
 * event of one CQ and then poll another one.
 */
static void
cq_list__has_cqs_in_the_order_of_their_oldest_entry(void **state)
{
	struct uroce_cq *first = make_cq(NB_CQE), *second = *state;
	struct uroce_cq_list list = { NULL };
	bool is_awaited;

	complete_later(first, &list, 1, 1);
	complete_later(second, &list, 2, 1);
	complete_later(first, &list, 3, 1);
	struct uroce_cq *cq = uroce_cq_list_take(&list);

	assert_ptr_equal(cq, first);
	cq = uroce_cq_publish(cq, &list, true, &is_awaited);
	assert_ptr_equal(cq, second);
	assert_null(uroce_cq_publish(cq, &list, true, &is_awaited));
	free_cq(first);
}

/*
 * Two producers, each with a list, add entries to one CQ. The order of the entries must remain, so
 * the second producer publishes the entries of both, and one event covers both.
 */
static void
cq_end_later__of_two_lists_is_published_at_once(void **state)
{
	struct uroce_cq *cq = *state;
	struct uroce_cq_list one = { NULL }, other = { NULL };
	bool is_awaited;

	uroce_cq_arm(cq, false);
	complete_later(cq, &one, 1, 1);
	complete_later(cq, &other, 2, 1);
	assert_null(other.first);
	expect_polled(cq, (uint64_t[]){ 1, 2, 0 });
	assert_null(uroce_cq_publish(uroce_cq_list_take(&one), &one, true, &is_awaited));
	assert_true(is_awaited);
}

/*
 * A purge before the entries are published: the purged entry is never published, and the consumer
 * still gets the event for the other entries.
 */
static void
cq_purge__between_end_and_publication(void **state)
{
	struct uroce_cq *cq = *state;
	struct uroce_cq_list list = { NULL };
	bool is_awaited;
	int qp;

	uroce_cq_arm(cq, false);
	uroce_cq_begin(cq);
	put(cq, 1);
	uroce_cq_put(cq)->qp = &qp;
	put(cq, 3);
	uroce_cq_end_later(cq, &list);
	uroce_cq_purge(cq, &qp);
	expect_polled(cq, (uint64_t[]){ 1, 3, 0 });
	assert_null(uroce_cq_publish(uroce_cq_list_take(&list), &list, true, &is_awaited));
	assert_true(is_awaited);
	assert_true(uroce_cq_has_nothing(cq));
}

/* An overrun is reported after the entries that found room, not before they are published. */
static void
cq_end_later__an_overrun_is_seen_with_the_last_entry(void **state)
{
	struct uroce_cq *cq = *state;
	struct uroce_cq_list list = { NULL };
	struct ibv_wc wc[NB_CQE];
	bool is_awaited;

	complete_later(cq, &list, 1, NB_CQE);
	uroce_cq_begin(cq);
	assert_null(uroce_cq_put(cq));
	uroce_cq_end_later(cq, &list);
	assert_int_equal(uroce_cq_poll(cq, NB_CQE, wc), 0);
	assert_null(uroce_cq_publish(uroce_cq_list_take(&list), &list, true, &is_awaited));
	assert_int_equal(uroce_cq_poll(cq, NB_CQE, wc), NB_CQE);
	assert_int_equal(uroce_cq_poll(cq, 1, wc), -EOVERFLOW);
}

int
main(void)
{
#define CQ_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cq_memsize__is_a_line_for_each_slot),
		CQ_TEST(cq_poll__converts_every_field),
		CQ_TEST(cq_put__entry_is_zeroed),
		CQ_TEST(cq_put_copy__is_as_its_model),
		CQ_TEST(cq_put__is_not_seen_before_the_end),
		CQ_TEST(cq_poll__takes_at_most_what_was_asked_for),
		CQ_TEST(cq_poll__indices_wrap_at_2_to_the_32),
		CQ_TEST(cq_end__an_empty_batch_is_nothing),
		cmocka_unit_test(cq_end__event_as_it_was_asked_for),
		cmocka_unit_test(cq_end__any_entry_of_the_batch_may_be_the_solicited_one),
		CQ_TEST(cq_end__only_the_batch_itself_counts),
		CQ_TEST(cq_arm__the_stronger_request_wins),
		CQ_TEST(cq_put__full_queue_overruns),
		CQ_TEST(cq_put__overrun_with_nothing_that_fits),
		CQ_TEST(cq_poll__overrun_shows_after_the_entries_that_fitted),
		CQ_TEST(cq_take__one_by_one_with_all_of_it),
		CQ_TEST(cq_take__overrun_shows_after_the_entries_that_fitted),
		cmocka_unit_test(cq_put__limit_is_exact_below_a_power_of_two),
		CQ_TEST(cq_put__room_that_came_free_meanwhile),
		cmocka_unit_test(cq_purge__keeps_the_order_of_the_rest),
		cmocka_unit_test(cq_resize__keeps_entries_and_order),
		cmocka_unit_test(cq_resize__to_what_just_fits),
		CQ_TEST(cq_resize__refusal_changes_nothing),
		CQ_TEST(cq_resize__empty_and_armed),
		CQ_TEST(cq_end_later__is_seen_when_the_list_is_published),
		CQ_TEST(cq_list_mark_due__leaves_what_comes_later),
		CQ_TEST(cq_list__has_cqs_in_the_order_of_their_oldest_entry),
		CQ_TEST(cq_end_later__of_two_lists_is_published_at_once),
		CQ_TEST(cq_purge__between_end_and_publication),
		CQ_TEST(cq_end_later__an_overrun_is_seen_with_the_last_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
