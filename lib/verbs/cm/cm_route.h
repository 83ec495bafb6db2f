/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_ROUTE_H
#define UROCE_VERBS_CM_CM_ROUTE_H

/**
 * @file
 * Which device has an address, and which device and source address lead to a destination. The
 * caller holds uroce_vcm_lock.
 */

#include "verbs/cm/id.h"

/**
 * Find the device that has an address. 127.0.0.0/8 and ::1 are addresses of the first device that
 * has one of the family.
 * @param scope  of a link-local address: index of the kernel interface; 0: any
 * @param[in,out] addr  becomes the address of the device; the port stays
 * @return 0; -EADDRNOTAVAIL: no device has the address; -ENODEV: there is no device; another -errno
 */
int uroce_vcm_route_find_local(struct uroce_cm_addr *addr, uint32_t scope,
			       struct uroce_vcm_device **device);

/**
 * Choose the device and the source address to a destination.
 * @param device  the only device that may be used; NULL: any
 * @param src  the source address; NULL: to be chosen
 * @param scope  of a link-local destination: index of the kernel interface; 0: any
 * @param[out] route  written on success; a loopback address has become one of the device
 * @return 0; -ENETUNREACH: no device has a route; -EHOSTUNREACH: the kernel refuses the
 *	destination; -ENODEV: there is no device; another -errno
 */
int uroce_vcm_route_choose(const struct uroce_cm_addr *dst, uint32_t scope,
			   struct uroce_vcm_device *device, const struct uroce_cm_addr *src,
			   struct uroce_vcm_route *route);

#endif /* UROCE_VERBS_CM_CM_ROUTE_H */
