/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The control thread of uroced waits on one epoll for the listening socket, clients, reader
 * processes, changes of the port, and signals. The thread handles one message of each user in turn,
 * so that a user with many messages delays no other user. The thread waits for no client: a message
 * for which there is no room in a client's socket is sent later, or dropped.
 *
 * The file has more than 500 lines, because all events of the loop change the same table of
 * clients.
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

#include "creds.h"
#include "log_line.h"
#include "reload.h"
#include "user_turns.h"

/*
 * The number of events that one epoll_wait() of the control thread reports: all clients and reader
 * processes at once, so that the thread can give turns to users.
 */
#define EVENTS (CLIENTS_MAX + READERS_MAX + 8)
/* maximum number of connections that the control thread accepts in one round of its loop */
#define ACCEPTS_MAX UROCE_MUX_BACKLOG
/* timeout of epoll_wait() in ms, while a message waits for room in the socket of a client */
#define TICK_MS 10
/*
 * timeout of epoll_wait() in ms, while the process has no free descriptor, or the connection
 * manager does not run
 */
#define DEAF_MS 100

/*
 * The data of an epoll event: client.slot of a client, one of these values, or READER plus the
 * index of a reader process.
 */
enum { LISTENER = CLIENTS_MAX, SIGNALS, BROKEN, LINK, ADDRS, READER };

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

/* --- new clients, and the end of clients --------------------------------------------------------- */

struct user_sum
control_sum_of(const struct control *control, uid_t uid)
{
	struct user_sum sum = { 0, 0 };

	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		const struct client *client = control->client[i];

		if (!client || client->uid != uid)
			continue;
		sum.nb_clients++;
		sum.nb_pairs += client->part ? client->shm.plan.nb_pairs : 0;
	}
	return sum;
}

/*
 * Compute how many connections a user may have: at most the limit of the options, and at most half
 * of the connections that other users leave. So several users together cannot keep others out.
 */
static unsigned
get_allowed_clients(const struct control *control, uid_t uid)
{
	unsigned nb_others = 0;

	for (unsigned i = 0; i < CLIENTS_MAX; i++)
		nb_others += control->client[i] && control->client[i]->uid != uid &&
			     !client_is_manager(control->client[i]);
	return RTE_MIN((unsigned)control->limits.nb_clients, (CLIENTS_MAX - nb_others) / 2);
}

/*
 * Find a free slot for a client in the table of clients. Slots are used in turn, so that the slot
 * of a client that has ended is not given to another client soon.
 * @return CLIENTS_MAX if all slots are used
 */
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
turn_away(struct control *control, int socket)
{
	union uroce_mux_message message = {
		.refused = { UROCE_MUX_REFUSED, EUSERS, "too many clients: allowed are 1024" },
	};

	counter_add(&control->refused[USER_LIMIT_CLIENTS], 1);
	(void)uroce_mux_send(socket, &message, -1);
	closing_end(&control->closing, socket, creds_of(socket).uid);
}

static void
set_client(struct control *control, unsigned slot, struct client *client)
{
	pthread_mutex_lock(control->stats_lock);
	control->client[slot] = client;
	pthread_mutex_unlock(control->stats_lock);
}

/* Refuse a client whose user already has the allowed number of clients. */
static void
refuse_beyond(struct control *control, struct client *client, unsigned nb_allowed,
	      unsigned nb_closing)
{
	const char *limit = nb_allowed == control->limits.nb_clients
				    ? "--user-clients"
				    : "half of the connections that other users leave";

	if (nb_closing == 0)
		handler_refuse(control, client, EUSERS,
			       "too many clients of user %u: allowed are %u (%s)", client->uid,
			       nb_allowed, limit);
	else
		handler_refuse(control, client, EUSERS,
			       "too many clients of user %u: allowed are %u (%s), and the "
			       "descriptors of %u that have left are not closed yet",
			       client->uid, nb_allowed, limit, nb_closing);
}

