/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The calls of verbs/cm/manager.h, each of which is made as a request to the connection manager of
 * uroced. The calls use numbers of ids that this process has chosen. remote_ids.c translates them
 * to the numbers of the connection manager. The cookie of an id stays in this process.
 *
 * The file has more than 500 lines: it has a function for each call of verbs/cm/manager.h, and the
 * helpers that these functions share.
 */

#include "verbs/cm/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "datapath/device/dev.h"
#include "datapath/log.h"
#include "datapath/port/port.h"
#include "datapath/uroced/mux_client.h"
#include "verbs/cm/remote_ids.h"
#include "verbs/cm/remote_link.h"
#include "verbs/fork.h"

/*
 * Limit of the numbers that uroced's connection manager gives to ids. A table of this process is
 * indexed by these numbers, so the limit bounds the length of the table.
 */
#define SERVER_IDS_MAX (1u << 24)

struct uroce_cm_remote {
	struct uroce_cm_manager base;
	struct uroce_dev *dev;
	struct uroce_remote_link link;
	/* `link.lock` guards the fields from `ids` to `has_news`. */
	struct uroce_remote_ids ids;
	/* true from a call of notify() until next_event() returns 0 */
	bool is_notified;
	/*
	 * uroced's connection manager may have events that came after the last request NEXT_EVENT
	 */
	bool has_news;
};

static struct uroce_cm_remote *
remote_of(struct uroce_cm_manager *manager)
{
	return (struct uroce_cm_remote *)manager;
}

/*
 * Whether this process is a child of fork(). The child must not use `link.lock`, nor the data that
 * this lock guards: a thread of the parent may have held the lock at the time of the fork.
 */
static bool
is_in_child(const struct uroce_cm_remote *remote)
{
	return remote->link.is_child || uroce_is_fork_child();
}

static void
lock_remote(struct uroce_cm_remote *remote)
{
	pthread_mutex_lock(&remote->link.lock);
}

static void
unlock_remote(struct uroce_cm_remote *remote)
{
	pthread_mutex_unlock(&remote->link.lock);
}

/* --- requests to the connection manager --------------------------------------------------------- */

/*
 * Make a request to uroced's connection manager about an id that is not lost. The call first waits
 * for a connection to it, because without a connection the id has no number at the connection
 * manager.
 */
static int
make_request(struct uroce_cm_remote *remote, uint32_t local, struct uroce_mux_cm_request *request,
	     struct uroce_mux_cm_reply *reply)
{
	struct uroce_remote_id *id = uroce_remote_ids_get(&remote->ids, local);
	int ret;

	if (!id)
		return -EINVAL;
	if (id->phase == UROCE_REMOTE_LOST)
		return -EIO;
	ret = uroce_remote_link_await(&remote->link);
	/*
	 * `link.lock` was released during the wait, so the table of ids may have moved, and the id
	 * may have been lost
	 */
	id = uroce_remote_ids_get(&remote->ids, local);
	if (ret < 0 || !id || id->phase == UROCE_REMOTE_LOST)
		return -EIO;
	request->id = id->server_id;
	return uroce_remote_link_call(&remote->link, request, reply);
}

/*
 * Make a request to uroced's connection manager about an id.
 * @param phase  phase (enum uroce_remote_phase) that the id gets if the request succeeds;
 *         UROCE_REMOTE_FREE: the phase stays
 */
static int
request_of_id(struct uroce_cm_remote *remote, uint32_t local, struct uroce_mux_cm_request *request,
	      enum uroce_remote_phase phase)
{
	struct uroce_remote_id *id;
	int ret;

	if (is_in_child(remote))
		return -EIO;
	lock_remote(remote);
	ret = make_request(remote, local, request, NULL);
	id = uroce_remote_ids_get(&remote->ids, local);
	if (ret == 0 && id && id->phase != UROCE_REMOTE_LOST && phase != UROCE_REMOTE_FREE)
		id->phase = (uint8_t)phase;
	unlock_remote(remote);
	return ret;
}

static uint64_t
token_of(const struct uroce_cm_remote *remote, uint32_t qpn)
{
	const struct uroce_port *port = remote->dev->port;

	/* an announced device that is not started has no port, and so no QP */
	return port && port->mux_client ? uroce_mux_client_token(port->mux_client, qpn) : 0;
}

/* --- creation of ids ---------------------------------------------------------------------------- */

