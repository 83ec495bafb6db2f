/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the time from the arrival of the data at the peer to the completion at the sender. Two
 * processes on one machine share a clock, and have one RC connection.
 *
 *	completion [-g GID_INDEX] [-n ROUNDS] [SERVER]
 *
 * A round is a ping-pong of some messages and, directly behind it, a message without a reply. The
 * client measures each round trip, and records the completion time of the message without a reply.
 * The server records the time at which it sees that message: by a receive completion, or by the
 * last byte of a WRITE in memory. The processes exchange the times by TCP after the round. The
 * result depends on what the server does after that message: it continues to poll, or it waits for
 * TCP without further calls of verbs.
 *
 * The client prints a TAP line for each kind of message and server, with the times. The times are
 * measurements, without a limit.
 */

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

#define TCP_PORT 18517
/* number of send requests, and of receive requests, of each QP */
#define DEPTH      16
#define SIZE_MAX_B 65536 /* maximum length of a message in bytes */
#define PINGS      32    /* number of round trips before the message without a reply */
#define TIMEOUT_NS UINT64_C(60000000000) /* time limit, which only a hang exceeds */
#define LOOKS      64                    /* number of polls of the CQ between two reads of TCP */

/* How a server waits for a message, and what it does after the last message of a round. */
enum manner {
	POLL_ON,   /* the server polls its CQ, and continues to poll */
	POLL_STOP, /* the server polls its CQ, and then makes no calls */
	WATCH,     /* the server reads the last byte of its memory, and makes no calls */
	SLEEP,     /* the server sleeps on its completion channel, and then makes no calls */
};

static const char *const manners[] = {
	[POLL_ON] = "polls on",
	[POLL_STOP] = "polls, then stops",
	[WATCH] = "watches memory",
	[SLEEP] = "sleeps",
};

/* The data that the two processes exchange to connect their QPs. */
struct address {
	uint64_t memory;
	uint32_t rkey;
	uint32_t qp_num;
	union ibv_gid gid;
};

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	/* SIZE_MAX_B bytes for received data, and then SIZE_MAX_B bytes for data to send */
	uint8_t *memory;
	struct address peer;
	int tcp;
	uint8_t gid_index;
	/* number of send requests that were posted, and that have completed */
	unsigned nb_posted, nb_sent;
	unsigned nb_received;
};

/* A measurement, which has a row in the result. */
struct kind {
	enum ibv_wr_opcode opcode;
	uint32_t size;
	enum manner manner;
	unsigned nb_pings;
};

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
tell(const struct end *end, const void *what, size_t len)
{
	tap_need(write(end->tcp, what, len) == (ssize_t)len, "TCP: write");
}

static void
hear(const struct end *end, void *what, size_t len)
{
	tap_need(recv(end->tcp, what, len, MSG_WAITALL) == (ssize_t)len, "TCP: recv");
}

static void
meet(struct end *end, const char *server)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(TCP_PORT) };
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	const int on = 1;

	tap_need(fd >= 0, "socket");
	end->tcp = fd;
	if (server) {
		tap_need(inet_pton(AF_INET, server, &name.sin_addr) == 1,
			 "SERVER is an IPv4 address");
		tap_need(connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0, "connect");
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	tap_need(bind(fd, (struct sockaddr *)&name, sizeof(name)) == 0, "bind");
	tap_need(listen(fd, 1) == 0, "listen");
	end->tcp = accept(fd, NULL, NULL);
	tap_need(end->tcp >= 0, "accept");
	close(fd);
}

