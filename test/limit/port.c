/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Opens the port. The pool of frames is as small as the rings allow, and its per-core cache is a
 * stack. So the frame that was freed last is allocated next, and is in the processor's cache. The
 * pools of two drivers have further requirements. AF_PACKET needs frames as large as the slots of
 * its rings. For AF_XDP the kernel computes addresses from a fixed stride. So AF_XDP needs a pool
 * without gaps, and it keeps some frames of the pool.
 */

#include "port.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_kvargs.h>
#include <rte_lcore.h>
#include <rte_mbuf_pool_ops.h>

static atomic_bool is_stopped;

static void
stop(int signal)
{
	(void)signal;
	atomic_store_explicit(&is_stopped, true, memory_order_relaxed);
}

bool
port_is_stopped(void)
{
	return atomic_load_explicit(&is_stopped, memory_order_relaxed);
}

static int
refuse(const char *what, int error)
{
	fprintf(stderr, "limit: %s: %s\n", what, strerror(-error));
	return error;
}

/*
 * Limit an MTU to the maximum that the driver reports. Some drivers support more than they report.
 */
static uint32_t
stated_mtu(const struct rte_eth_dev_info *info, uint32_t mtu)
{
	const uint32_t overhead = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;

	if (mtu < RTE_ETHER_MTU)
		mtu = RTE_ETHER_MTU;
	if (mtu > info->max_mtu)
		mtu = info->max_mtu;
	if (info->max_rx_pktlen > overhead && mtu > info->max_rx_pktlen - overhead)
		mtu = info->max_rx_pktlen - overhead;
	return mtu;
}

/*
 * Start the port, and repeat that for some seconds if it fails: a memif client cannot be started
 * before its server.
 */
static int
start_when_peer_is_there(const struct port *port)
{
	int ret = rte_eth_dev_start(port->id);

	for (unsigned i = 0; ret != 0 && i < 40 && !port_is_stopped(); i++) {
		rte_delay_us_sleep(250000);
		ret = rte_eth_dev_start(port->id);
	}
	return ret;
}

static int
start(struct port *port, const struct limit_options *opt, uint32_t frame_len)
{
	const int socket = (int)rte_socket_id();
	const uint32_t mtu = frame_len - RTE_ETHER_HDR_LEN;
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;
	uint16_t nb_rxd = (uint16_t)opt->ring, nb_txd = (uint16_t)opt->ring;
	int ret = rte_eth_dev_info_get(port->id, &info);

	if (ret != 0)
		return refuse("the port does not describe itself", ret);
	conf.rxmode.mtu = stated_mtu(&info, mtu);
	ret = rte_eth_dev_configure(port->id, 1, 1, &conf);
	if (ret == 0)
		ret = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &nb_rxd, &nb_txd);
	if (ret == 0)
		ret = rte_eth_rx_queue_setup(port->id, 0, nb_rxd, (unsigned)socket, NULL,
					     port->pool);
	if (ret == 0)
		ret = rte_eth_tx_queue_setup(port->id, 0, nb_txd, (unsigned)socket, NULL);
	if (ret == 0)
		ret = start_when_peer_is_there(port);
	return ret == 0 ? 0 : refuse("the port does not start", ret);
}

/* What a driver requires of the pool of frames. */
struct port_row {
	const char *driver;
	/* driver argument that sets the length of a slot in bytes; NULL: there are no slots */
	const char *slot_key;
	uint32_t slot_len; /* length of a slot if the argument slot_key is missing */
	unsigned nb_kept;  /* number of frames that the driver keeps in addition to its rings */
	bool is_dense;
};

static const struct port_row port_rows[] = {
	{ .driver = "net_af_packet", .slot_key = "framesz", .slot_len = 2048 },
	{ .driver = "net_af_xdp", .nb_kept = 4096, .is_dense = true },
	{ .driver = NULL },
};

static const struct port_row *
find_row(const struct rte_eth_dev_info *info)
{
	const struct port_row *row = port_rows;

	while (row->driver && strcmp(row->driver, info->driver_name) != 0)
		row++;
	return row;
}

static uint32_t
slot_len(const struct port_row *row, const struct rte_eth_dev_info *info)
{
	const struct rte_devargs *args = rte_dev_devargs(info->device);
	struct rte_kvargs *pairs =
		row->slot_key && args ? rte_kvargs_parse(args->args, NULL) : NULL;
	const char *value = pairs ? rte_kvargs_get(pairs, row->slot_key) : NULL;
	const unsigned long given = value ? strtoul(value, NULL, 0) : 0;

	rte_kvargs_free(pairs);
	return given > 0 && given <= UINT16_MAX / 2 ? (uint32_t)given : row->slot_len;
}

