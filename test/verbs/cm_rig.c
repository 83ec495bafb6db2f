/* SPDX-License-Identifier: BSD-3-Clause */
/* The implementation of cm_rig.h: two hosts that connect by <uroce_cm.h>. */

#include "cm_rig.h"

#include <arpa/inet.h>
#include <poll.h>

#define TIMEOUT_MS 300000 /* time limit, which only a hang exceeds */

void
rig_open(struct cm_rig *rig, const char *keys)
{
	*rig = (struct cm_rig){ 0 };
	for (unsigned i = 0; i < 2; i++) {
		rig->device[i] = net_device(i, keys);
		assert_non_null(rig->device[i]);
		rig->channel[i] = uroce_cm_create_event_channel();
		assert_non_null(rig->channel[i]);
	}
}

void
rig_close(struct cm_rig *rig)
{
	end_destroy(&rig->a);
	end_destroy(&rig->b);
	if (rig->listener != NULL)
		assert_int_equal(uroce_cm_destroy_id(rig->listener), 0);
	for (unsigned i = 0; i < 2; i++) {
		uroce_cm_destroy_event_channel(rig->channel[i]);
		if (rig->device[i] != NULL)
			assert_int_equal(uroce_destroy_device(rig->device[i]), 0);
	}
}

struct sockaddr *
sa_of(const char *ip, uint16_t port)
{
	static struct sockaddr_storage places[8];
	static unsigned next;
	struct sockaddr_storage *const place = &places[next++ % 8];
	struct sockaddr_in *const sin = (struct sockaddr_in *)place;
	struct sockaddr_in6 *const sin6 = (struct sockaddr_in6 *)place;

	memset(place, 0, sizeof(*place));
	if (inet_pton(AF_INET, ip, &sin->sin_addr) == 1) {
		sin->sin_family = AF_INET;
		sin->sin_port = htons(port);
	} else {
		assert_int_equal(inet_pton(AF_INET6, ip, &sin6->sin6_addr), 1);
		sin6->sin6_family = AF_INET6;
		sin6->sin6_port = htons(port);
	}
	return (struct sockaddr *)place;
}

void
await_readable(struct rdma_event_channel *channel)
{
	struct pollfd pollfd = { .fd = channel->fd, .events = POLLIN };

	assert_int_equal(poll(&pollfd, 1, TIMEOUT_MS), 1);
}

struct rdma_cm_event *
await_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *event;

	await_readable(channel);
	assert_int_equal(uroce_cm_get_cm_event(channel, &event), 0);
	assert_string_equal(uroce_cm_event_str(event->event), uroce_cm_event_str(type));
	assert_int_equal(event->status, status);
	return event;
}

void
expect_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type, int status)
{
	assert_int_equal(uroce_cm_ack_cm_event(await_event(channel, type, status)), 0);
}

void
expect_no_event(struct rdma_event_channel *channel)
{
	struct pollfd pollfd = { .fd = channel->fd, .events = POLLIN };

	assert_int_equal(poll(&pollfd, 1, 0), 0);
}

static void
listen_at(struct cm_rig *rig, enum rdma_port_space ps, uint16_t port)
{
	assert_int_equal(uroce_cm_create_id(rig->channel[1], &rig->listener, rig, ps), 0);
	assert_int_equal(uroce_cm_bind_addr(rig->listener, sa_of(HOST_B, port)), 0);
	assert_int_equal(uroce_cm_listen(rig->listener, 0), 0);
}

void
rig_listen(struct cm_rig *rig, enum rdma_port_space ps)
{
	listen_at(rig, ps, RIG_PORT);
}

void
rig_listen_elsewhere(struct cm_rig *rig)
{
	listen_at(rig, RDMA_PS_TCP, RIG_PORT + 1);
}

void
rig_resolve(struct cm_rig *rig, enum rdma_port_space ps)
{
	struct rdma_cm_id **const id = &rig->a.id;

	assert_int_equal(uroce_cm_create_id(rig->channel[0], id, &rig->a, ps), 0);
	assert_int_equal(
		uroce_cm_resolve_addr(*id, sa_of(HOST_A, 0), sa_of(HOST_B, RIG_PORT), TIMEOUT_MS),
		0);
	expect_event(rig->channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(uroce_cm_resolve_route(*id, TIMEOUT_MS), 0);
	expect_event(rig->channel[0], RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

void
end_create_qp(struct cm_end *end, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type,
		.sq_sig_all = 1,
		.cap = { 4, 4, 1, 1, 0 },
	};

	assert_int_equal(uroce_cm_create_qp(end->id, NULL, &init), 0);
	assert_non_null(end->mr = uroce_reg_mr(end->id->pd, end->buf, RIG_LEN,
					       IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE));
}

void
end_destroy(struct cm_end *end)
{
	if (end->id == NULL)
		return;
	uroce_cm_destroy_qp(end->id);
	assert_null(end->id->qp);
	if (end->mr != NULL)
		assert_int_equal(uroce_dereg_mr(end->mr), 0);
	assert_int_equal(uroce_cm_destroy_id(end->id), 0);
	end->mr = NULL;
	end->id = NULL;
}

void
rig_connect(struct cm_rig *rig)
{
	struct rdma_cm_event *event;

	rig_listen(rig, RDMA_PS_TCP);
	rig_resolve(rig, RDMA_PS_TCP);
	end_create_qp(&rig->a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig->a.id, NULL), 0);
	event = await_event(rig->channel[1], RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	rig->b.id = event->id;
	end_create_qp(&rig->b, IBV_QPT_RC);
	assert_int_equal(uroce_cm_accept(rig->b.id, NULL), 0);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	expect_event(rig->channel[0], RDMA_CM_EVENT_ESTABLISHED, 0);
	expect_event(rig->channel[1], RDMA_CM_EVENT_ESTABLISHED, 0);
}

static struct ibv_wc
poll_cq_until(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int nb;

	while ((nb = uroce_poll_cq(cq, 1, &wc)) == 0)
		;
	assert_int_equal(nb, 1);
	return wc;
}

void
rig_exchange(struct cm_end *a, struct cm_end *b)
{
	struct ibv_sge recv_sge = { (uintptr_t)b->buf, RIG_LEN, b->mr->lkey };
	struct ibv_sge send_sge = { (uintptr_t)a->buf, RIG_LEN, a->mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 1, .sg_list = &recv_sge, .num_sge = 1 };
	struct ibv_send_wr *bad_send,
		send = { .wr_id = 2, .opcode = IBV_WR_SEND, .sg_list = &send_sge, .num_sge = 1 };
	static unsigned seed;

	fill(a->buf, RIG_LEN, ++seed);
	memset(b->buf, 0, RIG_LEN);
	assert_int_equal(uroce_post_recv(b->id->qp, &recv, &bad_recv), 0);
	assert_int_equal(uroce_post_send(a->id->qp, &send, &bad_send), 0);
	assert_int_equal(poll_cq_until(a->id->qp->send_cq).status, IBV_WC_SUCCESS);
	assert_int_equal(poll_cq_until(b->id->qp->recv_cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(a->buf, b->buf, RIG_LEN);
}

enum ibv_qp_state
qp_state_of(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(uroce_query_qp(id->qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}
