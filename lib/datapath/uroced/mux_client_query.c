/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Requests to uroced that need no struct uroce_mux_client: connect, send HELLO, receive HOST, and
 * read the content of HOST.
 */

#include "datapath/uroced/mux_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <rte_common.h>
#include <rte_cycles.h>

#include "datapath/net/gid_table.h"
#include "datapath/log.h"

/*
 * Time in ms between two attempts to connect while the queue of uroced's listening socket is full.
 */
#define FULL_MS 1

void
uroce_mux_client_log_absence(const char *path, int err)
{
	if (err == -EACCES || err == -EPERM)
		UROCE_LOG(ERR, port,
			  "uroced: %s: no permission: allowed are users who may write to the "
			  "socket, by its owner, group and mode (ls -l %s)",
			  path, path);
	else
		UROCE_LOG(ERR, port,
			  "uroced: %s: %s: allowed is the socket of a running uroced "
			  "(socket=PATH)",
			  path, strerror(-err));
}

int
uroce_mux_client_send_hello(int fd)
{
	union uroce_mux_message message = { .hello = { .type = UROCE_MUX_HELLO,
						       .version = UROCE_MUX_VERSION } };

	return uroce_mux_send(fd, &message, -1);
}

void
uroce_mux_client_format_refusal(const union uroce_mux_message *message, char why[256])
{
	const size_t room = sizeof(message->refused.why);

	memcpy(why, message->refused.why, room);
	why[room - 1] = '\0';
}

void
uroce_mux_client_wait(int fd, int work_fd, int ms)
{
	struct pollfd fds[] = { { fd, POLLIN, 0 }, { work_fd, POLLIN, 0 } };
	eventfd_t nothing;

	if (poll(fds, RTE_DIM(fds), ms) <= 0)
		return;
	if ((fds[0].revents | fds[1].revents) & POLLNVAL)
		/*
		 * The process has closed a descriptor, so that poll() returns at once. The function
		 * sleeps instead, so that its caller does not spin.
		 */
		rte_delay_us_sleep(UROCE_MUX_CLIENT_RETRY_MS * 1000);
	else if (fds[1].revents)
		(void)eventfd_read(work_fd, &nothing);
}

/*
 * Send HELLO to uroced, and receive its reply HOST.
 * @return 0, or -errno
 */
static int
recv_host(int fd, union uroce_mux_message *message)
{
	const time_t end =
		uroce_mux_client_now() + (time_t)(UROCE_MUX_CLIENT_REPLY_NS / 1000000000);
	int ret = uroce_mux_client_send_hello(fd), other = -1;

	if (ret == 0)
		ret = -EAGAIN;
	while (ret == -EAGAIN && uroce_mux_client_now() <= end) {
		ret = uroce_mux_receive(fd, message, &other);
		if (ret == -EAGAIN)
			uroce_mux_client_wait(fd, -1, 1000);
	}
	if (other >= 0)
		(void)close(other);
	if (ret == 1 && message->type == UROCE_MUX_HOST &&
	    message->this_host.version == UROCE_MUX_VERSION)
		return 0;
	if (ret == 1 && message->type == UROCE_MUX_REFUSED)
		return message->refused.error > 0 ? -message->refused.error : -EPERM;
	return ret == 1 ? -EPROTO : ret == 0 ? -ECONNRESET : ret == -EAGAIN ? -ETIMEDOUT : ret;
}

bool
uroce_mux_client_is_inherited(const char *path)
{
	return strncmp(path, UROCE_MUX_CLIENT_FD, strlen(UROCE_MUX_CLIENT_FD)) == 0;
}

int
uroce_mux_client_connect(const char *path)
{
	int fd;

	if (!uroce_mux_client_is_inherited(path))
		return uroce_mux_connect(path);
	fd = fcntl((int)strtol(path + strlen(UROCE_MUX_CLIENT_FD), NULL, 10), F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

time_t
uroce_mux_client_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

bool
uroce_mux_client_await_room(int ret, time_t end)
{
	if (ret != -EAGAIN || uroce_mux_client_now() > end)
		return false;
	rte_delay_us_sleep(FULL_MS * 1000);
	return true;
}

/*
 * Connect to uroced, send HELLO, and receive the message HOST.
 * @return descriptor of the connection, or -errno
 */
static int
connect_host(const char *path, union uroce_mux_message *message)
{
	const time_t end =
		uroce_mux_client_now() + (time_t)(UROCE_MUX_CLIENT_REPLY_NS / 1000000000);
	int fd, ret;

	do {
		fd = uroce_mux_connect(path);
	} while (uroce_mux_client_await_room(fd, end));
	ret = fd < 0 ? fd : recv_host(fd, message);
	if (ret == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return ret;
}

int
uroce_mux_client_call(const char *path, struct uroce_mux_host *host)
{
	union uroce_mux_message message = { .type = 0 };
	const int fd = connect_host(path, &message);

	if (fd >= 0)
		*host = message.this_host.host;
	return fd;
}

int
uroce_mux_client_query_host(const char *path, struct uroce_mux_host *host)
{
	union uroce_mux_message message = { .type = 0 };
	const int fd = connect_host(path, &message);
	char why[256];

	if (fd >= 0) {
		*host = message.this_host.host;
		(void)close(fd);
		return 0;
	}
	if (message.type == UROCE_MUX_REFUSED) {
		uroce_mux_client_format_refusal(&message, why);
		UROCE_LOG(ERR, port, "%s: refused: %s", path, why);
	} else {
		uroce_mux_client_log_absence(path, fd);
	}
	return fd;
}

int
uroce_mux_client_addrs(const struct uroce_mux_host *host,
		       struct uroce_addr addr[UROCE_MUX_ADDRS_MAX])
{
	const uint32_t nb = RTE_MIN(host->nb_addr, UROCE_MUX_ADDRS_MAX);

	static_assert(UROCE_MUX_ADDRS_MAX == UROCE_GIDS_MAX, "all fit");
	for (uint32_t i = 0; i < nb; i++) {
		memcpy(addr[i].ip, host->addr[i].ip, sizeof(addr[i].ip));
		addr[i].prefix_len = (uint8_t)RTE_MIN(host->addr[i].prefix_len, 128);
	}
	return (int)nb;
}

void
uroce_mux_client_adopt(struct uroce_dev_conf *conf, const struct uroce_mux_host *host)
{
	memcpy(conf->gw4, host->gw4, sizeof(conf->gw4));
	memcpy(conf->gw6, host->gw6, sizeof(conf->gw6));
	conf->has_vlan = host->has_vlan;
	conf->vlan_tci = host->vlan_tci;
	if (conf->path_mtu == 0)
		conf->path_mtu = host->path_mtu;
}
