/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_GROUP_H
#define PERF_GROUP_H

/**
 * @file
 * The membership of an endpoint in the multicast group that it receives from (multicast.h).
 */

#include "endpoint.h"

/**
 * With --mcg, attach the QP of a side that receives to its multicast group: the QP of the server,
 * and in a latency test also the QP of the client.
 * @return 0, or -1 after a line on stderr
 */
int group_join(struct endpoint *endpoint, const struct options *opt, bool is_client);

/**
 * With --mcg, set the multicast group of the other side, instead of its QP, as the destination of
 * messages. The call waits until the link is up. With a unicast destination the response to an ARP
 * or ND request shows that the link is up, but a multicast destination needs no such request.
 * @return 0, or -1 after a line on stderr
 */
int group_set_destination(struct endpoint *endpoint, const struct options *opt, bool is_client);

/** Detach the QP from its multicast group, if it is attached. */
void group_leave(struct endpoint *endpoint);

#endif /* PERF_GROUP_H */
