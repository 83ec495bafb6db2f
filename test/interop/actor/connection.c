/* SPDX-License-Identifier: BSD-3-Clause */

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>

#include "connection.h"
#include "end.h"

#define WAIT_MS_MAX 3600000

struct connection {
	struct rdma_cm_id *id; /* the id with the number of this entry; NULL: there is no such id */
	/* the end that has the QP of the id; NULL: no QP was created for the id */
	struct end *end;
	/*
	 * The QP was created by verbs and is modified by cm-modify; librdmacm only knows its
	 * number.
	 */
	bool is_own_qp;
};

static struct connection connections[ENDS_MAX];
static struct rdma_event_channel *channel;
static struct sockaddr_storage local; /* address of the latest cm-open */
/* an id that is bound to `local`, so that librdmacm finds the device */
static struct rdma_cm_id *anchor;

static const struct word_bit spaces[] = {
	{ "TCP", RDMA_PS_TCP }, { "UDP", RDMA_PS_UDP }, { "IB", RDMA_PS_IB }, { NULL, 0 }
};

static uint64_t
connection_number(const struct words *words, const char *key)
{
	return words_number(words, key, 0, ENDS_MAX - 1);
}

static struct connection *
new_place(const struct words *words, const char *key)
{
	struct connection *at = &connections[connection_number(words, key)];

	if (at->id)
		fail("%s=%td: it is there already", key, at - connections);
	return at;
}

static struct connection *
connection_of(const struct words *words)
{
	struct connection *at = &connections[connection_number(words, "id")];

	if (!at->id)
		fail("id=%td: there is no such id", at - connections);
	return at;
}

/* Print the response for a call of librdmacm, which has returned 0, or -1 and set errno. */
static void
respond(int rc, const char *call)
{
	if (rc)
		fail("%s: %s", call, strerror(errno));
	printf("{}\n");
}

static struct sockaddr_storage
address_of(const struct words *words, const char *key, uint16_t port)
{
	const char *text = words_text(words, key);
	struct sockaddr_storage storage = { 0 };
	struct sockaddr_in *four = (struct sockaddr_in *)&storage;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&storage;

	if (text && inet_pton(AF_INET6, text, &six->sin6_addr) == 1) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons(port);
		return storage;
	}
	memset(&storage, 0, sizeof(storage));
	if (!text || inet_pton(AF_INET, text, &four->sin_addr) != 1)
		fail("%s: no IPv4 or IPv6 address", text ? text : key);
	four->sin_family = AF_INET;
	four->sin_port = htons(port);
	return storage;
}

static uint16_t
port_of(const struct words *words)
{
	return (uint16_t)words_number(words, "port", 0, UINT16_MAX);
}

/* ------------------------------------------------------------------------- creating and resolving ids */

/*
 * The operation cm-open sets the address of all further ids, and opens the device that has this
 * address. An id is bound to the address, because librdmacm finds the device of a bound id.
 * Arguments: address=
 */
void
op_cm_open(const struct words *words)
{
	local = address_of(words, "address", 0);
	if (!channel)
		channel = rdma_create_event_channel();
	if (!channel)
		fail("rdma_create_event_channel: %s", strerror(errno));
	if (!anchor && rdma_create_id(channel, &anchor, NULL, RDMA_PS_TCP))
		fail("rdma_create_id: %s", strerror(errno));
	if (!anchor->verbs && rdma_bind_addr(anchor, (struct sockaddr *)&local))
		fail("rdma_bind_addr: %s", strerror(errno));
	device_borrow(anchor->verbs);
	op_open(words);
}

/* The operation cm-id creates an id. Arguments: id= ps=TCP|UDP|IB */
void
op_cm_id(const struct words *words)
{
	struct connection *at = new_place(words, "id");
	enum rdma_port_space ps = (enum rdma_port_space)words_one(words, "ps", RDMA_PS_TCP, spaces);

	respond(rdma_create_id(channel, &at->id, at, ps), "rdma_create_id");
}

/*
 * The operation cm-listen binds an id to the address of cm-open and a port, and listens. Arguments:
 * id= port= backlog=
 */
void
op_cm_listen(const struct words *words)
{
	struct rdma_cm_id *id = connection_of(words)->id;
	struct sockaddr_storage at = local;

	if (at.ss_family == AF_INET)
		((struct sockaddr_in *)&at)->sin_port = htons(port_of(words));
	else
		((struct sockaddr_in6 *)&at)->sin6_port = htons(port_of(words));
	if (rdma_bind_addr(id, (struct sockaddr *)&at))
		fail("rdma_bind_addr: %s", strerror(errno));
	respond(rdma_listen(id, (int)words_number(words, "backlog", 0, 4096)), "rdma_listen");
}

/* The operation cm-resolve resolves an address. Arguments: id= address= port= ms= */
void
op_cm_resolve(const struct words *words)
{
	struct sockaddr_storage to = address_of(words, "address", port_of(words));
	struct rdma_cm_id *id = connection_of(words)->id;

	respond(rdma_resolve_addr(id, (struct sockaddr *)&local, (struct sockaddr *)&to,
				  (int)words_number(words, "ms", 5000, WAIT_MS_MAX)),
		"rdma_resolve_addr");
}

