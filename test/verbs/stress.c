/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every verb from any thread at any time: eight threads do what their seeds tell them to, on objects of all types,
 * their own and shared ones, beside traffic, polls and events, until each has done so much.
 *
 *	links    pairs of connected QPs, which all threads post to, poll, modify and ask (readers), and one now and
 *		 then takes down and builds anew, as another type, with all that is in flight (writer)
 *	relays   QPs that one thread posts to, and another destroys as soon as it has the completion: while
 *		 the first may not be back from its post
 *	the rest are made, used and freed by one thread, in the same devices, contexts and domains as all others'
 *
 * What is wrong is mostly for the sanitizers to see. Here every call has to return what it may, every object must
 * go in the end, and every request that is waited for must complete.
 *
 *	test-verbs-stress [SEED [OPERATIONS]]
 */

#include "net.h"

#include <uroce_dv.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define NB_THREADS 8
#define NB_LINKS   3
#define NB_RELAYS  4
#define NB_POSTS   8          /* to a relay */
#define PART       8192u      /* of a buffer, see parts */
#define PATIENCE   (1u << 24) /* polls */
#define RIGHTS     (IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE | IBV_ACCESS_MW_BIND)

/* What a link's buffer is used for, so that no two write to the same bytes. */
enum part { SOURCE, RECEIVED, WRITTEN, FETCHED, NB_PARTS };

struct actor {
	pthread_t thread;
	uint64_t seed;
	uint8_t *buf; /* NB_PARTS * PART bytes, its own */
};

struct end {
	struct host *host;
	uint8_t *buf;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_xrcd *xrcd;
	struct ibv_qp *qp;
	struct ibv_ah *ah; /* to the other end */
};

struct link {
	pthread_rwlock_t lock;
	enum ibv_qp_type type; /* XRC_SEND: from a to b alone */
	bool has_srq, is_ex;
	uint32_t srqn;
	struct end end[2];
};

struct relay {
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
};

static struct pair net;
static struct link links[NB_LINKS];
static _Atomic(struct relay *) relays[NB_RELAYS];
static _Atomic uint32_t last_target;
static struct actor actors[NB_THREADS];
static atomic_uint nb_bad;
static int xrc_fd;
static uint64_t first_seed = 1;
static unsigned nb_operations = 200;

/* The first that is wrong is told. */
#define check(is_good)                                                                             \
	do {                                                                                       \
		if (!(is_good) && atomic_fetch_add(&nb_bad, 1) == 0)                               \
			print_error("%s:%d: %s, errno %d\n", __FILE__, __LINE__, #is_good, errno); \
	} while (0)

static uint32_t
draw(struct actor *self, uint32_t below)
{
	self->seed ^= self->seed << 13;
	self->seed ^= self->seed >> 7;
	self->seed ^= self->seed << 17;
	return (uint32_t)((self->seed * 0x2545f4914f6cdd1d) >> 33) % below;
}

static struct host *
any_host(struct actor *self)
{
	return draw(self, 2) ? &net.b : &net.a;
}

static bool
is_one_of(int ret, int one, int other)
{
	return ret == 0 || ret == one || ret == other;
}

/* --- links ----------------------------------------------------------------------------------------- */

static struct ibv_sge
part_of(struct actor *self, const struct end *end, enum part part)
{
	return (struct ibv_sge){ (uintptr_t)end->buf + part * PART, 1 + draw(self, 3000),
				 end->mr->lkey };
}

static struct ibv_cq *
make_cq(struct actor *self, struct ibv_context *context, struct ibv_comp_channel *channel,
	bool is_ex, uint32_t nb_cqe)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = nb_cqe,
		.channel = channel,
		.comp_vector = draw(self, (uint32_t)context->num_comp_vectors),
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};

	return is_ex ? ibv_cq_ex_to_cq(uroce_create_cq_ex(context, &init))
		     : uroce_create_cq(context, (int)nb_cqe, NULL, channel, (int)init.comp_vector);
}

static struct ibv_srq *
make_srq(const struct end *end, uint32_t max_wr)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { max_wr, 2, 0 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = end->xrcd != NULL ? IBV_SRQT_XRC : IBV_SRQT_BASIC,
		.pd = end->pd,
		.xrcd = end->xrcd,
		.cq = end->cq,
	};

	if (end->xrcd != NULL)
		init.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	return uroce_create_srq_ex(end->pd->context, &init);
}

static struct ibv_xrcd *
open_xrcd(struct ibv_context *context, int fd)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = O_CREAT,
	};

	return uroce_open_xrcd(context, &attr);
}

