/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several threads create, change and free memory objects, while other requests use the device or
 * these objects.
 */

#include "net.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LEN    8192u
#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE)

static struct pair net;
static atomic_uint nb_bad, nb_laps;
static atomic_bool is_over;

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC, .timeout = 18 });
	pair_connect(&net);
	atomic_store(&nb_bad, 0);
	atomic_store(&nb_laps, 0);
	atomic_store(&is_over, false);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

/*
 * Check a condition in a thread other than the main thread, where cmocka's asserts cannot be used.
 * The first failure is printed, and all are counted.
 */
#define check(is_good)                                                                             \
	do {                                                                                       \
		if (!(is_good) && atomic_fetch_add(&nb_bad, 1) == 0)                               \
			print_error("%s:%d: %s\n", __FILE__, __LINE__, #is_good);                  \
	} while (0)

static void *
remake_regions(void *arg)
{
	uint8_t *const buf = aligned_alloc(4096, 2 * LEN);
	struct ibv_pd *const pd = uroce_alloc_pd(net.b.context);

	while (!atomic_load(&is_over)) {
		struct ibv_mr *mr = uroce_reg_mr(net.b.pd, buf, LEN, RIGHTS);
		struct ibv_mr *null = uroce_alloc_null_mr(pd), *twin;

		check(mr && null);
		check(!uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, buf + LEN, LEN,
				      0));
		twin = uroce_import_mr(net.b.pd, mr->handle);
		check(twin != NULL);
		uroce_unimport_mr(twin);
		check(!uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0));
		check(!uroce_dereg_mr(mr) && !uroce_dereg_mr(null));
		atomic_fetch_add(&nb_laps, 1);
	}
	check(!uroce_dealloc_pd(pd));
	free(buf);
	return arg;
}

static void *
remake_device_memory(void *arg)
{
	struct ibv_alloc_dm_attr attr = { .length = LEN, .log_align_req = 8 };
	uint8_t in[64] = { 1, 2, 3 }, out[64];

	while (!atomic_load(&is_over)) {
		struct ibv_dm *dm = ibv_alloc_dm(net.b.context, &attr);
		struct ibv_mr *mr =
			ibv_reg_dm_mr(net.b.pd, dm, 64, LEN - 64, RIGHTS | IBV_ACCESS_ZERO_BASED);

		check(dm && mr && ibv_free_dm(dm) == EBUSY);
		check(!ibv_memcpy_to_dm(dm, 128, in, 64) && !ibv_memcpy_from_dm(out, dm, 128, 64) &&
		      memcmp(in, out, 64) == 0);
		check(!uroce_dereg_mr(mr) && !ibv_free_dm(dm));
		atomic_fetch_add(&nb_laps, 1);
	}
	return arg;
}

/*
 * Allocate, bind and free memory windows of a region. The region cannot be deregistered while a
 * window is bound. Some windows are unbound before they are freed.
 */
static void *
remake_windows(void *arg)
{
	uint8_t *const buf = malloc(LEN);
	struct ibv_mr *mr = uroce_reg_mr(net.b.pd, buf, LEN, RIGHTS | IBV_ACCESS_MW_BIND);

	for (unsigned lap = 0; !atomic_load(&is_over); lap++) {
		struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1);
		struct ibv_mw_bind bind = {
			.bind_info = { mr, (uintptr_t)buf, 64, IBV_ACCESS_REMOTE_READ },
		};
		struct ibv_wc wc;

		for (unsigned i = 0; i < 1 + lap % 2; i++) {
			check(ibv_bind_mw(net.b.qp, mw, &bind) == 0);
			while (ibv_poll_cq(net.b.scq, 1, &wc) == 0)
				sched_yield();
			check(wc.status == IBV_WC_SUCCESS);
			check(i > 0 || uroce_dereg_mr(mr) == EBUSY);
			bind.bind_info = (struct ibv_mw_bind_info){ 0 };
		}
		check(ibv_dealloc_mw(mw) == 0);
		atomic_fetch_add(&nb_laps, 1);
	}
	check(uroce_dereg_mr(mr) == 0);
	free(buf);
	return arg;
}

static void
objects__come_and_go_beside_traffic(void **state)
{
	void *(*const bodies[])(void *) = { remake_regions, remake_regions, remake_device_memory,
					    remake_windows };
	pthread_t thread[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, bodies[i], NULL), 0);
	fill(net.a.buf, 50000, 1);
	for (uint64_t i = 0; i < 300 || atomic_load(&nb_laps) < 200; i++) {
		net.a.buf[0] = (uint8_t)i;
		post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, i, sge_of(&net.a, 0, 50000), 60000);
		expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
		assert_memory_equal(net.b.buf + 60000, net.a.buf, 50000);
	}
	atomic_store(&is_over, true);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(atomic_load(&nb_bad), 0);
}

/* --- changing a region while requests use it ---------------------------------------------------------- */

static uint8_t *halves; /* memory of two halves, of which one is the region `target` */
static struct ibv_mr *target;

