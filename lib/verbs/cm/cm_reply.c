/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replies of DPDK's telemetry about connection management. A dictionary inside of a reply is
 * allocated, and is freed together with the reply.
 */

#include "datapath/dpdk.h"
#include "verbs/cm/cm_reply.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <rte_common.h>
#include <rte_telemetry.h>

#include "cm/message.h"
#include "cm/service_id.h"
#include "cm/state.h"

#define MS_NS UINT64_C(1000000)

/*
 * Names of the CM messages in the counters of the kernel's ib_cm, in the order of their attribute
 * IDs.
 */
static const char *const message_names[UROCE_CM_ATTR_END - UROCE_CM_ATTR_FIRST] = {
	"req", "mra", "rej", "rep", "rtu", "dreq", "drep", "sidr_req", "sidr_rep", "lap", "apr",
};

/* Groups of counters of the kernel's ib_cm. Each group has a counter for each type of message. */
static const struct {
	const char *name;
	size_t offset; /* offset of the counters of the group in struct uroce_cm_stats */
} groups[] = {
	{ "cm_tx_msgs", offsetof(struct uroce_cm_stats, nb_tx) },
	{ "cm_tx_retries", offsetof(struct uroce_cm_stats, nb_tx_retries) },
	{ "cm_rx_msgs", offsetof(struct uroce_cm_stats, nb_rx) },
	{ "cm_rx_duplicates", offsetof(struct uroce_cm_stats, nb_rx_duplicates) },
};

static void
put_number(struct rte_tel_data *dict, const char *name, uint64_t value)
{
	(void)UROCE_DPDK_TEL_ADD_DICT(dict, name, value);
}

static void
put_text(struct rte_tel_data *dict, const char *name, const char *text)
{
	(void)rte_tel_data_add_dict_string(dict, name, text);
}

/*
 * Add an empty dictionary to a reply.
 * @return the dictionary; NULL: no memory, or no room in the reply
 */
static struct rte_tel_data *
put_group(struct rte_tel_data *reply, const char *name)
{
	struct rte_tel_data *const group = rte_tel_data_alloc();

	if (!group)
		return NULL;
	(void)rte_tel_data_start_dict(group);
	if (rte_tel_data_add_dict_container(reply, name, group, 0) == 0)
		return group;
	rte_tel_data_free(group);
	return NULL;
}

/* --- counters of an agent ---------------------------------------------------------------------- */

/* Add the group of counters for dropped messages, which the kernel's ib_cm does not have. */
static void
put_drops(struct rte_tel_data *reply, const struct uroce_cm_agent_stats *stats)
{
	struct rte_tel_data *const group = put_group(reply, "cm_drops");

	if (!group)
		return;
	put_number(group, "backlog_full", stats->cm.nb_backlog_full);
	put_number(group, "no_id", stats->cm.nb_no_id);
	put_number(group, "replies", stats->cm.nb_replies_dropped);
	put_number(group, "superseded", stats->cm.nb_superseded);
	put_number(group, "no_cm_message", stats->nb_refused);
	put_number(group, "no_source", stats->nb_no_source);
	put_number(group, "no_mad", stats->nb_no_mad);
}

void
uroce_cm_reply_stats(struct rte_tel_data *reply, const struct uroce_cm_agent_stats *stats)
{
	(void)rte_tel_data_start_dict(reply);
	for (unsigned i = 0; i < RTE_DIM(groups); i++) {
		const uint64_t *const counters =
			(const uint64_t *)(const void *)((const char *)&stats->cm +
							 groups[i].offset);
		struct rte_tel_data *const group = put_group(reply, groups[i].name);

		for (unsigned m = 0; group && m < RTE_DIM(message_names); m++)
			put_number(group, message_names[m], counters[m]);
	}
	put_drops(reply, stats);
}

/* --- ids of an agent --------------------------------------------------------------------------- */

/* Add an address and its port to a dictionary of telemetry, unless the address is not set. */
static void
put_addr(struct rte_tel_data *dict, const char *name, const struct uroce_cm_addr *addr)
{
	char ip[INET6_ADDRSTRLEN], text[INET6_ADDRSTRLEN + sizeof("[]:65535")];
	const bool is_v4 = addr->ip_version == 4;

	if (addr->ip_version != 0 &&
	    inet_ntop(is_v4 ? AF_INET : AF_INET6, addr->ip + (is_v4 ? 12 : 0), ip, sizeof(ip))) {
		(void)snprintf(text, sizeof(text), is_v4 ? "%s:%u" : "[%s]:%u", ip, addr->port);
		put_text(dict, name, text);
	}
}

/*
 * Add a number to a dictionary of telemetry, unless the number is 0, which means that it is not
 * known.
 */
static void
put_known(struct rte_tel_data *dict, const char *name, uint64_t value)
{
	if (value != 0)
		put_number(dict, name, value);
}

static const char *
side_of(const struct uroce_cm_row *row)
{
	if (row->state == UROCE_CM_STATE_LISTEN || row->state == UROCE_CM_STATE_IDLE)
		return "none";
	return row->is_active ? "active" : "passive";
}

/*
 * Add to a dictionary the length and the limit of the backlog, if the id is a listener. If the id
 * is a request that waits in a backlog, add its listener.
 */
static void
put_backlog(struct rte_tel_data *dict, const struct uroce_cm_row *row)
{
	if (row->state == UROCE_CM_STATE_LISTEN) {
		put_number(dict, "waiting", row->nb_waiting);
		put_number(dict, "backlog", row->max_backlog);
	}
	if (row->listener != UROCE_CM_NO_ID)
		put_number(dict, "listener", row->listener);
}

static void
put_row(struct rte_tel_data *dict, const struct uroce_cm_row *row)
{
	put_number(dict, "id", row->id);
	put_text(dict, "state", uroce_cm_state_name(row->state));
	put_text(dict, "space", uroce_cm_space_name(row->space));
	put_text(dict, "side", side_of(row));
	put_addr(dict, "local", &row->local);
	put_addr(dict, "remote", &row->remote);
	put_known(dict, "qpn", row->local_qpn);
	put_known(dict, "dest_qpn", row->remote_qpn);
	put_known(dict, "comm_id", row->local_comm_id);
	put_known(dict, "remote_comm_id", row->remote_comm_id);
	put_number(dict, "retries", row->nb_retries);
	if (row->left_ns != UROCE_CM_NEVER)
		put_number(dict, "left_ms", row->left_ns / MS_NS);
	put_backlog(dict, row);
	put_number(dict, "destroyed", !row->has_owner);
}

void
uroce_cm_reply_rows(struct rte_tel_data *reply, const struct uroce_cm_row *rows,
		    const struct uroce_cm_row_owner *owners, unsigned nb)
{
	(void)rte_tel_data_start_dict(reply);
	for (unsigned i = 0; i < nb; i++) {
		char name[sizeof("4294967295")];
		struct rte_tel_data *dict;

		(void)snprintf(name, sizeof(name), "%u", rows[i].id);
		dict = put_group(reply, name);
		if (!dict)
			return;
		put_row(dict, &rows[i]);
		if (owners && owners[i].is_known) {
			put_number(dict, "pid", (uint64_t)owners[i].pid);
			put_number(dict, "uid", owners[i].uid);
		}
	}
}

uint32_t
uroce_cm_reply_first(const char *params)
{
	const unsigned long after = params && *params ? strtoul(params, NULL, 0) : UINT32_MAX;

	if (!params || !*params)
		return 0;
	return after < UROCE_CM_NO_ID ? (uint32_t)after + 1 : UROCE_CM_NO_ID;
}
