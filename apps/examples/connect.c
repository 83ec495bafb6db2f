/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection management: <uroce_cm.h> connects two programs by an IP address and a port, as sockets
 * do. The server listens and accepts. The client resolves the address of the server and the route,
 * connects, sends a message and disconnects. Both programs do the work of connection management in
 * their own loop, so the library needs no thread for this work.
 *
 * See side.h for how to run this example. The TCP connection of side.h tells the client the address
 * of the server's device. In a real program the user gives this address.
 */

#include "side.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <uroce_cm.h>

#define PORT        7471
#define MESSAGE_LEN 4096
#define RESOLVE_MS  2000
/* index of the configured IP address in the GID table */
#define GID_INDEX 1

static struct side side;
static struct rdma_event_channel *channel;
static struct ibv_mr *mr;
static uint8_t buf[MESSAGE_LEN];

/* The IPv4 address of the device of this process, which is in the last four bytes of its GID. */
static struct in_addr
own_address(void)
{
	struct in_addr addr;
	union ibv_gid gid;

	check(uroce_query_gid(side.context, 1, GID_INDEX, &gid) == 0, "no address");
	memcpy(&addr, gid.raw + 12, sizeof(addr));
	return addr;
}

static struct sockaddr_in
address(struct in_addr addr)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(PORT),
				     .sin_addr = addr };
}

/*
 * Do the work of connection management until there is an event. A real program would also poll its
 * completion queues in this loop.
 * @return the next event, which the caller acknowledges
 */
static struct rdma_cm_event *
next_event(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	/*
	 * the descriptor of the channel does not block: the call fails with EAGAIN if there is no
	 * event
	 */
	while (uroce_cm_get_cm_event(channel, &event) != 0) {
		check(errno == EAGAIN, "no event: %s", strerror(errno));
		(void)uroce_cm_poll();
		side_idle(&side);
	}
	check(event->event == type, "%s with status %d, and not %s",
	      uroce_cm_event_str(event->event), event->status, uroce_cm_event_str(type));
	return event;
}

static void
await(enum rdma_cm_event_type type)
{
	check(uroce_cm_ack_cm_event(next_event(type)) == 0, "the event stays");
}

/*
 * Create the QP of an id. The attributes name no CQs, so the library also creates the CQs of the
 * QP.
 */
static void
make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	check(uroce_cm_create_qp(id, NULL, &init) == 0, "no QP");
	check((mr = uroce_reg_mr(id->pd, buf, sizeof(buf), SIDE_ACCESS)), "no region");
}

static void
destroy(struct rdma_cm_id *id)
{
	uroce_cm_destroy_qp(id);
	check(uroce_dereg_mr(mr) == 0 && uroce_cm_destroy_id(id) == 0, "region or id stay");
}

static void
serve(void)
{
	struct sockaddr_in sin = address(own_address());
	struct ibv_sge sge;
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *event;

	check(uroce_cm_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0, "no id");
	check(uroce_cm_bind_addr(listener, (struct sockaddr *)&sin) == 0, "the port is taken");
	check(uroce_cm_listen(listener, 1) == 0, "cannot listen");
	side_swap(&side, ntohl(sin.sin_addr.s_addr));

	event = next_event(RDMA_CM_EVENT_CONNECT_REQUEST);
	id = event->id;
	printf("a client asks for a connection, and says '%s'\n",
	       (const char *)event->param.conn.private_data);
	make_qp(id);
	sge = (struct ibv_sge){ (uintptr_t)buf, sizeof(buf), mr->lkey };
	check(uroce_post_recv(id->qp, &wr, &bad) == 0, "no receive request");
	check(uroce_cm_accept(id, NULL) == 0, "the request cannot be accepted");
	check(uroce_cm_ack_cm_event(event) == 0, "the event stays");
	await(RDMA_CM_EVENT_ESTABLISHED);

	(void)side_wait(&side, id->recv_cq, IBV_WC_SUCCESS);
	check(is_filled(buf, sizeof(buf), 1), "wrong bytes");
	printf("the message has arrived\n");
	await(RDMA_CM_EVENT_DISCONNECTED);
	destroy(id);
	check(uroce_cm_destroy_id(listener) == 0, "the listener stays");
}

static void
connect_to_server(void)
{
	const struct in_addr server = { htonl((uint32_t)side_swap(&side, 0)) };
	struct sockaddr_in sin = address(server);
	static const char hello[] = "hello";
	struct rdma_conn_param param = {
		.private_data = hello,
		.private_data_len = sizeof(hello),
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct ibv_sge sge;
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct rdma_cm_id *id;

	check(uroce_cm_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0, "no id");
	check(uroce_cm_resolve_addr(id, NULL, (struct sockaddr *)&sin, RESOLVE_MS) == 0,
	      "no device reaches the server");
	await(RDMA_CM_EVENT_ADDR_RESOLVED);
	check(uroce_cm_resolve_route(id, RESOLVE_MS) == 0, "no route");
	await(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(id);
	check(uroce_cm_connect(id, &param) == 0, "cannot connect");
	await(RDMA_CM_EVENT_ESTABLISHED);
	printf("connected to %s, port %d\n", inet_ntoa(server), PORT);

	fill(buf, sizeof(buf), 1);
	sge = (struct ibv_sge){ (uintptr_t)buf, sizeof(buf), mr->lkey };
	check(uroce_post_send(id->qp, &wr, &bad) == 0, "no send request");
	(void)side_wait(&side, id->send_cq, IBV_WC_SUCCESS);
	check(uroce_cm_disconnect(id) == 0, "cannot disconnect");
	await(RDMA_CM_EVENT_DISCONNECTED);
	destroy(id);
}

int
main(int argc, char **argv)
{
	side_open(&side, argc, argv);
	check(uroce_cm_set_drive(UROCE_CM_DRIVE_NONE) == 0, "a channel is open");
	check((channel = uroce_cm_create_event_channel()), "no event channel");
	check(fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0, "the channel blocks");
	if (side.is_client)
		connect_to_server();
	else
		serve();
	uroce_cm_destroy_event_channel(channel);
	side_close(&side);
	return 0;
}
