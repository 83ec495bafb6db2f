/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The requests of clients of the connection manager. A table has the function for each type of
 * request. A client may name only ids that it owns, addresses of this host, and QP numbers whose
 * lease it can prove. All other values of a request were checked when it was received
 * (mux/cm_message.c), or are checked by the CM engine.
 */

#include <errno.h>
#include <string.h>

#include "cm/timeout.h"
#include "cm_server.h"

/* The lowest TCP or UDP port that a user other than root may use, as with sockets of the kernel. */
#define PORT_UNPRIVILEGED 1024u

/*
 * Maximum number of events CONNECT_REQUEST that one request NEXT_EVENT drops because their listener
 * is gone. This maximum bounds the time that a NEXT_EVENT takes.
 */
#define SKIPS_MAX 16u

static struct cm_ids *
ids_of(const struct cm_client *client)
{
	return &client->server->ids;
}

static void
own_id(struct cm_client *client, uint32_t id, bool is_datagram)
{
	cm_ids_own(ids_of(client), id, client->slot, is_datagram);
	client->nb_ids++;
}

/* --- addresses and QP numbers -------------------------------------------------------------------- */

static bool
is_loopback(const struct uroce_cm_addr *addr)
{
	static const uint8_t one[16] = { [15] = 1 };

	return addr->ip_version == 4 ? addr->ip[12] == 127 : memcmp(addr->ip, one, 16) == 0;
}

/* Check whether an address is an address of this host, a loopback address, or the wildcard. */
static bool
is_our_addr(const struct cm_client *client, const struct uroce_cm_addr *addr)
{
	static const uint8_t wildcard[16];
	const struct cm_host *host = &client->server->host;
	uint8_t gid[16];

	if (memcmp(addr->ip, wildcard, sizeof(wildcard)) == 0 || is_loopback(addr))
		return true;
	memcpy(gid, addr->ip, sizeof(gid));
	if (addr->ip_version == 4)
		gid[10] = gid[11] = 0xff;
	return host->is_our_gid(host->arg, gid);
}

/*
 * Check whether a client may name a QP number: it can prove the lease of the number. A datagram id
 * that resolves a service has no QP number.
 */
static bool
holds_qpn(const struct cm_client *client, uint32_t qpn, uint64_t token)
{
	const struct cm_host *host = &client->server->host;

	return host->holds_qpn(host->arg, client->uid, qpn, token);
}

static bool
may_name(const struct cm_client *client, uint32_t id, const struct uroce_mux_cm_param *param)
{
	if (param->qpn == 0 && cm_ids_is_datagram(ids_of(client), id))
		return true;
	return holds_qpn(client, param->qpn, param->token);
}

/* --- calls --------------------------------------------------------------------------------------- */

static int
call_create(struct cm_client *client, const struct uroce_mux_cm_request *request,
	    struct uroce_mux_cm_reply *reply)
{
	struct uroce_cm_manager *manager = client->manager;
	const bool is_datagram = request->create.is_datagram;
	int ret;

	ret = manager->ops->create(manager, request->create.space, is_datagram,
				   request->create.user, &reply->id);
	if (ret < 0)
		return ret;
	if (!cm_ids_is_free(ids_of(client), reply->id)) {
		(void)manager->ops->destroy(manager, reply->id);
		return -EIO;
	}
	own_id(client, reply->id, is_datagram);
	ids_of(client)->id[reply->id].space = request->create.space;
	return 0;
}

/* Get the record of an id's address and port, for cm_ports_record(). */
static struct cm_port
port_of(const struct cm_client *client, uint32_t id, const struct uroce_mux_cm_addr *addr,
	bool is_v6only)
{
	const struct cm_id *at = &client->server->ids.id[id];

	return (struct cm_port){ client->uid, at->space, at->is_datagram, is_v6only, *addr };
}

/*
 * Bind an id to a port that the keeper may have for the user of the client, at an address that
 * overlaps. The keeper (cm_ports.h) keeps the ports of listeners of the previous connection manager
 * for their users. The keeper's ids that have the port for this user are destroyed.
 */
static int
bind_among_kept(struct cm_client *client, const struct uroce_mux_cm_request *request,
		const struct uroce_cm_addr *addr, const struct cm_port *port)
{
	struct cm_ports *ports = &client->server->ports;
	uint32_t kept;
	int ret;

	do {
		ret = client->manager->ops->bind(client->manager, request->id, addr,
						 request->bind.is_v6only, request->bind.is_shared);
		if (ret != -EADDRINUSE)
			return ret;
		kept = cm_ports_yield(ports, port, true);
		cm_ports_drop(ports, kept);
	} while (kept != UROCE_CM_NO_ID);
	return ret;
}

/*
 * Bind an id to an address and a port. If the user had this address and port when the previous
 * connection manager ended, the keeper (cm_ports.h) has them for the user, and their record passes
 * to the id.
 */
