/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory of the data path. A node without memory left is a slower device, not a failed one: EAL is
 * asked again without a preference.
 *
 * Under --no-huge EAL's own memory is one file of small pages, and where there are many QPs each of them
 * costs a walk through the page tables. So there a heap of our own is added to it, of anonymous memory that
 * the kernel is asked to keep in its transparent hugepages. It grows as it is needed, by half of what it is,
 * and like EAL's it keeps what is given back. Where the kernel does not do that, it is as good as EAL's.
 */

#include "datapath/hugemem.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <rte_common.h>
#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "datapath/log.h"
#include "datapath/numa.h"

#define HEAP          "uroce" /* of the first node, or all; "uroce_N" */
#define HEAP_NAME_LEN 16
#define HUGE_PAGE     ((size_t)RTE_PGSIZE_2M)
#define GROW_MIN      (4 * HUGE_PAGE)
#define PIECE_MAX     ((size_t)64 << 20) /* what is larger is a table that somebody asked for: EAL's */

static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct heap {
	bool is_there;
	int socket; /* as EAL calls it */
	size_t len;
} heaps[RTE_MAX_NUMA_NODES]; /* of each node */

/* @return `len` bytes that begin and end with a huge page; NULL: there are none */
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

/* The heap gets room for one more piece of `len` bytes. @return whether it has it */
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

/* @return NULL: neither EAL's heap nor, for pieces of the usual length, that of ours has so much */
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
		UROCE_LOG(ERR, mem, "no memory for %zu bytes: the machine has no more of it", len);
	return mem;
}

void
uroce_hugemem_free(void *mem)
{
	rte_free(mem);
}
