/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XRC: a sends with one QP, and names the SRQ of the receiver in each request. b receives in two
 * contexts of one device, whose SRQs share one target QP. xrc_rcv.c tests the older generation of
 * the calls. [RDMA Aware] is the RDMA Aware Programming User Manual.
 */

#include "receiver.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[] = "/tmp/uroce-test-xrc-XXXXXX"; /* path of the file that xrc_fd refers to */

/* --- XRC domains --------------------------------------------------------------------------------- */

static void
open__checks_its_arguments(void **state)
{
	struct ibv_xrcd_init_attr attr = { .fd = -1, .oflags = O_CREAT };

	(void)state;
	assert_errno(EINVAL, uroce_open_xrcd(net.b.context, NULL));
	assert_errno(EINVAL, uroce_open_xrcd(net.b.context, &attr));
	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD;
	assert_errno(EINVAL, uroce_open_xrcd(net.b.context, &attr));
	attr.comp_mask |= IBV_XRCD_INIT_ATTR_OFLAGS;
	assert_errno(EINVAL, uroce_open_xrcd(NULL, &attr));
	attr.comp_mask |= IBV_XRCD_INIT_ATTR_RESERVED;
	assert_errno(EOPNOTSUPP, uroce_open_xrcd(net.b.context, &attr));
	assert_errno(EINVAL, open_by(net.b.context, xrc_fd, O_CREAT | O_TRUNC));
	assert_errno(EINVAL, open_by(net.b.context, -2, O_CREAT));
	assert_errno(EBADF, open_by(net.b.context, 987, O_CREAT));
	/* with fd -1, oflags must be O_CREAT alone [RDMA Aware 3.4.8] */
	assert_errno(EINVAL, open_by(net.b.context, -1, 0));
	assert_errno(EINVAL, open_by(net.b.context, -1, O_CREAT | O_EXCL));
	assert_int_equal(uroce_close_xrcd(NULL), EINVAL);
}

/*
 * The inode of the file identifies an XRC domain: descriptors of the same inode open the same
 * domain [RDMA Aware 3.4.8].
 */
static void
open__finds_the_domain_of_an_inode(void **state)
{
	struct ibv_context *other = uroce_open_device(net.b.device);
	const int again = open(path, O_RDONLY);
	struct ibv_xrcd *second, *third, *alone;

	(void)state;
	assert_non_null(second = open_by(other, xrc_fd, 0));
	assert_non_null(third = open_by(other, again, O_CREAT));
	/* O_EXCL fails, because the domain exists already */
	assert_errno(EINVAL, open_by(other, xrc_fd, O_CREAT | O_EXCL));
	assert_non_null(alone = open_by(other, -1, O_CREAT));
	/*
	 * The target QP can be opened by each handle of its domain, and not by a handle of another
	 * domain.
	 */
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = net.b.qp->qp_num,
		.qp_type = IBV_QPT_XRC_RECV,
		.xrcd = alone,
	};

	assert_errno(EINVAL, ibv_open_qp(other, &attr));
	attr.xrcd = third;
	struct ibv_qp *qp = ibv_open_qp(other, &attr);

	assert_non_null(qp);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	/* uroce_close_device() fails, because domains are open in this context */
	assert_int_equal(uroce_close_device(other), -1);
	assert_int_equal(uroce_close_xrcd(alone), 0);
	assert_int_equal(uroce_close_xrcd(third), 0);
	assert_int_equal(uroce_close_xrcd(second), 0);
	assert_int_equal(uroce_close_device(other), 0);
	close(again);
}

static void
open__makes_one_only_when_asked(void **state)
{
	const int own = memfd_create("xrc", 0);
	struct ibv_xrcd *made;

	(void)state;
	assert_errno(EAGAIN, open_by(net.b.context, own, 0));
	assert_errno(EAGAIN, open_by(net.b.context, own, O_EXCL));
	assert_non_null(made = open_by(net.b.context, own, O_CREAT | O_EXCL));
	assert_int_equal(uroce_close_xrcd(made), 0);
	/*
	 * closing the last handle has destroyed the domain, and this call has no O_CREAT to create
	 * one
	 */
	assert_errno(EAGAIN, open_by(net.b.context, own, 0));
	/* a domain belongs to a device, so on the device of a the file of xrc_fd has no domain */
	assert_non_null(made = open_by(net.a.context, xrc_fd, O_CREAT | O_EXCL));
	assert_int_equal(uroce_close_xrcd(made), 0);
	close(own);
}

