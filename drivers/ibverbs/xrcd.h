/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_XRCD_H
#define UROCE_IBVERBS_XRCD_H

/**
 * @file
 * XRC domains of programs that share a domain with other processes by a file.
 */

#include <infiniband/verbs.h>

/**
 * Open a domain as uroce_open_xrcd() does. That call refuses the domain of an inode that another
 * process has. In this case the process gets a domain of its own, common to all its contexts.
 * Processes have separate devices here, and transfers over the wire need no common domain.
 * @mt Safe.
 */
struct ibv_xrcd *xrcd_open(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);

#endif /* UROCE_IBVERBS_XRCD_H */
