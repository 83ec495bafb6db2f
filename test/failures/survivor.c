/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of an RC connection whose other end is going to fail. test/failures/survivors.py runs two
 * of these processes, causes a failure, and checks the report of the remaining one.
 *
 *	survivor [EAL options] -- DEVICE OPERATION WAIT TIMEOUT_CODE RETRY_CNT
 *
 * OPERATION is write, read, send or fetch-add for the requester, respond for the responder. WAIT is
 * poll, or sleep (in a completion channel). Each process prints a line with its address and reads
 * the peer's line, which survivors.py passes on. Then it prints `ready`. The requester keeps its
 * send queue full. It prints `flowing` once completions come, and after the first error a line with
 * its report. The responder runs until its input ends.
 */

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rte_eal.h>
#include <rte_random.h>
#include <uroce.h>

#define RESOLVE_NS UINT64_C(25000000000)
#define DEPTH      16u
#define MSG_LEN    16384u
#define FLOWING_AT 64u
/*
 * If no completion comes within this time, the requester stops waiting: the connection hangs. Other
 * programs can keep this process from its CPU for a minute.
 */
#define TIMEOUT_NS UINT64_C(300000000000)
/* number of polls of the CQ between two checks whether stdin has ended */
#define LOOK_ROUNDS   4096u
#define REMOTE_RIGHTS (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static const struct operation {
	const char *name;
	enum ibv_wr_opcode opcode;
	uint32_t len; /* length of a request in bytes, or 0 if this process is the responder */
} operations[] = {
	{ "write", IBV_WR_RDMA_WRITE, MSG_LEN }, { "read", IBV_WR_RDMA_READ, MSG_LEN },
	{ "send", IBV_WR_SEND, MSG_LEN },        { "fetch-add", IBV_WR_ATOMIC_FETCH_AND_ADD, 8 },
	{ "respond", IBV_WR_SEND, 0 },
};

struct address {
	uint32_t qpn, psn, rkey;
	uint64_t vaddr;
	union ibv_gid gid;
};

/* What the requester counts during its run, and prints in its report. */
struct story {
	uint64_t posted, completed, flushed;
	/*
	 * times of the latest success, the first error, and the latest completion (CLOCK_MONOTONIC)
	 */
	uint64_t last_good_ns, first_bad_ns, last_ns;
	enum ibv_wc_status first_bad;
	/* status of a completion after the first error, if it is not a flush */
	enum ibv_wc_status odd;
	bool is_in_order;
};

static const struct operation *operation;
static bool does_sleep;
static uint8_t timeout_code, retry_cnt;

static struct ibv_device *device;
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *qp;
static unsigned nb_events; /* completion events that were read and not acknowledged yet */
static _Alignas(4096) char buf[MSG_LEN];
static struct address ours, theirs;
static int gid_index;

static void
check(bool is_ok, const char *complaint)
{
	if (is_ok)
		return;
	fprintf(stderr, "survivor: %s: %s\n", complaint, strerror(errno));
	exit(EXIT_FAILURE);
}

/*
 * Exit with a complaint if a call has failed. `error` is the errno that the call has returned, or
 * 0.
 */
static void
must(int error, const char *complaint)
{
	errno = error;
	check(error == 0, complaint);
}

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* ---------------------------------------------------------------------- verbs objects */

/* Set `gid_index` to the index of the first IPv4 address of the device. */
static void
find_gid(void)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	for (gid_index = 0; uroce_query_gid(context, 1, gid_index, &ours.gid) == 0; gid_index++)
		if (memcmp(ours.gid.raw, prefix, sizeof(prefix)) == 0)
			return;
	check(false, "the device has no IPv4 address");
}

static void
open_all(const char *spec)
{
	check((device = uroce_create_device(spec)), spec);
	check((context = uroce_open_device(device)), "open the device");
	find_gid();
	check((pd = uroce_alloc_pd(context)), "protection domain");
	check((channel = uroce_create_comp_channel(context)), "completion channel");
	check((cq = uroce_create_cq(context, 2 * DEPTH, NULL, channel, 0)), "completion queue");
	check((mr = uroce_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE | REMOTE_RIGHTS)),
	      "region");
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.sq_sig_all = 1,
		.cap = { DEPTH, DEPTH, 1, 1, 0 },
	};

	check((qp = uroce_create_qp(pd, &init)), "queue pair");
	ours.qpn = qp->qp_num;
	ours.psn = (uint32_t)rte_rand() & 0xffffff;
	ours.rkey = mr->rkey;
	ours.vaddr = (uintptr_t)buf;
}

