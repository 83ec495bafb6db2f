/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_PLANNED_LINK_H
#define UROCE_DATAPATH_PLANNED_LINK_H

/**
 * @file
 * The link of a planned port, which is not open yet.
 *
 * There is no worker and no thread that checks the link of such a port. So calls of the application
 * check the link. A file descriptor polls readable when a check is useful. Until then no check is
 * needed.
 *
 * If the port will share a kernel interface, its link is that of the interface, and rtnetlink
 * notifies of changes. If the port will be attached to uroced, uroced reports the link over a
 * connection. The first check connects, and while uroced is away later checks try again. For any
 * other port the link is expected to be up.
 */

#include <stdbool.h>

#include "datapath/port/port.h"

struct uroce_planned_link;

/**
 * Create the link of a planned port.
 * @param plan  plan of the port; must not change while the link exists
 * @param socket  path of uroced's socket, if the port will be attached to uroced
 * @return 0, or -errno after one logged line: no memory, or no file descriptor
 */
int uroce_planned_link_create(const struct uroce_port_plan *plan, const char *socket,
			      struct uroce_planned_link **out);
void uroce_planned_link_destroy(struct uroce_planned_link *link);

/**
 * Get the descriptor that polls readable when a check of the planned link may find a change. It
 * exists until the link is destroyed.
 */
int uroce_planned_link_fd(const struct uroce_planned_link *link);

/** Whether the link of the planned port was up at the latest check. */
bool uroce_planned_link_is_up(const struct uroce_planned_link *link);

/**
 * Check the link of the planned port.
 * @mt Safe.
 * @return whether the link has changed since the latest check
 */
bool uroce_planned_link_check(struct uroce_planned_link *link);

/**
 * Renew the planned link in a child of fork(): the inherited descriptors, which notify the parent,
 * are replaced by new ones. The epoll descriptor keeps its number.
 */
void uroce_planned_link_renew(struct uroce_planned_link *link);

/**
 * End the planned link, because the port is about to be opened, and then reports its link itself.
 * After this call checks of the planned link find no change.
 */
void uroce_planned_link_end(struct uroce_planned_link *link);

#endif /* UROCE_DATAPATH_PLANNED_LINK_H */
