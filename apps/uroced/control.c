/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One epoll for the socket, the clients, the port's news and signals. Of a client one message is taken at a time, so
 * that who sends many is not heard before others. Nothing here waits for a client; what one cannot be told now is
 * told when it reads again, or never.
 */

#include "control.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

#define EVENTS  64
#define TICK_MS 10  /* while somebody is to be told something */
#define DEAF_MS 100 /* without descriptors */

/* What an event is of: a client, by its slot, or one of these. */
enum { LISTENER = CLIENTS_MAX, SIGNALS, BROKEN, LINK, ADDRS };

uint64_t
control_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int
watch(struct control *control, int fd, uint32_t of)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = of };

	return epoll_ctl(control->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* --- coming and going ---------------------------------------------------------------------------- */

static unsigned
nb_of_user(const struct control *control, uid_t uid)
{
	unsigned nb = 0;

	for (unsigned i = 0; i < CLIENTS_MAX; i++)
		nb += control->client[i] && control->client[i]->uid == uid;
	return nb;
}

/* Slots are used in turn, so that one is not soon another client's. @return CLIENTS_MAX: there is none */
static unsigned
find_slot(struct control *control)
{
	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		const unsigned slot = (control->next_slot + i) % CLIENTS_MAX;

		if (!control->client[slot]) {
			control->next_slot = slot + 1;
			return slot;
		}
	}
	return CLIENTS_MAX;
}

static void
turn_away(int socket)
{
	union uroce_mux_message message = {
		.refused = { UROCE_MUX_REFUSED, EUSERS, "too many clients: allowed are 1024" },
	};

	(void)uroce_mux_send(socket, &message, -1);
	(void)close(socket);
}

static void
set_client(struct control *control, unsigned slot, struct client *client)
{
	pthread_mutex_lock(control->stats_lock);
	control->client[slot] = client;
	pthread_mutex_unlock(control->stats_lock);
}

static void
admit(struct control *control, int socket)
{
	const unsigned slot = find_slot(control);
	struct client *client = slot < CLIENTS_MAX ? client_create(socket, (uint16_t)slot) : NULL;

	if (!client) {
		turn_away(socket);
		return;
	}
	if (watch(control, socket, slot) < 0) {
		client_destroy(client, &control->areas);
		return;
	}
	set_client(control, slot, client);
	if (nb_of_user(control, client->uid) > CLIENTS_OF_USER_MAX)
		ask_refuse(control, client, EUSERS, "too many clients of user %u: allowed are %u",
			   client->uid, CLIENTS_OF_USER_MAX);
}

static void
set_deaf(struct control *control, bool is_deaf)
{
	struct epoll_event event = { .events = is_deaf ? 0 : EPOLLIN, .data.u32 = LISTENER };

	if (control->is_deaf == is_deaf)
		return;
	control->is_deaf = is_deaf;
	(void)epoll_ctl(control->epoll_fd, EPOLL_CTL_MOD, control->listener, &event);
}

static void
accept_one(struct control *control)
{
	const int socket = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (socket >= 0) {
		admit(control, socket);
		return;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
		say_of_client("a client is kept waiting: %s", strerror(errno));
		set_deaf(control, true);
	}
}

void
control_leave(struct control *control, struct client *client, const char *why)
{
	const struct lessee lessee = client_lessee(client);
	const bool was_attached = client->is_attached;
	uint32_t nb_leases;

	set_client(control, client->slot, NULL);
	if (was_attached) {
		/* before its frames end, so that none finds another's QP */
		nb_leases = lease_end(control->leases, &lessee, control_now_ns());
		data_unlink(control->data, client);
		control->nb_attached--;
		say_of_client("client %u: left: %s: pid %d, %u leases", client->slot, why,
			      client->pid, nb_leases);
	}
	client_destroy(client, &control->areas);
}

static void
leave_broken(struct control *control)
{
	eventfd_t nothing;

	(void)eventfd_read(control->data->broken_fd, &nothing);
	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = control->client[i];

		if (client && atomic_load(&client->is_broken))
			ask_refuse(control, client, EPROTO,
				   "an index in a lane cannot be: allowed are up to %u slots from "
				   "uroced's on",
				   client->area.plan.nb_slots);
	}
}

/* --- news ---------------------------------------------------------------------------------------- */

static void
look_at_host(struct control *control)
{
	struct frame_host host;

	if (!host_look(control->host))
		return;
	frame_host_set(&host, &control->host->told);
	data_set_host(control->data, &host);
	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = control->client[i];

		if (client && (client->is_greeted || client->is_attached))
			client->is_host_due = true;
	}
	control->has_due = true;
}

static void
tell_due(struct control *control)
{
	bool has_due = false;

	for (unsigned i = 0; i < CLIENTS_MAX && control->has_due; i++) {
		if (control->client[i])
			has_due |= ask_tell_due(control, control->client[i]);
	}
	control->has_due = has_due;
}

static void
handle(struct control *control, uint32_t of)
{
	switch (of) {
	case LISTENER:
		accept_one(control);
		break;
	case SIGNALS:
		control->is_ending = true;
		break;
	case BROKEN:
		leave_broken(control);
		break;
	case LINK:
	case ADDRS:
		look_at_host(control);
		break;
	default:
		if (of < CLIENTS_MAX && control->client[of])
			ask_take(control, control->client[of]);
	}
}

static void
end(struct control *control)
{
	(void)close(control->listener);
	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		if (control->client[i])
			control_leave(control, control->client[i], "uroced ends");
	}
	data_end(control->data);
}

static int
patience_ms(const struct control *control)
{
	return control->has_due ? TICK_MS : control->is_deaf ? DEAF_MS : -1;
}

static void *
serve(void *arg)
{
	struct control *control = arg;
	struct epoll_event events[EVENTS];

	while (!control->is_ending) {
		const int nb = epoll_wait(control->epoll_fd, events, EVENTS, patience_ms(control));

		for (int i = 0; i < nb; i++)
			handle(control, events[i].data.u32);
		tell_due(control);
		if (nb == 0)
			set_deaf(control, false);
	}
	end(control);
	return NULL;
}

int
control_start(struct control *control, int listener)
{
	sigset_t ends;
	struct frame_host host;
	int addrs_fd = host_addrs_fd(control->host);
	int error;

	frame_host_set(&host, &control->host->told);
	control->data->host = host;
	control->listener = listener;
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	control->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	control->signal_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	if (control->epoll_fd < 0 || control->signal_fd < 0 ||
	    watch(control, listener, LISTENER) < 0 ||
	    watch(control, control->signal_fd, SIGNALS) < 0 ||
	    watch(control, control->data->broken_fd, BROKEN) < 0 ||
	    watch(control, host_link_fd(control->host), LINK) < 0 ||
	    (addrs_fd >= 0 && watch(control, addrs_fd, ADDRS) < 0)) {
		say("no descriptors for the control thread: %s", strerror(errno));
		return -1;
	}
	error = areas_start(&control->areas);
	if (error == 0)
		error = pthread_create(&control->thread, NULL, serve, control);
	if (error != 0) {
		say("no control thread: %s", strerror(error));
		return -1;
	}
	(void)pthread_setname_np(control->thread, "uroced-control");
	return 0;
}

void
control_join(struct control *control)
{
	(void)pthread_join(control->thread, NULL);
	areas_stop(&control->areas);
	(void)close(control->epoll_fd);
	(void)close(control->signal_fd);
}
