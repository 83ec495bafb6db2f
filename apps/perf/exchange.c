/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends and receives lines of text over a stream of bytes. */

#include "exchange.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
exchange_close(struct exchange *exchange)
{
	if (exchange->ops != NULL)
		exchange->ops->close(exchange);
	exchange->ops = NULL;
}

static int
send_line(struct exchange *exchange, bool has_more, const char *format, va_list args)
{
	char line[EXCHANGE_LINE_MAX];
	int len = vsnprintf(line, sizeof(line) - 1, format, args);

	if (len < 0 || (size_t)len >= sizeof(line) - 1)
		return -1;
	line[len++] = '\n';
	return exchange->ops->send(exchange, line, (size_t)len, has_more);
}

int
exchange_send(struct exchange *exchange, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int result = send_line(exchange, false, format, args);
	va_end(args);
	return result;
}

int
exchange_send_more(struct exchange *exchange, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int result = send_line(exchange, true, format, args);
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
		/*
		 * The buffer is full and has no complete line, so the program at the other end is
		 * not uroce-perf.
		 */
		return -1;
	ssize_t got = exchange->ops->receive(exchange, exchange->in + exchange->in_len, room);
	if (got <= 0)
		return (int)got;
	exchange->in_len += (size_t)got;
	return take_line(exchange, line);
}