static struct ibv_qp *
make_qp(const struct end *end, enum ibv_qp_type type, bool is_ex)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type,
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.srq = end->xrcd == NULL ? end->srq : NULL,
		.cap = { NB_WR, NB_WR, 2, 2, 0 },
		.comp_mask = type == IBV_QPT_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD,
		.pd = end->pd,
		.xrcd = end->xrcd,
	};

	if (is_ex && type != IBV_QPT_XRC_RECV) {
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		init.send_ops_flags = IBV_QP_EX_WITH_SEND;
	}
	return uroce_create_qp_ex(end->host->context, &init);
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

/* Another thread may be at it, too, and then it comes to nothing. */
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

/* With all that is in flight; one end, or the other, goes first. */
static void
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
	IBV_WR_SEND,       IBV_WR_SEND_WITH_IMM,       /* datagrams */
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, /* UC */
	IBV_WR_RDMA_READ,  IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP,
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

static void
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

static void
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

static void
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

static void
ask(struct actor *self)
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

static void
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

static void
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

/* --- relays ---------------------------------------------------------------------------------------- */

static struct relay *
make_relay(struct actor *self)
{
	struct relay *const relay = calloc(1, sizeof(*relay));
	struct host host[2] = { net.a, net.b };

	relay->cq = make_cq(self, net.a.context, NULL, false, 2 * NB_POSTS);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_qp_init_attr init = {
			.qp_type = IBV_QPT_RC,
			.send_cq = i == 0 ? relay->cq : net.b.scq,
			.recv_cq = i == 0 ? relay->cq : net.b.rcq,
			.cap = { NB_POSTS, 4, 1, 1, 0 },
			.sq_sig_all = 1,
		};

		check((relay->qp[i] = uroce_create_qp(host[i].pd, &init)) != NULL);
		host[i].qp = relay->qp[i];
	}
	for (unsigned i = 0; i < 2; i++)
		check(to_init(&host[i]) == 0 && to_rtr(&net, &host[i], &host[1 - i]) == 0 &&
		      to_rts(&net, &host[i]) == 0);
	return relay;
}

static void
finish_relay(struct relay *relay)
{
	unsigned nb_polls = 0, nb_done = 0;
	struct ibv_wc wc;

	while (nb_done < NB_POSTS && nb_polls++ < PATIENCE) {
		if (ibv_poll_cq(relay->cq, 1, &wc) == 0)
			sched_yield();
		else
			check(++nb_done > 0 && wc.status == IBV_WC_SUCCESS);
	}
	check(nb_done == NB_POSTS);
	check(uroce_destroy_qp(relay->qp[0]) == 0);
	check(uroce_destroy_cq(relay->cq) == 0);
	check(uroce_destroy_qp(relay->qp[1]) == 0);
	free(relay);
}

static void
take(struct actor *self)
{
	const unsigned first = draw(self, NB_RELAYS);
	struct relay *relay = NULL;

	for (unsigned i = 0; i < NB_RELAYS && relay == NULL; i++)
		relay = atomic_exchange(&relays[(first + i) % NB_RELAYS], NULL);
	if (relay != NULL)
		finish_relay(relay);
}

/*
 * From the last post on the relay is the other thread's. While there is no room for one more, one is
 * taken. With several posts the worker may find the last before it is told.
 */
static void
give(struct actor *self)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 100);
	struct ibv_send_wr *bad,
		wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };
	struct relay *const relay = make_relay(self), *none = NULL;
	struct ibv_qp *const qp = relay->qp[0];
	struct ibv_recv_wr *bad_recv, recv = { 0 };

	wr.wr.rdma.remote_addr = (uintptr_t)net.b.buf;
	wr.wr.rdma.rkey = net.b.mr->rkey;
	check(ibv_post_recv(qp, &recv, &bad_recv) == 0);
	while (!atomic_compare_exchange_strong(&relays[draw(self, NB_RELAYS)], &none, relay)) {
		none = NULL;
		take(self);
		if (atomic_load(&nb_bad) > 0)
			return;
	}
	for (unsigned i = 0; i < NB_POSTS; i++)
		check(ibv_post_send(qp, &wr, &bad) == 0);
}

static void
give_and_take(struct actor *self)
{
	if (draw(self, 2))
		take(self);
	else
		give(self);
}

/* --- objects of one thread ------------------------------------------------------------------------- */

