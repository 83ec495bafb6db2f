/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_PATH_FAULT_H
#define UROCE_DATAPATH_PATH_FAULT_H

/**
 * @file
 * Composes a sentence for the user that explains why an address vector cannot be resolved to a
 * path.
 */

#include <infiniband/verbs.h>

#include "datapath/device/dev.h"
#include "datapath/net/gid_table.h"
#include "datapath/sentence.h"

/**
 * Faults of an address vector that are found without a request to the network, in the order of the
 * checks.
 */
enum uroce_av_fault {
	UROCE_AV_GOOD,
	UROCE_AV_NO_GRH,
	UROCE_AV_PORT,      /* port_num of the address vector is not 1 */
	UROCE_AV_GID_EMPTY, /* the GID index has no address, or is out of range */
	UROCE_AV_FAMILY,    /* source GID and destination GID have different IP versions */
	UROCE_AV_NO_HOST,   /* the destination GID is no address of a host or multicast group */
};

/** Check an address vector against a GID table. @return the first fault */
enum uroce_av_fault uroce_av_check(const struct uroce_gid_table *gids,
				   const struct ibv_ah_attr *av);

/**
 * Append to a sentence why uroce_dev_resolve() has failed: what is wrong with the address vector,
 * and what is allowed.
 * @lcore any thread outside of a round of a worker
 * @param err  the result of uroce_dev_resolve(), -errno
 */
void uroce_path_fault_describe(struct uroce_dev *dev, const struct ibv_ah_attr *av, int err,
			       struct uroce_sentence *sentence);

#endif /* UROCE_DATAPATH_PATH_FAULT_H */
