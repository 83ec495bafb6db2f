/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_POOL_H
#define UROCE_DATAPATH_POOL_H

/**
 * @file
 * Pools of mbufs, one for each worker, for frames received and sent alike.
 *
 * A port may hand our mbufs to others (net_ring), so when a device goes away some of its mbufs may
 * still be under way. Such a pool is parked and freed when the last of them has come home.
 */

#include <stdbool.h>
#include <stdint.h>
#include <rte_mempool.h>

/** Mbufs that a thread may keep for itself. */
#define UROCE_POOL_CACHE 256

/** What a pool is made of. */
struct uroce_pool_conf {
	uint32_t nb_mbuf;
	uint32_t data_len; /* bytes of a frame that fit an mbuf, headroom not counted */
	int socket_id;
	bool is_virtual; /* the port reaches mbufs by virtual address: pages may break anywhere */
};

/** @return NULL after one logged line: no memory */
struct rte_mempool *uroce_pool_create(const struct uroce_pool_conf *conf);

/** Free a pool, now or once all its mbufs are back. NULL is allowed. */
void uroce_pool_destroy(struct rte_mempool *pool);

#endif /* UROCE_DATAPATH_POOL_H */
