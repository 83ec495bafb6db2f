/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A completion channel: the server sleeps in epoll_wait() until its CQ has completions. First the
 * server requests an event for solicited messages only, and the client marks one of several
 * messages as solicited. Then the server requests an event for any message.
 *
 * See side.h for how to run this example.
 */

#include "side.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#define NB_PLAIN 7   /* number of messages that are sent before the solicited one */
#define NB_MSG   200 /* number of messages in total */
#define MSG_LEN  1500

static struct side side;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint8_t buf[NB_MSG][MSG_LEN];

static void
make_queues(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = NB_MSG,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	check((mr = uroce_reg_mr(side.pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE)), "no region");
	check((channel = uroce_create_comp_channel(side.context)), "no channel");
	check((cq = uroce_create_cq(side.context, NB_MSG + 1, &side, channel, 0)), "no CQ");
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

/* --- the server -------------------------------------------------------------------------------- */

static int epoll;
static unsigned nb_received, nb_events;

/* Create an epoll instance that reports events of the channel, and the end of the other process. */
static void
watch(void)
{
	struct epoll_event of_channel = { .events = EPOLLIN, .data.fd = channel->fd };
	struct epoll_event of_peer = { .events = EPOLLRDHUP, .data.fd = side.tcp };

	check(fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0, "the channel would block");
	check((epoll = epoll_create1(EPOLL_CLOEXEC)) >= 0, "no epoll");
	check(epoll_ctl(epoll, EPOLL_CTL_ADD, channel->fd, &of_channel) == 0 &&
		      epoll_ctl(epoll, EPOLL_CTL_ADD, side.tcp, &of_peer) == 0,
	      "epoll does not take a descriptor");
}

static bool
is_awake(int timeout_ms)
{
	struct epoll_event event;
	const int nb = epoll_wait(epoll, &event, 1, timeout_ms);

	check(nb >= 0 && (nb == 0 || event.data.fd == channel->fd), "the other side has gone");
	return nb > 0;
}

static void
take_event(void)
{
	struct ibv_cq *from;
	void *context;

	check(uroce_get_cq_event(channel, &from, &context) == 0, "epoll woke us for nothing");
	check(from == cq && context == &side, "an event of another CQ");
	nb_events++; /* the server acknowledges all events in one call at its end */
}

/* Poll until the CQ is empty, because an event does not contain the number of completions. */
static void
take_messages(void)
{
	struct ibv_wc wc;
	int nb;

	while ((nb = ibv_poll_cq(cq, 1, &wc)) > 0) {
		check(wc.status == IBV_WC_SUCCESS, "%s", uroce_wc_status_str(wc.status));
		check(wc.wr_id == nb_received && wc.byte_len == MSG_LEN &&
			      is_filled(buf[nb_received], MSG_LEN, nb_received),
		      "message %u is not what was sent", nb_received);
		nb_received++;
	}
	check(nb == 0, "the completion queue is lost");
}

static void
post_all(void)
{
	for (unsigned i = 0; i < NB_MSG; i++) {
		struct ibv_sge sge = { (uintptr_t)buf[i], MSG_LEN, mr->lkey };
		struct ibv_recv_wr *bad_wr, wr = { i, NULL, &sge, 1 };

		check(ibv_post_recv(qp, &wr, &bad_wr) == 0, "cannot post");
	}
}

static void
serve(void)
{
	watch();
	post_all();
	check(ibv_req_notify_cq(cq, 1) == 0, "cannot ask for solicited ones");
	/*
	 * the client synchronizes twice: before it sends the messages that are not solicited, and
	 * when these messages have arrived
	 */
	side_sync(&side);
	side_sync(&side);
	check(!is_awake(0), "a message that is not solicited woke us");
	side_sync(&side);
	check(is_awake(-1), "nothing");
	take_event();
	take_messages();
	check(nb_received == NB_PLAIN + 1, "%u messages, and not %u", nb_received, NB_PLAIN + 1);

	check(ibv_req_notify_cq(cq, 0) == 0, "cannot ask for any");
	side_sync(&side);
	while (nb_received < NB_MSG) {
		check(is_awake(-1), "nothing");
		take_event();
		/*
		 * request the event before the last poll, so that no completion after this poll is
		 * missed
		 */
		check(ibv_req_notify_cq(cq, 0) == 0, "cannot ask again");
		take_messages();
	}
	/* acknowledge the events, because otherwise uroce_destroy_cq() would wait for ever */
	uroce_ack_cq_events(cq, nb_events);
	check(close(epoll) == 0, "epoll stays");
	printf("%u messages, %u of them before the first event; woken %u times\n", nb_received,
	       NB_PLAIN + 1, nb_events);
}

/* --- the client -------------------------------------------------------------------------------- */

/*
 * Send one message and wait for its completion. After that the completion of the receive is in the
 * CQ of the server.
 */
static void
send_one(unsigned number, unsigned flags)
{
	struct ibv_sge sge = { (uintptr_t)buf[number], MSG_LEN, mr->lkey };
	struct ibv_send_wr *bad_wr, wr = {
		.opcode = IBV_WR_SEND,
		.send_flags = flags,
		.sg_list = &sge,
		.num_sge = 1,
	};

	fill(buf[number], MSG_LEN, number);
	check(ibv_post_send(qp, &wr, &bad_wr) == 0, "cannot post");
	side_wait(&side, cq, IBV_WC_SUCCESS);
}

static void
send_all(void)
{
	unsigned number = 0;

	side_sync(&side);
	while (number < NB_PLAIN)
		send_one(number++, 0);
	side_sync(&side);
	/*
	 * Wait until the server has checked that the messages without IBV_SEND_SOLICITED raised no
	 * event.
	 */
	side_sync(&side);
	send_one(number++, IBV_SEND_SOLICITED);
	side_sync(&side);
	while (number < NB_MSG)
		send_one(number++, 0);
	printf("%u messages, one of them solicited\n", number);
}

int
main(int argc, char **argv)
{
	side_open(&side, argc, argv);
	make_queues();
	side_connect(&side, qp);
	if (side.is_client)
		send_all();
	else
		serve();
	destroy_queues();
	side_close(&side);
	return 0;
}
