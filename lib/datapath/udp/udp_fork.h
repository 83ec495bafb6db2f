/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_UDP_FORK_H
#define UROCE_DATAPATH_UDP_FORK_H

/**
 * @file
 * The port `udp` and fork(). A child of fork() that executes no other program would keep the
 * sockets, and the addresses would stay in use when the parent has ended. So the child closes the
 * descriptors that it inherits. All of them are close-on-exec, too.
 *
 * Any thread may call these functions.
 */

struct uroce_udp_port;

/**
 * Prevent a fork() of this process until uroce_udp_fork_allow(). The caller opens or closes
 * descriptors of a port meanwhile, and must not block.
 */
void uroce_udp_fork_prevent(void);
void uroce_udp_fork_allow(void);

/** Add a port to the ports whose descriptors are closed in children of this process. */
void uroce_udp_fork_link(struct uroce_udp_port *udp);

/**
 * Remove a port from the ports whose descriptors are closed in children of this process. If the
 * port was not added, nothing happens.
 */
void uroce_udp_fork_unlink(struct uroce_udp_port *udp);

#endif /* UROCE_DATAPATH_UDP_FORK_H */