static int
bind_id(struct cm_client *client, const struct uroce_mux_cm_request *request,
	const struct uroce_cm_addr *addr)
{
	struct cm_ports *ports = &client->server->ports;
	const bool is_v6only = request->bind.is_v6only;
	const struct cm_port port = port_of(client, request->id, &request->bind.addr, is_v6only);
	const uint32_t kept = cm_ports_yield(ports, &port, false);
	const int ret = bind_among_kept(client, request, addr, &port);

	if (ret == 0 && kept != UROCE_CM_NO_ID)
		cm_ports_record(ports, request->id, &port);
	cm_ports_drop(ports, kept);
	if (ret == 0)
		ids_of(client)->id[request->id].is_v6only = is_v6only;
	return ret;
}

static int
call_bind(struct cm_client *client, const struct uroce_mux_cm_request *request,
	  struct uroce_mux_cm_reply *reply)
{
	struct uroce_cm_addr addr;

	(void)reply;
	uroce_mux_cm_get_addr(&addr, &request->bind.addr);
	if (!is_our_addr(client, &addr))
		return -EADDRNOTAVAIL;
	if (addr.port > 0 && addr.port < PORT_UNPRIVILEGED && client->uid != 0)
		return -EACCES;
	return bind_id(client, request, &addr);
}

/*
 * Record the port of a listener, so that the port outlives the connection manager. The CM engine
 * may have chosen the port.
 */
static void
record_listener(struct cm_client *client, uint32_t id)
{
	struct uroce_mux_cm_addr addr;
	struct uroce_cm_info info;
	struct cm_port port;

	if (client->manager->ops->query(client->manager, id, &info) < 0)
		return;
	uroce_mux_cm_put_addr(&addr, &info.local);
	port = port_of(client, id, &addr, ids_of(client)->id[id].is_v6only);
	cm_ports_record(&client->server->ports, id, &port);
}

static int
call_listen(struct cm_client *client, const struct uroce_mux_cm_request *request,
	    struct uroce_mux_cm_reply *reply)
{
	const int ret =
		client->manager->ops->listen(client->manager, request->id, request->listen.backlog);

	(void)reply;
	if (ret == 0)
		record_listener(client, request->id);
	return ret;
}

/*
 * Limit the ACK timeout of a connection to UROCE_CM_PEER_TIMEOUT_CODE_MAX, as for a timeout that a
 * peer has chosen. An id stays in TIMEWAIT for a time that depends on the ACK timeout, even if its
 * client has ended.
 */
static void
limit_ack_timeout(struct uroce_cm_param *param)
{
	if (param->ack_timeout_code > UROCE_CM_PEER_TIMEOUT_CODE_MAX)
		param->ack_timeout_code = UROCE_CM_PEER_TIMEOUT_CODE_MAX;
}

static int
call_connect(struct cm_client *client, const struct uroce_mux_cm_request *request,
	     struct uroce_mux_cm_reply *reply)
{
	const struct cm_host *host = &client->server->host;
	struct uroce_cm_param param;
	struct uroce_cm_addr remote;
	struct uroce_cm_av av;

	(void)reply;
	if (!host->is_our_gid(host->arg, request->connect.av.local_gid))
		return -EADDRNOTAVAIL;
	if (!may_name(client, request->id, &request->connect.param))
		return -EPERM;
	uroce_mux_cm_get_addr(&remote, &request->connect.remote);
	uroce_mux_cm_get_av(&av, &request->connect.av);
	uroce_mux_cm_get_param(&param, &request->connect.param, &request->connect.private_data);
	limit_ack_timeout(&param);
	return client->manager->ops->connect(client->manager, request->id, &remote, &av, &param);
}

static int
call_accept(struct cm_client *client, const struct uroce_mux_cm_request *request,
	    struct uroce_mux_cm_reply *reply)
{
	struct uroce_cm_param param;

	(void)reply;
	if (!may_name(client, request->id, &request->accept.param))
		return -EPERM;
	uroce_mux_cm_get_param(&param, &request->accept.param, &request->accept.private_data);
	return client->manager->ops->accept(client->manager, request->id, &param);
}

static int
call_reject(struct cm_client *client, const struct uroce_mux_cm_request *request,
	    struct uroce_mux_cm_reply *reply)
{
	(void)reply;
	return client->manager->ops->reject(client->manager, request->id, request->reject.reason,
					    request->reject.private_data.bytes,
					    request->reject.private_data.len);
}

static int
call_establish(struct cm_client *client, const struct uroce_mux_cm_request *request,
	       struct uroce_mux_cm_reply *reply)
{
	(void)reply;
	return client->manager->ops->establish(client->manager, request->id,
					       request->establish.private_data.bytes,
					       request->establish.private_data.len);
}

static int
call_disconnect(struct cm_client *client, const struct uroce_mux_cm_request *request,
		struct uroce_mux_cm_reply *reply)
{
	(void)reply;
	return client->manager->ops->disconnect(client->manager, request->id,
						request->disconnect.private_data.bytes,
						request->disconnect.private_data.len);
}

static int
call_destroy(struct cm_client *client, const struct uroce_mux_cm_request *request,
	     struct uroce_mux_cm_reply *reply)
{
	(void)reply;
	cm_ports_drop(&client->server->ports, request->id);
	cm_ids_disown(ids_of(client), request->id);
	client->nb_ids--;
	return client->manager->ops->destroy(client->manager, request->id);
}