static int
remote_create(struct uroce_cm_manager *manager, uint16_t space, bool is_datagram, uint64_t user,
	      uint32_t *id)
{
	struct uroce_cm_remote *remote = remote_of(manager);
	struct uroce_mux_cm_request request = {
		.type = UROCE_MUX_CM_CREATE,
		.create = { .space = space, .is_datagram = is_datagram },
	};
	struct uroce_mux_cm_reply reply;
	int ret;

	if (is_in_child(remote))
		return -EIO;
	lock_remote(remote);
	ret = uroce_remote_link_call(&remote->link, &request, &reply);
	if (ret == 0) {
		*id = reply.id < SERVER_IDS_MAX ? uroce_remote_ids_add(&remote->ids, reply.id)
						: UROCE_CM_NO_ID;
		if (*id == UROCE_CM_NO_ID)
			ret = -ENOMEM;
	}
	if (ret == 0) {
		struct uroce_remote_id *new = uroce_remote_ids_get(&remote->ids, *id);

		new->space = space;
		new->is_datagram = is_datagram;
		new->user = user;
	}
	unlock_remote(remote);
	return ret;
}

static void
fill_bind(struct uroce_mux_cm_request *request, const struct uroce_cm_addr *addr, bool is_v6only,
	  bool is_shared)
{
	*request = (struct uroce_mux_cm_request){
		.type = UROCE_MUX_CM_BIND,
		.bind = { .is_v6only = is_v6only, .is_shared = is_shared },
	};
	uroce_mux_cm_put_addr(&request->bind.addr, addr);
}

/*
 * Store the address to which an id is bound. If the connection manager has chosen the port, a query
 * gets the port. The address is stored before the query: if the connection manager is started again
 * during the query, the id is bound again to the stored address.
 */
static void
note_binding(struct uroce_cm_remote *remote, uint32_t local, const struct uroce_cm_addr *addr,
	     bool is_v6only, bool is_shared)
{
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_QUERY };
	struct uroce_remote_id *id = uroce_remote_ids_get(&remote->ids, local);
	struct uroce_mux_cm_reply reply;

	if (!id)
		return;
	id->is_bound = true;
	id->is_v6only = is_v6only;
	id->is_shared = is_shared;
	id->addr = *addr;
	if (addr->port != 0 || make_request(remote, local, &request, &reply) < 0)
		return;
	id = uroce_remote_ids_get(&remote->ids, local);
	if (id)
		id->addr.port = reply.info.local.port;
}

static int
remote_bind(struct uroce_cm_manager *manager, uint32_t id, const struct uroce_cm_addr *addr,
	    bool is_v6only, bool is_shared)
{
	struct uroce_cm_remote *remote = remote_of(manager);
	struct uroce_mux_cm_request request;
	int ret;

	fill_bind(&request, addr, is_v6only, is_shared);
	if (is_in_child(remote))
		return -EIO;
	lock_remote(remote);
	ret = make_request(remote, id, &request, NULL);
	if (ret == 0)
		note_binding(remote, id, addr, is_v6only, is_shared);
	unlock_remote(remote);
	return ret;
}

static int
remote_listen(struct uroce_cm_manager *manager, uint32_t id, uint32_t backlog)
{
	struct uroce_cm_remote *remote = remote_of(manager);
	struct uroce_mux_cm_request request = {
		.type = UROCE_MUX_CM_LISTEN,
		.listen = { .backlog = backlog },
	};
	struct uroce_remote_id *listener;
	int ret;

	if (is_in_child(remote))
		return -EIO;
	lock_remote(remote);
	ret = make_request(remote, id, &request, NULL);
	listener = uroce_remote_ids_get(&remote->ids, id);
	if (ret == 0 && listener && listener->phase != UROCE_REMOTE_LOST) {
		listener->phase = UROCE_REMOTE_LISTEN;
		listener->backlog = backlog;
	}
	unlock_remote(remote);
	return ret;
}

static int
remote_destroy(struct uroce_cm_manager *manager, uint32_t id)
{
	struct uroce_cm_remote *remote = remote_of(manager);
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_DESTROY };
	int ret = -EINVAL;

	if (is_in_child(remote))
		return -EIO;
	lock_remote(remote);
	if (uroce_remote_ids_get(&remote->ids, id)) {
		/*
		 * Without a connection to the connection manager, the id exists in this process
		 * alone. So the call does not wait for a connection.
		 */
		if (remote->link.is_ready)
			(void)make_request(remote, id, &request, NULL);
		uroce_remote_ids_remove(&remote->ids, id);
		ret = 0;
	}
	unlock_remote(remote);
	return ret;
}

