/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A simulated machine with two NUMA nodes. The test replaces the functions that query the topology.
 * Requests for memory on a node are counted, and the memory is then allocated on any node. The port
 * and lcore 2 are on node 1.
 */

#include "rig.h"

#include <numa.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "datapath/device/hugemem.h"
#include "datapath/device/numa.h"
#include "datapath/port/port.h"
#include "datapath/worker/round.h"

#define NEAR 1

/*
 * For each kind of memory, the number of allocations that were requested on the node of the port,
 * and on other nodes.
 */
static struct asked {
	unsigned near, far;
} pools, rings, queues, pages;
static bool is_full; /* whether the node of the port has no free memory */
static cpu_set_t kept_near;

static void
note(struct asked *asked, int node)
{
	if (node == NEAR)
		asked->near++;
	else
		asked->far++;
}

/* --- functions that replace those of libnuma, DPDK and libc ---------------------------------------- */

int __wrap_numa_available(void);
int __wrap_numa_max_node(void);
int __wrap_numa_node_to_cpus(int node, struct bitmask *cpus);
void __wrap_numa_tonode_memory(void *mem, size_t len, int node);
int __wrap_rte_eth_dev_socket_id(uint16_t port_id);
unsigned __wrap_rte_lcore_to_socket_id(unsigned lcore_id);
int __wrap_rte_eth_rx_queue_setup(uint16_t port_id, uint16_t queue, uint16_t nb, unsigned node,
				  const struct rte_eth_rxconf *conf, struct rte_mempool *pool);
int __wrap_rte_eth_tx_queue_setup(uint16_t port_id, uint16_t queue, uint16_t nb, unsigned node,
				  const struct rte_eth_txconf *conf);
struct rte_mempool *__wrap_rte_mempool_create_empty(const char *name, unsigned nb, unsigned len,
						    unsigned cache, unsigned priv, int node,
						    unsigned flags);
struct rte_ring *__wrap_rte_ring_create(const char *name, unsigned nb, int node, unsigned flags);
int __wrap_pthread_setaffinity_np(pthread_t thread, size_t len, const cpu_set_t *set);

int __real_rte_eth_rx_queue_setup(uint16_t port_id, uint16_t queue, uint16_t nb, unsigned node,
				  const struct rte_eth_rxconf *conf, struct rte_mempool *pool);
int __real_rte_eth_tx_queue_setup(uint16_t port_id, uint16_t queue, uint16_t nb, unsigned node,
				  const struct rte_eth_txconf *conf);
struct rte_mempool *__real_rte_mempool_create_empty(const char *name, unsigned nb, unsigned len,
						    unsigned cache, unsigned priv, int node,
						    unsigned flags);
struct rte_ring *__real_rte_ring_create(const char *name, unsigned nb, int node, unsigned flags);
int __real_pthread_setaffinity_np(pthread_t thread, size_t len, const cpu_set_t *set);

int
__wrap_numa_available(void)
{
	return 0;
}

int
__wrap_numa_max_node(void)
{
	return NEAR;
}

/* The number of the only CPU of the port's node: the last CPU that the process may use. */
static int
near_cpu(void)
{
	cpu_set_t set;
	int last = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		last = CPU_ISSET(cpu, &set) ? cpu : last;
	return last;
}

int
__wrap_numa_node_to_cpus(int node, struct bitmask *cpus)
{
	numa_bitmask_clearall(cpus);
	if (node == NEAR)
		numa_bitmask_setbit(cpus, (unsigned)near_cpu());
	return 0;
}

void
__wrap_numa_tonode_memory(void *mem, size_t len, int node)
{
	(void)mem;
	(void)len;
	note(&pages, node);
}

int
__wrap_rte_eth_dev_socket_id(uint16_t port_id)
{
	(void)port_id;
	return NEAR;
}

unsigned
__wrap_rte_lcore_to_socket_id(unsigned lcore_id)
{
	return lcore_id == 2 ? NEAR : 0;
}

int
__wrap_rte_eth_rx_queue_setup(uint16_t port_id, uint16_t queue, uint16_t nb, unsigned node,
			      const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	note(&queues, (int)node);
	return __real_rte_eth_rx_queue_setup(port_id, queue, nb, 0, conf, pool);
}

int
__wrap_rte_eth_tx_queue_setup(uint16_t port_id, uint16_t queue, uint16_t nb, unsigned node,
			      const struct rte_eth_txconf *conf)
{
	note(&queues, (int)node);
	return __real_rte_eth_tx_queue_setup(port_id, queue, nb, 0, conf);
}

struct rte_mempool *
__wrap_rte_mempool_create_empty(const char *name, unsigned nb, unsigned len, unsigned cache,
				unsigned priv, int node, unsigned flags)
{
	note(&pools, node);
	if (is_full && node == NEAR)
		return NULL;
	return __real_rte_mempool_create_empty(name, nb, len, cache, priv, SOCKET_ID_ANY, flags);
}

struct rte_ring *
__wrap_rte_ring_create(const char *name, unsigned nb, int node, unsigned flags)
{
	note(&rings, node);
	if (is_full && node == NEAR)
		return NULL;
	return __real_rte_ring_create(name, nb, SOCKET_ID_ANY, flags);
}

int
__wrap_pthread_setaffinity_np(pthread_t thread, size_t len, const cpu_set_t *set)
{
	kept_near = *set;
	return __real_pthread_setaffinity_np(thread, len, set);
}

/* --- tests ----------------------------------------------------------------------------------------- */

static int
setup(void **state)
{
	(void)state;
	is_full = false;
	CPU_ZERO(&kept_near);
	return 0;
}

