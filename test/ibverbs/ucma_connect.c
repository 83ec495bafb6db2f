/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections, datagram services and multicast groups by the commands of /dev/infiniband/rdma_cm,
 * as librdmacm uses them. The program creates the QPs, and modifies them with the attributes that
 * INIT_QP_ATTR returns. Both ends of a connection are in this process. Run under uroce-run with the
 * device `loopback`.
 */

#include "ucma.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <rdma/ib_user_sa.h>
#include <infiniband/verbs.h>

#define LISTENER 0x11111111ull
#define ACTIVE   0x22222222ull
#define PASSIVE  0x33333333ull
#define QKEY     0x01234567u
#define GROUP    "224.1.2.3"
#define LEN      64u

/* A function of libibverbs that none of its headers declares; librdmacm calls it. */
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst, struct ib_uverbs_qp_attr *src);

/* The verbs objects that all tests use. */
struct verbs {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	uint8_t buf[2 * LEN];
};

static struct verbs verbs;

static int
open_verbs(void **state)
{
	struct ibv_device **const list = ibv_get_device_list(NULL);

	(void)state;
	if (list == NULL || list[0] == NULL)
		return -1;
	verbs.context = ibv_open_device(list[0]);
	verbs.pd = ibv_alloc_pd(verbs.context);
	verbs.mr = ibv_reg_mr(verbs.pd, verbs.buf, sizeof(verbs.buf), IBV_ACCESS_LOCAL_WRITE);
	verbs.cq = ibv_create_cq(verbs.context, 64, NULL, NULL, 0);
	ibv_free_device_list(list);
	return verbs.mr != NULL && verbs.cq != NULL ? 0 : -1;
}

static struct ibv_qp *
make_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type,
		.send_cq = verbs.cq,
		.recv_cq = verbs.cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *const qp = ibv_create_qp(verbs.pd, &init);

	assert_non_null(qp);
	return qp;
}

static int
init_qp_attr(int fd, uint32_t id, uint32_t qp_state, struct ibv_qp_attr *attr, int *mask)
{
	struct ib_uverbs_qp_attr resp;
	const struct rdma_ucm_init_qp_attr cmd = {
		.response = (uintptr_t)&resp,
		.id = id,
		.qp_state = qp_state,
	};
	const int err = UCMA_CMD(fd, INIT_QP_ATTR, cmd, sizeof(resp));

	if (err != 0)
		return err;
	memset(attr, 0, sizeof(*attr));
	ibv_copy_qp_attr_from_kern(attr, &resp);
	attr->qp_state = (enum ibv_qp_state)resp.qp_state;
	*mask = (int)resp.qp_attr_mask;
	return 0;
}

static void
move_qp(int fd, uint32_t id, struct ibv_qp *qp, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr;
	int mask = 0;

	assert_int_equal(init_qp_attr(fd, id, to, &attr, &mask), 0);
	assert_int_equal(attr.qp_state, to);
	assert_int_equal(ibv_modify_qp(qp, &attr, mask), 0);
}

/* --- connections between two ids -------------------------------------------------------------------- */

/* The ids of a listener and of the two ends of a connection. All are ids of one open file. */
struct ends {
	int fd;
	uint16_t port;
	uint32_t listener, active, passive;
	struct ibv_qp *qp[2]; /* QPs of the active and of the passive end */
};

/* Create a listener, connect to it, and wait for the CONNECT_REQUEST. */
static struct ends
request(void)
{
	struct ends ends = { .fd = ucma_open(0) };
	struct rdma_ucm_event_resp resp;

	ends.listener = ucma_listener(ends.fd, LISTENER, 0, &ends.port);
	ends.active = ucma_routed(ends.fd, ACTIVE, ends.port);
	for (unsigned i = 0; i < 2; i++)
		ends.qp[i] = make_qp(IBV_QPT_RC);
	move_qp(ends.fd, ends.active, ends.qp[0], IBV_QPS_INIT);
	assert_int_equal(ucma_connect(ends.fd, ends.active, ends.qp[0]->qp_num), 0);
	/* the CONNECT_REQUEST has the cookie of the listener, and the number of the new id */
	resp = ucma_expect(ends.fd, EVENT_CONNECT_REQUEST, LISTENER);
	ends.passive = resp.id;
	assert_int_not_equal(ends.passive, ends.listener);
	assert_int_equal(resp.status, 0);
	assert_int_equal(resp.param.conn.qp_num, ends.qp[0]->qp_num);
	assert_string_equal((const char *)resp.param.conn.private_data, "hello");
	assert_int_equal(resp.param.conn.responder_resources, 1);
	return ends;
}

