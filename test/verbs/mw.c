/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory windows of both types by the calls of verbs.h: host b binds them, and host a uses them.
 * References are to man pages: [bind_mw], [alloc_mw], [reg_mr], [post_send], [inc_rkey].
 */

#include "net.h"

#include <stdlib.h>

#define LEN    4096u
#define AT     512u /* offset of the windows in b's buffer */
#define RIGHTS (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

static struct pair net;
static struct ibv_mr *mr; /* a region of host b in which windows can be bound */

static int
setup_type(enum ibv_qp_type type)
{
	pair_open(&net, &(struct pair_conf){ .type = type });
	pair_connect(&net);
	mr = uroce_reg_mr(net.b.pd, net.b.buf, LEN,
			  IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE | IBV_ACCESS_MW_BIND);
	return mr != NULL ? 0 : -1;
}

static int
setup(void **state)
{
	(void)state;
	return setup_type(IBV_QPT_RC);
}

static int
setup_uc(void **state)
{
	(void)state;
	return setup_type(IBV_QPT_UC);
}

static int
setup_ud(void **state)
{
	(void)state;
	return setup_type(IBV_QPT_UD);
}

static int
teardown(void **state)
{
	(void)state;
	assert_int_equal(uroce_dereg_mr(mr), 0);
	pair_close(&net);
	return 0;
}

static struct ibv_mw_bind_info
info_of(uint64_t offset, uint64_t length, unsigned access)
{
	return (struct ibv_mw_bind_info){
		.mr = mr,
		.addr = (uintptr_t)net.b.buf + offset,
		.length = length,
		.mw_access_flags = access,
	};
}

/* Bind a window of type 1 by ibv_bind_mw(), and check the status of the completion. */
static void
bind_1(struct ibv_mw *mw, struct ibv_mw_bind_info info, enum ibv_wc_status status)
{
	struct ibv_mw_bind bind = { .wr_id = 77, .bind_info = info };

	assert_int_equal(ibv_bind_mw(net.b.qp, mw, &bind), 0);
	const struct ibv_wc wc = expect_wc(&net, net.b.scq, 77, status);

	if (status == IBV_WC_SUCCESS)
		assert_int_equal(wc.opcode, IBV_WC_BIND_MW);
}

/* Bind a window of type 2 by a work request, and check the status of the completion. */
static void
bind_2(struct ibv_mw *mw, uint32_t rkey, struct ibv_mw_bind_info info, enum ibv_wc_status status)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = 78,
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = mw, .rkey = rkey, .bind_info = info },
	};

	assert_int_equal(ibv_post_send(net.b.qp, &wr, &bad), 0);
	const struct ibv_wc wc = expect_wc(&net, net.b.scq, 78, status);

	if (status == IBV_WC_SUCCESS)
		assert_int_equal(wc.opcode, IBV_WC_BIND_MW);
}

/*
 * Post an RDMA request of host a to the address `addr` of host b, and check the status of its
 * completion.
 */
static void
rdma(enum ibv_wr_opcode opcode, uint64_t addr, uint32_t len, uint32_t rkey,
     enum ibv_wc_status status)
{
	struct ibv_sge sge = sge_of(&net.a, 0, len);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 79,
		.opcode = opcode,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = addr, .rkey = rkey },
	};

	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 79, status);
}

static uint64_t
at(uint64_t offset)
{
	return (uintptr_t)net.b.buf + offset;
}

/* Connect the QPs again: a refused request has moved them to ERR. */
static void
reconnect(void)
{
	struct ibv_wc wc;

	assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
	assert_int_equal(to_state(&net.b, IBV_QPS_RESET), 0);
	while (ibv_poll_cq(net.a.scq, 1, &wc) > 0 || ibv_poll_cq(net.b.scq, 1, &wc) > 0)
		;
	pair_connect(&net);
}

static void
alloc__describes_the_window(void **state)
{
	(void)state;
	for (int type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, (enum ibv_mw_type)type);

		assert_non_null(mw);
		assert_ptr_equal(mw->context, net.b.context);
		assert_ptr_equal(mw->pd, net.b.pd);
		assert_int_equal(mw->type, type);
		assert_int_not_equal(mw->rkey, 0);
		/* a window that is not bound gives access to nothing [alloc_mw] */
		rdma(IBV_WR_RDMA_WRITE, at(AT), 8, mw->rkey, IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(ibv_dealloc_mw(mw), 0);
		reconnect();
	}
}