/*
 * Create two ports. Then set the numbers of allocations to 0, so that only later allocations count.
 */
static void
make_cable(const char *a, const char *b)
{
	rig_wire(a, b, 2, 0);
	pools = rings = queues = pages = (struct asked){ 0 };
}

static size_t
in_use(const char *heap)
{
	struct rte_malloc_socket_stats stats;
	const int socket = rte_malloc_heap_get_socket(heap);

	if (socket < 0 || rte_malloc_get_socket_stats(socket, &stats) != 0)
		return 0;
	return stats.heap_allocsz_bytes;
}

static void
numa_free_lcore__is_of_the_node_if_one_is_free(void **state)
{
	(void)state;
	assert_int_equal(uroce_numa_free_lcore(0), 1);
	assert_int_equal(uroce_numa_free_lcore(NEAR), 2);
	assert_int_equal(uroce_numa_free_lcore(SOCKET_ID_ANY), 1);
	/* no lcore is on node 7, so the first free lcore is used */
	assert_int_equal(uroce_numa_free_lcore(7), 1);
}

static void
hugemem_alloc__is_of_the_node(void **state)
{
	void *near = uroce_hugemem_alloc(1000, NEAR);
	const size_t nb_near = in_use("uroce_1"), nb_first = in_use("uroce");
	void *first = uroce_hugemem_alloc(1000, 0), *any = uroce_hugemem_alloc(1000, SOCKET_ID_ANY);

	(void)state;
	assert_true(nb_near >= 1000);
	assert_int_equal(in_use("uroce_1"), nb_near);
	assert_true(in_use("uroce") >= nb_first + 2000);
	assert_int_equal(pages.near, 1);
	uroce_hugemem_free(near);
	assert_true(in_use("uroce_1") < nb_near);
	uroce_hugemem_free(first);
	uroce_hugemem_free(any);
}

static void
dev_create__all_is_on_the_ports_node(void **state)
{
	const size_t nb_before = in_use("uroce");
	struct uroce_dev *dev;
	struct rig_qp *qp;

	(void)state;
	make_cable("a1", "b1");
	dev = rig_dev("net_ring_a1,drive=none,workers=2,addr=192.0.2.1/24");
	assert_int_equal(dev->port->socket_id, NEAR);
	assert_int_equal(uroce_dev_socket_id(dev), NEAR);
	assert_int_equal(queues.near, 4);
	assert_int_equal(queues.far, 0);
	assert_true(pools.near >= 2);
	assert_int_equal(pools.far, 0);
	assert_int_equal(rings.near, 2);
	assert_int_equal(rings.far, 0);
	assert_int_equal(pages.far, 0);
	assert_int_equal(in_use("uroce"), nb_before);
	assert_true(in_use("uroce_1") > sizeof(struct uroce_worker) * 2);
	qp = rig_qp(dev, 1, IBV_QPT_RC);
	rig_qp_free(qp);
	assert_int_equal(uroce_dev_destroy(dev), 0);
}

static void
dev_create__a_full_node_is_slow_not_an_error(void **state)
{
	struct uroce_dev *dev;

	(void)state;
	make_cable("a2", "b2");
	is_full = true;
	dev = rig_dev("net_ring_a2,drive=none,workers=2,addr=192.0.2.1/24");
	assert_true(pools.near >= 2 && pools.far == pools.near);
	assert_true(rings.near == 2 && rings.far == 2);
	assert_int_equal(uroce_dev_destroy(dev), 0);
}

static void
dev_create__its_lcore_is_near(void **state)
{
	struct uroce_dev *dev, *next;

	(void)state;
	make_cable("a3", "b3");
	dev = rig_dev("net_ring_a3,drive=lcore,addr=192.0.2.1/24");
	assert_int_equal(dev->worker[0]->lcore_id, 2);
	next = rig_dev("net_ring_b3,drive=lcore,addr=192.0.2.2/24");
	/*
	 * The first device uses lcore 2, which is the only lcore of the node. So the second device
	 * gets an lcore of another node.
	 */
	assert_int_equal(next->worker[0]->lcore_id, 1);
	assert_int_equal(uroce_dev_destroy(next), 0);
	assert_int_equal(uroce_dev_destroy(dev), 0);
}

static void
dev_create__its_service_thread_is_near(void **state)
{
	struct uroce_dev *dev;

	(void)state;
	make_cable("a4", "b4");
	dev = rig_dev("net_ring_a4,drive=app,addr=192.0.2.1/24");
	/*
	 * The destruction of the device waits for the service thread, which sets its CPU affinity
	 * when it starts.
	 */
	assert_int_equal(uroce_dev_destroy(dev), 0);
	assert_int_equal(CPU_COUNT(&kept_near), 1);
	assert_true(CPU_ISSET(near_cpu(), &kept_near));
}

static void
numa_keep_near__without_a_cpu_there_changes_nothing(void **state)
{
	(void)state;
	uroce_numa_keep_near(pthread_self(), 0);
	uroce_numa_keep_near(pthread_self(), SOCKET_ID_ANY);
	uroce_numa_keep_near(pthread_self(), NEAR + 1);
	assert_int_equal(CPU_COUNT(&kept_near), 0);
}

#define TEST(test) cmocka_unit_test_setup(test, setup)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(numa_free_lcore__is_of_the_node_if_one_is_free),
		TEST(hugemem_alloc__is_of_the_node),
		TEST(dev_create__all_is_on_the_ports_node),
		TEST(dev_create__a_full_node_is_slow_not_an_error),
		TEST(dev_create__its_lcore_is_near),
		TEST(dev_create__its_service_thread_is_near),
		TEST(numa_keep_near__without_a_cpu_there_changes_nothing),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
