/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_EXCHANGE_H
#define PERF_EXCHANGE_H

/**
 * @file
 * The TCP connection beside the test, over which the two sides agree what to run, tell each other
 * their queue pairs, and keep in step. It carries lines of text.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXCHANGE_LINE_MAX 1024

struct exchange {
	int fd; /* -1: closed */
	char in[4 * EXCHANGE_LINE_MAX];
	size_t in_len;
};

/**
 * Wait for one client on a TCP port. Gives up when stop_is_asked().
 * @return 0, or -1 after one line on stderr (none when it was interrupted)
 */
int exchange_accept(struct exchange *exchange, uint16_t port);

/** Connect to a server, by name or address. @return 0, or -1 after one line on stderr */
int exchange_connect(struct exchange *exchange, const char *server, uint16_t port);

/** The two ends of a connection inside this process. @return 0, or -1 after one line on stderr */
int exchange_pair(struct exchange pair[2]);

void exchange_close(struct exchange *exchange);

/** Send a line (the newline is added). @return 0, or -1: the peer is gone */
int exchange_send(struct exchange *exchange, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** The same, with more to follow at once: it may wait for that. */
int exchange_send_more(struct exchange *exchange, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Take a line if one has arrived; never waits.
 * @param[out] line  EXCHANGE_LINE_MAX bytes, without the newline
 * @return 1: taken; 0: none so far; -1: the peer closed the connection
 */
int exchange_receive(struct exchange *exchange, char *line);

#endif /* PERF_EXCHANGE_H */
