/* SPDX-License-Identifier: BSD-3-Clause */
/* CQs that the library makes for an id. */

#include "verbs/cm/id_cq.h"

#include "verbs/uroce.h"

static int
make_cq_of_id(struct uroce_vcm_id *id, uint32_t nb_wr, struct ibv_comp_channel **channel,
	      struct ibv_cq **cq)
{
	int ret;

	*channel = uroce_create_comp_channel(id->cm.verbs);
	if (*channel == NULL)
		return -errno;
	*cq = uroce_create_cq(id->cm.verbs, nb_wr > 0 ? (int)nb_wr : 1, id, *channel, 0);
	if (*cq != NULL)
		return 0;
	ret = -errno;
	(void)uroce_destroy_comp_channel(*channel);
	*channel = NULL;
	return ret;
}

int
uroce_vcm_id_make_send_cq(struct uroce_vcm_id *id, uint32_t nb_wr)
{
	int ret;

	if (id->has_send_cq)
		return 0;
	ret = make_cq_of_id(id, nb_wr, &id->cm.send_cq_channel, &id->cm.send_cq);
	id->has_send_cq = ret == 0;
	return ret;
}

int
uroce_vcm_id_make_recv_cq(struct uroce_vcm_id *id, uint32_t nb_wr)
{
	int ret;

	if (id->has_recv_cq)
		return 0;
	ret = make_cq_of_id(id, nb_wr, &id->cm.recv_cq_channel, &id->cm.recv_cq);
	id->has_recv_cq = ret == 0;
	return ret;
}

/*
 * Destroy a CQ that the library has made, and its channel.
 * @return false: a QP or an SRQ uses the CQ, which stays
 */
static bool
free_cq_of_id(struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
	if (uroce_destroy_cq(*cq) != 0)
		return false;
	(void)uroce_destroy_comp_channel(*channel);
	*cq = NULL;
	*channel = NULL;
	return true;
}

void
uroce_vcm_id_free_cqs(struct uroce_vcm_id *id)
{
	if (id->has_send_cq)
		id->has_send_cq = !free_cq_of_id(&id->cm.send_cq_channel, &id->cm.send_cq);
	if (id->has_recv_cq)
		id->has_recv_cq = !free_cq_of_id(&id->cm.recv_cq_channel, &id->cm.recv_cq);
}
