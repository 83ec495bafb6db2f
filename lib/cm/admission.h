/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_ADMISSION_H
#define UROCE_CM_ADMISSION_H

/**
 * @file
 * Admission control of the CM engine: it decides which requests of peers get a CM id. No host may
 * use so many ids that none is left for other hosts. Two numbers are limited:
 *
 * - The requests that wait at a listener. A host may have as many waiting requests as the backlog
 *   of the listener. All hosts together may have twice as many, and the limit of each host shrinks
 *   while requests of other hosts wait.
 * - The half open ids: requests, and connections whose RTU has not arrived. A host may have as many
 *   half open ids as are left for other hosts.
 *
 * Both limits are dynamic thresholds, as in the shared buffer of a switch: a host may have one more
 * waiting request or half open id if it has fewer of them than are free. So a single host gets at
 * most one half, and each further host still finds some that are free.
 *
 * The counters of hosts are in arrays whose index is a hash. Hosts whose hashes are equal share a
 * counter, and so share a limit. The hash has a secret key, so that a host cannot choose the host
 * with which it shares a limit.
 */

#include "cm/context.h"

/**
 * Get the number of counters in each of the arrays nb_half_open_of and nb_waiting_of, which count
 * the requests of each peer host.
 */
uint32_t uroce_cm_admission_nb_counts(uint32_t max_ids);

/**
 * Whether a request of a peer may get a CM id at a listener. A refusal is counted in the
 * statistics.
 * @param from  the address vector of the request
 */
bool uroce_cm_admission_check(struct uroce_cm *cm, uint32_t listener,
			      const struct uroce_cm_av *from);

/**
 * Count the CM id of a new request of a peer: the id waits at its listener, and is half open. The
 * caller has set `conn->listener` and the GID of the peer.
 */
void uroce_cm_admission_begin(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/**
 * Remove a CM id from the requests that wait at its listener, because the user has received the
 * request, or because the request was withdrawn.
 */
void uroce_cm_admission_end_waiting(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/**
 * Remove a CM id from the count of half open ids. The call does nothing if the id is not half open.
 */
void uroce_cm_admission_end_half_open(struct uroce_cm *cm, struct uroce_cm_conn *conn);

#endif /* UROCE_CM_ADMISSION_H */
