/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Multicast groups. The memberships of QPs are in a table that workers read without a lock
 * (transport/mcast.h). The list of groups in this file is used for the port's MAC filter and for
 * IGMP and MLD reports, and only under the device's lock.
 */

#include "datapath/net/mcast_group.h"
#include "datapath/net/igmp_mld.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rte_ethdev.h>
#include <rte_ether.h>

#include "datapath/clock.h"
#include "datapath/device/dev.h"
#include "datapath/log.h"
#include "datapath/net/neigh.h"
#include "datapath/udp/udp_port.h"
#include "datapath/worker/round.h"

#define MACS_MAX 64 /* maximum number of MACs in a port's filter */

/* --- reports to routers and switches ------------------------------------------------------------- */

struct report {
	struct uroce_dev *dev;
	const uint8_t *gid;
	enum uroce_neigh_report what;
};

/* Send a report of a multicast group. The function runs in the context of the first worker. */
static int
send_report(void *arg)
{
	const struct report *report = arg;
	struct uroce_worker *worker = report->dev->worker[0];
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(worker->pool);
	uint32_t len;

	if (!mbuf)
		/*
		 * without an mbuf no report is sent; a report may also be lost on the network, so
		 * this is no error
		 */
		return 0;
	len = uroce_neigh_report(report->dev->neigh, report->gid, report->what, uroce_clock_ns(),
				 rte_pktmbuf_mtod(mbuf, uint8_t *));
	if (len == 0) {
		rte_pktmbuf_free(mbuf);
		return 0;
	}
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = len;
	uroce_tx_push(worker, mbuf);
	return 0;
}

/*
 * Report a multicast group by IGMP or MLD, unless the kernel has joined the group and reports it.
 */
static void
report_group(struct uroce_dev *dev, const uint8_t gid[16], enum uroce_neigh_report what)
{
	struct report report = { .dev = dev, .gid = gid, .what = what };

	if (dev->neigh)
		(void)uroce_worker_call(dev->worker[0], NULL, send_report, &report);
}

/*
 * Mark all multicast groups as due for a report if a router has sent a query, a group is new, or
 * the link has come up again, also if it was down only between two calls of this function. The
 * caller holds the device's lock.
 */
static void
mark_groups_due(struct uroce_worker *worker)
{
	struct uroce_dev *dev = worker->dev;
	const uint64_t nb_downs = atomic_load(&dev->port->nb_downs);
	const bool is_up = uroce_port_is_up(dev->port);
	const bool is_new_link = is_up && nb_downs != dev->nb_link_downs;

	if (is_up)
		dev->nb_link_downs = nb_downs;
	if (!uroce_neigh_is_report_due(dev->neigh, worker->now_ns) && !is_new_link)
		return;
	for (struct uroce_mcast_group *at = dev->groups; at; at = at->next)
		at->is_due = true;
	dev->has_due_groups = true;
}

void
uroce_mcast_group_report(struct uroce_worker *worker)
{
	struct uroce_dev *dev = worker->dev;
	struct uroce_mcast_group *at;

	/*
	 * Another thread that has the device's lock may wait for this worker. So this worker does
	 * not wait for the lock; the next call of this function tries again.
	 */
	if (!dev->neigh || pthread_mutex_trylock(&dev->lock) != 0)
		return;
	mark_groups_due(worker);
	for (at = dev->has_due_groups ? dev->groups : NULL;
	     at && worker->tx.nb_pending < UROCE_PENDING_MAX / 2; at = at->next) {
		if (at->is_due)
			(void)send_report(&(struct report){
				.dev = dev, .gid = at->gid, .what = UROCE_NEIGH_MEMBER });
		at->is_due = false;
	}
	dev->has_due_groups = at != NULL;
	pthread_mutex_unlock(&dev->lock);
}

/* --- the port's filter ------------------------------------------------------------------------- */

/*
 * Whether the port has a MAC filter that accepts only those multicast frames whose destination MACs
 * are set.
 */
static bool
has_filter(const struct uroce_port *port)
{
	return !port->is_handed_over && !port->has_all_multicast && port->netif.if_index == 0;
}

/*
 * Set the multicast MACs of the port's filter. A port that supports no list of MACs (-ENOTSUP) has
 * no filter.
 */
static void
set_port_filter(const struct uroce_dev *dev)
{
	struct rte_ether_addr macs[MACS_MAX];
	const struct uroce_port *port = dev->port;
	uint32_t nb = 0;
	int ret;

	if (!has_filter(port))
		return;
	for (const struct uroce_mcast_group *at = dev->groups; at && nb < MACS_MAX; at = at->next)
		uroce_mcast_group_mac(at->gid, macs[nb++].addr_bytes);
	ret = rte_eth_dev_set_mc_addr_list(port->id, nb > 0 ? macs : NULL, nb);
	if (ret < 0 && ret != -ENOTSUP)
		UROCE_LOG(WARNING, port,
			  "%s: the MAC filter does not accept %u multicast groups: %s", port->name,
			  nb, strerror(-ret));
}

/*
 * The arguments of open_group_socket() and close_group_socket(), for a multicast group of a port
 * `udp`.
 */
struct group_socket {
	const struct uroce_port *port;
	const uint8_t *gid;
};

