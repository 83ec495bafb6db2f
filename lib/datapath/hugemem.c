/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory of the data path. A node without memory left is a slower device, not a failed one: EAL is
 * asked again without a preference.
 */

#include "datapath/hugemem.h"

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "datapath/log.h"

void *
uroce_hugemem_alloc(size_t len, int socket_id)
{
	void *mem = rte_zmalloc_socket("uroce", len, RTE_CACHE_LINE_SIZE, socket_id);

	if (!mem && socket_id != SOCKET_ID_ANY)
		mem = rte_zmalloc_socket("uroce", len, RTE_CACHE_LINE_SIZE, SOCKET_ID_ANY);
	if (!mem)
		UROCE_LOG(
			ERR, mem,
			"no memory for %zu bytes: EAL's heap is used up (-m, --socket-mem, or more "
			"hugepages make it larger)",
			len);
	return mem;
}

void
uroce_hugemem_free(void *mem)
{
	rte_free(mem);
}
