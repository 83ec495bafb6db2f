/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Requests of uroced's telemetry to the connection manager. A reply may come after its request has
 * timed out. The next request then receives this late reply, and skips it because of its number.
 */

#include "cm_report.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static int64_t
now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Check a bool that another process has sent: its byte must be 0 or 1. */
static bool
is_bool(const bool *value)
{
	uint8_t byte;

	memcpy(&byte, value, sizeof(byte));
	return byte <= 1;
}

static bool
is_row(const struct uroce_cm_row *row, const struct uroce_cm_row_owner *owner)
{
	return is_bool(&row->has_owner) && is_bool(&row->is_active) && is_bool(&row->is_datagram) &&
	       is_bool(&owner->is_known);
}

static int
check_report(const struct cm_report_request *request, const struct cm_report *report)
{
	if (report->kind != request->kind)
		return -EPROTO;
	if (report->kind != CM_REPORT_IDS)
		return 0;
	if (report->ids.nb > UROCE_CM_REPLY_ROWS ||
	    (report->ids.next != UROCE_CM_NO_ID && report->ids.next <= request->first))
		return -EPROTO;
	for (uint32_t i = 0; i < report->ids.nb; i++) {
		if (!is_row(&report->ids.row[i], &report->ids.owner[i]))
			return -EPROTO;
	}
	return 0;
}

/*
 * Receive a report of the connection manager. This call does not wait.
 * @return 0 if a report was received; -EAGAIN if there is no report; -EPIPE if the connection
 *         manager has hung up; another -errno
 */
static int
take_report(int socket, struct cm_report *report)
{
	const ssize_t len = recv(socket, report, sizeof(*report), MSG_DONTWAIT | MSG_TRUNC);

	if (len == sizeof(*report))
		return 0;
	if (len < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	return len == 0 ? -EPIPE : -EPROTO;
}

static int
await_report(int socket, const struct cm_report_request *request, struct cm_report *report,
	     int timeout_ms)
{
	const int64_t end_ms = now_ms() + timeout_ms;

	for (int64_t left_ms = timeout_ms; left_ms >= 0; left_ms = end_ms - now_ms()) {
		struct pollfd fd = { .fd = socket, .events = POLLIN };
		int ret;

		if (poll(&fd, 1, (int)left_ms) == 0)
			continue;
		ret = take_report(socket, report);
		if (ret == 0 && report->number == request->number)
			return check_report(request, report);
		if (ret < 0 && ret != -EAGAIN && ret != -EINTR)
			return ret;
	}
	return -ETIMEDOUT;
}

int
cm_report_ask(int socket, struct cm_report_request *request, struct cm_report *report,
	      int timeout_ms)
{
	static _Atomic uint32_t last_number;

	request->number = ++last_number;
	if (send(socket, request, sizeof(*request), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	return await_report(socket, request, report, timeout_ms);
}
