/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The connection of this process, the client, to the daemon uroced. The client sends HELLO,
 * receives HOST, sends ATTACH, and receives ATTACHED, which completes the attachment. The thread
 * that creates the device makes the first attachment. Then the connection's thread receives the
 * messages of uroced. When the connection has ended, the thread connects again.
 *
 * The connection's thread also wakes threads that sleep until a frame arrives: when it receives the
 * message WAKE, it writes to an eventfd. Only the connection's thread reads the socket, so that no
 * other thread takes one of its messages. The eventfd is the same for all connections.
 *
 * A fork is prevented while a descriptor is created or received (mux_client_fork.c).
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "datapath/uroced/mux_client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <rte_lcore.h>

#include "datapath/clock.h"
#include "datapath/device/dev.h"
#include "datapath/fds.h"
#include "datapath/line_heap.h"
#include "datapath/port/link.h"
#include "datapath/log.h"
#include "datapath/port/port.h"
#include "datapath/device/qpn.h"
#include "datapath/worker/round.h"

/* Time in ms between two attempts to connect, if uroced refused the client or is away for long. */
#define LONG_RETRY_MS 100
/* number of failed attempts to connect after which uroced counts as away for long */
#define NB_RETRIES 300
/* number of messages of uroced that are handled before `is_broken` is checked */
#define MESSAGES_MAX 64

/* Log why uroced refused the client. Only the first refusal since the last attachment is logged. */
static void
log_refusal(struct uroce_mux_client *client, const char *why)
{
	if (!client->is_refused)
		UROCE_LOG(ERR, port, "%s: refused: %s", client->path, why);
	client->is_refused = true;
}

/* --- uroced's host ----------------------------------------------------------------------------- */

void
uroce_mux_client_host(struct uroce_mux_client *client, struct uroce_mux_host *host)
{
	pthread_mutex_lock(&client->lock);
	*host = client->host;
	pthread_mutex_unlock(&client->lock);
}

/* Whether two reports of uroced's host are equal in the properties that a device cannot change. */
static bool
is_same_host(const struct uroce_mux_host *a, const struct uroce_mux_host *b)
{
	return memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 && a->frame_limit == b->frame_limit &&
	       a->is_udp == b->is_udp && a->has_vlan == b->has_vlan &&
	       (!a->has_vlan || a->vlan_tci == b->vlan_tci);
}

static bool
is_usable_host(const struct uroce_mux_host *host)
{
	return host->frame_limit >= UROCE_SHM_FRAME_MIN &&
	       host->frame_limit <= UROCE_SHM_FRAME_MAX && host->nb_addr <= UROCE_MUX_ADDRS_MAX;
}

static void
update_link(struct uroce_mux_client *client)
{
	bool is_up;

	pthread_mutex_lock(&client->lock);
	is_up = client->is_attached && client->host.is_up;
	pthread_mutex_unlock(&client->lock);
	if (client->dev)
		uroce_link_set(client->port, is_up);
	else
		/* No event is raised, because the device does not exist yet. */
		atomic_store(&client->port->is_up, is_up);
}

static int
set_host(struct uroce_mux_client *client, const struct uroce_mux_this_host *message)
{
	const struct uroce_mux_host *host = &message->host;

	if (message->version != UROCE_MUX_VERSION || !is_usable_host(host)) {
		log_refusal(client, "uroced is of another version");
		return -EPROTO;
	}
	if (client->host.frame_limit > 0 && !is_same_host(host, &client->host)) {
		log_refusal(client, "uroced has another MAC, VLAN or longest frame now, or another "
				    "kind of port: allowed are those that it had");
		return -ESTALE;
	}
	pthread_mutex_lock(&client->lock);
	if (memcmp(&client->host, host, sizeof(*host)) != 0)
		atomic_store(&client->has_changes, true);
	client->host = *host;
	pthread_mutex_unlock(&client->lock);
	atomic_store_explicit(&client->mbps, host->mbps, memory_order_relaxed);
	update_link(client);
	return 0;
}

