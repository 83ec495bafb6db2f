/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Executes planned events of hosts and QPs. An event has no effect if its QP no longer exists or is
 * not in the state that the event requires.
 */

#include "life.h"

#include <assert.h>

#include "app_ops.h"
#include "mcast.h"
#include "host.h"
#include "workload.h"

#define PLANS_MAX 256

static struct plan {
	enum life_kind kind;
	uint32_t whom;
	uint64_t ns;
} plans[PLANS_MAX];
static uint32_t nb_plans;

void
life_clear(struct world *world)
{
	(void)world;
	nb_plans = 0;
}

void
life_plan(struct world *world, enum life_kind kind, uint32_t whom, uint64_t at_ns, uint64_t ns)
{
	assert(nb_plans < PLANS_MAX);
	plans[nb_plans] = (struct plan){ kind, whom, ns };
	heap_push(&world->heap, at_ns, EVENT_LIFE, (uint16_t)nb_plans++, NULL);
}

static bool
is_in(const struct qp *qp, enum ibv_qp_state state)
{
	return !qp->is_gone && qp->qpc.state == state;
}

/* @return whether the event has had an effect on the QP */
static bool
happen_to_qp(struct world *world, const struct plan *plan)
{
	struct qp *qp = world->qps[plan->whom];

	switch (plan->kind) {
	case LIFE_KILL:
		return !qp->is_gone && qp_modify(qp, IBV_QPS_ERR) == 0;
	case LIFE_DESTROY:
		if (qp->is_gone)
			return false;
		qp_destroy(qp);
		return true;
	case LIFE_DRAIN:
		return is_in(qp, IBV_QPS_RTS) && qp_modify(qp, IBV_QPS_SQD) == 0;
	case LIFE_RESUME:
		return (is_in(qp, IBV_QPS_SQD) || is_in(qp, IBV_QPS_SQE)) &&
		       qp_modify(qp, IBV_QPS_RTS) == 0;
	case LIFE_READY:
		return is_in(qp, IBV_QPS_RTR) && qp_modify(qp, IBV_QPS_RTS) == 0;
	case LIFE_CANCEL:
		return !qp->is_gone && conduct_cancel(qp);
	case LIFE_TUNE:
		return is_in(qp, IBV_QPS_SQD) && conduct_tune(qp);
	case LIFE_WITHDRAW:
		return !qp->is_gone && conduct_withdraw(qp);
	case LIFE_RESET:
		return !qp->is_gone && qp_modify(qp, IBV_QPS_RESET) == 0;
	case LIFE_JOIN:
		return qp->peer->is_to_group && group_join(qp);
	case LIFE_LEAVE:
		return group_leave(qp);
	case LIFE_RECONNECT:
		return workload_reconnect(world, qp);
	default:
		return false;
	}
}

void
life_happen(struct world *world, uint32_t nth)
{
	const struct plan *plan = &plans[nth];
	const bool is_host = plan->kind <= LIFE_RETURN;
	struct host *host = &world->hosts[is_host ? plan->whom : 0];
	bool has_happened = true;

	switch (plan->kind) {
	case LIFE_STALL:
		host->awake_ns = world->now_ns + plan->ns;
		host_wake(world, host, host->awake_ns);
		break;
	case LIFE_BLOCK:
		host->blocked_ns += plan->ns;
		if (host->link.up_free_ns < world->now_ns + plan->ns)
			host->link.up_free_ns = world->now_ns + plan->ns;
		break;
	case LIFE_DIE:
		host_die(world, host);
		break;
	case LIFE_RETURN:
		host_return(world, host);
		break;
	case LIFE_BIRTH:
		workload_connect(world);
		break;
	default:
		has_happened = happen_to_qp(world, plan);
	}
	if (!has_happened)
		return;
	world->tally.lives[plan->kind]++;
	trace_note(world, is_host ? plan->whom : 0, "%s %u", life_name(plan->kind), plan->whom);
}

const char *
life_name(enum life_kind kind)
{
	static const char *const names[LIFE_NB] = {
		[LIFE_STALL] = "stall", [LIFE_BLOCK] = "block",
		[LIFE_DIE] = "die",     [LIFE_RETURN] = "return",
		[LIFE_KILL] = "kill",   [LIFE_DESTROY] = "destroy",
		[LIFE_DRAIN] = "drain", [LIFE_RESUME] = "resume",
		[LIFE_READY] = "ready", [LIFE_CANCEL] = "cancel",
		[LIFE_TUNE] = "tune",   [LIFE_WITHDRAW] = "withdraw",
		[LIFE_RESET] = "reset", [LIFE_JOIN] = "join",
		[LIFE_LEAVE] = "leave", [LIFE_RECONNECT] = "reconnect",
		[LIFE_BIRTH] = "birth",
	};

	return names[kind];
}
