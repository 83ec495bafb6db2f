/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_QUERY_H
#define UROCE_VERBS_QUERY_H

/**
 * @file
 * Queries for the table of operations in a context, which verbs' inline calls use. The caller
 * passes the length of its struct, which depends on the version of its header. Fields that this
 * library does not know are set to 0. Fields that the caller's struct does not have are not
 * written.
 */

#include <stddef.h>
#include <infiniband/verbs.h>

/**
 * Query a port as uroce_query_port() does, for a caller whose struct has `len` bytes.
 * @return 0; EINVAL: no such port, or an argument is NULL
 */
int uroce_query_port_sized(struct ibv_context *context, uint8_t port_num,
			   struct ibv_port_attr *attr, size_t len);

/**
 * Query a device as uroce_query_device_ex() does, for a caller whose struct has `len` bytes.
 * @return 0; EINVAL: an argument is NULL, or an unknown bit is in comp_mask
 */
int uroce_query_device_sized(struct ibv_context *context,
			     const struct ibv_query_device_ex_input *input,
			     struct ibv_device_attr_ex *attr, size_t len);

/**
 * Express an Ethernet speed in Mb/s by the width and the speed of an InfiniBand link. An unknown
 * speed counts as 10 Gb/s.
 */
void uroce_query_rate(uint32_t mbps, uint8_t *width, uint8_t *speed);

#endif /* UROCE_VERBS_QUERY_H */
