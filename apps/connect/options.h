/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_CONNECT_OPTIONS_H
#define APPS_CONNECT_OPTIONS_H

/**
 * @file
 * The command line of uroce-connect.
 */

#include <stdbool.h>
#include <sys/socket.h>

struct options {
	/* specification of the device to create, such as "net_af_packet0,addr=192.0.2.1/24" */
	const char *spec;
	/* address of the peer to connect to; if is_listener is set, local address to listen at */
	struct sockaddr_storage addr;
	bool has_source;
	struct sockaddr_storage source; /* local address from which the active side connects */
	/* time in milliseconds to wait for the answer to a connection request */
	int timeout_ms;
	bool is_listener;
	bool is_refusing; /* the listener rejects all requests */
	bool is_datagram; /* use a datagram service instead of a connection */
};

extern const char options_usage[];

/**
 * Parse the options of uroce-connect, without those of EAL.
 * @return 0, or -1 after one line on stderr
 */
int options_parse(struct options *opt, int argc, char **argv);

#endif /* APPS_CONNECT_OPTIONS_H */
