/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_REPLY_H
#define UROCE_VERBS_CM_CM_REPLY_H

/**
 * @file
 * Replies of DPDK's telemetry about connection management: the counters of a device's agent
 * (verbs/cm/agent.h), and its ids. uroced, and a process that owns its port, make the same replies.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "verbs/cm/agent_report.h"

struct rte_tel_data;

/** Maximum number of ids in a reply, because a reply of telemetry has at most 16 KiB. */
#define UROCE_CM_REPLY_ROWS 32u

/** The process that owns an id. */
struct uroce_cm_row_owner {
	bool is_known;
	pid_t pid;
	uid_t uid;
};

/**
 * Make a reply with the counters of an agent: a dictionary of groups. The groups cm_tx_msgs,
 * cm_tx_retries, cm_rx_msgs and cm_rx_duplicates, and the names in these groups, are those of the
 * kernel's ib_cm.
 */
void uroce_cm_reply_stats(struct rte_tel_data *reply, const struct uroce_cm_agent_stats *stats);

/**
 * Make a reply with ids: a dictionary that has a dictionary for each id. The name of an id's
 * dictionary is the number of the id. (DPDK 22.11 has no arrays of dictionaries.)
 * @param owners  the owner of each id; NULL: all ids belong to this process
 * @param nb  number of ids, at most UROCE_CM_REPLY_ROWS
 */
void uroce_cm_reply_rows(struct rte_tel_data *reply, const struct uroce_cm_row *rows,
			 const struct uroce_cm_row_owner *owners, unsigned nb);

/**
 * Get the id with which a list begins, from the parameters of a request. If the parameters begin
 * with a number, the list begins after the id with this number; otherwise it begins with id 0.
 */
uint32_t uroce_cm_reply_first(const char *params);

#endif /* UROCE_VERBS_CM_CM_REPLY_H */