void
op_cm_route(const struct words *words)
{
	respond(rdma_resolve_route(connection_of(words)->id,
				   (int)words_number(words, "ms", 5000, WAIT_MS_MAX)),
		"rdma_resolve_route");
}

/*
 * The operation cm-create creates an end for an id. Arguments: those of create, and own=. With
 * own=1 verbs creates the QP, and cm-modify moves it from state to state. Otherwise librdmacm does
 * both.
 */
void
op_cm_create(const struct words *words)
{
	struct connection *at = connection_of(words);
	struct end *end = end_place(words);
	struct ibv_qp_init_attr init;

	end_prepare(end, words, &init);
	at->is_own_qp = words_number(words, "own", 0, 1);
	if (at->is_own_qp)
		end->qp = ibv_create_qp(device.pd, &init);
	else if (!rdma_create_qp(at->id, device.pd, &init))
		end->qp = at->id->qp;
	if (!end->qp) {
		int error = errno;

		end_free(end);
		fail("create: %s", strerror(error));
	}
	at->end = end;
	end_print(end);
}

/*
 * The operation cm-modify moves the QP of an id to a state, with the attributes that
 * rdma_init_qp_attr() returns. Arguments: id= state=
 */
void
op_cm_modify(const struct words *words)
{
	struct connection *at = connection_of(words);
	struct ibv_qp_attr attr = {
		.qp_state = (enum ibv_qp_state)words_one(words, "state", IBV_QPS_INIT, states),
	};
	int mask, error;

	if (!at->end)
		fail("cm-modify: the id has no QP");
	if (rdma_init_qp_attr(at->id, &attr, &mask))
		fail("rdma_init_qp_attr: %s", strerror(errno));
	error = ibv_modify_qp(at->end->qp, &attr, mask);
	if (error)
		fail("cm-modify: %s", strerror(error));
	printf("{}\n");
}

/* ----------------------------------------------------------------------- connecting and disconnecting */

/*
 * Make the connection parameters from the arguments private= and rd=. The private data is a text
 * without its final zero byte.
 */
static struct rdma_conn_param
param_of(const struct words *words, const struct connection *at)
{
	const char *text = words_text(words, "private");
	uint8_t depth = (uint8_t)words_number(words, "rd", 4, 255);

	return (struct rdma_conn_param){
		.private_data = text,
		.private_data_len = (uint8_t)(text ? strlen(text) : 0),
		.responder_resources = depth,
		.initiator_depth = depth,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.qp_num = at->end ? at->end->qp->qp_num : 0,
	};
}

/* The operation cm-connect requests a connection. Arguments: id= private= rd= */
void
op_cm_connect(const struct words *words)
{
	struct connection *at = connection_of(words);
	struct rdma_conn_param param = param_of(words, at);

	respond(rdma_connect(at->id, &param), "rdma_connect");
}

/* The operation cm-accept accepts a connection. Arguments: id= private= rd= */
void
op_cm_accept(const struct words *words)
{
	struct connection *at = connection_of(words);
	struct rdma_conn_param param = param_of(words, at);

	respond(rdma_accept(at->id, &param), "rdma_accept");
}

void
op_cm_establish(const struct words *words)
{
	respond(rdma_establish(connection_of(words)->id), "rdma_establish");
}

/* The operation cm-reject rejects a connection. Arguments: id= private= */
void
op_cm_reject(const struct words *words)
{
	const char *text = words_text(words, "private");

	respond(rdma_reject(connection_of(words)->id, text, (uint8_t)(text ? strlen(text) : 0)),
		"rdma_reject");
}

void
op_cm_disconnect(const struct words *words)
{
	respond(rdma_disconnect(connection_of(words)->id), "rdma_disconnect");
}

/*
 * The operation cm-notify tells librdmacm that data has arrived before the connection is
 * established. Arguments: id=
 */
void
op_cm_notify(const struct words *words)
{
	respond(rdma_notify(connection_of(words)->id, IBV_EVENT_COMM_EST), "rdma_notify");
}

/* The operation cm-join joins a multicast group. Arguments: id= group=ADDRESS */
void
op_cm_join(const struct words *words)
{
	struct sockaddr_storage group = address_of(words, "group", 0);
	struct connection *at = connection_of(words);

	respond(rdma_join_multicast(at->id, (struct sockaddr *)&group, at), "rdma_join_multicast");
}

void
op_cm_leave(const struct words *words)
{
	struct sockaddr_storage group = address_of(words, "group", 0);

	respond(rdma_leave_multicast(connection_of(words)->id, (struct sockaddr *)&group),
		"rdma_leave_multicast");
}

static void
close_connection(struct connection *at)
{
	if (at->end) {
		if (at->id->qp) {
			rdma_destroy_qp(at->id);
			at->end->qp = NULL;
		}
		end_free(at->end);
	}
	if (at->id)
		rdma_destroy_id(at->id);
	memset(at, 0, sizeof(*at));
}

