/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shows XRC. With one QP the client sends to several shared receive queues of the server, each of
 * which has a number. Completions of a queue go to the CQ of that queue.
 *
 * The first half of the program uses the current calls: an XRCD, and a QP that receives for it. The
 * second half uses the older calls. With the older calls the program has only the number of the
 * receiving QP. This QP exists while at least one domain is registered for it.
 *
 * See side.h for how to run this example.
 */

#define _GNU_SOURCE 1 /* required by memfd_create() */

#include "side.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NB_QUEUE 2
#define NB_MSG   20 /* total number of messages, which go to the queues in turn */
#define MSG_LEN  3000

static struct side side;
static struct ibv_mr *mr;
static uint8_t buf[NB_MSG][MSG_LEN];

/* --- the client -------------------------------------------------------------------------------- */

static void
send_to(struct ibv_qp *qp, uint32_t srqn, unsigned number)
{
	struct ibv_sge sge = { (uintptr_t)buf[number], MSG_LEN, mr->lkey };
	struct ibv_send_wr *bad_wr, wr = {
		.wr_id = number,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.qp_type.xrc.remote_srqn = srqn,
	};

	fill(buf[number], MSG_LEN, number);
	check(ibv_post_send(qp, &wr, &bad_wr) == 0, "cannot post");
	side_wait(&side, qp->send_cq, IBV_WC_SUCCESS);
}

/*
 * Run the client, whose steps do not depend on whether the server uses the current or the older
 * calls of XRC.
 */
static void
be_client(void)
{
	struct ibv_cq *cq = uroce_create_cq(side.context, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = side.pd,
		.send_cq = cq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};
	struct ibv_qp *qp = uroce_create_qp_ex(side.context, &init);
	uint32_t srqn[NB_QUEUE];

	check(cq && qp, "no CQ or QP");
	side_connect(&side, qp);
	for (unsigned i = 0; i < NB_QUEUE; i++)
		srqn[i] = (uint32_t)side_swap(&side, 0);
	for (unsigned number = 0; number < NB_MSG; number++) {
		if (number == NB_MSG / 2)
			/*
			 * Wait for the server after half of the messages. At this point a server
			 * with the older calls passes its QP to another domain handle.
			 */
			side_sync(&side);
		send_to(qp, srqn[number % NB_QUEUE], number);
	}
	side_sync(&side);
	printf("%u messages by QP 0x%x, to queues 0x%x and 0x%x\n", NB_MSG, qp->qp_num, srqn[0],
	       srqn[1]);
	check(uroce_destroy_qp(qp) == 0 && uroce_destroy_cq(cq) == 0, "QP or CQ stay");
}

/* --- the server, with both kinds of calls ----------------------------------------------------- */

static void
post_all(struct ibv_srq *const srqs[])
{
	uint32_t srqn;

	memset(buf, 0, sizeof(buf));
	for (unsigned number = 0; number < NB_MSG; number++) {
		struct ibv_sge sge = { (uintptr_t)buf[number], MSG_LEN, mr->lkey };
		struct ibv_recv_wr *bad_wr, wr = { number, NULL, &sge, 1 };

		check(ibv_post_srq_recv(srqs[number % NB_QUEUE], &wr, &bad_wr) == 0, "cannot post");
	}
	for (unsigned i = 0; i < NB_QUEUE; i++) {
		check(uroce_get_srq_num(srqs[i], &srqn) == 0, "the SRQ has no number");
		side_swap(&side, srqn);
	}
}

static void
receive(struct ibv_cq *const cqs[], unsigned begin, unsigned end)
{
	for (unsigned number = begin; number < end; number++) {
		const struct ibv_wc wc = side_wait(&side, cqs[number % NB_QUEUE], IBV_WC_SUCCESS);

		check(wc.wr_id == number && wc.byte_len == MSG_LEN &&
			      is_filled(buf[number], MSG_LEN, number),
		      "message %u is not what was sent, or went to another queue", number);
	}
}

static void
make_cqs(struct ibv_cq *cqs[])
{
	for (unsigned i = 0; i < NB_QUEUE; i++)
		check((cqs[i] = uroce_create_cq(side.context, NB_MSG, NULL, NULL, 0)), "no CQ");
}

static void
destroy_queues(struct ibv_srq *const srqs[], struct ibv_cq *const cqs[])
{
	for (unsigned i = 0; i < NB_QUEUE; i++)
		check(uroce_destroy_srq(srqs[i]) == 0 && uroce_destroy_cq(cqs[i]) == 0,
		      "SRQ or CQ stay");
}

/* --- the server, with the current calls ------------------------------------------------------- */

static struct ibv_srq *
make_srq(struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = NB_MSG, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = side.pd,
		.xrcd = xrcd,
		.cq = cq,
	};

	return uroce_create_srq_ex(side.context, &init);
}