static void
close_all(void)
{
	if (nb_events > 0)
		uroce_ack_cq_events(cq, nb_events);
	must(uroce_destroy_qp(qp), "destroy the queue pair");
	must(uroce_dereg_mr(mr), "deregister");
	must(uroce_destroy_cq(cq), "destroy the completion queue");
	must(uroce_destroy_comp_channel(channel), "destroy the channel");
	must(uroce_dealloc_pd(pd), "free the protection domain");
	check(uroce_close_device(context) == 0, "close the device");
	must(uroce_destroy_device(device), "destroy the device");
	must(-rte_eal_cleanup(), "clean up EAL");
}

/*
 * Modify the QP to RTR. The call resolves the address of the other end, which may have no CPU for
 * longer than the call waits. So the call is repeated for a time that only a hang exceeds.
 */
static int
move_to_rtr(struct ibv_qp_attr *attr)
{
	const uint64_t end_ns = now_ns() + RESOLVE_NS;
	int ret;

	do {
		ret = uroce_modify_qp(qp, attr,
				      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					      IBV_QP_MIN_RNR_TIMER);
	} while (ret == ETIMEDOUT && now_ns() < end_ns);
	return ret;
}

static void
connect_qp(void)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = REMOTE_RIGHTS,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = theirs.gid, .sgid_index = (uint8_t)gid_index } },
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = theirs.qpn,
		.rq_psn = theirs.psn,
		.sq_psn = ours.psn,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.rnr_retry = 7,
		.timeout = timeout_code,
		.retry_cnt = retry_cnt,
	};

	attr.qp_state = IBV_QPS_INIT;
	must(uroce_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "INIT");
	attr.qp_state = IBV_QPS_RTR;
	must(move_to_rtr(&attr), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	must(uroce_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

static void
print_address(void)
{
	printf("%" PRIx32 " %" PRIx32 " %" PRIx32 " %" PRIx64 " ", ours.qpn, ours.psn, ours.rkey,
	       ours.vaddr);
	for (unsigned i = 0; i < 16; i++)
		printf("%02x", ours.gid.raw[i]);
	putchar('\n');
}

static void
read_address(void)
{
	char line[256], gid[33];

	check(fgets(line, sizeof(line), stdin) != NULL &&
		      sscanf(line, "%" SCNx32 " %" SCNx32 " %" SCNx32 " %" SCNx64 " %32s",
			     &theirs.qpn, &theirs.psn, &theirs.rkey, &theirs.vaddr, gid) == 5 &&
		      strlen(gid) == 32,
	      "no address of a peer");
	for (unsigned i = 0; i < 16; i++)
		check(sscanf(gid + 2 * i, "%2hhx", &theirs.gid.raw[i]) == 1, "the peer's GID");
}

/* -------------------------------------------------------- requests and completions */

static int
post_request(uint64_t wr_id)
{
	const bool is_atomic = operation->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_sge sge = { (uintptr_t)buf, operation->len, mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id,
		.opcode = operation->opcode,
		.sg_list = &sge,
		.num_sge = 1,
	};

	if (is_atomic) {
		wr.wr.atomic.remote_addr = theirs.vaddr;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.rkey = theirs.rkey;
	} else {
		wr.wr.rdma.remote_addr = theirs.vaddr;
		wr.wr.rdma.rkey = theirs.rkey;
	}
	return ibv_post_send(qp, &wr, &bad);
}

static void
post_receive(void)
{
	struct ibv_sge sge = { (uintptr_t)buf, sizeof(buf), mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	must(ibv_post_recv(qp, &wr, &bad), "post a receive");
}

/*
 * Wait for an event of the completion channel.
 * @return whether an event came
 */
static bool
sleep_for(int timeout_ms)
{
	struct pollfd pollfd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *whose;
	void *arg;

	if (poll(&pollfd, 1, timeout_ms) != 1)
		return false;
	check(uroce_get_cq_event(channel, &whose, &arg) == 0, "take an event");
	nb_events++;
	return true;
}

/*
 * Wait for one completion.
 * @return false if no completion came within TIMEOUT_NS
 */
static bool
take_completion(struct ibv_wc *wc)
{
	const uint64_t deadline = now_ns() + TIMEOUT_NS;

	for (;;) {
		/* Read before the poll: the CQ is polled once more after the deadline. */
		const bool is_late = now_ns() > deadline;
		int nb = ibv_poll_cq(cq, 1, wc);

		if (nb == 0 && does_sleep) {
			must(uroce_req_notify_cq(cq, 0), "arm");
			nb = ibv_poll_cq(cq, 1, wc);
			if (nb == 0 && !is_late && sleep_for((int)(TIMEOUT_NS / 1000000)))
				continue;
		}
		check(nb >= 0, "the completion queue is lost");
		if (nb > 0)
			return true;
		if (is_late)
			return false;
	}
}

static void
note(struct story *story, const struct ibv_wc *wc)
{
	story->last_ns = now_ns();
	story->is_in_order &= wc->wr_id == story->completed++;
	if (wc->status == IBV_WC_SUCCESS && story->first_bad == IBV_WC_SUCCESS) {
		story->last_good_ns = story->last_ns;
	} else if (story->first_bad == IBV_WC_SUCCESS) {
		story->first_bad = wc->status;
		story->first_bad_ns = story->last_ns;
	} else if (wc->status == IBV_WC_WR_FLUSH_ERR) {
		story->flushed++;
	} else {
		story->odd = wc->status;
	}
}

static void
tell(const struct story *story)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	must(uroce_query_qp(qp, &attr, IBV_QP_STATE, &init), "query the queue pair");
	printf("{\"posted\": %" PRIu64 ", \"completed\": %" PRIu64 ", \"flushed\": %" PRIu64
	       ", \"first_bad\": %d, \"odd\": %d, \"in_order\": %s, \"is_err\": %s"
	       ", \"last_good_ns\": %" PRIu64 ", \"first_bad_ns\": %" PRIu64
	       ", \"last_ns\": %" PRIu64 "}\n",
	       story->posted, story->completed, story->flushed, (int)story->first_bad,
	       (int)story->odd, story->is_in_order ? "true" : "false",
	       attr.qp_state == IBV_QPS_ERR ? "true" : "false", story->last_good_ns,
	       story->first_bad_ns, story->last_ns);
}

/*
 * Keep the send queue full: post a request after each success, and one request after the first
 * error. The error flushes all remaining requests. After the last completion, print the report.
 */
static void
request(void)
{
	struct story story = { .is_in_order = true };
	struct ibv_wc wc;

	while (story.posted < DEPTH)
		must(post_request(story.posted++), "post a request");
	while (story.completed < story.posted && take_completion(&wc)) {
		const bool was_good = story.first_bad == IBV_WC_SUCCESS;

		note(&story, &wc);
		if (story.completed == FLOWING_AT)
			puts("flowing");
		if (was_good)
			must(post_request(story.posted++), "post a request");
	}
	tell(&story);
}

static bool
is_input_over(void)
{
	struct pollfd pollfd = { .fd = STDIN_FILENO, .events = POLLIN };
	char byte;

	return poll(&pollfd, 1, 0) == 1 && read(STDIN_FILENO, &byte, 1) <= 0;
}

static void
respond(void)
{
	struct ibv_wc wc;
	bool is_good = true;

	for (unsigned round = 0; round % LOOK_ROUNDS != 0 || !is_input_over(); round++) {
		if (ibv_poll_cq(cq, 1, &wc) > 0) {
			is_good &= wc.status == IBV_WC_SUCCESS;
			if (is_good)
				post_receive();
		} else if (does_sleep) {
			must(uroce_req_notify_cq(cq, 0), "arm");
			(void)sleep_for(10);
			/* Read the input at once: the increment of the loop makes `round` 0. */
			round = UINT_MAX;
		}
	}
	printf("{\"is_good\": %s}\n", is_good ? "true" : "false");
}

/* --------------------------------------------------------------------- main program */

static void
parse(char **argv)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (strcmp(argv[2], operations[i].name) == 0)
			operation = &operations[i];
	check(operation != NULL, argv[2]);
	does_sleep = strcmp(argv[3], "sleep") == 0;
	timeout_code = (uint8_t)strtoul(argv[4], NULL, 10);
	retry_cnt = (uint8_t)strtoul(argv[5], NULL, 10);
}

int
main(int argc, char **argv)
{
	const int nb_eal_args = rte_eal_init(argc, argv);

	if (nb_eal_args < 0)
		return EXIT_FAILURE;
	argc -= nb_eal_args;
	argv += nb_eal_args;
	check(argc == 6, "usage: [EAL options] -- DEVICE OPERATION WAIT TIMEOUT_CODE RETRY_CNT");
	parse(argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_all(argv[1]);
	print_address();
	read_address();
	connect_qp();
	for (unsigned i = 0; i < DEPTH && operation->len == 0; i++)
		post_receive();
	puts("ready");
	if (operation->len == 0) {
		respond();
	} else {
		char line[16];

		check(fgets(line, sizeof(line), stdin) != NULL, "no word to begin");
		request();
	}
	close_all();
	return EXIT_SUCCESS;
}