static void
open_end(struct end *end)
{
	struct ibv_device **const list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	tap_need(list != NULL && list[0] != NULL, "ibv_get_device_list");
	end->context = ibv_open_device(list[0]);
	tap_need(end->context != NULL, "ibv_open_device");
	ibv_free_device_list(list);
	end->pd = ibv_alloc_pd(end->context);
	end->channel = ibv_create_comp_channel(end->context);
	end->cq = ibv_create_cq(end->context, 2 * DEPTH, NULL, end->channel, 0);
	end->memory = aligned_alloc(4096, 2 * SIZE_MAX_B);
	tap_need(end->pd && end->channel && end->cq && end->memory, "PD, channel, CQ, memory");
	memset(end->memory, 0, 2 * SIZE_MAX_B);
	end->mr = ibv_reg_mr(end->pd, end->memory, 2 * SIZE_MAX_B,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	tap_need(end->mr != NULL, "ibv_reg_mr");
	init.send_cq = init.recv_cq = end->cq;
	end->qp = ibv_create_qp(end->pd, &init);
	tap_need(end->qp != NULL, "ibv_create_qp");
}

static void
exchange(struct end *end)
{
	struct address own = { .memory = (uintptr_t)end->memory,
			       .rkey = end->mr->rkey,
			       .qp_num = end->qp->qp_num };

	tap_need(ibv_query_gid(end->context, 1, end->gid_index, &own.gid) == 0, "ibv_query_gid");
	tell(end, &own, sizeof(own));
	hear(end, &end->peer, sizeof(end->peer));
}

static enum ibv_mtu
active_mtu(const struct end *end)
{
	struct ibv_port_attr attr;

	tap_need(ibv_query_port(end->context, 1, &attr) == 0, "ibv_query_port");
	return attr.active_mtu;
}

static void
connect_end(struct end *end)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	tap_need(ibv_modify_qp(end->qp, &attr,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       IBV_QP_ACCESS_FLAGS) == 0,
		 "INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = active_mtu(end),
		.dest_qp_num = end->peer.qp_num,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .sgid_index = end->gid_index,
				      .hop_limit = 64,
				      .dgid = end->peer.gid } },
	};
	tap_need(ibv_modify_qp(end->qp, &attr,
			       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER) == 0,
		 "RTR");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7
	};
	tap_need(ibv_modify_qp(end->qp, &attr,
			       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
		 "RTS");
}

