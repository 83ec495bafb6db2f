/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures what the loss of a message of connection management costs. Two processes connect one
 * after another. In turns no message, the REQ, the REP and the RTU of a connection is lost. The
 * time of a connection begins with uroce_cm_connect(), and ends when both sides have taken the
 * event ESTABLISHED.
 *
 *	bench-cm-loss ROUNDS [EAL options] -- ARGUMENTS as in apps/examples/side.h
 *
 * How a message is lost: each process has a receive callback of ethdev on its port. Of each
 * connection the callback numbers the first message of each kind, and the number determines
 * whether the callback drops the message. Repetitions pass.
 *
 * The client prints a line "MESSAGE nanoseconds" for each connection, where MESSAGE is the lost
 * message or "none". Each process prints a line "lost" with the number of messages that it has
 * dropped. bench/uroce-bench-cm reads these lines.
 */

#include "../../apps/examples/side.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <uroce_cm.h>

#include "cm/message.h"
#include "wire/parse.h"

#define PORT       7471
#define MAD_QPN    1
#define ROUNDS_MAX 10000
#define RESOLVE_MS 20000
#define GID_INDEX  1 /* index of the configured IP address in the GID table */

/*
 * The kinds of connections, in turns. `attr` is the message that is lost, 0 for none. `seen` and
 * `comm_id` belong to the thread that polls the port.
 */
static struct kind {
	const char *name;
	enum uroce_cm_attr attr;
	unsigned nb_seen; /* number of connections whose message of this kind has arrived */
	uint32_t comm_id; /* sender's number of the newest of these connections */
} kinds[] = {
	{ .name = "none" },
	{ .name = "REQ", .attr = UROCE_CM_REQ },
	{ .name = "REP", .attr = UROCE_CM_REP },
	{ .name = "RTU", .attr = UROCE_CM_RTU },
};

#define NB_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct side side;
static struct rdma_event_channel *channel;
static atomic_uint nb_lost;

/*
 * The time in nanoseconds of CLOCK_MONOTONIC, which is the same for both processes, because they
 * run on one machine.
 */
static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* --- loss of messages ------------------------------------------------------------------------- */

static uint32_t
comm_id_of(const struct uroce_cm_msg *msg)
{
	return msg->attr == UROCE_CM_REQ   ? msg->req.local_comm_id
	       : msg->attr == UROCE_CM_REP ? msg->rep.local_comm_id
					   : msg->rtu.local_comm_id;
}

/* Parse a frame. @return whether the frame is a message of connection management */
static bool
parse_message(const struct rte_mbuf *frame, struct uroce_cm_msg *msg)
{
	struct uroce_pkt pkt;

	return uroce_parse(rte_pktmbuf_mtod(frame, const uint8_t *), frame->data_len, &pkt) ==
		       UROCE_VERDICT_DATAGRAM &&
	       pkt.dest_qpn == MAD_QPN && pkt.payload_len == UROCE_MAD_LEN &&
	       uroce_cm_parse(pkt.payload, msg) == UROCE_CM_VERDICT_ACCEPTED;
}

/*
 * Whether a received frame is to be lost: it is the first message of its kind of a connection, and
 * this connection is one that loses such a message.
 */
static bool
is_lost(const struct rte_mbuf *frame)
{
	struct uroce_cm_msg msg;

	if (!parse_message(frame, &msg))
		return false;
	for (unsigned i = 0; i < NB_KINDS; i++) {
		struct kind *kind = &kinds[i];

		if (kind->attr != msg.attr)
			continue;
		if (kind->nb_seen > 0 && kind->comm_id == comm_id_of(&msg))
			return false;
		kind->comm_id = comm_id_of(&msg);
		return kind->nb_seen++ % NB_KINDS == i;
	}
	return false;
}

static uint16_t
on_receive(uint16_t port, uint16_t idx, struct rte_mbuf **frames, uint16_t nb, uint16_t max,
	   void *arg)
{
	uint16_t nb_kept = 0;

	(void)port, (void)idx, (void)max, (void)arg;
	for (uint16_t i = 0; i < nb; i++) {
		if (is_lost(frames[i])) {
			rte_pktmbuf_free(frames[i]);
			atomic_fetch_add(&nb_lost, 1);
		} else {
			frames[nb_kept++] = frames[i];
		}
	}
	return nb_kept;
}

/* Lose messages that arrive at the port of this process. The device has one receive queue. */
static void
begin_loss(void)
{
	uint16_t port, nb = rte_eth_dev_count_avail();

	check(nb == 1, "%u ports: allowed is one", nb);
	port = (uint16_t)rte_eth_find_next(0);
	check(rte_eth_add_rx_callback(port, 0, on_receive, NULL) != NULL, "no receive callback");
}

/* --- connections between client and server ---------------------------------------------------- */

