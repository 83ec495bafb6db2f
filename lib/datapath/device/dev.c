/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Creation and destruction of a device. Its parts, such as the port, the tables and the workers,
 * are created in the order of their dependencies, and destroyed in reverse order.
 */

#include "datapath/device/dev.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "datapath/uroced/mux_client.h"
#include "datapath/clock.h"
#include "datapath/device/odp.h"
#include "datapath/net/gid.h"
#include "datapath/device/hugemem.h"
#include "datapath/line_heap.h"
#include "datapath/log.h"
#include "datapath/net/neigh.h"
#include "datapath/device/numa.h"
#include "datapath/port/planned_link.h"
#include "datapath/port/port.h"
#include "datapath/device/qpn.h"
#include "datapath/worker/round.h"
#include "datapath/worker/service.h"
#include "mem/odp.h"
#include "transport/mcast.h"

/* --- creation ---------------------------------------------------------------------------------- */

static int
check_lcores(const struct uroce_dev_conf *conf)
{
	unsigned lcore_id, nb_free = 0;

	if (conf->drive != UROCE_DRIVE_LCORE)
		return 0;
	RTE_LCORE_FOREACH_WORKER(lcore_id)
	nb_free += rte_eal_get_lcore_state(lcore_id) == WAIT;
	if (nb_free >= conf->nb_workers)
		return 0;
	UROCE_LOG(ERR, dev,
		  "%s: drive=lcore needs %u free lcores beside the main one, EAL has %u: allowed "
		  "are fewer workers, or more lcores (-l)",
		  conf->port, conf->nb_workers, nb_free);
	return -EINVAL;
}

int
uroce_dev_check_eal(const char *port)
{
	/*
	 * EAL measures the frequency of the time stamp counter in rte_eal_init(). Before
	 * rte_eal_init() has run, rte_get_tsc_hz() returns 0.
	 */
	if (rte_get_tsc_hz() != 0)
		return 0;
	UROCE_LOG(ERR, dev, "%s: EAL does not run, so there is no port: call rte_eal_init() first",
		  port);
	return -ENODEV;
}

static int
check_process(const struct uroce_dev_conf *conf)
{
	const int ret = uroce_dev_check_eal(conf->port);

	if (ret < 0)
		return ret;
	if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
		UROCE_LOG(ERR, dev, "%s: this is a secondary process of DPDK: allowed is a primary",
			  conf->port);
		return -EPERM;
	}
	if (conf->is_handed_over && conf->drive == UROCE_DRIVE_LCORE) {
		UROCE_LOG(
			ERR, dev,
			"%s: drive=lcore on a port that was handed over: allowed are none and app",
			conf->port);
		return -EINVAL;
	}
	return 0;
}

static uint8_t
mtu_code(uint16_t mtu)
{
	return (uint8_t)(__builtin_ctz(mtu) - 8 + IBV_MTU_256);
}

static int
set_dev_limits(struct uroce_dev *dev)
{
	const uint32_t frame_limit = dev->port ? dev->port->frame_limit : dev->plan.frame_limit;
	const uint16_t largest = uroce_port_largest_mtu(frame_limit);
	const uint16_t mtu = dev->conf.path_mtu ? dev->conf.path_mtu : largest;

	if (mtu == 0 || mtu > largest) {
		UROCE_LOG(ERR, dev,
			  "%s: path MTU %u needs frames of %u bytes, the port's limit is %u: "
			  "allowed is mtu up to %u",
			  dev->conf.port, mtu ? mtu : 256, (mtu ? mtu : 256) + UROCE_FRAME_OVERHEAD,
			  frame_limit, largest);
		return -EINVAL;
	}
	dev->limits = (struct uroce_qpc_limits){
		.nb_gids = UROCE_GIDS_MAX,
		.nb_pkeys = 1,
		.nb_ports = 1,
		.active_mtu = mtu_code(mtu),
		.max_rd_atomic = UROCE_RD_ATOMIC_MAX,
		.max_dest_rd_atomic = UROCE_RD_ATOMIC_MAX,
		.window_bytes = dev->port ? dev->port->window_bytes : 0,
	};
	dev->pkeys[0] = 0xffff;
	return 0;
}

