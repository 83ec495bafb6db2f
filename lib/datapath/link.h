/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_LINK_H
#define UROCE_DATAPATH_LINK_H

/**
 * @file
 * The link of a port, as it comes and goes: changes become port events. Ports report some of them,
 * the rest is seen by looking now and then.
 */

#include "datapath/port.h"

/** Begin to watch; the present state is taken without an event. */
void uroce_link_watch(struct uroce_port *port);
void uroce_link_unwatch(struct uroce_port *port);

/** Look at the link. Does not wait. One that is attached to uroced is told by that how it is. */
void uroce_link_check(struct uroce_port *port);

/** The link is so now. Any thread, but one at a time. */
void uroce_link_set(struct uroce_port *port, bool is_up);

/**
 * From one try to connect to the next. It is more than a handshake takes on a busy machine: memif
 * does not survive a peer that leaves amidst one.
 */
#define UROCE_LINK_RESTART_NS UINT64_C(500000000)

/** Whether the port has lost its peer and should be started again. */
bool uroce_link_is_lost(const struct uroce_port *port, uint64_t now_ns);

/** Start it again. Nobody calls bursts: is_ready is false. */
void uroce_link_restart(struct uroce_port *port, uint64_t now_ns);

#endif /* UROCE_DATAPATH_LINK_H */
