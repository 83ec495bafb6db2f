/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork() in a program that was built for libibverbs. A child that inherited a context in use gets
 * an error from each call on it, can use devices of its own, and does not disturb its parent. A
 * child that was forked before the first object works like a new program. Run under uroce-run.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"

/* Check that a call returns EIO and sets errno to EIO. */
#define check_eio(call, what)                                                                      \
	do {                                                                                       \
		errno = 0;                                                                         \
		check((call) == EIO && errno == EIO, what);                                        \
	} while (0)

/* Make a call of each kind on objects of the parent. All of them must fail. */
static void
use_what_is_the_parents(struct pair *pair)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send = NULL;
	struct ibv_recv_wr recv = { .num_sge = 0 }, *bad_recv = NULL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp_init_attr init;
	union ibv_gid gid;
	struct ibv_wc wc;

	check_eio(ibv_post_send(pair->qp[0], &send, &bad_send), "send in a child");
	check_eio(ibv_post_recv(pair->qp[0], &recv, &bad_recv), "receive in a child");
	check(bad_send == &send && bad_recv == &recv, "the bad requests in a child");
	check_eio(-ibv_poll_cq(pair->cq, 1, &wc), "poll in a child");
	check_eio(ibv_req_notify_cq(pair->cq, 0), "notify in a child");
	check_eio(ibv_modify_qp(pair->qp[0], &attr, IBV_QP_STATE), "modify in a child");
	check_eio(ibv_query_qp(pair->qp[0], &attr, IBV_QP_STATE, &init), "query in a child");
	check(ibv_query_gid(pair->context, 1, 0, &gid) == -1 && errno == EIO, "GID in a child");
	check(ibv_alloc_pd(pair->context) == NULL && errno == EIO, "PD in a child");
	check(ibv_reg_mr(pair->pd, pair->buf, 1, 0) == NULL && errno == EIO, "MR in a child");
	check_eio(ibv_destroy_qp(pair->qp[0]), "destroy in a child");
	check_eio(ibv_dereg_mr(pair->mr), "deregister in a child");
	check(ibv_close_device(pair->context) == -1 && errno == EIO, "close in a child");
}

/* Use an extended CQ, whose functions are called by pointers in the object. */
static void
poll_extended_cq(struct ibv_context *context)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 1 };
	struct ibv_cq_ex *const cq = ibv_create_cq_ex(context, &init);
	struct ibv_poll_cq_attr attr = { .comp_mask = 0 };

	check(cq != NULL, "ibv_create_cq_ex");
	check(ibv_start_poll(cq, &attr) == ENOENT, "ibv_start_poll");
	check(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) == 0, "ibv_destroy_cq");
}

static void
wait_for(pid_t pid, const char *which)
{
	int status = 0;

	check(pid > 0 && waitpid(pid, &status, 0) == pid, "waitpid");
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, which);
}

int
main(void)
{
	struct ibv_device **const list = ibv_get_device_list(NULL);
	struct pair parent, child;
	pid_t pid;

	check(list != NULL && list[0] != NULL, "ibv_get_device_list");
	pid = fork();
	if (pid == 0) {
		pair_open(&child);
		pair_exchange(&child, 1);
		poll_extended_cq(child.context);
		pair_close(&child);
		_exit(0);
	}
	wait_for(pid, "a child of before the first object");

	pair_open(&parent);
	pair_exchange(&parent, 2);
	for (uint8_t i = 0; i < 3; i++) {
		pid = fork();
		if (pid == 0) {
			use_what_is_the_parents(&parent);
			/*
			 * a device of the list that the parent got can be opened, because a device
			 * is found by its name
			 */
			check(ibv_open_device(list[0]) != NULL, "a device of the parent's list");
			pair_open(&child);
			pair_exchange(&child, (uint8_t)(10 + i));
			use_what_is_the_parents(&parent);
			pair_close(&child);
			_exit(0);
		}
		pair_exchange(&parent, (uint8_t)(20 + i));
		wait_for(pid, "a child of afterwards");
		pair_exchange(&parent, (uint8_t)(30 + i));
	}
	ibv_free_device_list(list);
	pair_close(&parent);
	puts("a parent and four children had devices of their own");
	return 0;
}
