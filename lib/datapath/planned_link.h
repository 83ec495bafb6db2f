/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_PLANNED_LINK_H
#define UROCE_DATAPATH_PLANNED_LINK_H

/**
 * @file
 * The link of a port that is planned, and not opened yet: no worker looks at it, and no thread is there. So whoever
 * asks looks; and a descriptor polls readable when there is something to look at, which costs nothing until then.
 *
 * A port that shares the kernel's interface has that one's link, of which rtnetlink gives notice. The link of one that
 * is to be attached to uroced is what uroced says, over a connection that the first look makes, and tries to make
 * anew while uroced is away. Of any other port the link is expected to be up.
 */

#include <stdbool.h>

#include "datapath/port.h"

struct uroce_planned_link;

/**
 * @param plan    the port's; it stays as it is while the link is there
 * @param socket  uroced's path, if the port is to be attached to it
 * @return 0, or -errno after one logged line: no memory, no file descriptor
 */
int uroce_planned_link_create(const struct uroce_port_plan *plan, const char *socket,
			      struct uroce_planned_link **out);
void uroce_planned_link_destroy(struct uroce_planned_link *link);

/** Polls readable when a look may find a change. It is there until the link is destroyed. */
int uroce_planned_link_fd(const struct uroce_planned_link *link);

/** Whether the link was up at the last look. */
bool uroce_planned_link_is_up(const struct uroce_planned_link *link);

/** Look at the link. @return whether it has changed since the last look. @mt Safe. */
bool uroce_planned_link_look(struct uroce_planned_link *link);

/**
 * In a child of fork(): what was inherited is the parent's, and gives notice to that. So there are other descriptors
 * now, with that of the epoll under the same number.
 */
void uroce_planned_link_renew(struct uroce_planned_link *link);

/** The port is about to be opened, and tells of its link itself: no look finds anything from now on. */
void uroce_planned_link_end(struct uroce_planned_link *link);

#endif /* UROCE_DATAPATH_PLANNED_LINK_H */
