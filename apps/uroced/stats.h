/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_STATS_H
#define UROCED_STATS_H

/**
 * @file
 * Reports counters by DPDK's telemetry (usertools/dpdk-telemetry.py):
 *
 *	/uroced/clients    the numbers of the clients that are attached
 *	/uroced/clients,N  the numbers of the attached clients after client N
 *	/uroced/client,N   one client: process and user, frames, bytes, drops by reason, leases
 *	/uroced/users      the numbers of the users that have clients
 *	/uroced/user,UID   the sums of a user's clients: connections, pairs of rings, memory, leases
 *	/uroced/host       the port; frames, bytes and drops of the wire; limits of each user and
 *	                   refusals; busy time of the data path
 *	/uroced/cm         messages of connection management
 *	/uroced/cm_ids     listeners and connections, with their clients
 *	/uroced/cm_ids,ID  listeners and connections after this id
 */

#include "control.h"

/** Register the telemetry requests, and reply to them until stats_end(). */
void stats_begin(struct control *control);
void stats_end(void);

#endif /* UROCED_STATS_H */