static void
post_receive(struct end *end)
{
	struct ibv_sge sge = { (uintptr_t)end->memory, SIZE_MAX_B, end->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	tap_need(ibv_post_recv(end->qp, &wr, &bad) == 0, "ibv_post_recv");
}

static void
poll_cq(struct end *end)
{
	struct ibv_wc wc[4];
	const int nb = ibv_poll_cq(end->cq, 4, wc);

	tap_need(nb >= 0, "ibv_poll_cq");
	for (int i = 0; i < nb; i++) {
		tap_need(wc[i].status == IBV_WC_SUCCESS, ibv_wc_status_str(wc[i].status));
		if (wc[i].opcode & IBV_WC_RECV)
			end->nb_received++;
		else
			end->nb_sent++;
	}
}

/*
 * Poll the CQ until at most `nb` send requests are pending.
 * @return false: that took longer than TIMEOUT_NS
 */
static bool
settle(struct end *end, unsigned nb)
{
	const uint64_t end_ns = now_ns() + TIMEOUT_NS;

	while (end->nb_posted - end->nb_sent > nb) {
		if (now_ns() > end_ns)
			return false;
		poll_cq(end);
	}
	return true;
}

static void
post_message(struct end *end, const struct kind *kind, uint8_t number)
{
	uint8_t *const message = end->memory + SIZE_MAX_B;
	struct ibv_sge sge = { (uintptr_t)message, kind->size, end->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = kind->opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { end->peer.memory, end->peer.rkey } };
	struct ibv_send_wr *bad;

	tap_need(settle(end, DEPTH - 1), "earlier sends complete");
	message[kind->size - 1] = number;
	tap_need(ibv_post_send(end->qp, &wr, &bad) == 0, "ibv_post_send");
	end->nb_posted++;
}

/*
 * Take the message with this number, if it has arrived. A WRITE is detected by its last byte in
 * memory, and a SEND by its completion.
 * @return whether the message has arrived
 */
static bool
take_message(struct end *end, const struct kind *kind, uint8_t number)
{
	if (kind->opcode == IBV_WR_RDMA_WRITE)
		return __atomic_load_n(&end->memory[kind->size - 1], __ATOMIC_ACQUIRE) == number;
	if (end->nb_received == 0)
		return false;
	end->nb_received--;
	return true;
}

static void
sleep_on_channel(struct end *end)
{
	struct ibv_cq *cq;
	void *context;

	tap_need(ibv_get_cq_event(end->channel, &cq, &context) == 0, "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	tap_need(ibv_req_notify_cq(cq, 0) == 0, "ibv_req_notify_cq");
	poll_cq(end);
}

static void
wait_message(struct end *end, const struct kind *kind, enum manner manner, uint8_t number)
{
	const uint64_t end_ns = now_ns() + TIMEOUT_NS;

	while (!take_message(end, kind, number)) {
		if (manner == SLEEP)
			sleep_on_channel(end);
		else if (manner != WATCH)
			poll_cq(end);
		tap_need(now_ns() < end_ns, "a message comes");
	}
}

/*
 * Wait until the client reports by TCP that it has polled its completion. With POLL_ON the server
 * polls its own CQ during the wait.
 */
static void
wait_client(struct end *end, enum manner manner)
{
	char byte;

	if (manner == POLL_ON)
		while (recv(end->tcp, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0)
			for (unsigned i = 0; i < LOOKS; i++)
				poll_cq(end);
	hear(end, &byte, 1);
}

static void
replace_receive(struct end *end, const struct kind *kind)
{
	if (kind->opcode == IBV_WR_SEND)
		post_receive(end);
}

static void
serve_round(struct end *end, const struct kind *kind)
{
	uint64_t seen_ns;

	for (unsigned i = 1; i <= kind->nb_pings; i++) {
		wait_message(end, kind, kind->manner, i);
		post_message(end, kind, i);
		replace_receive(end, kind);
		/*
		 * A server of kind WATCH calls verbs only after a post, as ib_write_lat does: it
		 * polls until the reply has completed.
		 */
		if (kind->manner == WATCH)
			tap_need(settle(end, 0), "an answer completes");
	}
	wait_message(end, kind, kind->manner, kind->nb_pings + 1);
	seen_ns = now_ns();
	wait_client(end, kind->manner);
	tap_need(settle(end, 0), "the answers complete");
	replace_receive(end, kind);
	end->memory[kind->size - 1] = 0;
	tell(end, &seen_ns, sizeof(seen_ns));
}

/*
 * Execute a round of the client.
 * @param[out] trip_ns the round trips
 * @param[out] late_ns time of the last message's completion, minus the time at which the server saw
 * it
 * @return whether the last message has completed
 */
static bool
run_round(struct end *end, const struct kind *kind, double *trip_ns, double *late_ns)
{
	uint64_t began_ns, seen_ns;

	for (unsigned i = 1; i <= kind->nb_pings; i++) {
		began_ns = now_ns();
		post_message(end, kind, i);
		wait_message(end, kind, POLL_ON, i);
		trip_ns[i - 1] = (double)(now_ns() - began_ns);
		replace_receive(end, kind);
	}
	end->memory[kind->size - 1] = 0;
	post_message(end, kind, kind->nb_pings + 1);
	const bool is_complete = settle(end, 0);
	const uint64_t complete_ns = now_ns();

	tell(end, "", 1);
	hear(end, &seen_ns, sizeof(seen_ns));
	*late_ns = (double)(int64_t)(complete_ns - seen_ns);
	return is_complete;
}

static int
compare(const void *one, const void *other)
{
	const double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

/* The value that `percent` of the values do not exceed. */
static double
percentile(double *values, unsigned nb, unsigned percent)
{
	qsort(values, nb, sizeof(*values), compare);
	return values[(nb - 1) * percent / 100];
}

/*
 * Execute the rounds of a measurement, and print the result.
 * @param trip_ns  round trip of an earlier measurement
 * @return median of the round trips; `trip_ns`: this kind has no ping-pong
 */
static double
measure(struct end *end, const struct kind *kind, unsigned nb_rounds, double trip_ns)
{
	double *const trips = calloc((size_t)nb_rounds * PINGS, sizeof(*trips));
	double *const late = calloc(nb_rounds, sizeof(*late));
	bool is_complete = true;

	tap_need(trips && late, "memory");
	for (unsigned i = 0; i < nb_rounds; i++)
		is_complete &= run_round(end, kind, trips + (size_t)i * kind->nb_pings, late + i);
	if (kind->nb_pings > 0)
		trip_ns = percentile(trips, nb_rounds * kind->nb_pings, 50);
	const double median_ns = percentile(late, nb_rounds, 50);

	tap_test(is_complete,
		 "%s of %" PRIu32
		 " bytes, the peer %s, %u round trips before: every completion comes",
		 kind->opcode == IBV_WR_SEND ? "SEND" : "WRITE", kind->size, manners[kind->manner],
		 kind->nb_pings);
	printf("# round trip %.1f us, completion %.1f us after the data (10%%: %.1f, 90%%: %.1f, "
	       "99%%: %.1f), "
	       "ratio %.2f\n",
	       trip_ns / 1000, median_ns / 1000, percentile(late, nb_rounds, 10) / 1000,
	       percentile(late, nb_rounds, 90) / 1000, percentile(late, nb_rounds, 99) / 1000,
	       median_ns / trip_ns);
	free(trips);
	free(late);
	return trip_ns;
}

static void
run_kinds(struct end *end, bool is_server, unsigned nb_rounds)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		enum manner manner;
	} cases[] = {
		{ IBV_WR_RDMA_WRITE, POLL_ON }, { IBV_WR_RDMA_WRITE, POLL_STOP },
		{ IBV_WR_RDMA_WRITE, WATCH },   { IBV_WR_SEND, POLL_ON },
		{ IBV_WR_SEND, POLL_STOP },     { IBV_WR_SEND, SLEEP },
	};
	static const uint32_t sizes[] = { 64, SIZE_MAX_B };
	static const unsigned pings[] = { PINGS, 0 };

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]) * 4; i++) {
		const struct kind kind = { cases[i / 4].opcode, sizes[i / 2 % 2],
					   cases[i / 4].manner, pings[i % 2] };
		static double trip_ns;

		for (unsigned round = 0; is_server && round < nb_rounds; round++)
			serve_round(end, &kind);
		if (!is_server)
			trip_ns = measure(end, &kind, nb_rounds, trip_ns);
	}
}

