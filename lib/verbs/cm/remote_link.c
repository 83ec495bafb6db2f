/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The connection of a process to the connection manager of uroced. The thread that opens the
 * connection sends HELLO and waits for the reply. Afterwards only the connection's own thread
 * receives messages. This thread passes each reply to the thread that has made the request.
 *
 * A child of fork() closes the sockets that it inherits. Otherwise the connection manager would not
 * see the end of the parent as long as a child lives.
 */

#include "verbs/cm/remote_link.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "datapath/log.h"
#include "datapath/uroced/mux_client.h"

/*
 * Maximum time in seconds to wait for a reply of the connection manager, which only a hang exceeds:
 * the end of the connection takes all ids of this process with it.
 */
#define REPLY_S 60
/*
 * Maximum time in seconds for which a request waits for a connection. uroced and its connection
 * manager need up to a second each to start, and several seconds on a busy machine.
 */
#define RESTART_S 10
#define RETRY_MS  10 /* time between two attempts to connect, in milliseconds */
/*
 * time between two attempts to connect after NB_OFTEN attempts, or after a refusal, in milliseconds
 */
#define SELDOM_MS 100
#define NB_OFTEN  300 /* number of attempts to connect before SELDOM_MS applies */

/* --- fork() ------------------------------------------------------------------------------------- */

static pthread_once_t fork_handlers_once = PTHREAD_ONCE_INIT;
/*
 * Lock that guards `links`, the list of all connections of the process, and prevents a fork while a
 * descriptor is created.
 */
static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
static struct uroce_remote_link *links;

static void
prepare_fork(void)
{
	pthread_mutex_lock(&fork_lock);
}

static void
end_fork(void)
{
	pthread_mutex_unlock(&fork_lock);
}

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/*
 * Close all connections in a child of fork(). Their locks are initialized again, because a thread
 * that does not exist in the child may have held them.
 */
static void
close_in_child(void)
{
	for (struct uroce_remote_link *link = links; link; link = link->next) {
		pthread_mutex_init(&link->lock, NULL);
		/*
		 * The condition variable is initialized again, because threads of the parent, which
		 * do not exist in the child, may have waited for it.
		 */
		pthread_cond_init(&link->changed, NULL);
		close_fd(&link->fd);
		close_fd(&link->work_fd);
		link->is_ready = false;
		link->is_child = true;
	}
	links = NULL;
	pthread_mutex_unlock(&fork_lock);
}

static void
register_fork_handlers(void)
{
	(void)pthread_atfork(prepare_fork, end_fork, close_in_child);
}

static void
list_link(struct uroce_remote_link *link)
{
	pthread_once(&fork_handlers_once, register_fork_handlers);
	pthread_mutex_lock(&fork_lock);
	link->work_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	link->next = links;
	links = link;
	pthread_mutex_unlock(&fork_lock);
}

static void
unlist_link(struct uroce_remote_link *link)
{
	struct uroce_remote_link **at = &links;

	pthread_mutex_lock(&fork_lock);
	while (*at && *at != link)
		at = &(*at)->next;
	if (*at)
		*at = link->next;
	close_fd(&link->fd);
	close_fd(&link->work_fd);
	pthread_mutex_unlock(&fork_lock);
}

/* --- messages ----------------------------------------------------------------------------------- */

/*
 * Log that the connection manager has refused this client. After that nothing is logged until a
 * HELLO succeeds.
 */
static void
log_refusal(struct uroce_remote_link *link)
{
	struct uroce_mux_cm_reply *reply = &link->incoming;

	reply->why[sizeof(reply->why) - 1] = '\0';
	if (!link->is_refused)
		UROCE_LOG(ERR, port, "%s: refused: %s", link->path, reply->why);
	link->is_refused = true;
}

/*
 * Receive a message from the connection manager into `incoming`.
 * @return 1: there was a message; -EAGAIN: there is none; other -errno: the connection must be
 *         ended
 */
