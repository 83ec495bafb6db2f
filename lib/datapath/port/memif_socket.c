/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The sockets of a memif port. A client has one socket, whose peer has the path of the server as
 * its name. A server has a listener, and a connection for each client. The name of each of these
 * sockets is the path of the server.
 *
 * EAL's interrupt thread watches these sockets. The driver leaves sockets to EAL that EAL must not
 * use any more, in two cases:
 *
 * - If a client leaves before the server greets it, the driver closes the connection, but does not
 *   unregister it. EAL calls rte_panic() when it next adds the closed descriptor to an epoll
 *   instance. A client can leave that early because it is killed, or because the server gets no CPU
 *   time for some seconds.
 * - A server that is stopped or destroyed keeps its listener, and accepts clients. The memory of
 *   the listener is freed when the port is destroyed, and rte_eal_cleanup() unmaps it. The
 *   interrupt thread would use this memory as soon as a client connects or leaves.
 *
 * The library cannot unregister such a socket, because EAL requires the address of the driver's
 * callback. So another file takes its place, under the same descriptor: an eventfd that is never
 * readable. EAL may add the descriptor to an epoll instance, and gets no event of it. When a device
 * is created on a closed server again, a new listener takes the place of the eventfd. Everything in
 * this file that changes a socket runs in the interrupt thread, so that the driver does not use the
 * socket meanwhile.
 */

#include "datapath/dpdk.h"
#include "datapath/port/memif_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <rte_common.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_kvargs.h>

#include "datapath/fds.h"
#include "datapath/intr_call.h"
#include "datapath/log.h"

/* Path of the socket of a memif port whose arguments contain no path. */
#define MEMIF_SOCKET "/run/memif.sock"

/* type of getsockname() and getpeername() */
typedef int (*get_name_fn)(int fd, struct sockaddr *name, socklen_t *len);

/*
 * Copy the socket path of a memif port: the path of a file, or the name of an abstract socket.
 * @return whether the port has a path
 */
static bool
copy_path(uint16_t port_id, struct sockaddr_un *un)
{
	struct rte_eth_dev_info info;
	const struct rte_devargs *args;
	struct rte_kvargs *pairs;
	const char *path;

	if (rte_eth_dev_info_get(port_id, &info) < 0)
		return false;
	args = rte_dev_devargs(info.device);
	pairs = args ? rte_kvargs_parse(args->args, NULL) : NULL;
	path = pairs ? rte_kvargs_get(pairs, "socket") : NULL;
	*un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	strncpy(un->sun_path, path ? path : MEMIF_SOCKET, sizeof(un->sun_path) - 1);
	rte_kvargs_free(pairs);
	return true;
}

static bool
has_name(int fd, get_name_fn get_name, const struct sockaddr_un *un)
{
	struct sockaddr_un name = { 0 };
	socklen_t len = sizeof(name);

	if (get_name(fd, (struct sockaddr *)&name, &len) < 0 || name.sun_family != AF_UNIX)
		return false;
	/* the name of an abstract socket begins with a zero byte, which is skipped */
	return strncmp(name.sun_path + (name.sun_path[0] == '\0'), un->sun_path,
		       sizeof(name.sun_path) - 1) == 0;
}

bool
uroce_memif_socket_is_connected(const struct uroce_port *port)
{
	struct sockaddr_un un;
	struct uroce_fds fds;
	int fd;

	if (!copy_path(port->id, &un))
		return false;
	uroce_fds_begin(&fds);
	while ((fd = uroce_fds_next(&fds)) >= 0 && !has_name(fd, getpeername, &un))
		;
	uroce_fds_end(&fds);
	return fd >= 0;
}

/*
 * An interrupt callback that is never registered. is_source() asks EAL to unregister this callback,
 * so that EAL looks up an interrupt source without changing it.
 */
static void
do_nothing(void *arg)
{
	(void)arg;
}

static struct rte_intr_handle *
create_handle(int fd)
{
	struct rte_intr_handle *handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);

	if (!handle)
		return NULL;
	(void)rte_intr_fd_set(handle, fd);
	(void)rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT);
	return handle;
}

/*
 * Whether EAL has an interrupt source for a file descriptor. The call does not change the source.
 */
static bool
is_source(struct rte_intr_handle *handle, int fd)
{
	return rte_intr_fd_set(handle, fd) == 0 &&
	       rte_intr_callback_unregister_pending(handle, do_nothing, NULL, NULL) != -ENOENT;
}

/* Replace an open or closed descriptor by an eventfd that is never readable. */
static void
replace_fd(int fd)
{
	int never_ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (never_ready < 0 || never_ready == fd)
		return;
	(void)dup3(never_ready, fd, O_CLOEXEC);
	(void)close(never_ready);
}

static int
find_highest_fd(void)
{
	struct uroce_fds fds;
	int fd, highest = -1;

	uroce_fds_begin(&fds);
	while ((fd = uroce_fds_next(&fds)) >= 0)
		highest = RTE_MAX(highest, fd);
	uroce_fds_end(&fds);
	return highest;
}

/*
 * Replace the descriptors that the memif driver has closed and that are still interrupt sources of
 * EAL. This function is a callback for the driver's listener. EAL calls it after the driver's
 * callback of the same event, and before it adds descriptors to an epoll instance. The kernel gave
 * the lowest free number to the closed descriptor, so it is at most one above the highest open one.
 */
static void
replace_closed(void *arg)
{
	struct rte_intr_handle *handle = create_handle(-1);
	const int highest = find_highest_fd();

	(void)arg;
	for (int fd = 0; handle && fd <= highest + 1; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && is_source(handle, fd))
			replace_fd(fd);
	}
	rte_intr_instance_free(handle);
}

