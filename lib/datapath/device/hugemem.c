/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory of the data path. A NUMA node without free memory makes a device slower, but does not make
 * it fail, because the allocation is repeated without a preference for a node.
 *
 * Under --no-huge, EAL's memory is a file of small pages. With many QPs each access to a QP would
 * walk the page tables. So an external heap is added to EAL. It consists of anonymous memory, for
 * which transparent hugepages are requested from the kernel. The heap grows on demand, by half of
 * its size, and keeps freed memory, as EAL does. Without transparent hugepages the heap is no worse
 * than EAL's memory.
 */

#include "datapath/device/hugemem.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <rte_common.h>
#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "datapath/log.h"
#include "datapath/device/numa.h"

/*
 * Name of the heap of the library for NUMA node 0, for no particular node, and for a machine
 * without NUMA. The heap of another node N is named "uroce_N".
 */
#define HEAP          "uroce"
#define HEAP_NAME_LEN 16
#define HUGE_PAGE     ((size_t)RTE_PGSIZE_2M)
#define GROW_MIN      (4 * HUGE_PAGE)
/*
 * Maximum length of an allocation for which the library's heap is tried before EAL's heap, under
 * --no-huge. Larger allocations are tables whose size the user has configured, and come from EAL's
 * heap.
 */
#define PIECE_MAX ((size_t)64 << 20)

static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the array `heaps` */
static struct heap {
	bool is_there;
	int socket; /* socket ID that EAL has given to the heap */
	size_t len;
} heaps[RTE_MAX_NUMA_NODES]; /* the library's heaps, by NUMA node */

/*
 * Map `len` bytes of memory that begin and end at a boundary of a huge page.
 * @return the memory; NULL: no memory
 */
static void *
map_pages(size_t len)
{
	uint8_t *map = mmap(NULL, len + HUGE_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return NULL;
	const size_t before = RTE_PTR_DIFF(RTE_PTR_ALIGN_CEIL(map, HUGE_PAGE), map);

	if (before > 0)
		(void)munmap(map, before);
	(void)munmap(map + before + len, HUGE_PAGE - before);
	(void)madvise(map + before, len, MADV_HUGEPAGE);
	return map + before;
}

static unsigned
heap_of(int node)
{
	return uroce_numa_has_nodes() && node > 0 && node < RTE_MAX_NUMA_NODES ? (unsigned)node : 0;
}

static void
name_heap(unsigned idx, char name[HEAP_NAME_LEN])
{
	if (idx == 0)
		snprintf(name, HEAP_NAME_LEN, "%s", HEAP);
	else
		snprintf(name, HEAP_NAME_LEN, "%s_%u", HEAP, idx);
}

/*
 * Grow a heap, so that it has room for one more allocation of `len` bytes.
 * @return whether the heap has this room
 */
static bool
grow_heap(unsigned idx, size_t len)
{
	struct heap *heap = &heaps[idx];
	const size_t wanted = RTE_MAX(len + HUGE_PAGE, RTE_MAX(heap->len / 2, GROW_MIN));
	const size_t more = RTE_ALIGN_CEIL(wanted, HUGE_PAGE);
	char name[HEAP_NAME_LEN];
	void *pages;

	name_heap(idx, name);
	if (!heap->is_there && rte_malloc_heap_create(name) < 0)
		return false;
	if (!heap->is_there)
		heap->socket = rte_malloc_heap_get_socket(name);
	heap->is_there = true;
	pages = map_pages(more);
	if (!pages)
		return false;
	uroce_numa_place(pages, more, (int)idx);
	if (rte_malloc_heap_memory_add(name, pages, more, NULL, 0, HUGE_PAGE) < 0) {
		(void)munmap(pages, more);
		return false;
	}
	heap->len += more;
	return true;
}

static void *
alloc_of_heap(size_t len, int node)
{
	const unsigned idx = heap_of(node);
	void *mem = NULL;

	pthread_mutex_lock(&heap_lock);
	if (heaps[idx].is_there)
		mem = rte_zmalloc_socket("uroce", len, RTE_CACHE_LINE_SIZE, heaps[idx].socket);
	if (!mem && grow_heap(idx, len))
		mem = rte_zmalloc_socket("uroce", len, RTE_CACHE_LINE_SIZE, heaps[idx].socket);
	pthread_mutex_unlock(&heap_lock);
	return mem;
}

/*
 * Allocate from EAL's heap. Under --no-huge, allocations up to PIECE_MAX come from the library's
 * heap.
 * @return the memory; NULL: no heap has enough memory
 */
static void *
alloc_within(size_t len, int socket_id)
{
	void *mem = NULL;

	if (!rte_eal_has_hugepages() && len <= PIECE_MAX)
		mem = alloc_of_heap(len, socket_id);
	if (!mem)
		mem = rte_zmalloc_socket("uroce", len, RTE_CACHE_LINE_SIZE, socket_id);
	if (!mem && socket_id != SOCKET_ID_ANY)
		mem = rte_zmalloc_socket("uroce", len, RTE_CACHE_LINE_SIZE, SOCKET_ID_ANY);
	return mem;
}

void *
uroce_hugemem_alloc(size_t len, int socket_id)
{
	void *const mem = alloc_within(len, socket_id);

	if (!mem)
		UROCE_LOG(
			ERR, mem,
			"no memory for %zu bytes: EAL's heap is used up (-m, --socket-mem, or more "
			"hugepages make it larger)",
			len);
	return mem;
}

void *
uroce_hugemem_alloc_beyond(size_t len, int socket_id)
{
	void *mem = alloc_within(len, socket_id);

	if (!mem)
		mem = alloc_of_heap(len, socket_id);
	if (!mem)
		UROCE_LOG(ERR, mem, "no memory for %zu bytes: the machine has no free memory", len);
	return mem;
}

void
uroce_hugemem_free(void *mem)
{
	rte_free(mem);
}
