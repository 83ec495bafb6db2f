/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions that both processes of an example use. An alarm ends a process that has exchanged
 * nothing with the other one for a minute.
 */

#define _GNU_SOURCE 1 /* required by POLLRDHUP and by program_invocation_short_name */

#include "side.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <endian.h>
#include <rte_eal.h>
#include <rte_random.h>

#define TCP_PORT "18516"
/*
 * index of the configured IP address in the GID table; entry 0 is the link-local address that is
 * derived from the MAC
 */
#define GID_INDEX 1
#define TIMEOUT_S 60
#define CONNECT_S 60 /* maximum time in seconds until the server has started */
#define RD_ATOMIC 4  /* number of READs and atomics that may be outstanding */

/* The address of a QP as sent to the other process, in network byte order. */
struct message {
	uint32_t qpn, psn, mtu;
	union ibv_gid gid;
};

void
check(bool is_ok, const char *format, ...)
{
	va_list args;

	if (is_ok)
		return;
	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

/* --- the other side ---------------------------------------------------------------------------- */

static void
give_up(int signal_number)
{
	static const char text[] = ": the other side has said nothing for a minute\n";
	const char *name = program_invocation_short_name;

	(void)signal_number;
	_exit(write(STDERR_FILENO, name, strlen(name)) < 0 ||
			      write(STDERR_FILENO, text, sizeof(text) - 1) < 0
		      ? 2
		      : EXIT_FAILURE);
}

/*
 * Connect to the first address in the list `ai` that accepts the connection.
 * @return the socket; -1 with errno set if no address accepts the connection
 */
static int
try_connect(const struct addrinfo *ai)
{
	int fd = -1;

	for (; ai && fd < 0; ai = ai->ai_next) {
		fd = socket(ai->ai_family, ai->ai_socktype, 0);
		if (fd < 0 || connect(fd, ai->ai_addr, ai->ai_addrlen) == 0)
			continue;
		const int error = errno;

		close(fd);
		errno = error;
		fd = -1;
	}
	return fd;
}

/*
 * Connect to the server. A server that was started at the same time listens a moment later, so a
 * refused connection is tried again for CONNECT_S seconds.
 */
static int
connect_to(const struct addrinfo *ai, const char *server)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	const time_t end = time(NULL) + CONNECT_S;
	int fd = try_connect(ai);

	while (fd < 0 && errno == ECONNREFUSED && time(NULL) < end) {
		nanosleep(&pause, NULL);
		fd = try_connect(ai);
	}
	check(fd >= 0, "%s does not answer", server);
	return fd;
}

static int
accept_client(const struct addrinfo *ai, const char *port)
{
	const int listener = socket(ai->ai_family, ai->ai_socktype, 0);
	int fd;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	check(bind(listener, ai->ai_addr, ai->ai_addrlen) == 0, "TCP port %s is in use", port);
	listen(listener, 1);
	printf("waiting for a client on TCP port %s\n", port);
	fflush(stdout);
	fd = accept(listener, NULL, NULL);
	close(listener);
	return fd;
}

/* Make a TCP connection: the client connects, the server accepts. */
static int
meet(const char *server, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *ai;
	int fd;

	hints.ai_family = server ? AF_UNSPEC : AF_INET;
	check(getaddrinfo(server, port, &hints, &ai) == 0, "%s, TCP port %s: not known",
	      server ? server : "this host", port);
	fd = server ? connect_to(ai, server) : accept_client(ai, port);
	freeaddrinfo(ai);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	return fd;
}

static void
swap(const struct side *side, const void *ours, void *theirs, size_t len)
{
	alarm(TIMEOUT_S);
	check(send(side->tcp, ours, len, MSG_NOSIGNAL) == (ssize_t)len &&
		      recv(side->tcp, theirs, len, MSG_WAITALL) == (ssize_t)len,
	      "the other side has gone");
}

uint64_t
side_swap(const struct side *side, uint64_t ours)
{
	uint64_t theirs;

	ours = htobe64(ours);
	swap(side, &ours, &theirs, sizeof(ours));
	return be64toh(theirs);
}

void
side_sync(const struct side *side)
{
	(void)side_swap(side, 0);
}

/* --- begin and end ----------------------------------------------------------------------------- */

/*
 * Wait until the port has a link. A virtual port has a link only when both of its ends exist and
 * are connected.
 */