static void
open__is_refused_to_another_process(void **state)
{
	char self[] = "/proc/self/exe";
	char *argv[] = { self, path, NULL };
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(posix_spawn(&pid, self, NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EOPNOTSUPP);
	/* after this process has closed the domain, another process can open it */
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
	assert_int_equal(uroce_close_xrcd(xrcd), 0);
	xrcd = NULL;
	assert_int_equal(posix_spawn(&pid, self, NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_non_null(xrcd = open_by(net.b.context, xrc_fd, O_CREAT));
}

/*
 * Open the domain of a file in another process. The exit status is 0, or the errno of the failed
 * call.
 */
static int
be_other(const char *file)
{
	struct ibv_xrcd *opened;
	int ret = 0;

	net.b.device = net_device(1, NULL);
	net.b.context = uroce_open_device(net.b.device);
	if (net.b.context == NULL)
		return 255;
	opened = open_by(net.b.context, open(file, O_RDONLY), O_CREAT);
	if (opened == NULL)
		ret = errno;
	else
		(void)uroce_close_xrcd(opened);
	(void)uroce_close_device(net.b.context);
	(void)uroce_destroy_device(net.b.device);
	return ret;
}

static void
close__is_refused_while_in_use(void **state)
{
	struct receiver to;

	(void)state;
	assert_int_equal(uroce_close_xrcd(xrcd), EBUSY); /* a QP of the domain exists */
	open_receiver(&to, xrc_fd);
	assert_int_equal(uroce_close_xrcd(to.xrcd), EBUSY); /* an SRQ of the domain exists */
	assert_int_equal(uroce_destroy_cq(to.cq), EBUSY);
	assert_int_equal(uroce_dealloc_pd(to.pd), EBUSY);
	close_receiver(&to);
}

/* --- SRQs and QPs ------------------------------------------------------------------------------- */

static void
create_srq__checks_what_xrc_needs(void **state)
{
	const uint32_t all = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	static const uint32_t needed[] = { IBV_SRQ_INIT_ATTR_PD, IBV_SRQ_INIT_ATTR_XRCD,
					   IBV_SRQ_INIT_ATTR_CQ };
	struct ibv_srq_init_attr_ex init = {
		.attr = { 1, 1, 0 },
		.srq_type = IBV_SRQT_XRC,
		.pd = net.b.pd,
		.xrcd = xrcd,
		.cq = net.b.rcq,
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		init.comp_mask = all & ~needed[i];
		assert_errno(EINVAL, uroce_create_srq_ex(net.b.context, &init));
	}
	init.comp_mask = all;
	init.cq = net.a.rcq;
	assert_errno(EINVAL, uroce_create_srq_ex(net.b.context, &init));
	init.cq = NULL;
	assert_errno(EINVAL, uroce_create_srq_ex(net.b.context, &init));
	init.cq = net.b.rcq;
	init.xrcd = NULL;
	assert_errno(EINVAL, uroce_create_srq_ex(net.b.context, &init));
	init.xrcd = xrcd;
	struct ibv_srq *srq = uroce_create_srq_ex(net.b.context, &init);

	assert_non_null(srq);
	/* an RC QP cannot use an XRC SRQ */
	struct ibv_qp_init_attr qp = {
		.qp_type = IBV_QPT_RC,
		.send_cq = net.b.scq,
		.recv_cq = net.b.rcq,
		.srq = srq,
	};

	assert_errno(EINVAL, uroce_create_qp(net.b.pd, &qp));
	assert_int_equal(uroce_destroy_srq(srq), 0);
}

static void
create_qp__of_a_target_names_the_pd_of_the_caller(void **state)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd,
		.pd = net.b.pd,
	};
	struct ibv_qp *qp;

	(void)state;
	assert_non_null(qp = uroce_create_qp_ex(net.b.context, &init));
	assert_null(qp->pd);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	init.comp_mask |= IBV_QP_INIT_ATTR_PD;
	assert_non_null(qp = uroce_create_qp_ex(net.b.context, &init));
	assert_ptr_equal(qp->pd, net.b.pd);
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

static void
create_qp__checks_what_xrc_needs(void **state)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV, .xrcd = xrcd };

	(void)state;
	/* comp_mask does not have the bit of the XRCD */
	assert_errno(EINVAL, uroce_create_qp_ex(net.b.context, &init));
	init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	/* init.xrcd belongs to another context */
	assert_errno(EINVAL, uroce_create_qp_ex(net.a.context, &init));
	init.xrcd = NULL;
	assert_errno(EINVAL, uroce_create_qp_ex(net.b.context, &init));
	init = (struct ibv_qp_init_attr_ex){ .qp_type = IBV_QPT_XRC_SEND, .pd = net.b.pd };
	init.send_cq = net.b.scq;
	assert_errno(EINVAL, uroce_create_qp_ex(net.b.context, &init));
	init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE;
	assert_errno(EOPNOTSUPP, uroce_create_qp_ex(net.b.context, &init));
	init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	init.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	assert_errno(EOPNOTSUPP, uroce_create_qp_ex(net.b.context, &init));
	init.comp_mask = IBV_QP_INIT_ATTR_PD;
	init.send_cq = NULL;
	assert_errno(EINVAL, uroce_create_qp_ex(net.b.context, &init));
	assert_errno(EINVAL, uroce_create_qp_ex(NULL, &init));
	assert_errno(EINVAL, uroce_create_qp_ex(net.b.context, NULL));
}