/* --- messages ---------------------------------------------------------------------------------- */

/*
 * Wake a thread that sleeps until a frame arrives. The woken thread then checks for frames and
 * other work.
 */
static void
wake_rx_sleeper(const struct uroce_mux_client *client)
{
	(void)eventfd_write(client->rx_wakeup_fd, 1);
}

/*
 * Replace the doorbell, by which the client wakes uroced, by that of a new connection. The new
 * doorbell is rung at once for frames that were put into the rings before.
 */
static void
replace_doorbell(struct uroce_mux_client *client, int *fd)
{
	(void)dup3(*fd, client->doorbell_fd, O_CLOEXEC);
	uroce_fds_close(fd);
	(void)eventfd_write(client->doorbell_fd, 1);
}

/*
 * Receive a message of uroced. A descriptor that arrives with the message ATTACHED is the doorbell.
 * @return as uroce_mux_receive(), but -ECONNRESET instead of 0
 */
static int
recv_message(struct uroce_mux_client *client)
{
	int ret, fd;

	uroce_mux_client_prevent_fork();
	ret = uroce_mux_receive(client->fd, &client->message, &fd);
	if (fd >= 0 && client->message.type == UROCE_MUX_ATTACHED)
		replace_doorbell(client, &fd);
	uroce_fds_close(&fd);
	uroce_mux_client_allow_fork();
	return ret == 0 ? -ECONNRESET : ret;
}

static int
recv_refused(struct uroce_mux_client *client)
{
	const int error = client->message.refused.error;
	char why[256];

	uroce_mux_client_format_refusal(&client->message, why);
	log_refusal(client, why);
	return error > 0 && error < 4096 ? -error : -EPERM;
}

/*
 * Handle the message of uroced that was received last.
 * @return 0, or -errno: the connection must be ended
 */
static int
handle_message(struct uroce_mux_client *client)
{
	const union uroce_mux_message *message = &client->message;

	switch (message->type) {
	case UROCE_MUX_HOST:
		return set_host(client, &message->this_host);
	case UROCE_MUX_ATTACHED:
		uroce_mux_client_take_good(client, &message->attached);
		return 0;
	case UROCE_MUX_LEASED:
		uroce_mux_client_take_leased(client, &message->leased);
		return 0;
	case UROCE_MUX_WAKE:
		wake_rx_sleeper(client);
		return 0;
	case UROCE_MUX_REFUSED:
		return recv_refused(client);
	}
	return -EPROTO;
}

/*
 * Handle messages of uroced until a message of type `type` was handled.
 * @return 0, or -errno
 */
static int
await_message(struct uroce_mux_client *client, enum uroce_mux_type type)
{
	const uint64_t end_ns = uroce_clock_ns() + UROCE_MUX_CLIENT_REPLY_NS;

	while (!atomic_load(&client->is_stopping) && uroce_clock_ns() < end_ns) {
		int ret = recv_message(client);

		if (ret == -EAGAIN) {
			uroce_mux_client_wait(client->fd, client->work_fd, 1000);
			continue;
		}
		if (ret > 0)
			ret = handle_message(client);
		if (ret < 0 || client->message.type == type)
			return ret;
	}
	return -ETIMEDOUT;
}

/* --- attach ------------------------------------------------------------------------------------ */

static int
try_to_connect(struct uroce_mux_client *client)
{
	int fd;

	uroce_mux_client_prevent_fork();
	fd = uroce_mux_client_connect(client->path);
	pthread_mutex_lock(&client->lock);
	client->fd = fd < 0 ? -1 : fd;
	pthread_mutex_unlock(&client->lock);
	uroce_mux_client_allow_fork();
	return fd;
}

