/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_HOST_H
#define UROCED_HOST_H

/**
 * @file
 * All clients of uroced appear to the network as one host. struct host has the port of that host,
 * and its addresses.
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
	/*
	 * responder for ARP and neighbour discovery for the port's addresses that the kernel does
	 * not own; NULL if the kernel owns all addresses
	 */
	struct uroce_neigh *neigh;
	/*
	 * contents of the message HOST, by which clients learn the port, its addresses and its link
	 */
	struct uroce_mux_host told;
	/*
	 * a socket that makes the kernel's interface of the port accept all multicast frames; -1 if
	 * there is none
	 */
	int groups_fd;
};

/**
 * Open the port of a specification (PORT,key=value,...). If the driver would choose another MAC at
 * each start, the MAC is computed from `mac_seed`, and stays the same.
 * @return 0, or -1 after one line of the log
 */
int host_open(struct host *host, const char *spec, uint64_t mac_seed);

/**
 * Open the port of a specification (PORT,key=value,...) for a moment, to find out whether that is
 * possible. Unlike host_open(), host_probe() changes neither the MAC, nor the replies of the
 * kernel, nor the frames that the kernel receives.
 * @return 0, or -1 after one line of the log
 */
int host_probe(struct host *host, const char *spec);

/**
 * Check the keys of a port specification (PORT,key=value,...) without opening the port.
 * @return 0, or -1 after one line of the log
 */
int host_check_spec(const char *spec, struct uroce_dev_conf *conf);

/** Close the port, after host_open() or host_probe(). */
void host_close(struct host *host);

/**
 * host_link_fd() gets a descriptor that is readable when the link of the port may have changed, and
 * host_addrs_fd() one that is readable when its addresses may have changed. The result is -1 if the
 * port has no such events.
 */
int host_link_fd(const struct host *host);
int host_addrs_fd(const struct host *host);

/**
 * Read the state of the port's link and its addresses.
 * @return whether the contents of the message HOST, by which clients learn the addresses and the
 *         link, have changed
 */
bool host_look(struct host *host);

#endif /* UROCED_HOST_H */