static void
post__each_end_has_one_direction(void **state)
{
	struct ibv_recv_wr *bad_recv, recv = { 0 };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };

	(void)state;
	assert_ptr_equal(net.b.qp->qp_context, &net);
	pair_connect(&net);
	assert_int_equal(ibv_post_recv(net.a.qp, &recv, &bad_recv), EINVAL);
	assert_int_equal(ibv_post_recv(net.b.qp, &recv, &bad_recv), EINVAL);
	assert_int_equal(ibv_post_send(net.b.qp, &wr, &bad), EINVAL);
	assert_int_equal(state_of(&net.b), IBV_QPS_RTS);
}

static void
send__reaches_the_queue_that_it_names(void **state)
{
	struct receiver one, two;
	struct ibv_wc wc;

	(void)state;
	open_receiver(&one, xrc_fd);
	open_receiver(&two, xrc_fd);
	assert_int_not_equal(one.srqn, two.srqn);
	pair_connect(&net);
	for (uint64_t i = 0; i < 20; i++)
		exchange(i % 3 ? &one : &two, i);
	assert_int_equal(ibv_poll_cq(one.cq, 1, &wc), 0);
	assert_int_equal(ibv_poll_cq(two.cq, 1, &wc), 0);
	close_receiver(&one);
	exchange(&two, 77);
	close_receiver(&two);
}

static void
send__not_to_a_queue_of_another_domain(void **state)
{
	struct receiver to;

	(void)state;
	open_receiver(&to, -1);
	pair_connect(&net);
	post_to(&to, 1);
	send_to(to.srqn, 1, 8);
	assert_int_not_equal(wait_for(&net, net.a.scq).status, IBV_WC_SUCCESS);
	close_receiver(&to);
}

/*
 * The rkey of an XRC request is resolved in the protection domain of the SRQ that the request
 * names.
 */
static void
rdma__into_the_queues_domain(void **state)
{
	struct receiver to;

	(void)state;
	open_receiver(&to, xrc_fd);
	pair_connect(&net);
	post_to(&to, 5);
	fill(net.a.buf, 5000, 9);
	struct ibv_sge sge = sge_of(&net.a, 0, 5000);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 4,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.sg_list = &sge,
		.num_sge = 1,
		.imm_data = 0x01020304,
		.wr.rdma = { (uintptr_t)to.buf + 2000, to.mr->rkey },
		.qp_type.xrc.remote_srqn = to.srqn,
	};

	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 4, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(&net, to.cq, 5, IBV_WC_SUCCESS).imm_data, 0x01020304);
	assert_memory_equal(to.buf + 2000, net.a.buf, 5000);
	close_receiver(&to);
}

static void
event__a_completion_wakes_the_channel_of_its_queue(void **state)
{
	struct receiver to;
	struct ibv_cq *cq;
	void *cq_context;

	(void)state;
	open_receiver(&to, xrc_fd);
	pair_connect(&net);
	assert_int_equal(ibv_req_notify_cq(to.cq, 0), 0);
	exchange(&to, 3);
	struct pollfd pollfd = { .fd = to.channel->fd, .events = POLLIN };

	assert_int_equal(poll(&pollfd, 1, 0), 1);
	assert_int_equal(uroce_get_cq_event(to.channel, &cq, &cq_context), 0);
	assert_ptr_equal(cq, to.cq);
	uroce_ack_cq_events(cq, 1);
	close_receiver(&to);
}

