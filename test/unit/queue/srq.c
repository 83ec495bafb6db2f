/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Shared receive queues: order of requests, capacity, slots that are released in any order, and the
 * limit event.
 */

#include "queue/srq.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MAX_WR  4
#define MAX_SGE 2

static struct uroce_srq srq;

static int
setup(void **state)
{
	const size_t len = uroce_srq_memsize(MAX_WR, MAX_SGE);
	void *mem = aligned_alloc(64, (len + 63) / 64 * 64);
	const struct uroce_srq_conf conf = { .max_wr = MAX_WR, .max_sge = MAX_SGE, .pdn = 9 };

	assert_non_null(mem);
	memset(mem, 0xa5, len);
	uroce_srq_init(&srq, mem, &conf);
	*state = mem;
	return 0;
}

static int
teardown(void **state)
{
	free(*state);
	return 0;
}

static int
post(uint64_t wr_id)
{
	struct ibv_sge sge[MAX_SGE + 1] = { { 0x1000 + wr_id, 10, 1 }, { 0x2000, 20, 2 } };
	const struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = 2 };

	uroce_lock_take(&srq.lock);
	const int ret = uroce_srq_post(&srq, &wr);

	uroce_lock_release(&srq.lock);
	return ret;
}

static struct uroce_recv_wqe *
take(void)
{
	bool is_limit = false;

	return uroce_srq_take(&srq, &is_limit);
}

static bool
take_hits_limit(void)
{
	bool is_limit = false;

	assert_non_null(uroce_srq_take(&srq, &is_limit));
	return is_limit;
}

static void
srq_take__in_the_order_of_posting(void **state)
{
	(void)state;
	assert_true(uroce_srq_is_empty(&srq));
	assert_null(take());
	for (uint64_t i = 0; i < MAX_WR; i++)
		assert_int_equal(post(i), 0);
	assert_false(uroce_srq_is_empty(&srq));
	for (uint64_t i = 0; i < MAX_WR; i++) {
		struct uroce_recv_wqe *wqe = take();

		assert_int_equal(wqe->wr_id, i);
		assert_int_equal(wqe->len, 30);
		assert_int_equal(wqe->nb_sge, 2);
		assert_int_equal(uroce_recv_wqe_sge(wqe)[0].addr, 0x1000 + i);
	}
	assert_null(take());
}

static void
srq_post__full_until_a_slot_is_given_back(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < MAX_WR; i++)
		assert_int_equal(post(i), 0);
	assert_int_equal(post(9), -ENOMEM);
	struct uroce_recv_wqe *wqe = take();

	/* the request was taken, but its slot is still in use */
	assert_int_equal(post(9), -ENOMEM);
	uroce_srq_give(&srq, wqe);
	assert_int_equal(post(9), 0);
	assert_int_equal(post(10), -ENOMEM);
}

static void
srq_post__too_many_elements(void **state)
{
	struct ibv_recv_wr wr = { .num_sge = MAX_SGE + 1 };

	(void)state;
	assert_int_equal(uroce_srq_post(&srq, &wr), -EINVAL);
	wr.num_sge = -1;
	assert_int_equal(uroce_srq_post(&srq, &wr), -EINVAL);
	wr.num_sge = 0;
	assert_int_equal(uroce_srq_post(&srq, &wr), 0);
	assert_int_equal(take()->len, 0);
}

static void
srq_give__in_another_order_than_taken(void **state)
{
	struct uroce_recv_wqe *wqe[MAX_WR];

	(void)state;
	for (uint64_t i = 0; i < MAX_WR; i++)
		assert_int_equal(post(i), 0);
	for (unsigned i = 0; i < MAX_WR; i++)
		wqe[i] = take();
	uroce_srq_give(&srq, wqe[2]);
	uroce_srq_give(&srq, wqe[0]);
	assert_int_equal(post(20), 0);
	assert_int_equal(post(21), 0);
	assert_int_equal(post(22), -ENOMEM);
	/* the slots that are still in use were not overwritten */
	assert_int_equal(wqe[1]->wr_id, 1);
	assert_int_equal(wqe[3]->wr_id, 3);
	assert_int_equal(take()->wr_id, 20);
	assert_int_equal(take()->wr_id, 21);
}

