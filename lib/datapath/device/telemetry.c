/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Telemetry of devices and QPs. The thread that builds a reply holds `telemetry_lock`, without
 * which no device is destroyed. While this thread reads a QP, it also holds the device's lock,
 * without which no QP is destroyed. The QP is read in the context of its worker.
 */

#include "datapath/device/telemetry.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_telemetry.h>

#include "datapath/dpdk.h"
#include "datapath/log.h"
#include "datapath/device/qpn.h"
#include "datapath/device/stats.h"
#include "datapath/net/gid.h"
#include "datapath/udp/udp_counter.h"
#include "mem/mr.h"

static pthread_mutex_t telemetry_lock = PTHREAD_MUTEX_INITIALIZER;
/* list of the devices that telemetry reports, in the order of their addition */
static struct uroce_dev *telemetry_devices;

static void
add_value(struct rte_tel_data *dict, const char *name, uint64_t value)
{
	(void)UROCE_DPDK_TEL_ADD_DICT(dict, name, value);
}

static void
add_text(struct rte_tel_data *dict, const char *name, const char *text)
{
	(void)rte_tel_data_add_dict_string(dict, name, text);
}

/*
 * Add an empty dictionary to a dictionary of a telemetry reply. The inner dictionary is freed with
 * the reply.
 * @return the inner dictionary; NULL: no memory
 */
static struct rte_tel_data *
add_dict(struct rte_tel_data *dict, const char *name)
{
	struct rte_tel_data *inner = rte_tel_data_alloc();

	if (!inner)
		return NULL;
	(void)rte_tel_data_start_dict(inner);
	if (rte_tel_data_add_dict_container(dict, name, inner, 0) == 0)
		return inner;
	rte_tel_data_free(inner);
	return NULL;
}

/*
 * Find the device whose name is at the beginning of the parameters of a telemetry command. The
 * caller holds `telemetry_lock`.
 * @param[out] rest  the parameters that follow the name of the device
 */
static struct uroce_dev *
find_device(const char *params, const char **rest)
{
	const size_t len = params ? strcspn(params, ",") : 0;

	for (struct uroce_dev *dev = telemetry_devices; dev; dev = dev->telemetry_next) {
		if (strlen(dev->telemetry_name) != len ||
		    strncmp(dev->telemetry_name, params, len) != 0)
			continue;
		*rest = params[len] == ',' ? params + len + 1 : params + len;
		return dev;
	}
	return NULL;
}

/* --- devices ----------------------------------------------------------------------------------- */

static int
list_devices(const char *cmd, const char *params, struct rte_tel_data *reply)
{
	(void)cmd;
	(void)params;
	(void)rte_tel_data_start_array(reply, RTE_TEL_STRING_VAL);
	pthread_mutex_lock(&telemetry_lock);
	for (const struct uroce_dev *dev = telemetry_devices; dev; dev = dev->telemetry_next)
		(void)rte_tel_data_add_array_string(reply, dev->telemetry_name);
	pthread_mutex_unlock(&telemetry_lock);
	return 0;
}

/* Add to a telemetry reply the counters that only a device on UDP sockets has. */
static void
add_udp_counters(struct rte_tel_data *counters, struct uroce_dev *dev)
{
	uint64_t nb[UROCE_UDP_COUNTER_NB];

	uroce_udp_counters_read(dev, nb);
	for (unsigned c = 0; c < UROCE_UDP_COUNTER_NB; c++)
		add_value(counters, uroce_udp_counter_name(c), nb[c]);
}

static void
add_counters(struct rte_tel_data *reply, struct uroce_dev *dev)
{
	struct rte_tel_data *const counters = add_dict(reply, "counters");
	struct rte_tel_data *const verdicts = add_dict(reply, "verdicts");
	uint64_t verdict[UROCE_VERDICT_NB];
	struct uroce_counters now;

	uroce_stats_read(dev, &now);
	for (unsigned c = 0; counters && c < UROCE_COUNTER_NB; c++)
		add_value(counters, uroce_counter_name(c), now.nb[c]);
	if (counters && dev->port->udp)
		add_udp_counters(counters, dev);
	uroce_stats_read_verdicts(dev, verdict);
	for (unsigned v = 0; verdicts && v < UROCE_VERDICT_NB; v++)
		add_value(verdicts, uroce_verdict_name(v), verdict[v]);
}

/*
 * Add to a telemetry reply how many QPs and MRs a device has; memory windows and mkeys count as
 * MRs.
 */
static void
add_object_counts(struct rte_tel_data *reply, struct uroce_dev *dev)
{
	pthread_mutex_lock(&dev->lock);
	add_value(reply, "qps", dev->qpns->nb_qp);
	add_value(reply, "mrs", uroce_mr_table_count(dev->mrs));
	pthread_mutex_unlock(&dev->lock);
}

/*
 * Add to a telemetry reply the name of the kernel interface that the device's port shares, if there
 * is one.
 */
