/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The link of a planned port, which programs see before the port is open. One epoll descriptor
 * watches the sources of notifications: rtnetlink, or a connection to uroced, or a timer while
 * there is no connection. The epoll descriptor stays when its sources are closed. So a thread that
 * waits for the epoll descriptor need not be informed.
 */

#include "datapath/port/planned_link.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "datapath/uroced/mux_client.h"
#include "datapath/log.h"
#include "datapath/net/netlink.h"

#define RETRY_NS 100000000 /* time in nanoseconds between two attempts to connect to uroced */

struct uroce_planned_link {
	const struct uroce_port_plan *plan;
	const char *socket; /* path of uroced's socket */
	int epoll_fd;
	atomic_bool is_up;
	pthread_mutex_t lock; /* guards `change_fd`, `retry_fd` and `is_over` */
	/*
	 * The source of notifications: an rtnetlink socket, or the connection to uroced; -1:
	 * neither is open.
	 */
	int change_fd;
	int retry_fd; /* timer for the next attempt to connect to uroced; -1: no timer */
	bool is_over;
};

static bool
is_uroceds(const struct uroce_planned_link *link)
{
	return link->plan->host.frame_limit > 0;
}

static void
close_link_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/*
 * Remove a descriptor from the epoll set, and close it. To close it alone would not remove it from
 * the set, because a child of fork() may have the descriptor too.
 */
static void
unwatch_fd(struct uroce_planned_link *link, int *fd)
{
	if (*fd >= 0)
		(void)epoll_ctl(link->epoll_fd, EPOLL_CTL_DEL, *fd, NULL);
	close_link_fd(fd);
}

/* Add a descriptor to the epoll set. If that fails, the descriptor is closed, and `*out` is -1. */
static void
watch_fd(struct uroce_planned_link *link, int fd, int *out)
{
	struct epoll_event event = { .events = EPOLLIN };

	*out = fd;
	if (fd >= 0 && epoll_ctl(link->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		close_link_fd(out);
}

static void
watch_interface(struct uroce_planned_link *link)
{
	if (link->plan->if_index > 0)
		watch_fd(link, uroce_netlink_watch_links(), &link->change_fd);
}

int
uroce_planned_link_create(const struct uroce_port_plan *plan, const char *socket,
			  struct uroce_planned_link **out)
{
	struct uroce_planned_link *link = calloc(1, sizeof(*link));
	int ret;

	if (!link) {
		UROCE_LOG(ERR, mem, "no memory for a planned link");
		return -ENOMEM;
	}
	link->plan = plan;
	link->socket = socket;
	link->change_fd = link->retry_fd = -1;
	link->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (link->epoll_fd < 0) {
		ret = -errno;
		UROCE_LOG(ERR, port, "no descriptor for a planned link: %s", strerror(-ret));
		free(link);
		return ret;
	}
	pthread_mutex_init(&link->lock, NULL);
	watch_interface(link);
	atomic_init(&link->is_up, uroce_port_plan_is_up(plan));
	*out = link;
	return 0;
}

void
uroce_planned_link_destroy(struct uroce_planned_link *link)
{
	if (!link)
		return;
	close_link_fd(&link->change_fd);
	close_link_fd(&link->retry_fd);
	close_link_fd(&link->epoll_fd);
	pthread_mutex_destroy(&link->lock);
	free(link);
}

/*
 * Renew the planned link in a child of fork(). The lock is initialized again, because another
 * thread of the parent may have held it. The inherited descriptors stay in the epoll set of the
 * parent.
 */
void
uroce_planned_link_renew(struct uroce_planned_link *link)
{
	const int fd = epoll_create1(EPOLL_CLOEXEC);

	pthread_mutex_init(&link->lock, NULL);
	close_link_fd(&link->change_fd);
	close_link_fd(&link->retry_fd);
	if (fd < 0)
		return;
	(void)dup3(fd, link->epoll_fd, O_CLOEXEC);
	(void)close(fd);
	if (!link->is_over)
		watch_interface(link);
}

int
uroce_planned_link_fd(const struct uroce_planned_link *link)
{
	return link->epoll_fd;
}

bool
uroce_planned_link_is_up(const struct uroce_planned_link *link)
{
	return atomic_load(&link->is_up);
}

/* --- uroced ------------------------------------------------------------------------------------ */

/*
 * Start the timer for the next attempt to connect to uroced. A started timer polls readable only
 * when its time has come.
 */
static void
retry_later(struct uroce_planned_link *link)
{
	const struct itimerspec after = { .it_value.tv_nsec = RETRY_NS };

	if (link->retry_fd < 0)
		watch_fd(link, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
			 &link->retry_fd);
	if (link->retry_fd >= 0)
		(void)timerfd_settime(link->retry_fd, 0, &after, NULL);
}

/*
 * Connect to uroced. If that fails, a later attempt is scheduled.
 * @return whether uroced reports that its link is up
 */
static bool
connect_uroced(struct uroce_planned_link *link)
{
	struct uroce_mux_host host;

	watch_fd(link, uroce_mux_client_call(link->socket, &host), &link->change_fd);
	if (link->change_fd < 0) {
		retry_later(link);
		return false;
	}
	unwatch_fd(link, &link->retry_fd);
	return host.is_up;
}

/*
 * Receive the pending messages of uroced.
 * @return whether uroced reports that its link is up; false if the connection has ended
 */
static bool
recv_uroced(struct uroce_planned_link *link)
{
	union uroce_mux_message message;
	bool is_up = atomic_load(&link->is_up);
	int ret, fd;

	while ((ret = uroce_mux_receive(link->change_fd, &message, &fd)) == 1) {
		close_link_fd(&fd);
		if (message.type == UROCE_MUX_HOST &&
		    message.this_host.version == UROCE_MUX_VERSION)
			is_up = message.this_host.host.is_up;
	}
	if (ret == -EAGAIN || ret == -EINTR)
		return is_up;
	unwatch_fd(link, &link->change_fd);
	retry_later(link);
	return false;
}

/* --- all links --------------------------------------------------------------------------------- */

static bool
check_now(struct uroce_planned_link *link)
{
	if (is_uroceds(link))
		return link->change_fd < 0 ? connect_uroced(link) : recv_uroced(link);
	/*
	 * Discard the notifications of rtnetlink, which only tell that the link may have changed.
	 * The state of the link is queried from the interface.
	 */
	if (link->change_fd >= 0)
		(void)uroce_netlink_take_changes(link->change_fd, link->plan->if_index);
	return uroce_port_plan_is_up(link->plan);
}

bool
uroce_planned_link_check(struct uroce_planned_link *link)
{
	bool has_changed = false;

	pthread_mutex_lock(&link->lock);
	if (!link->is_over) {
		const bool is_up = check_now(link);

		has_changed = atomic_exchange(&link->is_up, is_up) != is_up;
	}
	pthread_mutex_unlock(&link->lock);
	return has_changed;
}

void
uroce_planned_link_end(struct uroce_planned_link *link)
{
	pthread_mutex_lock(&link->lock);
	link->is_over = true;
	unwatch_fd(link, &link->change_fd);
	unwatch_fd(link, &link->retry_fd);
	pthread_mutex_unlock(&link->lock);
}
