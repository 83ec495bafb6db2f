/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_STATS_H
#define UROCED_STATS_H

/**
 * @file
 * Counters, by DPDK's telemetry (usertools/dpdk-telemetry.py):
 *
 *	/uroced/clients    the numbers of those that are attached
 *	/uroced/client,N   one of them: process and user, frames, bytes, drops by reason, leases
 *	/uroced/users      the numbers of the users that have clients
 *	/uroced/user,UID   what the clients of one have in all: connections, pairs of rings, memory, leases
 *	/uroced/host       the wire's frames, bytes and drops; time that the data path was busy
 */

#include "control.h"

/** Begin to answer, until stats_end(). */
void stats_begin(struct control *control);
void stats_end(void);

#endif /* UROCED_STATS_H */
