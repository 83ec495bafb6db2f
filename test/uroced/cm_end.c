/* SPDX-License-Identifier: BSD-3-Clause */

/* One end of a connection of the connection manager: a device, and a QP that exchanges messages. */

#include "cm_end.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "now_ms.h"
#include "verbs/uroce.h"

#define TIMEOUT_MS 300000
/*
 * code of an ACK timeout of 2 s: the retries must last until uroced, which a test has killed, was
 * started again and its clients have attached again
 */
#define ACK_TIMEOUT 19

/*
 * Create a device. On a busy machine uroced may reply to a client later than the client waits for
 * it, so the device is created again.
 */
static struct ibv_device *
create_device(const char *spec)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	struct ibv_device *device;

	do {
		device = uroce_create_device(spec);
	} while (!device && errno == ETIMEDOUT && now_ms() < until_ms);
	return device;
}

void
cm_end_open(struct cm_end *end, const char *socket)
{
	char spec[160];

	(void)snprintf(spec, sizeof(spec), "uroced,socket=%s,mtu=1024,qps=64,mrs=64", socket);
	end->device = create_device(spec);
	assert_non_null(end->device);
	user_open(&end->user, end->device, ADDR_GID);
	end->pd = uroce_alloc_pd(end->user.context);
	end->cq = uroce_create_cq(end->user.context, 64, NULL, NULL, 0);
	end->mr = uroce_reg_mr(end->pd, end->buf, sizeof(end->buf), IBV_ACCESS_LOCAL_WRITE);
	assert_true(end->pd && end->cq && end->mr);
}

/*
 * Create a QP. On a busy machine uroced may lease a QP number later than the call waits for it, so
 * the QP is created again.
 */
static struct ibv_qp *
create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	struct ibv_qp *qp;

	do {
		qp = uroce_create_qp(pd, attr);
	} while (!qp && (errno == EAGAIN || errno == ENOTCONN) && now_ms() < until_ms);
	return qp;
}

void
cm_end_make_qp(struct cm_end *end)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	if (end->qp)
		assert_int_equal(uroce_destroy_qp(end->qp), 0);
	end->qp = create_qp(end->pd, &attr);
	assert_non_null(end->qp);
}

void
cm_end_close(struct cm_end *end)
{
	if (!end->device)
		return;
	if (end->qp)
		assert_int_equal(uroce_destroy_qp(end->qp), 0);
	assert_int_equal(uroce_dereg_mr(end->mr), 0);
	assert_int_equal(uroce_destroy_cq(end->cq), 0);
	assert_int_equal(uroce_dealloc_pd(end->pd), 0);
	user_close(&end->user);
	assert_int_equal(uroce_destroy_device(end->device), 0);
	*end = (struct cm_end){ .device = NULL };
}

