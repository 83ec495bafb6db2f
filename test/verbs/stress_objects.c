/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that create objects, and operations on objects that one thread creates, uses and frees,
 * in the devices, contexts and domains of all threads.
 */

#include "stress.h"

#include <uroce_dv.h>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

static _Atomic uint32_t last_target;

struct ibv_cq *
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

struct ibv_srq *
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

struct ibv_xrcd *
open_xrcd(struct ibv_context *context, int fd)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = O_CREAT,
	};

	return uroce_open_xrcd(context, &attr);
}

struct ibv_qp *
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

void
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

void
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

void
make_regions_on_demand(struct actor *self)
{
	struct host *const host = any_host(self);
	struct ibv_mr *const mr =
		uroce_reg_mr(host->pd, self->buf, PART, RIGHTS | IBV_ACCESS_ON_DEMAND);
	struct ibv_sge sge = { (uintptr_t)self->buf, PART, mr != NULL ? mr->lkey : 0 };

	if (mr == NULL) {
		/* on-demand regions need a feature that an old kernel lacks */
		check(errno == EOPNOTSUPP);
		return;
	}
	check(uroce_advise_mr(host->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			      IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1) == 0);
	check(uroce_dereg_mr(mr) == 0);
}

void
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

void
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

/*
 * Create a QP of any type with receive requests, move it to ERR, poll the flushed requests, and
 * destroy it.
 */
void
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
	for (unsigned i = 0; nb < 4 && i < TIMEOUT; i++)
		nb += (unsigned)ibv_poll_cq(end.cq, 1, &wc);
	check(nb == 4 && wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == 5);
	if (draw(self, 2))
		check(to_state(&host, IBV_QPS_RESET) == 0);
	check(uroce_destroy_qp(end.qp) == 0 && uroce_destroy_cq(end.cq) == 0);
}

/*
 * Create XRC targets in a domain that all threads share, by both generations of the calls. Also use
 * the target that another thread has created last.
 */
void
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

void
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

/* Create, use and destroy an mkey. Also check the latest mkey of another thread for errors. */
void
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

void
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

void
query_device(struct actor *self)
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
