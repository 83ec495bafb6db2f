/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_PORT_SETUP_H
#define UROCE_DATAPATH_PORT_SETUP_H

/**
 * @file
 * Set up a port while it is opened (port_open.c): MTU, RSS, queues and mempools. If a call fails,
 * the caller closes the port by uroce_port_close(), which also undoes the steps that succeeded.
 */

#include <rte_ethdev.h>

#include "datapath/port/port.h"

/**
 * Configure and start an ethdev port that belongs to this library.
 * @param info  properties of the port, as the driver reports them
 * @return 0, or -errno after one logged line
 */
int uroce_port_set_up(struct uroce_port *port, const struct rte_eth_dev_info *info);

/**
 * Inspect a port that belongs to the DPDK application, and whose configuration stays as it is.
 * Mempools are created for the frames that this library sends.
 * @param info  properties of the port, as the driver reports them
 * @return 0, or -errno after one logged line
 */
int uroce_port_inspect(struct uroce_port *port, const struct rte_eth_dev_info *info);

/**
 * Create a mempool for each queue of a port that this library does not configure. The field
 * `frame_limit` of the port must be set.
 * @return 0; -ENOMEM after one logged line
 */
int uroce_port_make_pools(struct uroce_port *port);

#endif /* UROCE_DATAPATH_PORT_SETUP_H */