static void
srq_put_back__is_the_oldest_again(void **state)
{
	(void)state;
	assert_int_equal(post(1), 0);
	assert_int_equal(post(2), 0);
	uroce_srq_put_back(&srq, take());
	assert_int_equal(take()->wr_id, 1);
	struct uroce_recv_wqe *last = take();

	assert_null(take());
	uroce_srq_put_back(&srq, last);
	assert_int_equal(post(3), 0);
	assert_int_equal(take()->wr_id, 2);
	assert_int_equal(take()->wr_id, 3);
}

static void
srq_arm__tells_once_when_fewer_are_posted(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < MAX_WR; i++)
		assert_int_equal(post(i), 0);
	assert_false(uroce_srq_arm(&srq, 3));
	assert_int_equal(uroce_srq_limit(&srq), 3);
	assert_false(take_hits_limit()); /* 3 requests remain, which is not below the limit */
	assert_true(take_hits_limit());
	assert_int_equal(uroce_srq_limit(&srq), 0);
	assert_false(take_hits_limit());
}

static void
srq_arm__below_already(void **state)
{
	(void)state;
	assert_int_equal(post(1), 0);
	assert_false(uroce_srq_arm(&srq, 1));
	assert_true(uroce_srq_arm(&srq, 2));
	assert_int_equal(uroce_srq_limit(&srq), 0);
	assert_false(uroce_srq_arm(&srq, 0));
	assert_false(take_hits_limit());
}

/* --- two threads that use one SRQ --- */

#define NB_THREADS 2
#define NB_ROUNDS  20000

static uint64_t taken_sum[NB_THREADS];

static void *
take_and_give(void *arg)
{
	uint64_t *sum = arg;
	unsigned nb = 0;

	while (nb < NB_ROUNDS) {
		struct uroce_recv_wqe *wqe = take();

		if (!wqe) {
			sched_yield();
			continue;
		}
		*sum += wqe->wr_id;
		uroce_srq_give(&srq, wqe);
		nb++;
	}
	return NULL;
}

static void
srq_raise__is_taken_once(void **state)
{
	(void)state;
	assert_int_equal(uroce_srq_take_events(&srq), 0);
	uroce_srq_raise(&srq, UROCE_SRQ_CQ_EVENT);
	uroce_srq_raise(&srq, UROCE_SRQ_CQ_OVERRUN);
	assert_int_equal(uroce_srq_take_events(&srq), UROCE_SRQ_CQ_EVENT | UROCE_SRQ_CQ_OVERRUN);
	assert_int_equal(uroce_srq_take_events(&srq), 0);
}

static void
srq__each_request_is_taken_once(void **state)
{
	pthread_t thread[NB_THREADS];
	uint64_t sum = 0;

	(void)state;
	for (unsigned i = 0; i < NB_THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, take_and_give, &taken_sum[i]), 0);
	for (uint64_t id = 1; id <= (uint64_t)NB_THREADS * NB_ROUNDS; id++) {
		while (post(id))
			sched_yield();
		sum += id;
	}
	for (unsigned i = 0; i < NB_THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(taken_sum[0] + taken_sum[1], sum);
}

static void *
make_mem(uint32_t max_wr)
{
	void *mem = aligned_alloc(64, (uroce_srq_memsize(max_wr, MAX_SGE) + 63) / 64 * 64);

	assert_non_null(mem);
	return mem;
}

