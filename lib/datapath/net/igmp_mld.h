/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_IGMP_MLD_H
#define UROCE_DATAPATH_IGMP_MLD_H

/**
 * @file
 * The frames by which a host reports the multicast groups of which it is a member: IGMPv2 [RFC
 * 2236] and MLDv1 [RFC 2710]. All routers and snooping switches understand these versions. The
 * functions of this file keep no state.
 */

#include <stdbool.h>
#include <stdint.h>

#include "datapath/net/neigh_frame.h"

/** Compute the MAC of a multicast group from its GID [RFC 1112, RFC 2464]. */
void uroce_mcast_group_mac(const uint8_t gid[16], uint8_t mac[6]);

/**
 * Whether a multicast group is reported to routers and snooping switches. The group of all hosts
 * and groups of interface scope are not reported.
 */
bool uroce_igmp_mld_is_reported(const uint8_t group[16]);

/**
 * Build a report of a multicast group, or with `is_leave` the message that this host leaves the
 * group.
 * @param[out] frame  the message; has room for UROCE_NEIGH_REQUEST_MAX bytes
 * @return length of the frame
 */
uint32_t uroce_igmp_mld_put_report(const struct uroce_neigh_conf *conf, const uint8_t group[16],
				   bool is_leave, uint8_t *frame);

/**
 * Whether a frame is a router's query for reports of all groups or of one group, in any version of
 * IGMP and MLD.
 * @param[out] resp_ns  maximum time in nanoseconds until the host reports
 */
bool uroce_igmp_mld_read_query(const struct uroce_l2 *l2, uint64_t *resp_ns);

#endif /* UROCE_DATAPATH_IGMP_MLD_H */
