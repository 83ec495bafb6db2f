/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_LINK_H
#define UROCE_DATAPATH_LINK_H

/**
 * @file
 * The link of a port. A change of the link raises an asynchronous event of the device
 * (IBV_EVENT_PORT_ACTIVE or IBV_EVENT_PORT_ERR). Ports report some changes; all other changes are
 * found by regular checks.
 */

#include "datapath/port/port.h"

/**
 * Begin to watch the link of a port. The present state of the link is stored without an event. If the
 * library has started a NIC, the call waits some seconds until the link is up.
 */
void uroce_link_watch(struct uroce_port *port);
void uroce_link_unwatch(struct uroce_port *port);

/**
 * Check the link of a port, without waiting. For a port that is attached to uroced the call does
 * nothing, because uroced reports the link.
 */
void uroce_link_check(struct uroce_port *port);

/**
 * Store the state of a port's link, and raise an event if the state has changed. Any thread may
 * call this function, but only one at a time.
 */
void uroce_link_set(struct uroce_port *port, bool is_up);

/**
 * Time in ns between two attempts of a memif client to connect. It exceeds the time of a handshake
 * on a busy machine, because the process of a memif server may fail if a client leaves during the
 * handshake.
 */
#define UROCE_LINK_RESTART_NS UINT64_C(500000000)

/**
 * Whether the port is a memif client without a link to its server, and must be restarted to
 * connect.
 */
bool uroce_link_is_lost(const struct uroce_port *port, uint64_t now_ns);

/**
 * Restart a port, so that it connects to its peer again. No thread may receive or transmit
 * meanwhile, so the caller has cleared `is_ready` of the port before.
 */
void uroce_link_restart(struct uroce_port *port, uint64_t now_ns);

#endif /* UROCE_DATAPATH_LINK_H */
