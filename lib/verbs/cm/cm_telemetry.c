/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telemetry of the agents of connection management (verbs/cm/agent.h). A thread that builds a reply
 * holds `agents_lock`. No agent can end while a thread holds this lock.
 */

#include "datapath/dpdk.h"
#include "verbs/cm/cm_telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <rte_telemetry.h>

#include "datapath/log.h"
#include "verbs/cm/agent.h"
#include "verbs/cm/agent_report.h"
#include "verbs/cm/cm_reply.h"
#include "verbs/object.h"

static pthread_mutex_t agents_lock = PTHREAD_MUTEX_INITIALIZER;
static struct uroce_cm_agent *agents;

/*
 * Find the agent of the device whose name is at the beginning of the parameters of a telemetry
 * command. The caller holds `agents_lock`.
 * @param[out] rest  the parameters that follow the name
 */
static struct uroce_cm_agent *
find_agent(const char *params, const char **rest)
{
	const size_t len = params ? strcspn(params, ",") : 0;

	for (struct uroce_cm_agent *agent = agents; agent; agent = agent->telemetry_next) {
		const char *const name = agent->device->ibv.name;

		if (strlen(name) != len || strncmp(name, params, len) != 0)
			continue;
		*rest = params[len] == ',' ? params + len + 1 : params + len;
		return agent;
	}
	return NULL;
}

static int
reply_cm(const char *cmd, const char *params, struct rte_tel_data *reply)
{
	struct uroce_cm_agent_stats stats;
	struct uroce_cm_agent *agent;
	const char *rest;

	(void)cmd;
	pthread_mutex_lock(&agents_lock);
	agent = find_agent(params, &rest);
	if (agent)
		uroce_cm_agent_read_stats(agent, &stats);
	pthread_mutex_unlock(&agents_lock);
	if (!agent)
		return -ENOENT;
	uroce_cm_reply_stats(reply, &stats);
	return 0;
}

static int
reply_cm_ids(const char *cmd, const char *params, struct rte_tel_data *reply)
{
	struct uroce_cm_row rows[UROCE_CM_REPLY_ROWS];
	struct uroce_cm_agent *agent;
	unsigned nb = 0;
	const char *rest;

	(void)cmd;
	pthread_mutex_lock(&agents_lock);
	agent = find_agent(params, &rest);
	for (uint32_t next = agent ? uroce_cm_reply_first(rest) : UROCE_CM_NO_ID;
	     nb == 0 && next != UROCE_CM_NO_ID;)
		nb = uroce_cm_agent_list(agent, &next, rows, UROCE_CM_REPLY_ROWS);
	pthread_mutex_unlock(&agents_lock);
	if (!agent)
		return -ENOENT;
	uroce_cm_reply_rows(reply, rows, NULL, nb);
	return 0;
}

static void
register_cm_commands(void)
{
	if (rte_telemetry_register_cmd("/uroce/cm", reply_cm,
				       "Counters of connection management. Parameter: the name of "
				       "the device") < 0 ||
	    rte_telemetry_register_cmd("/uroce/cm_ids", reply_cm_ids,
				       "Listeners and connections. Parameters: the name of the "
				       "device, the id after which the list begins") < 0)
		UROCE_LOG(WARNING, cm, "connection management is not registered with telemetry");
}

void
uroce_cm_telemetry_add(struct uroce_cm_agent *agent)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_cm_commands);
	pthread_mutex_lock(&agents_lock);
	agent->telemetry_next = agents;
	agents = agent;
	pthread_mutex_unlock(&agents_lock);
}

void
uroce_cm_telemetry_remove(struct uroce_cm_agent *agent)
{
	struct uroce_cm_agent **link = &agents;

	pthread_mutex_lock(&agents_lock);
	while (*link && *link != agent)
		link = &(*link)->telemetry_next;
	if (*link)
		*link = agent->telemetry_next;
	pthread_mutex_unlock(&agents_lock);
}