static void
event__limit_of_an_xrc_queue(void **state)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_async_event event;
	struct receiver to;

	(void)state;
	open_receiver(&to, xrc_fd);
	pair_connect(&net);
	post_to(&to, 0);
	assert_int_equal(uroce_modify_srq(to.srq, &attr, IBV_SRQ_LIMIT), 0);
	send_to(to.srqn, 0, 8);
	expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
	assert_int_equal(uroce_get_async_event(to.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.element.srq, to.srq);
	uroce_ack_async_event(&event);
	close_receiver(&to);
}

/* --- opening a target QP by its number ----------------------------------------------------------- */

static struct ibv_qp *
open_in(struct receiver *to, uint32_t qpn)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE |
			     IBV_QP_OPEN_ATTR_CONTEXT,
		.qp_num = qpn,
		.xrcd = to->xrcd,
		.qp_context = to,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	return ibv_open_qp(to->context, &attr);
}

static void
open_qp__checks_its_arguments(void **state)
{
	const uint32_t all = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	static const uint32_t needed[] = { IBV_QP_OPEN_ATTR_NUM, IBV_QP_OPEN_ATTR_XRCD,
					   IBV_QP_OPEN_ATTR_TYPE };
	struct ibv_qp_open_attr attr = {
		.qp_num = net.b.qp->qp_num,
		.xrcd = xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		attr.comp_mask = all & ~needed[i];
		assert_errno(EINVAL, uroce_open_qp(net.b.context, &attr));
	}
	attr.comp_mask = all | IBV_QP_OPEN_ATTR_RESERVED;
	assert_errno(EOPNOTSUPP, uroce_open_qp(net.b.context, &attr));
	attr.comp_mask = all;
	assert_errno(EINVAL, uroce_open_qp(net.a.context, &attr));
	assert_errno(EINVAL, uroce_open_qp(NULL, &attr));
	assert_errno(EINVAL, uroce_open_qp(net.b.context, NULL));
	attr.qp_num ^= 1;
	assert_errno(EINVAL, uroce_open_qp(net.b.context, &attr));
	attr.qp_num ^= 1;
	attr.qp_type = IBV_QPT_XRC_SEND;
	assert_errno(EINVAL, uroce_open_qp(net.b.context, &attr));
}

/* A QP that was opened by ibv_open_qp(3) is destroyed when its last handle is destroyed. */
static void
open_qp__keeps_the_qp(void **state)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct receiver to;
	struct ibv_qp *opened;

	(void)state;
	open_receiver(&to, xrc_fd);
	pair_connect(&net);
	assert_non_null(opened = open_in(&to, net.b.qp->qp_num));
	assert_int_equal(opened->qp_num, net.b.qp->qp_num);
	assert_ptr_equal(opened->qp_context, &to);
	assert_int_equal(uroce_query_qp(opened, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(init.qp_type, IBV_QPT_XRC_RECV);
	assert_ptr_equal(init.qp_context, &to);
	exchange(&to, 1);
	/* the creator of the target destroys its handle, and closes the domain */
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
	assert_int_equal(uroce_close_xrcd(xrcd), 0);
	xrcd = NULL;
	exchange(&to, 2);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR };
	assert_int_equal(uroce_modify_qp(opened, &attr, IBV_QP_STATE), 0);
	const uint32_t qpn = opened->qp_num;

	assert_int_equal(uroce_destroy_qp(opened), 0);
	assert_errno(EINVAL, open_in(&to, qpn));
	close_receiver(&to);
}