/*
 * Set the parameters of congestion control of a device. If the configuration has no rate, the rate
 * of the port is used.
 */
static int
set_cc_rate(struct uroce_dev *dev)
{
	struct uroce_cc_conf *cc = &dev->cc;
	const uint32_t mbps = uroce_port_mbps(dev->port);
	const char *wrong;

	*cc = dev->conf.cc;
	if (!cc->ops)
		(void)uroce_cc_find("dcqcn", &cc->ops);
	if (!cc->rate_mbps && mbps != RTE_ETH_SPEED_NUM_UNKNOWN)
		cc->rate_mbps = mbps;
	wrong = uroce_cc_conf_check(cc);
	if (!wrong)
		return 0;
	UROCE_LOG(ERR, dev, "%s: the port has %u Mb/s: %s", dev->conf.port, cc->rate_mbps, wrong);
	return -EINVAL;
}

static int
make_tables(struct uroce_dev *dev)
{
	const int socket_id = dev->port->socket_id;
	uint8_t secret[16];
	void *qpns = uroce_hugemem_alloc(uroce_qpn_table_memsize(dev->conf.max_qp), socket_id);
	void *mrs = uroce_hugemem_alloc(uroce_mr_table_memsize(dev->conf.max_mr), socket_id);
	void *mcast =
		uroce_hugemem_alloc(uroce_mcast_table_memsize(UROCE_MCAST_MEMBERS), socket_id);
	void *srqs = uroce_hugemem_alloc(uroce_srq_table_memsize(UROCE_XRC_SRQS), socket_id);

	if (!qpns || !mrs || !mcast || !srqs ||
	    getrandom(secret, sizeof(secret), 0) != sizeof(secret)) {
		uroce_hugemem_free(qpns);
		uroce_hugemem_free(mrs);
		uroce_hugemem_free(mcast);
		uroce_hugemem_free(srqs);
		return -ENOMEM;
	}
	dev->qpns = uroce_qpn_table_init(qpns, dev->conf.max_qp);
	dev->mrs = uroce_mr_table_init(mrs, dev->conf.max_mr, secret);
	uroce_mr_table_set_page_in(dev->mrs, uroce_odp_page_in);
	dev->mcast = uroce_mcast_table_init(mcast, UROCE_MCAST_MEMBERS);
	dev->srqs = uroce_srq_table_init(srqs, UROCE_XRC_SRQS);
	return 0;
}

/*
 * Create the responder of ARP, ND and pings, if any address of the device does not belong to the
 * kernel. If any address belongs to the kernel, also prevent the kernel from replying to RoCE
 * packets.
 */
static int
create_neigh(struct uroce_dev *dev)
{
	const struct uroce_gid_table *const gids = atomic_load(&dev->gids);
	struct uroce_neigh_conf conf = {
		.has_vlan = dev->conf.has_vlan,
		.vlan_tci = dev->conf.vlan_tci,
	};

	if (gids->kernels && !dev->port->udp)
		uroce_netif_guard(&dev->port->netif);
	if (uroce_gid_all_kernels(dev))
		return 0;
	memcpy(conf.mac, dev->mac, sizeof(conf.mac));
	for (unsigned i = 0; i < gids->nb; i++) {
		if (!(gids->kernels >> i & 1) && !uroce_gid_is_empty(gids, i))
			conf.addr[conf.nb_addr++] = gids->addr[i];
	}
	dev->neigh = uroce_neigh_create(&conf);
	return dev->neigh ? 0 : -ENOMEM;
}

static int
make_workers(struct uroce_dev *dev)
{
	for (unsigned i = 0; i < dev->conf.nb_workers; i++) {
		dev->worker[i] = uroce_worker_create(dev, i);
		if (!dev->worker[i])
			return -ENOMEM;
		dev->nb_workers++;
	}
	return 0;
}

static int
start_driving(struct uroce_dev *dev)
{
	int ret = 0;

	if (dev->conf.drive == UROCE_DRIVE_APP && !dev->conf.is_handed_over)
		return uroce_service_start(dev, &dev->service);
	for (unsigned i = 0; i < dev->nb_workers && ret == 0; i++) {
		if (dev->conf.drive != UROCE_DRIVE_LCORE)
			break;
		ret = uroce_worker_launch(dev->worker[i],
					  uroce_numa_free_lcore(dev->port->socket_id));
	}
	return ret;
}

