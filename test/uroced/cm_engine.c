/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A connection management engine for tests. Each call of a manager calls the engine, with the time
 * of the test's clock.
 */

#include "cm_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/message.h"

struct engine_user {
	struct uroce_cm_manager base;
	struct cm_engine *engine;
	uint16_t owner;
};

static struct engine_user *
user_of(struct uroce_cm_manager *manager)
{
	return (struct engine_user *)manager;
}

uint16_t
cm_engine_owner(const struct uroce_cm_manager *manager)
{
	return ((const struct engine_user *)manager)->owner;
}

/* --- the engine --------------------------------------------------------------------------------- */

static void
deliver(struct cm_engine *engine, const struct uroce_cm_tx *tx)
{
	struct uroce_cm_av from = tx->av;
	struct uroce_cm_msg msg;

	memcpy(from.local_gid, tx->av.remote_gid, sizeof(from.local_gid));
	memcpy(from.remote_gid, tx->av.local_gid, sizeof(from.remote_gid));
	if (!engine->is_cut && uroce_cm_parse(tx->mad, &msg) == UROCE_CM_VERDICT_ACCEPTED)
		uroce_cme_recv(engine->cm, &msg, &from, engine->now_ns);
}

void
cm_engine_pump(struct cm_engine *engine)
{
	struct uroce_cm_tx tx;

	while (uroce_cme_send(engine->cm, &tx, 1, engine->now_ns))
		deliver(engine, &tx);
	for (uint16_t owner = 0; owner < CM_CLIENTS_MAX; owner++) {
		struct uroce_cm_manager *manager = engine->manager[owner];

		if (manager && uroce_cme_has_owner_event(engine->cm, owner))
			manager->notify(manager->arg);
	}
}

void
cm_engine_pass(struct cm_engine *engine, uint64_t ns)
{
	const uint64_t end_ns = engine->now_ns + ns;

	while (uroce_cme_deadline(engine->cm) <= end_ns) {
		if (engine->now_ns < uroce_cme_deadline(engine->cm))
			engine->now_ns = uroce_cme_deadline(engine->cm);
		uroce_cme_expire(engine->cm, engine->now_ns);
		cm_engine_pump(engine);
	}
	engine->now_ns = end_ns;
}

unsigned
cm_engine_nb_open(const struct cm_engine *engine)
{
	struct cm_engine *changed = (struct cm_engine *)(uintptr_t)engine;
	uint32_t ids[ENGINE_IDS];
	unsigned nb_free = 0;

	while (nb_free < ENGINE_IDS &&
	       uroce_cme_create(changed->cm, 0x0106, false, 0, &ids[nb_free]) == 0)
		nb_free++;
	for (unsigned i = 0; i < nb_free; i++)
		uroce_cme_destroy(changed->cm, ids[i], engine->now_ns);
	return ENGINE_IDS - nb_free;
}

/* --- the calls ---------------------------------------------------------------------------------- */

static int
user_create(struct uroce_cm_manager *manager, uint16_t space, bool is_datagram, uint64_t user,
	    uint32_t *id)
{
	struct engine_user *at = user_of(manager);
	int ret = uroce_cme_check_account(at->engine->cm, at->owner);

	if (ret == 0)
		ret = uroce_cme_create(at->engine->cm, space, is_datagram, user, id);
	if (ret == 0)
		uroce_cme_set_owner(at->engine->cm, *id, at->owner);
	return ret;
}

static int
user_bind(struct uroce_cm_manager *manager, uint32_t id, const struct uroce_cm_addr *addr,
	  bool is_v6only, bool is_shared)
{
	return uroce_cme_bind(user_of(manager)->engine->cm, id, addr, is_v6only, is_shared);
}

static int
user_listen(struct uroce_cm_manager *manager, uint32_t id, uint32_t backlog)
{
	return uroce_cme_listen(user_of(manager)->engine->cm, id, backlog);
}

static int
user_connect(struct uroce_cm_manager *manager, uint32_t id, const struct uroce_cm_addr *remote,
	     const struct uroce_cm_av *av, const struct uroce_cm_param *param)
{
	struct cm_engine *engine = user_of(manager)->engine;
	const int ret = uroce_cme_connect(engine->cm, id, remote, av, param, engine->now_ns);

	cm_engine_pump(engine);
	return ret;
}

static int
user_accept(struct uroce_cm_manager *manager, uint32_t id, const struct uroce_cm_param *param)
{
	struct cm_engine *engine = user_of(manager)->engine;
	const int ret = uroce_cme_accept(engine->cm, id, param, engine->now_ns);

	cm_engine_pump(engine);
	return ret;
}

static int
user_reject(struct uroce_cm_manager *manager, uint32_t id, uint16_t reason,
	    const void *private_data, uint8_t private_len)
{
	struct cm_engine *engine = user_of(manager)->engine;
	const int ret =
		uroce_cme_reject(engine->cm, id, reason, private_data, private_len, engine->now_ns);

	cm_engine_pump(engine);
	return ret;
}

static int
user_establish(struct uroce_cm_manager *manager, uint32_t id, const void *private_data,
	       uint8_t private_len)
{
	struct cm_engine *engine = user_of(manager)->engine;
	const int ret =
		uroce_cme_establish(engine->cm, id, private_data, private_len, engine->now_ns);

	cm_engine_pump(engine);
	return ret;
}

