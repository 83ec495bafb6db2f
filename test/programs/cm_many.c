/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connects many QPs by librdmacm, sends a message and its reply on each connection while all
 * connections exist, and disconnects them.
 *
 *	cm_many [-n CONNECTIONS] [-w WINDOW] [-b ADDRESS] [SERVER]
 *
 * At most WINDOW connections at a time are being established, have a message in flight, or are
 * being disconnected. The client prints how long each phase takes. The status is 1 if a connection
 * fails, or a message is wrong.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#define PORT       7471
#define TIMEOUT_MS 300000 /* time limit, which only a hang exceeds */
#define BATCH      64

struct connection {
	struct rdma_cm_id *id;
	uint64_t sent, received;
};

static struct {
	unsigned nb;
	unsigned window;
	const char *local, *server;
} conf = { .nb = 1000, .window = 256 };

static struct rdma_event_channel *channel;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct connection *connections;
static unsigned nb_begun, nb_established, nb_replies, nb_ended;

static void
check(bool is_well, const char *what)
{
	if (is_well)
		return;
	fprintf(stderr, "cm_many: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double
now_s(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The content of a connection's message, or of the reply to it. */
static uint64_t
message_of(const struct connection *connection, bool is_reply)
{
	return (uint64_t)(connection - connections) << 1 | is_reply;
}

static struct sockaddr_in
address_of(const char *text, uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };

	check(inet_pton(AF_INET, text, &addr.sin_addr) == 1, "address");
	return addr;
}

/* --- QPs and messages ---------------------------------------------------------------------------- */

/* Create the objects that all QPs share, on the device of the first id. */
static void
make_objects(struct ibv_context *verbs)
{
	if (pd)
		return;
	pd = ibv_alloc_pd(verbs);
	cq = ibv_create_cq(verbs, 4 * (int)conf.window, NULL, NULL, 0);
	check(pd && cq, "objects");
	mr = ibv_reg_mr(pd, connections, conf.nb * sizeof(*connections), IBV_ACCESS_LOCAL_WRITE);
	check(mr != NULL, "ibv_reg_mr");
}

static void
make_qp(struct connection *connection)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_sge sge = { (uintptr_t)&connection->received, sizeof(connection->received),
			       mr->lkey };
	struct ibv_recv_wr *bad,
		wr = { .wr_id = (uintptr_t)connection, .sg_list = &sge, .num_sge = 1 };

	check(rdma_create_qp(connection->id, pd, &attr) == 0, "rdma_create_qp");
	check(ibv_post_recv(connection->id->qp, &wr, &bad) == 0, "ibv_post_recv");
}

static void
send_on(struct connection *connection, bool is_reply)
{
	struct ibv_sge sge = { (uintptr_t)&connection->sent, sizeof(connection->sent), mr->lkey };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND,
					.sg_list = &sge,
					.num_sge = 1,
					.send_flags = IBV_SEND_SIGNALED };

	connection->sent = message_of(connection, is_reply);
	check(ibv_post_send(connection->id->qp, &wr, &bad) == 0, "ibv_post_send");
}

/* Poll completions. The server replies to each message that it receives. */
static void
take_completions(void)
{
	const bool is_server = conf.server == NULL;
	struct ibv_wc wc[BATCH];
	int nb = cq ? ibv_poll_cq(cq, BATCH, wc) : 0;

	check(nb >= 0, "ibv_poll_cq");
	for (int i = 0; i < nb; i++) {
		struct connection *connection = (struct connection *)(uintptr_t)wc[i].wr_id;

		if (wc[i].status == IBV_WC_WR_FLUSH_ERR)
			continue;
		check(wc[i].status == IBV_WC_SUCCESS, ibv_wc_status_str(wc[i].status));
		if (wc[i].opcode != IBV_WC_RECV)
			continue;
		check(connection->received == message_of(connection, !is_server),
		      "a wrong message");
		nb_replies++;
		if (is_server)
			send_on(connection, true);
	}
}

/* --- events of librdmacm ------------------------------------------------------------------------- */

static void
accept_request(struct rdma_cm_id *id, const struct rdma_conn_param *asked)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	uint32_t nth;

	check(asked->private_data_len >= sizeof(nth), "private data");
	memcpy(&nth, asked->private_data, sizeof(nth));
	check(nth < conf.nb && !connections[nth].id, "number of a connection");
	make_objects(id->verbs);
	id->context = &connections[nth];
	connections[nth].id = id;
	make_qp(&connections[nth]);
	check(rdma_accept(id, &param) == 0, "rdma_accept");
}

