/* SPDX-License-Identifier: BSD-3-Clause */
/* Extended CQs: the receive CQ of b is one. [create_cq_ex] refers to ibv_create_cq_ex(3). */

#include "net.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <rte_cycles.h>

#define TS_FLAGS                                                                                   \
	(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static struct pair net;
static struct ibv_cq_ex *cq; /* the receive CQ of b */

static struct ibv_cq_ex *
make_cq(struct ibv_cq_init_attr_ex init)
{
	return ibv_create_cq_ex(net.b.context, &init);
}

static int
setup_with(enum ibv_qp_type type, struct ibv_cq_init_attr_ex cq_init)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type,
		.sq_sig_all = 1,
		.cap = { NB_WR, NB_WR, NB_SGE, NB_SGE, 0 },
	};

	pair_open(&net, &(struct pair_conf){ .type = type });
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	assert_int_equal(uroce_destroy_cq(net.b.rcq), 0);
	assert_non_null(cq = make_cq(cq_init));
	net.b.rcq = ibv_cq_ex_to_cq(cq);
	init.send_cq = net.b.scq;
	init.recv_cq = net.b.rcq;
	assert_non_null(net.b.qp = uroce_create_qp(net.b.pd, &init));
	return 0;
}

static int
setup(void **state)
{
	(void)state;
	return setup_with(IBV_QPT_RC, (struct ibv_cq_init_attr_ex){
					      .cqe = 32,
					      .cq_context = &net,
					      .wc_flags = IBV_WC_STANDARD_FLAGS | TS_FLAGS,
				      });
}

static int
setup_ud(void **state)
{
	(void)state;
	return setup_with(IBV_QPT_UD, (struct ibv_cq_init_attr_ex){
					      .cqe = 32, .wc_flags = IBV_WC_STANDARD_FLAGS });
}

static int
setup_single(void **state)
{
	(void)state;
	return setup_with(IBV_QPT_RC, (struct ibv_cq_init_attr_ex){
					      .cqe = 32,
					      .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					      .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED });
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

static int
start(void)
{
	struct ibv_poll_cq_attr attr = { 0 };

	return ibv_start_poll(cq, &attr);
}

/* Call ibv_start_poll() until there is a completion. */
static void
start_waiting(void)
{
	struct ibv_wc wc;
	int ret = ENOENT;

	for (unsigned i = 0; ret == ENOENT && i < 1000000; i++) {
		/* a poll of a CQ of host a drives the device of host a */
		(void)ibv_poll_cq(net.a.scq, 1, &wc);
		ret = start();
	}
	assert_int_equal(ret, 0);
}

static void
send_some(uint64_t nb)
{
	for (uint64_t i = 0; i < nb; i++) {
		post_recv(&net.b, 10 + i, sge_of(&net.b, 0, 64));
		post_send(&net.a, IBV_WR_SEND_WITH_IMM, i, sge_of(&net.a, 0, 48 + (uint32_t)i));
		expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
	}
}

static void
create__checks_its_arguments(void **state)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 1 };
	struct ibv_device_attr attr;

	(void)state;
	assert_int_equal(uroce_query_device(net.b.context, &attr), 0);
	assert_errno(EINVAL, uroce_create_cq_ex(NULL, &init));
	assert_errno(EINVAL, uroce_create_cq_ex(net.b.context, NULL));
	assert_errno(EINVAL, make_cq((struct ibv_cq_init_attr_ex){ .cqe = 0 }));
	assert_errno(EINVAL,
		     make_cq((struct ibv_cq_init_attr_ex){ .cqe = (uint32_t)attr.max_cqe + 1 }));
	assert_errno(EINVAL, make_cq((struct ibv_cq_init_attr_ex){ .cqe = 1, .comp_vector = 99 }));
	assert_errno(EOPNOTSUPP, make_cq((struct ibv_cq_init_attr_ex){
					 .cqe = 1, .wc_flags = IBV_WC_EX_WITH_CVLAN }));
	assert_errno(EOPNOTSUPP, make_cq((struct ibv_cq_init_attr_ex){
					 .cqe = 1, .wc_flags = IBV_WC_EX_WITH_FLOW_TAG }));
	assert_errno(EOPNOTSUPP, make_cq((struct ibv_cq_init_attr_ex){
					 .cqe = 1, .wc_flags = IBV_WC_EX_WITH_TM_INFO }));
	assert_errno(EOPNOTSUPP,
		     make_cq((struct ibv_cq_init_attr_ex){ .cqe = 1, .wc_flags = 1ull << 40 }));
	assert_errno(EOPNOTSUPP, make_cq((struct ibv_cq_init_attr_ex){
					 .cqe = 1,
					 .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					 .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN }));
	assert_errno(EOPNOTSUPP, make_cq((struct ibv_cq_init_attr_ex){ .cqe = 1, .comp_mask = 4 }));
	assert_errno(EINVAL, make_cq((struct ibv_cq_init_attr_ex){
				     .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD }));
}