static void
accept_client(struct control *control, int socket)
{
	const unsigned slot = find_slot(control);
	struct client *client = slot < CLIENTS_MAX ? client_create(socket, (uint16_t)slot) : NULL;
	unsigned nb_allowed, nb_closing;

	if (!client) {
		turn_away(control, socket);
		return;
	}
	if (watch(control, socket, slot) < 0) {
		closing_end(&control->closing, socket, client->uid);
		client_destroy(client, &control->mapper);
		return;
	}
	client->served = ++control->nb_served;
	set_client(control, slot, client);
	nb_allowed = get_allowed_clients(control, client->uid);
	nb_closing = closing_nb_of(&control->closing, client->uid);
	if (control_sum_of(control, client->uid).nb_clients + nb_closing <= nb_allowed)
		return;
	counter_add(&control->refused[USER_LIMIT_CLIENTS], 1);
	refuse_beyond(control, client, nb_allowed, nb_closing);
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

/*
 * Accept all connections of the listening socket's queue in one round. If fewer were accepted,
 * clients that connect and leave in a loop would make another client wait one round for each of
 * them.
 */
static void
accept_waiting(struct control *control)
{
	int socket = 0;

	for (unsigned i = 0; i < ACCEPTS_MAX && socket >= 0; i++) {
		if (!closing_has_room(&control->closing)) {
			set_deaf(control, true);
			return;
		}
		socket = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (socket >= 0)
			accept_client(control, socket);
	}
	if (socket >= 0)
		return;
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
		log_client_line("a client waits for its connection: %s", strerror(errno));
		set_deaf(control, true);
	}
}

/*
 * Replace the socket by which telemetry sends requests to the connection manager.
 * @return the previous socket
 */
static int
set_reports(struct control *control, int reports)
{
	const int former = control->cm_reports;

	pthread_mutex_lock(control->stats_lock);
	control->cm_reports = reports;
	pthread_mutex_unlock(control->stats_lock);
	return former;
}

/* Note that the connection manager has ended, and close the socket of its reports. */
static void
end_manager(struct control *control)
{
	const int reports = set_reports(control, -1);

	if (reports >= 0)
		closing_end(&control->closing, reports, CLIENT_UID_MANAGER);
	cm_process_ended(&control->cm_process, control_now_ns());
}

void
control_leave(struct control *control, struct client *client, const char *why)
{
	const struct lessee lessee = client_lessee(client);
	const bool was_attached = client->is_attached;
	uint32_t nb_leases;

	set_client(control, client->slot, NULL);
	if (client_is_manager(client))
		end_manager(control);
	if (was_attached) {
		/*
		 * The leases of QP numbers end first: from then on, no frame of this client reaches
		 * a QP of another client.
		 */
		nb_leases = lease_end(control->leases, &lessee, control_now_ns());
		data_unlink(control->data, client);
		control->nb_attached -= !client_is_manager(client);
		log_client_line("client %u: left: %s: pid %d, %u leases", client->slot, why,
				client->pid, nb_leases);
	}
	if (client->reader < 0)
		(void)epoll_ctl(control->epoll_fd, EPOLL_CTL_DEL, client->socket, NULL);
	closing_end(&control->closing, client->socket, client->uid);
	if (control_sum_of(control, client->uid).nb_clients == 0)
		readers_end_idle(&control->readers, client->uid);
	client_destroy(client, &control->mapper);
}

/* --- the connection manager ---------------------------------------------------------------------- */

/*
 * Add the connection manager to the clients of uroced.
 * @return 0, or -errno: the caller has to close the socket
 */
static int
add_manager(struct control *control, int socket)
{
	const unsigned slot = find_slot(control);
	struct client *client = slot < CLIENTS_MAX ? client_create(socket, (uint16_t)slot) : NULL;

	if (!client)
		return slot < CLIENTS_MAX ? -ENOMEM : -EUSERS;
	client->uid = CLIENT_UID_MANAGER;
	client->served = ++control->nb_served;
	if (watch(control, socket, slot) < 0) {
		client_destroy(client, &control->mapper);
		return -ENOSPC;
	}
	set_client(control, slot, client);
	return 0;
}

/* Start the connection manager if it does not run, and the delay since its last end is over. */
static void
look_at_manager(struct control *control)
{
	const uint64_t now_ns = control_now_ns();
	int socket, reports, ret;

	if (!cm_process_is_due(&control->cm_process, now_ns))
		return;
	socket = cm_process_start(&control->cm_process, control->cm_listener, &reports, now_ns);
	ret = socket < 0 ? socket : add_manager(control, socket);
	if (ret == 0) {
		(void)set_reports(control, reports);
		return;
	}
	if (socket >= 0) {
		(void)close(socket);
		(void)close(reports);
		cm_process_ended(&control->cm_process, now_ns);
	}
	log_client_line("the connection manager does not start: %s", strerror(-ret));
}

/* --- readers ------------------------------------------------------------------------------------- */

