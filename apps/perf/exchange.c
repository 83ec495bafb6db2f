/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The TCP connection between the two sides. Reception does not block, because a side that waits for
 * a line must drive its workers meanwhile. TCP keep-alive detects a peer whose link has failed.
 */

#include "exchange.h"
#include "stop.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_MS 5000

static void
set_keepalive(int fd)
{
	const int on = 1, idle_s = 5, interval_s = 1, count = 5;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

/* Create a listening socket. If the machine has IPv6, the socket accepts IPv6 and IPv4. */
static int
listen_on(uint16_t port)
{
	const int on = 1, off = 0;
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in any4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr *any = (struct sockaddr *)&any6;
	socklen_t len = sizeof(any6);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	} else {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		any = (struct sockaddr *)&any4;
		len = sizeof(any4);
	}
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, any, len) == 0 && listen(fd, 1) == 0)
		return fd;
	int why = errno;
	close(fd);
	errno = why;
	return -1;
}

int
exchange_accept(struct exchange *exchange, uint16_t port)
{
	int listener = listen_on(port);

	exchange->fd = -1;
	exchange->in_len = 0;
	if (listener < 0) {
		fprintf(stderr, "uroce-perf: TCP port %u: %s; allowed: a free one (--port)\n", port,
			strerror(errno));
		return -1;
	}
	/* A tool that starts the server waits for this line before it starts the client. */
	printf(" waiting for a client on TCP port %u\n", port);
	fflush(stdout);
	while (!stop_is_asked()) {
		struct pollfd waiting = { .fd = listener, .events = POLLIN };

		if (poll(&waiting, 1, 200) <= 0)
			continue;
		exchange->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (exchange->fd >= 0)
			break;
	}
	close(listener);
	if (exchange->fd < 0)
		return -1;
	set_keepalive(exchange->fd);
	return 0;
}

/* Call connect() with a timeout. Afterwards the socket is in blocking mode again. */
static int
connect_within(int fd, const struct addrinfo *to)
{
	struct timeval limit = { .tv_sec = CONNECT_MS / 1000 };
	struct timeval none = { 0 };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
		if (errno == EINPROGRESS)
			errno = ETIMEDOUT;
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
	return 0;
}

int
exchange_connect(struct exchange *exchange, const char *server, uint16_t port)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	char service[8];
	int fd = -1;

	exchange->fd = -1;
	exchange->in_len = 0;
	snprintf(service, sizeof(service), "%u", port);
	int error = getaddrinfo(server, service, &hints, &found);
	if (error != 0) {
		fprintf(stderr,
			"uroce-perf: server %s: %s; allowed: a host name or an IP address\n",
			server, gai_strerror(error));
		return -1;
	}
	for (const struct addrinfo *to = found; to != NULL && fd < 0; to = to->ai_next) {
		fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC, to->ai_protocol);
		if (fd >= 0 && connect_within(fd, to) != 0) {
			int why = errno;

			close(fd);
			fd = -1;
			errno = why;
		}
	}
	freeaddrinfo(found);
	if (fd < 0) {
		fprintf(stderr,
			"uroce-perf: server %s, TCP port %u: %s; start the same command there "
			"first, "
			"without SERVER\n",
			server, port, strerror(errno));
		return -1;
	}
	exchange->fd = fd;
	set_keepalive(fd);
	return 0;
}

int
exchange_pair(struct exchange pair[2])
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
		fprintf(stderr, "uroce-perf: socket pair: %s\n", strerror(errno));
		return -1;
	}
	for (int i = 0; i < 2; i++) {
		pair[i].fd = fds[i];
		pair[i].in_len = 0;
	}
	return 0;
}

void
exchange_close(struct exchange *exchange)
{
	if (exchange->fd >= 0)
		close(exchange->fd);
	exchange->fd = -1;
}

static int
send_line(struct exchange *exchange, int flags, const char *format, va_list args)
{
	char line[EXCHANGE_LINE_MAX];
	int len = vsnprintf(line, sizeof(line) - 1, format, args);

	if (len < 0 || (size_t)len >= sizeof(line) - 1)
		return -1;
	line[len++] = '\n';
	for (int sent = 0; sent < len;) {
		ssize_t got =
			send(exchange->fd, line + sent, (size_t)(len - sent), MSG_NOSIGNAL | flags);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		sent += (int)got;
	}
	return 0;
}

int
exchange_send(struct exchange *exchange, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int result = send_line(exchange, 0, format, args);
	va_end(args);
	return result;
}

int
exchange_send_more(struct exchange *exchange, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int result = send_line(exchange, MSG_MORE, format, args);
	va_end(args);
	return result;
}

static bool
take_line(struct exchange *exchange, char *line)
{
	const char *end = memchr(exchange->in, '\n', exchange->in_len);

	if (end == NULL)
		return false;
	size_t len = (size_t)(end - exchange->in);
	size_t kept = len < EXCHANGE_LINE_MAX ? len : EXCHANGE_LINE_MAX - 1;
	memcpy(line, exchange->in, kept);
	line[kept] = '\0';
	exchange->in_len -= len + 1;
	memmove(exchange->in, end + 1, exchange->in_len);
	return true;
}

int
exchange_receive(struct exchange *exchange, char *line)
{
	if (take_line(exchange, line))
		return 1;
	size_t room = sizeof(exchange->in) - exchange->in_len;
	if (room == 0)
		/* the buffer is full and has no complete line, so the peer is not uroce-perf */
		return -1;
	ssize_t got = recv(exchange->fd, exchange->in + exchange->in_len, room, MSG_DONTWAIT);
	if (got == 0)
		return -1;
	if (got < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
	exchange->in_len += (size_t)got;
	return take_line(exchange, line);
}
