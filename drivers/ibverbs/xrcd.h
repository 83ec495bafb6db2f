/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_XRCD_H
#define UROCE_IBVERBS_XRCD_H

/**
 * @file
 * Opens XRC domains for programs that share a domain with other processes by a file.
 */

#include <infiniband/verbs.h>

/**
 * Open an XRC domain as uroce_open_xrcd() does. uroce_open_xrcd() refuses an inode for which
 * another process has a domain. In this case xrcd_open() gives the process a domain of its own,
 * which all of its contexts share. That suffices, because each process has devices of its own, and
 * transfers over the wire need no common domain.
 * @mt Safe.
 */
struct ibv_xrcd *xrcd_open(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);

#endif /* UROCE_IBVERBS_XRCD_H */