static void
make_domains(struct actor *self)
{
	struct host *const host = any_host(self);
	struct ibv_pd *const pd = uroce_alloc_pd(host->context);
	struct ibv_td_init_attr td_init = { 0 };
	struct ibv_td *const td = uroce_alloc_td(host->context, &td_init);
	struct ibv_parent_domain_init_attr init = { .pd = pd, .td = td };
	struct ibv_pd *const parent = uroce_alloc_parent_domain(host->context, &init);
	struct ibv_pd *const twin = uroce_import_pd(host->context, pd->handle);

	check(pd && td && parent && twin);
	check(uroce_dealloc_pd(pd) == EBUSY && uroce_dealloc_td(td) == EBUSY);
	uroce_unimport_pd(twin);
	check(uroce_dealloc_pd(parent) == 0 && uroce_dealloc_td(td) == 0);
	check(uroce_dealloc_pd(pd) == 0);
}

static void
make_regions(struct actor *self)
{
	struct host *const host = any_host(self);
	struct ibv_pd *const pd = uroce_alloc_pd(host->context);
	struct ibv_mr *const mr = uroce_reg_mr(host->pd, self->buf, PART, RIGHTS);
	struct ibv_mr *const null = uroce_alloc_null_mr(pd);
	struct ibv_mr *twin;

	check(pd && mr && null);
	check(uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, self->buf + PART, PART,
			     0) == 0);
	check((twin = uroce_import_mr(host->pd, mr->handle)) != NULL);
	check(uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0) == 0);
	if (draw(self, 2)) {
		check(uroce_dereg_mr(mr) == 0);
		uroce_unimport_mr(twin);
	} else {
		uroce_unimport_mr(twin);
		check(uroce_dereg_mr(mr) == 0);
	}
	check(uroce_dereg_mr(null) == 0 && uroce_dealloc_pd(pd) == 0);
}

static void
make_regions_on_demand(struct actor *self)
{
	struct host *const host = any_host(self);
	struct ibv_mr *const mr =
		uroce_reg_mr(host->pd, self->buf, PART, RIGHTS | IBV_ACCESS_ON_DEMAND);
	struct ibv_sge sge = { (uintptr_t)self->buf, PART, mr != NULL ? mr->lkey : 0 };

	if (mr == NULL) {
		check(errno == EOPNOTSUPP); /* an old kernel */
		return;
	}
	check(uroce_advise_mr(host->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			      IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1) == 0);
	check(uroce_dereg_mr(mr) == 0);
}

static void
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

static void
make_device_memory(struct actor *self)
{
	struct host *const host = any_host(self);
	struct ibv_alloc_dm_attr attr = { .length = PART, .log_align_req = 8 };
	struct ibv_dm *const dm = uroce_alloc_dm(host->context, &attr);
	struct ibv_mr *const mr = uroce_reg_dm_mr(host->pd, dm, 64, 128,
						  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);

	check(dm && mr && uroce_free_dm(dm) == EBUSY);
	check(uroce_memcpy_to_dm(dm, 128, self->buf, 64) == 0);
	check(uroce_memcpy_from_dm(self->buf + PART, dm, 128, 64) == 0);
	check(uroce_dereg_mr(mr) == 0 && uroce_free_dm(dm) == 0);
}

static void
make_queues(struct actor *self)
{
	struct host *const host = any_host(self);
	struct end end = { .host = host, .pd = host->pd };
	struct ibv_srq_attr attr = { .max_wr = 4 + draw(self, 8), .srq_limit = 2 };

	end.channel = draw(self, 2) ? uroce_create_comp_channel(host->context) : NULL;
	end.cq = make_cq(self, host->context, end.channel, draw(self, 2), 1 + draw(self, 64));
	end.srq = make_srq(&end, 4);
	check(end.cq && end.srq);
	check(ibv_req_notify_cq(end.cq, 0) == 0);
	check(uroce_resize_cq(end.cq, 1 + (int)draw(self, 64)) == 0);
	check(uroce_modify_srq(end.srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) == 0);
	check(uroce_destroy_srq(end.srq) == 0);
	check(uroce_destroy_cq(end.cq) == 0);
	check(end.channel == NULL || uroce_destroy_comp_channel(end.channel) == 0);
}

