/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_QUERY_H
#define UROCE_QUERY_H

/**
 * @file
 * What a device is asked: its limits, its clock, its port, its tables of GIDs and P_Keys; and the words for
 * numbers.
 *
 * It is a part of <uroce.h>, which includes it and says what the comments mean.
 */

#include <stdint.h>
#include <sys/types.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The limits of a device. They are what the create calls hold to, of all contexts together.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[out] attr  written on success
 * @return 0; EINVAL an argument is NULL
 */
int uroce_query_device(struct ibv_context *context, struct ibv_device_attr *attr);

/**
 * The same and more: the clock that stamps completions runs at `hca_core_clock` kHz. What the device
 * has not is 0.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param input  NULL, or its comp_mask is 0
 * @param[out] attr  written on success
 * @return 0; EINVAL an argument is NULL, or an unknown bit is in comp_mask
 */
int uroce_query_device_ex(struct ibv_context *context,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr);

/**
 * Read the clock that stamps completions.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[in,out] values  comp_mask: what is asked for, then what was answered, of which there is
 *                        IBV_VALUES_MASK_RAW_CLOCK: `raw_clock.tv_nsec` is all of it, in nanoseconds, and
 *                        `tv_sec` is 0
 * @return 0; EINVAL an argument is NULL
 */
int uroce_query_rt_values_ex(struct ibv_context *context, struct ibv_values_ex *values);

/**
 * State and limits of a device's port, which is port 1.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[out] attr  written on success
 * @return 0; EINVAL no such port, or an argument is NULL
 */
int uroce_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr);

/**
 * An entry of the GID table: index 0 is the link-local IPv6 address of the MAC, the configured
 * addresses follow, IPv4 in its mapped form. The table is longer than what is in it: the rest is
 * zero. Where they are those of the kernel's interface they follow it, see IBV_EVENT_GID_CHANGE.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[out] gid  written on success
 * @return 0, or -1 with errno EINVAL: no such port or index, or an argument is NULL
 */
int uroce_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid);

/**
 * An entry of the GID table with what belongs to it: its type, which is IBV_GID_TYPE_ROCE_V2, and the
 * kernel's interface, where the port is one.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param flags  0
 * @param[out] entry  written on success
 * @return 0; ENODATA there is nothing at this index; EINVAL no such port or index, unknown flags, or an
 *         argument is NULL
 */
int uroce_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		       struct ibv_gid_entry *entry, uint32_t flags);

/**
 * All entries of the GID table that there are.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[out] entries  room for `max_entries`; written on success
 * @param flags  0
 * @return how many; -EINVAL there are more than `max_entries`, which is at least 1, unknown flags, or an
 *         argument is NULL
 */
ssize_t uroce_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			      size_t max_entries, uint32_t flags);

/**
 * An entry of the P_Key table, whose only one is the default, 0xffff.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[out] pkey  in network byte order; written on success
 * @return 0, or -1 with errno EINVAL: no such port or index, or an argument is NULL
 */
int uroce_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey);

/**
 * Where in the P_Key table a key is.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param pkey  in network byte order
 * @return the index; -1 with errno EINVAL: it is not there, no such port, or `context` is NULL
 */
int uroce_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey);

/* --- words ----------------------------------------------------------------------------------------- */

/**
 * A completion status in words.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return never NULL; the text is constant
 */
const char *uroce_wc_status_str(enum ibv_wc_status status);

/**
 * An asynchronous event, a kind of node, a state of a port in words.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return never NULL; the text is constant
 */
const char *uroce_event_type_str(enum ibv_event_type event);
const char *uroce_node_type_str(enum ibv_node_type node_type);
const char *uroce_port_state_str(enum ibv_port_state port_state);

#ifdef __cplusplus
}
#endif

#endif /* UROCE_QUERY_H */
