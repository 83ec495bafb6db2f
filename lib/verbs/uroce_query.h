/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_QUERY_H
#define UROCE_QUERY_H

/**
 * @file
 * Queries of a device: its limits, its clock, its port, its tables of GIDs and P_Keys. Texts for
 * the values of verbs' enums.
 *
 * This header is a part of <uroce.h>, which includes it and explains the tags in the comments.
 */

#include <stdint.h>
#include <sys/types.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Query the limits of a device. The create calls enforce these limits for all contexts together.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[out] attr  written on success
 * @return 0; EINVAL: an argument is NULL
 */
int uroce_query_device(struct ibv_context *context, struct ibv_device_attr *attr);

/**
 * Query the limits of a device, and its extended attributes. The clock of completion timestamps
 * runs at `hca_core_clock` kHz. Attributes that the device does not have are 0.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param input  NULL, or its comp_mask is 0
 * @param[out] attr  written on success
 * @return 0; EINVAL: an argument is NULL, or comp_mask has an unknown bit
 */
int uroce_query_device_ex(struct ibv_context *context,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr);

/**
 * Read the clock of completion timestamps.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[in,out] values  on input, comp_mask names the requested values; on output, the values
 *         that were read. The clock is IBV_VALUES_MASK_RAW_CLOCK, where `raw_clock.tv_nsec` is the
 *         whole time in nanoseconds, and `tv_sec` is 0.
 * @return 0; EINVAL: an argument is NULL
 */
int uroce_query_rt_values_ex(struct ibv_context *context, struct ibv_values_ex *values);

/**
 * Query the state and the limits of a device's port, which is port 1.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[out] attr  written on success
 * @return 0; EINVAL: no such port, or an argument is NULL
 */
int uroce_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr);

/**
 * Query an entry of the GID table. Index 0 is the link-local IPv6 address that follows from the
 * MAC. Then follow the configured addresses, IPv4 addresses in their IPv4-mapped form. Unused
 * entries are zero. If the addresses are those of a kernel interface, the table follows their
 * changes, see IBV_EVENT_GID_CHANGE.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[out] gid  written on success
 * @return 0, or -1 with errno EINVAL: no such port or index, or an argument is NULL
 */
int uroce_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid);

/**
 * Query an entry of the GID table with its type, which is IBV_GID_TYPE_ROCE_V2, and with the index
 * of the kernel interface, if the port is a kernel interface.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param flags  0
 * @param[out] entry  written on success
 * @return 0; ENODATA: the entry is unused; EINVAL: no such port or index, unknown flags, or an
 *         argument is NULL
 */
int uroce_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		       struct ibv_gid_entry *entry, uint32_t flags);

/**
 * Query all used entries of the GID table.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[out] entries  room for `max_entries` entries, at least 1; written on success
 * @param flags  0
 * @return the number of entries; -EINVAL: there are more than `max_entries`, the flags are unknown,
 *         or an argument is NULL
 */
ssize_t uroce_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			      size_t max_entries, uint32_t flags);

/**
 * Query an entry of the P_Key table. Its only entry is the default P_Key, 0xffff.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[out] pkey  in network byte order; written on success
 * @return 0, or -1 with errno EINVAL: no such port or index, or an argument is NULL
 */
int uroce_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey);

/**
 * Find a P_Key in the P_Key table.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param pkey  in network byte order
 * @return the index, or -1 with errno EINVAL: the P_Key is not in the table, no such port, or
 *         `context` is NULL
 */
int uroce_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey);

/* --- texts ----------------------------------------------------------------------------------------- */

/**
 * Get the text for a completion status.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return a constant text, never NULL
 */
const char *uroce_wc_status_str(enum ibv_wc_status status);

/**
 * Get the text for an asynchronous event, a node type or a port state.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return a constant text, never NULL
 */
const char *uroce_event_type_str(enum ibv_event_type event);
const char *uroce_node_type_str(enum ibv_node_type node_type);
const char *uroce_port_state_str(enum ibv_port_state port_state);

#ifdef __cplusplus
}
#endif

#endif /* UROCE_QUERY_H */
