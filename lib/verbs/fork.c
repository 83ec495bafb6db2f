/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork() needs no preparation. A NIC accesses pages by their physical addresses. It loses a page
 * when the process writes to the page while a child shares it, because the process then gets a copy
 * at another address. Workers access payload with the CPU, by the page tables of the parent, and so
 * find the copy, too. But a NIC that fetches payload or fills mbufs by DMA uses pinned pages. Since
 * Linux 5.12 the kernel copies pinned pages for the child instead.
 */

#include "verbs/fork.h"
#include "verbs/uroce.h"

bool uroce_fork_child;

int
uroce_fork_init(void)
{
	return 0;
}

enum ibv_fork_status
uroce_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}