static void
serve(void)
{
	struct ibv_xrcd_init_attr xrcd_init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, /* -1 means that the domain is not shared with other processes */
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd = uroce_open_xrcd(side.context, &xrcd_init);
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd,
	};
	struct ibv_srq *srqs[NB_QUEUE];
	struct ibv_cq *cqs[NB_QUEUE];

	check(xrcd, "no XRC domain");
	make_cqs(cqs);
	for (unsigned i = 0; i < NB_QUEUE; i++)
		check((srqs[i] = make_srq(xrcd, cqs[i])), "no SRQ");
	struct ibv_qp *qp = uroce_create_qp_ex(side.context, &init);

	check(qp, "no QP");
	side_connect(&side, qp);
	post_all(srqs);
	receive(cqs, 0, NB_MSG / 2);
	side_sync(&side);
	receive(cqs, NB_MSG / 2, NB_MSG);
	side_sync(&side);
	check(uroce_destroy_qp(qp) == 0, "the QP stays");
	destroy_queues(srqs, cqs);
	check(uroce_close_xrcd(xrcd) == 0, "the XRC domain stays");
	printf("%u messages by one QP to %u queues: XRC_RECV\n", NB_MSG, NB_QUEUE);
}

/* --- the server, with the older calls --------------------------------------------------------- */

static struct side_link
connect_number(struct ibv_xrc_domain *domain, uint32_t qpn)
{
	const struct side_link link = side_meet(&side, qpn);
	struct ibv_qp_attr attr;

	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTR; state++) {
		const int mask = side_attr(&link, IBV_QPT_XRC_RECV, state, &attr);

		check(uroce_modify_xrc_rcv_qp(domain, qpn, &attr, mask) == 0,
		      "the receiving QP does not connect: %s", strerror(errno));
	}
	side_sync(&side);
	return link;
}

/*
 * Register an XRC domain of context `to` for the receiving QP `qpn`, and unregister `domain`. Both
 * domains belong to the same file.
 * @return the domain of context `to`
 */
static struct ibv_xrc_domain *
hand_over(struct ibv_xrc_domain *domain, int fd, uint32_t qpn, struct ibv_context *to)
{
	struct ibv_xrc_domain *theirs = uroce_open_xrc_domain(to, fd, 0);

	check(theirs, "the domain of the file is not found: %s", strerror(errno));
	check(uroce_reg_xrc_rcv_qp(theirs, qpn) == 0, "cannot register for the QP");
	check(uroce_unreg_xrc_rcv_qp(domain, qpn) == 0, "cannot give the QP up");
	return theirs;
}

static void
serve_as_before(void)
{
	const int fd = memfd_create("xrc", MFD_CLOEXEC); /* an XRC domain is identified by a file */
	struct ibv_xrc_domain *domain = uroce_open_xrc_domain(side.context, fd, O_CREAT);
	struct ibv_context *other = uroce_open_device(side.device);
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = NB_MSG, .max_sge = 1 } };
	struct uroce_xrc_rcv_init_attr init = { .xrc_domain = domain };
	struct ibv_srq *srqs[NB_QUEUE];
	struct ibv_cq *cqs[NB_QUEUE];
	struct ibv_qp_attr attr;
	uint32_t qpn;

	check(domain && other, "no XRC domain, or no second context");
	make_cqs(cqs);
	for (unsigned i = 0; i < NB_QUEUE; i++)
		check((srqs[i] = uroce_create_xrc_srq(side.pd, domain, cqs[i], &srq_init)),
		      "no SRQ");
	check(uroce_create_xrc_rcv_qp(&init, &qpn) == 0, "no QP");
	const struct side_link link = connect_number(domain, qpn);

	post_all(srqs);
	receive(cqs, 0, NB_MSG / 2);
	struct ibv_xrc_domain *theirs = hand_over(domain, fd, qpn, other);

	side_sync(&side);
	receive(cqs, NB_MSG / 2, NB_MSG);
	check(uroce_query_xrc_rcv_qp(theirs, qpn, &attr, IBV_QP_STATE, &init) == 0 &&
		      attr.qp_state == IBV_QPS_RTR && attr.dest_qp_num == link.theirs.qpn,
	      "the QP is not as it was made");
	side_sync(&side);
	check(uroce_unreg_xrc_rcv_qp(theirs, qpn) == 0, "cannot give the QP up");
	check(uroce_reg_xrc_rcv_qp(theirs, qpn) == -1 && errno == EINVAL,
	      "a QP for which nobody is registered stays");
	destroy_queues(srqs, cqs);
	check(uroce_close_xrc_domain(theirs) == 0 && uroce_close_xrc_domain(domain) == 0,
	      "the XRC domain stays");
	check(uroce_close_device(other) == 0, "the second context is in use");
	close(fd);
	printf("%u messages by one QP to %u queues: QP 0x%x, registered for twice\n", NB_MSG,
	       NB_QUEUE, qpn);
}

int
main(int argc, char **argv)
{
	side_open(&side, argc, argv);
	check((mr = uroce_reg_mr(side.pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE)), "no region");
	if (side.is_client) {
		be_client();
		be_client();
	} else {
		serve();
		serve_as_before();
	}
	check(uroce_dereg_mr(mr) == 0, "the region stays");
	side_close(&side);
	return 0;
}