static void *
move_region(void *arg)
{
	for (unsigned lap = 0; !atomic_load(&is_over); lap++) {
		check(!uroce_rereg_mr(target, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				      halves + lap % 2 * LEN, LEN, 0));
		atomic_fetch_add(&nb_laps, 1);
		sched_yield();
	}
	return arg;
}

/*
 * A peer writes to the region while a thread moves the region to other memory, and back. Each
 * request is executed or refused, and nothing behind the memory is written.
 */
static void
rereg__meets_requests(void **state)
{
	pthread_t thread;
	struct ibv_wc wc;
	unsigned nb_done = 0;

	(void)state;
	halves = aligned_alloc(4096, 4 * LEN);
	memset(halves, 0x77, 4 * LEN);
	target = uroce_reg_mr(net.b.pd, halves, LEN, RIGHTS);
	fill(net.a.buf, LEN, 6);
	assert_int_equal(pthread_create(&thread, NULL, move_region, NULL), 0);
	for (uint64_t i = 0; i < 200 || atomic_load(&nb_laps) < 50; i++) {
		struct ibv_sge sge = sge_of(&net.a, 0, LEN);
		struct ibv_send_wr *bad, wr = {
			.opcode = IBV_WR_RDMA_WRITE,
			.sg_list = &sge,
			.num_sge = 1,
			.wr.rdma = { (uintptr_t)halves + i % 2 * LEN, target->rkey },
		};

		assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
		wc = wait_for(&net, net.a.scq);
		assert_true(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_REM_ACCESS_ERR);
		nb_done += wc.status == IBV_WC_SUCCESS;
		if (wc.status == IBV_WC_SUCCESS)
			continue;
		assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
		assert_int_equal(to_state(&net.b, IBV_QPS_RESET), 0);
		pair_connect(&net);
	}
	atomic_store(&is_over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&nb_bad), 0);
	assert_true(nb_done > 0);
	for (unsigned i = 2 * LEN; i < 4 * LEN; i++)
		assert_int_equal(halves[i], 0x77);
	assert_int_equal(uroce_dereg_mr(target), 0);
	free(halves);
}

/* --- two threads that change one object --------------------------------------------------------------- */

#define NB_LAPS 2000

static pthread_barrier_t both;
static struct ibv_mr *handles[2];
static struct ibv_pd *homes[2];

static void *
give_up_handle(void *which)
{
	for (unsigned lap = 0; lap < NB_LAPS; lap++) {
		pthread_barrier_wait(&both);
		uroce_unimport_mr(handles[(uintptr_t)which]);
		pthread_barrier_wait(&both);
	}
	return NULL;
}

static void *
change_home(void *which)
{
	for (unsigned lap = 0; lap < NB_LAPS; lap++)
		check(uroce_rereg_mr(target, IBV_REREG_MR_CHANGE_PD, homes[(uintptr_t)which], NULL,
				     0, 0) == 0);
	return NULL;
}

static void
begin_two(pthread_t thread[2], void *(*body)(void *))
{
	for (uintptr_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, body, (void *)i), 0);
}

static void
end_two(const pthread_t thread[2])
{
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(atomic_load(&nb_bad), 0);
}

/*
 * Two threads release two handles of a region at the same time. Whichever is released last ends the
 * region [ibv_import_mr(3)].
 */
static void
unimport__by_two_at_once(void **state)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr *bad,
		wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };
	struct ibv_pd *pd = uroce_alloc_pd(net.b.context);
	pthread_t thread[2];

	(void)state;
	pthread_barrier_init(&both, NULL, 3);
	begin_two(thread, give_up_handle);
	for (unsigned lap = 0; lap < NB_LAPS; lap++) {
		handles[0] = uroce_reg_mr(pd, net.b.buf, LEN, RIGHTS);
		handles[1] = uroce_import_mr(pd, handles[0]->handle);
		wr.wr.rdma.rkey = handles[0]->rkey;
		pthread_barrier_wait(&both);
		pthread_barrier_wait(&both);
	}
	end_two(thread);
	pthread_barrier_destroy(&both);
	wr.wr.rdma.remote_addr = (uintptr_t)net.b.buf;
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	assert_int_equal(wait_for(&net, net.a.scq).status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
}

/*
 * Two threads change the PD of a region at the same time. Afterwards the number of users of each PD
 * must be right.
 */
static void
rereg__by_two_at_once(void **state)
{
	struct ibv_pd *first = uroce_alloc_pd(net.b.context);
	pthread_t thread[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		homes[i] = uroce_alloc_pd(net.b.context);
	target = uroce_reg_mr(first, net.b.buf, LEN, RIGHTS);
	begin_two(thread, change_home);
	end_two(thread);
	assert_true(target->pd == homes[0] || target->pd == homes[1]);
	assert_int_equal(uroce_dealloc_pd(target->pd), EBUSY);
	assert_int_equal(uroce_dereg_mr(target), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(uroce_dealloc_pd(homes[i]), 0);
	assert_int_equal(uroce_dealloc_pd(first), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(objects__come_and_go_beside_traffic),
		TEST(rereg__meets_requests),
		TEST(unimport__by_two_at_once),
		TEST(rereg__by_two_at_once),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
