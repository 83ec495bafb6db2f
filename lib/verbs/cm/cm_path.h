/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_PATH_H
#define UROCE_VERBS_CM_CM_PATH_H

/**
 * @file
 * The path of an id in its three forms: the path record that the program sees, the address vector
 * of the connection manager, and the address vector of a QP or an AH. The caller holds
 * uroce_vcm_lock.
 */

#include "verbs/cm/id.h"

/** Fill the GIDs and the P_Key of an id, `route.addr.addr.ibaddr`, from its addresses. */
void uroce_vcm_path_fill_gids(struct uroce_vcm_id *id);

/**
 * Fill in the path record of an id from its addresses and options, and make it the only path record
 * in `route.path_rec`.
 */
void uroce_vcm_path_fill(struct uroce_vcm_id *id);

/** Fill the path record of an id from the address vector of its connection manager. */
void uroce_vcm_path_fill_from(struct uroce_vcm_id *id, const struct uroce_cm_av *av);

/** Convert the path record of an id to the address vector for the connection manager. */
void uroce_vcm_path_to_av(const struct uroce_vcm_id *id, struct uroce_cm_av *av);

/**
 * Convert the address vector of the connection manager to the address vector of a QP or an AH.
 * @return 0; -EADDRNOTAVAIL: the device has lost the local GID
 */
int uroce_vcm_path_to_ah(const struct uroce_vcm_id *id, const struct uroce_cm_av *av,
			 struct ibv_ah_attr *ah);

#endif /* UROCE_VERBS_CM_CM_PATH_H */
