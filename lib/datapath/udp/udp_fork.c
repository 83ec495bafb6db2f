/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The child of fork() closes the descriptors of the ports `udp`, which are in a list. A lock
 * prevents a fork while a descriptor is open and not in its port yet, or is closed and still in its
 * port.
 */

#include "datapath/udp/udp_fork.h"

#include <pthread.h>
#include <stddef.h>

#include "datapath/fds.h"
#include "datapath/udp/udp_port.h"
#include "datapath/udp/udp_queue.h"

static pthread_once_t fork_handlers_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
/* list of the ports `udp` of this process; guarded by fork_lock */
static struct uroce_udp_port *open_ports;

void
uroce_udp_fork_prevent(void)
{
	pthread_mutex_lock(&fork_lock);
}

void
uroce_udp_fork_allow(void)
{
	pthread_mutex_unlock(&fork_lock);
}

static void
close_queue_fds(struct uroce_udp_queue *queue)
{
	for (unsigned i = 0; i < queue->nb_sockets; i++)
		uroce_udp_socket_close(&queue->socket[i]);
	uroce_fds_close(&queue->epoll_fd);
}

/* In a child of fork(): close the descriptors of all ports `udp`. */
static void
close_in_child(void)
{
	for (struct uroce_udp_port *udp = open_ports; udp; udp = udp->next) {
		for (uint16_t i = 0; i < udp->nb_queues; i++)
			close_queue_fds(udp->queue[i]);
	}
	open_ports = NULL;
	pthread_mutex_unlock(&fork_lock);
}

static void
register_fork_handlers(void)
{
	(void)pthread_atfork(uroce_udp_fork_prevent, uroce_udp_fork_allow, close_in_child);
}

void
uroce_udp_fork_link(struct uroce_udp_port *udp)
{
	pthread_once(&fork_handlers_once, register_fork_handlers);
	pthread_mutex_lock(&fork_lock);
	udp->next = open_ports;
	open_ports = udp;
	pthread_mutex_unlock(&fork_lock);
}

void
uroce_udp_fork_unlink(struct uroce_udp_port *udp)
{
	struct uroce_udp_port **link = &open_ports;

	pthread_mutex_lock(&fork_lock);
	while (*link && *link != udp)
		link = &(*link)->next;
	if (*link)
		*link = udp->next;
	pthread_mutex_unlock(&fork_lock);
}