static void
alloc__bad_arguments(void **state)
{
	(void)state;
	assert_errno(EINVAL, uroce_alloc_mw(NULL, IBV_MW_TYPE_1));
	assert_errno(EINVAL, uroce_alloc_mw(net.b.pd, (enum ibv_mw_type)0));
	assert_errno(EINVAL, uroce_alloc_mw(net.b.pd, (enum ibv_mw_type)3));
	assert_int_equal(uroce_dealloc_mw(NULL), EINVAL);
}

static void
alloc__pd_is_in_use(void **state)
{
	struct ibv_pd *pd = uroce_alloc_pd(net.b.context);
	struct ibv_mw *mw = uroce_alloc_mw(pd, IBV_MW_TYPE_2);

	(void)state;
	assert_int_equal(uroce_dealloc_pd(pd), EBUSY);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
}

static void
alloc__has_room_for_max_mw(void **state)
{
	struct ibv_device *device = net_device(0, "mrs=8");
	struct ibv_context *context = uroce_open_device(device);
	struct ibv_pd *pd = uroce_alloc_pd(context);
	struct ibv_device_attr attr;
	struct ibv_mw *mw[8];

	(void)state;
	assert_int_equal(uroce_query_device(context, &attr), 0);
	assert_int_equal(attr.max_mw, 8);
	assert_true(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
	assert_true(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	for (unsigned i = 0; i < 8; i++)
		assert_non_null(mw[i] = uroce_alloc_mw(pd, i % 2 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2));
	assert_errno(ENOMEM, uroce_alloc_mw(pd, IBV_MW_TYPE_1));
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(uroce_dealloc_mw(mw[i]), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	assert_int_equal(uroce_close_device(context), 0);
	assert_int_equal(uroce_destroy_device(device), 0);
}

/*
 * A bind of a window of type 1 stores a new key in mw->rkey, and the previous key becomes invalid
 * [bind_mw].
 */
static void
bind__type_1_gives_access_under_a_new_key(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1);
	const uint32_t first = mw->rkey;
	uint32_t second;

	(void)state;
	bind_1(mw, info_of(AT, 64, RIGHTS), IBV_WC_SUCCESS);
	second = mw->rkey;
	assert_int_not_equal(second, first);
	assert_int_equal(second >> 8, first >> 8);
	fill(net.a.buf, 64, 5);
	rdma(IBV_WR_RDMA_WRITE, at(AT), 64, second, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf + AT, net.a.buf, 64);
	memset(net.a.buf, 0, 64);
	rdma(IBV_WR_RDMA_READ, at(AT), 64, second, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf + AT, net.a.buf, 64);

	/* a bound window of type 1 can be bound to another range without an invalidation */
	bind_1(mw, info_of(2 * AT, 64, RIGHTS), IBV_WC_SUCCESS);
	rdma(IBV_WR_RDMA_WRITE, at(2 * AT), 64, mw->rkey, IBV_WC_SUCCESS);
	rdma(IBV_WR_RDMA_WRITE, at(AT), 64, second, IBV_WC_REM_ACCESS_ERR);
	reconnect();
	rdma(IBV_WR_RDMA_WRITE, at(AT), 8, mw->rkey, IBV_WC_REM_ACCESS_ERR);
	reconnect();
	/* a bind of length 0 unbinds a window of type 1 [alloc_mw] */
	bind_1(mw, (struct ibv_mw_bind_info){ 0 }, IBV_WC_SUCCESS);
	rdma(IBV_WR_RDMA_WRITE, at(2 * AT), 8, mw->rkey, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/*
 * A window gives access to exactly the range of its bind, with exactly the access rights of its
 * bind.
 */
static void
bind__range_and_rights_are_exact(void **state)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		uint64_t offset;
		uint32_t len;
		unsigned access;
		enum ibv_wc_status status;
	} rows[] = {
		{ IBV_WR_RDMA_WRITE, AT, 64, RIGHTS, IBV_WC_SUCCESS },
		{ IBV_WR_RDMA_WRITE, AT + 63, 1, RIGHTS, IBV_WC_SUCCESS },
		{ IBV_WR_RDMA_WRITE, AT - 1, 1, RIGHTS, IBV_WC_REM_ACCESS_ERR },
		{ IBV_WR_RDMA_WRITE, AT + 64, 1, RIGHTS, IBV_WC_REM_ACCESS_ERR },
		{ IBV_WR_RDMA_WRITE, AT, 65, RIGHTS, IBV_WC_REM_ACCESS_ERR },
		{ IBV_WR_RDMA_WRITE, AT, 8, IBV_ACCESS_REMOTE_READ, IBV_WC_REM_ACCESS_ERR },
		{ IBV_WR_RDMA_READ, AT, 8, IBV_ACCESS_REMOTE_WRITE, IBV_WC_REM_ACCESS_ERR },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, AT, 8, RIGHTS, IBV_WC_REM_ACCESS_ERR },
	};
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1);

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bind_1(mw, info_of(AT, 64, rows[i].access), IBV_WC_SUCCESS);
		if (rows[i].opcode != IBV_WR_ATOMIC_FETCH_AND_ADD) {
			rdma(rows[i].opcode, at(rows[i].offset), rows[i].len, mw->rkey,
			     rows[i].status);
		} else {
			struct ibv_sge sge = sge_of(&net.a, 0, 8);
			struct ibv_send_wr *bad, wr = {
				.opcode = rows[i].opcode,
				.sg_list = &sge,
				.num_sge = 1,
				.wr.atomic = { .remote_addr = at(AT), .rkey = mw->rkey },
			};

			assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
			expect_wc(&net, net.a.scq, 0, rows[i].status);
		}
		if (rows[i].status != IBV_WC_SUCCESS)
			reconnect();
	}
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/*
 * For a window that is bound with ZERO_BASED, the peer's addresses are offsets in the window
 * [bind_mw].
 */