int
control_ask_reader(struct control *control, struct client *client, struct reader_job *job, int fd)
{
	int ret;

	job->slot = client->slot;
	ret = readers_ask(&control->readers, client->uid, job, fd, control_now_ns());
	if (ret < 0)
		return ret;
	/*
	 * EEXIST is no error: the epoll already watches the socket of this reader process, because
	 * of an earlier job
	 */
	if (watch(control, control->readers.of[ret].socket, READER + (uint32_t)ret) < 0 &&
	    errno != EEXIST)
		return -errno;
	if (client->reader < 0)
		(void)epoll_ctl(control->epoll_fd, EPOLL_CTL_DEL, client->socket, NULL);
	client->reader = ret;
	client->job_number = job->number;
	return 0;
}

/*
 * Refuse all clients that have a job at a reader process which has failed, since the jobs will not
 * be done.
 */
static void
refuse_all(struct control *control, unsigned reader)
{
	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = control->client[i];

		if (client && client->reader == (int)reader)
			handler_refuse(
				control, client, ETIMEDOUT,
				"descriptors of user %u block uroced: allowed are descriptors "
				"that can be closed at once",
				client->uid);
	}
}

static void
take_answer(struct control *control, unsigned reader)
{
	static struct reader_answer answer;
	const uid_t uid = control->readers.of[reader].uid;
	struct client *client;
	int fd, ret;

	if (control->readers.of[reader].socket < 0 || control->readers.of[reader].is_closer)
		return;
	ret = readers_answered(&control->readers, reader, &answer, &fd, control_now_ns());
	if (ret == 1) {
		client = control->client[answer.slot % CLIENTS_MAX];
		if (client && client->reader == (int)reader &&
		    client->job_number == answer.number) {
			client->reader = -1;
			(void)watch(control, client->socket, client->slot);
			handler_take_reply(control, client, &answer, fd);
		}
		if (fd >= 0)
			mapper_close(&control->mapper, uid, fd);
	} else if (ret != -EAGAIN && ret != -EINTR) {
		readers_end(&control->readers, reader);
		refuse_all(control, reader);
	}
}

static void
look_at_readers(struct control *control)
{
	const uint64_t now_ns = control_now_ns();

	if (!readers_are_due(&control->readers))
		return;
	for (unsigned i = 0; i < READERS_MAX; i++) {
		if (!readers_give_up(&control->readers, i, now_ns))
			continue;
		(void)epoll_ctl(control->epoll_fd, EPOLL_CTL_DEL, control->readers.of[i].socket,
				NULL);
		refuse_all(control, i);
	}
}

static void
leave_broken(struct control *control)
{
	eventfd_t nothing;

	(void)eventfd_read(control->data->broken_fd, &nothing);
	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = control->client[i];

		if (client && atomic_load(&client->is_broken))
			handler_refuse(control, client, EPROTO,
				       "an index of an SPSC ring is invalid: allowed are up to %u "
				       "slots ahead of uroced's index",
				       client->shm.plan.nb_slots);
	}
}

/* --- changes of the host ------------------------------------------------------------------------- */

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
			has_due |= handler_send_due(control, control->client[i]);
	}
	control->has_due = has_due;
}

/* --- signals and the service manager ------------------------------------------------------------- */

void
control_set_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGHUP);
}

static void
reload(struct control *control)
{
	bool is_refused;

	service_begin_reload(&control->service, control_now_ns());
	is_refused = !reload_run(control->reload, control);
	service_end_reload(&control->service, is_refused);
}

