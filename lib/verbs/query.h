/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_QUERY_H
#define UROCE_VERBS_QUERY_H

/**
 * @file
 * The queries that verbs' inline calls make through the context's table. The caller's header says
 * how long its struct is; what ours does not have is zero, what it does not have is left out.
 */

#include <stddef.h>
#include <infiniband/verbs.h>

/** @return 0, or EINVAL: no such port */
int uroce_query_port_sized(struct ibv_context *context, uint8_t port_num,
			   struct ibv_port_attr *attr, size_t len);

/** @return 0 */
int uroce_query_device_sized(struct ibv_context *context,
			     const struct ibv_query_device_ex_input *input,
			     struct ibv_device_attr_ex *attr, size_t len);

/** An Ethernet speed as width and speed of a link of InfiniBand; one that is not known is taken for 10 Gb/s. */
void uroce_query_rate(uint32_t mbps, uint8_t *width, uint8_t *speed);

#endif /* UROCE_VERBS_QUERY_H */
