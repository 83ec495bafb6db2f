/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_POOL_H
#define UROCE_DATAPATH_POOL_H

/**
 * @file
 * Mempools of mbufs, one for each worker, for received and transmitted frames.
 *
 * A port may pass its transmitted mbufs to the receiver without a copy (net_ring). So when a device
 * is destroyed, some of its mbufs may still be in use. The pool of such an mbuf is freed later,
 * when its last mbuf has been returned.
 */

#include <stdbool.h>
#include <stdint.h>
#include <rte_mempool.h>

/** Maximum number of mbufs in the cache that a mempool has for each thread. */
#define UROCE_POOL_CACHE 256

/** The parameters with which a pool of mbufs is created. */
struct uroce_pool_conf {
	uint32_t nb_mbuf;
	uint32_t data_len; /* maximum length of a frame in one mbuf, in bytes without headroom */
	int socket_id;
	/* The port accesses mbufs by virtual address, so an mbuf may cross a page boundary. */
	bool is_virtual;
};

/**
 * Create a pool of mbufs.
 * @return the pool; NULL after one logged line: no memory
 */
struct rte_mempool *uroce_pool_create(const struct uroce_pool_conf *conf);

/** Free a pool: at once, or when all its mbufs have been returned. `pool` may be NULL. */
void uroce_pool_destroy(struct rte_mempool *pool);

#endif /* UROCE_DATAPATH_POOL_H */
