/* SPDX-License-Identifier: BSD-3-Clause */
/* Reregistration [rereg_mr(3)]: every combination of flags, and the region after a failed call. */

#include "net.h"

#include <stdlib.h>
#include <sys/mman.h>

#define LEN    4096u
#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE)

static struct pair net;
static struct ibv_pd *other_pd;
/* region of host b; when a test begins, it is the first LEN bytes of b's buffer */
static struct ibv_mr *mr;

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	pair_connect(&net);
	other_pd = uroce_alloc_pd(net.b.context);
	mr = uroce_reg_mr(net.b.pd, net.b.buf, LEN, RIGHTS | IBV_ACCESS_MW_BIND);
	return mr != NULL ? 0 : -1;
}

static int
teardown(void **state)
{
	(void)state;
	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(uroce_dealloc_pd(other_pd), 0);
	pair_close(&net);
	return 0;
}

/* Connect the QPs again: a refused request has moved them to ERR. */
static void
reconnect(void)
{
	struct ibv_wc wc;

	assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
	assert_int_equal(to_state(&net.b, IBV_QPS_RESET), 0);
	while (ibv_poll_cq(net.a.scq, 1, &wc) > 0)
		;
	pair_connect(&net);
}

/* Whether a request of the peer with this opcode succeeds at an address of the region. */
static bool
may(enum ibv_wr_opcode opcode, const void *at, uint32_t len)
{
	struct ibv_sge sge = sge_of(&net.a, 0, len);
	struct ibv_send_wr *bad, wr = {
		.opcode = opcode,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)at, .rkey = mr->rkey },
	};
	struct ibv_wc wc;

	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	wc = wait_for(&net, net.a.scq);
	if (wc.status == IBV_WC_SUCCESS)
		return true;
	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
	reconnect();
	return false;
}

static void
rereg__every_combination_of_flags(void **state)
{
	uint8_t *const first = net.b.buf, *const second = net.b.buf + 2 * LEN;
	const uint32_t key = mr->lkey;

	(void)state;
	for (int flags = 1; flags <= IBV_REREG_MR_FLAGS_SUPPORTED; flags++) {
		const bool has_moved = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
		const bool is_foreign = flags & IBV_REREG_MR_CHANGE_PD;
		const bool is_read_only = flags & IBV_REREG_MR_CHANGE_ACCESS;
		uint8_t *const at = has_moved ? second : first;
		const uint32_t len = has_moved ? LEN / 2 : LEN;

		assert_int_equal(uroce_rereg_mr(mr, flags, is_foreign ? other_pd : NULL,
						has_moved ? second : NULL, has_moved ? LEN / 2 : 0,
						is_read_only ? IBV_ACCESS_REMOTE_READ : 0),
				 0);
		assert_int_equal(mr->lkey, key);
		assert_int_equal(mr->rkey, key);
		assert_ptr_equal(mr->pd, is_foreign ? other_pd : net.b.pd);
		assert_ptr_equal(mr->addr, at);
		assert_int_equal(mr->length, len);
		assert_int_equal(uroce_dealloc_pd(other_pd), is_foreign ? EBUSY : 0);
		if (!is_foreign)
			other_pd = uroce_alloc_pd(net.b.context);
		assert_int_equal(may(IBV_WR_RDMA_READ, at, len), !is_foreign);
		assert_int_equal(may(IBV_WR_RDMA_WRITE, at, len), !is_foreign && !is_read_only);
		assert_false(may(IBV_WR_RDMA_READ, at + 1, len));
		assert_false(may(IBV_WR_RDMA_READ, has_moved ? first : second, 1));
		/* restore the parameters with which the region was registered */
		assert_int_equal(uroce_rereg_mr(mr, IBV_REREG_MR_FLAGS_SUPPORTED, net.b.pd, first,
						LEN, RIGHTS | IBV_ACCESS_MW_BIND),
				 0);
		assert_true(may(IBV_WR_RDMA_WRITE, first, LEN));
	}
}

static void
rereg__zero_based_counts_from_0(void **state)
{
	(void)state;
	assert_int_equal(uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					RIGHTS | IBV_ACCESS_ZERO_BASED),
			 0);
	assert_true(may(IBV_WR_RDMA_WRITE, (void *)8, 8));
	assert_false(may(IBV_WR_RDMA_WRITE, net.b.buf, 8));
	assert_int_equal(uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, RIGHTS), 0);
	assert_true(may(IBV_WR_RDMA_WRITE, net.b.buf, 8));
}