/* Receives that are flushed, and sends that nobody answers. */
static void
make_qps(struct actor *self)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct host host = *any_host(self);
	struct end end = { .host = &host, .pd = host.pd };
	struct ibv_sge sge = sge_of(&host, 0, 100);
	struct ibv_recv_wr *bad, wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 };
	struct ibv_wc wc = { 0 };
	unsigned nb = 0;

	end.cq = make_cq(self, host.context, NULL, false, 16);
	host.qp = end.qp = make_qp(&end, types[draw(self, 3)], draw(self, 2));
	check(end.cq && end.qp && to_init(&host) == 0);
	for (unsigned i = 0; i < 4; i++)
		check(ibv_post_recv(end.qp, &wr, &bad) == 0);
	check(to_rtr(&net, &host, draw(self, 2) ? &net.a : &net.b) == 0);
	check(to_rts(&net, &host) == 0);
	check(to_state(&host, IBV_QPS_ERR) == 0);
	for (unsigned i = 0; nb < 4 && i < PATIENCE; i++)
		nb += (unsigned)ibv_poll_cq(end.cq, 1, &wc);
	check(nb == 4 && wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == 5);
	if (draw(self, 2))
		check(to_state(&host, IBV_QPS_RESET) == 0);
	check(uroce_destroy_qp(end.qp) == 0 && uroce_destroy_cq(end.cq) == 0);
}