static int
connect_mux(struct uroce_mux_client *client)
{
	const time_t end =
		uroce_mux_client_now() + (time_t)(UROCE_MUX_CLIENT_REPLY_NS / 1000000000);
	int fd;

	do {
		fd = try_to_connect(client);
	} while (!atomic_load(&client->is_stopping) && uroce_mux_client_await_room(fd, end));
	return fd < 0 ? fd : uroce_mux_client_send_hello(fd);
}

static int
send_attach(struct uroce_mux_client *client)
{
	union uroce_mux_message *message = &client->message;

	pthread_mutex_lock(&client->lock);
	message->attach = (struct uroce_mux_attach){
		.type = UROCE_MUX_ATTACH,
		.version = UROCE_MUX_VERSION,
		.nb_leases = client->nb_leases,
		.plan = client->shm.plan,
	};
	memcpy(message->attach.lease, client->lease, client->nb_leases * sizeof(client->lease[0]));
	pthread_mutex_unlock(&client->lock);
	return uroce_mux_send(client->fd, message, client->shm_fd);
}

/*
 * Connect to uroced and attach this client.
 * @return 0, or -errno: there is no connection, or the connection must be ended
 */
static int
attach_now(struct uroce_mux_client *client)
{
	int ret = connect_mux(client);

	if (ret == 0)
		ret = await_message(client, UROCE_MUX_HOST);
	if (ret == 0)
		ret = uroce_mux_client_prepare_shm(client);
	/* Clear `is_broken`, which described the previous connection. */
	atomic_store(&client->is_broken, false);
	if (ret == 0)
		ret = send_attach(client);
	if (ret == 0)
		ret = await_message(client, UROCE_MUX_ATTACHED);
	if (ret < 0)
		return ret;
	client->is_refused = false;
	wake_rx_sleeper(client);
	update_link(client);
	return 0;
}

static void
close_connection(struct uroce_mux_client *client)
{
	const bool was_attached = client->is_attached;

	uroce_mux_client_prevent_fork();
	pthread_mutex_lock(&client->lock);
	uroce_fds_close(&client->fd);
	client->is_attached = false;
	client->is_leasing = false;
	pthread_cond_broadcast(&client->changed);
	pthread_mutex_unlock(&client->lock);
	uroce_mux_client_allow_fork();
	if (!was_attached)
		return;
	update_link(client);
	/* uroced may have put a frame into a ring, and ended before it sent the message WAKE. */
	wake_rx_sleeper(client);
}

/* --- the connection's thread ------------------------------------------------------------------- */

/*
 * Handle messages of uroced until the connection ends.
 * @return why the connection ended, as -errno; 0: the thread must stop
 */
static int
serve_connection(struct uroce_mux_client *client)
{
	unsigned nb = 0;

	while (!atomic_load(&client->is_stopping)) {
		int ret = recv_message(client);

		if (ret > 0)
			ret = handle_message(client);
		if (ret < 0 && ret != -EAGAIN)
			return ret;
		if (ret == -EAGAIN || ++nb % MESSAGES_MAX == 0) {
			if (atomic_load(&client->is_broken))
				return -EPROTO;
			uroce_mux_client_wait(client->fd, client->work_fd, -1);
		}
	}
	return 0;
}

static void *
run_mux_thread(void *arg)
{
	struct uroce_mux_client *client = arg;
	unsigned nb_tries = 0; /* number of failed attempts to connect */
	int ret;

	for (;;) {
		if (client->is_attached) {
			nb_tries = 0;
			ret = serve_connection(client);
			if (ret < 0)
				UROCE_LOG(WARNING, port, "%s: the connection was lost: %s",
					  client->path, strerror(-ret));
		} else {
			ret = attach_now(client);
			if (ret == 0)
				continue;
		}
		if (atomic_load(&client->is_stopping))
			return NULL;
		close_connection(client);
		/*
		 * While uroced is away, replace shared memory that it has sealed, so that a later
		 * attachment need not wait for the replacement.
		 */
		(void)uroce_mux_client_prepare_shm(client);
		nb_tries++;
		uroce_mux_client_wait(-1, client->work_fd,
				      client->is_refused || nb_tries > NB_RETRIES
					      ? LONG_RETRY_MS
					      : UROCE_MUX_CLIENT_RETRY_MS);
	}
}

