/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A failed call reports its error twice: by its return value, and by errno, which programs print.
 * Each call of the public headers that returns an int has a row here, with arguments that the call
 * refuses.
 *
 *	test-verbs-errno HEADER...
 */

#include "net.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include <uroce_cm.h>
#include <uroce_cm_dv.h>
#include <uroce_dv.h>

#define UNTOUCHED ENOTTY /* a value of errno that no call stores */

static struct pair net;
static const char *const *headers;

static union {
	struct ibv_device_attr device;
	struct ibv_device_attr_ex device_ex;
	struct ibv_port_attr port;
	struct ibv_gid_entry entry;
	struct ibv_srq_attr srq;
	struct ibv_qp_attr qp;
	struct ibv_ah_attr ah;
	struct ibv_ece ece;
	struct uroce_dv_cc cc;
	struct uroce_dv_context dv;
	union ibv_gid gid;
	__be16 pkey;
	uint32_t number;
	struct ibv_cq *event_cq;
	void *cq_context;
} out;
static union {
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	struct rdma_addrinfo *info;
	struct sockaddr addr;
	int mask;
} cm_out;
static struct ibv_qp_init_attr init_out;
static struct ibv_send_wr send_wr = { .opcode = IBV_WR_SEND, .num_sge = 1 + UINT16_MAX };
static struct ibv_recv_wr recv_wr = { .num_sge = 1 + UINT16_MAX };
static struct ibv_send_wr send_no_list = { .opcode = IBV_WR_SEND, .num_sge = 1 };
static struct ibv_recv_wr recv_no_list = { .num_sge = 1 };
static struct ibv_send_wr *bad_send;
static struct ibv_recv_wr *bad_recv;
static struct ibv_wc wc;
static struct ibv_sge sge;

/*
 * Calls that must fail, as names and expressions. An argument is NULL if the call could not detect
 * an invalid object. Other arguments are real objects with invalid parameters.
 */