static void
tear_down(struct uroce_dev *dev)
{
	if (dev->port && dev->port->mux_client)
		uroce_mux_client_unwatch(dev->port->mux_client);
	uroce_service_stop(dev->service);
	for (unsigned i = 0; i < dev->nb_workers; i++)
		uroce_worker_stop(dev->worker[i]);
	for (unsigned i = 0; i < dev->nb_workers; i++)
		uroce_worker_destroy(dev->worker[i]);
	uroce_port_close(dev->port);
	uroce_neigh_destroy(dev->neigh);
	uroce_hugemem_free(dev->srqs);
	uroce_hugemem_free(dev->mcast);
	uroce_hugemem_free(dev->mrs);
	uroce_hugemem_free(dev->qpns);
	uroce_planned_link_destroy(dev->planned_link);
	uroce_event_queue_destroy(dev->events);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}

/*
 * Set the MAC and the addresses of the device. A planned device is visible to programs before its
 * port is started, so programs may know its MAC and its addresses already. Therefore the MAC of a
 * planned device stays, and changes of its addresses raise events.
 */
static int
set_addresses(struct uroce_dev *dev)
{
	if (dev->port->mux_client)
		uroce_mux_client_adopt(&dev->conf, &dev->port->mux_client->host);
	if (!dev->plan.frame_limit) {
		memcpy(dev->mac, dev->port->mac, sizeof(dev->mac));
		return uroce_gid_fill(dev);
	}
	if (dev->plan.if_index == 0 && !dev->port->mux_client)
		uroce_port_set_mac(dev->port, dev->mac);
	dev->has_gid_changes = true;
	return 0;
}

static void
push_link_event(struct uroce_dev *dev, bool is_up)
{
	uroce_event_push(dev->events, is_up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, NULL);
}

/*
 * Open the port of a device. Programs see a planned device before its port is open. If the state of
 * the link differs from the state that programs have seen, an event is raised.
 */
static int
open_port(struct uroce_dev *dev)
{
	int ret;

	if (dev->planned_link)
		uroce_planned_link_end(dev->planned_link);
	ret = uroce_port_open(&dev->conf, &dev->plan, dev->events, &dev->port);
	if (ret == 0 && dev->planned_link &&
	    uroce_dev_is_link_up(dev) != uroce_planned_link_is_up(dev->planned_link))
		push_link_event(dev, uroce_dev_is_link_up(dev));
	return ret;
}

static int
bring_up(struct uroce_dev *dev)
{
	int ret = open_port(dev);

	if (ret < 0)
		return ret;
	ret = set_addresses(dev);
	if (ret == 0)
		ret = set_cc_rate(dev);
	if (ret == 0)
		ret = set_dev_limits(dev);
	if (ret == 0)
		ret = make_tables(dev);
	if (ret == 0)
		ret = create_neigh(dev);
	if (ret == 0)
		ret = make_workers(dev);
	if (ret == 0 && dev->port->mux_client)
		ret = uroce_mux_client_watch(dev->port->mux_client, dev);
	if (ret == 0)
		ret = start_driving(dev);
	return ret;
}

/* Allocate a device, and create the parts that need neither EAL nor a port. */
static struct uroce_dev *
alloc_dev(const struct uroce_dev_conf *conf)
{
	struct uroce_dev *const dev = uroce_line_heap_alloc(sizeof(*dev));

	if (!dev) {
		UROCE_LOG(ERR, mem, "no memory for a device");
		return NULL;
	}
	uroce_log_read_env(rte_get_tsc_hz() != 0);
	dev->conf = *conf;
	pthread_mutex_init(&dev->lock, NULL);
	dev->events = uroce_event_queue_create(conf->max_qp + UROCE_XRC_SRQS);
	if (!dev->events) {
		tear_down(dev);
		return NULL;
	}
	return dev;
}