static void
take_signal(struct control *control)
{
	struct signalfd_siginfo info;

	if (read(control->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP) {
		reload(control);
		return;
	}
	control->is_ending = true;
	control->closing.is_ending = true;
}

static void
report(struct control *control)
{
	service_report(&control->service, control->nb_attached, data_progress(control->data),
		       control_now_ns());
}

/* --- the loop ------------------------------------------------------------------------------------ */

static void
handle_event(struct control *control, uint32_t of)
{
	switch (of) {
	case LISTENER:
		accept_waiting(control);
		break;
	case SIGNALS:
		take_signal(control);
		break;
	case BROKEN:
		leave_broken(control);
		break;
	case LINK:
	case ADDRS:
		look_at_host(control);
		break;
	default:
		if (of >= READER)
			take_answer(control, of - READER);
	}
}

/*
 * Handle a message of a client, unless the client was freed, or a reader process has a job of the
 * client.
 */
static void
handle_client(struct control *control, unsigned slot)
{
	struct client *client = control->client[slot];

	if (!client || client->reader >= 0)
		return;
	client->served = ++control->nb_served;
	handler_take(control, client);
}

/*
 * End a client that hung up before it attached. The end of such a client takes little time, so it
 * is done before the messages of clients, and does not wait for the turn of the client's user. A
 * user at its limit of clients can connect again as soon as it has closed a connection.
 */
static void
leave_early(struct control *control, struct client *client)
{
	if (client->reader < 0)
		control_leave(control, client, "it closed the connection");
}

/*
 * Handle all epoll events that are not messages of clients, and handle one message for each user
 * whose clients have sent messages.
 */
static void
handle_events(struct control *control, const struct epoll_event *events, int nb)
{
	static struct user_turn turns[CLIENTS_MAX];
	unsigned nb_turns = 0;

	for (int i = 0; i < nb; i++) {
		const uint32_t of = events[i].data.u32;
		struct client *client = of < CLIENTS_MAX ? control->client[of] : NULL;

		if (client && (events[i].events & EPOLLHUP) && !client->is_attached)
			leave_early(control, client);
		else if (client)
			turns[nb_turns++] = (struct user_turn){
				client->uid, of, events[i].events & EPOLLHUP ? 0 : client->served
			};
		else if (of >= CLIENTS_MAX)
			handle_event(control, of);
	}
	nb_turns = user_turns_choose(turns, nb_turns);
	for (unsigned i = 0; i < nb_turns; i++)
		handle_client(control, turns[i].slot);
}

static void
end_control(struct control *control)
{
	/*
	 * the listening socket is shut down but not closed, because connections that were not
	 * accepted may have descriptors; the kernel closes the socket when the process has ended
	 */
	service_stop(&control->service);
	(void)shutdown(control->listener, SHUT_RDWR);
	if (control->cm_listener >= 0)
		(void)shutdown(control->cm_listener, SHUT_RDWR);
	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		if (control->client[i])
			control_leave(control, control->client[i], "uroced ends");
	}
	data_end(control->data);
}

static int
get_timeout_ms(const struct control *control)
{
	const int report_ms = service_timeout_ms(&control->service, control_now_ns());
	int ms = -1;

	if (control->has_due || closing_is_due(&control->closing))
		ms = TICK_MS;
	else if ((control->cm_process.starter >= 0 && !control->cm_process.is_running) ||
		 control->is_deaf || readers_are_due(&control->readers))
		ms = DEAF_MS;
	/*
	 * -1 means: no time limit. As an unsigned number -1 is the largest one, so the shorter time
	 * is returned.
	 */
	return (unsigned)report_ms < (unsigned)ms ? report_ms : ms;
}

static void *
serve(void *arg)
{
	struct control *control = arg;
	static struct epoll_event events[EVENTS];

	look_at_manager(control);
	service_ready(&control->service, control->host->conf.port, control_now_ns());
	report(control);
	while (!control->is_ending) {
		const int nb =
			epoll_wait(control->epoll_fd, events, EVENTS, get_timeout_ms(control));

		handle_events(control, events, nb);
		tell_due(control);
		look_at_readers(control);
		look_at_manager(control);
		closing_retry(&control->closing);
		report(control);
		if (nb == 0)
			set_deaf(control, false);
	}
	end_control(control);
	return NULL;
}

int
control_start(struct control *control, int listener)
{
	sigset_t signals;
	struct frame_host host;
	int addrs_fd = host_addrs_fd(control->host);
	int error;

	frame_host_set(&host, &control->host->told);
	control->data->host = host;
	control->listener = listener;
	control_set_signals(&signals);
	control->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	control->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (control->epoll_fd < 0 || control->signal_fd < 0 ||
	    watch(control, listener, LISTENER) < 0 ||
	    watch(control, control->signal_fd, SIGNALS) < 0 ||
	    watch(control, control->data->broken_fd, BROKEN) < 0 ||
	    watch(control, host_link_fd(control->host), LINK) < 0 ||
	    (addrs_fd >= 0 && watch(control, addrs_fd, ADDRS) < 0)) {
		log_line("no descriptors for the control thread: %s", strerror(errno));
		return -1;
	}
	mapper_init(&control->mapper);
	error = mapper_start(&control->mapper);
	if (error == 0)
		error = pthread_create(&control->thread, NULL, serve, control);
	if (error != 0) {
		log_line("no control thread: %s", strerror(error));
		return -1;
	}
	(void)pthread_setname_np(control->thread, "uroced-control");
	return 0;
}

void
control_join(struct control *control)
{
	(void)pthread_join(control->thread, NULL);
	mapper_stop(&control->mapper);
	(void)close(control->epoll_fd);
	(void)close(control->signal_fd);
	service_close(&control->service);
}
