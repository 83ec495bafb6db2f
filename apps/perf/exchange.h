/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_EXCHANGE_H
#define PERF_EXCHANGE_H

/**
 * @file
 * A connection between the two sides of a test, in addition to the tested QPs. Over this connection
 * the sides agree on the test, exchange the addresses of their queue pairs, and synchronize their
 * steps. The connection carries lines of text. An implementation of struct exchange_ops, such as
 * that of tcp.h, carries the bytes of the lines.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define EXCHANGE_LINE_MAX 1024

struct exchange;

/**
 * The functions of a connection that carries lines. The connection is a stream of bytes in each
 * direction.
 */
struct exchange_ops {
	/**
	 * Send bytes. The bytes may be delayed if more bytes follow at once (has_more).
	 * @return 0, or -1 if the peer has closed the connection
	 */
	int (*send)(struct exchange *exchange, const char *bytes, size_t len, bool has_more);
	/**
	 * Get bytes that have arrived, at most `room`. The function never waits.
	 * @return the number of bytes, 0 if none have arrived, -1 if the peer has closed the
	 *         connection
	 */
	ssize_t (*receive)(struct exchange *exchange, char *bytes, size_t room);
	void (*close)(struct exchange *exchange);
};

struct exchange {
	/* functions that carry the bytes; NULL if there is no connection */
	const struct exchange_ops *ops;
	union {
		int fd; /* socket, if the lines are exchanged over a TCP connection */
		/*
		 * state of the connection, if the lines are exchanged over a connection by rdma_cm
		 */
		struct cm_exchange *state;
	};
	char in[4 * EXCHANGE_LINE_MAX];
	size_t in_len;
};

/** Begin an exchange of lines over a connection that exists. */
static inline void
exchange_open(struct exchange *exchange, const struct exchange_ops *ops)
{
	exchange->ops = ops;
	exchange->in_len = 0;
}

/** Check whether an exchange has a connection. */
static inline bool
exchange_is_open(const struct exchange *exchange)
{
	return exchange->ops != NULL;
}

/** Close the connection of an exchange, if it has one. */
void exchange_close(struct exchange *exchange);

/**
 * Send a line to the peer. The function adds the newline.
 * @return 0, or -1 if the peer has closed the connection
 */
int exchange_send(struct exchange *exchange, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Send a line as exchange_send() does, when more lines follow at once. The line may be delayed, so
 * that the lines are sent together.
 */
int exchange_send_more(struct exchange *exchange, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Get the next line from the peer if it has arrived. The function never waits.
 * @param[out] line  a buffer of EXCHANGE_LINE_MAX bytes, which gets the line without the newline
 * @return 1 if there is a line, 0 if no line has arrived yet, -1 if the peer has closed the
 *         connection
 */
int exchange_receive(struct exchange *exchange, char *line);

#endif /* PERF_EXCHANGE_H */
