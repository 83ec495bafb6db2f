/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The thread of the connection manager waits on one epoll for the listening socket, clients, events
 * of their uroce_cm_managers, telemetry, and the end of uroced. The thread serves one request of
 * each user in turn.
 */

#include "cm_server.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "creds.h"
#include "log_line.h"
#include "user_turns.h"

/* epoll_wait() must report the events of all clients at once, so that users can take turns */
#define EPOLL_EVENTS (CM_CLIENTS_MAX + 8)
/*
 * timeout of epoll_wait() in ms, while accept() has failed, the socket of a client is full, or
 * ports of former listeners are kept
 */
#define RETRY_MS 100

/*
 * Maximum number of connections that the connection manager accepts in a round of its loop. Each
 * user has one request served in a round. Without the maximum, clients that connect and leave in a
 * loop would make each request of others wait for a whole queue of connections.
 */
#define ACCEPTS_MAX 8u

/*
 * User ID under which the ids that keep the ports of former listeners are limited; no client has
 * this user ID.
 */
#define KEEPER_UID ((uid_t)-1)

/* The data of an epoll event: cm_client.slot of a client, or one of these values. */
enum { LISTENER = CM_CLIENTS_MAX, EVENTS, UROCED, REPORTS };

static int
watch_fd(const struct cm_server *server, int fd, uint32_t of, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u32 = of };

	return epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void
change_watch(const struct cm_server *server, int fd, uint32_t of, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u32 = of };

	(void)epoll_ctl(server->epoll_fd, EPOLL_CTL_MOD, fd, &event);
}

void
cm_server_wake(struct cm_server *server)
{
	(void)eventfd_write(server->events_fd, 1);
}

/* --- new clients, and the end of clients --------------------------------------------------------- */

static unsigned
count_clients(const struct cm_server *server, uid_t uid, bool is_others)
{
	unsigned nb = 0;

	for (unsigned i = 0; i < CM_CLIENTS_MAX; i++)
		nb += server->client[i] && (server->client[i]->uid != uid) == is_others;
	return nb;
}

/* Delete the records of a client's listeners, and remove the client as the owner of its ids. */
static void
drop_ids(const struct cm_client *client)
{
	struct cm_server *server = client->server;
	uint32_t id;

	while ((id = cm_ids_last_of(&server->ids, client->slot)) != UROCE_CM_NO_ID) {
		cm_ports_drop(&server->ports, id);
		cm_ids_disown(&server->ids, id);
	}
}

/* End a client of the server. Its ids are destroyed, and the peers of these ids are notified. */
static void
leave(struct cm_client *client, const char *why)
{
	struct cm_server *server = client->server;

	if (client->manager) {
		client->manager->ops->close(client->manager);
		drop_ids(client);
		log_client_line("connection manager: client %u: left: %s: pid %d, %u ids",
				client->slot, why, client->pid, client->nb_ids);
	}
	server->client[client->slot] = NULL;
	server->nb_full -= client->is_full;
	(void)epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, client->socket, NULL);
	closing_end(&server->closing, client->socket, client->uid);
	if (count_clients(server, client->uid, false) == 0)
		readers_end_idle(&server->readers, client->uid);
	free(client);
}

/* Send a client the reason why its connection to the server ends, and end the client. */
static void
refuse_client(struct cm_client *client, int error, const char *why)
{
	struct uroce_mux_cm_reply reply = { .type = UROCE_MUX_CM_REFUSED, .ret = -error };

	(void)snprintf(reply.why, sizeof(reply.why), "%s", why);
	(void)send(client->socket, &reply, uroce_mux_cm_reply_size(reply.type),
		   MSG_DONTWAIT | MSG_NOSIGNAL);
	leave(client, why);
}

static struct cm_client *
create_client(struct cm_server *server, int socket)
{
	struct cm_client *client = calloc(1, sizeof(*client));
	const struct ucred peer = creds_of(socket);

	if (!client)
		return NULL;
	client->server = server;
	client->socket = socket;
	client->pid = peer.pid;
	client->uid = peer.uid;
	client->served = ++server->nb_served;
	while (client->slot < CM_CLIENTS_MAX && server->client[client->slot])
		client->slot++;
	if (client->slot == CM_CLIENTS_MAX || watch_fd(server, socket, client->slot, EPOLLIN) < 0) {
		free(client);
		return NULL;
	}
	server->client[client->slot] = client;
	return client;
}

/*
 * Add a client of the connection manager. The client is refused if its user would have more than
 * half of the connections that other users leave. Connections that were ended but are not closed
 * yet count.
 */
static void
accept_client(struct cm_server *server, int socket)
{
	struct cm_client *client = create_client(server, socket);

	if (!client) {
		closing_end(&server->closing, socket, creds_of(socket).uid);
		return;
	}
	if (count_clients(server, client->uid, false) +
		    closing_nb_of(&server->closing, client->uid) >
	    (CM_CLIENTS_MAX - count_clients(server, client->uid, true)) / 2)
		refuse_client(
			client, EUSERS,
			"too many clients of the user: allowed is half of the connections that "
			"other users leave");
}

