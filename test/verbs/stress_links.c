/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links: pairs of connected QPs, which all threads use as readers of the link's lock. Sometimes one
 * thread, as the writer, destroys a link and creates a new one.
 */

#include "stress.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>

#define NB_LINKS 3

struct link {
	pthread_rwlock_t lock;
	/* type of the QPs; with XRC_SEND only end a sends requests */
	enum ibv_qp_type type;
	bool has_srq, is_ex;
	uint32_t srqn;
	struct end end[2];
};

static struct link links[NB_LINKS];

static struct ibv_sge
part_of(struct actor *self, const struct end *end, enum part part)
{
	return (struct ibv_sge){ (uintptr_t)end->buf + part * PART, 1 + draw(self, 3000),
				 end->mr->lkey };
}

static void
build_end(struct actor *self, struct link *link, unsigned idx)
{
	struct end *const end = &link->end[idx];
	const bool is_target = link->type == IBV_QPT_XRC_SEND && idx == 1;
	struct ibv_context *const context = end->host->context;

	end->pd = uroce_alloc_pd(context);
	end->mr = uroce_reg_mr(end->pd, end->buf, NB_PARTS * PART, RIGHTS);
	end->channel = uroce_create_comp_channel(context);
	check(fcntl(end->channel->fd, F_SETFL, O_NONBLOCK) == 0);
	end->cq = make_cq(self, context, end->channel, link->is_ex, 128);
	end->xrcd = is_target ? open_xrcd(context, draw(self, 2) ? xrc_fd : -1) : NULL;
	end->srq = is_target || link->has_srq ? make_srq(end, 16) : NULL;
	end->qp = make_qp(end, is_target ? IBV_QPT_XRC_RECV : link->type, link->is_ex);
	end->ah = ah_to(end->host, idx == 0 ? &net.b : &net.a);
	check(end->pd && end->mr && end->channel && end->cq && end->qp);
}

/*
 * Move both QPs of a link to RTS. A call may fail with EINVAL, because another thread may modify
 * the QPs at the same time.
 */
static void
bring_up(struct link *link)
{
	struct host host[2] = { net.a, net.b };

	for (unsigned i = 0; i < 2; i++)
		host[i].qp = link->end[i].qp;
	for (unsigned i = 0; i < 2; i++)
		check(is_one_of(to_init(&host[i]), EINVAL, 0));
	for (unsigned i = 0; i < 2; i++)
		check(is_one_of(to_rtr(&net, &host[i], &host[1 - i]), EINVAL, 0));
	for (unsigned i = 0; i < 2; i++)
		check(is_one_of(to_rts(&net, &host[i]), EINVAL, 0));
}

static void
build_link(struct actor *self, struct link *link)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
						  IBV_QPT_XRC_SEND };

	link->type = types[draw(self, 5)];
	link->has_srq = link->type != IBV_QPT_XRC_SEND && draw(self, 2);
	link->is_ex = draw(self, 2);
	for (unsigned i = 0; i < 2; i++)
		build_end(self, link, i);
	if (link->type == IBV_QPT_XRC_SEND)
		check(uroce_get_srq_num(link->end[1].srq, &link->srqn) == 0);
	bring_up(link);
}

static void
close_end(struct end *end)
{
	check(uroce_destroy_qp(end->qp) == 0);
	check(end->srq == NULL || uroce_destroy_srq(end->srq) == 0);
	check(end->xrcd == NULL || uroce_close_xrcd(end->xrcd) == 0);
	check(uroce_destroy_cq(end->cq) == 0);
	check(uroce_destroy_comp_channel(end->channel) == 0);
	check(uroce_destroy_ah(end->ah) == 0);
	check(uroce_dereg_mr(end->mr) == 0);
	check(uroce_dealloc_pd(end->pd) == 0);
}

/*
 * Sometimes destroy a link with all that is in flight, and create it anew. Which end is destroyed
 * first is random.
 */
void
rebuild(struct actor *self)
{
	struct link *const link = &links[draw(self, NB_LINKS)];
	const unsigned first = draw(self, 2);

	if (draw(self, 4) != 0)
		return;
	pthread_rwlock_wrlock(&link->lock);
	close_end(&link->end[first]);
	close_end(&link->end[1 - first]);
	build_link(self, link);
	pthread_rwlock_unlock(&link->lock);
}

static struct link *
begin_link(struct actor *self)
{
	struct link *const link = &links[draw(self, NB_LINKS)];

	pthread_rwlock_rdlock(&link->lock);
	return link;
}

static void
end_link(struct link *link)
{
	pthread_rwlock_unlock(&link->lock);
}

