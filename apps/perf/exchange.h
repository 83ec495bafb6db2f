/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_EXCHANGE_H
#define PERF_EXCHANGE_H

/**
 * @file
 * The TCP connection beside the RDMA traffic. Over it the two sides agree on the test, exchange the
 * addresses of their queue pairs, and synchronize their steps. The connection carries lines of
 * text.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXCHANGE_LINE_MAX 1024

struct exchange {
	int fd; /* socket of the connection; -1 if it is closed */
	char in[4 * EXCHANGE_LINE_MAX];
	size_t in_len;
};

/**
 * Wait for one client on a TCP port, or until stop_is_asked().
 * @return 0, or -1 after one line on stderr (without a line if the wait was interrupted)
 */
int exchange_accept(struct exchange *exchange, uint16_t port);

/**
 * Connect to a server by name or address.
 * @return 0, or -1 after one line on stderr
 */
int exchange_connect(struct exchange *exchange, const char *server, uint16_t port);

/**
 * Create the two ends of a connection inside this process, for loopback.
 * @return 0, or -1 after one line on stderr
 */
int exchange_pair(struct exchange pair[2]);

void exchange_close(struct exchange *exchange);

/**
 * Send a line to the peer. The function adds the newline.
 * @return 0, or -1 if the peer has closed the connection
 */
int exchange_send(struct exchange *exchange, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Send a line as exchange_send() does, when more lines follow at once. TCP may delay the line, to
 * send the lines together.
 */
int exchange_send_more(struct exchange *exchange, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Get the next line from the peer if it has arrived. The function never waits.
 * @param[out] line  a buffer of EXCHANGE_LINE_MAX bytes, which gets the line without the newline
 * @return 1 if there is a line, 0 if not yet, -1 if the peer has closed the connection
 */
int exchange_receive(struct exchange *exchange, char *line);

#endif /* PERF_EXCHANGE_H */
