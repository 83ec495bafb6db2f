/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and connects XRC targets. An XRC target only receives, so RTR is the last state that it
 * is moved to.
 */

#include "xrc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
failed(const char *what, int error)
{
	fprintf(stderr, "uroce-perf: %s: %s\n", what, strerror(error));
	return -1;
}

int
xrc_open(struct endpoint *endpoint, const struct options *opt)
{
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							  IBV_XRCD_INIT_ATTR_OFLAGS,
					     .fd = -1,
					     .oflags = O_CREAT };
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = (uint32_t)opt->rx_depth, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = endpoint->pd,
		.cq = endpoint->cq[0],
	};

	endpoint->xrc_target = calloc(endpoint->nb_qp, sizeof(struct ibv_qp *));
	if (endpoint->xrc_target == NULL)
		return failed("XRC targets", ENOMEM);
	endpoint->xrcd = uroce_open_xrcd(endpoint->context, &domain);
	if (endpoint->xrcd == NULL)
		return failed("open an XRC domain", errno);
	init.xrcd = endpoint->xrcd;
	endpoint->srq = uroce_create_srq_ex(endpoint->context, &init);
	return endpoint->srq == NULL ? failed("create the XRC shared receive queue", errno) : 0;
}

int
xrc_create_target(struct endpoint *endpoint, const struct options *opt, unsigned idx)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					    .xrcd = endpoint->xrcd };
	struct ibv_qp *target = uroce_create_qp_ex(endpoint->context, &init);

	if (target == NULL)
		return failed("create an XRC target", errno);
	endpoint->xrc_target[idx] = target;
	endpoint->local[idx].recv_qpn = target->qp_num;
	int error = uroce_get_srq_num(endpoint->srq, &endpoint->local[idx].srqn);
	if (error != 0)
		return failed("the number of the XRC shared receive queue", error);
	return endpoint_init_qp(target, opt);
}

int
xrc_connect_target(struct endpoint *endpoint, const struct options *opt, unsigned idx)
{
	struct ibv_qp_attr attr = endpoint_rtr_attr(endpoint, opt, idx);

	attr.dest_qp_num = endpoint->peer[idx].qpn;
	int error = uroce_modify_qp(endpoint->xrc_target[idx], &attr,
				    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					    IBV_QP_MIN_RNR_TIMER);
	return error != 0 ? failed("XRC target to RTR", error) : 0;
}

void
xrc_destroy_targets(struct endpoint *endpoint)
{
	for (unsigned i = 0; endpoint->xrc_target != NULL && i < endpoint->nb_qp; i++) {
		if (endpoint->xrc_target[i] != NULL)
			uroce_destroy_qp(endpoint->xrc_target[i]);
		endpoint->xrc_target[i] = NULL;
	}
}

void
xrc_close(struct endpoint *endpoint)
{
	if (endpoint->xrcd != NULL)
		uroce_close_xrcd(endpoint->xrcd);
	free(endpoint->xrc_target);
	endpoint->xrcd = NULL;
	endpoint->xrc_target = NULL;
}