static void
send_by_calls(const struct end *from, const struct end *to, const struct link *link,
	      struct ibv_sge sge)
{
	struct ibv_qp_ex *const qpx = uroce_qp_to_qp_ex(from->qp);

	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, sge.lkey, sge.addr, sge.length);
	if (link->type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(qpx, from->ah, to->qp->qp_num, QKEY);
	if (link->type == IBV_QPT_XRC_SEND)
		ibv_wr_set_xrc_srqn(qpx, link->srqn);
	check(is_one_of(ibv_wr_complete(qpx), ENOMEM, EINVAL));
}

static const enum ibv_wr_opcode opcodes[] = {
	/* UD has the first two opcodes of this table, and UC the first four */
	IBV_WR_SEND,
	IBV_WR_SEND_WITH_IMM,
	IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_RDMA_READ,
	IBV_WR_ATOMIC_FETCH_AND_ADD,
	IBV_WR_ATOMIC_CMP_AND_SWP,
};

static void
send_one(struct actor *self, const struct link *link, unsigned idx)
{
	static const uint32_t nb_opcodes[] = {
		[IBV_QPT_UD] = 2, [IBV_QPT_UC] = 4, [IBV_QPT_RC] = 7, [IBV_QPT_XRC_SEND] = 7
	};
	const struct end *const from = &link->end[idx], *const to = &link->end[1 - idx];
	struct ibv_send_wr *bad, wr = { .wr_id = 1, .num_sge = 1 };
	struct ibv_sge sge = part_of(self, from, SOURCE);

	if (link->is_ex && draw(self, 2)) {
		send_by_calls(from, to, link, sge);
		return;
	}
	wr.opcode = opcodes[draw(self, nb_opcodes[link->type])];
	if (wr.opcode == IBV_WR_RDMA_READ || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
	    wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
		sge = part_of(self, from, FETCHED);
	wr.send_flags = draw(self, 4) ? IBV_SEND_SIGNALED : 0;
	if (link->type == IBV_QPT_UD) {
		sge.length = 1 + sge.length % 1000;
		wr.wr.ud.ah = from->ah;
		wr.wr.ud.remote_qpn = to->qp->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
	} else if (wr.opcode >= IBV_WR_ATOMIC_CMP_AND_SWP) {
		sge.length = 8;
		wr.wr.atomic.remote_addr = (uintptr_t)to->buf + WRITTEN * PART;
		wr.wr.atomic.rkey = to->mr->rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)to->buf + WRITTEN * PART;
		wr.wr.rdma.rkey = to->mr->rkey;
	}
	if (sge.length <= 32 && wr.opcode < IBV_WR_RDMA_READ && wr.opcode != IBV_WR_RDMA_READ)
		wr.send_flags |= IBV_SEND_INLINE;
	if (link->type == IBV_QPT_XRC_SEND)
		wr.qp_type.xrc.remote_srqn = link->srqn;
	wr.sg_list = &sge;
	check(is_one_of(ibv_post_send(from->qp, &wr, &bad), ENOMEM, EINVAL));
}

static void
recv_one(struct actor *self, const struct end *end)
{
	struct ibv_sge sge = part_of(self, end, RECEIVED);
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	sge.length = PART;
	if (end->srq != NULL)
		check(is_one_of(ibv_post_srq_recv(end->srq, &wr, &bad), ENOMEM, 0));
	else if (end->qp->qp_type != IBV_QPT_XRC_SEND)
		check(is_one_of(ibv_post_recv(end->qp, &wr, &bad), ENOMEM, EINVAL));
}

static void
poll_one(const struct link *link, const struct end *end)
{
	struct ibv_cq_ex *const cqx = (struct ibv_cq_ex *)end->cq;
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_wc wc[4];

	if (!link->is_ex) {
		check(ibv_poll_cq(end->cq, 4, wc) >= -EOVERFLOW);
		return;
	}
	if (ibv_start_poll(cqx, &attr) != 0)
		return;
	do
		check(ibv_wc_read_qp_num(cqx) != 0);
	while (ibv_next_poll(cqx) == 0);
	ibv_end_poll(cqx);
}

void
exchange(struct actor *self)
{
	struct link *const link = begin_link(self);
	const unsigned idx = link->type == IBV_QPT_XRC_SEND ? 0 : draw(self, 2);

	for (unsigned i = draw(self, 8); i > 0; i--) {
		recv_one(self, &link->end[1 - idx]);
		send_one(self, link, idx);
	}
	for (unsigned i = draw(self, 8); i > 0; i--)
		poll_one(link, &link->end[draw(self, 2)]);
	end_link(link);
}

