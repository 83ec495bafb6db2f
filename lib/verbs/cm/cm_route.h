/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_ROUTE_H
#define UROCE_VERBS_CM_CM_ROUTE_H

/**
 * @file
 * Choice of the device that has a local address, and of the device and the source address that lead
 * to a destination. The caller holds uroce_vcm_lock.
 */

#include "verbs/cm/id.h"

/**
 * Find the device that has an address. A loopback address (127.0.0.0/8, ::1) means the first device
 * that has an address of the IP version.
 * @param scope  for a link-local address: index of the kernel interface; 0: any interface
 * @param[in,out] addr  a loopback address is replaced by an address of the device; the port stays
 * @return 0; -EADDRNOTAVAIL: no device has the address; -ENODEV: there is no device; another -errno
 */
int uroce_vcm_route_find_local(struct uroce_cm_addr *addr, uint32_t scope,
			       struct uroce_vcm_device **device);

/**
 * Choose the device and the source address for a destination.
 * @param device  the only device that may be used; NULL: any device may be used
 * @param src  the source address; NULL: the call chooses the source address
 * @param scope  for a link-local destination: index of the kernel interface; 0: any interface
 * @param[out] route  written on success; a loopback destination is replaced by an address of the
 *         device
 * @return 0; -ENETUNREACH: no device has a route; -EHOSTUNREACH: the kernel refuses the
 *         destination; -ENODEV: there is no device; another -errno
 */
int uroce_vcm_route_choose(const struct uroce_cm_addr *dst, uint32_t scope,
			   struct uroce_vcm_device *device, const struct uroce_cm_addr *src,
			   struct uroce_vcm_route *route);

#endif /* UROCE_VERBS_CM_CM_ROUTE_H */