static struct rte_mempool *
make_dense_pool(unsigned nb_frames, unsigned cache, uint16_t room)
{
	struct rte_pktmbuf_pool_private priv = { .mbuf_data_room_size = room };
	struct rte_mempool *pool = rte_mempool_create_empty(
		"limit", nb_frames, sizeof(struct rte_mbuf) + room, cache, sizeof(priv),
		(int)rte_socket_id(), RTE_MEMPOOL_F_NO_IOVA_CONTIG | RTE_MEMPOOL_F_NO_SPREAD);

	if (!pool)
		return NULL;
	if (rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL) < 0) {
		rte_mempool_free(pool);
		return NULL;
	}
	rte_pktmbuf_pool_init(pool, &priv);
	if (rte_mempool_populate_default(pool) < 0) {
		rte_mempool_free(pool);
		return NULL;
	}
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

static struct rte_mempool *
make_pool(const struct limit_options *opt, const struct rte_eth_dev_info *info, uint32_t frame_len)
{
	const struct port_row *row = find_row(info);
	const uint32_t slot = slot_len(row, info);
	const uint32_t len = frame_len > slot ? frame_len : slot;
	const unsigned cache = RTE_MEMPOOL_CACHE_MAX_SIZE;
	const unsigned nb_frames = 4 * opt->ring + 2 * cache + LIMIT_BURST_MAX + row->nb_kept;
	uint32_t room = RTE_PKTMBUF_HEADROOM + RTE_ALIGN_CEIL(len, 64) + 64;

	if (room < RTE_MBUF_DEFAULT_BUF_SIZE)
		room = RTE_MBUF_DEFAULT_BUF_SIZE;
	if (row->is_dense)
		return make_dense_pool(nb_frames, cache, (uint16_t)room);
	return rte_pktmbuf_pool_create("limit", nb_frames, cache, 0, (uint16_t)room,
				       (int)rte_socket_id());
}

int
port_open(struct port *port, const struct limit_options *opt, uint32_t frame_len)
{
	struct rte_eth_dev_info info;

	if (rte_eth_dev_count_avail() == 0) {
		fprintf(stderr, "limit: no port; name one in the EAL options, as --vdev "
				"or --allow\n");
		return -ENODEV;
	}
	port->id = (uint16_t)rte_eth_find_next(0);
	if (rte_eth_dev_info_get(port->id, &info) != 0)
		return refuse("the port does not describe itself", -ENODEV);
	port->pool = make_pool(opt, &info, frame_len);
	if (!port->pool)
		return refuse("no memory for frames", -ENOMEM);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	/* virtio-user writes to a vhost socket, whose peer may have closed it. */
	signal(SIGPIPE, SIG_IGN);
	return start(port, opt, frame_len);
}

void
port_close(struct port *port)
{
	rte_eth_dev_stop(port->id);
	rte_eth_dev_close(port->id);
}

/* Restart the port: a memif client searches for its server only when it is started. */
static void
look_again(const struct port *port)
{
	if (rte_eth_dev_stop(port->id) != 0 || rte_eth_dev_start(port->id) != 0)
		fprintf(stderr, "limit: the port does not start again\n");
}

bool
port_wait_link(const struct port *port, double seconds)
{
	const unsigned nb_checks = (unsigned)(seconds * 100);
	struct rte_eth_link link;

	for (unsigned i = 1; i <= nb_checks && !port_is_stopped(); i++) {
		if (rte_eth_link_get_nowait(port->id, &link) == 0 && link.link_status)
			return true;
		if (i % 50 == 0)
			look_again(port);
		rte_delay_us_sleep(10000);
	}
	fprintf(stderr, "limit: the port's link did not come up in %g s\n", seconds);
	return false;
}

unsigned
port_send(const struct port *port, struct rte_mbuf **frames, unsigned nb)
{
	unsigned sent = rte_eth_tx_burst(port->id, 0, frames, (uint16_t)nb);
	uint64_t moved = 0;

	while (sent < nb) {
		const unsigned more =
			rte_eth_tx_burst(port->id, 0, frames + sent, (uint16_t)(nb - sent));
		const uint64_t now = rte_rdtsc();

		sent += more;
		if (more > 0 || moved == 0)
			moved = now;
		if (now - moved > rte_get_tsc_hz() || port_is_stopped()) {
			rte_pktmbuf_free_bulk(frames + sent, nb - sent);
			break;
		}
	}
	return sent;
}
