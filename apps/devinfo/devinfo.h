/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DEVINFO_DEVINFO_H
#define DEVINFO_DEVINFO_H

/**
 * @file
 * Prints the attributes of a device, and of each of its ports.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

/**
 * Print the attributes of a device.
 * @param is_verbose  print all attributes, not only the most important ones
 */
void device_print(struct ibv_context *context, const struct ibv_device_attr_ex *attr,
		  bool is_verbose);

/**
 * Print the attributes of a port.
 * @return 0, or a positive errno
 */
int port_print(struct ibv_context *context, uint8_t port_num, bool is_verbose);

#endif /* DEVINFO_DEVINFO_H */
