/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The TCP connection between the two sides. Reception does not block, because a side that waits for
 * a line must drive its workers meanwhile. TCP keep-alive detects a peer whose link has failed.
 */

#include "tcp.h"
#include "stop.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_MS 5000

static int
send_bytes(struct exchange *exchange, const char *bytes, size_t len, bool has_more)
{
	const int flags = MSG_NOSIGNAL | (has_more ? MSG_MORE : 0);

	for (size_t sent = 0; sent < len;) {
		ssize_t got = send(exchange->fd, bytes + sent, len - sent, flags);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		sent += (size_t)got;
	}
	return 0;
}

static ssize_t
receive_bytes(struct exchange *exchange, char *bytes, size_t room)
{
	ssize_t got = recv(exchange->fd, bytes, room, MSG_DONTWAIT);

	if (got > 0)
		return got;
	if (got == 0)
		return -1;
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
}

static void
close_socket(struct exchange *exchange)
{
	close(exchange->fd);
}

static const struct exchange_ops tcp_ops = {
	.send = send_bytes,
	.receive = receive_bytes,
	.close = close_socket,
};

static void
open_exchange(struct exchange *exchange, int fd)
{
	exchange_open(exchange, &tcp_ops);
	exchange->fd = fd;
}

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

/*
 * Parse a local address. The caller frees the result by freeaddrinfo().
 * @return NULL if `text` is not an IP address
 */
static struct addrinfo *
local_address(const char *text, uint16_t port)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	struct addrinfo *found;
	char service[8];

	snprintf(service, sizeof(service), "%u", port);
	return getaddrinfo(text, service, &hints, &found) == 0 ? found : NULL;
}

static int
refuse_source(const char *text)
{
	fprintf(stderr,
		"uroce-perf: --source_ip %s: no IP address; allowed: such as 192.0.2.1 or "
		"2001:db8::1\n",
		text);
	return -1;
}

/* Listen on an address. @return the socket, or -1 with errno */
static int
listen_at(const struct sockaddr *address, socklen_t len)
{
	const int on = 1, off = 0;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (address->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, address, len) == 0 && listen(fd, 1) == 0)
		return fd;
	int why = errno;
	close(fd);
	errno = why;
	return -1;
}

/* Listen on all addresses. If the machine has IPv6, the socket accepts IPv6 and IPv4. */
static int
listen_everywhere(uint16_t port)
{
	const struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	const struct sockaddr_in any4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = listen_at((const struct sockaddr *)&any6, sizeof(any6));

	if (fd < 0 && errno == EAFNOSUPPORT)
		fd = listen_at((const struct sockaddr *)&any4, sizeof(any4));
	return fd;
}

static int
listen_on(const char *source_ip, uint16_t port)
{
	if (source_ip == NULL)
		return listen_everywhere(port);
	struct addrinfo *local = local_address(source_ip, port);
	if (local == NULL) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	int fd = listen_at(local->ai_addr, local->ai_addrlen);
	int why = errno;
	freeaddrinfo(local);
	errno = why;
	return fd;
}

int
tcp_accept(struct exchange *exchange, const struct options *opt)
{
	const uint16_t port = (uint16_t)opt->port;
	int listener = listen_on(opt->source_ip, port), fd = -1;

	if (listener < 0) {
		fprintf(stderr, "uroce-perf: TCP port %u%s%s: %s; allowed: a free one (--port)%s\n",
			port, opt->source_ip != NULL ? " at " : "",
			opt->source_ip != NULL ? opt->source_ip : "", strerror(errno),
			opt->source_ip != NULL ? ", an address of this host (--source_ip)" : "");
		return -1;
	}
	/* A tool that starts the server waits for this line before it starts the client. */
	fprintf(opt->output == PERF_OUTPUT_TABLE ? stdout : stderr,
		" waiting for a client on TCP port %u\n", port);
	fflush(stdout);
	while (!stop_is_asked()) {
		struct pollfd waiting = { .fd = listener, .events = POLLIN };

		if (poll(&waiting, 1, 200) <= 0)
			continue;
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			break;
	}
	close(listener);
	if (fd < 0)
		return -1;
	set_keepalive(fd);
	open_exchange(exchange, fd);
	return 0;
}

/*
 * Bind a socket to the address of the option --source_ip, if the user has given the option. The
 * call fails if this address and the socket are of different families.
 */
static int
bind_source(int fd, const struct addrinfo *source)
{
	return source != NULL ? bind(fd, source->ai_addr, source->ai_addrlen) : 0;
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
tcp_connect(struct exchange *exchange, const struct options *opt)
{
	const uint16_t port = (uint16_t)opt->port;
	const char *server = opt->server;
	struct addrinfo *source = NULL;
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	char service[8];
	int fd = -1;

	snprintf(service, sizeof(service), "%u", port);
	if (opt->source_ip != NULL && (source = local_address(opt->source_ip, 0)) == NULL)
		return refuse_source(opt->source_ip);
	if (source != NULL)
		hints.ai_family = source->ai_family;
	int error = getaddrinfo(server, service, &hints, &found);
	if (error != 0) {
		fprintf(stderr,
			"uroce-perf: server %s: %s; allowed: a host name or an IP address\n",
			server, gai_strerror(error));
		if (source != NULL)
			freeaddrinfo(source);
		return -1;
	}
	for (const struct addrinfo *to = found; to != NULL && fd < 0; to = to->ai_next) {
		fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC, to->ai_protocol);
		if (fd >= 0 && (bind_source(fd, source) != 0 || connect_within(fd, to) != 0)) {
			int why = errno;

			close(fd);
			fd = -1;
			errno = why;
		}
	}
	int why = errno;
	freeaddrinfo(found);
	if (source != NULL)
		freeaddrinfo(source);
	if (fd < 0) {
		fprintf(stderr,
			"uroce-perf: server %s, TCP port %u: %s; start the same command there "
			"first, "
			"without SERVER\n",
			server, port, strerror(why));
		return -1;
	}
	set_keepalive(fd);
	open_exchange(exchange, fd);
	return 0;
}

int
tcp_pair(struct exchange pair[2])
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
		fprintf(stderr, "uroce-perf: socket pair: %s\n", strerror(errno));
		return -1;
	}
	for (int i = 0; i < 2; i++)
		open_exchange(&pair[i], fds[i]);
	return 0;
}