static int
user_disconnect(struct uroce_cm_manager *manager, uint32_t id, const void *private_data,
		uint8_t private_len)
{
	struct cm_engine *engine = user_of(manager)->engine;
	const int ret =
		uroce_cme_disconnect(engine->cm, id, private_data, private_len, engine->now_ns);

	cm_engine_pump(engine);
	return ret;
}

static int
user_destroy(struct uroce_cm_manager *manager, uint32_t id)
{
	struct cm_engine *engine = user_of(manager)->engine;

	uroce_cme_destroy(engine->cm, id, engine->now_ns);
	cm_engine_pump(engine);
	return 0;
}

static int
user_set_user(struct uroce_cm_manager *manager, uint32_t id, uint64_t user)
{
	uroce_cme_set_user(user_of(manager)->engine->cm, id, user);
	return 0;
}

static int
user_query(struct uroce_cm_manager *manager, uint32_t id, struct uroce_cm_info *info)
{
	uroce_cme_query(user_of(manager)->engine->cm, id, info);
	return 0;
}

static int
user_next_event(struct uroce_cm_manager *manager, struct uroce_cm_event *event)
{
	const struct engine_user *at = user_of(manager);

	return uroce_cme_next_owner_event(at->engine->cm, at->owner, event);
}

static int
user_qpn_busy_ns(struct uroce_cm_manager *manager, uint32_t qpn, uint64_t *busy_ns)
{
	const struct cm_engine *engine = user_of(manager)->engine;
	const uint64_t until_ns = uroce_cme_qpn_busy_until(engine->cm, qpn);

	*busy_ns = until_ns == UROCE_CM_NEVER  ? until_ns
		   : until_ns > engine->now_ns ? until_ns - engine->now_ns
					       : 0;
	return 0;
}

static void
user_close(struct uroce_cm_manager *manager)
{
	struct engine_user *at = user_of(manager);
	struct cm_engine *engine = at->engine;

	engine->manager[at->owner] = NULL;
	uroce_cme_destroy_owned(engine->cm, at->owner, engine->now_ns);
	free(at);
	cm_engine_pump(engine);
}

static const struct uroce_cm_manager_ops user_ops = {
	user_create, user_bind,       user_listen,      user_connect, user_accept,
	user_reject, user_establish,  user_disconnect,  user_destroy, user_set_user,
	user_query,  user_next_event, user_qpn_busy_ns, user_close,
};

/* --- the host ----------------------------------------------------------------------------------- */

static int
open_user(void *arg, uid_t uid, void (*notify)(void *), void *notify_arg,
	  struct uroce_cm_manager **manager)
{
	struct cm_engine *engine = arg;
	struct engine_user *user = calloc(1, sizeof(*user));

	if (!user)
		return -ENOMEM;
	while (engine->manager[user->owner])
		user->owner++;
	user->base = (struct uroce_cm_manager){ &user_ops, notify, notify_arg };
	user->engine = engine;
	uroce_cme_set_account(engine->cm, user->owner, uid);
	engine->manager[user->owner] = *manager = &user->base;
	return 0;
}

static bool
is_our_gid(void *arg, const uint8_t gid[16])
{
	static const uint8_t ours[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1 };

	(void)arg;
	return memcmp(gid, ours, sizeof(ours)) == 0;
}

static bool
holds_qpn(void *arg, uid_t uid, uint32_t qpn, uint64_t token)
{
	const struct cm_engine *engine = arg;

	for (unsigned i = 0; i < engine->nb_leases; i++) {
		if (engine->lease[i].uid == uid && engine->lease[i].token == token &&
		    engine->lease[i].block == qpn / UROCE_MUX_BLOCK)
			return true;
	}
	return false;
}

static uint64_t
get_now(void *arg)
{
	const struct cm_engine *engine = arg;

	return engine->now_ns;
}

static void
read_stats(void *arg, struct uroce_cm_agent_stats *stats)
{
	const struct cm_engine *engine = arg;

	*stats = (struct uroce_cm_agent_stats){ .cm = *uroce_cme_stats(engine->cm) };
}

static unsigned
list_ids(void *arg, uint32_t *next, struct uroce_cm_row *rows, unsigned max)
{
	const struct cm_engine *engine = arg;

	return uroce_cme_list(engine->cm, next, rows, max, engine->now_ns);
}

struct cm_host
cm_engine_host(struct cm_engine *engine)
{
	return (struct cm_host){ engine,  open_user,  is_our_gid, holds_qpn,
				 get_now, read_stats, list_ids,   ENGINE_IDS };
}

void
cm_engine_init(struct cm_engine *engine)
{
	struct uroce_cm_conf conf = {
		.max_ids = ENGINE_IDS,
		.max_backlog = 64,
		.max_owners = CM_CLIENTS_MAX,
		.has_accounts = true,
	};

	*engine = (struct cm_engine){ .now_ns = 1000000000 };
	conf.secret[0] = 1;
	engine->mem = malloc(uroce_cme_memsize(&conf));
	engine->cm = uroce_cme_init(engine->mem, &conf);
}

void
cm_engine_fini(struct cm_engine *engine)
{
	free(engine->mem);
}