/*
 * The operation cm-destroy destroys an id and its end. With keep=1 the end remains, and cm-adopt
 * can give it to another id. Arguments: id= keep=
 */
void
op_cm_destroy(const struct words *words)
{
	struct connection *at = connection_of(words);

	if (words_number(words, "keep", 0, 1)) {
		if (!at->is_own_qp)
			fail("keep: the QP belongs to librdmacm");
		at->end = NULL;
	}
	close_connection(at);
	printf("{}\n");
}

/*
 * The operation cm-adopt gives an id the end of an id that was destroyed with keep=1. Arguments:
 * id= from=
 */
void
op_cm_adopt(const struct words *words)
{
	struct connection *at = connection_of(words);
	struct end *from = end_at(connection_number(words, "from"));
	struct end *end = end_place(words);

	if (!from->qp || end->qp || at->end)
		fail("cm-adopt: there is no end, or there are two");
	*end = *from;
	memset(from, 0, sizeof(*from));
	at->end = end;
	at->is_own_qp = true;
	printf("{}\n");
}

void
connections_close(void)
{
	for (int i = 0; i < ENDS_MAX; i++)
		close_connection(&connections[i]);
}

/* -------------------------------------------------------------- events of librdmacm and of the device */

static bool
is_readable(int fd, const struct words *words)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	return poll(&ready, 1, (int)words_number(words, "ms", 1000, WAIT_MS_MAX)) > 0;
}

static void
print_private(const void *data, uint8_t len)
{
	const uint8_t *bytes = data;

	printf(", \"private\": \"");
	for (uint8_t i = 0; bytes && i < len; i++)
		printf("%02x", bytes[i]);
	printf("\"");
}

/* The name of an event without the prefix RDMA_CM_EVENT_. */
static const char *
event_name(enum rdma_cm_event_type type)
{
	const char *name = rdma_event_str(type);
	const size_t len = strlen("RDMA_CM_EVENT_");

	return strncmp(name, "RDMA_CM_EVENT_", len) == 0 ? name + len : name;
}

static bool
is_datagram(const struct rdma_cm_event *event)
{
	return event->id->ps == RDMA_PS_UDP || event->id->ps == RDMA_PS_IPOIB;
}

static void
print_param(const struct rdma_cm_event *event)
{
	char gid[INET6_ADDRSTRLEN] = "";

	if (is_datagram(event)) {
		inet_ntop(AF_INET6, event->param.ud.ah_attr.grh.dgid.raw, gid, sizeof(gid));
		printf(", \"qpn\": %u, \"qkey\": %u, \"gid\": \"%s\"", event->param.ud.qp_num,
		       event->param.ud.qkey, gid);
		print_private(event->param.ud.private_data, event->param.ud.private_data_len);
		return;
	}
	printf(", \"qpn\": %u, \"responder_resources\": %u, \"initiator_depth\": %u",
	       event->param.conn.qp_num, event->param.conn.responder_resources,
	       event->param.conn.initiator_depth);
	print_private(event->param.conn.private_data, event->param.conn.private_data_len);
}

/*
 * Get the number of the id to which an event belongs. The id that a CONNECT_REQUEST creates gets
 * the number of `as`.
 */
static long
number_of(const struct rdma_cm_event *event, struct connection *as)
{
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		as->id = event->id;
		as->id->context = as;
		return as - connections;
	}
	return event->id == anchor ? -1 : (struct connection *)event->id->context - connections;
}

/*
 * The operation cm-event takes the next event of librdmacm. The event in the response is "" if none
 * occurs within ms=. The id that a CONNECT_REQUEST creates gets the number as=. Arguments: ms= as=
 */
void
op_cm_event(const struct words *words)
{
	struct connection *as = new_place(words, "as");
	struct rdma_cm_event *event;

	if (!is_readable(channel->fd, words)) {
		printf("{\"event\": \"\"}\n");
		return;
	}
	if (rdma_get_cm_event(channel, &event))
		fail("rdma_get_cm_event: %s", strerror(errno));
	printf("{\"event\": \"%s\", \"status\": %d, \"id\": %ld", event_name(event->event),
	       event->status, number_of(event, as));
	print_param(event);
	printf("}\n");
	if (rdma_ack_cm_event(event))
		fail("rdma_ack_cm_event: %s", strerror(errno));
}

/*
 * The operation async takes the next asynchronous event of the device. The event in the response is
 * "" if none occurs within ms=. Arguments: ms=
 */
void
op_async(const struct words *words)
{
	struct ibv_async_event event;

	if (!is_readable(device.context->async_fd, words)) {
		printf("{\"event\": \"\"}\n");
		return;
	}
	if (ibv_get_async_event(device.context, &event))
		fail("ibv_get_async_event: %s", strerror(errno));
	printf("{\"event\": \"%s\"}\n", ibv_event_type_str(event.event_type));
	ibv_ack_async_event(&event);
}
