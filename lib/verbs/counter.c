/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counters of a device and of a QP, for the program that uses them. Other processes read the
 * same counters by telemetry (datapath/device/telemetry.h).
 */

#include "datapath/device/stats.h"
#include "verbs/object.h"
#include "verbs/uroce_dv.h"

unsigned
uroce_query_counters(struct ibv_context *ibv, struct uroce_dv_counter *counter, unsigned max)
{
	const struct uroce_vdevice *const device = ibv != NULL ? uroce_vcontext(ibv)->device : NULL;
	struct uroce_counters now = { { 0 } };

	/* a device that is announced and not started has no counters, so all values are 0 */
	if (device != NULL && atomic_load(&device->is_up))
		uroce_stats_read(device->dev, &now);
	for (unsigned i = 0; device != NULL && i < UROCE_COUNTER_NB && i < max; i++)
		counter[i] = (struct uroce_dv_counter){
			.name = uroce_counter_name(i),
			.text = uroce_counter_text(i),
			.value = now.nb[i],
		};
	return device != NULL ? UROCE_COUNTER_NB : 0;
}

struct look {
	const struct uroce_qpc *qpc;
	struct uroce_stats_row rows[UROCE_STATS_QP_NB];
};

static int
read_qp_counters(void *arg)
{
	struct look *const look = arg;

	uroce_stats_read_qp(look->qpc, look->rows);
	return 0;
}

unsigned
uroce_query_qp_counters(struct ibv_qp *ibv, struct uroce_dv_counter *counter, unsigned max)
{
	struct uroce_vqp *const qp = uroce_vqp_behind(ibv);
	struct look look;

	if (ibv == NULL || ibv->context == NULL)
		return 0;
	look.qpc = &qp->wqp.qpc;
	(void)uroce_worker_qp_query(&qp->wqp, read_qp_counters, &look);
	for (unsigned i = 0; i < UROCE_STATS_QP_NB && i < max; i++)
		counter[i] = (struct uroce_dv_counter){
			.name = look.rows[i].name,
			.text = look.rows[i].text,
			.value = look.rows[i].nb,
		};
	return UROCE_STATS_QP_NB;
}
