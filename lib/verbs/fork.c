/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork(). A NIC that reads and writes pages by their physical address loses them when the process
 * writes to one that it shares with a child. Here the CPU reads and writes them by the parent's own
 * page tables. Where a NIC does fetch payload, or fills mbufs, by itself, the pages are pinned, and
 * the kernel copies those for the child (Linux 5.12). So there is nothing to prepare.
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
