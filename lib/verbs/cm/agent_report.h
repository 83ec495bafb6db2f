/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_AGENT_REPORT_H
#define UROCE_VERBS_CM_AGENT_REPORT_H

/**
 * @file
 * Reports for tools about the agent of a device (verbs/cm/agent.h): its counters, and its ids. Any
 * thread may call these functions while the agent exists, except for threads of a child of fork().
 */

#include <stdint.h>

#include "cm/cm.h"
#include "cm/id_list.h"

struct uroce_cm_agent;

/** Counters of an agent. */
struct uroce_cm_agent_stats {
	struct uroce_cm_stats cm; /* counters of the agent's CM engine */
	uint64_t nb_refused;      /* MADs that are no messages of communication management */
	/*
	 * MADs without a valid IP header, or whose source address is not that of a host, so no
	 * reply can be sent
	 */
	uint64_t nb_no_source;
	uint64_t nb_no_mad; /* datagrams to QP 1 that do not have the length of a MAD */
};

void uroce_cm_agent_read_stats(struct uroce_cm_agent *agent, struct uroce_cm_agent_stats *stats);

/** List ids of an agent as uroce_cme_list() does, under the agent's lock. */
unsigned uroce_cm_agent_list(struct uroce_cm_agent *agent, uint32_t *next,
			     struct uroce_cm_row *rows, unsigned max);

#endif /* UROCE_VERBS_CM_AGENT_REPORT_H */
