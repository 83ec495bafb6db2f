/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_LINK_H
#define UROCE_DATAPATH_LINK_H

/**
 * @file
 * The link of a port. Changes of the link become port events. Ports report some changes; all other
 * changes are found by regular checks.
 */

#include "datapath/port/port.h"

/** Begin to watch the link of a port. The present state of the link is stored without an event. */
void uroce_link_watch(struct uroce_port *port);
void uroce_link_unwatch(struct uroce_port *port);

/**
 * Check the link of a port, without waiting. For a port that is attached to uroced the call does
 * nothing, because uroced reports the link.
 */
void uroce_link_check(struct uroce_port *port);

/**
 * Store the state of the link, and raise an event if the state has changed. Any thread may call
 * this function, but only one at a time.
 */
void uroce_link_set(struct uroce_port *port, bool is_up);

/**
 * Time in ns between two attempts to connect. It exceeds the time of a handshake on a busy machine,
 * because the process of a memif server may fail if a client leaves during the handshake.
 */
#define UROCE_LINK_RESTART_NS UINT64_C(500000000)

/** Whether the port has lost its peer and must be restarted. */
bool uroce_link_is_lost(const struct uroce_port *port, uint64_t now_ns);

/**
 * Restart the port. No thread may call bursts meanwhile, so the caller has cleared `is_ready`
 * before.
 */
void uroce_link_restart(struct uroce_port *port, uint64_t now_ns);

#endif /* UROCE_DATAPATH_LINK_H */
