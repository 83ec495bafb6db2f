/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_IGMP_MLD_H
#define UROCE_DATAPATH_IGMP_MLD_H

/**
 * @file
 * The frames by which a host says which groups it listens to: IGMP [RFC 2236] and MLD [RFC 2710], of
 * the versions that every router and every switch that snoops understands. No state.
 */

#include <stdbool.h>
#include <stdint.h>

#include "datapath/neigh_frame.h"

/** The MAC that a group's frames go to [RFC 1112, 2464]: nobody is asked for it. */
void uroce_mcast_group_mac(const uint8_t gid[16], uint8_t mac[6]);

/** Whether somebody has to be told of a group at all: not of those that all hosts are in, nor of this
 * host's own. */
bool uroce_igmp_mld_is_reported(const uint8_t group[16]);

/**
 * Build a report that we listen to a group, or with `is_leave` that we do no longer.
 * @param[out] frame  room for UROCE_NEIGH_REQUEST_MAX
 * @return its length
 */
uint32_t uroce_igmp_mld_put_report(const struct uroce_neigh_conf *conf, const uint8_t group[16],
				   bool is_leave, uint8_t *frame);

/**
 * Whether a frame is a router's question for reports, of all groups or of one: every version's.
 * @param[out] resp_ns  within what time it wants the answer
 */
bool uroce_igmp_mld_read_query(const struct uroce_l2 *l2, uint64_t *resp_ns);

#endif /* UROCE_DATAPATH_IGMP_MLD_H */
