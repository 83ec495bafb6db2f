/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state and the events of a port, as a context without objects and a context with some see
 * them. If the name of the port's interface is given, the program sets the interface down and up,
 * and expects events. Run under uroce-run.
 *
 *	test-programs-port [INTERFACE]
 */

#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#include "tap.h"

#define TIMEOUT_S 300 /* time limit for an event, which only a hang exceeds */

static enum ibv_port_state
state_of(struct ibv_context *context)
{
	struct ibv_port_attr attr;
	const int err = ibv_query_port(context, 1, &attr);

	errno = err;
	tap_need(err == 0, "ibv_query_port");
	return attr.state;
}

static void
set_interface(const char *name, bool is_up)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq req = { 0 };

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	tap_need(fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &req) == 0, name);
	req.ifr_flags = (short)(is_up ? req.ifr_flags | IFF_UP : req.ifr_flags & ~IFF_UP);
	tap_need(ioctl(fd, SIOCSIFFLAGS, &req) == 0, name);
	close(fd);
}

/*
 * Whether the next event of the port has this type. Events of GID changes are skipped. The
 * descriptor is polled first, as by programs with an event loop.
 */
static bool
is_next_event(struct ibv_context *context, enum ibv_event_type type)
{
	struct pollfd fd = { .fd = context->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	do {
		if (poll(&fd, 1, TIMEOUT_S * 1000) != 1)
			return false;
		alarm(TIMEOUT_S);
		if (ibv_get_async_event(context, &event) != 0)
			return false;
		alarm(0);
		ibv_ack_async_event(&event);
	} while (event.event_type == IBV_EVENT_GID_CHANGE);
	return event.event_type == type && event.element.port_num == 1;
}

static void
follow_interface(struct ibv_context *context, const char *name, const char *how)
{
	tap_test(state_of(context) == IBV_PORT_ACTIVE, "%s: the port is active", how);
	if (name == NULL)
		return;
	set_interface(name, false);
	tap_test(is_next_event(context, IBV_EVENT_PORT_ERR), "%s: the port's error is reported",
		 how);
	tap_test(state_of(context) == IBV_PORT_DOWN, "%s: the port is down", how);
	set_interface(name, true);
	tap_test(is_next_event(context, IBV_EVENT_PORT_ACTIVE), "%s: that it is active is reported",
		 how);
	tap_test(state_of(context) == IBV_PORT_ACTIVE, "%s: the port is active again", how);
}

/*
 * The port's state changes after the program has queried it, and before the program creates its
 * first object. Then there must be an event.
 */
static struct ibv_pd *
change_with_the_first_object(struct ibv_context *context, const char *name)
{
	if (name != NULL)
		set_interface(name, false);
	struct ibv_pd *const pd = ibv_alloc_pd(context);

	tap_need(pd != NULL, "ibv_alloc_pd");
	if (name != NULL) {
		tap_test(is_next_event(context, IBV_EVENT_PORT_ERR),
			 "with the first object: the port's error is reported");
		set_interface(name, true);
		tap_test(is_next_event(context, IBV_EVENT_PORT_ACTIVE),
			 "with the first object: that it is active is reported");
	}
	return pd;
}

/*
 * A child that was forked before the first object uses the device, and ends. The child's calls must
 * have no effect on events of the parent.
 */
static void
leave_it_to_a_child(struct ibv_context *context, const char *name)
{
	const pid_t pid = fork();
	int status = 1;

	tap_need(pid >= 0, "fork");
	if (pid == 0) {
		bool is_ok = ibv_alloc_pd(context) != NULL;

		if (name != NULL) {
			set_interface(name, false);
			is_ok &= is_next_event(context, IBV_EVENT_PORT_ERR);
			set_interface(name, true);
			is_ok &= is_next_event(context, IBV_EVENT_PORT_ACTIVE);
		}
		_exit(is_ok ? 0 : 1);
	}
	tap_need(waitpid(pid, &status, 0) == pid, "waitpid");
	tap_test(status == 0, "in a child: the port's events are reported");
}

int
main(int argc, char **argv)
{
	const char *const name = argc > 1 ? argv[1] : NULL;
	struct ibv_device **const list = ibv_get_device_list(NULL);

	tap_need(list != NULL && list[0] != NULL, "ibv_get_device_list");
	struct ibv_context *const context = ibv_open_device(list[0]);

	tap_need(context != NULL, "ibv_open_device");
	follow_interface(context, name, "without objects");
	leave_it_to_a_child(context, name);
	follow_interface(context, name, "behind a child");
	struct ibv_pd *const pd = change_with_the_first_object(context, name);

	follow_interface(context, name, "with a PD");
	tap_test(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0, "all of it goes again");
	ibv_free_device_list(list);
	return tap_end();
}
