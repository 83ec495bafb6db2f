/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_HOST_H
#define UROCED_HOST_H

/**
 * @file
 * The host that all clients are to the network: a port and its addresses.
 */

#include <stdbool.h>

#include "datapath/device/conf.h"
#include "datapath/device/event.h"
#include "datapath/port/port.h"
#include "mux/message.h"

struct uroce_neigh;

struct host {
	struct uroce_dev_conf conf;
	struct uroce_event_queue *events;
	struct uroce_port *port;
	/* replies for addresses that the kernel does not own; NULL: the kernel owns all */
	struct uroce_neigh *neigh;
	struct uroce_mux_host told; /* what clients are sent in HOST */
	/* a socket that makes the kernel's interface accept all multicast frames; -1: none */
	int groups_fd;
};

/**
 * Open the port of a specification. If the driver would choose another MAC at each start, the MAC
 * is made of `mac_seed`.
 * @return 0, or -1 after one line of the log
 */
int host_open(struct host *host, const char *spec, uint64_t mac_seed);
void host_close(struct host *host);

/**
 * Descriptors: the first is readable when the link may have changed, the second when the addresses
 * may have. -1: there are no such events.
 */
int host_link_fd(const struct host *host);
int host_addrs_fd(const struct host *host);

/** Read the state of link and addresses. @return whether HOST has changed */
bool host_look(struct host *host);

#endif /* UROCED_HOST_H */