static void
wait_for_link(const struct side *side)
{
	struct ibv_port_attr port = { 0 };

	for (unsigned ms = 0; ms < TIMEOUT_S * 1000 && port.state != IBV_PORT_ACTIVE; ms++) {
		usleep(1000);
		check(uroce_query_port(side->context, 1, &port) == 0, "no port");
	}
	check(port.state == IBV_PORT_ACTIVE, "the port has no link");
}

const char *
side_begin(struct side *side, int argc, char **argv)
{
	static const struct option options[] = { { "uroce", required_argument, NULL, 'u' },
						 { "port", required_argument, NULL, 'p' },
						 { 0 } };
	const char *spec = NULL;
	const int nb_eal_args = rte_eal_init(argc, argv);
	int option;

	if (nb_eal_args < 0)
		exit(EXIT_FAILURE);
	argc -= nb_eal_args;
	argv += nb_eal_args;
	side->tcp_port = TCP_PORT;
	while ((option = getopt_long(argc, argv, "", options, NULL)) == 'u' || option == 'p')
		*(option == 'u' ? &spec : &side->tcp_port) = optarg;
	check(option == -1 && spec && argc - optind <= 1,
	      "usage: [EAL options] -- --uroce=PORT[,key=value...] [--port TCP-PORT] [SERVER]");
	side->server = argv[optind];
	side->is_client = side->server != NULL;
	return spec;
}

void
side_open_device(struct side *side, struct ibv_device *device)
{
	/* the library has printed why the device was not created, so nothing is printed here */
	if (!device)
		exit(EXIT_FAILURE);
	side->device = device;
	check((side->context = uroce_open_device(device)), "cannot open the device");
	check((side->pd = uroce_alloc_pd(side->context)), "no protection domain");
	check(fcntl(side->context->async_fd, F_SETFL, O_NONBLOCK) == 0, "events would block");
}

void
side_call(struct side *side)
{
	side->tcp = meet(side->server, side->tcp_port);
}

void
side_join(struct side *side)
{
	if (side->tcp == 0)
		side_call(side);
	signal(SIGALRM, give_up);
	side_sync(side);
	wait_for_link(side);
}

void
side_open(struct side *side, int argc, char **argv)
{
	const char *spec = side_begin(side, argc, argv);

	side_open_device(side, uroce_create_device(spec));
	side_join(side);
}

void
side_close_device(struct side *side)
{
	side_sync(side);
	check(uroce_dealloc_pd(side->pd) == 0, "the protection domain is in use");
	check(uroce_close_device(side->context) == 0, "the context is in use");
	check(uroce_destroy_device(side->device) == 0, "the device is in use");
	close(side->tcp);
}

void
side_close(struct side *side)
{
	side_close_device(side);
	rte_eal_cleanup();
}

/* --- connections ------------------------------------------------------------------------------- */

static enum ibv_mtu
active_mtu(const struct side *side)
{
	struct ibv_port_attr port;

	check(uroce_query_port(side->context, 1, &port) == 0, "no port");
	return port.active_mtu;
}

struct side_link
side_meet(const struct side *side, uint32_t qpn)
{
	struct side_link link = { .ours = { qpn, (uint32_t)rte_rand() & 0xffffff, { { 0 } } } };
	const enum ibv_mtu our_mtu = active_mtu(side);
	struct message ours, theirs;

	check(uroce_query_gid(side->context, 1, GID_INDEX, &link.ours.gid) == 0, "no address");
	ours = (struct message){ htonl(qpn), htonl(link.ours.psn), htonl(our_mtu), link.ours.gid };
	swap(side, &ours, &theirs, sizeof(ours));
	link.theirs = (struct side_address){ ntohl(theirs.qpn), ntohl(theirs.psn), theirs.gid };
	link.mtu = (enum ibv_mtu)ntohl(theirs.mtu);
	if (link.mtu > our_mtu)
		link.mtu = our_mtu;
	return link;
}

/*
 * The masks of the attributes that each transition of a QP needs, for each QP type
 * [ibv_modify_qp(3)].
 */
static const struct {
	int init, rtr, rts;
} masks[] = {
#define INIT (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR  (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define SEND (IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)
#define RECV (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
	[IBV_QPT_RC] = { INIT, RTR | RECV, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | SEND },
	[IBV_QPT_XRC_SEND] = { INIT, RTR, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | SEND },
	[IBV_QPT_XRC_RECV] = { INIT, RTR | RECV, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT },
};

