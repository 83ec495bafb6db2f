/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_CONF_VALUE_H
#define UROCE_DATAPATH_CONF_VALUE_H

/**
 * @file
 * Parsers of values in the configuration string of a device. Each function returns 0, or -EINVAL if
 * the text is not a value of the requested kind; then the output is not valid.
 */

#include <stdbool.h>
#include <stdint.h>

#include "datapath/device/conf.h"

/** Parse a decimal number from `min` to `max`. */
int uroce_conf_value_number(const char *text, unsigned long min, unsigned long max,
			    unsigned long *number);

/**
 * Parse an IPv4 or IPv6 address without a prefix length. Addresses that no host can have are
 * refused.
 * @param has_loopback  whether addresses of the host's loopback interface are allowed
 */
int uroce_conf_value_ip(const char *text, bool has_loopback, uint8_t ip[16]);

/**
 * Parse an address with its prefix length.
 * @param is_udp  the port is `udp`: the prefix length may be missing, and addresses of the loopback
 *   interface are allowed
 */
int uroce_conf_value_addr(const char *value, bool is_udp, struct uroce_addr *addr);

#endif /* UROCE_DATAPATH_CONF_VALUE_H */