static void
open_qp__all_get_the_events(void **state)
{
	struct ibv_async_event event;
	struct receiver to;
	struct ibv_qp *opened;

	(void)state;
	open_receiver(&to, xrc_fd);
	assert_non_null(opened = open_in(&to, net.b.qp->qp_num));
	assert_int_equal(to_init(&net.a), 0);
	assert_int_equal(to_init(&net.b), 0);
	assert_int_equal(to_rtr(&net, &net.a, &net.b), 0);
	assert_int_equal(to_rtr(&net, &net.b, &net.a), 0);
	assert_int_equal(to_rts(&net, &net.a), 0);
	exchange(&to, 1);
	assert_int_equal(uroce_get_async_event(net.b.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_COMM_EST);
	assert_ptr_equal(event.element.qp, net.b.qp);
	uroce_ack_async_event(&event);
	assert_int_equal(uroce_get_async_event(to.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_COMM_EST);
	assert_ptr_equal(event.element.qp, opened);
	uroce_ack_async_event(&event);
	assert_int_equal(uroce_destroy_qp(opened), 0);
	close_receiver(&to);
}

/* --- which thread drives the worker of a target -------------------------------------------------- */

#define NB_DEVICES 2
#define NB_TARGETS 8
#define NB_POLLS   100u

static atomic_bool is_held;
static atomic_uint nb_held;

/*
 * Replaces ppoll() of libc: while `is_held` is set, the service threads of the devices, which sleep
 * in ppoll(), do not continue.
 */
int
ppoll(struct pollfd *fds, nfds_t nb, const struct timespec *time, const sigset_t *mask)
{
	int (*libcs)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

	*(void **)&libcs = dlsym(RTLD_NEXT, "ppoll");
	if (atomic_load(&is_held)) {
		atomic_fetch_add(&nb_held, 1);
		while (atomic_load(&is_held))
			sched_yield();
		atomic_fetch_sub(&nb_held, 1);
	}
	return libcs(fds, nb, time, mask);
}

static void
hold(void)
{
	atomic_store(&is_held, true);
	while (atomic_load(&nb_held) < NB_DEVICES)
		sched_yield();
}

static void
let_go(void)
{
	atomic_store(&is_held, false);
	while (atomic_load(&nb_held) > 0)
		sched_yield();
}

static int
setup_workers(void **state)
{
	(void)state;
	return setup_with("workers=2,drive=app");
}

static int
teardown_workers(void **state)
{
	let_go();
	return teardown(state);
}

/*
 * Poll `cq` until it has a completion, at most `nb_polls` times.
 * @return number of completions
 */
static int
poll_some(struct ibv_cq *cq, unsigned nb_polls)
{
	struct ibv_wc wc;
	int nb = 0;

	for (unsigned i = 0; i < nb_polls && nb == 0; i++)
		nb = ibv_poll_cq(cq, 1, &wc);
	assert_true(nb == 0 || wc.status == IBV_WC_SUCCESS);
	return nb;
}

/*
 * Polling the CQ of the receiver's SRQ drives the worker of the target QP, whatever the number of
 * the target is. No other thread drives the workers, and no frame is forwarded between workers.
 */
static void
drive__a_poll_of_the_queues_cq_serves_the_target(void **state)
{
	struct receiver to;

	(void)state;
	open_receiver(&to, xrc_fd);
	for (unsigned i = 0; i < NB_TARGETS; i++) {
		pair_connect(&net);
		post_to(&to, i);
		fill(net.a.buf, 300, i);
		hold();
		send_to(to.srqn, i, 300);
		/* these polls transmit the request, and the receiver has not acknowledged it */
		assert_int_equal(poll_some(net.a.scq, NB_POLLS), 0);
		assert_int_equal(poll_some(to.cq, 1), 1);
		assert_memory_equal(to.buf, net.a.buf, 300);
		/* these polls transmit the ACK */
		assert_int_equal(poll_some(to.cq, NB_POLLS), 0);
		assert_int_equal(poll_some(net.a.scq, NB_POLLS), 1);
		let_go();
		assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
		assert_non_null(net.b.qp = make_target(net.b.context, xrcd));
		assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
	}
	close_receiver(&to);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(open__checks_its_arguments),
		TEST(open__finds_the_domain_of_an_inode),
		TEST(open__makes_one_only_when_asked),
		TEST(open__is_refused_to_another_process),
		TEST(close__is_refused_while_in_use),
		TEST(create_srq__checks_what_xrc_needs),
		TEST(create_qp__checks_what_xrc_needs),
		TEST(create_qp__of_a_target_names_the_pd_of_the_caller),
		TEST(post__each_end_has_one_direction),
		TEST(send__reaches_the_queue_that_it_names),
		TEST(send__not_to_a_queue_of_another_domain),
		TEST(rdma__into_the_queues_domain),
		TEST(event__a_completion_wakes_the_channel_of_its_queue),
		TEST(event__limit_of_an_xrc_queue),
		TEST(open_qp__checks_its_arguments),
		TEST(open_qp__keeps_the_qp),
		TEST(open_qp__all_get_the_events),
		cmocka_unit_test_setup_teardown(drive__a_poll_of_the_queues_cq_serves_the_target,
						setup_workers, teardown_workers),
	};

	net_init();
	if (argc > 1)
		return be_other(argv[1]);
	xrc_fd = mkstemp(path);
	if (xrc_fd < 0)
		return EXIT_FAILURE;
	const int ret = cmocka_run_group_tests(tests, NULL, NULL);

	unlink(path);
	return ret;
}