void
cm_end_ready_qp(struct cm_end *end, uint32_t id)
{
	const struct uroce_cm_info info = user_query(&end->user, id);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	assert_int_equal(uroce_modify_qp(end->qp, &attr,
					 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						 IBV_QP_ACCESS_FLAGS),
			 0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = (enum ibv_mtu)info.mtu_code,
		.dest_qp_num = info.remote_qpn,
		.rq_psn = info.rq_psn,
		.max_dest_rd_atomic = info.responder_resources,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .sgid_index = ADDR_GID, .hop_limit = 64 } },
	};
	memcpy(attr.ah_attr.grh.dgid.raw, info.av.remote_gid, 16);
	assert_int_equal(uroce_modify_qp(end->qp, &attr,
					 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
						 IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
						 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = ACK_TIMEOUT,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = info.sq_psn,
		.max_rd_atomic = info.initiator_depth,
	};
	assert_int_equal(uroce_modify_qp(end->qp, &attr,
					 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						 IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
						 IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

static void
await_completion(struct cm_end *end)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	struct ibv_wc wc;
	int nb;

	do {
		nb = uroce_poll_cq(end->cq, 1, &wc);
		assert_true(nb >= 0 && now_ms() < until_ms);
	} while (nb == 0);
	if (wc.status != IBV_WC_SUCCESS)
		fail_msg("completion: %s", uroce_wc_status_str(wc.status));
}

void
cm_end_exchange(struct cm_end *from, struct cm_end *to)
{
	static uint8_t seed;
	struct ibv_sge in = { (uintptr_t)to->buf + CM_END_LEN, CM_END_LEN, to->mr->lkey };
	struct ibv_sge out = { (uintptr_t)from->buf, CM_END_LEN, from->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &in, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &out,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;

	for (unsigned i = 0; i < CM_END_LEN; i++)
		from->buf[i] = (uint8_t)(i * 7 + seed);
	seed++;
	assert_int_equal(uroce_post_recv(to->qp, &recv, &bad_recv), 0);
	assert_int_equal(uroce_post_send(from->qp, &send, &bad_send), 0);
	await_completion(to);
	await_completion(from);
	assert_memory_equal(to->buf + CM_END_LEN, from->buf, CM_END_LEN);
}

struct user_link
cm_end_connect(struct cm_end *from, struct cm_end *to, uint16_t port)
{
	const struct uroce_cm_manager_ops *ops = from->user.manager->ops;
	struct user_link link;

	cm_end_make_qp(from);
	cm_end_make_qp(to);
	link.active = user_connect(&from->user, &to->user.gid, port, from->qp->qp_num);
	link.passive = user_expect(&to->user, UROCE_CM_EVENT_CONNECT_REQUEST).id;
	cm_end_ready_qp(to, link.passive);
	user_accept(&to->user, link.passive, to->qp->qp_num);
	assert_int_equal(user_expect(&from->user, UROCE_CM_EVENT_CONNECT_RESPONSE).id, link.active);
	cm_end_ready_qp(from, link.active);
	assert_int_equal(ops->establish(from->user.manager, link.active, NULL, 0), 0);
	assert_int_equal(user_expect(&to->user, UROCE_CM_EVENT_ESTABLISHED).id, link.passive);
	cm_end_exchange(from, to);
	cm_end_exchange(to, from);
	return link;
}

void
cm_end_destroy(struct cm_end *end, uint32_t id)
{
	assert_int_equal(end->user.manager->ops->destroy(end->user.manager, id), 0);
}

void
cm_end_disconnect(struct cm_end *from, struct cm_end *to, const struct user_link *link)
{
	const struct uroce_cm_manager_ops *ops = from->user.manager->ops;

	assert_int_equal(ops->disconnect(from->user.manager, link->active, NULL, 0), 0);
	assert_int_equal(user_expect(&to->user, UROCE_CM_EVENT_DISCONNECTED).id, link->passive);
	assert_int_equal(ops->disconnect(to->user.manager, link->passive, NULL, 0), 0);
	assert_int_equal(user_expect(&from->user, UROCE_CM_EVENT_DISCONNECTED).id, link->active);
	cm_end_destroy(from, link->active);
	cm_end_destroy(to, link->passive);
}

int
cm_end_bind(struct cm_end *end, uint16_t port, bool is_datagram, uint32_t *id)
{
	const struct uroce_cm_manager_ops *ops = end->user.manager->ops;
	struct uroce_cm_addr addr = { .ip_version = 4, .port = port };

	memcpy(&addr.ip[12], &end->user.gid.raw[12], 4);
	assert_int_equal(ops->create(end->user.manager,
				     is_datagram ? UROCE_CM_PS_UDP : UROCE_CM_PS_TCP, is_datagram,
				     0, id),
			 0);
	return ops->bind(end->user.manager, *id, &addr, false, false);
}

void
cm_end_await_port(struct cm_end *end, uint16_t port, bool is_datagram)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	uint32_t id;

	while (cm_end_bind(end, port, is_datagram, &id) == -EADDRINUSE) {
		cm_end_destroy(end, id);
		assert_true(now_ms() < until_ms);
		(void)usleep(1000);
	}
	cm_end_destroy(end, id);
}