static void
add_interface(struct rte_tel_data *reply, const struct uroce_dev *dev)
{
	char name[IF_NAMESIZE];
	const unsigned if_index = uroce_gid_if_index(dev);

	if (if_index > 0 && if_indextoname(if_index, name))
		add_text(reply, "interface", name);
}

static int
reply_device(const char *cmd, const char *params, struct rte_tel_data *reply)
{
	struct uroce_dev *dev;
	const char *rest;

	(void)cmd;
	pthread_mutex_lock(&telemetry_lock);
	dev = find_device(params, &rest);
	if (dev) {
		(void)rte_tel_data_start_dict(reply);
		add_text(reply, "name", dev->telemetry_name);
		add_text(reply, "port", dev->conf.port);
		add_interface(reply, dev);
		add_text(reply, "link", uroce_dev_is_link_up(dev) ? "up" : "down");
		add_value(reply, "mtu", 128u << dev->limits.active_mtu);
		add_value(reply, "workers", dev->nb_workers);
		add_object_counts(reply, dev);
		add_counters(reply, dev);
	}
	pthread_mutex_unlock(&telemetry_lock);
	return dev ? 0 : -ENOENT;
}

static int
reply_counters(const char *cmd, const char *params, struct rte_tel_data *reply)
{
	static const struct uroce_qpc none;
	struct uroce_stats_row rows[UROCE_STATS_QP_NB];

	(void)cmd;
	(void)params;
	(void)rte_tel_data_start_dict(reply);
	for (unsigned c = 0; c < UROCE_COUNTER_NB; c++)
		add_text(reply, uroce_counter_name(c), uroce_counter_text(c));
	for (unsigned c = 0; c < UROCE_UDP_COUNTER_NB; c++)
		add_text(reply, uroce_udp_counter_name(c), uroce_udp_counter_text(c));
	uroce_stats_read_qp(&none, rows);
	for (unsigned i = 0; i < UROCE_STATS_QP_NB; i++) {
		if (rows[i].is_qps_alone)
			add_text(reply, rows[i].name, rows[i].text);
	}
	return 0;
}

/* --- QPs --------------------------------------------------------------------------------------- */

/* Parse the QPN at the beginning of telemetry parameters. @return the QPN; 0: none is valid */
static uint32_t
qpn_of(const char *params)
{
	const unsigned long qpn = strtoul(params, NULL, 0);

	return qpn <= UROCE_QPN_MAX ? (uint32_t)qpn : 0;
}

static void
add_qpns(struct rte_tel_data *reply, const struct uroce_qpn_table *qpns, uint32_t after)
{
	const uint32_t begin = after ? (after & qpns->mask) + 1 : 0;
	bool has_room = true;

	for (uint32_t i = begin; i <= qpns->mask && has_room; i++) {
		const struct uroce_worker_qp *const wqp = uroce_qpn_peek(qpns, i);

		has_room = !wqp || UROCE_DPDK_TEL_ADD_ARRAY(reply, wqp->qpc.qpn) == 0;
	}
}

static int
list_qps(const char *cmd, const char *params, struct rte_tel_data *reply)
{
	struct uroce_dev *dev;
	const char *rest;

	(void)cmd;
	pthread_mutex_lock(&telemetry_lock);
	dev = find_device(params, &rest);
	if (dev) {
		(void)rte_tel_data_start_array(reply, UROCE_DPDK_TEL_UINT);
		pthread_mutex_lock(&dev->lock);
		add_qpns(reply, dev->qpns, qpn_of(rest));
		pthread_mutex_unlock(&dev->lock);
	}
	pthread_mutex_unlock(&telemetry_lock);
	return dev ? 0 : -ENOENT;
}

static const char *const types[] = {
	[IBV_QPT_RC] = "RC",
	[IBV_QPT_UC] = "UC",
	[IBV_QPT_UD] = "UD",
	[IBV_QPT_XRC_SEND] = "XRC_SEND",
	[IBV_QPT_XRC_RECV] = "XRC_RECV",
};