int
uroce_dev_plan(const struct uroce_dev_conf *conf, const char *vdev, struct uroce_dev **out)
{
	struct uroce_port_plan plan;
	struct uroce_dev *dev;
	int ret = uroce_port_plan_for(conf, vdev, &plan);

	if (ret < 0)
		return ret;
	dev = alloc_dev(conf);
	if (!dev)
		return -ENOMEM;
	dev->plan = plan;
	memcpy(dev->mac, plan.mac, sizeof(dev->mac));
	if (conf->is_attached)
		uroce_mux_client_adopt(&dev->conf, &plan.host);
	ret = uroce_gid_fill(dev);
	if (ret == 0)
		ret = set_dev_limits(dev);
	if (ret == 0)
		ret = uroce_planned_link_create(&dev->plan, dev->conf.socket, &dev->planned_link);
	if (ret < 0) {
		tear_down(dev);
		return ret;
	}
	*out = dev;
	return 0;
}

int
uroce_dev_start(struct uroce_dev *dev)
{
	const struct uroce_dev_conf *const conf = &dev->conf;
	int ret = check_process(conf);

	if (ret == 0)
		uroce_log_read_env(true);
	if (ret == 0)
		ret = check_lcores(conf);
	if (ret < 0)
		return ret;
	uroce_clock_init();
	ret = bring_up(dev);
	if (ret < 0)
		return ret;
	UROCE_LOG(INFO, dev, "%s: up, %u workers, path MTU %u", conf->port, dev->nb_workers,
		  128u << dev->limits.active_mtu);
	return 0;
}

int
uroce_dev_create(const struct uroce_dev_conf *conf, struct uroce_dev **out)
{
	struct uroce_dev *const dev = alloc_dev(conf);
	int ret;

	if (!dev)
		return -ENOMEM;
	ret = uroce_dev_start(dev);
	if (ret < 0) {
		tear_down(dev);
		return ret;
	}
	*out = dev;
	return 0;
}

int
uroce_dev_destroy(struct uroce_dev *dev)
{
	bool is_busy;

	pthread_mutex_lock(&dev->lock);
	is_busy = (dev->qpns && (dev->qpns->nb_qp > 0 || dev->qpns->has_gsi)) ||
		  (dev->mrs && uroce_mr_table_count(dev->mrs) > 0);
	pthread_mutex_unlock(&dev->lock);
	if (is_busy)
		return -EBUSY;
	UROCE_LOG(INFO, dev, "%s: down", dev->conf.port);
	tear_down(dev);
	return 0;
}

/*
 * Whether the port of a planned device must still be reported as up. The port was reported as up
 * before it was open. Most programs check the link only once. So the port is reported as up until a
 * peer has connected to it.
 */
static bool
is_awaiting_peer(const struct uroce_dev *dev)
{
	const struct uroce_port *const port = dev->port;

	return dev->plan.frame_limit > 0 && port->policy->has_peer &&
	       !atomic_load(&port->has_been_up) && !uroce_port_is_gone(port);
}

bool
uroce_dev_is_link_up(const struct uroce_dev *dev)
{
	if (!dev->port)
		return uroce_planned_link_is_up(dev->planned_link);
	return uroce_port_is_up(dev->port) || is_awaiting_peer(dev);
}

void
uroce_dev_check_link(struct uroce_dev *dev)
{
	if (dev->planned_link && uroce_planned_link_check(dev->planned_link))
		push_link_event(dev, uroce_planned_link_is_up(dev->planned_link));
}

void
uroce_dev_renew(struct uroce_dev *dev)
{
	uroce_event_queue_renew(dev->events);
	uroce_planned_link_renew(dev->planned_link);
}

int
uroce_dev_link_fd(const struct uroce_dev *dev)
{
	return dev->planned_link ? uroce_planned_link_fd(dev->planned_link) : -1;
}

int
uroce_dev_socket_id(const struct uroce_dev *dev)
{
	return dev->port->socket_id;
}

/* --- events ------------------------------------------------------------------------------------ */

int
uroce_dev_event_fd(const struct uroce_dev *dev)
{
	return uroce_event_fd(dev->events);
}

bool
uroce_dev_event_pop(struct uroce_dev *dev, struct uroce_dev_event *event)
{
	return uroce_event_pop(dev->events, event);
}