#define CALLS(X)                                                                                   \
	X(destroy_device, uroce_destroy_device(net.a.context->device))                             \
	X(close_device, uroce_close_device(net.a.context))                                         \
	X(close_device_null, uroce_close_device(NULL))                                             \
	X(get_worker_count, uroce_get_worker_count(NULL))                                          \
	X(get_worker, uroce_get_worker(NULL, 0) == NULL ? -1 : 0)                                  \
	X(worker_poll, uroce_worker_poll(NULL) == 0 ? -1 : 0)                                      \
	X(get_cq_event, uroce_get_cq_event(NULL, &out.event_cq, &out.cq_context))                  \
	X(poll_cq_null, uroce_poll_cq(NULL, 1, &wc))                                               \
	X(poll_none_of_null, uroce_poll_cq(NULL, 0, &wc))                                          \
	X(post_srq_recv_null, uroce_post_srq_recv(NULL, &recv_wr, &bad_recv))                      \
	X(post_srq_recv_no_list, uroce_post_srq_recv(srq(), &recv_no_list, &bad_recv))             \
	X(post_recv_no_list, uroce_post_recv(net.a.qp, &recv_no_list, &bad_recv))                  \
	X(post_send_no_list, uroce_post_send(net.a.qp, &send_no_list, &bad_send))                  \
	X(wr_set_sge_list_null, wr_set_sge_list_null())                                            \
	X(destroy_comp_channel, uroce_destroy_comp_channel(NULL))                                  \
	X(resize_cq, uroce_resize_cq(net.a.scq, 0))                                                \
	X(destroy_cq, uroce_destroy_cq(net.a.scq))                                                 \
	X(poll_cq, uroce_poll_cq(net.a.scq, -1, &wc))                                              \
	X(modify_srq, uroce_modify_srq(NULL, &out.srq, IBV_SRQ_LIMIT))                             \
	X(query_srq, uroce_query_srq(NULL, &out.srq))                                              \
	X(get_srq_num, uroce_get_srq_num(NULL, &out.number))                                       \
	X(destroy_srq, uroce_destroy_srq(NULL))                                                    \
	X(post_srq_recv, uroce_post_srq_recv(srq(), &recv_wr, &bad_recv))                          \
	X(modify_qp, uroce_modify_qp(net.a.qp, &out.qp, 1 << 30))                                  \
	X(query_qp, uroce_query_qp(net.a.qp, NULL, IBV_QP_STATE, &init_out))                       \
	X(query_ece, uroce_query_ece(net.a.qp, &out.ece))                                          \
	X(set_ece, uroce_set_ece(net.a.qp, &out.ece))                                              \
	X(destroy_qp, uroce_destroy_qp(NULL))                                                      \
	X(post_send, uroce_post_send(net.a.qp, &send_wr, &bad_send))                               \
	X(post_recv, uroce_post_recv(net.a.qp, &recv_wr, &bad_recv))                               \
	X(init_ah_from_wc, uroce_init_ah_from_wc(net.a.context, 2, &wc, NULL, &out.ah))            \
	X(destroy_ah, uroce_destroy_ah(NULL))                                                      \
	X(attach_mcast, uroce_attach_mcast(net.a.qp, &out.gid, 0))                                 \
	X(detach_mcast, uroce_detach_mcast(net.a.qp, &out.gid, 0))                                 \
	X(get_async_event, get_async_event())                                                      \
	X(qp_cancel_posted_send_wrs, uroce_qp_cancel_posted_send_wrs(net.a.qp, 1))                 \
	X(qp_set_cc, uroce_qp_set_cc(net.a.qp, "no such algorithm"))                               \
	X(qp_query_cc, uroce_qp_query_cc(net.a.qp, NULL))                                          \
	X(dv_query_device, uroce_dv_query_device(NULL, &out.dv))                                   \
	X(dv_destroy_mkey, uroce_dv_destroy_mkey(NULL))                                            \
	X(dv_mkey_check, uroce_dv_mkey_check(NULL, NULL))                                          \
	X(dealloc_pd, uroce_dealloc_pd(net.a.pd))                                                  \
	X(dealloc_td, uroce_dealloc_td(NULL))                                                      \
	X(advise_mr, uroce_advise_mr(net.a.pd, 99, 0, &sge, 1))                                    \
	X(dereg_mr, uroce_dereg_mr(NULL))                                                          \
	X(free_dm, uroce_free_dm(NULL))                                                            \
	X(memcpy_to_dm, uroce_memcpy_to_dm(NULL, 0, &out, 4))                                      \
	X(memcpy_from_dm, uroce_memcpy_from_dm(&out, NULL, 0, 4))                                  \
	X(dealloc_mw, uroce_dealloc_mw(NULL))                                                      \
	X(bind_mw, uroce_bind_mw(net.a.qp, NULL, NULL))                                            \
	X(query_device, uroce_query_device(NULL, &out.device))                                     \
	X(query_device_ex, uroce_query_device_ex(NULL, NULL, &out.device_ex))                      \
	X(query_rt_values_ex, uroce_query_rt_values_ex(NULL, NULL))                                \
	X(query_port, uroce_query_port(net.a.context, 2, &out.port))                               \
	X(query_gid, uroce_query_gid(net.a.context, 1, -1, &out.gid))                              \
	X(query_gid_ex, uroce_query_gid_ex(net.a.context, 1, 15, &out.entry, 0))                   \
	X(query_pkey, uroce_query_pkey(net.a.context, 1, 1, &out.pkey))                            \
	X(get_pkey_index, uroce_get_pkey_index(net.a.context, 1, 0))                               \
	X(close_xrcd, uroce_close_xrcd(NULL))                                                      \
	X(close_xrc_domain, uroce_close_xrc_domain(NULL))                                          \
	X(create_xrc_rcv_qp, uroce_create_xrc_rcv_qp(NULL, &out.number))                           \
	X(modify_xrc_rcv_qp, uroce_modify_xrc_rcv_qp(NULL, 0, &out.qp, 0))                         \
	X(query_xrc_rcv_qp, uroce_query_xrc_rcv_qp(NULL, 0, &out.qp, 0, NULL))                     \
	X(reg_xrc_rcv_qp, uroce_reg_xrc_rcv_qp(NULL, 0))                                           \
	X(unreg_xrc_rcv_qp, uroce_unreg_xrc_rcv_qp(NULL, 0))                                       \
	X(cm_set_drive, uroce_cm_set_drive((enum uroce_cm_drive)7))                                \
	X(cm_get_cm_event, uroce_cm_get_cm_event(NULL, &cm_out.event))                             \
	X(cm_ack_cm_event, uroce_cm_ack_cm_event(NULL))                                            \
	X(cm_create_id, uroce_cm_create_id(NULL, &cm_out.id, NULL, (enum rdma_port_space)0))       \
	X(cm_destroy_id, uroce_cm_destroy_id(NULL))                                                \
	X(cm_migrate_id, uroce_cm_migrate_id(NULL, NULL))                                          \
	X(cm_set_option, uroce_cm_set_option(NULL, RDMA_OPTION_ID, 0, &out, 1))                    \
	X(cm_bind_addr, uroce_cm_bind_addr(NULL, &cm_out.addr))                                    \
	X(cm_resolve_addr, uroce_cm_resolve_addr(NULL, NULL, &cm_out.addr, 1))                     \
	X(cm_resolve_route, uroce_cm_resolve_route(NULL, 1))                                       \
	X(cm_getaddrinfo, uroce_cm_getaddrinfo(NULL, NULL, NULL, &cm_out.info))                    \
	X(cm_create_qp, uroce_cm_create_qp(NULL, NULL, &init_out))                                 \
	X(cm_create_qp_ex, uroce_cm_create_qp_ex(NULL, NULL))                                      \
	X(cm_create_srq, uroce_cm_create_srq(NULL, NULL, NULL))                                    \
	X(cm_create_srq_ex, uroce_cm_create_srq_ex(NULL, NULL))                                    \
	X(cm_init_qp_attr, uroce_cm_init_qp_attr(NULL, &out.qp, &cm_out.mask))                     \
	X(cm_set_local_ece, uroce_cm_set_local_ece(NULL, &out.ece))                                \
	X(cm_get_remote_ece, uroce_cm_get_remote_ece(NULL, &out.ece))                              \
	X(cm_listen, uroce_cm_listen(NULL, 1))                                                     \
	X(cm_get_request, uroce_cm_get_request(NULL, &cm_out.id))                                  \
	X(cm_connect, uroce_cm_connect(NULL, NULL))                                                \
	X(cm_accept, uroce_cm_accept(NULL, NULL))                                                  \
	X(cm_reject, uroce_cm_reject(NULL, NULL, 0))                                               \
	X(cm_reject_ece, uroce_cm_reject_ece(NULL, NULL, 0))                                       \
	X(cm_establish, uroce_cm_establish(NULL))                                                  \
	X(cm_notify, uroce_cm_notify(NULL, IBV_EVENT_COMM_EST))                                    \
	X(cm_disconnect, uroce_cm_disconnect(NULL))                                                \
	X(cm_join_multicast, uroce_cm_join_multicast(NULL, &cm_out.addr, NULL))                    \
	X(cm_join_multicast_ex, uroce_cm_join_multicast_ex(NULL, NULL, NULL))                      \
	X(cm_leave_multicast, uroce_cm_leave_multicast(NULL, &cm_out.addr))                        \
	X(cm_create_ep, uroce_cm_create_ep(&cm_out.id, NULL, NULL, NULL))                          \
	X(cm_dv_watch_channel, uroce_cm_dv_watch_channel(NULL, NULL, NULL))                        \
	/* functions of the context, and calls that are sequences of other calls */                \
	X(the_contexts_query_port,                                                                 \
	  verbs_get_ctx(net.a.context)->query_port(net.a.context, 2, &out.port, sizeof(out.port))) \
	X(the_contexts_query_device,                                                               \
	  verbs_get_ctx(net.a.context)->query_device_ex(net.a.context, NULL, NULL, 0))             \
	X(start_poll, start_poll())                                                                \
	X(wr_complete, wr_complete())                                                              \
	X(query_gid_table, (int)uroce_query_gid_table(net.a.context, NULL, 0, 0))

