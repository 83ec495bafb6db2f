/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that need not be present: on-demand regions, advice about them, and null regions
 * [reg_mr(3), advise_mr(3), alloc_null_mr(3)].
 */

#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define NB_PAGES 64u
#define RIGHTS   (IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE)

static struct pair net;
static uint8_t *pages; /* memory of NB_PAGES pages, which tests map and unmap one by one */
static size_t page_len;

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	pair_connect(&net);
	page_len = (size_t)sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, NB_PAGES * page_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	return pages != MAP_FAILED ? 0 : -1;
}

static int
teardown(void **state)
{
	(void)state;
	munmap(pages, NB_PAGES * page_len);
	pair_close(&net);
	return 0;
}

/*
 * Register an on-demand region. If the kernel does not support such regions, the test is skipped.
 * @return the region
 */
static struct ibv_mr *
reg(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	struct ibv_mr *mr = uroce_reg_mr(pd, addr, len, access | IBV_ACCESS_ON_DEMAND);

	if (mr == NULL) {
		assert_int_equal(errno, EOPNOTSUPP);
		print_message("# skipped: no MADV_POPULATE_WRITE (Linux 5.14)\n");
		skip();
	}
	return mr;
}

static void
reconnect(void)
{
	struct ibv_wc wc;

	assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
	assert_int_equal(to_state(&net.b, IBV_QPS_RESET), 0);
	while (ibv_poll_cq(net.a.scq, 1, &wc) > 0 || ibv_poll_cq(net.b.rcq, 1, &wc) > 0)
		;
	pair_connect(&net);
}

static void
rdma(enum ibv_wr_opcode opcode, struct ibv_sge sge, const void *at, uint32_t rkey,
     enum ibv_wc_status status)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = 9,
		.opcode = opcode,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)at, .rkey = rkey },
	};

	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 9, status);
	if (status != IBV_WC_SUCCESS)
		reconnect();
}

/*
 * The device reports the on-demand features that the other tests of this file use
 * [query_device_ex(3)].
 */