/* Parse a number from 0 to `max`. The program ends if the text is no such number. */
static unsigned
number_of(const char *text, unsigned max)
{
	char *behind;
	const unsigned long number = strtoul(text, &behind, 10);

	tap_need(behind != text && *behind == '\0' && number <= max,
		 "GID_INDEX is 0 to 255, ROUNDS 1 to 100000");
	return (unsigned)number;
}

int
main(int argc, char **argv)
{
	struct end end = { .gid_index = 1 };
	unsigned nb_rounds = 200;

	for (int option; (option = getopt(argc, argv, "g:n:")) != -1;) {
		tap_need(option != '?', "completion [-g GID_INDEX] [-n ROUNDS] [SERVER]");
		if (option == 'g')
			end.gid_index = (uint8_t)number_of(optarg, 255);
		else
			nb_rounds = number_of(optarg, 100000);
	}
	tap_need(nb_rounds > 0, "ROUNDS is 1 to 100000");
	const bool is_server = optind == argc;
	char ready = 0;

	open_end(&end);
	meet(&end, argv[optind]);
	exchange(&end);
	connect_end(&end);
	for (unsigned i = 0; i < DEPTH; i++)
		post_receive(&end);
	tap_need(ibv_req_notify_cq(end.cq, 0) == 0, "ibv_req_notify_cq");
	tell(&end, &ready, 1);
	hear(&end, &ready, 1);
	run_kinds(&end, is_server, nb_rounds);
	tell(&end, &ready, 1);
	hear(&end, &ready, 1);
	ibv_destroy_qp(end.qp);
	ibv_dereg_mr(end.mr);
	ibv_destroy_cq(end.cq);
	ibv_destroy_comp_channel(end.channel);
	ibv_dealloc_pd(end.pd);
	ibv_close_device(end.context);
	free(end.memory);
	return is_server ? 0 : tap_end();
}