static void
ask(struct connection *connection)
{
	const uint32_t nth = (uint32_t)(connection - connections);
	struct rdma_conn_param param = { .private_data = &nth,
					 .private_data_len = sizeof(nth),
					 .retry_count = 7,
					 .rnr_retry_count = 7 };

	make_objects(connection->id->verbs);
	make_qp(connection);
	check(rdma_connect(connection->id, &param) == 0, "rdma_connect");
}

/*
 * Handle an event of librdmacm.
 * @return whether the connection of the event's id has ended
 */
static bool
handle_event(struct rdma_cm_event *event)
{
	struct rdma_cm_id *id = event->id;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		check(rdma_resolve_route(id, TIMEOUT_MS) == 0, "rdma_resolve_route");
		return false;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ask(id->context);
		return false;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		accept_request(id, &event->param.conn);
		return false;
	case RDMA_CM_EVENT_ESTABLISHED:
		nb_established++;
		return false;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (!conf.server)
			check(rdma_disconnect(id) == 0, "rdma_disconnect");
		return true;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return false;
	default:
		fprintf(stderr, "cm_many: %s, status %d, after %u connections\n",
			rdma_event_str(event->event), event->status, nb_established);
		exit(1);
	}
}

static void
end_connection(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	check(rdma_destroy_id(id) == 0, "rdma_destroy_id");
	nb_ended++;
}

static void
take_events(void)
{
	struct rdma_cm_event *event;

	while (rdma_get_cm_event(channel, &event) == 0) {
		struct rdma_cm_id *id = event->id;
		const bool has_ended = handle_event(event);

		check(rdma_ack_cm_event(event) == 0, "rdma_ack_cm_event");
		if (has_ended)
			end_connection(id);
	}
	check(errno == EAGAIN, "rdma_get_cm_event");
}

/* --- the client and the server ------------------------------------------------------------------- */

static void
begin_connection(struct connection *connection)
{
	struct sockaddr_in to = address_of(conf.server, PORT);

	check(rdma_create_id(channel, &connection->id, connection, RDMA_PS_TCP) == 0,
	      "rdma_create_id");
	check(rdma_resolve_addr(connection->id, NULL, (struct sockaddr *)&to, TIMEOUT_MS) == 0,
	      "rdma_resolve_addr");
}

static void
begin_message(struct connection *connection)
{
	send_on(connection, false);
}

static void
begin_end(struct connection *connection)
{
	check(rdma_disconnect(connection->id) == 0, "rdma_disconnect");
}

/*
 * Call `begin` for each connection, and wait until `nb_done` has counted all. At most conf.window
 * connections are in progress at a time. Print the time of the phase.
 */
static void
run_phase(const char *name, void (*begin)(struct connection *connection), const unsigned *nb_done)
{
	const double since_s = now_s();
	double took_s;

	for (nb_begun = 0; *nb_done < conf.nb;) {
		while (nb_begun < conf.nb && nb_begun - *nb_done < conf.window)
			begin(&connections[nb_begun++]);
		take_events();
		take_completions();
	}
	took_s = now_s() - since_s;
	printf("%s %u in %.3f s, %.0f a second\n", name, conf.nb, took_s, conf.nb / took_s);
	fflush(stdout);
}

static void
run_client(void)
{
	run_phase("connected", begin_connection, &nb_established);
	run_phase("exchanged", begin_message, &nb_replies);
	run_phase("disconnected", begin_end, &nb_ended);
}

static void
run_server(void)
{
	struct sockaddr_in at = address_of(conf.local, PORT);
	struct rdma_cm_id *listener;

	check(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	check(rdma_bind_addr(listener, (struct sockaddr *)&at) == 0, "rdma_bind_addr");
	check(rdma_listen(listener, (int)conf.window) == 0, "rdma_listen");
	printf("listens\n");
	fflush(stdout);
	while (nb_ended < conf.nb) {
		take_events();
		take_completions();
	}
	printf("ended %u, %u messages\n", nb_ended, nb_replies);
	check(rdma_destroy_id(listener) == 0, "rdma_destroy_id");
}

static void
read_options(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "n:w:b:")) >= 0) {
		if (option == 'n')
			conf.nb = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 'w')
			conf.window = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 'b')
			conf.local = optarg;
		else
			exit(2);
	}
	conf.server = argv[optind];
	if (!conf.local)
		conf.local = "0.0.0.0";
}

int
main(int argc, char **argv)
{
	read_options(argc, argv);
	connections = calloc(conf.nb, sizeof(*connections));
	channel = rdma_create_event_channel();
	check(connections && channel, "rdma_create_event_channel");
	check(fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0, "fcntl");
	if (conf.server)
		run_client();
	else
		run_server();
	check(ibv_dereg_mr(mr) == 0 && ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0,
	      "objects");
	rdma_destroy_event_channel(channel);
	free(connections);
	return 0;
}
