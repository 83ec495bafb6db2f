/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shortest complete program: two processes send a message to each other in turn over a reliable
 * connection.
 *
 *	uroce-pingpong [EAL options] -- --uroce=PORT,addr=192.0.2.1/24           the server
 *	uroce-pingpong [EAL options] -- --uroce=PORT,addr=192.0.2.2/24 SERVER    the client
 *
 * With option -R in both commands, rdma_cm connects the queue pairs, and SERVER is 192.0.2.1.
 *
 * Read main() first. main() contains the steps of every verbs program in their order: open a
 * device, allocate objects, exchange addresses with the peer, connect, post and poll, destroy the
 * objects. SERVER is the name or the address of the server for TCP. The TCP port is 18515, or the
 * port that option -p gives to both processes. The two processes exchange the addresses of their
 * queue pairs over a TCP connection to SERVER. connect_by_cm() connects the queue pairs in fewer
 * steps and without TCP, with the calls of <uroce_cm.h>.
 *
 * The file has more than 500 lines: the whole program is in one file, which a reader can compile.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_random.h>
#include <rte_version.h>
#include <uroce.h>
#include <uroce_cm.h>
#include <uroce_version.h>

#define EXIT_USAGE    2       /* exit status after a wrong command line */
#define PORT          "18515" /* default port of the server */
#define ROUNDS        10000
#define MSG_LEN       1024
#define RESOLVE_TRIES 5
#define SILENCE_S     10 /* seconds without a message after which the peer counts as gone */
/*
 * index of the configured IP address in the GID table; entry 0 is the link-local address that is
 * derived from the MAC
 */
#define GID_INDEX 1

/*
 * The address of a queue pair, which each process sends to its peer. Numbers are in network byte
 * order.
 */
struct address {
	uint32_t qpn;      /* number of the queue pair */
	uint32_t psn;      /* PSN of the first request of this process */
	union ibv_gid gid; /* IP address of the device, as a GID */
};

static const char usage[] =
	"usage: uroce-pingpong [EAL options] -- --uroce=PORT[,key=value...] [-R] "
	"[-p PORT] [SERVER]\n\n"
	"  --uroce=PORT[,key=value...]  the device to create: an ethdev port and its addresses\n"
	"  -R, --rdma_cm                connect by rdma_cm; SERVER is the address of its device\n"
	"  -p, --port=PORT              TCP port of the exchange, with -R the RDMA port "
	"(default " PORT ")\n"
	"  -h, --help                   print this text and exit\n"
	"      --version                print the versions of uroce, DPDK and rdma-core, and "
	"exit\n\n"
	"Without SERVER this program waits for a client.\n";

/* The arguments of the command line. */
static struct {
	const char *spec;   /* specification of the device of this process */
	const char *server; /* name of the server; NULL if this process is the server */
	const char *port;   /* TCP port, or with is_cm the RDMA port, as text */
	bool is_cm;         /* rdma_cm connects the queue pairs */
} args = { .port = PORT };

static struct ibv_device *device;
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
/* with rdma_cm: the id of the QP, and the id at which the server listens */
static struct rdma_cm_id *id, *listener;
static struct {
	char out[MSG_LEN], in[MSG_LEN];
} buf;
static unsigned nb_sent, nb_received;
static int tcp;

/* Destroy all objects that exist. This function runs at exit, also after an error. */
static void
take_down(void)
{
	if (args.is_cm) {
		/* uroce_cm_destroy_ep() destroys the QP of the id as well */
		uroce_cm_destroy_ep(id);
		uroce_cm_destroy_ep(listener);
	} else if (qp) {
		uroce_destroy_qp(qp);
	}
	if (cq)
		uroce_destroy_cq(cq);
	if (mr)
		uroce_dereg_mr(mr);
	if (pd)
		uroce_dealloc_pd(pd);
	if (context && !args.is_cm)
		uroce_close_device(context);
	if (device)
		uroce_destroy_device(device);
	rte_eal_cleanup();
}

static void
check(bool is_ok, const char *complaint)
{
	if (is_ok)
		return;
	fprintf(stderr, "uroce-pingpong: %s\n", complaint);
	exit(EXIT_FAILURE);
}

