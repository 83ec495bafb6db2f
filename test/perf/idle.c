/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Costs and delays of a sleeping program. Two processes sleep on their completion channels. After
 * some messages there is no traffic, and each process measures its CPU time. Then the client sends
 * one message after another, each after an idle time. The server measures the time from the post to
 * its own wake-up.
 *
 *	bench-idle SECONDS MESSAGES GAP-MS [EAL options] -- ARGUMENTS as in apps/examples/side.h
 *
 * Each process prints lines "name value", which bench/uroce-bench-idle reads.
 */

#include "../../apps/examples/side.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MESSAGES_MAX 10000

/*
 * Number of messages before the program is idle, and the time before each of them. A NIC's receive
 * interrupt is used only after one has arrived.
 */
#define FIRST_MESSAGES 10
#define FIRST_GAP_MS   50

static struct side side;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint64_t stamp; /* the message: the time at which the client has posted it */
static uint64_t late_ns[MESSAGES_MAX];

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

static void
sleep_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static void
make_queues(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	check((mr = uroce_reg_mr(side.pd, &stamp, sizeof(stamp), IBV_ACCESS_LOCAL_WRITE)),
	      "no region");
	check((channel = uroce_create_comp_channel(side.context)), "no channel");
	check((cq = uroce_create_cq(side.context, 2, NULL, channel, 0)), "no CQ");
	init.send_cq = init.recv_cq = cq;
	check((qp = uroce_create_qp(side.pd, &init)), "no QP");
}

static void
destroy_queues(void)
{
	check(uroce_destroy_qp(qp) == 0 && uroce_destroy_cq(cq) == 0, "QP or CQ stay");
	check(uroce_destroy_comp_channel(channel) == 0, "the channel stays");
	check(uroce_dereg_mr(mr) == 0, "the region stays");
}

static void
post(bool is_send)
{
	struct ibv_sge sge = { (uintptr_t)&stamp, sizeof(stamp), mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad_send,
		send = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	check((is_send ? ibv_post_send(qp, &send, &bad_send)
		       : ibv_post_recv(qp, &recv, &bad_recv)) == 0,
	      "cannot post");
}

/* Arm the CQ, and check that it is empty. */
static void
arm(void)
{
	struct ibv_wc wc;

	check(ibv_req_notify_cq(cq, 0) == 0 && ibv_poll_cq(cq, 1, &wc) == 0, "not idle");
}

/*
 * Sleep until the CQ has a completion, and poll it.
 * @return the time at which this thread was woken
 */
static uint64_t
await(void)
{
	struct ibv_cq *from;
	struct ibv_wc wc;
	void *context;
	uint64_t wake_ns;

	side_wait_fd(&side, channel->fd);
	check(uroce_get_cq_event(channel, &from, &context) == 0, "no event");
	wake_ns = now_ns();
	uroce_ack_cq_events(cq, 1);
	check(ibv_poll_cq(cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "no completion");
	return wake_ns;
}

static uint64_t
cpu_ns(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}

static void
print_usage(const char *when, const struct rusage *before, uint64_t since_ns)
{
	const double seconds = (double)(now_ns() - since_ns) / 1e9;
	struct rusage after;

	getrusage(RUSAGE_SELF, &after);
	printf("%s_cpu_percent %.3f\n", when,
	       (double)(cpu_ns(&after) - cpu_ns(before)) / seconds / 1e7);
	printf("%s_wakeups_per_s %.1f\n", when,
	       (double)(after.ru_nvcsw - before->ru_nvcsw) / seconds);
}

static void
idle(unsigned seconds)
{
	struct rusage before;
	uint64_t since_ns;

	sleep_ms(500); /* the CPU time of setting up the connection must not count */
	getrusage(RUSAGE_SELF, &before);
	since_ns = now_ns();
	sleep_ms(1000 * seconds);
	print_usage("idle", &before, since_ns);
}

static int
compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
print_late(unsigned nb)
{
	qsort(late_ns, nb, sizeof(late_ns[0]), compare);
	printf("median_us %.1f\np99_us %.1f\nmax_us %.1f\n", (double)late_ns[nb / 2] / 1e3,
	       (double)late_ns[(nb - 1) * 99 / 100] / 1e3, (double)late_ns[nb - 1] / 1e3);
}

static void
serve(unsigned nb)
{
	for (unsigned i = 0; i < nb; i++) {
		const uint64_t awake_ns = await();

		late_ns[i] = awake_ns - stamp;
		/* The next message is accepted only after the CQ is armed. */
		arm();
		post(false);
	}
}

static void
send_all(unsigned nb, unsigned gap_ms)
{
	for (unsigned i = 0; i < nb; i++) {
		sleep_ms(gap_ms);
		stamp = now_ns();
		post(true);
		/* time from the post to the wake-up for its completion */
		late_ns[i] = await() - stamp;
		arm();
	}
}

static void
exchange(unsigned nb, unsigned gap_ms)
{
	if (side.is_client)
		send_all(nb, gap_ms);
	else
		serve(nb);
}

static unsigned
number(const char *text)
{
	char *end;
	const unsigned long value = strtoul(text, &end, 10);

	check(value > 0 && value <= MESSAGES_MAX && *end == '\0',
	      "usage: SECONDS MESSAGES GAP-MS [EAL options] -- ..., each up to %u", MESSAGES_MAX);
	return (unsigned)value;
}

int
main(int argc, char **argv)
{
	const unsigned seconds = number(argc > 4 ? argv[1] : "");
	const unsigned nb = number(argc > 4 ? argv[2] : ""),
		       gap_ms = number(argc > 4 ? argv[3] : "");
	struct rusage before;
	uint64_t since_ns;

	argv[3] = argv[0];
	side_open(&side, argc - 3, argv + 3);
	make_queues();
	side_connect(&side, qp);
	arm();
	if (!side.is_client)
		post(false);
	side_sync(&side);
	alarm(0); /* cancel the alarm that side.c has set */
	exchange(FIRST_MESSAGES, FIRST_GAP_MS);
	printf("connected\n");
	fflush(stdout);
	idle(seconds);
	side_sync(&side);
	alarm(0);
	getrusage(RUSAGE_SELF, &before);
	since_ns = now_ns();
	exchange(nb, gap_ms);
	print_late(nb);
	print_usage("messages", &before, since_ns);
	destroy_queues();
	side_close(&side);
	return 0;
}
