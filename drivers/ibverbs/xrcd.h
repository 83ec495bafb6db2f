/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_XRCD_H
#define UROCE_IBVERBS_XRCD_H

/**
 * @file
 * XRC domains of programs that share one by a file with other processes.
 */

#include <infiniband/verbs.h>

/**
 * Open a domain as uroce_open_xrcd() does. Where another process has that of the inode, which is refused there, this
 * one gets a domain of its own, the same for each of its contexts: processes have devices of their own here, and what
 * they do over the wire needs no common domain. @mt Safe.
 */
struct ibv_xrcd *xrcd_open(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);

#endif /* UROCE_IBVERBS_XRCD_H */
