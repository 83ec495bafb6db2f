/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Mempools of mbufs. rte_pktmbuf_pool_create() keeps each mbuf within one page. Without hugepages
 * this wastes half of the memory. AF_XDP cannot use such a pool at all, because its kernel side
 * computes addresses from a fixed stride. So pools of ports that use virtual addresses are laid out
 * without gaps.
 *
 * EAL's usual pool is a ring, where the mbuf that was freed last is allocated last. While many
 * frames wait behind a PSN gap, each received frame would then be written to memory that is in no
 * cache. So the pools of the library are stacks, unless the user or the platform selects another
 * type.
 */

#include "datapath/port/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>

#include "datapath/log.h"

#define DEFERRED_MAX 64

static pthread_mutex_t deferred_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rte_mempool *deferred[DEFERRED_MAX];

static bool
is_complete(const struct rte_mempool *pool)
{
	return rte_mempool_avail_count(pool) == pool->size;
}

/*
 * Free those pools in `deferred` whose mbufs have all been returned. If `pool` is not NULL, add it
 * to `deferred`, because some of its mbufs are in use.
 */
static void
free_deferred(struct rte_mempool *pool)
{
	pthread_mutex_lock(&deferred_lock);
	for (unsigned i = 0; i < DEFERRED_MAX; i++) {
		if (deferred[i] && is_complete(deferred[i])) {
			rte_mempool_free(deferred[i]);
			deferred[i] = NULL;
		}
		if (!deferred[i]) {
			deferred[i] = pool;
			pool = NULL;
		}
	}
	pthread_mutex_unlock(&deferred_lock);
}

/*
 * Select the mempool driver of a pool: a stack if it is available, unless the user or the platform
 * selects another one.
 */
static int
set_ops(struct rte_mempool *pool)
{
	const char *best = rte_mbuf_best_mempool_ops();

	if (strcmp(best, RTE_MBUF_DEFAULT_MEMPOOL_OPS) == 0 && !rte_mbuf_user_mempool_ops() &&
	    rte_mempool_set_ops_byname(pool, "stack", NULL) == 0)
		return 0;
	return rte_mempool_set_ops_byname(pool, best, NULL);
}

static int
fill_pool(struct rte_mempool *pool, uint32_t data_room)
{
	struct rte_pktmbuf_pool_private priv = { .mbuf_data_room_size = (uint16_t)data_room };
	int ret = set_ops(pool);

	if (ret < 0)
		return ret;
	rte_pktmbuf_pool_init(pool, &priv);
	ret = rte_mempool_populate_default(pool);
	if (ret < 0)
		return ret;
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return 0;
}

static struct rte_mempool *
create_pool(const struct uroce_pool_conf *conf, uint32_t data_room, int socket_id)
{
	static atomic_uint nb_made;
	const unsigned flags =
		conf->is_virtual ? RTE_MEMPOOL_F_NO_IOVA_CONTIG | RTE_MEMPOOL_F_NO_SPREAD : 0;
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;

	snprintf(name, sizeof(name), "uroce_%u", atomic_fetch_add(&nb_made, 1));
	pool = rte_mempool_create_empty(
		name, conf->nb_mbuf, (unsigned)sizeof(struct rte_mbuf) + data_room,
		UROCE_POOL_CACHE, sizeof(struct rte_pktmbuf_pool_private), socket_id, flags);
	if (pool && fill_pool(pool, data_room) >= 0)
		return pool;
	rte_mempool_free(pool);
	return NULL;
}

struct rte_mempool *
uroce_pool_create(const struct uroce_pool_conf *conf)
{
	const uint32_t data_room =
		RTE_ALIGN_CEIL(RTE_PKTMBUF_HEADROOM + conf->data_len, RTE_CACHE_LINE_SIZE);
	struct rte_mempool *pool = NULL;

	free_deferred(NULL);
	if (data_room <= UINT16_MAX)
		pool = create_pool(conf, data_room, conf->socket_id);
	/*
	 * If the preferred NUMA node has no memory, create the pool on any node: this makes the
	 * port slower, but does not make it fail.
	 */
	if (!pool && data_room <= UINT16_MAX && conf->socket_id != SOCKET_ID_ANY)
		pool = create_pool(conf, data_room, SOCKET_ID_ANY);
	if (!pool)
		UROCE_LOG(ERR, mem,
			  "no memory for %u frames of %u bytes: EAL's heap is used up (-m, "
			  "--socket-mem, or more hugepages make it larger)",
			  conf->nb_mbuf, conf->data_len);
	return pool;
}

void
uroce_pool_destroy(struct rte_mempool *pool)
{
	if (pool && is_complete(pool)) {
		rte_mempool_free(pool);
		pool = NULL;
	}
	free_deferred(pool);
}
