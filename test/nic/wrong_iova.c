/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library that is preloaded into a program on a NIC, so that test/nic/run has a fault to find: the
 * IOVA of one in NB mbufs is wrong. Behind an IOMMU the NIC gets the physical address of the mbuf,
 * which is not mapped for it. Without an IOMMU it gets the address of other memory.
 */

#define _GNU_SOURCE 1

#include <dlfcn.h>
#include <stddef.h>
#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_memory.h>

#define NB    64u
#define WRONG (1u << 20) /* distance in bytes of the other memory; a hugepage has 2 MiB */

void
rte_pktmbuf_init(struct rte_mempool *pool, void *arg, void *object, unsigned i)
{
	static void (*init)(struct rte_mempool *, void *, void *, unsigned);
	struct rte_mbuf *mbuf = object;

	if (!init)
		*(void **)&init = dlsym(RTLD_NEXT, "rte_pktmbuf_init");
	init(pool, arg, object, i);
	if (i % NB == 0)
		mbuf->buf_iova = rte_eal_iova_mode() == RTE_IOVA_VA
					 ? rte_mem_virt2phy(mbuf->buf_addr)
					 : mbuf->buf_iova ^ WRONG;
}