static int
remote_set_user(struct uroce_cm_manager *manager, uint32_t id, uint64_t user)
{
	struct uroce_cm_remote *remote = remote_of(manager);
	struct uroce_remote_id *at;

	if (is_in_child(remote))
		return -EIO;
	lock_remote(remote);
	at = uroce_remote_ids_get(&remote->ids, id);
	if (at)
		at->user = user;
	unlock_remote(remote);
	return at ? 0 : -EINVAL;
}

/* --- connections of ids ------------------------------------------------------------------------- */

static int
remote_connect(struct uroce_cm_manager *manager, uint32_t id,
	       const struct uroce_cm_addr *remote_addr, const struct uroce_cm_av *av,
	       const struct uroce_cm_param *param)
{
	struct uroce_cm_remote *remote = remote_of(manager);
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_CONNECT };

	uroce_mux_cm_put_addr(&request.connect.remote, remote_addr);
	uroce_mux_cm_put_av(&request.connect.av, av);
	if (uroce_mux_cm_put_param(&request.connect.param, &request.connect.private_data, param) <
	    0)
		return -EINVAL;
	request.connect.param.token = token_of(remote, param->qpn);
	return request_of_id(remote, id, &request, UROCE_REMOTE_PENDING);
}

static int
remote_accept(struct uroce_cm_manager *manager, uint32_t id, const struct uroce_cm_param *param)
{
	struct uroce_cm_remote *remote = remote_of(manager);
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_ACCEPT };

	if (uroce_mux_cm_put_param(&request.accept.param, &request.accept.private_data, param) < 0)
		return -EINVAL;
	request.accept.param.token = token_of(remote, param->qpn);
	return request_of_id(remote, id, &request, UROCE_REMOTE_FREE);
}

static int
remote_reject(struct uroce_cm_manager *manager, uint32_t id, uint16_t reason,
	      const void *private_data, uint8_t private_len)
{
	struct uroce_mux_cm_request request = {
		.type = UROCE_MUX_CM_REJECT,
		.reject = { .reason = reason },
	};

	if (uroce_mux_cm_put_private(&request.reject.private_data, private_data, private_len) < 0)
		return -EINVAL;
	return request_of_id(remote_of(manager), id, &request, UROCE_REMOTE_ENDED);
}

static int
remote_establish(struct uroce_cm_manager *manager, uint32_t id, const void *private_data,
		 uint8_t private_len)
{
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_ESTABLISH };

	if (uroce_mux_cm_put_private(&request.establish.private_data, private_data, private_len) <
	    0)
		return -EINVAL;
	return request_of_id(remote_of(manager), id, &request, UROCE_REMOTE_ESTABLISHED);
}

static int
remote_disconnect(struct uroce_cm_manager *manager, uint32_t id, const void *private_data,
		  uint8_t private_len)
{
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_DISCONNECT };

	if (uroce_mux_cm_put_private(&request.disconnect.private_data, private_data, private_len) <
	    0)
		return -EINVAL;
	return request_of_id(remote_of(manager), id, &request, UROCE_REMOTE_FREE);
}

/* --- queries and events ------------------------------------------------------------------------- */

static int
remote_query(struct uroce_cm_manager *manager, uint32_t id, struct uroce_cm_info *info)
{
	struct uroce_cm_remote *remote = remote_of(manager);
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_QUERY };
	const struct uroce_remote_id *at;
	struct uroce_mux_cm_reply reply;
	int ret;

	if (is_in_child(remote))
		return -EIO;
	lock_remote(remote);
	ret = make_request(remote, id, &request, &reply);
	at = uroce_remote_ids_get(&remote->ids, id);
	if (ret == 0) {
		*info = reply.info;
		info->user = at ? at->user : 0;
	}
	unlock_remote(remote);
	return ret;
}

