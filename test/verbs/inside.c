/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests that need internals: links of every speed, and calls that get no memory. The test links the
 * libraries directly, with a calloc() of its own.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <cmocka.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include "verbs/object.h"
#include "verbs/query.h"
#include "verbs/uroce.h"

static _Thread_local bool has_no_memory;

void *__real_calloc(size_t nb, size_t size);
void *__wrap_calloc(size_t nb, size_t size);

/* Replaces calloc() in the library, by an option of the linker: it fails while `has_no_memory`. */
void *
__wrap_calloc(size_t nb, size_t size)
{
	if (!has_no_memory)
		return __real_calloc(nb, size);
	errno = ENOMEM;
	return NULL;
}

void *__real_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset);

void *
__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (!has_no_memory)
		return __real_mmap64(at, len, prot, flags, fd, offset);
	errno = ENOMEM;
	return MAP_FAILED;
}

static struct ibv_context *context;

/* Check that a call returns NULL and sets errno to ENOMEM if calloc() fails. */
#define expect_enomem(call)                                                                        \
	do {                                                                                       \
		has_no_memory = true;                                                              \
		errno = 0;                                                                         \
		const void *const given = call;                                                    \
                                                                                                   \
		has_no_memory = false;                                                             \
		assert_null(given);                                                                \
		assert_int_equal(errno, ENOMEM);                                                   \
	} while (0)

/* Creating and resizing a CQ fail with ENOMEM if there is no memory for its length. */
static void
cq__without_memory(void **state)
{
	struct ibv_cq *const cq = uroce_create_cq(context, 1, NULL, NULL, 0);

	(void)state;
	assert_non_null(cq);
	expect_enomem(uroce_create_cq(context, UROCE_MAX_CQE, NULL, NULL, 0));
	has_no_memory = true;
	assert_int_equal(uroce_resize_cq(cq, UROCE_MAX_CQE), ENOMEM);
	has_no_memory = false;
	assert_int_equal(cq->cqe, 1);
	assert_int_equal(uroce_destroy_cq(cq), 0);
}

static void
get_device_list__without_memory(void **state)
{
	struct ibv_device **list;
	int nb = 77;

	(void)state;
	expect_enomem(uroce_get_device_list(&nb));
	assert_int_equal(nb, 0);
	assert_non_null(list = uroce_get_device_list(&nb));
	assert_int_equal(nb, 1);
	uroce_free_device_list(list);
}

static void
create__without_memory(void **state)
{
	struct ibv_td_init_attr td = { 0 };
	struct ibv_xrcd_init_attr xrcd = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_alloc_dm_attr dm = { .length = 8 };
	struct ibv_pd *pd = uroce_alloc_pd(context);
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	uint8_t byte = 0;

	(void)state;
	expect_enomem(uroce_open_device(context->device));
	expect_enomem(uroce_alloc_pd(context));
	expect_enomem(uroce_alloc_td(context, &td));
	expect_enomem(uroce_alloc_mw(pd, IBV_MW_TYPE_1));
	expect_enomem(uroce_reg_mr(pd, &byte, 1, 0));
	expect_enomem(uroce_alloc_dm(context, &dm));
	expect_enomem(uroce_create_comp_channel(context));
	expect_enomem(uroce_open_xrcd(context, &xrcd));
	expect_enomem(uroce_create_ah(pd, &attr));
	/* the failed calls have left no objects in the PD */
	assert_int_equal(uroce_dealloc_pd(pd), 0);
}

/* Each link speed has its own width and speed codes [IBA 14.2.5.6]. */
static void
query_rate__each_link_has_its_own(void **state)
{
	static const struct {
		uint32_t mbps;
		uint8_t width, speed;
	} rows[] = {
		{ 0, 1, 1 },        { 1000, 1, 1 },       { 9999, 1, 1 },    { 10000, 1, 8 },
		{ 24999, 1, 8 },    { 25000, 1, 32 },     { 40000, 2, 4 },   { 50000, 1, 64 },
		{ 100000, 2, 32 },  { 200000, 2, 64 },    { 399999, 2, 64 }, { 400000, 4, 64 },
		{ 1000000, 4, 64 }, { UINT32_MAX, 1, 8 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t width = 0, speed = 0;

		uroce_query_rate(rows[i].mbps, &width, &speed);
		assert_int_equal(width, rows[i].width);
		assert_int_equal(speed, rows[i].speed);
	}
}

static struct ibv_qp *
make_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 1, 1, 1, 1, 0 },
	};

	return uroce_create_qp(pd, &init);
}