static void
query__tells_that_there_are_such_regions(void **state)
{
	struct ibv_device_attr_ex attr;
	struct ibv_mr *mr = reg(net.b.pd, pages, page_len, 0);

	(void)state;
	assert_int_equal(uroce_query_device_ex(net.b.context, NULL, &attr), 0);
	assert_int_equal(attr.odp_caps.general_caps, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	assert_int_equal(attr.odp_caps.per_transport_caps.rc_odp_caps, 0x3f);
	assert_int_equal(attr.odp_caps.per_transport_caps.uc_odp_caps, 0x27);
	assert_int_equal(attr.odp_caps.per_transport_caps.ud_odp_caps, 0x23);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
explicit__atomics(void **state)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 4,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.sg_list = &sge,
		.num_sge = 1,
	};

	(void)state;
	struct ibv_mr *mr = reg(net.b.pd, pages, page_len, RIGHTS);

	wr.wr.atomic.remote_addr = (uintptr_t)pages + 8;
	wr.wr.atomic.rkey = mr->rkey;
	wr.wr.atomic.compare_add = 5;
	for (uint64_t i = 1; i < 4; i++) {
		assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
		expect_wc(&net, net.a.scq, 4, IBV_WC_SUCCESS);
		assert_int_equal(((uint64_t *)pages)[1], 5 * i);
	}
	munmap(pages, page_len);
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 4, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

/* Unmap pages, but reserve their addresses, so that no other mapping gets them. */
static void
take_away(unsigned first, unsigned nb)
{
	assert_ptr_equal(mmap(pages + first * page_len, nb * page_len, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0),
			 pages + first * page_len);
}

/*
 * An on-demand region may be registered before its memory is mapped. Messages of all lengths are
 * written to it and read from it when it is mapped, and are refused when it is not.
 */
static void
explicit__memory_may_come_and_go(void **state)
{
	const uint32_t lens[] = { 8, 1024, 5000, (uint32_t)(40 * page_len) };

	(void)state;
	take_away(0, NB_PAGES);
	struct ibv_mr *mr = reg(net.b.pd, pages, NB_PAGES * page_len, RIGHTS);

	rdma(IBV_WR_RDMA_WRITE, sge_of(&net.a, 0, 8), pages, mr->rkey, IBV_WC_REM_ACCESS_ERR);
	rdma(IBV_WR_RDMA_READ, sge_of(&net.a, 0, 8), pages, mr->rkey, IBV_WC_REM_ACCESS_ERR);
	assert_ptr_equal(mmap(pages, NB_PAGES * page_len, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 pages);
	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		fill(net.a.buf, lens[i], i);
		rdma(IBV_WR_RDMA_WRITE, sge_of(&net.a, 0, lens[i]), pages, mr->rkey,
		     IBV_WC_SUCCESS);
		assert_memory_equal(pages, net.a.buf, lens[i]);
		memset(net.a.buf, 0, lens[i]);
		rdma(IBV_WR_RDMA_READ, sge_of(&net.a, 0, lens[i]), pages, mr->rkey, IBV_WC_SUCCESS);
		assert_memory_equal(pages, net.a.buf, lens[i]);
	}
	/* one page in the middle of the message is not mapped */
	take_away(20, 1);
	rdma(IBV_WR_RDMA_WRITE, sge_of(&net.a, 0, lens[3]), pages, mr->rkey, IBV_WC_REM_ACCESS_ERR);
	rdma(IBV_WR_RDMA_READ, sge_of(&net.a, 0, lens[3]), pages, mr->rkey, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
explicit__in_scatter_lists(void **state)
{
	const uint32_t len = (uint32_t)(10 * page_len);

	(void)state;
	struct ibv_mr *mr_a = reg(net.a.pd, pages, NB_PAGES * page_len, RIGHTS);
	struct ibv_mr *mr_b = reg(net.b.pd, pages, NB_PAGES * page_len, RIGHTS);
	const struct ibv_sge from = { (uintptr_t)pages, len, mr_a->lkey };
	const struct ibv_sge to = { (uintptr_t)pages + 32 * page_len, len, mr_b->lkey };

	fill(pages, len, 3);
	post_recv(&net.b, 1, to);
	post_send(&net.a, IBV_WR_SEND, 2, from);
	expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
	expect_wc(&net, net.b.rcq, 1, IBV_WC_SUCCESS);
	assert_memory_equal(pages, pages + 32 * page_len, len);
	/* unmap the page with the last byte of the source */
	take_away(9, 1);
	post_recv(&net.b, 1, to);
	post_send(&net.a, IBV_WR_SEND, 2, from);
	expect_wc(&net, net.a.scq, 2, IBV_WC_LOC_PROT_ERR);
	reconnect();
	assert_int_equal(uroce_dereg_mr(mr_a), 0);
	assert_int_equal(uroce_dereg_mr(mr_b), 0);
}

static void
explicit__read_only_memory_is_not_written(void **state)
{
	(void)state;
	mprotect(pages, page_len, PROT_READ);
	struct ibv_mr *mr = reg(net.b.pd, pages, page_len, RIGHTS);

	rdma(IBV_WR_RDMA_READ, sge_of(&net.a, 0, 64), pages, mr->rkey, IBV_WC_SUCCESS);
	rdma(IBV_WR_RDMA_WRITE, sge_of(&net.a, 0, 64), pages, mr->rkey, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
implicit__is_the_whole_address_space(void **state)
{
	static const char constant[8] = "constant";

	(void)state;
	struct ibv_mr *mr = reg(net.b.pd, NULL, SIZE_MAX, RIGHTS);

	assert_null(mr->addr);
	assert_true(mr->length == SIZE_MAX);
	fill(net.a.buf, 4096, 7);
	rdma(IBV_WR_RDMA_WRITE, sge_of(&net.a, 0, 4096), pages + 100, mr->rkey, IBV_WC_SUCCESS);
	assert_memory_equal(pages + 100, net.a.buf, 4096);
	rdma(IBV_WR_RDMA_READ, sge_of(&net.a, 0, 8), constant, mr->rkey, IBV_WC_SUCCESS);
	assert_memory_equal(net.a.buf, constant, 8);
	rdma(IBV_WR_RDMA_WRITE, sge_of(&net.a, 0, 8), constant, mr->rkey, IBV_WC_REM_ACCESS_ERR);
	rdma(IBV_WR_RDMA_READ, sge_of(&net.a, 0, 8), NULL, mr->rkey, IBV_WC_REM_ACCESS_ERR);
	rdma(IBV_WR_RDMA_READ, sge_of(&net.a, 0, 8), (void *)(UINTPTR_MAX - 7), mr->rkey,
	     IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	/* an implicit region needs NULL, SIZE_MAX and ON_DEMAND together */
	assert_errno(EINVAL, uroce_reg_mr(net.b.pd, NULL, SIZE_MAX, RIGHTS));
	assert_errno(EINVAL, uroce_reg_mr(net.b.pd, pages, SIZE_MAX, IBV_ACCESS_ON_DEMAND));
}

/* --- advice about on-demand regions ------------------------------------------------------------------ */

static unsigned
count_resident(void)
{
	unsigned char resident[NB_PAGES];
	unsigned nb = 0;

	assert_int_equal(mincore(pages, NB_PAGES * page_len, resident), 0);
	for (unsigned i = 0; i < NB_PAGES; i++)
		nb += resident[i] & 1;
	return nb;
}

static void
advise__makes_pages_present(void **state)
{
	(void)state;
	struct ibv_mr *mr = reg(net.b.pd, pages, NB_PAGES * page_len, RIGHTS);
	struct ibv_sge sge[2] = { { (uintptr_t)pages, (uint32_t)(3 * page_len), mr->lkey },
				  { (uintptr_t)pages + 8 * page_len, 1, mr->lkey } };

	assert_int_equal(count_resident(), 0);
	assert_int_equal(ibv_advise_mr(net.b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0, sge, 2),
			 0);
	assert_int_equal(count_resident(), 0);
	assert_int_equal(ibv_advise_mr(net.b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				       IBV_ADVISE_MR_FLAG_FLUSH, sge, 2),
			 0);
	assert_int_equal(count_resident(), 4);
	sge[0].addr += 16 * page_len;
	assert_int_equal(ibv_advise_mr(net.b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, sge, 1), 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
advise__errors(void **state)
{
	const enum ibv_advise_mr_advice prefetch = IBV_ADVISE_MR_ADVICE_PREFETCH;
	const enum ibv_advise_mr_advice writing = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;

	(void)state;
	struct ibv_mr *mr = reg(net.b.pd, pages, 4 * page_len, IBV_ACCESS_REMOTE_READ);
	struct ibv_mr *gone = reg(net.b.pd, pages, page_len, RIGHTS);
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1);
	struct ibv_pd *pd = uroce_alloc_pd(net.b.context);
	struct ibv_sge sge = { (uintptr_t)pages, 8, mr->lkey };
	const struct ibv_sge good = sge;

	assert_int_equal(uroce_advise_mr(NULL, prefetch, 0, &sge, 1), EINVAL);
	assert_int_equal(ibv_advise_mr(net.b.pd, prefetch, 2, &sge, 1), EINVAL);
	assert_int_equal(ibv_advise_mr(net.b.pd, prefetch, 0, &sge, 0), EINVAL);
	assert_int_equal(ibv_advise_mr(net.b.pd, prefetch, 0, NULL, 1), EINVAL);
	assert_int_equal(ibv_advise_mr(net.b.pd, (enum ibv_advise_mr_advice)99, 0, &sge, 1),
			 EOPNOTSUPP);
	assert_int_equal(ibv_advise_mr(pd, prefetch, 0, &sge, 1), EPERM);
	assert_int_equal(ibv_advise_mr(net.b.pd, writing, 0, &sge, 1), EPERM);
	sge.length = (uint32_t)(4 * page_len) + 1;
	assert_int_equal(ibv_advise_mr(net.b.pd, prefetch, 0, &sge, 1), EFAULT);
	sge.addr--;
	sge.length = 1;
	assert_int_equal(ibv_advise_mr(net.b.pd, prefetch, 0, &sge, 1), EFAULT);
	sge = good;
	sge.lkey ^= 1;
	assert_int_equal(ibv_advise_mr(net.b.pd, prefetch, 0, &sge, 1), ENOENT);
	sge.lkey = mw->rkey;
	assert_int_equal(ibv_advise_mr(net.b.pd, prefetch, 0, &sge, 1), EINVAL);
	sge.lkey = net.b.mr->lkey; /* a region that is not on-demand cannot be prefetched */
	sge.addr = (uintptr_t)net.b.buf;
	assert_int_equal(ibv_advise_mr(net.b.pd, prefetch, 0, &sge, 1), EINVAL);
	sge.lkey = gone->lkey;
	sge.addr = good.addr;
	assert_int_equal(uroce_dereg_mr(gone), 0);
	assert_int_equal(ibv_advise_mr(net.b.pd, prefetch, 0, &sge, 1), EFAULT);
	munmap(pages, page_len);
	sge = good;
	assert_int_equal(ibv_advise_mr(net.b.pd, prefetch, 0, &sge, 1), EFAULT);
	assert_int_equal(
		ibv_advise_mr(net.b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0, &sge, 1),
		EFAULT);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

/* --- null regions ------------------------------------------------------------------------------------ */

static void
null__reads_0_and_forgets(void **state)
{
	struct ibv_mr *null_a = ibv_alloc_null_mr(net.a.pd), *null_b = ibv_alloc_null_mr(net.b.pd);
	const uint32_t lens[] = { 1, 1024, 5000, 100000 };
	static uint8_t zeros[100000];

	(void)state;
	assert_non_null(null_a);
	assert_null(null_a->addr);
	assert_true(null_a->length == SIZE_MAX);
	assert_int_equal(null_a->rkey, 0);
	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		const struct ibv_sge from = { 0, lens[i], null_a->lkey };
		const struct ibv_sge to = { 0x1234, lens[i], null_b->lkey };

		memset(net.b.buf, 0xff, lens[i]);
		rdma(IBV_WR_RDMA_WRITE, from, net.b.buf, net.b.mr->rkey, IBV_WC_SUCCESS);
		assert_memory_equal(net.b.buf, zeros, lens[i]);
		rdma(IBV_WR_RDMA_READ, from, net.b.buf, net.b.mr->rkey, IBV_WC_SUCCESS);
		post_recv(&net.b, 5, to);
		post_send(&net.a, IBV_WR_SEND, 6, sge_of(&net.a, 0, lens[i]));
		assert_int_equal(expect_wc(&net, net.b.rcq, 5, IBV_WC_SUCCESS).byte_len, lens[i]);
		expect_wc(&net, net.a.scq, 6, IBV_WC_SUCCESS);
	}
	assert_int_equal(uroce_dereg_mr(null_a), 0);
	assert_int_equal(uroce_dereg_mr(null_b), 0);
}

static void
null__is_nothing_else(void **state)
{
	struct ibv_mr *mr = ibv_alloc_null_mr(net.b.pd);
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .bind_info = { .mr = mr, .length = 8 } };

	(void)state;
	assert_errno(EINVAL, uroce_alloc_null_mr(NULL));
	rdma(IBV_WR_RDMA_READ, sge_of(&net.a, 0, 8), NULL, mr->lkey, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_bind_mw(net.b.qp, mw, &bind), EINVAL);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(query__tells_that_there_are_such_regions),
		TEST(explicit__atomics),
		TEST(explicit__memory_may_come_and_go),
		TEST(explicit__in_scatter_lists),
		TEST(explicit__read_only_memory_is_not_written),
		TEST(implicit__is_the_whole_address_space),
		TEST(advise__makes_pages_present),
		TEST(advise__errors),
		TEST(null__reads_0_and_forgets),
		TEST(null__is_nothing_else),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