/* Wait for the next event, which the caller acknowledges. */
static struct rdma_cm_event *
next_event(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	do {
		check(uroce_cm_get_cm_event(channel, &event) == 0, "no event: %s", strerror(errno));
		if (event->event != RDMA_CM_EVENT_TIMEWAIT_EXIT)
			break;
		check(uroce_cm_ack_cm_event(event) == 0, "the event stays");
	} while (true);
	check(event->event == type, "%s with status %d, and not %s",
	      uroce_cm_event_str(event->event), event->status, uroce_cm_event_str(type));
	return event;
}

/* Wait for the next event. @return the id of the event */
static struct rdma_cm_id *
await(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = next_event(type);
	struct rdma_cm_id *id = event->id;

	check(uroce_cm_ack_cm_event(event) == 0, "the event stays");
	return id;
}

static void
make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	check(uroce_cm_create_qp(id, NULL, &init) == 0, "no QP: %s", strerror(errno));
}

static void
destroy(struct rdma_cm_id *id)
{
	uroce_cm_destroy_qp(id);
	check(uroce_cm_destroy_id(id) == 0, "the id stays");
}

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

static void
accept_connection(void)
{
	struct rdma_cm_id *id = await(RDMA_CM_EVENT_CONNECT_REQUEST);

	make_qp(id);
	check(uroce_cm_accept(id, NULL) == 0, "the request cannot be accepted");
	(void)await(RDMA_CM_EVENT_ESTABLISHED);
	(void)side_swap(&side, now_ns());
	(void)await(RDMA_CM_EVENT_DISCONNECTED);
	check(uroce_cm_disconnect(id) == 0, "cannot disconnect");
	destroy(id);
	side_sync(&side);
}

/*
 * Connect to the server, and disconnect.
 * @return the time in nanoseconds until both sides were established
 */
static uint64_t
make_connection(struct in_addr server)
{
	struct sockaddr_in sin = address(server);
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	uint64_t since_ns, ours_ns, theirs_ns;
	struct rdma_cm_id *id;

	check(uroce_cm_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0, "no id");
	check(uroce_cm_resolve_addr(id, NULL, (struct sockaddr *)&sin, RESOLVE_MS) == 0,
	      "no device reaches the server");
	(void)await(RDMA_CM_EVENT_ADDR_RESOLVED);
	check(uroce_cm_resolve_route(id, RESOLVE_MS) == 0, "no route");
	(void)await(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(id);

	since_ns = now_ns();
	check(uroce_cm_connect(id, &param) == 0, "cannot connect");
	(void)await(RDMA_CM_EVENT_ESTABLISHED);
	ours_ns = now_ns();
	theirs_ns = side_swap(&side, ours_ns);

	check(uroce_cm_disconnect(id) == 0, "cannot disconnect");
	(void)await(RDMA_CM_EVENT_DISCONNECTED);
	destroy(id);
	side_sync(&side);
	return (theirs_ns > ours_ns ? theirs_ns : ours_ns) - since_ns;
}

static void
serve(unsigned nb)
{
	struct sockaddr_in sin = address(own_address());
	struct rdma_cm_id *listener;

	check(uroce_cm_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0, "no id");
	check(uroce_cm_bind_addr(listener, (struct sockaddr *)&sin) == 0, "the port is taken");
	check(uroce_cm_listen(listener, 1) == 0, "cannot listen");
	side_swap(&side, ntohl(sin.sin_addr.s_addr));
	for (unsigned i = 0; i < nb; i++)
		accept_connection();
	check(uroce_cm_destroy_id(listener) == 0, "the listener stays");
}

static void
connect_to_server(unsigned nb)
{
	const struct in_addr server = { htonl((uint32_t)side_swap(&side, 0)) };

	for (unsigned i = 0; i < nb; i++)
		printf("%s %llu\n", kinds[i % NB_KINDS].name,
		       (unsigned long long)make_connection(server));
}

static unsigned
number(const char *text)
{
	char *end;
	const unsigned long value = strtoul(text, &end, 10);

	check(value > 0 && value <= ROUNDS_MAX && *end == '\0',
	      "usage: ROUNDS [EAL options] -- ..., up to %u rounds", ROUNDS_MAX);
	return (unsigned)value;
}

int
main(int argc, char **argv)
{
	const unsigned nb = (unsigned)NB_KINDS * number(argc > 2 ? argv[1] : "");

	argv[1] = argv[0];
	side_open(&side, argc - 1, argv + 1);
	check((channel = uroce_cm_create_event_channel()), "no event channel");
	begin_loss();
	side_sync(&side);
	if (side.is_client)
		connect_to_server(nb);
	else
		serve(nb);
	alarm(0); /* cancel the alarm that side.c has set */
	printf("lost %u\n", atomic_load(&nb_lost));
	uroce_cm_destroy_event_channel(channel);
	side_close(&side);
	return 0;
}