static int
call_set_user(struct cm_client *client, const struct uroce_mux_cm_request *request,
	      struct uroce_mux_cm_reply *reply)
{
	(void)reply;
	return client->manager->ops->set_user(client->manager, request->id, request->set_user.user);
}

static int
call_query(struct cm_client *client, const struct uroce_mux_cm_request *request,
	   struct uroce_mux_cm_reply *reply)
{
	return client->manager->ops->query(client->manager, request->id, &reply->info);
}

/*
 * Note that a client of the connection manager has events, and wake the server. A thread of the
 * client's uroce_cm_manager calls this function.
 */
static void
note_events(void *arg)
{
	struct cm_client *client = arg;

	if (!atomic_exchange(&client->has_events, true))
		cm_server_wake(client->server);
}

/*
 * Make the client the owner of the new id of an event CONNECT_REQUEST. If the client does not own
 * the listener any more, the connection request is rejected.
 * @return whether the client gets the event
 */
static bool
take_request(struct cm_client *client, const struct uroce_cm_event *event)
{
	const struct cm_ids *ids = ids_of(client);

	if (!cm_ids_is_of(ids, event->listener, client->slot) || !cm_ids_is_free(ids, event->id)) {
		(void)client->manager->ops->destroy(client->manager, event->id);
		return false;
	}
	own_id(client, event->id, cm_ids_is_datagram(ids, event->listener));
	return true;
}

static int
call_next_event(struct cm_client *client, const struct uroce_mux_cm_request *request,
		struct uroce_mux_cm_reply *reply)
{
	struct uroce_cm_event *event = &reply->event;
	int ret = 0;

	(void)request;
	for (unsigned i = 0; i < SKIPS_MAX; i++) {
		ret = client->manager->ops->next_event(client->manager, event);
		if (ret != 1 || event->kind != UROCE_CM_EVENT_CONNECT_REQUEST ||
		    take_request(client, event))
			return ret;
	}
	/*
	 * SKIPS_MAX events CONNECT_REQUEST were dropped, and further events may wait. So the client
	 * gets another notice of events, and sends another NEXT_EVENT.
	 */
	note_events(client);
	return 0;
}

static int
call_qpn_busy(struct cm_client *client, const struct uroce_mux_cm_request *request,
	      struct uroce_mux_cm_reply *reply)
{
	if (!holds_qpn(client, request->qpn_busy.qpn, request->qpn_busy.token))
		return -EPERM;
	return client->manager->ops->qpn_busy_ns(client->manager, request->qpn_busy.qpn,
						 &reply->busy_ns);
}

static const struct call {
	bool has_id; /* the request names an id, which the client that sent it must own */
	int (*make)(struct cm_client *client, const struct uroce_mux_cm_request *request,
		    struct uroce_mux_cm_reply *reply);
} calls[UROCE_MUX_CM_NB_REQUESTS] = {
	[UROCE_MUX_CM_CREATE] = { false, call_create },
	[UROCE_MUX_CM_BIND] = { true, call_bind },
	[UROCE_MUX_CM_LISTEN] = { true, call_listen },
	[UROCE_MUX_CM_CONNECT] = { true, call_connect },
	[UROCE_MUX_CM_ACCEPT] = { true, call_accept },
	[UROCE_MUX_CM_REJECT] = { true, call_reject },
	[UROCE_MUX_CM_ESTABLISH] = { true, call_establish },
	[UROCE_MUX_CM_DISCONNECT] = { true, call_disconnect },
	[UROCE_MUX_CM_DESTROY] = { true, call_destroy },
	[UROCE_MUX_CM_SET_USER] = { true, call_set_user },
	[UROCE_MUX_CM_QUERY] = { true, call_query },
	[UROCE_MUX_CM_NEXT_EVENT] = { false, call_next_event },
	[UROCE_MUX_CM_QPN_BUSY] = { false, call_qpn_busy },
};

/*
 * Begin to serve a client of the connection manager.
 * @return NULL, or the reason why the client is refused
 */
static const char *
greet(struct cm_client *client, const struct uroce_mux_cm_request *request,
      struct uroce_mux_cm_reply *reply)
{
	const struct cm_host *host = &client->server->host;

	if (client->manager)
		return "a second HELLO: allowed is one for each connection";
	if (request->hello.version != UROCE_MUX_CM_VERSION)
		return "HELLO of another version";
	reply->ret = host->open(host->arg, client->uid, note_events, client, &client->manager);
	return NULL;
}

const char *
cm_calls_make(struct cm_client *client, const struct uroce_mux_cm_request *request,
	      struct uroce_mux_cm_reply *reply)
{
	const struct call *call = &calls[request->type];

	memset(reply, 0, sizeof(*reply));
	reply->type = request->type;
	reply->number = request->number;
	if (request->type == UROCE_MUX_CM_HELLO)
		return greet(client, request, reply);
	if (!client->manager)
		return "a request before HELLO";
	if (call->has_id && !cm_ids_is_of(ids_of(client), request->id, client->slot))
		reply->ret = -EINVAL;
	else
		reply->ret = call->make(client, request, reply);
	return NULL;
}