int
side_attr(const struct side_link *link, enum ibv_qp_type type, enum ibv_qp_state state,
	  struct ibv_qp_attr *attr)
{
	*attr = (struct ibv_qp_attr){
		.qp_state = state,
		.port_num = 1,
		.qp_access_flags = SIDE_ACCESS,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .dgid = link->theirs.gid, .sgid_index = GID_INDEX },
		},
		.path_mtu = link->mtu,
		.dest_qp_num = link->theirs.qpn,
		.rq_psn = link->theirs.psn,
		.sq_psn = link->ours.psn,
		.max_rd_atomic = RD_ATOMIC,
		.max_dest_rd_atomic = RD_ATOMIC,
		/*
		 * the peer repeats a request after 0.64 ms if this QP has no receive request for it
		 */
		.min_rnr_timer = 12,
		/*
		 * repeat a request without limit if the peer has no receive request (7 means: no
		 * limit)
		 */
		.rnr_retry = 7,
		/*
		 * repeat a request without a response after 1.07 s, because a busy CPU may not run
		 * the peer for some time
		 */
		.timeout = 18,
		.retry_cnt = 7,
	};
	return IBV_QP_STATE | (state == IBV_QPS_INIT  ? masks[type].init
			       : state == IBV_QPS_RTR ? masks[type].rtr
						      : masks[type].rts);
}

void
side_raise(const struct side_link *link, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr;

	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		const int mask = side_attr(link, qp->qp_type, state, &attr);
		const int error = uroce_modify_qp(qp, &attr, mask);

		check(error == 0, "a QP does not connect: %s", strerror(error));
	}
}

void
side_connect(const struct side *side, struct ibv_qp *qp)
{
	const struct side_link link = side_meet(side, qp->qp_num);

	side_raise(&link, qp);
	/*
	 * Wait until the peer's QP is in RTS, too. A packet that arrives at a QP in RTR would raise
	 * an asynchronous event, which the example does not expect.
	 */
	side_sync(side);
}

/* --- waiting ----------------------------------------------------------------------------------- */

/*
 * A QP that only waits for a message does not notice that its peer has ended. So this function
 * checks the TCP connection.
 */
void
side_idle(const struct side *side)
{
	static unsigned calls;
	char byte;

	if (++calls % 100000 == 0)
		check(recv(side->tcp, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0,
		      "the other side has gone");
}

struct ibv_wc
side_wait(const struct side *side, struct ibv_cq *cq, enum ibv_wc_status status)
{
	struct ibv_wc wc;
	int nb;

	while ((nb = ibv_poll_cq(cq, 1, &wc)) == 0)
		side_idle(side);
	check(nb > 0, "the completion queue is lost");
	check(wc.status == status, "request %lu ends with '%s', and not with '%s'",
	      (unsigned long)wc.wr_id, uroce_wc_status_str(wc.status), uroce_wc_status_str(status));
	return wc;
}

void
side_wait_fd(const struct side *side, int fd)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
				{ .fd = side->tcp, .events = POLLRDHUP } };

	check(poll(fds, 2, -1) > 0 && fds[0].revents, "the other side has gone");
}

bool
side_event(const struct side *side, struct ibv_async_event *event)
{
	while (uroce_get_async_event(side->context, event) == 0) {
		if (event->event_type != IBV_EVENT_PORT_ACTIVE &&
		    event->event_type != IBV_EVENT_PORT_ERR &&
		    event->event_type != IBV_EVENT_GID_CHANGE)
			return true;
		uroce_ack_async_event(event);
	}
	return false;
}

/* --- messages ---------------------------------------------------------------------------------- */

static uint8_t
byte_of(size_t place, unsigned number)
{
	/* bit 0 is set, so that a filled byte is never zero */
	return (uint8_t)((place * 167 + number * 2654435761u) >> 3) | 1;
}

void
fill(void *buf, size_t len, unsigned number)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)buf)[i] = byte_of(i, number);
}

bool
is_filled(const void *buf, size_t len, unsigned number)
{
	for (size_t i = 0; i < len; i++)
		if (((const uint8_t *)buf)[i] != byte_of(i, number))
			return false;
	return true;
}
