/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Clients of uroced and fork(). A child of fork() would keep the connection open, and uroced would
 * not notice when the client ends. So the child closes the descriptors that it inherits. A lock
 * prevents a fork while a descriptor is created or received.
 */

#include "datapath/uroced/mux_client.h"

#include <stddef.h>

#include "datapath/fds.h"

static pthread_once_t fork_handlers_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
/* List of this process's clients of uroced, one for each attached device; guarded by fork_lock. */
static struct uroce_mux_client *attached;

void
uroce_mux_client_prevent_fork(void)
{
	pthread_mutex_lock(&fork_lock);
}

void
uroce_mux_client_allow_fork(void)
{
	pthread_mutex_unlock(&fork_lock);
}

static void
close_fds(struct uroce_mux_client *client)
{
	uroce_fds_close(&client->fd);
	uroce_fds_close(&client->doorbell_fd);
	uroce_fds_close(&client->rx_wakeup_fd);
	uroce_fds_close(&client->work_fd);
	uroce_fds_close(&client->shm_fd);
}

/*
 * In a child of fork(): close the descriptors of all clients of uroced. The child has no mapping of
 * the shared memory, see mux_client_shm.c.
 */
static void
close_in_child(void)
{
	for (struct uroce_mux_client *at = attached; at; at = at->next) {
		close_fds(at);
		at->shm.mem = NULL;
	}
	attached = NULL;
	pthread_mutex_unlock(&fork_lock);
}

static void
register_fork_handlers(void)
{
	(void)pthread_atfork(uroce_mux_client_prevent_fork, uroce_mux_client_allow_fork,
			     close_in_child);
}

void
uroce_mux_client_link(struct uroce_mux_client *client)
{
	pthread_once(&fork_handlers_once, register_fork_handlers);
	pthread_mutex_lock(&fork_lock);
	client->next = attached;
	attached = client;
	pthread_mutex_unlock(&fork_lock);
}

void
uroce_mux_client_unlink(struct uroce_mux_client *client)
{
	struct uroce_mux_client **link = &attached;

	pthread_mutex_lock(&fork_lock);
	while (*link && *link != client)
		link = &(*link)->next;
	if (*link)
		*link = client->next;
	close_fds(client);
	pthread_mutex_unlock(&fork_lock);
}