static void
bind__zero_based(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1);

	(void)state;
	bind_1(mw, info_of(AT, 64, RIGHTS | IBV_ACCESS_ZERO_BASED), IBV_WC_SUCCESS);
	fill(net.a.buf, 8, 9);
	rdma(IBV_WR_RDMA_WRITE, 56, 8, mw->rkey, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf + AT + 56, net.a.buf, 8);
	rdma(IBV_WR_RDMA_WRITE, 57, 8, mw->rkey, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/*
 * A bind that the region does not allow is posted, completes with an error, and moves the QP to
 * ERR.
 */
static void
bind__errors_of_the_region(void **state)
{
	struct ibv_mr *const good = mr;
	struct ibv_mr *bare = uroce_reg_mr(net.b.pd, net.b.buf, LEN, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *read_only =
		uroce_reg_mr(net.b.pd, net.b.buf, LEN, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1);

	(void)state;
	mr = bare; /* a region without the access flag MW_BIND, which windows need [reg_mr] */
	bind_1(mw, info_of(AT, 64, IBV_ACCESS_REMOTE_READ), IBV_WC_MW_BIND_ERR);
	reconnect();
	/* a region without local write access, which windows with REMOTE_WRITE need [bind_mw] */
	mr = read_only;
	bind_1(mw, info_of(AT, 64, IBV_ACCESS_REMOTE_WRITE), IBV_WC_MW_BIND_ERR);
	reconnect();
	bind_1(mw, info_of(AT, 64, IBV_ACCESS_REMOTE_ATOMIC), IBV_WC_MW_BIND_ERR);
	reconnect();
	bind_1(mw, info_of(AT, 64, IBV_ACCESS_REMOTE_READ), IBV_WC_SUCCESS);
	bind_1(mw, (struct ibv_mw_bind_info){ 0 }, IBV_WC_SUCCESS);
	mr = good;
	bind_1(mw, info_of(1, LEN, RIGHTS), IBV_WC_MW_BIND_ERR);
	assert_int_equal(state_of(&net.b), IBV_QPS_ERR);
	reconnect();
	bind_1(mw, info_of(0, LEN, RIGHTS), IBV_WC_SUCCESS);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(uroce_dereg_mr(bare), 0);
	assert_int_equal(uroce_dereg_mr(read_only), 0);
}

static void
bind__errors_of_the_call(void **state)
{
	struct ibv_mw *one = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1);
	struct ibv_mw *two = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_2);
	struct ibv_pd *pd = uroce_alloc_pd(net.b.context);
	struct ibv_mw *foreign = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	const uint32_t rkey = one->rkey;
	struct ibv_mw_bind bind = { .bind_info = info_of(AT, 64, RIGHTS) };

	(void)state;
	assert_int_equal(uroce_bind_mw(NULL, one, &bind), EINVAL);
	assert_int_equal(uroce_bind_mw(net.b.qp, NULL, &bind), EINVAL);
	assert_int_equal(uroce_bind_mw(net.b.qp, one, NULL), EINVAL);
	assert_int_equal(ibv_bind_mw(net.b.qp, two, &bind), EINVAL);
	assert_int_equal(uroce_bind_mw(net.b.qp, two, &bind), EINVAL);
	assert_int_equal(ibv_bind_mw(net.b.qp, foreign, &bind), EPERM);
	assert_int_equal(uroce_bind_mw(net.b.qp, foreign, &bind), EPERM);
	bind.bind_info.mr = NULL;
	assert_int_equal(ibv_bind_mw(net.b.qp, one, &bind), EINVAL);
	assert_int_equal(uroce_bind_mw(net.b.qp, one, &bind), EINVAL);
	bind.bind_info = info_of(AT, 64, IBV_ACCESS_MW_BIND);
	assert_int_equal(ibv_bind_mw(net.b.qp, one, &bind), EINVAL);
	bind.bind_info = info_of(AT, 64, RIGHTS);
	bind.send_flags = IBV_SEND_INLINE;
	assert_int_equal(ibv_bind_mw(net.b.qp, one, &bind), EINVAL);
	/* after the failed calls, the key of the window is unchanged */
	assert_int_equal(one->rkey, rkey);
	assert_int_equal(ibv_dealloc_mw(one), 0);
	assert_int_equal(ibv_dealloc_mw(two), 0);
	assert_int_equal(ibv_dealloc_mw(foreign), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
}

/*
 * A bind fails with ENOENT if `handle` of the QP, the window or the region is invalid, like that of
 * a destroyed object.
 */
static void
bind__of_an_invalid_handle_is_enoent(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .bind_info = info_of(AT, 64, RIGHTS) };
	uint32_t *const handles[] = { &net.b.qp->handle, &mw->handle, &bind.bind_info.mr->handle };

	(void)state;
	for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
		*handles[i] ^= 1;
		assert_int_equal(uroce_bind_mw(net.b.qp, mw, &bind), ENOENT);
		*handles[i] ^= 1;
	}
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* Failed binds do not change the key of a window. The next bind that succeeds changes the key. */
static void
bind__that_fails_uses_up_no_key(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .bind_info = info_of(AT, 64, RIGHTS) };
	const uint32_t rkey = mw->rkey;

	(void)state;
	assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
	assert_int_equal(to_state(&net.b, IBV_QPS_RESET), 0);
	for (unsigned i = 0; i < 255; i++) {
		assert_int_equal(ibv_bind_mw(net.b.qp, mw, &bind), EINVAL);
		assert_int_equal(mw->rkey, rkey);
	}
	pair_connect(&net);
	assert_int_equal(ibv_bind_mw(net.b.qp, mw, &bind), 0);
	assert_int_not_equal(mw->rkey, rkey);
	expect_wc(&net, net.b.scq, 0, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* A window can be bound on QPs of the types UC, RC and XRC_SEND only [bind_mw]. */
static void
bind__not_on_datagram_queues(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .bind_info = info_of(AT, 64, RIGHTS) };

	(void)state;
	assert_int_equal(ibv_bind_mw(net.b.qp, mw, &bind), EINVAL);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void
bind__works_on_uc(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1);
	struct ibv_recv_wr *bad, recv = { .wr_id = 5 };

	(void)state;
	bind_1(mw, info_of(AT, 64, RIGHTS), IBV_WC_SUCCESS);
	fill(net.a.buf, 64, 4);
	assert_int_equal(ibv_post_recv(net.b.qp, &recv, &bad), 0);
	rdma(IBV_WR_RDMA_WRITE_WITH_IMM, at(AT), 64, mw->rkey, IBV_WC_SUCCESS);
	expect_wc(&net, net.b.rcq, 5, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf + AT, net.a.buf, 64);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/*
 * A work request binds a window of type 2, with a key that the program has made [post_send],
 * [inc_rkey]. The window remains bound until it is invalidated.
 */
static void
bind__type_2_until_it_is_invalidated(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_2);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct ibv_send_wr *bad, inv = { .wr_id = 3, .opcode = IBV_WR_LOCAL_INV };

	(void)state;
	bind_2(mw, rkey, info_of(AT, 64, RIGHTS), IBV_WC_SUCCESS);
	fill(net.a.buf, 64, 6);
	rdma(IBV_WR_RDMA_WRITE, at(AT), 64, rkey, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf + AT, net.a.buf, 64);
	/* a window of type 2 that is bound cannot be bound again */
	bind_2(mw, ibv_inc_rkey(rkey), info_of(2 * AT, 64, RIGHTS), IBV_WC_MW_BIND_ERR);
	reconnect();
	inv.invalidate_rkey = rkey;
	assert_int_equal(ibv_post_send(net.b.qp, &inv, &bad), 0);
	assert_int_equal(expect_wc(&net, net.b.scq, 3, IBV_WC_SUCCESS).opcode, IBV_WC_LOCAL_INV);
	rdma(IBV_WR_RDMA_WRITE, at(AT), 64, rkey, IBV_WC_REM_ACCESS_ERR);
	reconnect();
	rkey = ibv_inc_rkey(rkey);
	bind_2(mw, rkey, info_of(2 * AT, 64, RIGHTS), IBV_WC_SUCCESS);
	rdma(IBV_WR_RDMA_WRITE, at(2 * AT), 64, rkey, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* The upper 24 bits of the key in a bind must be those of the window, because they identify it. */
static void
bind__key_of_another_window_is_einval(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_2);
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = mw,
			     .rkey = mw->rkey ^ 0x100,
			     .bind_info = info_of(AT, 64, RIGHTS) },
	};

	(void)state;
	assert_int_equal(ibv_post_send(net.b.qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* A SEND with invalidate of the peer unbinds a window of type 2. */
static void
send_with_inv__ends_a_type_2_window(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_2);
	const uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 4,
		.opcode = IBV_WR_SEND_WITH_INV,
		.sg_list = &sge,
		.num_sge = 1,
		.invalidate_rkey = rkey,
	};
	struct ibv_wc wc;

	(void)state;
	bind_2(mw, rkey, info_of(AT, 64, RIGHTS), IBV_WC_SUCCESS);
	rdma(IBV_WR_RDMA_READ, at(AT), 64, rkey, IBV_WC_SUCCESS);
	post_recv(&net.b, 5, sge_of(&net.b, 0, 64));
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 4, IBV_WC_SUCCESS);
	wc = expect_wc(&net, net.b.rcq, 5, IBV_WC_SUCCESS);
	assert_true(wc.wc_flags & IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, rkey);
	assert_int_equal(wc.byte_len, 8);
	rdma(IBV_WR_RDMA_READ, at(AT), 64, rkey, IBV_WC_REM_ACCESS_ERR);
	reconnect();
	/* a window that was invalidated can be bound again */
	bind_2(mw, ibv_inc_rkey(rkey), info_of(AT, 64, RIGHTS), IBV_WC_SUCCESS);
	rdma(IBV_WR_RDMA_READ, at(AT), 64, ibv_inc_rkey(rkey), IBV_WC_SUCCESS);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* A SEND with invalidate is refused if the key is that of a region or of a window of type 1. */