static bool
is_listener(int fd, const struct sockaddr_un *un)
{
	int listens = 0;
	socklen_t len = sizeof(listens);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens &&
	       has_name(fd, getsockname, un);
}

/* The listening socket of the memif servers that have the same socket path. */
struct listener {
	struct sockaddr_un un; /* path of the listening socket; empty: the entry is unused */
	/* name of the listening socket; valid if the socket has been closed */
	struct sockaddr_un name;
	socklen_t name_len;
	unsigned nb_open; /* number of open ports that use the listening socket */
	/* descriptor number of the listening socket if it has been closed; -1: it is open */
	int closed_fd;
};

/*
 * The listening sockets of this process's memif servers. Only EAL's interrupt thread uses the
 * array.
 */
static struct listener listeners[RTE_MAX_ETHPORTS];

/*
 * Find the entry of a socket path in `listeners`, or make one. There are as many entries as ports.
 */
static struct listener *
get_listener(const struct sockaddr_un *un)
{
	struct listener *listener = listeners;

	while (listener->un.sun_path[0] != '\0' &&
	       strcmp(listener->un.sun_path, un->sun_path) != 0 &&
	       listener < &listeners[RTE_DIM(listeners) - 1])
		listener++;
	if (listener->un.sun_path[0] == '\0')
		*listener = (struct listener){ .un = *un, .closed_fd = -1 };
	return listener;
}

/*
 * Add the library's callback to a memif server's listening socket, once. EAL then builds its epoll
 * instance again. A port that the DPDK application has handed over may be a client, which has no
 * listener: `fd` is -1.
 */
static void
watch_listener(int fd)
{
	struct rte_intr_handle *handle = fd >= 0 ? create_handle(fd) : NULL;

	if (!handle)
		return;
	(void)rte_intr_callback_unregister(handle, replace_closed, NULL);
	(void)rte_intr_callback_register(handle, replace_closed, NULL);
	rte_intr_instance_free(handle); /* EAL has its own copy of the interrupt handle */
}

/*
 * Find the open listening socket of a memif server by its path.
 * @return the descriptor of the socket; -1: there is none
 */
static int
find_listener(const struct sockaddr_un *un)
{
	struct uroce_fds fds;
	int fd;

	uroce_fds_begin(&fds);
	while ((fd = uroce_fds_next(&fds)) >= 0 && !is_listener(fd, un))
		;
	uroce_fds_end(&fds);
	return fd;
}

static bool
listen_again(int fd, const struct listener *listener)
{
	const int on = 1;

	if (listener->name.sun_path[0] != '\0')
		(void)unlink(listener->name.sun_path);
	return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0 &&
	       bind(fd, (const struct sockaddr *)&listener->name, listener->name_len) == 0 &&
	       listen(fd, 1) == 0 && dup3(fd, listener->closed_fd, O_CLOEXEC) >= 0;
}

/*
 * Listen again on the path of a closed listening socket, as the memif driver did when it created
 * the port.
 */
static int
reopen_listener(const struct listener *listener)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const int ret = fd >= 0 && listen_again(fd, listener) ? 0 : -errno;

	uroce_fds_close(&fd);
	return ret;
}

static void
close_listener(struct listener *listener)
{
	struct uroce_fds fds;
	int fd = find_listener(&listener->un);

	listener->closed_fd = fd;
	listener->name_len = sizeof(listener->name);
	if (fd < 0 || getsockname(fd, (struct sockaddr *)&listener->name, &listener->name_len) < 0)
		return;
	uroce_fds_begin(&fds);
	while ((fd = uroce_fds_next(&fds)) >= 0) {
		if (has_name(fd, getsockname, &listener->un))
			replace_fd(fd);
	}
	uroce_fds_end(&fds);
}

/*
 * Block SIGPIPE in EAL's interrupt thread. The memif driver sends messages to a peer that may have
 * left, and the default action of the signal would end this process.
 */
static void
block_broken_pipe(void)
{
	sigset_t broken_pipe;

	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &broken_pipe, NULL);
}

/*
 * Open the listening socket of memif servers again, if it was closed. The driver may have opened a
 * new one meanwhile, if the port was unplugged and plugged again.
 */
static int
open_listener(struct listener *listener)
{
	const bool is_closed = listener->closed_fd >= 0 && find_listener(&listener->un) < 0;
	const int ret = is_closed ? reopen_listener(listener) : 0;

	if (ret < 0)
		return ret;
	listener->closed_fd = -1;
	watch_listener(find_listener(&listener->un));
	return 0;
}

/* The arguments and the result of open_sockets(). */
struct opening {
	struct uroce_port *port;
	int ret;
};

static void
open_sockets(void *arg)
{
	struct opening *opening = arg;
	struct uroce_port *port = opening->port;
	struct listener *listener;
	struct sockaddr_un un;

	block_broken_pipe();
	if (port->is_client || !copy_path(port->id, &un))
		return;
	listener = get_listener(&un);
	opening->ret = open_listener(listener);
	if (opening->ret < 0)
		return;
	listener->nb_open++;
	port->has_listener = true;
}

int
uroce_memif_socket_open(struct uroce_port *port)
{
	struct opening opening = { .port = port };

	uroce_intr_call_run(open_sockets, &opening);
	if (opening.ret < 0)
		UROCE_LOG(ERR, port, "%s: cannot listen on its memif socket: %s", port->name,
			  strerror(-opening.ret));
	return opening.ret;
}

void
uroce_memif_socket_close(struct uroce_port *port)
{
	struct listener *listener;
	struct sockaddr_un un;

	if (!port->has_listener || !copy_path(port->id, &un))
		return;
	port->has_listener = false;
	listener = get_listener(&un);
	if (--listener->nb_open == 0)
		close_listener(listener);
}