static void
create__uses_its_parent_domain(void **state)
{
	struct ibv_parent_domain_init_attr attr = { .pd = net.b.pd };
	struct ibv_pd *parent = uroce_alloc_parent_domain(net.b.context, &attr);
	struct ibv_cq_init_attr_ex init = {
		.cqe = 1,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = parent,
	};

	(void)state;
	assert_non_null(parent);
	parent->handle ^= 1; /* make the handle invalid, like that of a destroyed parent domain */
	assert_errno(ENOENT, make_cq(init));
	parent->handle ^= 1;
	struct ibv_cq_ex *made = make_cq(init);

	assert_non_null(made);
	assert_int_equal(uroce_dealloc_pd(parent), EBUSY);
	assert_int_equal(uroce_destroy_cq(ibv_cq_ex_to_cq(made)), 0);
	assert_int_equal(uroce_dealloc_pd(parent), 0);
}

/*
 * ibv_start_poll() of an empty CQ returns ENOENT. The CQ remains valid, and ibv_end_poll() is not
 * called [create_cq_ex].
 */
static void
start__of_an_empty_one_is_enoent(void **state)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 1 };

	(void)state;
	assert_int_equal(start(), ENOENT);
	assert_int_equal(start(), ENOENT);
	assert_int_equal(ibv_start_poll(cq, &attr), EINVAL);
	assert_int_equal(start(), ENOENT);
}

static void
read__every_field(void **state)
{
	(void)state;
	pair_connect(&net);
	send_some(1);
	assert_int_equal(start(), 0);
	assert_int_equal(cq->wr_id, 10);
	assert_int_equal(cq->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_vendor_err(cq), 0);
	assert_int_equal(ibv_wc_read_byte_len(cq), 48);
	assert_int_equal(ibv_wc_read_imm_data(cq), 0x01020304);
	assert_int_equal(ibv_wc_read_qp_num(cq), net.b.qp->qp_num);
	assert_int_equal(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_IMM);
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	assert_int_equal(start(), ENOENT);
}

static void
read__of_a_datagram(void **state)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_ah *ah;

	(void)state;
	pair_connect(&net);
	ah = ah_to(&net.a, &net.b);
	post_recv(&net.b, 5, sge_of(&net.b, 0, 100));
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .ah = ah, .remote_qpn = net.b.qp->qp_num, .remote_qkey = QKEY },
	};

	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	start_waiting();
	assert_int_equal(cq->wr_id, 5);
	assert_int_equal(ibv_wc_read_src_qp(cq), net.a.qp->qp_num);
	assert_int_equal(ibv_wc_read_wc_flags(cq), IBV_WC_GRH);
	assert_int_equal(ibv_wc_read_byte_len(cq), 48);
	assert_int_equal(ibv_wc_read_slid(cq), 0);
	assert_int_equal(ibv_wc_read_dlid_path_bits(cq), 0);
	(void)ibv_wc_read_sl(cq);
	ibv_end_poll(cq);
	assert_int_equal(uroce_destroy_ah(ah), 0);
}

static void
read__of_a_failure(void **state)
{
	struct ibv_sge bad_key = sge_of(&net.b, 0, 64);

	(void)state;
	bad_key.lkey ^= 0x100;
	pair_connect(&net);
	post_recv(&net.b, 6, bad_key);
	post_recv(&net.b, 7, bad_key);
	post_send(&net.a, IBV_WR_SEND, 1, sge_of(&net.a, 0, 8));
	start_waiting();
	assert_int_equal(cq->wr_id, 6);
	assert_int_equal(cq->status, IBV_WC_LOC_PROT_ERR);
	assert_int_not_equal(ibv_wc_read_vendor_err(cq), 0);
	assert_int_equal(ibv_next_poll(cq), 0);
	assert_int_equal(cq->wr_id, 7);
	assert_int_equal(cq->status, IBV_WC_WR_FLUSH_ERR);
	ibv_end_poll(cq);
}

/*
 * ibv_next_poll() reads the available completions in order, as many as the program wants. Ordinary
 * polls find the others.
 */