/* Add the new id of a CONNECT_REQUEST. @return UROCE_CM_NO_ID: there is no memory */
static uint32_t
add_requested(struct uroce_cm_remote *remote, uint32_t listener, uint32_t server_id)
{
	const struct uroce_remote_id *from = uroce_remote_ids_get(&remote->ids, listener);
	struct uroce_remote_id *id;
	uint32_t local;

	if (!from || server_id >= SERVER_IDS_MAX)
		return UROCE_CM_NO_ID;
	local = uroce_remote_ids_add(&remote->ids, server_id);
	id = uroce_remote_ids_get(&remote->ids, local);
	/*
	 * uroce_remote_ids_add() may have moved the table of ids, so the listener is looked up
	 * again
	 */
	from = uroce_remote_ids_get(&remote->ids, listener);
	if (!id)
		return UROCE_CM_NO_ID;
	id->space = from->space;
	id->is_datagram = from->is_datagram;
	id->user = from->user;
	return local;
}

/*
 * Replace the connection manager's numbers of ids in an event by the numbers of this process.
 * @return false: the event belongs to no id of this process, and is dropped
 */
static bool
translate_event(struct uroce_cm_remote *remote, struct uroce_cm_event *event)
{
	struct uroce_mux_cm_request destroy = { .type = UROCE_MUX_CM_DESTROY, .id = event->id };
	struct uroce_remote_id *id;
	uint32_t local;

	if (event->kind == UROCE_CM_EVENT_CONNECT_REQUEST) {
		event->listener = uroce_remote_ids_find(&remote->ids, event->listener);
		local = add_requested(remote, event->listener, event->id);
	} else {
		local = uroce_remote_ids_find(&remote->ids, event->id);
	}
	id = uroce_remote_ids_get(&remote->ids, local);
	if (!id) {
		(void)uroce_remote_link_call(&remote->link, &destroy, NULL);
		return false;
	}
	event->id = local;
	event->user = id->user;
	uroce_remote_ids_on_event(id, event->kind);
	return true;
}

/*
 * Request an event from uroced's connection manager.
 * @return 1: an event was taken; 0: there is no event; -EIO
 */
static int
request_event(struct uroce_cm_remote *remote, struct uroce_cm_event *event)
{
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_NEXT_EVENT };
	struct uroce_mux_cm_reply reply;
	int ret;

	do {
		ret = uroce_remote_link_call(&remote->link, &request, &reply);
		if (ret == 1)
			*event = reply.event;
	} while (ret == 1 && !translate_event(remote, event));
	return ret;
}

/*
 * Take the oldest event. The caller holds `link.lock`, which is released during a request. A
 * request fails if the connection to uroced's connection manager ends meanwhile. This is no error
 * of the call, because the ids that were lost have events in this process: the next pass of the
 * loop in this function takes these events, or the user takes them after the next notification.
 */
static bool
take_event_of(struct uroce_cm_remote *remote, struct uroce_cm_event *event)
{
	do {
		if (uroce_remote_ids_take_lost(&remote->ids, event))
			return true;
		remote->has_news = false;
		if (remote->link.is_ready && request_event(remote, event) == 1)
			return true;
	} while (remote->has_news);
	remote->is_notified = false;
	return false;
}

static int
remote_next_event(struct uroce_cm_manager *manager, struct uroce_cm_event *event)
{
	struct uroce_cm_remote *remote = remote_of(manager);
	bool has_event;

	if (is_in_child(remote))
		return -EIO;
	lock_remote(remote);
	has_event = take_event_of(remote, event);
	unlock_remote(remote);
	return has_event;
}

static int
remote_qpn_busy_ns(struct uroce_cm_manager *manager, uint32_t qpn, uint64_t *busy_ns)
{
	struct uroce_cm_remote *remote = remote_of(manager);
	struct uroce_mux_cm_request request = {
		.type = UROCE_MUX_CM_QPN_BUSY,
		.qpn_busy = { .qpn = qpn, .token = token_of(remote, qpn) },
	};
	struct uroce_mux_cm_reply reply;
	int ret;

	if (is_in_child(remote))
		return -EIO;
	lock_remote(remote);
	ret = uroce_remote_link_call(&remote->link, &request, &reply);
	if (ret == 0)
		*busy_ns = reply.busy_ns;
	unlock_remote(remote);
	return ret;
}

static void
remote_close(struct uroce_cm_manager *manager)
{
	struct uroce_cm_remote *remote = remote_of(manager);

	/*
	 * In a child of fork() the table of ids is not freed, because a thread of the parent may
	 * have been changing the table at the time of the fork.
	 */
	const bool has_tables = !is_in_child(remote);

	uroce_remote_link_close(&remote->link);
	if (has_tables)
		uroce_remote_ids_fini(&remote->ids);
	free(remote);
}