/*
 * Public calls that return an int and have no row: they do not fail here, or do not return an
 * errno.
 */
static const char *const others[] = {
	"cm_get_fd",              /* fails only if the process has no descriptor left */
	"fork_init",              /* never fails */
	"get_device_index",       /* returns -1 if there is no such device */
	"query_qp_data_in_order", /* returns a set of flags */
	"rereg_mr",               /* returns IBV_REREG_MR_ERR_...; mr.c and rereg.c check errno */
	"req_notify_cq",          /* never fails */
};

static struct ibv_srq *
srq(void)
{
	static struct ibv_srq *made;
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };

	if (made == NULL)
		assert_non_null(made = uroce_create_srq(net.a.pd, &init));
	return made;
}

static int
get_async_event(void)
{
	assert_int_equal(fcntl(net.a.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	errno = UNTOUCHED;
	return uroce_get_async_event(net.a.context, &(struct ibv_async_event){ 0 });
}

static int
start_poll(void)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 1 };
	struct ibv_cq_ex *const cq = uroce_create_cq_ex(net.a.context, &init);

	assert_non_null(cq);
	errno = UNTOUCHED;
	const int ret = ibv_start_poll(cq, &(struct ibv_poll_cq_attr){ .comp_mask = 1 });
	const int err = errno;

	assert_int_equal(uroce_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	errno = err;
	return ret;
}

/*
 * Build a request with `nb_sge` elements on a QP in RESET, which refuses it.
 * @return the error
 */
static int
complete_with(size_t nb_sge)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = net.a.scq,
		.recv_cq = net.a.rcq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = net.a.pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *const qp = uroce_create_qp_ex(net.a.context, &init);
	struct ibv_qp_ex *const ex = uroce_qp_to_qp_ex(qp);

	assert_non_null(ex);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, nb_sge, NULL);
	errno = UNTOUCHED;
	const int ret = ibv_wr_complete(ex);
	const int err = errno;

	assert_int_equal(uroce_destroy_qp(qp), 0);
	errno = err;
	return ret;
}