static int
receive_reply(struct uroce_remote_link *link)
{
	const ssize_t len =
		recv(link->fd, &link->incoming, sizeof(link->incoming), MSG_DONTWAIT | MSG_TRUNC);

	if (len < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (len == 0)
		return -ECONNRESET;
	if ((size_t)len > sizeof(link->incoming) ||
	    !uroce_mux_cm_is_reply(&link->incoming, (size_t)len))
		return -EPROTO;
	if (link->incoming.type != UROCE_MUX_CM_REFUSED)
		return 1;
	log_refusal(link);
	return -EPERM;
}

static int
send_request(struct uroce_remote_link *link, struct uroce_mux_cm_request *request)
{
	const size_t size = uroce_mux_cm_request_size(request->type);

	request->number = ++link->number;
	return send(link->fd, request, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int
uroce_remote_link_exchange(struct uroce_remote_link *link, struct uroce_mux_cm_request *request,
			   struct uroce_mux_cm_reply *reply)
{
	const time_t end = uroce_mux_client_now() + REPLY_S;
	int ret = send_request(link, request);

	while (ret == 0 && uroce_mux_client_now() <= end) {
		ret = receive_reply(link);
		if (ret == -EAGAIN) {
			uroce_mux_client_wait(link->fd, -1, 100);
			ret = 0;
		} else if (ret == 1 && link->incoming.number == request->number) {
			if (reply)
				*reply = link->incoming;
			return link->incoming.ret;
		} else if (ret == 1) {
			ret = 0;
		}
	}
	return -EIO;
}

/* --- connections -------------------------------------------------------------------------------- */

static int
connect_once(struct uroce_remote_link *link)
{
	int ret;

	pthread_mutex_lock(&fork_lock);
	ret = uroce_mux_connect(link->path);
	if (ret >= 0)
		link->fd = ret;
	pthread_mutex_unlock(&fork_lock);
	return ret;
}

static void
disconnect_link(struct uroce_remote_link *link)
{
	pthread_mutex_lock(&fork_lock);
	close_fd(&link->fd);
	pthread_mutex_unlock(&fork_lock);
}

/*
 * Connect to uroced's connection manager, and send HELLO.
 * @return 0, or -errno: there is no connection
 */
static int
connect_manager(struct uroce_remote_link *link)
{
	struct uroce_mux_cm_request hello = {
		.type = UROCE_MUX_CM_HELLO,
		.hello = { .version = UROCE_MUX_CM_VERSION },
	};
	const time_t end = uroce_mux_client_now() + REPLY_S;
	int ret;

	do {
		ret = connect_once(link);
	} while (uroce_mux_client_await_room(ret, end));
	if (ret < 0)
		return ret == -ENOENT ? -ECONNREFUSED : ret;
	ret = uroce_remote_link_exchange(link, &hello, NULL);
	if (ret < 0)
		disconnect_link(link);
	else
		link->is_refused = false;
	return ret;
}

static void
set_ready(struct uroce_remote_link *link)
{
	pthread_mutex_lock(&link->lock);
	link->ops->connected(link->arg);
	link->is_ready = true;
	pthread_cond_broadcast(&link->changed);
	pthread_mutex_unlock(&link->lock);
	/*
	 * The callback connected() drops an EVENTS message that arrives while it waits for a reply.
	 * So notify() is called after it, and the user of the connection takes the events.
	 */
	link->ops->notify(link->arg);
}

/*
 * Close a connection to the connection manager that has ended, and notify the user of the
 * connection.
 */
static void
lose_connection(struct uroce_remote_link *link)
{
	pthread_mutex_lock(&link->lock);
	link->is_ready = false;
	link->epoch++;
	if (!link->is_stopping)
		link->ops->lost(link->arg);
	pthread_cond_broadcast(&link->changed);
	pthread_mutex_unlock(&link->lock);
	disconnect_link(link);
	link->ops->notify(link->arg);
}

/* --- the thread of the connection --------------------------------------------------------------- */

static bool
is_link_stopping(struct uroce_remote_link *link)
{
	bool is_stopping;

	pthread_mutex_lock(&link->lock);
	is_stopping = link->is_stopping;
	pthread_mutex_unlock(&link->lock);
	return is_stopping;
}

/* Pass the received reply to the thread that waits for it. */
static void
pass_reply(struct uroce_remote_link *link)
{
	pthread_mutex_lock(&link->lock);
	if (link->is_calling && link->incoming.number == link->number) {
		link->reply = link->incoming;
		link->is_answered = true;
		pthread_cond_broadcast(&link->changed);
	}
	pthread_mutex_unlock(&link->lock);
}

/*
 * Receive messages of the connection manager until the connection ends, or the connection's thread
 * must stop.
 */
static void
serve_link(struct uroce_remote_link *link)
{
	while (!is_link_stopping(link)) {
		const int ret = receive_reply(link);

		if (ret == 1 && link->incoming.type == UROCE_MUX_CM_EVENTS)
			link->ops->notify(link->arg);
		else if (ret == 1)
			pass_reply(link);
		else if (ret == -EAGAIN)
			uroce_mux_client_wait(link->fd, link->work_fd, -1);
		else
			return;
	}
}

static void *
run_link(void *arg)
{
	struct uroce_remote_link *link = arg;
	unsigned nb_tries = 0;

	for (;;) {
		if (link->fd >= 0) {
			nb_tries = 0;
			serve_link(link);
			lose_connection(link);
		}
		if (is_link_stopping(link))
			return NULL;
		uroce_mux_client_wait(-1, link->work_fd,
				      link->is_refused || nb_tries++ > NB_OFTEN ? SELDOM_MS
										: RETRY_MS);
		if (!is_link_stopping(link) && connect_manager(link) == 0)
			set_ready(link);
	}
}

static int
start_link_thread(struct uroce_remote_link *link)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = uroce_dpdk_thread_start(&link->thread, "uroce-cm", run_link, link);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	link->has_thread = ret == 0;
	return ret;
}

/* --- functions for other files ------------------------------------------------------------------ */

int
uroce_remote_link_open(struct uroce_remote_link *link, const char *socket,
		       const struct uroce_remote_link_ops *ops, void *arg)
{
	pthread_condattr_t attr;
	int ret;

	memset(link, 0, sizeof(*link));
	(void)snprintf(link->path, sizeof(link->path), "%s" UROCE_MUX_CM_SUFFIX, socket);
	link->ops = ops;
	link->arg = arg;
	link->fd = link->work_fd = -1;
	pthread_mutex_init(&link->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&link->changed, &attr);
	pthread_condattr_destroy(&attr);
	list_link(link);
	ret = link->work_fd < 0 ? -EMFILE : connect_manager(link);
	if (ret == -ECONNREFUSED)
		UROCE_LOG_LIMITED(
			ERR, cm,
			"%s: no connection manager listens: this uroced was started with --no-cm, "
			"or with cm = no",
			link->path);
	link->is_ready = ret == 0;
	if (ret == 0)
		ret = start_link_thread(link);
	if (ret < 0)
		uroce_remote_link_close(link);
	return ret;
}

void
uroce_remote_link_close(struct uroce_remote_link *link)
{
	if (link->has_thread && !link->is_child) {
		pthread_mutex_lock(&link->lock);
		link->is_stopping = true;
		pthread_mutex_unlock(&link->lock);
		(void)eventfd_write(link->work_fd, 1);
		uroce_dpdk_thread_join(&link->thread);
	}
	unlist_link(link);
	pthread_cond_destroy(&link->changed);
	pthread_mutex_destroy(&link->lock);
}

static struct timespec
deadline_in(time_t seconds)
{
	struct timespec end;

	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	return end;
}

int
uroce_remote_link_await(struct uroce_remote_link *link)
{
	struct timespec end = deadline_in(RESTART_S);

	while (!link->is_child && !link->is_stopping && (!link->is_ready || link->is_calling)) {
		const bool is_late =
			pthread_cond_timedwait(&link->changed, &link->lock, &end) == ETIMEDOUT;

		if (is_late && !link->is_ready)
			break;
		/*
		 * The connection is ready, but another thread makes a request. Each request ends in
		 * a bounded time, so the time limit of the wait starts again.
		 */
		if (is_late)
			end = deadline_in(RESTART_S);
	}
	return link->is_ready && !link->is_calling && !link->is_stopping ? 0 : -EIO;
}

/*
 * End the connection to the connection manager. The connection's thread notices this, and connects
 * again.
 */
static int
end_connection(const struct uroce_remote_link *link)
{
	(void)shutdown(link->fd, SHUT_RDWR);
	return -EIO;
}

/*
 * Wait for the reply to a request. If no reply arrives in REPLY_S seconds, the connection is
 * ended. A reply is ignored if the connection has ended meanwhile, because the ids in the reply do
 * not exist any more.
 */
static int
await_reply(struct uroce_remote_link *link)
{
	const struct timespec end = deadline_in(REPLY_S);
	const uint64_t epoch = link->epoch;

	while (!link->is_answered && link->epoch == epoch) {
		if (pthread_cond_timedwait(&link->changed, &link->lock, &end) != ETIMEDOUT)
			continue;
		if (!link->is_answered && link->epoch == epoch)
			(void)end_connection(link);
		break;
	}
	return link->is_answered && link->epoch == epoch ? 0 : -EIO;
}

int
uroce_remote_link_call(struct uroce_remote_link *link, struct uroce_mux_cm_request *request,
		       struct uroce_mux_cm_reply *reply)
{
	int ret = uroce_remote_link_await(link);

	if (ret < 0)
		return ret;
	link->is_calling = true;
	link->is_answered = false;
	ret = send_request(link, request) < 0 ? end_connection(link) : await_reply(link);
	if (ret == 0) {
		ret = link->reply.ret;
		if (reply)
			*reply = link->reply;
	}
	link->is_calling = false;
	link->is_answered = false;
	pthread_cond_broadcast(&link->changed);
	return ret;
}