static void
next__goes_on(void **state)
{
	struct ibv_wc wc;

	(void)state;
	pair_connect(&net);
	send_some(4);
	assert_int_equal(start(), 0);
	assert_int_equal(cq->wr_id, 10);
	assert_int_equal(ibv_next_poll(cq), 0);
	assert_int_equal(cq->wr_id, 11);
	assert_int_equal(ibv_wc_read_byte_len(cq), 49);
	ibv_end_poll(cq);
	assert_int_equal(ibv_poll_cq(net.b.rcq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 12);
	assert_int_equal(start(), 0);
	assert_int_equal(cq->wr_id, 13);
	ibv_end_poll(cq);
}

static uint64_t
raw_now(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	assert_int_equal(uroce_query_rt_values_ex(net.b.context, &values), 0);
	return (uint64_t)values.raw_clock.tv_sec * 1000000000u + (uint64_t)values.raw_clock.tv_nsec;
}

static uint64_t
wallclock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/*
 * Allowed difference between two clocks. The scheduler may stop the test between the reads of the
 * clocks.
 */
#define TOLERANCE_NS 10000000u

static void
read__timestamps(void **state)
{
	const uint64_t raw_before = raw_now(), wall_before = wallclock_now();

	(void)state;
	pair_connect(&net);
	send_some(2);
	const uint64_t raw_after = raw_now(), wall_after = wallclock_now();

	assert_int_equal(start(), 0);
	const uint64_t first = ibv_wc_read_completion_ts(cq);

	assert_in_range(first, raw_before, raw_after);
	assert_in_range(ibv_wc_read_completion_wallclock_ns(cq), wall_before - TOLERANCE_NS,
			wall_after + TOLERANCE_NS);
	assert_int_equal(ibv_next_poll(cq), 0);
	assert_in_range(ibv_wc_read_completion_ts(cq), first, raw_after);
	ibv_end_poll(cq);
}

/*
 * Between ibv_start_poll() and ibv_end_poll(), the CQ can be resized, and the QP of the current
 * completion can be destroyed.
 */
static void
batch__holds_up_no_other_call(void **state)
{
	(void)state;
	pair_connect(&net);
	send_some(2);
	assert_int_equal(start(), 0);
	assert_int_equal(uroce_resize_cq(net.b.rcq, 64), 0);
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
	assert_int_equal(cq->wr_id, 10);
	assert_int_equal(ibv_wc_read_byte_len(cq), 48);
	/* the destruction of the QP has removed its next completion */
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
}

static _Thread_local bool is_beside;
static atomic_uint nb_yields; /* number of sched_yield() calls by other threads */
static atomic_bool is_inside;

/*
 * Replaces sched_yield() of libc, to count its calls: a thread that waits for a lock calls it
 * repeatedly.
 */
int
sched_yield(void)
{
	if (is_beside)
		atomic_fetch_add(&nb_yields, 1);
	return (int)syscall(SYS_sched_yield);
}

static void *
poll_beside(void *wr_id)
{
	is_beside = true;
	assert_int_equal(start(), 0);
	atomic_store(&is_inside, true);
	*(uint64_t *)wr_id = cq->wr_id;
	ibv_end_poll(cq);
	return NULL;
}

/*
 * While one thread is between ibv_start_poll() and ibv_end_poll(), another thread waits in
 * ibv_start_poll() for the CQ's lock.
 */
static void
batch__is_one_threads(void **state)
{
	uint64_t wr_id = 0;
	pthread_t thread;

	(void)state;
	pair_connect(&net);
	send_some(2);
	atomic_store(&nb_yields, 0);
	atomic_store(&is_inside, false);
	assert_int_equal(start(), 0);
	assert_int_equal(pthread_create(&thread, NULL, poll_beside, &wr_id), 0);
	while (atomic_load(&nb_yields) < 3 && !atomic_load(&is_inside))
		(void)sched_yield();
	assert_false(atomic_load(&is_inside));
	assert_int_equal(cq->wr_id, 10);
	ibv_end_poll(cq);
	pthread_join(thread, NULL);
	assert_int_equal(wr_id, 11);
}

static void
batch__of_a_single_threaded_one(void **state)
{
	(void)state;
	pair_connect(&net);
	send_some(2);
	for (uint64_t i = 0; i < 2; i++) {
		assert_int_equal(start(), 0);
		assert_int_equal(cq->wr_id, 10 + i);
		ibv_end_poll(cq);
	}
	assert_int_equal(start(), ENOENT);
}

#define TEST(f)         cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TEST_ON(f, how) cmocka_unit_test_setup_teardown(f, how, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create__checks_its_arguments),
		TEST(create__uses_its_parent_domain),
		TEST(start__of_an_empty_one_is_enoent),
		TEST(read__every_field),
		TEST_ON(read__of_a_datagram, setup_ud),
		TEST(read__of_a_failure),
		TEST(next__goes_on),
		TEST(read__timestamps),
		TEST(batch__holds_up_no_other_call),
		TEST(batch__is_one_threads),
		TEST_ON(batch__of_a_single_threaded_one, setup_single),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