/*
 * The iova that the program has chosen at the registration remains, unless the memory of the region
 * is changed.
 */
static void
rereg__iova_stays_with_the_memory(void **state)
{
	(void)state;
	assert_int_equal(uroce_dereg_mr(mr), 0);
	mr = uroce_reg_mr_iova(net.b.pd, net.b.buf, LEN, 0x7000, RIGHTS);
	assert_int_equal(uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					IBV_ACCESS_REMOTE_READ),
			 0);
	assert_true(may(IBV_WR_RDMA_READ, (void *)0x7000, LEN));
	assert_int_equal(
		uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, net.b.buf, LEN, 0), 0);
	assert_true(may(IBV_WR_RDMA_READ, net.b.buf, LEN));
}

#define expect_refused(expected, call)                                                             \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal(call, IBV_REREG_MR_ERR_INPUT);                                    \
		assert_int_equal(errno, expected);                                                 \
	} while (0)

/* A reregistration that fails with IBV_REREG_MR_ERR_INPUT leaves the region unchanged. */
static void
rereg__what_fails_changes_nothing(void **state)
{
	const int translation = IBV_REREG_MR_CHANGE_TRANSLATION;
	void *const hole = mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *const constant = mmap(NULL, LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
		.bind_info = { mr, (uintptr_t)net.b.buf, 64, IBV_ACCESS_REMOTE_READ },
	};

	(void)state;
	munmap(hole, LEN);
	expect_refused(EINVAL, uroce_rereg_mr(NULL, translation, NULL, net.b.buf, LEN, 0));
	expect_refused(EINVAL, uroce_rereg_mr(mr, 0, NULL, NULL, 0, 0));
	expect_refused(EINVAL, uroce_rereg_mr(mr, IBV_REREG_MR_FLAGS_SUPPORTED + 1, other_pd,
					      net.b.buf, LEN, 0));
	expect_refused(EINVAL, uroce_rereg_mr(mr, translation, NULL, NULL, LEN, 0));
	expect_refused(EINVAL, uroce_rereg_mr(mr, translation, NULL, net.b.buf, 0, 0));
	/* Access rights are given, but the flag IBV_REREG_MR_CHANGE_ACCESS is missing. */
	expect_refused(EINVAL, uroce_rereg_mr(mr, translation, NULL, net.b.buf, LEN,
					      IBV_ACCESS_LOCAL_WRITE));
	expect_refused(EFAULT, uroce_rereg_mr(mr, translation, NULL, hole, LEN, 0));
	expect_refused(EFAULT, uroce_rereg_mr(mr, translation, NULL, constant, LEN, 0));
	expect_refused(EINVAL, uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0));
	expect_refused(EINVAL, uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, net.a.pd, NULL, 0, 0));
	expect_refused(EINVAL, uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					      IBV_ACCESS_REMOTE_WRITE));
	expect_refused(EINVAL,
		       uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 1 << 10));
	assert_int_equal(ibv_bind_mw(net.b.qp, mw, &bind), 0);
	expect_wc(&net, net.b.scq, 0, IBV_WC_SUCCESS);
	expect_refused(EBUSY, uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0));
	assert_int_equal(ibv_dealloc_mw(mw), 0);

	assert_ptr_equal(mr->pd, net.b.pd);
	assert_ptr_equal(mr->addr, net.b.buf);
	assert_int_equal(mr->length, LEN);
	assert_true(may(IBV_WR_RDMA_WRITE, net.b.buf, LEN));
	munmap(constant, LEN);
}

/*
 * If a reregistration adds the local write right, the memory is checked: the region may have been
 * registered over read-only memory.
 */
static void
rereg__gaining_local_write_looks_at_the_memory(void **state)
{
	void *const constant = mmap(NULL, LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_int_equal(
		uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS,
			       NULL, constant, LEN, IBV_ACCESS_REMOTE_READ),
		0);
	expect_refused(EFAULT,
		       uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, RIGHTS));
	assert_true(may(IBV_WR_RDMA_READ, constant, LEN));
	munmap(constant, LEN);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rereg__every_combination_of_flags),
		TEST(rereg__zero_based_counts_from_0),
		TEST(rereg__iova_stays_with_the_memory),
		TEST(rereg__what_fails_changes_nothing),
		TEST(rereg__gaining_local_write_looks_at_the_memory),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
