/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_MULTICAST_H
#define PERF_MULTICAST_H

/**
 * @file
 * The multicast groups of a test with --mcg. The server receives from one group. In a latency test
 * the client receives from a group that differs in the last bit, because a sender on the same
 * device would also get its own messages.
 */

#include <stdbool.h>
#include <infiniband/verbs.h>

#include "options.h"

#define MULTICAST_QPN 0xffffffu /* QPN of the destination of each multicast message */

/**
 * Get the group that one side receives from.
 * @param is_ipv4  the sides have IPv4 addresses, so the default group is an IPv4 address, too
 * @return 0, or -1 after a line on stderr if --MGID is wrong
 */
int multicast_group(const struct options *opt, bool is_ipv4, bool is_client, union ibv_gid *group);

#endif /* PERF_MULTICAST_H */
