/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A consumer: a user of the agent of a device (verbs/cm/agent.h). Each call checks that the id
 * belongs to the consumer, and then calls the CM engine under the agent's lock.
 */

#include "verbs/cm/consumer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/cm/agent.h"
#include "verbs/fork.h"
#include "verbs/object.h"

struct uroce_cm_consumer {
	struct uroce_cm_manager manager;
	struct ibv_context *context; /* context of the device that this consumer uses */
	struct uroce_cm_agent *agent;
	/*
	 * number of the consumer, by which the CM engine identifies the owner of the consumer's ids
	 */
	uint16_t number;
};

static struct uroce_cm_consumer *
consumer_of(struct uroce_cm_manager *manager)
{
	return (struct uroce_cm_consumer *)manager;
}

/* A call to the CM engine about an id, from begin_id_call() to end_id_call(). */
struct id_call {
	struct uroce_cm_agent *agent;
	struct uroce_cm *cm;
	uint64_t now_ns;
};

/*
 * Begin a call to the CM engine about an id.
 * @return 0; -EIO: this process is a child of fork(); -EINVAL: the consumer does not have the id.
 *         After an error end_id_call() must not be called
 */
static int
begin_id_call(struct uroce_cm_manager *manager, uint32_t id, struct id_call *call)
{
	const struct uroce_cm_consumer *const consumer = consumer_of(manager);

	if (uroce_is_fork_child())
		return -EIO;
	call->agent = consumer->agent;
	call->cm = consumer->agent->cm;
	call->now_ns = uroce_cm_agent_begin_call(call->agent);
	if (uroce_cme_is_owner(call->cm, id, consumer->number))
		return 0;
	uroce_cm_agent_end_call(call->agent);
	return -EINVAL;
}

static int
end_id_call(const struct id_call *call, int ret)
{
	uroce_cm_agent_end_call(call->agent);
	return ret;
}

static int
create_id(struct uroce_cm_manager *manager, uint16_t space, bool is_datagram, uint64_t user,
	  uint32_t *id)
{
	const struct uroce_cm_consumer *const consumer = consumer_of(manager);
	struct uroce_cm_agent *const agent = consumer->agent;
	int ret;

	if (uroce_is_fork_child())
		return -EIO;
	(void)uroce_cm_agent_begin_call(agent);
	ret = uroce_cme_check_account(agent->cm, consumer->number);
	if (ret == 0)
		ret = uroce_cme_create(agent->cm, space, is_datagram, user, id);
	if (ret == 0)
		uroce_cme_set_owner(agent->cm, *id, consumer->number);
	uroce_cm_agent_end_call(agent);
	return ret;
}

static int
bind_id(struct uroce_cm_manager *manager, uint32_t id, const struct uroce_cm_addr *addr,
	bool is_v6only, bool is_shared)
{
	struct id_call call;
	const int ret = begin_id_call(manager, id, &call);

	return ret != 0 ? ret
			: end_id_call(&call,
				      uroce_cme_bind(call.cm, id, addr, is_v6only, is_shared));
}

static int
listen_id(struct uroce_cm_manager *manager, uint32_t id, uint32_t backlog)
{
	struct id_call call;
	const int ret = begin_id_call(manager, id, &call);

	return ret != 0 ? ret : end_id_call(&call, uroce_cme_listen(call.cm, id, backlog));
}

static int
connect_id(struct uroce_cm_manager *manager, uint32_t id, const struct uroce_cm_addr *remote,
	   const struct uroce_cm_av *av, const struct uroce_cm_param *param)
{
	struct id_call call;
	const int ret = begin_id_call(manager, id, &call);

	return ret != 0 ? ret
			: end_id_call(&call, uroce_cme_connect(call.cm, id, remote, av, param,
							       call.now_ns));
}

static int
accept_id(struct uroce_cm_manager *manager, uint32_t id, const struct uroce_cm_param *param)
{
	struct id_call call;
	const int ret = begin_id_call(manager, id, &call);

	return ret != 0 ? ret
			: end_id_call(&call, uroce_cme_accept(call.cm, id, param, call.now_ns));
}

static int
reject_id(struct uroce_cm_manager *manager, uint32_t id, uint16_t reason, const void *private_data,
	  uint8_t private_len)
{
	struct id_call call;
	const int ret = begin_id_call(manager, id, &call);

	return ret != 0 ? ret
			: end_id_call(&call, uroce_cme_reject(call.cm, id, reason, private_data,
							      private_len, call.now_ns));
}

static int
establish_id(struct uroce_cm_manager *manager, uint32_t id, const void *private_data,
	     uint8_t private_len)
{
	struct id_call call;
	const int ret = begin_id_call(manager, id, &call);

	return ret != 0 ? ret
			: end_id_call(&call, uroce_cme_establish(call.cm, id, private_data,
								 private_len, call.now_ns));
}

