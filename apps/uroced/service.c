/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Decides when a report to the service manager is due. A report for which the service manager has
 * no room is sent later, because a READY=1 that is lost would let the start of the service fail.
 *
 * WATCHDOG=1 is sent twice in the time that the service manager allows. If the data path makes no
 * progress, WATCHDOG=1 is not sent, and the service manager ends uroced when the allowed time is
 * over.
 */

#include "service.h"

#include <stdio.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_US UINT64_C(1000)

void
service_open(struct service *service)
{
	*service = (struct service){ .nb_clients = 0 };
	notify_open(&service->notify);
	if (notify_is_open(&service->notify))
		service->watchdog_ns = notify_watchdog_ns() / 2;
}

void
service_close(struct service *service)
{
	notify_close(&service->notify);
}

void
service_ready(struct service *service, const char *port, uint64_t now_ns)
{
	(void)snprintf(service->port, sizeof(service->port), "%s", port);
	service->is_ready_due = true;
	service->watchdog_due_ns = now_ns;
}

static bool
is_status_due(const struct service *service)
{
	return service->is_ready_due || service->nb_clients != service->nb_reported;
}

static void
report_status(struct service *service, uint64_t now_ns)
{
	char lines[256];

	if (!is_status_due(service) || (!service->is_ready_due && now_ns < service->status_ns))
		return;
	(void)snprintf(lines, sizeof(lines), "%sSTATUS=%s: %u client%s%s",
		       service->is_ready_due ? "READY=1\n" : "", service->port, service->nb_clients,
		       service->nb_clients == 1 ? "" : "s",
		       service->is_refused ? "; the last reload was refused, see the log" : "");
	if (!notify_send(&service->notify, lines)) {
		service->status_ns = now_ns + SERVICE_RETRY_NS;
		return;
	}
	service->is_ready_due = false;
	service->nb_reported = service->nb_clients;
	service->status_ns = now_ns + SERVICE_STATUS_NS;
}

static void
report_progress(struct service *service, uint64_t progress, uint64_t now_ns)
{
	if (service->watchdog_ns == 0 || now_ns < service->watchdog_due_ns ||
	    progress == service->progress || !notify_send(&service->notify, "WATCHDOG=1"))
		return;
	service->progress = progress;
	service->watchdog_due_ns = now_ns + service->watchdog_ns;
}

void
service_report(struct service *service, unsigned nb_clients, uint64_t progress, uint64_t now_ns)
{
	if (!notify_is_open(&service->notify))
		return;
	service->nb_clients = nb_clients;
	report_status(service, now_ns);
	report_progress(service, progress, now_ns);
}

/* Get the time in ns until `due_ns`, but at least SERVICE_RETRY_NS. */
static uint64_t
get_time_left(uint64_t due_ns, uint64_t now_ns)
{
	return due_ns > now_ns + SERVICE_RETRY_NS ? due_ns - now_ns : SERVICE_RETRY_NS;
}

int
service_timeout_ms(const struct service *service, uint64_t now_ns)
{
	uint64_t left_ns = UINT64_MAX;

	if (!notify_is_open(&service->notify))
		return -1;
	if (is_status_due(service))
		left_ns = get_time_left(service->status_ns, now_ns);
	if (service->watchdog_ns > 0 && get_time_left(service->watchdog_due_ns, now_ns) < left_ns)
		left_ns = get_time_left(service->watchdog_due_ns, now_ns);
	if (left_ns == UINT64_MAX)
		return -1;
	left_ns = (left_ns + NS_PER_MS - 1) / NS_PER_MS;
	return left_ns < INT32_MAX ? (int)left_ns : INT32_MAX;
}

void
service_begin_reload(struct service *service, uint64_t now_ns)
{
	char lines[64];

	(void)snprintf(lines, sizeof(lines), "RELOADING=1\nMONOTONIC_USEC=%llu",
		       (unsigned long long)(now_ns / NS_PER_US));
	(void)notify_send(&service->notify, lines);
}

void
service_end_reload(struct service *service, bool is_refused)
{
	service->is_refused = is_refused;
	service->is_ready_due = true;
}

void
service_stop(struct service *service)
{
	(void)notify_send(&service->notify, "STOPPING=1\nSTATUS=uroced ends");
}