static int
wr_complete(void)
{
	return complete_with(0);
}

static int
wr_set_sge_list_null(void)
{
	return complete_with(1);
}

#define X(name, expression)                                                                        \
	static int call_##name(void)                                                               \
	{                                                                                          \
		return expression;                                                                 \
	}
CALLS(X)
#undef X

static const struct row {
	const char *name;
	int (*call)(void);
} rows[] = {
#define X(name, expression) { #name, call_##name },
	CALLS(X)
#undef X
};

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	(void)uroce_destroy_srq(srq());
	pair_close(&net);
	return 0;
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
errno__is_what_a_failed_call_returns(void **state)
{
	unsigned nb_failed = 0;

	(void)state;
	(void)srq();
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		errno = UNTOUCHED;
		const int ret = rows[i].call();

		if (matches_errno(ret, errno))
			continue;
		print_message("%s returns %d, and errno is %d\n", rows[i].name, ret, errno);
		nb_failed++;
	}
	assert_int_equal(nb_failed, 0);
}

static void
errno__is_left_alone_by_a_call_that_succeeds(void **state)
{
	(void)state;
	errno = UNTOUCHED;
	assert_int_equal(uroce_query_port(net.a.context, 1, &out.port), 0);
	assert_int_equal(uroce_query_qp(net.a.qp, &out.qp, IBV_QP_STATE, &init_out), 0);
	assert_int_equal(uroce_poll_cq(net.a.scq, 1, &wc), 0);
	assert_int_equal(errno, UNTOUCHED);
}

static bool
is_known(const char *name)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, name) == 0)
			return true;
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(others[i], name) == 0)
			return true;
	return false;
}

static void
errno__of_each_call_of_the_headers_is_looked_at(void **state)
{
	char line[256], name[64];
	unsigned nb = 0, nb_unknown = 0;

	(void)state;
	for (const char *const *path = headers; *path != NULL; path++) {
		FILE *const file = fopen(*path, "re");

		assert_non_null(file);
		while (fgets(line, sizeof(line), file) != NULL) {
			if (sscanf(line, "int uroce_%63[a-z_](", name) != 1)
				continue;
			nb++;
			if (is_known(name))
				continue;
			print_message("uroce_%s has no row here\n", name);
			nb_unknown++;
		}
		fclose(file);
	}
	assert_true(nb > 50);
	assert_int_equal(nb_unknown, 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errno__is_what_a_failed_call_returns),
		cmocka_unit_test(errno__is_left_alone_by_a_call_that_succeeds),
		cmocka_unit_test(errno__of_each_call_of_the_headers_is_looked_at),
	};

	(void)argc;
	headers = (const char *const *)argv + 1;
	net_init();
	return cmocka_run_group_tests(tests, setup, teardown);
}