/* A QP in a parent domain with a thread domain uses no locks [ibv_alloc_td(3)]. */
static void
create_qp__in_a_thread_domain_has_no_lock(void **state)
{
	struct ibv_td_init_attr td_init = { 0 };
	struct ibv_pd *pd = uroce_alloc_pd(context), *parent, *plain;
	struct ibv_parent_domain_init_attr init = { .pd = pd };
	struct ibv_td *td = uroce_alloc_td(context, &td_init);
	struct ibv_cq *cq = uroce_create_cq(context, 4, NULL, NULL, 0);
	struct ibv_qp *qp[3];

	(void)state;
	plain = uroce_alloc_parent_domain(context, &init);
	init.td = td;
	parent = uroce_alloc_parent_domain(context, &init);
	qp[0] = make_qp(pd, cq);
	qp[1] = make_qp(plain, cq);
	qp[2] = make_qp(parent, cq);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(uroce_vqp(qp[i])->sq.is_single_threaded, i == 2);
		assert_int_equal(uroce_vqp(qp[i])->rq.is_single_threaded, i == 2);
		assert_int_equal(uroce_destroy_qp(qp[i]), 0);
	}
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_dealloc_pd(parent) | uroce_dealloc_pd(plain), 0);
	assert_int_equal(uroce_dealloc_td(td) | uroce_dealloc_pd(pd), 0);
}

/*
 * If the device has several workers, and the program drives them by polling, XRC target QPs belong
 * to the first worker.
 */
static void
create_qp__an_xrc_target_lives_on_the_first_worker(void **state)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd = uroce_open_xrcd(context, &init);
	struct ibv_qp_init_attr_ex qp_init = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd,
	};

	(void)state;
	assert_int_equal(uroce_get_worker_count(context), 2);
	/* QP numbers are random, so at least one of these would select another worker */
	for (unsigned i = 0; i < 20; i++) {
		struct ibv_qp *qp = uroce_create_qp_ex(context, &qp_init);

		assert_non_null(qp);
		assert_ptr_equal(uroce_worker_qp_worker(&uroce_vqp(qp)->target->wqp),
				 uroce_get_worker(context, 0));
		assert_int_equal(uroce_destroy_qp(qp), 0);
	}
	assert_int_equal(uroce_close_xrcd(xrcd), 0);
}

static int
open_device(void **state)
{
	struct ibv_device *device = uroce_create_device("net_ring0,workers=2,addr=192.0.2.1/24");

	(void)state;
	context = device ? uroce_open_device(device) : NULL;
	return context ? 0 : -1;
}

static int
close_device(void **state)
{
	struct ibv_device *const device = context->device;

	(void)state;
	return uroce_close_device(context) || uroce_destroy_device(device);
}

int
main(void)
{
	char *argv[] = { "test", "--no-huge",   "--no-pci",       "-m",
			 "64",   "--no-shconf", "--no-telemetry", "--vdev=net_ring0",
			 "-l",   "0",           "--log-level",    "lib.eal:error",
			 NULL };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(get_device_list__without_memory),
		cmocka_unit_test(cq__without_memory),
		cmocka_unit_test(create__without_memory),
		cmocka_unit_test(create_qp__in_a_thread_domain_has_no_lock),
		cmocka_unit_test(create_qp__an_xrc_target_lives_on_the_first_worker),
		cmocka_unit_test(query_rate__each_link_has_its_own),
	};

	if (rte_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv) < 0)
		return EXIT_FAILURE;
	return cmocka_run_group_tests(tests, open_device, close_device);
}