/* Get the context that rdma_cm has opened for the device. rdma_cm closes this context. */
static struct ibv_context *
cm_context(void)
{
	struct ibv_context **list = uroce_cm_get_devices(NULL);
	struct ibv_context *first = list ? list[0] : NULL;

	uroce_cm_free_devices(list);
	return first;
}

/* Create a device on the port, and the objects that a connection needs besides the QP. */
static void
open_device(const char *spec)
{
	device = uroce_create_device(spec);
	if (!device)
		/* nothing is printed here: the library has printed why no device was created */
		exit(EXIT_FAILURE);
	context = args.is_cm ? cm_context() : uroce_open_device(device);
	check(context, "cannot open the device");
	check((pd = uroce_alloc_pd(context)), "no protection domain");
	check((mr = uroce_reg_mr(pd, &buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE)), "no region");
	check((cq = uroce_create_cq(context, 2, NULL, NULL, 0)), "no completion queue");
}

/* The attributes with which a QP is created. */
static struct ibv_qp_init_attr
qp_init(void)
{
	return (struct ibv_qp_init_attr){
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
}

static struct address
our_address(void)
{
	struct address address = {
		.qpn = htonl(qp->qp_num),
		.psn = htonl((uint32_t)rte_rand() & 0xffffff),
	};

	check(uroce_query_gid(context, 1, GID_INDEX, &address.gid) == 0, "no address");
	return address;
}

/* Make a TCP connection: the client connects, the server accepts. */
static int
meet(const char *server, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *ai;

	hints.ai_family = server ? AF_UNSPEC : AF_INET;
	check(getaddrinfo(server, port, &hints, &ai) == 0,
	      "the server's name, or the TCP port, is not known");
	int fd = socket(ai->ai_family, ai->ai_socktype, 0);

	if (server) {
		check(connect(fd, ai->ai_addr, ai->ai_addrlen) == 0, "the server does not answer");
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
		check(bind(fd, ai->ai_addr, ai->ai_addrlen) == 0, "the TCP port is in use");
		listen(fd, 1);
		printf("waiting for a client on TCP port %s\n", port);
		fflush(stdout);
		fd = accept(fd, NULL, NULL);
	}
	freeaddrinfo(ai);
	return fd;
}

static struct address
exchange(struct address ours)
{
	struct address theirs = { 0 };

	check(send(tcp, &ours, sizeof(ours), MSG_NOSIGNAL) == sizeof(ours) &&
		      recv(tcp, &theirs, sizeof(theirs), MSG_WAITALL) == sizeof(theirs),
	      "the peer has gone");
	return theirs;
}

/*
 * Wait until the port has a link. A virtual port has a link only when both of its ends exist and
 * are connected.
 */
static void
wait_for_link(void)
{
	struct ibv_port_attr port = { 0 };

	for (unsigned ms = 0; ms < 10000 && port.state != IBV_PORT_ACTIVE; ms++) {
		usleep(1000);
		check(uroce_query_port(context, 1, &port) == 0, "no port");
	}
	check(port.state == IBV_PORT_ACTIVE, "the port has no link");
}

/*
 * Move the QP from RESET to INIT, to RTR (ready to receive) and to RTS (ready to send). Each step
 * names the attributes that it sets.
 */
static void
connect_qp(const struct address *ours, const struct address *theirs)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .dgid = theirs->gid, .sgid_index = GID_INDEX },
		},
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = ntohl(theirs->qpn),
		.rq_psn = ntohl(theirs->psn),
		.sq_psn = ntohl(ours->psn),
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

	attr.qp_state = IBV_QPS_INIT;
	check(uroce_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_ACCESS_FLAGS) == 0,
	      "INIT fails");
	attr.qp_state = IBV_QPS_RTR;
	check(uroce_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER) == 0,
	      "no way to the peer");
	attr.qp_state = IBV_QPS_RTS;
	check(uroce_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
	      "RTS fails");
}