/* A target of a domain that all threads share, in both generations of the calls, and somebody else's. */
static void
make_targets(struct actor *self)
{
	struct host *const host = any_host(self);
	struct end end = { .host = host, .pd = host->pd, .cq = host->rcq };
	struct ibv_qp_open_attr open_attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct uroce_xrc_rcv_init_attr init = { .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_xrc_domain *const old = uroce_open_xrc_domain(host->context, xrc_fd, O_CREAT);
	struct ibv_qp_init_attr qp_init;
	struct ibv_qp *other;
	uint32_t qpn = 0, others_qpn;

	end.xrcd = open_xrcd(host->context, xrc_fd);
	end.srq = make_srq(&end, 4);
	check(old && end.xrcd && end.srq);
	init.xrc_domain = old;
	check(uroce_create_xrc_rcv_qp(&init, &qpn) == 0);
	others_qpn = atomic_exchange(&last_target, qpn);
	check(uroce_modify_xrc_rcv_qp(old, qpn, &attr,
				      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					      IBV_QP_ACCESS_FLAGS) == 0);
	check(uroce_query_xrc_rcv_qp(old, qpn, &attr, IBV_QP_STATE, &init) == 0);
	check(attr.qp_state == IBV_QPS_INIT);
	check(uroce_reg_xrc_rcv_qp(old, qpn) == 0);
	open_attr.xrcd = end.xrcd;
	open_attr.qp_num = others_qpn;
	other = uroce_open_qp(host->context, &open_attr);
	check(other != NULL || errno == EINVAL);
	if (other != NULL)
		check(uroce_query_qp(other, &attr, IBV_QP_STATE, &qp_init) == 0 &&
		      uroce_destroy_qp(other) == 0);
	check(uroce_unreg_xrc_rcv_qp(old, qpn) == 0);
	check(uroce_destroy_srq(end.srq) == 0);
	check(uroce_close_xrcd(end.xrcd) == 0 && uroce_close_xrc_domain(old) == 0);
}

static void
make_contexts(struct actor *self)
{
	struct host *const host = any_host(self);
	struct ibv_context *const context = uroce_open_device(host->device);
	struct ibv_context *const twin = uroce_import_device(dup(host->context->cmd_fd));
	struct ibv_pd *pd;

	check(context && twin);
	check((pd = uroce_import_pd(twin, host->pd->handle)) != NULL);
	uroce_unimport_pd(pd);
	check((pd = uroce_alloc_pd(context)) != NULL && uroce_dealloc_pd(pd) == 0);
	check(uroce_close_device(twin) == 0 && uroce_close_device(context) == 0);
}

/* A key of keys; its check, too, may be asked from any thread. */
static void
make_mkeys(struct actor *self)
{
	struct host *const host = any_host(self);
	struct uroce_dv_mkey_init_attr init = {
		.pd = host->pd,
		.create_flags = UROCE_DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				UROCE_DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE,
		.max_entries = (uint16_t)(1 + draw(self, 4)),
	};
	struct uroce_dv_mkey *const mkey = uroce_dv_create_mkey(&init);
	struct uroce_dv_mkey_err err;

	check(mkey != NULL && mkey->lkey != 0);
	check(uroce_dv_mkey_check(mkey, &err) == 0);
	check(uroce_dv_destroy_mkey(mkey) == 0);
}

static void
take_events(struct actor *self)
{
	struct ibv_context *const context = any_host(self)->context;
	struct ibv_async_event event;

	while (uroce_get_async_event(context, &event) == 0) {
		check(uroce_event_type_str(event.event_type) != NULL);
		sched_yield();
		uroce_ack_async_event(&event);
	}
	check(errno == EAGAIN);
}

static void
ask_device(struct actor *self)
{
	struct host *const host = any_host(self);
	struct ibv_context *const context = host->context;
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;
	struct ibv_gid_entry gids[4];
	union ibv_gid gid;
	__be16 pkey;

	check(uroce_query_device_ex(context, NULL, &attr) == 0);
	check(uroce_query_port(context, 1, &port) == 0);
	check(uroce_query_gid(context, 1, ADDR_GID, &gid) == 0);
	check(uroce_query_gid_table(context, gids, 4, 0) > 0);
	check(uroce_query_pkey(context, 1, 0, &pkey) == 0);
	uroce_free_device_list(uroce_get_device_list(NULL));
}

static void (*const acts[])(struct actor *) = {
	exchange,
	exchange,
	exchange,
	exchange,
	exchange,
	exchange,
	wait_for_events,
	change_state,
	ask,
	resize,
	join_group,
	rebuild,
	give_and_take,
	give_and_take,
	make_domains,
	make_regions,
	make_regions_on_demand,
	make_windows,
	make_device_memory,
	make_queues,
	make_qps,
	make_targets,
	make_contexts,
	make_mkeys,
	take_events,
	take_events,
	ask_device,
};

static void *
act(void *arg)
{
	struct actor *const self = arg;

	for (unsigned i = 0; i < nb_operations && atomic_load(&nb_bad) == 0; i++)
		acts[draw(self, sizeof(acts) / sizeof(acts[0]))](self);
	return NULL;
}

/* --- the whole --------------------------------------------------------------------------------------- */

static void
open_all(uint64_t seed)
{
	for (unsigned i = 0; i < NB_THREADS; i++) {
		actors[i].seed = (seed << 8 | i) * 0x9e3779b97f4a7c15 | 1;
		assert_non_null(actors[i].buf = aligned_alloc(4096, NB_PARTS * PART));
		memset(actors[i].buf, 0, NB_PARTS * PART);
	}
	for (unsigned i = 0; i < NB_LINKS; i++) {
		pthread_rwlock_init(&links[i].lock, NULL);
		for (unsigned j = 0; j < 2; j++) {
			links[i].end[j].host = j == 0 ? &net.a : &net.b;
			assert_non_null(links[i].end[j].buf = aligned_alloc(4096, NB_PARTS * PART));
			memset(links[i].end[j].buf, 0, NB_PARTS * PART);
		}
		build_link(&actors[0], &links[i]);
	}
}

static void
close_all(void)
{
	for (unsigned i = 0; i < NB_RELAYS; i++) {
		struct relay *const relay = atomic_exchange(&relays[i], NULL);

		if (relay != NULL)
			finish_relay(relay);
	}
	for (unsigned i = 0; i < NB_LINKS; i++) {
		for (unsigned j = 0; j < 2; j++) {
			close_end(&links[i].end[j]);
			free(links[i].end[j].buf);
		}
		pthread_rwlock_destroy(&links[i].lock);
	}
	for (unsigned i = 0; i < NB_THREADS; i++)
		free(actors[i].buf);
}

static void
run(const char *keys, uint64_t seed)
{
	/* the threads are more than the CPUs: a host may have to wait for its turn */
	pair_open(&net, &(struct pair_conf){
				.type = IBV_QPT_RC, .keys = keys, .timeout = 18, .nb_cqe = 1024 });
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(
			fcntl((i == 0 ? &net.a : &net.b)->context->async_fd, F_SETFL, O_NONBLOCK),
			0);
	open_all(seed);
	for (unsigned i = 0; i < NB_THREADS; i++)
		assert_int_equal(pthread_create(&actors[i].thread, NULL, act, &actors[i]), 0);
	for (unsigned i = 0; i < NB_THREADS; i++)
		assert_int_equal(pthread_join(actors[i].thread, NULL), 0);
	if (atomic_load(&nb_bad) == 0)
		close_all();
	assert_int_equal(atomic_load(&nb_bad), 0);
	pair_close(&net);
}

static void
threads__do_what_they_like(void **state)
{
	(void)state;
	run("workers=2", first_seed);
}

static void
threads__do_what_they_like_with_one_worker(void **state)
{
	(void)state;
	run("workers=1", first_seed + 1);
}

static void
threads__do_what_they_like_beside_an_lcore(void **state)
{
	(void)state;
	run("drive=lcore", first_seed + 2);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads__do_what_they_like),
		cmocka_unit_test(threads__do_what_they_like_with_one_worker),
		cmocka_unit_test(threads__do_what_they_like_beside_an_lcore),
	};

	if (argc > 1)
		first_seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		nb_operations = (unsigned)strtoul(argv[2], NULL, 0);
	xrc_fd = memfd_create("xrc", 0);
	net_init_with("512");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
