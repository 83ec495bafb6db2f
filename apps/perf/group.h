/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_GROUP_H
#define PERF_GROUP_H

/**
 * @file
 * The membership of an endpoint in the multicast group that it receives from (multicast.h).
 */

#include "endpoint.h"

/**
 * Attach the QP of a side that receives: that of the server, and in a latency test both.
 * @return 0, or -1 after a line on stderr
 */
int group_join(struct endpoint *endpoint, const struct options *opt, bool is_client);

/** Set the group of the other side as the destination of messages, instead of its QP. */
int group_set_destination(struct endpoint *endpoint, const struct options *opt, bool is_client);

/** Detach the QP if it is attached. */
void group_leave(struct endpoint *endpoint);

#endif /* PERF_GROUP_H */