int
uroce_mux_client_watch(struct uroce_mux_client *client, struct uroce_dev *dev)
{
	sigset_t all, before;
	int ret;

	client->dev = dev;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = uroce_dpdk_thread_start(&client->thread, "uroce-attach", run_mux_thread, client);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret == 0)
		return 0;
	client->dev = NULL;
	UROCE_LOG(ERR, port, "%s: no thread for the connection: %s", client->path, strerror(-ret));
	return ret;
}

void
uroce_mux_client_unwatch(struct uroce_mux_client *client)
{
	if (!client->dev)
		return;
	atomic_store(&client->is_stopping, true);
	(void)eventfd_write(client->work_fd, 1);
	uroce_dpdk_thread_join(&client->thread);
	client->dev = NULL;
}

/* --- creation and destruction ------------------------------------------------------------------ */

static int
create_fds(struct uroce_mux_client *client)
{
	const int flags = EFD_CLOEXEC | EFD_NONBLOCK;

	uroce_mux_client_prevent_fork();
	client->doorbell_fd = eventfd(0, flags);
	client->rx_wakeup_fd = eventfd(0, flags);
	client->work_fd = eventfd(0, flags);
	uroce_mux_client_allow_fork();
	return client->doorbell_fd < 0 || client->rx_wakeup_fd < 0 || client->work_fd < 0 ? -errno
											  : 0;
}

static struct uroce_mux_client *
create_client(struct uroce_port *port, const struct uroce_dev_conf *conf)
{
	struct uroce_mux_client *client = uroce_line_heap_alloc(sizeof(*client));
	const size_t len = conf->nb_workers * sizeof(client->pair[0]);
	pthread_condattr_t attr;

	if (!client)
		return NULL;
	client->pair = uroce_line_heap_alloc(len);
	if (!client->pair) {
		free(client->pair);
		free(client);
		return NULL;
	}
	client->port = port;
	client->path = conf->socket;
	client->nb_pairs = conf->nb_workers;
	client->nb_bindings = RTE_MAX(uroce_qpn_table_slots(conf->max_qp), UROCE_BINDINGS_MIN);
	/* The connection manager inherits its uroced connection, and leases QPN block 0 (QPN 1). */
	client->nb_leases = uroce_mux_client_is_inherited(client->path);
	client->fd = client->doorbell_fd = client->rx_wakeup_fd = -1;
	client->work_fd = client->shm_fd = -1;
	pthread_mutex_init(&client->lock, NULL);
	pthread_mutex_init(&client->binding_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&client->changed, &attr);
	pthread_condattr_destroy(&attr);
	uroce_mux_client_link(client);
	return client;
}

int
uroce_mux_client_open(struct uroce_port *port, const struct uroce_dev_conf *conf,
		      const struct uroce_mux_host *known)
{
	struct uroce_mux_client *client = create_client(port, conf);
	int ret;

	if (!client) {
		UROCE_LOG(ERR, mem, "no memory for the connection to uroced");
		return -ENOMEM;
	}
	if (known)
		client->host = *known;
	ret = create_fds(client);
	if (ret == 0)
		ret = attach_now(client);
	if (ret == 0) {
		port->mux_client = client;
		return 0;
	}
	if (!client->is_refused)
		uroce_mux_client_log_absence(client->path, ret);
	uroce_mux_client_close(client);
	return ret;
}

void
uroce_mux_client_close(struct uroce_mux_client *client)
{
	if (!client)
		return;
	uroce_mux_client_unwatch(client);
	uroce_mux_client_unlink(client);
	uroce_shm_unmap(&client->shm);
	pthread_cond_destroy(&client->changed);
	pthread_mutex_destroy(&client->binding_lock);
	pthread_mutex_destroy(&client->lock);
	free(client->pair);
	free(client);
}