static void
send_with_inv__of_anything_else_is_refused(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1);
	struct ibv_send_wr *bad, wr = { .wr_id = 4, .opcode = IBV_WR_SEND_WITH_INV };

	(void)state;
	bind_1(mw, info_of(AT, 64, RIGHTS), IBV_WC_SUCCESS);
	for (unsigned i = 0; i < 2; i++) {
		post_recv(&net.b, 5, sge_of(&net.b, 0, 64));
		wr.invalidate_rkey = i ? mr->rkey : mw->rkey;
		assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
		expect_wc(&net, net.a.scq, 4, IBV_WC_REM_OP_ERR);
		reconnect();
	}
	rdma(IBV_WR_RDMA_READ, at(AT), 64, mw->rkey, IBV_WC_SUCCESS);
	rdma(IBV_WR_RDMA_READ, at(AT), 64, mr->rkey, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/*
 * A window of type 2 gives access through the QP that has bound it only. A window of type 1 gives
 * access through all QPs of its PD.
 */
static void
bind__of_another_qp(void **state)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = net.b.scq,
		.recv_cq = net.b.rcq,
		.sq_sig_all = 1,
		.cap = { NB_WR, NB_WR, NB_SGE, NB_SGE, 0 },
	};
	struct ibv_qp *const first = net.b.qp, *const second = uroce_create_qp(net.b.pd, &init);
	struct ibv_mw *mw[2] = { ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1),
				 ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_2) };
	const uint32_t rkey = ibv_inc_rkey(mw[1]->rkey);

	(void)state;
	bind_1(mw[0], info_of(AT, 64, RIGHTS), IBV_WC_SUCCESS);
	bind_2(mw[1], rkey, info_of(AT, 64, RIGHTS), IBV_WC_SUCCESS);
	/* connect host a to a second QP of host b in the same PD */
	assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
	net.b.qp = second;
	pair_connect(&net);
	rdma(IBV_WR_RDMA_READ, at(AT), 64, mw[0]->rkey, IBV_WC_SUCCESS);
	rdma(IBV_WR_RDMA_READ, at(AT), 64, rkey, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(uroce_destroy_qp(second), 0);
	net.b.qp = first;
	assert_int_equal(ibv_dealloc_mw(mw[0]), 0);
	assert_int_equal(ibv_dealloc_mw(mw[1]), 0);
}

