/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control calls on objects that the device does not have fail with ENOENT, as in the kernel, which
 * looks up the number in `handle`. Run under uroce-run.
 */

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "tap.h"

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_mw *mw;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_qp *qp;
static struct ibv_ah *ah;
static struct ibv_dm *dm;
static char buf[64];

static struct ibv_qp_attr qp_attr = { .qp_state = IBV_QPS_RESET };
static struct ibv_qp_init_attr qp_init;
static struct ibv_srq_attr srq_attr;
static union ibv_gid gid;

static struct ibv_ah *
create_ah(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh.sgid_index = 1 };

	tap_need(ibv_query_gid(context, 1, 1, &attr.grh.dgid) == 0, "ibv_query_gid");
	return ibv_create_ah(pd, &attr);
}

static struct ibv_srq *
create_srq(void)
{
	return ibv_create_srq(pd, &(struct ibv_srq_init_attr){ .attr = { 4, 1, 0 } });
}

static struct ibv_qp *
create_qp(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};

	return ibv_create_qp(pd, &init);
}

static void
make_objects(void)
{
	struct ibv_device **const list = ibv_get_device_list(NULL);

	tap_need(list != NULL && list[0] != NULL, "ibv_get_device_list");
	tap_need((context = ibv_open_device(list[0])) != NULL, "ibv_open_device");
	ibv_free_device_list(list);
	tap_need((pd = ibv_alloc_pd(context)) != NULL, "ibv_alloc_pd");
	tap_need((mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE)) != NULL,
		 "ibv_reg_mr");
	tap_need((mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2)) != NULL, "ibv_alloc_mw");
	tap_need((cq = ibv_create_cq(context, 16, NULL, NULL, 0)) != NULL, "ibv_create_cq");
	tap_need((srq = create_srq()) != NULL, "ibv_create_srq");
	tap_need((qp = create_qp()) != NULL, "ibv_create_qp");
	tap_need((ah = create_ah()) != NULL, "ibv_create_ah");
	dm = ibv_alloc_dm(context, &(struct ibv_alloc_dm_attr){ .length = 64 });
	tap_need(dm != NULL, "ibv_alloc_dm");
}

/*
 * Check that a call fails with ENOENT: a call that returns an errno; a call that returns an object.
 */
#define IS_ENOENT(call)    (errno = 0, (call) == ENOENT && errno == ENOENT)
#define HAS_NO_ENTRY(call) (errno = 0, (call) == NULL && errno == ENOENT)

/* Evaluate an expression while `handle` of an object has a wrong value, and print a TAP line. */
#define GARBLED(object, expression)                                                                \
	do {                                                                                       \
		const uint32_t handle = (object)->handle;                                          \
                                                                                                   \
		(object)->handle ^= 0xdeadbeef;                                                    \
		const bool is_ok = expression;                                                     \
                                                                                                   \
		(object)->handle = handle;                                                         \
		tap_test(is_ok, "another number in %s: %s", #object, #expression);                 \
	} while (0)

static void
test_numbers(void)
{
	GARBLED(pd, IS_ENOENT(ibv_dealloc_pd(pd)));
	GARBLED(pd, HAS_NO_ENTRY(ibv_reg_mr(pd, buf, 1, 0)));
	GARBLED(pd, HAS_NO_ENTRY(ibv_alloc_mw(pd, IBV_MW_TYPE_1)));
	GARBLED(pd, HAS_NO_ENTRY(create_ah()));
	GARBLED(pd, HAS_NO_ENTRY(create_srq()));
	GARBLED(pd, HAS_NO_ENTRY(create_qp()));
	GARBLED(mr, IS_ENOENT(ibv_dereg_mr(mr)));
	GARBLED(mw, IS_ENOENT(ibv_dealloc_mw(mw)));
	GARBLED(cq, IS_ENOENT(ibv_resize_cq(cq, 32)));
	GARBLED(cq, IS_ENOENT(ibv_destroy_cq(cq)));
	GARBLED(cq, HAS_NO_ENTRY(create_qp()));
	GARBLED(srq, IS_ENOENT(ibv_modify_srq(srq, &srq_attr, IBV_SRQ_LIMIT)));
	GARBLED(srq, IS_ENOENT(ibv_query_srq(srq, &srq_attr)));
	GARBLED(srq, IS_ENOENT(ibv_destroy_srq(srq)));
	GARBLED(srq, HAS_NO_ENTRY(create_qp()));
	GARBLED(qp, IS_ENOENT(ibv_modify_qp(qp, &qp_attr, IBV_QP_STATE)));
	GARBLED(qp, IS_ENOENT(ibv_query_qp(qp, &qp_attr, IBV_QP_STATE, &qp_init)));
	GARBLED(qp, IS_ENOENT(ibv_attach_mcast(qp, &gid, 0)));
	GARBLED(qp, IS_ENOENT(ibv_detach_mcast(qp, &gid, 0)));
	GARBLED(qp, IS_ENOENT(ibv_destroy_qp(qp)));
	GARBLED(ah, IS_ENOENT(ibv_destroy_ah(ah)));
	GARBLED(dm, IS_ENOENT(ibv_free_dm(dm)));
}

/* A CQ is not taken for a region, even if its `handle` is that of a region. */
static void
test_kinds(void)
{
	struct ibv_cq copy = *cq;
	struct ibv_mr *const fake = (struct ibv_mr *)cq;

	fake->context = context;
	fake->handle = mr->handle;
	const bool is_ok = IS_ENOENT(ibv_dereg_mr(fake));

	memcpy(cq, &copy, sizeof(copy));
	tap_test(is_ok, "a CQ is no region: ibv_dereg_mr");
}

/*
 * An object can be destroyed once. The memory of a destroyed object remains readable, because it
 * belongs to the device.
 */
static void
test_ends(void)
{
	tap_test(ibv_destroy_qp(qp) == 0 && IS_ENOENT(ibv_destroy_qp(qp)), "a QP ends once");
	tap_test(ibv_destroy_srq(srq) == 0 && IS_ENOENT(ibv_destroy_srq(srq)), "an SRQ ends once");
	tap_test(ibv_destroy_cq(cq) == 0 && IS_ENOENT(ibv_destroy_cq(cq)), "a CQ ends once");
}

int
main(void)
{
	make_objects();
	test_numbers();
	test_kinds();
	test_ends();
	tap_test(ibv_free_dm(dm) == 0 && ibv_destroy_ah(ah) == 0 && ibv_dealloc_mw(mw) == 0 &&
			 ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(pd) == 0 &&
			 ibv_close_device(context) == 0,
		 "all of it goes again");
	return tap_end();
}
