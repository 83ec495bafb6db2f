/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares to the sanitizers what they cannot see in the packaged libraries of DPDK, which were
 * built without sanitizers. This file is linked only into tests that run with a sanitizer.
 *
 * For the thread sanitizer: a frame that a thread sends is completely visible to the thread that
 * receives it. A frame that is returned to its pool is visible to the next thread that allocates
 * it. Both rules are declared for each frame alone. They order no other data that two threads
 * share, so real races are still detected. The rules are declared in:
 *
 *	frames   callbacks of the port, which ethdev calls around each burst (release, acquire)
 *	pools    the table by which a pool finds its stack or ring
 *	threads  launching an lcore and waiting for it, and reuse of thread numbers; control
 *		 threads are ordinary threads
 *
 * For both sanitizers: objects and rings are allocated from the process's heap instead of EAL's, so
 * that a use after free is detected. EAL then reports only the memory of its own. Tests that
 * examine EAL's heap set UROCE_TEST_HEAP=eal in their environment, and then EAL's heap is used.
 *
 * This file defines some functions of DPDK. The program calls these definitions first, and they
 * call DPDK's.
 */

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <rte_thread.h>

#if defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif

/* Get the function of DPDK that a function of this file hides. */
static void *
behind(const char *name)
{
	void *call = dlsym(RTLD_NEXT, name);

	if (call == NULL)
		abort();
	return call;
}

/* --- objects and rings of EAL ---------------------------------------------------------------------- */

static bool
is_eals(void)
{
	const char *heap = getenv("UROCE_TEST_HEAP");

	return heap != NULL && strcmp(heap, "eal") == 0;
}

#ifdef HAS_TSAN

/*
 * A large object has pages of its own, which the kernel zeroes. A write to each object would take
 * most of the time of tests that create many devices, because the thread sanitizer records it for
 * each word. Small objects are of the heap, because the number of a process's mappings is limited.
 */
#define LARGE_LEN (128u << 10)

/* What precedes an object. */
struct header {
	void *base;
	size_t mapped_len; /* 0: the object is of the heap */
};

static void *
alloc_zeroed(size_t size, unsigned align)
{
	const size_t room = align < 64 ? 64 : align; /* for the header */
	const size_t len = (room + size + room - 1) / room * room;
	const bool is_large = size >= LARGE_LEN && room <= 4096;
	char *base;

	if (is_large)
		base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else
		base = aligned_alloc(room, len);
	if (base == NULL || base == MAP_FAILED)
		return NULL;
	if (!is_large)
		memset(base, 0, len);
	struct header *header = (struct header *)(base + room) - 1;

	*header = (struct header){ .base = base, .mapped_len = is_large ? len : 0 };
	return base + room;
}

static void
free_zeroed(void *mem)
{
	const struct header header = ((const struct header *)mem)[-1];

	if (header.mapped_len > 0)
		(void)munmap(header.base, header.mapped_len);
	else
		free(header.base);
}

#else

static void *
alloc_zeroed(size_t size, unsigned align)
{
	void *mem;

	if (align < sizeof(void *))
		align = sizeof(void *);
	mem = aligned_alloc(align, (size + align - 1) / align * align);
	return mem != NULL ? memset(mem, 0, size) : NULL;
}

static void
free_zeroed(void *mem)
{
	free(mem);
}

#endif /* HAS_TSAN */

void *
rte_zmalloc_socket(const char *type, size_t size, unsigned align, int socket)
{
	void *(*const real)(const char *, size_t, unsigned, int) = behind(__func__);

	if (type == NULL || strcmp(type, "uroce") != 0 || is_eals())
		return real(type, size, align, socket);
	return alloc_zeroed(size, align);
}

void
rte_free(void *mem)
{
	void (*const real)(void *) = behind(__func__);

	if (mem == NULL || is_eals() || rte_mem_virt2memseg_list(mem) != NULL)
		real(mem);
	else
		free_zeroed(mem);
}

#ifdef HAS_TSAN

void __tsan_acquire(void *addr);
void __tsan_release(void *addr);

static void
acquire_all(void *const *frames, unsigned nb)
{
	for (unsigned i = 0; i < nb; i++)
		__tsan_acquire(frames[i]);
}

static void
release_all(void *const *frames, unsigned nb)
{
	for (unsigned i = 0; i < nb; i++)
		__tsan_release(frames[i]);
}

/* --- pools of frames ------------------------------------------------------------------------------- */

/*
 * The operations of DPDK, which the operations of this file call. The indexes are those of DPDK's
 * table.
 */
static struct rte_mempool_ops own[RTE_MEMPOOL_MAX_OPS_IDX];

static int
enqueue(struct rte_mempool *pool, void *const *objects, unsigned nb)
{
	release_all(objects, nb);
	return own[pool->ops_index].enqueue(pool, objects, nb);
}

static int
dequeue(struct rte_mempool *pool, void **objects, unsigned nb)
{
	const int ret = own[pool->ops_index].dequeue(pool, objects, nb);

	if (ret == 0)
		acquire_all(objects, nb);
	return ret;
}

