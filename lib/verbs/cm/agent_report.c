/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports of a device's agent (verbs/cm/agent.h) for tools. Each call reads the CM engine under the
 * agent's lock for a bounded time. A long list is read by several calls. Between two of these calls
 * other threads may use the engine, so the list may change.
 */

#include "datapath/dpdk.h"
#include "verbs/cm/agent_report.h"

#include "datapath/clock.h"
#include "verbs/cm/agent.h"

void
uroce_cm_agent_read_stats(struct uroce_cm_agent *agent, struct uroce_cm_agent_stats *stats)
{
	uroce_fair_lock_get(&agent->lock);
	stats->cm = *uroce_cme_stats(agent->cm);
	stats->nb_refused = agent->received.nb_refused;
	stats->nb_no_source = agent->received.nb_no_source;
	stats->nb_no_mad = agent->gsi.nb_no_mad;
	uroce_fair_lock_release(&agent->lock);
}

unsigned
uroce_cm_agent_list(struct uroce_cm_agent *agent, uint32_t *next, struct uroce_cm_row *rows,
		    unsigned max)
{
	unsigned nb;

	uroce_fair_lock_get(&agent->lock);
	nb = uroce_cme_list(agent->cm, next, rows, max, uroce_clock_ns());
	uroce_fair_lock_release(&agent->lock);
	return nb;
}
