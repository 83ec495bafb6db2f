/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library that is preloaded into a program on a NIC behind an IOMMU, so that test/nic/run has a
 * fault to find: the NIC gets the physical address of one in NB mbufs, and not the virtual address
 * which is mapped for the NIC.
 */

#define _GNU_SOURCE 1

#include <dlfcn.h>
#include <stddef.h>
#include <rte_mbuf.h>
#include <rte_memory.h>

#define NB 64u

void
rte_pktmbuf_init(struct rte_mempool *pool, void *arg, void *object, unsigned i)
{
	static void (*init)(struct rte_mempool *, void *, void *, unsigned);
	struct rte_mbuf *mbuf = object;

	if (!init)
		*(void **)&init = dlsym(RTLD_NEXT, "rte_pktmbuf_init");
	init(pool, arg, object, i);
	if (i % NB == 0)
		mbuf->buf_iova = rte_mem_virt2phy(mbuf->buf_addr);
}
