/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_GROUP_H
#define PERF_GROUP_H

/**
 * @file
 * The membership of an endpoint in the multicast group that it receives from (multicast.h).
 */

#include "endpoint.h"

/**
 * Attach the QP of a side that receives to its group: the QP of the server, and in a latency test
 * also that of the client.
 * @return 0, or -1 after a line on stderr
 */
int group_join(struct endpoint *endpoint, const struct options *opt, bool is_client);

/**
 * Set the group of the other side, instead of its QP, as the destination of messages. The call waits
 * until the link is up. A path to a group needs no response of a host, which would show that it is.
 * @return 0, or -1 after a line on stderr
 */
int group_set_destination(struct endpoint *endpoint, const struct options *opt, bool is_client);

/** Detach the QP from its group if it is attached. */
void group_leave(struct endpoint *endpoint);

#endif /* PERF_GROUP_H */
