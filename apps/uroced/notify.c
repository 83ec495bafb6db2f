/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sends messages to the service manager by the protocol of sd_notify(3). The protocol is
 * documented, stable and short, so uroced needs no library of systemd. Each message is sent to the
 * address of the socket by name, because a service manager that starts again makes another socket
 * with the same name.
 */

#include "notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log_line.h"

/*
 * Set the address of the service manager's socket from `name`: a path, or '@' and an abstract name.
 * @return false if `name` is neither a path nor an abstract name
 */
static bool
set_address(struct notify *notify, const char *name)
{
	const size_t len = strlen(name);

	if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof(notify->addr.sun_path))
		return false;
	notify->addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(notify->addr.sun_path, name, len);
	/*
	 * in the socket address, a path ends with a zero byte, and an abstract name begins with one
	 */
	notify->addr_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len +
				       (name[0] == '/' ? 1 : 0));
	if (name[0] == '@')
		notify->addr.sun_path[0] = '\0';
	return true;
}

void
notify_open(struct notify *notify)
{
	const char *const name = getenv("NOTIFY_SOCKET");

	*notify = (struct notify){ .fd = -1 };
	if (!name || name[0] == '\0')
		return;
	if (!set_address(notify, name)) {
		log_line("NOTIFY_SOCKET=%s: no address of a socket: allowed is a path that begins "
			 "with /, or an abstract name that begins with @, of up to %zu characters",
			 name, sizeof(notify->addr.sun_path) - 1);
		return;
	}
	notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (notify->fd < 0)
		log_line("NOTIFY_SOCKET: no socket: %s", strerror(errno));
}

void
notify_close(struct notify *notify)
{
	if (notify->fd >= 0)
		(void)close(notify->fd);
	notify->fd = -1;
}

bool
notify_send(const struct notify *notify, const char *lines)
{
	return notify->fd < 0 ||
	       sendto(notify->fd, lines, strlen(lines), MSG_DONTWAIT | MSG_NOSIGNAL,
		      (const struct sockaddr *)&notify->addr, notify->addr_len) >= 0 ||
	       (errno != EAGAIN && errno != ENOBUFS);
}

/*
 * Read a number from an environment variable.
 * @return the number; 0 if the variable has no number
 */
static uint64_t
read_number(const char *name)
{
	const char *const text = getenv(name);
	char *end;
	const unsigned long long number = text ? strtoull(text, &end, 10) : 0;

	return text && *end == '\0' && text[0] != '-' ? number : 0;
}

uint64_t
notify_watchdog_ns(void)
{
	const uint64_t pid = read_number("WATCHDOG_PID");
	const uint64_t us = read_number("WATCHDOG_USEC");

	return (pid == 0 || pid == (uint64_t)getpid()) && us <= UINT64_MAX / 1000 ? us * 1000 : 0;
}