static int
open_group_socket(void *arg)
{
	const struct group_socket *group_socket = arg;

	return uroce_udp_port_join(group_socket->port, group_socket->gid);
}

static int
close_group_socket(void *arg)
{
	const struct group_socket *group_socket = arg;

	uroce_udp_port_leave(group_socket->port, group_socket->gid);
	return 0;
}

static bool
has_group_sockets(const struct uroce_dev *dev)
{
	return dev->port->udp && uroce_udp_port_has_group_sockets(dev->port);
}

/*
 * Make the kernel receive the datagrams of a multicast group, if the device shares interfaces with
 * the kernel.
 * @param[out] fd  descriptor that keeps the kernel's membership; -1: none is needed
 * @return 0, or -errno
 */
static int
join_by_kernel(struct uroce_dev *dev, const uint8_t gid[16], int *fd)
{
	struct group_socket group_socket = { dev->port, gid };

	*fd = -1;
	if (has_group_sockets(dev))
		return uroce_worker_call(dev->worker[0], NULL, open_group_socket, &group_socket);
	if (dev->port->netif.if_index == 0 && !dev->port->udp)
		return 0;
	*fd = uroce_netif_join(&dev->port->netif, gid);
	return *fd < 0 ? *fd : 0;
}

/* Start receiving the datagrams of a multicast group. The caller holds the device's lock. */
static int
listen_to(struct uroce_dev *dev, const uint8_t gid[16])
{
	struct uroce_mcast_group *group;
	int ret;

	if (has_filter(dev->port) && atomic_load(&dev->nb_groups) == MACS_MAX)
		return -ENOMEM;
	group = calloc(1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	ret = join_by_kernel(dev, gid, &group->fd);
	if (ret < 0) {
		free(group);
		return ret;
	}
	if (!dev->groups)
		dev->nb_link_downs = uroce_port_is_up(dev->port) ? atomic_load(&dev->port->nb_downs)
								 : UINT64_MAX;
	memcpy(group->gid, gid, sizeof(group->gid));
	group->next = dev->groups;
	dev->groups = group;
	atomic_fetch_add(&dev->nb_groups, 1);
	set_port_filter(dev);
	report_group(dev, gid, UROCE_NEIGH_JOINED);
	return 0;
}

/* Stop receiving the datagrams of a multicast group. The caller holds the device's lock. */
static void
stop_listening(struct uroce_dev *dev, const uint8_t gid[16])
{
	struct uroce_mcast_group **link = &dev->groups;
	struct uroce_mcast_group *group;

	while (memcmp((*link)->gid, gid, sizeof(group->gid)) != 0)
		link = &(*link)->next;
	group = *link;
	*link = group->next;
	atomic_fetch_sub(&dev->nb_groups, 1);
	if (group->fd >= 0)
		close(group->fd);
	if (has_group_sockets(dev))
		(void)uroce_worker_call(dev->worker[0], NULL, close_group_socket,
					&(struct group_socket){ dev->port, gid });
	free(group);
	set_port_filter(dev);
	report_group(dev, gid, UROCE_NEIGH_LEFT);
}

/* --- memberships ------------------------------------------------------------------------------- */

/* Make a QP a member of a multicast group. The caller holds the device's lock. */
static int
attach_member(struct uroce_dev *dev, struct uroce_worker_qp *wqp, const uint8_t gid[16])
{
	const unsigned nb_before = uroce_mcast_count(dev->mcast, gid);
	int ret = nb_before == 0 ? listen_to(dev, gid) : 0;

	if (ret < 0)
		return ret;
	ret = uroce_mcast_attach(dev->mcast, gid, wqp);
	if (ret < 0 && nb_before == 0)
		stop_listening(dev, gid);
	/* A repeated attach of the same QP does not change the number of members. */
	wqp->nb_groups += uroce_mcast_count(dev->mcast, gid) > nb_before;
	return ret;
}

int
uroce_dev_attach_mcast(struct uroce_dev *dev, struct uroce_worker_qp *wqp, const uint8_t gid[16])
{
	int ret;

	if (!uroce_gid_is_multicast(gid))
		return -EINVAL;
	pthread_mutex_lock(&dev->lock);
	ret = attach_member(dev, wqp, gid);
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

int
uroce_dev_detach_mcast(struct uroce_dev *dev, struct uroce_worker_qp *wqp, const uint8_t gid[16])
{
	uint32_t idx;
	int ret;

	pthread_mutex_lock(&dev->lock);
	ret = uroce_mcast_detach(dev->mcast, gid, wqp, &idx);
	if (ret == 0) {
		wqp->nb_groups--;
		if (uroce_mcast_count(dev->mcast, gid) == 0)
			stop_listening(dev, gid);
	}
	pthread_mutex_unlock(&dev->lock);
	if (ret < 0)
		return ret;
	uroce_dev_grace(dev);
	pthread_mutex_lock(&dev->lock);
	uroce_mcast_free(dev->mcast, idx);
	pthread_mutex_unlock(&dev->lock);
	return 0;
}

bool
uroce_dev_is_attached(struct uroce_dev *dev, const struct uroce_worker_qp *wqp)
{
	bool is_member;

	pthread_mutex_lock(&dev->lock);
	is_member = wqp->nb_groups > 0;
	pthread_mutex_unlock(&dev->lock);
	return is_member;
}