static void
accept_request(struct ends *ends)
{
	struct rdma_ucm_event_resp resp;

	for (unsigned at = IBV_QPS_INIT; at <= IBV_QPS_RTS; at++)
		move_qp(ends->fd, ends->passive, ends->qp[1], (enum ibv_qp_state)at);
	assert_int_equal(ucma_accept(ends->fd, ends->passive, PASSIVE, ends->qp[1]->qp_num), 0);
	resp = ucma_expect(ends->fd, EVENT_CONNECT_RESPONSE, ACTIVE);
	assert_int_equal(resp.id, ends->active);
	assert_int_equal(resp.param.conn.qp_num, ends->qp[1]->qp_num);
	assert_string_equal((const char *)resp.param.conn.private_data, "hello");
}

static void
establish(struct ends *ends)
{
	move_qp(ends->fd, ends->active, ends->qp[0], IBV_QPS_RTR);
	move_qp(ends->fd, ends->active, ends->qp[0], IBV_QPS_RTS);
	assert_int_equal(ucma_establish(ends->fd, ends->active), 0);
	assert_int_equal(ucma_expect(ends->fd, EVENT_ESTABLISHED, PASSIVE).id, ends->passive);
}

static void
close_ends(struct ends *ends)
{
	close(ends->fd);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(ibv_destroy_qp(ends->qp[i]), 0);
}