static void
srq_resize__keeps_what_is_posted(void **state)
{
	for (uint64_t i = 0; i < MAX_WR; i++)
		assert_int_equal(post(i), 0);
	void *mem = make_mem(MAX_WR + 1);

	assert_int_equal(uroce_srq_resize(&srq, mem, MAX_WR + 1), 0);
	assert_false(uroce_srq_has_stale(&srq));
	free(*state);
	*state = mem;
	assert_int_equal(post(MAX_WR), 0);
	assert_int_equal(post(99), -ENOMEM);
	for (uint64_t i = 0; i <= MAX_WR; i++) {
		struct uroce_recv_wqe *wqe = take();

		assert_int_equal(wqe->wr_id, i);
		assert_int_equal(uroce_recv_wqe_sge(wqe)[0].addr, 0x1000 + i);
	}
	assert_null(take());
}

static void
srq_resize__to_fewer_than_are_in_use(void **state)
{
	void *mem = make_mem(2);

	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(post(i), 0);
	struct uroce_recv_wqe *wqe = take();

	assert_int_equal(uroce_srq_resize(&srq, mem, 2), -EINVAL);
	uroce_srq_give(&srq, wqe);
	assert_int_equal(uroce_srq_resize(&srq, mem, 2), 0);
	free(*state);
	*state = mem;
	assert_int_equal(post(9), -ENOMEM);
	assert_int_equal(take()->wr_id, 1);
	assert_int_equal(take()->wr_id, 2);
}

static void
srq_resize__what_a_qp_has_stays_where_it_is(void **state)
{
	void *mem = make_mem(MAX_WR);

	for (uint64_t i = 0; i < MAX_WR; i++)
		assert_int_equal(post(i), 0);
	struct uroce_recv_wqe *given = take(), *put = take();

	assert_int_equal(uroce_srq_resize(&srq, mem, MAX_WR), 0);
	assert_true(uroce_srq_has_stale(&srq));
	assert_int_equal(put->wr_id, 1);
	/* the slots of both taken requests are still in use */
	assert_int_equal(post(99), -ENOMEM);
	uroce_srq_put_back(&srq, put);
	assert_int_equal(post(99), -ENOMEM);
	assert_true(uroce_srq_has_stale(&srq));
	uroce_srq_give(&srq, given);
	assert_false(uroce_srq_has_stale(&srq));
	free(*state);
	*state = mem;
	assert_int_equal(post(MAX_WR), 0);
	assert_int_equal(post(99), -ENOMEM);
	for (uint64_t i = 1; i <= MAX_WR; i++) {
		struct uroce_recv_wqe *wqe = take();

		assert_int_equal(wqe->wr_id, i);
		assert_int_equal(uroce_recv_wqe_sge(wqe)[0].addr, 0x1000 + i);
	}
	assert_null(take());
}

static void
srq_resize__twice_while_a_qp_has_a_request(void **state)
{
	void *mem[] = { *state, make_mem(2), make_mem(1) };

	assert_int_equal(post(7), 0);
	struct uroce_recv_wqe *wqe = take();

	assert_int_equal(uroce_srq_resize(&srq, mem[1], 2), 0);
	assert_int_equal(uroce_srq_resize(&srq, mem[2], 1), 0);
	assert_int_equal(post(8), -ENOMEM);
	uroce_srq_put_back(&srq, wqe);
	assert_false(uroce_srq_has_stale(&srq));
	assert_int_equal(take()->wr_id, 7);
	free(mem[0]);
	free(mem[1]);
	*state = mem[2];
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(srq_take__in_the_order_of_posting),
		TEST(srq_post__full_until_a_slot_is_given_back),
		TEST(srq_post__too_many_elements),
		TEST(srq_give__in_another_order_than_taken),
		TEST(srq_put_back__is_the_oldest_again),
		TEST(srq_arm__tells_once_when_fewer_are_posted),
		TEST(srq_arm__below_already),
		TEST(srq_raise__is_taken_once),
		TEST(srq_resize__keeps_what_is_posted),
		TEST(srq_resize__to_fewer_than_are_in_use),
		TEST(srq_resize__what_a_qp_has_stays_where_it_is),
		TEST(srq_resize__twice_while_a_qp_has_a_request),
		TEST(srq__each_request_is_taken_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