static void
set_deaf(struct cm_server *server, bool is_deaf)
{
	if (server->is_deaf == is_deaf)
		return;
	server->is_deaf = is_deaf;
	change_watch(server, server->listener, LISTENER, is_deaf ? 0 : EPOLLIN);
}

static void
accept_waiting(struct cm_server *server)
{
	int socket = 0;

	for (unsigned i = 0; i < ACCEPTS_MAX && socket >= 0; i++) {
		if (!closing_has_room(&server->closing)) {
			set_deaf(server, true);
			return;
		}
		socket = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (socket >= 0)
			accept_client(server, socket);
	}
	if (socket < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		set_deaf(server, true);
}

/* --- requests ------------------------------------------------------------------------------------ */

/*
 * Check whether the socket of a client has room for a message. If it has none, let epoll watch the
 * socket for room instead of for requests.
 */
static bool
has_room(struct cm_client *client)
{
	struct cm_server *server = client->server;
	struct pollfd fd = { client->socket, POLLOUT, 0 };
	const bool is_full = poll(&fd, 1, 0) != 1 || !(fd.revents & POLLOUT);

	if (is_full != client->is_full) {
		change_watch(server, client->socket, client->slot, is_full ? EPOLLOUT : EPOLLIN);
		server->nb_full += is_full ? 1u : -1u;
		client->full_ns = server->host.now_ns(server->host.arg);
	}
	client->is_full = is_full;
	return !is_full;
}

/*
 * Send a reply to a client, whose socket has room.
 * @return false if the connection has failed, and the client was freed
 */
static bool
send_reply(struct cm_client *client, const struct uroce_mux_cm_reply *reply)
{
	if (send(client->socket, reply, uroce_mux_cm_reply_size(reply->type),
		 MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return true;
	leave(client, strerror(errno));
	return false;
}

/* Send a client the notice that it has events, if it has any and its socket has room. */
static void
tell_events(struct cm_client *client)
{
	const struct uroce_mux_cm_reply notice = { .type = UROCE_MUX_CM_EVENTS };

	if (!atomic_load(&client->has_events) || !has_room(client))
		return;
	atomic_store(&client->has_events, false);
	(void)send_reply(client, &notice);
}

static void
make_call(struct cm_client *client, const struct uroce_mux_cm_request *request, size_t len)
{
	const char *wrong = uroce_mux_cm_check(request, len);
	struct uroce_mux_cm_reply reply;

	if (!wrong)
		wrong = cm_calls_make(client, request, &reply);
	if (wrong)
		refuse_client(client, EPROTO, wrong);
	else
		(void)send_reply(client, &reply);
}

/* Receive a request of a client, if there is one, and serve it. The client may be freed. */
static void
take_request(struct cm_client *client)
{
	struct uroce_mux_cm_request request;
	bool has_fds;
	int ret = uroce_mux_peek(client->socket, &has_fds);
	ssize_t len = 0;

	if (has_fds) {
		refuse_client(client, EPROTO,
			      "a message with descriptors: allowed are messages without");
		return;
	}
	if (ret == 1) {
		len = recv(client->socket, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC);
		ret = len < 0 ? -errno : len > 0;
	}
	if (ret == 1)
		make_call(client, &request, (size_t)len);
	else if (ret != -EAGAIN && ret != -EINTR)
		leave(client, ret == 0 ? "it closed the connection" : strerror(-ret));
}

/* --- the loop ------------------------------------------------------------------------------------ */

static void
serve_client(struct cm_server *server, unsigned slot)
{
	struct cm_client *client = server->client[slot];

	if (!client)
		return;
	client->served = ++server->nb_served;
	if (has_room(client))
		take_request(client);
}

static void
tell_all(struct cm_server *server)
{
	eventfd_t nothing;

	(void)eventfd_read(server->events_fd, &nothing);
	for (unsigned i = 0; i < CM_CLIENTS_MAX; i++) {
		if (server->client[i])
			tell_events(server->client[i]);
	}
}

static void
handle_event(struct cm_server *server, uint32_t of)
{
	switch (of) {
	case EVENTS:
		tell_all(server);
		break;
	case UROCED:
		server->is_ending = true;
		break;
	case REPORTS:
		if (!cm_report_serve(server))
			(void)epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, server->reports, NULL);
		break;
	}
}

/*
 * Handle an epoll event of a client that is not a request: the client has hung up, or its socket,
 * which was full, has room again.
 * @return true if the client was freed; false if it may have a request
 */
static bool
handle_client_event(struct cm_server *server, const struct epoll_event *event)
{
	struct cm_client *client = server->client[event->data.u32];

	/*
	 * Requests that a client sent before it closed the connection are not served. What they
	 * create would be destroyed with the client.
	 */
	if (client && (event->events & (EPOLLHUP | EPOLLERR))) {
		leave(client, "it closed the connection");
		return true;
	}
	if (client && client->is_full && has_room(client))
		tell_events(client);
	return !server->client[event->data.u32];
}

static void
handle_events(struct cm_server *server, const struct epoll_event *events, int nb)
{
	static struct user_turn turns[CM_CLIENTS_MAX];
	unsigned nb_turns = 0;
	bool has_waiting = false;

	for (int i = 0; i < nb; i++) {
		const uint32_t of = events[i].data.u32;
		struct cm_client *client;

		has_waiting |= of == LISTENER;
		if (of >= CM_CLIENTS_MAX) {
			handle_event(server, of);
			continue;
		}
		if (handle_client_event(server, &events[i]))
			continue;
		client = server->client[of];
		turns[nb_turns++] = (struct user_turn){ client->uid, of, client->served };
	}
	nb_turns = user_turns_choose(turns, nb_turns);
	for (unsigned i = 0; i < nb_turns; i++)
		serve_client(server, turns[i].slot);
	/*
	 * connections are accepted last: a new client could get the slot of a client to which
	 * another event of this call of epoll_wait() belongs
	 */
	if (has_waiting)
		accept_waiting(server);
}

/* End the clients that have not read their replies for CM_FULL_MAX_NS: their sockets were full. */
static void
end_full(struct cm_server *server)
{
	const uint64_t now_ns = server->host.now_ns(server->host.arg);

	for (unsigned i = 0; i < CM_CLIENTS_MAX; i++) {
		struct cm_client *client = server->client[i];

		if (client && client->is_full && now_ns - client->full_ns >= CM_FULL_MAX_NS)
			leave(client, "it does not read replies");
	}
}

void
cm_server_round(struct cm_server *server, int timeout_ms)
{
	static struct epoll_event events[EPOLL_EVENTS];
	const bool is_retrying = server->is_deaf || server->nb_full > 0 || server->ports.keeper;
	int nb;

	if (is_retrying && (timeout_ms < 0 || timeout_ms > RETRY_MS))
		timeout_ms = RETRY_MS;
	if (closing_is_due(&server->closing) && (timeout_ms < 0 || timeout_ms > CLOSING_TICK_MS))
		timeout_ms = CLOSING_TICK_MS;
	nb = epoll_wait(server->epoll_fd, events, EPOLL_EVENTS, timeout_ms);
	handle_events(server, events, nb);
	if (server->nb_full > 0)
		end_full(server);
	closing_retry(&server->closing);
	cm_ports_expire(&server->ports, server->host.now_ns(server->host.arg));
	if (nb == 0)
		set_deaf(server, false);
}

void
cm_server_run(struct cm_server *server)
{
	while (!server->is_ending)
		cm_server_round(server, -1);
}

int
cm_server_init(struct cm_server *server, const struct cm_host *host, int listener, int uroced,
	       int start, int reports)
{
	int ret;

	memset(server, 0, sizeof(*server));
	server->host = *host;
	server->listener = listener;
	server->reports = reports;
	readers_init(&server->readers, start);
	server->closing.readers = &server->readers;
	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	server->events_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = cm_ids_init(&server->ids, host->max_ids);
	/*
	 * the device of the connection manager receives the messages of uroced, so the server
	 * watches the socket `uroced` only for a hang-up
	 */
	if (ret == 0 && (server->epoll_fd < 0 || server->events_fd < 0 ||
			 watch_fd(server, listener, LISTENER, EPOLLIN) < 0 ||
			 watch_fd(server, server->events_fd, EVENTS, EPOLLIN) < 0 ||
			 (uroced >= 0 && watch_fd(server, uroced, UROCED, 0) < 0) ||
			 (reports >= 0 && watch_fd(server, reports, REPORTS, EPOLLIN) < 0)))
		ret = -errno;
	if (ret < 0)
		cm_server_fini(server);
	return ret;
}

/*
 * The function that reports events of the ids which keep ports of former listeners. It does
 * nothing, because these ids have no events.
 */
static void
ignore_events(void *arg)
{
	(void)arg;
}

int
cm_server_keep_ports(struct cm_server *server, struct cm_ports_file *file)
{
	const struct cm_host *host = &server->host;
	struct uroce_cm_manager *keeper = NULL;
	int ret = 0;

	if (cm_ports_has_any(file))
		ret = host->open(host->arg, KEEPER_UID, ignore_events, NULL, &keeper);
	if (ret == 0)
		cm_ports_start(&server->ports, file, keeper, host->now_ns(host->arg));
	return ret;
}

void
cm_server_fini(struct cm_server *server)
{
	server->closing.is_ending = true;
	for (unsigned i = 0; i < CM_CLIENTS_MAX; i++) {
		if (server->client[i])
			leave(server->client[i], "the connection manager ends");
	}
	if (server->epoll_fd >= 0)
		(void)close(server->epoll_fd);
	if (server->events_fd >= 0)
		(void)close(server->events_fd);
	cm_ports_fini(&server->ports);
	cm_ids_fini(&server->ids);
}