static const struct uroce_cm_manager_ops remote_ops = {
	.create = remote_create,
	.bind = remote_bind,
	.listen = remote_listen,
	.connect = remote_connect,
	.accept = remote_accept,
	.reject = remote_reject,
	.establish = remote_establish,
	.disconnect = remote_disconnect,
	.destroy = remote_destroy,
	.set_user = remote_set_user,
	.query = remote_query,
	.next_event = remote_next_event,
	.qpn_busy_ns = remote_qpn_busy_ns,
	.close = remote_close,
};

/* --- a connection manager that is started again ------------------------------------------------- */

static void
on_lost(void *arg)
{
	struct uroce_cm_remote *remote = arg;

	uroce_remote_ids_lose(&remote->ids);
}

static int
create_again(struct uroce_cm_remote *remote, uint32_t local)
{
	const struct uroce_remote_id *id = &remote->ids.id[local];
	struct uroce_mux_cm_request request = {
		.type = UROCE_MUX_CM_CREATE,
		.create = { .space = id->space, .is_datagram = id->is_datagram },
	};
	struct uroce_mux_cm_reply reply;
	int ret = uroce_remote_link_exchange(&remote->link, &request, &reply);

	if (ret < 0)
		return ret;
	return reply.id < SERVER_IDS_MAX ? uroce_remote_ids_rename(&remote->ids, local, reply.id)
					 : -EPROTO;
}

static int
bind_again(struct uroce_cm_remote *remote, uint32_t local)
{
	const struct uroce_remote_id *id = &remote->ids.id[local];
	struct uroce_mux_cm_request request;
	int ret;

	if (!id->is_bound)
		return 0;
	fill_bind(&request, &id->addr, id->is_v6only, id->is_shared);
	request.id = id->server_id;
	ret = uroce_remote_link_exchange(&remote->link, &request, NULL);
	if (ret < 0 || id->phase != UROCE_REMOTE_LISTEN)
		return ret;
	request = (struct uroce_mux_cm_request){
		.type = UROCE_MUX_CM_LISTEN,
		.id = id->server_id,
		.listen = { .backlog = id->backlog },
	};
	return uroce_remote_link_exchange(&remote->link, &request, NULL);
}

static void
on_connected(void *arg)
{
	struct uroce_cm_remote *remote = arg;

	for (uint32_t local = 0; local < remote->ids.nb; local++) {
		const uint8_t phase = remote->ids.id[local].phase;
		int ret;

		if (phase != UROCE_REMOTE_LOCAL && phase != UROCE_REMOTE_LISTEN)
			continue;
		ret = create_again(remote, local);
		if (ret == 0)
			ret = bind_again(remote, local);
		if (ret == 0)
			continue;
		UROCE_LOG(ERR, dev,
			  "%s: the id of port %u is lost, because it cannot be made, bound or "
			  "listen again: %s",
			  remote->link.path, remote->ids.id[local].addr.port, strerror(-ret));
		uroce_remote_ids_lose_one(&remote->ids, local, UROCE_CM_EVENT_NB);
	}
}

static void
on_notify(void *arg)
{
	struct uroce_cm_remote *remote = arg;
	bool is_due;

	lock_remote(remote);
	remote->has_news = true;
	is_due = !remote->is_notified;
	remote->is_notified = true;
	unlock_remote(remote);
	if (is_due)
		remote->base.notify(remote->base.arg);
}

static const struct uroce_remote_link_ops link_ops = { on_lost, on_connected, on_notify };

int
uroce_cm_remote_open(struct uroce_dev *dev, void (*notify)(void *arg), void *arg,
		     struct uroce_cm_manager **manager)
{
	struct uroce_cm_remote *remote = calloc(1, sizeof(*remote));
	int ret;

	if (!remote)
		return -ENOMEM;
	remote->base = (struct uroce_cm_manager){ &remote_ops, notify, arg };
	remote->dev = dev;
	ret = uroce_remote_link_open(&remote->link, dev->conf.socket, &link_ops, remote);
	if (ret < 0) {
		free(remote);
		return ret;
	}
	*manager = &remote->base;
	return 0;
}