static int
disconnect_id(struct uroce_cm_manager *manager, uint32_t id, const void *private_data,
	      uint8_t private_len)
{
	struct id_call call;
	const int ret = begin_id_call(manager, id, &call);

	return ret != 0 ? ret
			: end_id_call(&call, uroce_cme_disconnect(call.cm, id, private_data,
								  private_len, call.now_ns));
}

static int
destroy_id(struct uroce_cm_manager *manager, uint32_t id)
{
	struct id_call call;
	const int ret = begin_id_call(manager, id, &call);

	if (ret != 0)
		return ret;
	uroce_cme_destroy(call.cm, id, call.now_ns);
	return end_id_call(&call, 0);
}

static int
set_id_user(struct uroce_cm_manager *manager, uint32_t id, uint64_t user)
{
	struct id_call call;
	const int ret = begin_id_call(manager, id, &call);

	if (ret != 0)
		return ret;
	uroce_cme_set_user(call.cm, id, user);
	return end_id_call(&call, 0);
}

static int
query_id(struct uroce_cm_manager *manager, uint32_t id, struct uroce_cm_info *info)
{
	struct id_call call;
	const int ret = begin_id_call(manager, id, &call);

	if (ret != 0)
		return ret;
	uroce_cme_query(call.cm, id, info);
	return end_id_call(&call, 0);
}

static int
take_event(struct uroce_cm_manager *manager, struct uroce_cm_event *event)
{
	const struct uroce_cm_consumer *const consumer = consumer_of(manager);
	struct uroce_cm_agent *const agent = consumer->agent;
	bool has_event;

	if (uroce_is_fork_child())
		return -EIO;
	(void)uroce_cm_agent_begin_call(agent);
	has_event = uroce_cme_next_owner_event(agent->cm, consumer->number, event);
	if (!has_event)
		agent->clients[consumer->number].is_notified = false;
	uroce_cm_agent_end_call(agent);
	return has_event;
}

static int
get_qpn_busy_ns(struct uroce_cm_manager *manager, uint32_t qpn, uint64_t *busy_ns)
{
	struct uroce_cm_agent *const agent = consumer_of(manager)->agent;
	uint64_t now_ns, until_ns;

	if (uroce_is_fork_child())
		return -EIO;
	now_ns = uroce_cm_agent_begin_call(agent);
	until_ns = uroce_cme_qpn_busy_until(agent->cm, qpn);
	if (until_ns == UROCE_CM_NEVER)
		*busy_ns = UROCE_CM_NEVER;
	else
		*busy_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	uroce_cm_agent_end_call(agent);
	return 0;
}

static void
close_consumer(struct uroce_cm_manager *manager)
{
	struct uroce_cm_consumer *const consumer = consumer_of(manager);

	/*
	 * in a child of fork() the agent and the context belong to the parent, so they stay
	 * unchanged
	 */
	if (!uroce_is_fork_child()) {
		uroce_cm_agent_remove(consumer->agent, consumer->number);
		uroce_users_drop(consumer->context, &uroce_vcontext(consumer->context)->nb_users);
	}
	free(consumer);
}

static const struct uroce_cm_manager_ops ops = {
	.create = create_id,
	.bind = bind_id,
	.listen = listen_id,
	.connect = connect_id,
	.accept = accept_id,
	.reject = reject_id,
	.establish = establish_id,
	.disconnect = disconnect_id,
	.destroy = destroy_id,
	.set_user = set_id_user,
	.query = query_id,
	.next_event = take_event,
	.qpn_busy_ns = get_qpn_busy_ns,
	.close = close_consumer,
};

void
uroce_cm_consumer_set_account(struct uroce_cm_manager *manager, uint32_t account)
{
	const struct uroce_cm_consumer *const consumer = consumer_of(manager);

	(void)uroce_cm_agent_begin_call(consumer->agent);
	uroce_cme_set_account(consumer->agent->cm, consumer->number, account);
	uroce_cm_agent_end_call(consumer->agent);
}

int
uroce_cm_consumer_open(struct ibv_context *context, void (*notify)(void *arg), void *arg,
		       struct uroce_cm_manager **manager)
{
	struct uroce_cm_consumer *const consumer = calloc(1, sizeof(*consumer));
	int ret;

	if (consumer == NULL)
		return -ENOMEM;
	consumer->manager = (struct uroce_cm_manager){ .ops = &ops, .notify = notify, .arg = arg };
	consumer->context = context;
	ret = uroce_cm_agent_get(uroce_vcontext(context)->device, &consumer->agent);
	if (ret == 0)
		ret = uroce_cm_agent_add(consumer->agent, &consumer->manager, &consumer->number);
	if (ret != 0) {
		free(consumer);
		return ret;
	}
	uroce_users_add(context, &uroce_vcontext(context)->nb_users);
	*manager = &consumer->manager;
	return 0;
}