int
rte_eal_init(int argc, char **argv)
{
	int (*const real)(int, char **) = behind(__func__);
	const int ret = real(argc, argv);

	for (unsigned i = 0; i < rte_mempool_ops_table.num_ops; i++) {
		struct rte_mempool_ops *const ops = &rte_mempool_ops_table.ops[i];

		own[i] = *ops;
		ops->enqueue = enqueue;
		ops->dequeue = dequeue;
	}
	return ret;
}

/* --- threads and lcores ---------------------------------------------------------------------------- */

static struct launch {
	lcore_function_t *call;
	void *arg;
} launches[RTE_MAX_LCORE];

static int
run_launch(void *arg)
{
	struct launch *const launch = arg;

	__tsan_acquire(launch);
	const int ret = launch->call(launch->arg);

	__tsan_release(launch);
	return ret;
}

int
rte_eal_remote_launch(lcore_function_t *call, void *arg, unsigned lcore_id)
{
	int (*const real)(lcore_function_t *, void *, unsigned) = behind(__func__);

	launches[lcore_id] = (struct launch){ .call = call, .arg = arg };
	__tsan_release(&launches[lcore_id]);
	return real(run_launch, &launches[lcore_id], lcore_id);
}

int
rte_eal_wait_lcore(unsigned lcore_id)
{
	int (*const real)(unsigned) = behind(__func__);
	const int ret = real(lcore_id);

	__tsan_acquire(&launches[lcore_id]);
	return ret;
}

/*
 * Order the registrations of threads: a thread may get the number, and EAL's data, of a thread that
 * has ended.
 */
int
rte_thread_register(void)
{
	int (*const real)(void) = behind(__func__);
	static char numbers;

	__tsan_acquire(&numbers);
	const int ret = real();

	__tsan_release(&numbers);
	return ret;
}

/*
 * Replaces the function that creates a control thread in releases of DPDK before 23.11. DPDK's new
 * thread writes its affinity first, which looks like a race. Here an ordinary thread is created.
 */
int rte_ctrl_thread_create(pthread_t *thread, const char *name, const pthread_attr_t *attr,
			   void *(*start)(void *), void *arg);

int
rte_ctrl_thread_create(pthread_t *thread, const char *name, const pthread_attr_t *attr,
		       void *(*start)(void *), void *arg)
{
	const int ret = pthread_create(thread, attr, start, arg);

	if (ret == 0 && name != NULL)
		(void)pthread_setname_np(*thread, name);
	return -ret;
}

/*
 * Replaces the function that creates a control thread in releases of DPDK from 23.11 on. The type
 * of its thread differs from that of earlier releases.
 */
int rte_thread_create_control(rte_thread_t *thread, const char *name, rte_thread_func start,
			      void *arg);

struct beginning {
	rte_thread_func start;
	void *arg;
};

static void *
begin(void *arg)
{
	const struct beginning beginning = *(struct beginning *)arg;

	free(arg);
	return (void *)(uintptr_t)beginning.start(beginning.arg);
}

int
rte_thread_create_control(rte_thread_t *thread, const char *name, rte_thread_func start, void *arg)
{
	struct beginning *const beginning = malloc(sizeof(*beginning));
	pthread_t id;
	int ret;

	if (beginning == NULL)
		return -ENOMEM;
	*beginning = (struct beginning){ start, arg };
	ret = rte_ctrl_thread_create(&id, name, NULL, begin, beginning);
	if (ret != 0)
		free(beginning);
	else
		/* on POSIX systems EAL stores a pthread_t in opaque_id */
		thread->opaque_id = (uintptr_t)id;
	return ret;
}

/* --- frames that a port sends and receives --------------------------------------------------------- */

static uint16_t
send_frames(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames, uint16_t nb, void *arg)
{
	(void)port_id;
	(void)queue;
	(void)arg;
	release_all((void **)frames, nb);
	return nb;
}

static uint16_t
receive_frames(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames, uint16_t nb,
	       uint16_t max, void *arg)
{
	(void)port_id;
	(void)queue;
	(void)max;
	(void)arg;
	acquire_all((void **)frames, nb);
	return nb;
}

/*
 * Add the callbacks for frames before the first burst of a port. Callbacks of an earlier start are
 * removed: the port, or another port of the same number, may have been started before.
 */
int
rte_eth_dev_start(uint16_t port_id)
{
	int (*const real)(uint16_t) = behind(__func__);
	static const void *senders[RTE_MAX_ETHPORTS][8], *receivers[RTE_MAX_ETHPORTS][8];
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(port_id, &info) == 0) {
		for (uint16_t i = 0; i < info.nb_rx_queues && i < 8; i++) {
			if (receivers[port_id][i] != NULL)
				(void)rte_eth_remove_rx_callback(port_id, i, receivers[port_id][i]);
			receivers[port_id][i] =
				rte_eth_add_rx_callback(port_id, i, receive_frames, NULL);
		}
		for (uint16_t i = 0; i < info.nb_tx_queues && i < 8; i++) {
			if (senders[port_id][i] != NULL)
				(void)rte_eth_remove_tx_callback(port_id, i, senders[port_id][i]);
			senders[port_id][i] =
				rte_eth_add_tx_callback(port_id, i, send_frames, NULL);
		}
	}
	return real(port_id);
}

#endif
