/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks whether a SEND that the peer has received completes with success if both ends stop at
 * once.
 *
 *	last_send [-c CONNECTIONS] [-m MESSAGES] [-w MICROSECONDS] [-s] [-e] [-g GID_INDEX] [SERVER]
 *
 * The server replies to all messages but the last one. It polls the completion of the last message,
 * notifies the client by TCP, and moves its QP to ERR. The client receives the notification, waits
 * for MICROSECONDS, and moves its own QP to ERR. Then it counts how many of its SENDs were flushed,
 * and prints the number. The client exits with 1 if the number is not 0.
 *
 *	-s   poll TCP continuously instead of a blocking call
 *	-e   wait for completions by events instead of polls
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define TCP_PORT "18519"
#define LEN      64
/* code of the ACK timeout, 1.07 s: on a busy machine the peer may get no CPU for some time */
#define ACK_TIMEOUT 18

struct address {
	union ibv_gid gid;
	uint32_t qpn;
	uint32_t psn;
};

static struct {
	unsigned nb_connections;
	unsigned nb_messages;
	unsigned wait_us;
	unsigned gid_index;
	bool has_events;
	bool is_spinning;
} conf = { .nb_connections = 50, .nb_messages = 1, .gid_index = 1 };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_comp_channel *channel;
static char buffer[LEN];

static void
fail(const char *what)
{
	fprintf(stderr, "last_send: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void
check(int ret, const char *what)
{
	if (ret == 0)
		return;
	errno = ret;
	fail(what);
}

static void
open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list || !list[0])
		fail("no device");
	context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	if (!context)
		fail("ibv_open_device");
	pd = ibv_alloc_pd(context);
	mr = pd ? ibv_reg_mr(pd, buffer, LEN, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!mr)
		fail("ibv_reg_mr");
	if (conf.has_events)
		channel = ibv_create_comp_channel(context);
}

static int
connect_tcp(const char *server)
{
	const struct addrinfo hints = { .ai_family = AF_INET,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = server ? 0 : AI_PASSIVE };
	struct addrinfo *found;
	const int one = 1;
	int fd, listener;

	if (getaddrinfo(server, TCP_PORT, &hints, &found) != 0)
		fail("getaddrinfo");
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (server) {
		if (connect(fd, found->ai_addr, found->ai_addrlen) != 0)
			fail("connect");
	} else {
		listener = fd;
		setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(listener, found->ai_addr, found->ai_addrlen) != 0 ||
		    listen(listener, 1) != 0)
			fail("listen");
		fd = accept(listener, NULL, NULL);
		close(listener);
	}
	freeaddrinfo(found);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void
write_all(int fd, const void *what, size_t len)
{
	if (write(fd, what, len) != (ssize_t)len)
		fail("write");
}

static void
read_all(int fd, void *what, size_t len)
{
	if (conf.is_spinning)
		while (recv(fd, what, len, MSG_PEEK | MSG_DONTWAIT) < (ssize_t)len &&
		       errno == EAGAIN)
			;
	if (recv(fd, what, len, MSG_WAITALL) != (ssize_t)len)
		fail("recv");
}

static struct ibv_qp *
connect_qp(int fd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = { .send_cq = cq,
					 .recv_cq = cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 64,
						  .max_recv_wr = 64,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct address ours = { .psn = (uint32_t)random() & 0xffffff }, theirs;

	if (!qp)
		fail("ibv_create_qp");
	check(ibv_query_gid(context, 1, (int)conf.gid_index, &ours.gid), "ibv_query_gid");
	ours.qpn = qp->qp_num;
	check(ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	      "to INIT");
	write_all(fd, &ours, sizeof(ours));
	read_all(fd, &theirs, sizeof(theirs));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = theirs.qpn,
		.rq_psn = theirs.psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = theirs.gid,
				      .sgid_index = (uint8_t)conf.gid_index,
				      .hop_limit = 64 } },
	};
	check(ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	      "to RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .sq_psn = ours.psn,
				     .timeout = ACK_TIMEOUT,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	check(ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
	      "to RTS");
	return qp;
}

static void
take(struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct ibv_cq *from;
	void *cookie;
	int nb;

	while ((nb = ibv_poll_cq(cq, 1, wc)) == 0) {
		if (!channel)
			continue;
		check(ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
		if ((nb = ibv_poll_cq(cq, 1, wc)) != 0)
			break;
		if (ibv_get_cq_event(channel, &from, &cookie) != 0)
			fail("ibv_get_cq_event");
		ibv_ack_cq_events(from, 1);
	}
	if (nb < 0)
		fail("ibv_poll_cq");
}

static void
post_recv(struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)buffer, LEN, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	check(ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
}

static void
post_send(struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)buffer, LEN, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	check(ibv_post_send(qp, &wr, &bad), "ibv_post_send");
}