static const char *const states[] = {
	[IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT", [IBV_QPS_RTR] = "RTR",
	[IBV_QPS_RTS] = "RTS",     [IBV_QPS_SQD] = "SQD",   [IBV_QPS_SQE] = "SQE",
	[IBV_QPS_ERR] = "ERR",
};

/* The state of a QP, as telemetry reports it. */
struct qp_snapshot {
	const struct uroce_worker_qp *wqp;
	uint8_t type, state;
	uint16_t mtu;
	uint32_t dest_qpn;
	union ibv_gid dgid;
	struct uroce_stats_row rows[UROCE_STATS_QP_NB];
};

/* Read the state of a QP into a snapshot. The function runs in the context of the QP's worker. */
static int
read_qp(void *arg)
{
	struct qp_snapshot *const qp_snapshot = arg;
	const struct uroce_qpc *const qpc = &qp_snapshot->wqp->qpc;

	qp_snapshot->type = qpc->type;
	qp_snapshot->state = qpc->state;
	qp_snapshot->mtu = (uint16_t)(1u << qpc->mtu_shift);
	qp_snapshot->dest_qpn = qpc->dest_qpn;
	qp_snapshot->dgid = qpc->attr.ah_attr.grh.dgid;
	uroce_stats_read_qp(qpc, qp_snapshot->rows);
	return 0;
}

/* Add to a telemetry reply the address of a QP's peer, if the QP has or had a path to a peer. */
static void
add_peer(struct rte_tel_data *reply, const struct qp_snapshot *qp_snapshot)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *const gid = qp_snapshot->dgid.raw;
	const bool is_v4 = memcmp(gid, v4, sizeof(v4)) == 0;
	char text[INET6_ADDRSTRLEN];

	if (qp_snapshot->type == IBV_QPT_UD || qp_snapshot->state == IBV_QPS_RESET ||
	    qp_snapshot->state == IBV_QPS_INIT ||
	    !inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? gid + 12 : gid, text, sizeof(text)))
		return;
	add_text(reply, "peer", text);
	add_value(reply, "dest_qpn", qp_snapshot->dest_qpn);
	add_value(reply, "mtu", qp_snapshot->mtu);
}

static void
add_qp(struct rte_tel_data *reply, uint32_t qpn, const struct qp_snapshot *qp_snapshot)
{
	struct rte_tel_data *counters;

	add_value(reply, "qpn", qpn);
	add_text(reply, "type", types[qp_snapshot->type]);
	add_text(reply, "state", states[qp_snapshot->state]);
	add_peer(reply, qp_snapshot);
	counters = add_dict(reply, "counters");
	for (unsigned i = 0; counters && i < UROCE_STATS_QP_NB; i++)
		add_value(counters, qp_snapshot->rows[i].name, qp_snapshot->rows[i].nb);
}

/* Build the telemetry reply about a QP. The caller holds `telemetry_lock`. */
static int
reply_qp_of(struct uroce_dev *dev, uint32_t qpn, struct rte_tel_data *reply)
{
	struct uroce_worker_qp *wqp;
	struct qp_snapshot qp_snapshot;

	pthread_mutex_lock(&dev->lock);
	wqp = uroce_qpn_lookup(dev->qpns, qpn);
	qp_snapshot.wqp = wqp;
	if (wqp)
		(void)uroce_worker_qp_query(wqp, read_qp, &qp_snapshot);
	pthread_mutex_unlock(&dev->lock);
	if (!wqp)
		return -ENOENT;
	(void)rte_tel_data_start_dict(reply);
	add_qp(reply, qpn, &qp_snapshot);
	return 0;
}

static int
reply_qp(const char *cmd, const char *params, struct rte_tel_data *reply)
{
	int ret = -ENOENT;
	struct uroce_dev *dev;
	const char *rest;

	(void)cmd;
	pthread_mutex_lock(&telemetry_lock);
	dev = find_device(params, &rest);
	if (dev)
		ret = reply_qp_of(dev, qpn_of(rest), reply);
	pthread_mutex_unlock(&telemetry_lock);
	return ret;
}

/* --- commands and devices ---------------------------------------------------------------------- */

static const struct {
	const char *cmd;
	telemetry_cb call;
	const char *help;
} commands[] = {
	{ "/uroce/devices", list_devices, "The names of the devices that are up" },
	{ "/uroce/device", reply_device, "A device. Parameter: its name" },
	{ "/uroce/counters", reply_counters, "What each counter counts" },
	{ "/uroce/qps", list_qps,
	  "Numbers of QPs. Parameters: the name of the device, the number after which the list "
	  "begins" },
	{ "/uroce/qp", reply_qp, "A QP. Parameters: its device's name, its number" },
};

static void
register_commands(void)
{
	for (unsigned i = 0; i < RTE_DIM(commands); i++) {
		if (rte_telemetry_register_cmd(commands[i].cmd, commands[i].call,
					       commands[i].help) < 0)
			UROCE_LOG(WARNING, dev, "%s is not registered with telemetry",
				  commands[i].cmd);
	}
}

void
uroce_telemetry_add(struct uroce_dev *dev, const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct uroce_dev **link = &telemetry_devices;

	pthread_once(&once, register_commands);
	snprintf(dev->telemetry_name, sizeof(dev->telemetry_name), "%s", name);
	dev->telemetry_next = NULL;
	pthread_mutex_lock(&telemetry_lock);
	while (*link)
		link = &(*link)->telemetry_next;
	*link = dev;
	pthread_mutex_unlock(&telemetry_lock);
}

void
uroce_telemetry_remove(struct uroce_dev *dev)
{
	struct uroce_dev **link = &telemetry_devices;

	pthread_mutex_lock(&telemetry_lock);
	while (*link && *link != dev)
		link = &(*link)->telemetry_next;
	if (*link)
		*link = dev->telemetry_next;
	pthread_mutex_unlock(&telemetry_lock);
}
