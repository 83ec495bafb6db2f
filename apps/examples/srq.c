/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shared receive queue: the server receives from several queue pairs into one queue. The server
 * posts more receive requests when the queue's limit event reports that few are left. Each
 * completion names the QP on which its message arrived.
 *
 * See side.h for how to run this example.
 */

#include "side.h"

#include <stdio.h>

#define NB_QP   4
#define NB_MSG  250 /* number of messages on each QP */
#define MSG_LEN 700
#define SRQ_LEN 32
#define LIMIT   8 /* number of receive requests below which the limit event is raised */

static struct side side;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_srq *srq; /* shared receive queue of the server */
static struct ibv_qp *qps[NB_QP];
static uint8_t buf[SRQ_LEN][MSG_LEN]; /* the buffers of messages; the client uses one for each QP */
static unsigned unused[SRQ_LEN], nb_unused;

static void
make_queues(void)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = SRQ_LEN, .max_sge = 1 } };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};

	check((mr = uroce_reg_mr(side.pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE)), "no region");
	check((cq = uroce_create_cq(side.context, SRQ_LEN, NULL, NULL, 0)), "no CQ");
	if (!side.is_client)
		check((srq = uroce_create_srq(side.pd, &srq_init)), "no SRQ");
	init.send_cq = init.recv_cq = cq;
	init.srq = srq;
	for (unsigned i = 0; i < NB_QP; i++) {
		check((qps[i] = uroce_create_qp(side.pd, &init)), "no QP");
		side_connect(&side, qps[i]);
	}
}

static void
destroy_queues(void)
{
	for (unsigned i = 0; i < NB_QP; i++)
		check(uroce_destroy_qp(qps[i]) == 0, "a QP stays");
	if (srq)
		check(uroce_destroy_srq(srq) == 0, "the SRQ stays");
	check(uroce_destroy_cq(cq) == 0 && uroce_dereg_mr(mr) == 0, "CQ or region stay");
}

/* --- the server -------------------------------------------------------------------------------- */

/* Post a receive request for each unused buffer, and arm the limit event. */
static void
fill_up(void)
{
	struct ibv_srq_attr attr = { .srq_limit = LIMIT };

	while (nb_unused > 0) {
		const unsigned slot = unused[--nb_unused];
		struct ibv_sge sge = { (uintptr_t)buf[slot], MSG_LEN, mr->lkey };
		struct ibv_recv_wr *bad_wr, wr = { slot, NULL, &sge, 1 };

		check(ibv_post_srq_recv(srq, &wr, &bad_wr) == 0, "cannot post");
	}
	check(uroce_modify_srq(srq, &attr, IBV_SRQ_LIMIT) == 0, "cannot arm the limit");
}

static unsigned
index_of(uint32_t qpn)
{
	for (unsigned i = 0; i < NB_QP; i++)
		if (qps[i]->qp_num == qpn)
			return i;
	check(false, "a message of QP 0x%x, which is not ours", qpn);
	return 0;
}

/*
 * Check the completion of a received message. Messages of one QP arrive in order; there is no order
 * between QPs.
 */
static void
take(const struct ibv_wc *wc)
{
	static unsigned nb_received[NB_QP];

	check(wc->status == IBV_WC_SUCCESS, "%s", uroce_wc_status_str(wc->status));
	const unsigned i = index_of(wc->qp_num), number = nb_received[i]++ * NB_QP + i;

	check(wc->byte_len == MSG_LEN && is_filled(buf[wc->wr_id], MSG_LEN, number),
	      "message %u is not what was sent", number);
	unused[nb_unused++] = (unsigned)wc->wr_id;
}

/*
 * Check whether the limit event was raised. The server posts more receive requests only after this
 * event.
 */
static bool
is_limit_reached(void)
{
	struct ibv_async_event event;

	if (!side_event(&side, &event))
		return false;
	check(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == srq,
	      "event '%s'", uroce_event_type_str(event.event_type));
	uroce_ack_async_event(&event);
	return true;
}

static void
serve(void)
{
	unsigned nb_events = 0;
	struct ibv_wc wc;

	while (nb_unused < SRQ_LEN) {
		unused[nb_unused] = nb_unused;
		nb_unused++;
	}
	fill_up();
	side_sync(&side);
	for (unsigned nb_received = 0; nb_received < NB_QP * NB_MSG;) {
		if (ibv_poll_cq(cq, 1, &wc) > 0) {
			take(&wc);
			nb_received++;
		} else if (is_limit_reached()) {
			fill_up();
			nb_events++;
		} else {
			side_idle(&side);
		}
	}
	check(nb_events >= NB_QP * NB_MSG / SRQ_LEN - 1, "only %u events", nb_events);
	printf("%u messages of %u QPs by one queue of %u requests, filled up %u times\n",
	       NB_QP * NB_MSG, NB_QP, SRQ_LEN, nb_events);
}

/* --- the client -------------------------------------------------------------------------------- */

static void
send_all(void)
{
	side_sync(&side);
	for (unsigned number = 0; number < NB_QP * NB_MSG; number++) {
		const unsigned i = number % NB_QP;
		struct ibv_sge sge = { (uintptr_t)buf[i], MSG_LEN, mr->lkey };
		struct ibv_send_wr *bad_wr,
			wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };

		fill(buf[i], MSG_LEN, number);
		check(ibv_post_send(qps[i], &wr, &bad_wr) == 0, "cannot post");
		/* one message of each QP is in flight now: wait until all of them have completed */
		if (i == NB_QP - 1)
			for (unsigned nb = 0; nb < NB_QP; nb++)
				side_wait(&side, cq, IBV_WC_SUCCESS);
	}
	printf("%u messages on each of %u QPs\n", NB_MSG, NB_QP);
}

int
main(int argc, char **argv)
{
	side_open(&side, argc, argv);
	make_queues();
	if (side.is_client)
		send_all();
	else
		serve();
	destroy_queues();
	side_close(&side);
	return 0;
}