static void
wait_us(unsigned us)
{
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += us * 1000L;
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - end.tv_sec) * 1000000000L + now.tv_nsec - end.tv_nsec < 0);
}

/*
 * Send messages and wait for the reply to each. Then send the last message, and move the QP to ERR
 * as soon as the server has received it.
 * @return number of flushed SENDs
 */
static unsigned
run_client(int fd, struct ibv_cq *cq)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp *qp = connect_qp(fd, cq);
	struct ibv_wc wc;
	unsigned nb_flushed = 0, nb_sent = 0;
	char word;

	for (unsigned i = 1; i < conf.nb_messages; i++)
		post_recv(qp);
	write_all(fd, "r", 1);
	read_all(fd, &word, 1);
	for (unsigned i = 0; i < conf.nb_messages; i++) {
		post_send(qp);
		/* poll until the reply; completions of SENDs come before it */
		for (unsigned got = 0; i + 1 < conf.nb_messages && !got;) {
			take(cq, &wc);
			if (wc.status != IBV_WC_SUCCESS)
				fail(ibv_wc_status_str(wc.status));
			got = wc.opcode == IBV_WC_RECV;
			nb_sent += wc.opcode == IBV_WC_SEND;
		}
	}
	read_all(fd, &word, 1);
	if (conf.wait_us)
		wait_us(conf.wait_us);
	check(ibv_modify_qp(qp, &error, IBV_QP_STATE), "to ERR");
	while (nb_sent < conf.nb_messages) {
		take(cq, &wc);
		if (wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_WR_FLUSH_ERR)
			fail(ibv_wc_status_str(wc.status));
		nb_flushed += wc.status == IBV_WC_WR_FLUSH_ERR;
		nb_sent++;
	}
	check(ibv_destroy_qp(qp), "ibv_destroy_qp");
	return nb_flushed;
}

static void
run_server(int fd, struct ibv_cq *cq)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp *qp = connect_qp(fd, cq);
	struct ibv_wc wc;
	char word;

	for (unsigned i = 0; i < conf.nb_messages; i++)
		post_recv(qp);
	read_all(fd, &word, 1);
	write_all(fd, "r", 1);
	for (unsigned i = 0; i < conf.nb_messages;) {
		take(cq, &wc);
		if (wc.status != IBV_WC_SUCCESS)
			fail(ibv_wc_status_str(wc.status));
		if (wc.opcode != IBV_WC_RECV)
			continue;
		if (++i < conf.nb_messages)
			post_send(qp);
	}
	write_all(fd, "d", 1);
	check(ibv_modify_qp(qp, &error, IBV_QP_STATE), "to ERR");
	check(ibv_destroy_qp(qp), "ibv_destroy_qp");
}

/*
 * Wait until the client has ended. If this process ended first, its memif ring would disappear,
 * with an ACK that the client has not received.
 */
static void
await_end(int fd)
{
	char word;

	while (read(fd, &word, 1) > 0)
		;
}

static unsigned
number(const char *text)
{
	char *end;
	const unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end != '\0' || value > 1000000) {
		fprintf(stderr, "last_send: %s: a number up to 1000000 is allowed\n", text);
		exit(2);
	}
	return (unsigned)value;
}

int
main(int argc, char **argv)
{
	unsigned nb_flushed = 0;
	const char *server;
	struct ibv_cq *cq;
	int opt, fd;

	while ((opt = getopt(argc, argv, "c:w:g:m:es")) != -1) {
		switch (opt) {
		case 'c':
			conf.nb_connections = number(optarg);
			break;
		case 'w':
			conf.wait_us = number(optarg);
			break;
		case 'g':
			conf.gid_index = number(optarg);
			break;
		case 'm':
			conf.nb_messages = number(optarg);
			break;
		case 'e':
			conf.has_events = true;
			break;
		case 's':
			conf.is_spinning = true;
			break;
		default:
			return 2;
		}
	}
	server = argv[optind];
	srandom((unsigned)getpid());
	open_device();
	fd = connect_tcp(server);
	for (unsigned i = 0; i < conf.nb_connections; i++) {
		if (!(cq = ibv_create_cq(context, 256, NULL, channel, 0)))
			fail("ibv_create_cq");
		if (server)
			nb_flushed += run_client(fd, cq);
		else
			run_server(fd, cq);
		check(ibv_destroy_cq(cq), "ibv_destroy_cq");
	}
	if (server)
		printf("%u SENDs of %u connections were flushed\n", nb_flushed,
		       conf.nb_connections);
	else
		await_end(fd);
	return nb_flushed > 0;
}
