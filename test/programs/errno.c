/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that fail return an error and also store it in errno, because programs print
 * strerror(errno). Run under uroce-run, on a device where QPs of one process can be connected.
 */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <infiniband/verbs.h>

#include "tap.h"

#define UNTOUCHED ENOTTY /* a value of errno that no call stores */

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_qp *qp; /* a QP in RESET */
static struct ibv_mr *mr;
static char buf[64];

static struct ibv_device_attr device_attr;
static struct ibv_port_attr port_attr;
static struct ibv_qp_attr qp_attr = { .qp_state = IBV_QPS_RTS };
static struct ibv_srq_attr srq_attr = { .srq_limit = 1u << 30 };
static struct ibv_send_wr send_wr = { .opcode = IBV_WR_SEND }, *bad_send;
static struct ibv_recv_wr recv_wr = { .num_sge = 1000 }, *bad_recv;
static struct ibv_gid_entry entry;
static union ibv_gid gid;
static struct ibv_ece ece;
static struct ibv_sge sge;
static struct ibv_wc wc;
static uint32_t number;
static __be16 pkey;

/* Calls that must fail, as expressions. */
#define CALLS(X)                                                                                   \
	X(ibv_query_port(context, 2, &port_attr))                                                  \
	X(ibv_query_gid(context, 1, -1, &gid))                                                     \
	X(ibv_query_gid_ex(context, 1, 15, &entry, 0))                                             \
	X(ibv_query_gid_table(context, &entry, 0, 0))                                              \
	X(ibv_query_pkey(context, 1, 1000, &pkey))                                                 \
	X(ibv_get_pkey_index(context, 1, 0))                                                       \
	X(ibv_query_device(context, NULL))                                                         \
	X(ibv_dealloc_pd(pd))                                                                      \
	X(ibv_destroy_comp_channel(channel))                                                       \
	X(ibv_destroy_cq(cq))                                                                      \
	X(ibv_destroy_srq(srq))                                                                    \
	X(ibv_resize_cq(cq, 0))                                                                    \
	X(ibv_modify_srq(srq, &srq_attr, IBV_SRQ_LIMIT))                                           \
	X(ibv_get_srq_num(srq, &number))                                                           \
	X(ibv_modify_qp(qp, &qp_attr, IBV_QP_STATE))                                               \
	X(ibv_query_ece(qp, &ece))                                                                 \
	X(ibv_set_ece(qp, &ece))                                                                   \
	X(ibv_attach_mcast(qp, &gid, 0))                                                           \
	X(ibv_detach_mcast(qp, &gid, 0))                                                           \
	X(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 1u << 30, &sge, 1))                     \
	X(ibv_post_send(qp, &send_wr, &bad_send))                                                  \
	X(ibv_post_recv(qp, &recv_wr, &bad_recv))                                                  \
	X(ibv_post_srq_recv(srq, &recv_wr, &bad_recv))                                             \
	X(ibv_poll_cq(cq, -1, &wc))

static void
make_objects(void)
{
	struct ibv_device **const list = ibv_get_device_list(NULL);

	tap_need(list != NULL && list[0] != NULL, "ibv_get_device_list");
	context = ibv_open_device(list[0]);
	tap_need(context != NULL, "ibv_open_device");
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(context);
	tap_need(pd != NULL, "ibv_alloc_pd");
	mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	tap_need(mr != NULL, "ibv_reg_mr");
	channel = ibv_create_comp_channel(context);
	tap_need(channel != NULL, "ibv_create_comp_channel");
	cq = ibv_create_cq(context, 16, NULL, channel, 0);
	tap_need(cq != NULL, "ibv_create_cq");
	srq = ibv_create_srq(pd,
			     &(struct ibv_srq_init_attr){ .attr = { .max_wr = 4, .max_sge = 1 } });
	tap_need(srq != NULL, "ibv_create_srq");
}

static struct ibv_qp *
create_qp(struct ibv_srq *shared)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = shared,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *const made = ibv_create_qp(pd, &init);

	tap_need(made != NULL, "ibv_create_qp");
	return made;
}

/*
 * Whether the return value of a failed call agrees with errno: it is errno, negated errno for calls
 * that return counts, or -1.
 */
static bool
matches_errno(int ret, int err)
{
	return ret == -1 ? err > 0 && err != UNTOUCHED : ret != 0 && abs(ret) == err;
}

static void
test_all(void)
{
	int ret;

#define X(call)                                                                                    \
	errno = UNTOUCHED;                                                                         \
	ret = (int)(call);                                                                         \
	tap_test(matches_errno(ret, errno), "%s returns %d, errno is %d", #call, ret, errno);
	CALLS(X)
#undef X
}

int
main(void)
{
	make_objects();
	qp = create_qp(NULL);
	struct ibv_qp *const other = create_qp(srq); /* a second QP that uses the SRQ */

	test_all();
	errno = UNTOUCHED;
	tap_test(ibv_query_device(context, &device_attr) == 0 && ibv_poll_cq(cq, 1, &wc) == 0 &&
			 errno == UNTOUCHED,
		 "a call that succeeds leaves errno alone");
	tap_test(ibv_destroy_qp(other) == 0 && ibv_destroy_qp(qp) == 0 &&
			 ibv_destroy_srq(srq) == 0 && ibv_destroy_cq(cq) == 0 &&
			 ibv_destroy_comp_channel(channel) == 0 && ibv_dereg_mr(mr) == 0 &&
			 ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0,
		 "all of it goes again");
	return tap_end();
}
