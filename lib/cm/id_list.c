/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Lists of the CM ids of a CM engine. The ids are read in the order of their numbers, so a list
 * that is read in parts needs no memory between the parts.
 */

#include "cm/id_list.h"

#include "cm/context.h"

static uint64_t
time_left(const struct uroce_cm *cm, uint32_t id, uint64_t now_ns)
{
	const uint64_t end_ns = cm->timers.deadline_ns[id];

	if (end_ns == UROCE_TIMER_NEVER)
		return UROCE_CM_NEVER;
	return end_ns > now_ns ? end_ns - now_ns : 0;
}

static void
fill_row(const struct uroce_cm *cm, uint32_t id, struct uroce_cm_row *row, uint64_t now_ns)
{
	const struct uroce_cm_conn *conn = &cm->conns[id];

	*row = (struct uroce_cm_row){
		.id = id,
		.listener = conn->listener,
		.owner = conn->owner,
		.has_owner = conn->has_owner,
		.is_active = conn->is_active,
		.is_datagram = conn->is_datagram,
		.state = conn->state,
		.space = conn->space,
		.local = conn->local,
		.remote = conn->remote,
		.service_id = conn->service_id,
		.local_qpn = conn->local_qpn,
		.remote_qpn = conn->remote_qpn,
		.local_comm_id = conn->local_comm_id,
		.remote_comm_id = conn->remote_comm_id,
		.nb_waiting = conn->waiting.nb,
		.max_backlog = conn->max_backlog,
		.nb_retries = conn->nb_sent ? (uint16_t)(conn->nb_sent - 1) : 0,
		.left_ns = time_left(cm, id, now_ns),
	};
}

unsigned
uroce_cme_list(const struct uroce_cm *cm, uint32_t *next, struct uroce_cm_row *rows, unsigned max,
	       uint64_t now_ns)
{
	const uint32_t first = *next;
	uint32_t id = first;
	unsigned nb = 0;

	while (id < cm->nb_begun && id - first < UROCE_CM_LIST_SCAN && nb < max) {
		if (cm->conns[id].is_used)
			fill_row(cm, id, &rows[nb++], now_ns);
		id++;
	}
	*next = id < cm->nb_begun ? id : UROCE_CM_NO_ID;
	return nb;
}
