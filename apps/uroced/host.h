/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_HOST_H
#define UROCED_HOST_H

/**
 * @file
 * The host that all clients are: a port, and its addresses, as a device on it would have them.
 */

#include <stdbool.h>

#include "datapath/conf.h"
#include "datapath/event.h"
#include "datapath/port.h"
#include "mux/message.h"

struct uroce_neigh;

struct host {
	struct uroce_dev_conf conf;
	struct uroce_event_queue *events;
	struct uroce_port *port;
	struct uroce_neigh
		*neigh; /* answers for the addresses that are not the kernel's; NULL: all are */
	struct uroce_mux_host told; /* what clients are told */
	int groups_fd; /* while it is open, the kernel's interface receives what is sent to any group; -1 */
};

/**
 * Open the port that a specification names. Where the MAC would be another one after each start, it is made of
 * a number that stays.
 * @return 0, or -1 after one line
 */
int host_open(struct host *host, const char *spec, uint64_t mac_seed);
void host_close(struct host *host);

/** Polls readable when the link may have changed, and when addresses may have; -1: they are not told. */
int host_link_fd(const struct host *host);
int host_addrs_fd(const struct host *host);

/** Look again. @return whether there is something new to tell */
bool host_look(struct host *host);

#endif /* UROCED_HOST_H */