/* A region cannot be deregistered while a window of it is bound [reg_mr]. */
static void
dereg__is_busy_while_windows_are_bound(void **state)
{
	struct ibv_mw *one = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_1);
	struct ibv_mw *two = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_2);
	const uint32_t rkey = ibv_inc_rkey(two->rkey);

	(void)state;
	bind_1(one, info_of(AT, 64, RIGHTS), IBV_WC_SUCCESS);
	bind_2(two, rkey, info_of(AT, 64, RIGHTS), IBV_WC_SUCCESS);
	assert_int_equal(uroce_dereg_mr(mr), EBUSY);
	/* after the failed call, the region and the windows still give access */
	rdma(IBV_WR_RDMA_READ, at(AT), 64, mr->rkey, IBV_WC_SUCCESS);
	rdma(IBV_WR_RDMA_READ, at(AT), 64, rkey, IBV_WC_SUCCESS);
	bind_1(one, (struct ibv_mw_bind_info){ 0 }, IBV_WC_SUCCESS);
	assert_int_equal(uroce_dereg_mr(mr), EBUSY);
	/* deallocating a bound window unbinds it [alloc_mw] */
	assert_int_equal(ibv_dealloc_mw(two), 0);
	rdma(IBV_WR_RDMA_READ, at(AT), 64, rkey, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	mr = uroce_reg_mr(net.b.pd, net.b.buf, LEN, IBV_ACCESS_LOCAL_WRITE);
	assert_int_equal(ibv_dealloc_mw(one), 0);
}