/* Send a message from one QP to the other, and compare its bytes. */
static void
exchange(struct ibv_qp *from, struct ibv_qp *to, uint8_t value)
{
	struct ibv_sge sge[] = { { (uintptr_t)verbs.buf, LEN, verbs.mr->lkey },
				 { (uintptr_t)verbs.buf + LEN, LEN, verbs.mr->lkey } };
	struct ibv_recv_wr recv = { .sg_list = &sge[1], .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = {
		.sg_list = &sge[0],
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad_send;
	struct ibv_wc wc;

	memset(verbs.buf, value, LEN);
	assert_int_equal(ibv_post_recv(to, &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_send(from, &send, &bad_send), 0);
	for (unsigned nb = 0; nb < 2;) {
		const int ret = ibv_poll_cq(verbs.cq, 1, &wc);

		assert_true(ret >= 0);
		if (ret > 0)
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
		nb += (unsigned)ret;
	}
	assert_memory_equal(verbs.buf, verbs.buf + LEN, LEN);
}

static void
connection__carries_data_and_ends(void **state)
{
	struct ends ends = request();
	uint32_t nb_events;

	(void)state;
	accept_request(&ends);
	establish(&ends);
	exchange(ends.qp[0], ends.qp[1], 0x5a);
	exchange(ends.qp[1], ends.qp[0], 0xa5);
	assert_int_equal(ucma_disconnect(ends.fd, ends.active), 0);
	(void)ucma_expect(ends.fd, EVENT_DISCONNECTED, PASSIVE);
	assert_int_equal(ucma_disconnect(ends.fd, ends.passive), 0);
	(void)ucma_expect(ends.fd, EVENT_DISCONNECTED, ACTIVE);
	/* a second disconnect of an id succeeds */
	assert_int_equal(ucma_disconnect(ends.fd, ends.active), 0);
	assert_int_equal(ucma_destroy_id(ends.fd, ends.listener, &nb_events), 0);
	assert_int_equal(nb_events, 1);
	assert_int_equal(ucma_destroy_id(ends.fd, ends.passive, &nb_events), 0);
	assert_int_equal(nb_events, 2);
	assert_int_equal(ucma_destroy_id(ends.fd, ends.active, &nb_events), 0);
	assert_int_equal(nb_events, 4);
	close_ends(&ends);
}

static void
attributes__are_those_of_linux(void **state)
{
	struct ends ends = request();
	struct ibv_qp_attr attr;
	int mask = 0;

	(void)state;
	assert_int_equal(init_qp_attr(ends.fd, ends.active, IBV_QPS_INIT, &attr, &mask), 0);
	assert_int_equal(mask,
			 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	/* the active end has no attributes for RTR before it has got the REP */
	assert_int_equal(init_qp_attr(ends.fd, ends.active, IBV_QPS_RTR, &attr, &mask), EINVAL);
	assert_int_equal(init_qp_attr(ends.fd, ends.passive, IBV_QPS_RTR, &attr, &mask), 0);
	assert_int_equal(mask, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER);
	assert_int_equal(attr.dest_qp_num, ends.qp[0]->qp_num);
	assert_int_equal(attr.max_dest_rd_atomic, 1);
	assert_int_equal(attr.ah_attr.is_global, 1);
	assert_int_equal(init_qp_attr(ends.fd, ends.passive, IBV_QPS_RTS, &attr, &mask), 0);
	assert_int_equal(mask, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	assert_int_equal(init_qp_attr(ends.fd, ends.passive, IBV_QPS_SQD, &attr, &mask), EINVAL);
	assert_int_equal(init_qp_attr(ends.fd, ends.passive, IBV_QPS_ERR + 1, &attr, &mask),
			 EINVAL);
	close_ends(&ends);
}

static void
reject__tells_the_peer_why(void **state)
{
	static const struct {
		uint8_t given, reason;
	} rows[] = { { 0, 28 }, { 28, 28 }, { 35, 35 } };
	struct rdma_ucm_event_resp resp;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ends ends = request();

		assert_int_equal(ucma_reject(ends.fd, ends.passive, 8), EINVAL);
		assert_int_equal(ucma_reject(ends.fd, ends.passive, rows[i].given), 0);
		resp = ucma_expect(ends.fd, EVENT_REJECTED, ACTIVE);
		assert_int_equal(resp.status, rows[i].reason);
		assert_string_equal((const char *)resp.param.conn.private_data, "no");
		assert_int_equal(ucma_reject(ends.fd, ends.passive, 0), EINVAL);
		close_ends(&ends);
	}
}

/* The active end may reject after the passive end has accepted. */
static void
reject__of_an_answer(void **state)
{
	struct ends ends = request();

	(void)state;
	accept_request(&ends);
	assert_int_equal(ucma_reject(ends.fd, ends.active, 0), 0);
	assert_int_equal(ucma_expect(ends.fd, EVENT_REJECTED, PASSIVE).status, 28);
	close_ends(&ends);
}

static void
connect__without_listener_is_rejected(void **state)
{
	const int fd = ucma_open(0);
	const uint32_t id = ucma_routed(fd, ACTIVE, 7);
	struct ibv_qp *const qp = make_qp(IBV_QPT_RC);

	(void)state;
	assert_int_equal(ucma_connect(fd, id, qp->qp_num), 0);
	assert_int_equal(ucma_expect(fd, EVENT_REJECTED, ACTIVE).status, 8);
	close(fd);
	ibv_destroy_qp(qp);
}

static void
connect__needs_parameters(void **state)
{
	const int fd = ucma_open(0);
	struct rdma_ucm_connect cmd = { .id = ucma_routed(fd, ACTIVE, 7) };

	(void)state;
	assert_int_equal(UCMA_CMD(fd, CONNECT, cmd, 0), EINVAL);
	assert_int_equal(ucma_accept(fd, cmd.id, ACTIVE, 2), EINVAL);
	assert_int_equal(ucma_disconnect(fd, cmd.id), EINVAL);
	close(fd);
}

/*
 * If a program closes the file without destroying its ids, the peers of the ids get DISCONNECTED.
 */
static void
close__ends_the_connections(void **state)
{
	const int fd = ucma_open(0), passive_fd = ucma_open(0);
	struct ends ends = request();

	(void)state;
	accept_request(&ends);
	establish(&ends);
	assert_int_equal(ucma_migrate_id(passive_fd, ends.passive, ends.fd, NULL), 0);
	close(ends.fd);
	(void)ucma_expect(passive_fd, EVENT_DISCONNECTED, PASSIVE);
	ends.fd = passive_fd;
	close_ends(&ends);
	close(fd);
}

static void
close__rejects_requests(void **state)
{
	struct ends ends = request();
	const int fd = ucma_open(0);

	(void)state;
	assert_int_equal(ucma_migrate_id(fd, ends.active, ends.fd, NULL), 0);
	close(ends.fd);
	(void)ucma_expect(fd, EVENT_REJECTED, ACTIVE);
	ends.fd = fd;
	close_ends(&ends);
}

/*
 * The id of a CONNECT_REQUEST has no cookie before the program accepts it. Until then its events
 * are dropped, and do not make the file readable.
 */
static void
event__of_an_id_without_cookie_is_dropped(void **state)
{
	const int fd = ucma_open(O_NONBLOCK);
	struct ends ends = request();
	struct rdma_ucm_event_resp resp;

	(void)state;
	assert_int_equal(ucma_migrate_id(fd, ends.passive, ends.fd, NULL), 0);
	assert_int_equal(ucma_destroy_id(ends.fd, ends.active, NULL), 0);
	/*
	 * wait until the REJ of the active end has arrived: then the id can no longer be accepted
	 */
	while (ucma_accept(fd, ends.passive, 0, ends.qp[1]->qp_num) == 0)
		;
	ucma_expect_none(fd);
	assert_int_equal(ucma_get_event(fd, &resp), EAGAIN);
	close(fd);
	close_ends(&ends);
}

static void
listener__refuses_more_than_its_backlog(void **state)
{
	enum { BACKLOG = 2, NB = 5 };
	const int fd = ucma_open(0), active_fd = ucma_open(0);
	struct ibv_qp *qps[NB];
	uint32_t id[NB];
	uint16_t port;

	(void)state;
	(void)ucma_listener(fd, LISTENER, BACKLOG, &port);
	for (unsigned i = 0; i < NB; i++) {
		qps[i] = make_qp(IBV_QPT_RC);
		id[i] = ucma_routed(active_fd, ACTIVE + i, port);
	}
	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(ucma_connect(active_fd, id[i], qps[i]->qp_num), 0);
	for (unsigned i = 0; i < NB - BACKLOG; i++) {
		struct rdma_ucm_event_resp resp;

		assert_true(ucma_is_ready(active_fd, TIMEOUT_MS));
		assert_int_equal(ucma_get_event(active_fd, &resp), 0);
		assert_int_equal(resp.event, EVENT_REJECTED);
	}
	for (unsigned i = 0; i < BACKLOG; i++)
		(void)ucma_expect(fd, EVENT_CONNECT_REQUEST, LISTENER);
	ucma_expect_none(fd);
	close(fd);
	close(active_fd);
	for (unsigned i = 0; i < NB; i++)
		ibv_destroy_qp(qps[i]);
}

static void
notify__establishes_before_the_message_of_the_peer(void **state)
{
	struct ends ends = request();
	struct rdma_ucm_notify cmd = { .event = IBV_EVENT_COMM_EST };

	(void)state;
	cmd.id = ends.passive;
	assert_int_equal(UCMA_CMD(ends.fd, NOTIFY, cmd, 0), EINVAL);
	accept_request(&ends);
	cmd.event = IBV_EVENT_PATH_MIG;
	assert_int_equal(UCMA_CMD(ends.fd, NOTIFY, cmd, 0), EINVAL);
	cmd.event = IBV_EVENT_COMM_EST;
	assert_int_equal(UCMA_CMD(ends.fd, NOTIFY, cmd, 0), 0);
	(void)ucma_expect(ends.fd, EVENT_ESTABLISHED, PASSIVE);
	assert_int_equal(UCMA_CMD(ends.fd, NOTIFY, cmd, 0), 0);
	close_ends(&ends);
}

static void
ece__is_carried_to_both_ends(void **state)
{
	const int fd = ucma_open(0);
	struct ibv_qp *const active = make_qp(IBV_QPT_RC), *const passive = make_qp(IBV_QPT_RC);
	struct rdma_ucm_connect connect = {
		.conn_param = { .qp_num = active->qp_num, .valid = 1 },
		.ece = { .vendor_id = 0x15b3, .attr_mod = 0x12345678 },
	};
	struct rdma_ucm_accept accept = {
		.uid = PASSIVE,
		.conn_param = { .qp_num = passive->qp_num, .valid = 1 },
		.ece = { .vendor_id = 0x15b3, .attr_mod = 0x87654321 },
	};
	struct rdma_ucm_event_resp resp;
	uint16_t port;

	(void)state;
	(void)ucma_listener(fd, LISTENER, 0, &port);
	connect.id = ucma_routed(fd, ACTIVE, port);
	assert_int_equal(UCMA_CMD(fd, CONNECT, connect, 0), 0);
	resp = ucma_expect(fd, EVENT_CONNECT_REQUEST, LISTENER);
	assert_int_equal(resp.ece.vendor_id, 0x15b3);
	assert_int_equal(resp.ece.attr_mod, 0x12345678);
	accept.id = resp.id;
	assert_int_equal(UCMA_CMD(fd, ACCEPT, accept, 0), 0);
	resp = ucma_expect(fd, EVENT_CONNECT_RESPONSE, ACTIVE);
	assert_int_equal(resp.ece.vendor_id, 0x15b3);
	assert_int_equal(resp.ece.attr_mod, 0x87654321);
	close(fd);
	ibv_destroy_qp(active);
	ibv_destroy_qp(passive);
}

/* --- datagram services and multicast groups --------------------------------------------------------- */

/* Create an id for datagrams that is bound to the device, and a UD QP for it in RTS. */
static uint32_t
datagram_id(int fd, uint64_t uid, struct ibv_qp **qp)
{
	uint32_t id;

	assert_int_equal(ucma_create_id(fd, uid, RDMA_PS_UDP, &id), 0);
	assert_int_equal(ucma_bind_ip(fd, id, ADDRESS, 0), 0);
	*qp = make_qp(IBV_QPT_UD);
	for (unsigned at = IBV_QPS_INIT; at <= IBV_QPS_RTS; at++)
		move_qp(fd, id, *qp, (enum ibv_qp_state)at);
	return id;
}

static void
service__tells_its_qp_and_qkey(void **state)
{
	const int fd = ucma_open(0);
	struct rdma_ucm_event_resp resp;
	struct ibv_qp *qp;
	uint32_t listener, active;

	(void)state;
	listener = datagram_id(fd, LISTENER, &qp);
	assert_int_equal(ucma_listen(fd, listener, 0), 0);
	assert_int_equal(ucma_create_id(fd, ACTIVE, RDMA_PS_UDP, &active), 0);
	assert_int_equal(ucma_resolve_ip(fd, active, ADDRESS, ucma_port(fd, listener)), 0);
	(void)ucma_expect(fd, EVENT_ADDR_RESOLVED, ACTIVE);
	assert_int_equal(ucma_resolve_route(fd, active), 0);
	(void)ucma_expect(fd, EVENT_ROUTE_RESOLVED, ACTIVE);
	assert_int_equal(ucma_connect(fd, active, qp->qp_num), 0);
	resp = ucma_expect(fd, EVENT_CONNECT_REQUEST, LISTENER);
	assert_string_equal((const char *)resp.param.ud.private_data, "hello");
	assert_int_equal(ucma_accept(fd, resp.id, PASSIVE, qp->qp_num), 0);
	resp = ucma_expect(fd, EVENT_ESTABLISHED, ACTIVE);
	assert_int_equal(resp.param.ud.qp_num, qp->qp_num);
	assert_int_equal(resp.param.ud.qkey, QKEY);
	assert_int_equal(resp.param.ud.ah_attr.is_global, 1);
	close(fd);
	ibv_destroy_qp(qp);
}

static int
join(int fd, uint32_t id, uint64_t uid, const char *group, uint16_t flags, uint32_t *mcast)
{
	struct rdma_ucm_create_id_resp resp = { .id = UNKNOWN_ID };
	struct rdma_ucm_join_mcast cmd = {
		.response = (uintptr_t)&resp,
		.uid = uid,
		.id = id,
		.addr_size = sizeof(struct sockaddr_in),
		.join_flags = flags,
	};
	const struct sockaddr_in6 addr = ucma_addr(group, 0);
	int err;

	memcpy(&cmd.addr, &addr, sizeof(struct sockaddr_in));
	err = UCMA_CMD(fd, JOIN_MCAST, cmd, sizeof(resp));
	*mcast = resp.id;
	return err;
}

static int
leave(int fd, uint32_t mcast, uint32_t *nb_events)
{
	struct rdma_ucm_destroy_id_resp resp = { .events_reported = UINT32_MAX };
	const struct rdma_ucm_destroy_id cmd = { .response = (uintptr_t)&resp, .id = mcast };
	const int err = UCMA_CMD(fd, LEAVE_MCAST, cmd, sizeof(resp));

	*nb_events = resp.events_reported;
	return err;
}

static void
group__is_joined_and_left(void **state)
{
	const int fd = ucma_open(O_NONBLOCK), other = ucma_open(0);
	struct rdma_ucm_event_resp resp;
	uint32_t id, mcast, nb_events;
	struct ibv_qp *qp;

	(void)state;
	id = datagram_id(fd, ACTIVE, &qp);
	assert_int_equal(join(fd, id, LISTENER, GROUP, RDMA_MC_JOIN_FLAG_RESERVED, &mcast), EINVAL);
	assert_int_equal(join(fd, id, LISTENER, ADDRESS, 0, &mcast), EINVAL);
	for (uint16_t flags = 0; flags < RDMA_MC_JOIN_FLAG_RESERVED; flags++) {
		assert_int_equal(join(fd, id, LISTENER, GROUP, flags, &mcast), 0);
		/* the event has the number of the membership, and not of the id */
		resp = ucma_expect(fd, EVENT_MULTICAST_JOIN, LISTENER);
		assert_int_equal(resp.id, mcast);
		assert_int_equal(resp.status, 0);
		assert_int_equal(resp.param.ud.qp_num, 0xffffff);
		assert_int_equal(resp.param.ud.qkey, QKEY);
		assert_int_equal(leave(other, mcast, &nb_events), EINVAL);
		assert_int_equal(leave(fd, mcast, &nb_events), 0);
		assert_int_equal(nb_events, 1);
		assert_int_equal(leave(fd, mcast, &nb_events), ENOENT);
	}
	/* leaving the group drops the pending event of the membership */
	assert_int_equal(join(fd, id, LISTENER, GROUP, 0, &mcast), 0);
	assert_true(ucma_is_ready(fd, TIMEOUT_MS));
	assert_int_equal(leave(fd, mcast, &nb_events), 0);
	assert_int_equal(nb_events, 0);
	ucma_expect_none(fd);
	assert_int_equal(join(fd, id, LISTENER, GROUP, 0, &mcast), 0);
	assert_int_equal(ucma_destroy_id(fd, id, NULL), 0);
	assert_int_equal(leave(fd, mcast, &nb_events), ENOENT);
	close(fd);
	close(other);
	ibv_destroy_qp(qp);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connection__carries_data_and_ends),
		cmocka_unit_test(attributes__are_those_of_linux),
		cmocka_unit_test(reject__tells_the_peer_why),
		cmocka_unit_test(reject__of_an_answer),
		cmocka_unit_test(connect__without_listener_is_rejected),
		cmocka_unit_test(connect__needs_parameters),
		cmocka_unit_test(close__ends_the_connections),
		cmocka_unit_test(close__rejects_requests),
		cmocka_unit_test(event__of_an_id_without_cookie_is_dropped),
		cmocka_unit_test(listener__refuses_more_than_its_backlog),
		cmocka_unit_test(notify__establishes_before_the_message_of_the_peer),
		cmocka_unit_test(ece__is_carried_to_both_ends),
		cmocka_unit_test(service__tells_its_qp_and_qkey),
		cmocka_unit_test(group__is_joined_and_left),
	};

	return cmocka_run_group_tests(tests, open_verbs, NULL);
}