static void
post_recv(void)
{
	struct ibv_sge sge = { (uintptr_t)buf.in, MSG_LEN, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad_wr;

	check(ibv_post_recv(qp, &wr, &bad_wr) == 0, "cannot post a receive request");
}

/*
 * Post a SEND of a message. The program must not write to the buffer until the request has
 * completed.
 */
static void
post_send(const char *message)
{
	memcpy(buf.out, message, MSG_LEN);
	struct ibv_sge sge = { (uintptr_t)buf.out, MSG_LEN, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad_wr;

	check(ibv_post_send(qp, &wr, &bad_wr) == 0, "cannot post a send request");
}

/* Connect over TCP: exchange the addresses of the QPs, and move the QP state by state. */
static void
connect_by_tcp(void)
{
	struct ibv_qp_init_attr init = qp_init();

	check((qp = uroce_create_qp(pd, &init)), "no queue pair");
	const struct address ours = our_address();

	tcp = meet(args.server, args.port);
	const struct address theirs = exchange(ours);

	wait_for_link();
	connect_qp(&ours, &theirs);
	post_recv();
	exchange(ours); /* wait until the other process has posted its receive request */
}

/* Run the client: resolve the address of the server, create a QP, and connect the QP. */
static void
connect_to_server(struct rdma_addrinfo *server)
{
	struct ibv_qp_init_attr init = qp_init();
	int result = -1;

	wait_for_link();
	errno = ETIMEDOUT;
	/* try again, since the server may still be starting and answer no ARP or ND request yet */
	for (int i = 0; i < RESOLVE_TRIES && result != 0 && errno == ETIMEDOUT; i++)
		result = uroce_cm_create_ep(&id, server, pd, &init);
	check(result == 0, "no way to the server");
	qp = id->qp;
	post_recv();
	check(uroce_cm_connect(id, NULL) == 0, "the server does not accept the connection");
}

/*
 * Run the server: wait for a connection request, create a QP for the id of the request, and accept
 * the request.
 */
static void
accept_client(struct rdma_addrinfo *own)
{
	struct ibv_qp_init_attr init = qp_init();

	check(uroce_cm_create_ep(&listener, own, pd, &init) == 0 &&
		      uroce_cm_listen(listener, 1) == 0,
	      "the RDMA port is in use");
	printf("waiting for a client on RDMA port %s\n", args.port);
	fflush(stdout);
	check(uroce_cm_get_request(listener, &id) == 0, "no request");
	qp = id->qp;
	post_recv();
	check(uroce_cm_accept(id, NULL) == 0, "the client cannot be connected");
}

/*
 * Connect by rdma_cm, which moves the QP through its states. The receive request of each process is
 * posted before the other process can send. The ids have no event channel, so each call waits until
 * it is done.
 */
static void
connect_by_cm(void)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *found;

	if (!args.server) {
		/* the server listens at the IPv6 wildcard address, which includes IPv4 */
		hints.ai_flags = RAI_PASSIVE | RAI_FAMILY;
		hints.ai_family = AF_INET6;
	}
	check(uroce_cm_getaddrinfo(args.server, args.port, &hints, &found) == 0,
	      "the server's name, or the port, is not known");
	if (args.server)
		connect_to_server(found);
	else
		accept_client(found);
	uroce_cm_freeaddrinfo(found);
}

/*
 * End the connection. The server has sent the last message, so the server disconnects first. The
 * client waits for the event of the disconnection, and then confirms it.
 */
static void
disconnect(void)
{
	struct rdma_cm_event *event;

	if (args.server)
		check(uroce_cm_get_cm_event(id->channel, &event) == 0 &&
			      uroce_cm_ack_cm_event(event) == 0,
		      "no event");
	check(uroce_cm_disconnect(id) == 0, "the connection does not end");
}

/*
 * A QP that only waits for a message does not notice that its peer has ended. So this function
 * checks the TCP connection. With rdma_cm there is no TCP connection: the peer counts as gone when
 * SILENCE_S seconds have passed since `begin`.
 */
static void
check_peer(uint64_t begin)
{
	char byte;

	if (args.is_cm)
		check(rte_rdtsc() - begin < SILENCE_S * rte_get_tsc_hz(), "the peer has gone");
	else
		check(recv(tcp, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0, "the peer has gone");
}

/*
 * Poll the CQ until this process has sent `sent` messages and received `received` messages, counted
 * from the start.
 */
static void
wait_for(unsigned sent, unsigned received)
{
	const uint64_t begin = rte_rdtsc();
	struct ibv_wc wc;

	for (unsigned polls = 1; nb_sent < sent || nb_received < received; polls++) {
		const int nb = ibv_poll_cq(cq, 1, &wc);

		if (polls % 100000 == 0)
			check_peer(begin);
		if (nb == 0)
			continue;
		check(nb > 0, "the completion queue is lost");
		check(wc.status == IBV_WC_SUCCESS, uroce_wc_status_str(wc.status));
		++*(wc.opcode == IBV_WC_RECV ? &nb_received : &nb_sent);
	}
}

/*
 * The client sends a message, and the server returns it, in each round. Both processes check that
 * each message has the expected content.
 */
static void
play(bool is_client)
{
	char expected[MSG_LEN];

	for (unsigned round = 1; round <= ROUNDS; round++) {
		memset(expected, (int)round, MSG_LEN);
		if (is_client)
			post_send(expected);
		/* the send buffer may be written again only when the previous send has completed */
		wait_for(is_client ? round : round - 1, round);
		check(memcmp(buf.in, expected, MSG_LEN) == 0, "a message was changed on its way");
		post_recv();
		if (!is_client)
			post_send(expected);
	}
	wait_for(ROUNDS, ROUNDS);
}

/* End the program with the exit status of a wrong command line. */
static void
refuse(const char *word, const char *why)
{
	fprintf(stderr, "uroce-pingpong: %s: %s; uroce-pingpong --help shows what is allowed\n",
		word, why);
	exit(EXIT_USAGE);
}

/* Parse the own arguments of this program, which are behind `--`. argv[0] is skipped. */
static void
parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "uroce", required_argument, NULL, 'u' }, { "rdma_cm", no_argument, NULL, 'R' },
		{ "port", required_argument, NULL, 'p' },  { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },     { 0 },
	};

	for (int option; (option = getopt_long(argc, argv, ":Rp:h", options, NULL)) != -1;) {
		switch (option) {
		case 'u':
			args.spec = optarg;
			break;
		case 'R':
			args.is_cm = true;
			break;
		case 'p':
			args.port = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(EXIT_SUCCESS);
		case 'V':
			printf("uroce-pingpong: uroce %s, %s, rdma-core %s\n", UROCE_VERSION_STRING,
			       rte_version(), UROCE_RDMA_CORE_VERSION);
			exit(EXIT_SUCCESS);
		default:
			refuse(argv[optind - 1],
			       option == ':' ? "needs a value" : "unknown option");
		}
	}
	if (!args.spec)
		refuse("no device", "--uroce=PORT[,key=value...] names it");
	if (optind + 1 < argc)
		refuse(argv[optind + 1], "one argument too many after SERVER");
	args.server = argv[optind];
}

/*
 * Find the argument `--`. EAL gets the arguments before it, and this program those behind it.
 * Without `--` all arguments are those of this program.
 */
static int
split(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i;
	return 0;
}

int
main(int argc, char **argv)
{
	const int own = split(argc, argv);

	opterr = 0; /* getopt_long() prints nothing, because parse() prints what is wrong */
	parse(argc - own, argv + own);
	if (rte_eal_init(own > 0 ? own : 1, argv) < 0)
		return EXIT_FAILURE;
	atexit(take_down);
	open_device(args.spec);
	if (args.is_cm)
		connect_by_cm();
	else
		connect_by_tcp();
	const uint64_t begin = rte_rdtsc();

	play(args.server != NULL);
	printf("%d round trips of %d bytes: %.2f us each\n", ROUNDS, MSG_LEN,
	       (double)(rte_rdtsc() - begin) / (double)rte_get_tsc_hz() * 1e6 / ROUNDS);
	/*
	 * Wait for the other process, so that no process ends while the other waits for a response.
	 */
	if (args.is_cm)
		disconnect();
	else
		exchange(our_address());
	return EXIT_SUCCESS;
}