void
wait_for_events(struct actor *self)
{
	struct link *const link = begin_link(self);
	const struct end *const end = &link->end[draw(self, 2)];
	struct ibv_cq *cq;
	void *cookie;

	check(ibv_req_notify_cq(end->cq, (int)draw(self, 2)) == 0);
	poll_one(link, end);
	if (uroce_get_cq_event(end->channel, &cq, &cookie) == 0) {
		sched_yield();
		uroce_ack_cq_events(cq, 1);
	} else {
		check(errno == EAGAIN);
	}
	end_link(link);
}

void
change_state(struct actor *self)
{
	struct link *const link = begin_link(self);
	struct host host[2] = { net.a, net.b };
	const unsigned idx = draw(self, 2);

	for (unsigned i = 0; i < 2; i++)
		host[i].qp = link->end[i].qp;
	switch (draw(self, 4)) {
	case 0:
		check(is_one_of(to_state(&host[idx], IBV_QPS_ERR), EINVAL, 0));
		break;
	case 1:
		if (link->type != IBV_QPT_XRC_SEND)
			check(is_one_of(to_state(&host[idx], IBV_QPS_SQD), EINVAL, 0));
		break;
	default:
		check(to_state(&host[idx], IBV_QPS_RESET) == 0);
		check(to_state(&host[1 - idx], IBV_QPS_RESET) == 0);
		bring_up(link);
	}
	end_link(link);
}

void
query_qps(struct actor *self)
{
	struct link *const link = begin_link(self);
	const struct end *const end = &link->end[draw(self, 2)];
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_srq_attr srq_attr;
	struct ibv_ece ece;

	check(uroce_query_qp(end->qp, &attr, IBV_QP_STATE, &init) == 0);
	check(end->srq == NULL || uroce_query_srq(end->srq, &srq_attr) == 0);
	check(uroce_query_ece(end->qp, &ece) == EOPNOTSUPP);
	check(uroce_query_qp_data_in_order(end->qp, IBV_WR_SEND, 0) >= 0);
	end_link(link);
}

void
resize(struct actor *self)
{
	struct link *const link = begin_link(self);
	const struct end *const end = &link->end[draw(self, 2)];
	struct ibv_srq_attr attr = { .max_wr = 8 + draw(self, 16), .srq_limit = 1 + draw(self, 4) };

	check(is_one_of(uroce_resize_cq(end->cq, 64 + (int)draw(self, 128)), EINVAL, 0));
	if (end->srq != NULL)
		check(is_one_of(uroce_modify_srq(end->srq, &attr,
						 draw(self, 2) ? IBV_SRQ_MAX_WR : IBV_SRQ_LIMIT),
				EINVAL, 0));
	end_link(link);
}

void
join_group(struct actor *self)
{
	struct link *const link = begin_link(self);
	struct ibv_qp *const qp = link->end[draw(self, 2)].qp;
	union ibv_gid gid;

	check(inet_pton(AF_INET6, draw(self, 2) ? "::ffff:239.1.2.3" : "ff15::4791", gid.raw) == 1);
	if (link->type == IBV_QPT_UD) {
		check(uroce_attach_mcast(qp, &gid, 0) == 0);
		check(is_one_of(uroce_detach_mcast(qp, &gid, 0), EINVAL, 0));
	}
	end_link(link);
}

void
make_windows(struct actor *self)
{
	struct link *const link = begin_link(self);
	const struct end *const end = &link->end[0];
	const enum ibv_mw_type type = draw(self, 2) ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2;
	struct ibv_mw *const mw = uroce_alloc_mw(end->pd, type);
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { end->mr, (uintptr_t)end->buf, 64, IBV_ACCESS_REMOTE_READ },
	};
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { mw, 0, bind.bind_info },
	};

	check(mw != NULL);
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	if (link->type == IBV_QPT_RC || link->type == IBV_QPT_UC)
		check(is_one_of(type == IBV_MW_TYPE_1 ? uroce_bind_mw(end->qp, mw, &bind)
						      : ibv_post_send(end->qp, &wr, &bad),
				ENOMEM, EINVAL));
	check(uroce_dealloc_mw(mw) == 0);
	end_link(link);
}

void
open_links(struct actor *self)
{
	for (unsigned i = 0; i < NB_LINKS; i++) {
		pthread_rwlock_init(&links[i].lock, NULL);
		for (unsigned j = 0; j < 2; j++) {
			links[i].end[j].host = j == 0 ? &net.a : &net.b;
			assert_non_null(links[i].end[j].buf = aligned_alloc(4096, NB_PARTS * PART));
			memset(links[i].end[j].buf, 0, NB_PARTS * PART);
		}
		build_link(self, &links[i]);
	}
}

void
close_links(void)
{
	for (unsigned i = 0; i < NB_LINKS; i++) {
		for (unsigned j = 0; j < 2; j++) {
			close_end(&links[i].end[j]);
			free(links[i].end[j].buf);
		}
		pthread_rwlock_destroy(&links[i].lock);
	}
}
