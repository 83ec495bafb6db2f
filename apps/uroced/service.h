/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_SERVICE_H
#define UROCED_SERVICE_H

/**
 * @file
 * Reports of uroced to the service manager: that clients can connect, how many there are, that the
 * configuration is read again, that uroced ends, and that uroced makes progress. Only the control
 * thread uses a struct service. Times are in nanoseconds of one monotonic clock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "notify.h"

/** The shortest time in nanoseconds between two reports of the number of clients. */
#define SERVICE_STATUS_NS UINT64_C(1000000000)

/**
 * The time in nanoseconds after which a report is repeated if the service manager had no room for
 * it.
 */
#define SERVICE_RETRY_NS UINT64_C(10000000)

struct service {
	struct notify notify;
	char port[64]; /* the name of the port of uroced, for the reports */
	unsigned nb_clients;
	unsigned nb_reported; /* the number of clients in the last report */
	uint64_t status_ns;   /* time before which a changed number of clients is not reported */
	bool is_ready_due;    /* the message READY=1 is still to be sent to the service manager */
	bool is_refused;      /* the last reload of the configuration was refused */
	/* longest time in nanoseconds between two messages WATCHDOG=1; 0 if there is no watchdog */
	uint64_t watchdog_ns;
	uint64_t watchdog_due_ns; /* time at which the next WATCHDOG=1 is to be sent */
	/* value of the parameter `progress` of service_report() when WATCHDOG=1 was sent last */
	uint64_t progress;
};

/** Open the socket for reports to the service manager, if there is a service manager. */
void service_open(struct service *service);
void service_close(struct service *service);

/** Report to the service manager that clients can connect. @param port  the name of the port */
void service_ready(struct service *service, const char *port, uint64_t now_ns);

/**
 * Send the reports that are due to the service manager. The control thread calls this function in
 * each round of its loop, so each call shows that the control thread makes progress.
 * @param progress  a number that the data path increases in each round of its loop. WATCHDOG=1 is
 *         not sent while the number stays the same.
 */
void service_report(struct service *service, unsigned nb_clients, uint64_t progress,
		    uint64_t now_ns);

/** Get the time in ms until service_report() has to be called; -1 if no report will be due. */
int service_timeout_ms(const struct service *service, uint64_t now_ns);

/**
 * service_begin_reload() reports to the service manager that the configuration is being read again,
 * and service_end_reload() that this has ended.
 */
void service_begin_reload(struct service *service, uint64_t now_ns);
void service_end_reload(struct service *service, bool is_refused);

/** Report to the service manager that uroced ends. */
void service_stop(struct service *service);

#endif /* UROCED_SERVICE_H */
