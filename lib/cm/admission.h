/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_ADMISSION_H
#define UROCE_CM_ADMISSION_H

/**
 * @file
 * Which requests of peers get an id. No host may take so much that nothing is left for the others:
 *
 * - The requests that wait at a listener. A host may have as many as the backlog says. All hosts
 *   together may have twice as many, and the limit of each host shrinks while the others have some.
 * - The ids that are half open: requests, and connections whose RTU has not come. A host may have
 *   as many as are left for others.
 *
 * Both are the dynamic threshold of shared buffers: a host may add one if it has fewer than are
 * free. So a single host gets one half, and each further host still finds some free.
 *
 * Hosts are counted in arrays without chains. Two hosts whose hashes are equal share a limit. The
 * hash has a secret key, so that no host can choose with whom.
 */

#include "cm/context.h"

/** Counters in each of the two arrays. */
uint32_t uroce_cm_admission_nb_counts(uint32_t max_ids);

/**
 * Whether a request may take an id of a listener. Counts a refusal in the statistics.
 * @param from  where the request came from
 */
bool uroce_cm_admission_check(struct uroce_cm *cm, uint32_t listener,
			      const struct uroce_cm_av *from);

/**
 * A request of a peer has got an id: it waits at its listener, and is half open. `conn->listener`
 * and the GID of the peer are set.
 */
void uroce_cm_admission_begin(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/** The request was taken, or withdrawn: it does not wait at its listener any more. */
void uroce_cm_admission_end_waiting(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/** The id is not half open any more. Does nothing if it was not. */
void uroce_cm_admission_end_half_open(struct uroce_cm *cm, struct uroce_cm_conn *conn);

#endif /* UROCE_CM_ADMISSION_H */