/*
 * A bind and the SEND that carries the key are posted in one chain: the bind is executed before the
 * SEND [bind_mw].
 */
static void
bind__is_done_before_the_send_behind_it(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_2);
	const uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct ibv_sge sge = sge_of(&net.b, 0, 8);
	struct ibv_send_wr *bad,
		send = { .wr_id = 2, .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr bind = {
		.wr_id = 1,
		.next = &send,
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = mw, .rkey = rkey, .bind_info = info_of(AT, 64, RIGHTS) },
	};

	(void)state;
	post_recv(&net.a, 3, sge_of(&net.a, 0, 64));
	assert_int_equal(ibv_post_send(net.b.qp, &bind, &bad), 0);
	expect_wc(&net, net.a.rcq, 3, IBV_WC_SUCCESS);
	rdma(IBV_WR_RDMA_WRITE, at(AT), 64, rkey, IBV_WC_SUCCESS);
	expect_wc(&net, net.b.scq, 1, IBV_WC_SUCCESS);
	expect_wc(&net, net.b.scq, 2, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

#define TEST(test)        cmocka_unit_test_setup_teardown(test, setup, teardown)
#define ON(service, test) cmocka_unit_test_setup_teardown(test, setup_##service, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(alloc__describes_the_window),
		TEST(alloc__bad_arguments),
		TEST(alloc__pd_is_in_use),
		cmocka_unit_test(alloc__has_room_for_max_mw),
		TEST(bind__type_1_gives_access_under_a_new_key),
		TEST(bind__range_and_rights_are_exact),
		TEST(bind__zero_based),
		TEST(bind__errors_of_the_region),
		TEST(bind__errors_of_the_call),
		TEST(bind__of_an_invalid_handle_is_enoent),
		TEST(bind__that_fails_uses_up_no_key),
		ON(ud, bind__not_on_datagram_queues),
		ON(uc, bind__works_on_uc),
		TEST(bind__type_2_until_it_is_invalidated),
		TEST(bind__key_of_another_window_is_einval),
		TEST(send_with_inv__ends_a_type_2_window),
		TEST(send_with_inv__of_anything_else_is_refused),
		TEST(bind__of_another_qp),
		TEST(dereg__is_busy_while_windows_are_bound),
		TEST(bind__is_done_before_the_send_behind_it),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
