/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_MEMIF_SOCKET_H
#define UROCE_DATAPATH_MEMIF_SOCKET_H

/**
 * @file
 * The sockets of a memif port. The memif driver does not export them, so they are searched among
 * the file descriptors of the process.
 */

#include <stdbool.h>

#include "datapath/port/port.h"

/** Whether the port, which is a memif client, has a connection to its server. */
bool uroce_memif_socket_is_connected(const struct uroce_port *port);

/**
 * Prepare the sockets of a memif port that has been started: a server listens, and clients that
 * leave early do not end this process.
 *
 * The function must not be called from EAL's interrupt thread.
 *
 * @return 0, or -errno after one logged line
 */
int uroce_memif_socket_open(struct uroce_port *port);

/**
 * Close the sockets of a memif server that has been stopped, unless other open ports of this
 * process have the same socket path. From then on clients are refused, and EAL's interrupt thread
 * gets no events of these sockets. So rte_eal_cleanup() and a hot-unplug of the port are safe.
 *
 * The function must be called in EAL's interrupt thread.
 */
void uroce_memif_socket_close(struct uroce_port *port);

#endif /* UROCE_DATAPATH_MEMIF_SOCKET_H */
