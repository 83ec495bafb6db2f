/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CM_SERVER_H
#define UROCED_CM_SERVER_H

/**
 * @file
 * The server of the connection manager: accepts clients, and makes the calls that the clients
 * request (mux/cm_message.h). One thread does everything, and waits for no client.
 *
 *	cm_server.c  connections, turns, and the notices about events
 *	cm_calls.c   the requests: what a client may request, and the calls
 *	cm_ids.c     which client owns which id
 *	cm_report.c  requests of uroced's telemetry
 *
 * A request is received only if the socket of its client has room for the reply. So a client that
 * does not read is not served, and needs no memory. The connection of such a client is closed after
 * CM_FULL_MAX_NS. Otherwise the connection could stay for ever after the client's process has
 * ended: a message that waits in the socket may contain a descriptor of the client's own end.
 *
 * The thread serves one request of each user in turn, and chooses the client of the user that was
 * served the longest ago. So a client waits for one request of each other user, however many
 * requests those users send.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cm_ids.h"
#include "closing.h"
#include "cm_ports.h"
#include "cm_report.h"
#include "mux/cm_message.h"
#include "readers.h"
#include "verbs/cm/manager.h"

/** Maximum number of clients of the connection manager. */
#define CM_CLIENTS_MAX CLIENTS_MAX

/** Maximum time in nanoseconds for which the socket of a client may have no room for a reply. */
#define CM_FULL_MAX_NS UINT64_C(10000000000)

/**
 * The functions that the server of the connection manager calls to use the device and the file of
 * leases. Only the server's thread calls them.
 */
struct cm_host {
	void *arg;
	/*
	 * Open a uroce_cm_manager for a client of a user, see uroce_cm_manager_open(). The ids of
	 * all clients of the user are limited together: beyond the limit, the creation of an id
	 * returns -EDQUOT, and the request of a peer that would create an id is refused. The
	 * ephemeral ports of these ids are limited, too: beyond the limit, the binding of an id
	 * returns -EDQUOT.
	 */
	int (*open)(void *arg, uid_t uid, void (*notify)(void *), void *notify_arg,
		    struct uroce_cm_manager **manager);
	/* Whether a GID is one of this host. */
	bool (*is_our_gid)(void *arg, const uint8_t gid[16]);
	/*
	 * Whether the lease of the block that has a QP number has this token, and the block is held
	 * by a client of this user.
	 */
	bool (*holds_qpn)(void *arg, uid_t uid, uint32_t qpn, uint64_t token);
	/* Get the monotonic time. */
	uint64_t (*now_ns)(void *arg);
	/* Read the counters of the connection management messages of all clients. */
	void (*read_stats)(void *arg, struct uroce_cm_agent_stats *stats);
	/* List the ids of all clients, see uroce_cme_list(). */
	unsigned (*list)(void *arg, uint32_t *next, struct uroce_cm_row *rows, unsigned max);
	/* upper limit of the ids of all clients: each id is smaller than this number */
	uint32_t max_ids;
};

struct cm_client {
	struct cm_server *server;
	int socket;
	uint16_t slot; /* index of the client in cm_server.client */
	uid_t uid;
	pid_t pid;
	/* the value of cm_server.nb_served when the client was served last, or when it connected */
	uint64_t served;
	/* the uroce_cm_manager of the client; NULL until the client has sent HELLO */
	struct uroce_cm_manager *manager;
	/*
	 * there are events for the client of which it has no notice yet; a thread of `manager` sets
	 * this flag
	 */
	atomic_bool has_events;
	/* the socket of the client has no room for a reply, so its requests are not received */
	bool is_full;
	uint64_t full_ns; /* time at which the socket of the client became full */
	uint32_t nb_ids;  /* number of ids of the CM engine that the client owns */
};

struct cm_server {
	struct cm_host host;
	struct readers readers;
	struct closing closing;
	struct cm_ids ids;
	struct cm_ports ports;
	struct cm_client *client[CM_CLIENTS_MAX];
	/*
	 * number of requests that the server has served, plus the number of connections that it has
	 * accepted
	 */
	uint64_t nb_served;
	unsigned nb_full; /* number of clients whose sockets are full */
	int listener;
	int epoll_fd;
	int events_fd; /* eventfd that becomes readable when a client has events */
	int reports;   /* socket of uroced's telemetry; -1 if there is no such socket */
	/*
	 * accept() has failed, since the process has no free descriptor; so the server does not
	 * poll the listening socket for a while
	 */
	bool is_deaf;
	bool is_ending;
};

/**
 * Initialise the server of a connection manager.
 * @param listener  socket to which clients connect
 * @param uroced  socket whose hang-up ends the server; -1 if there is no such socket
 * @param start  socket of reader_start()
 * @param reports  socket for requests of uroced's telemetry (cm_report.h); -1 if there is no such
 *         socket
 * @return 0, or -errno
 */
int cm_server_init(struct cm_server *server, const struct cm_host *host, int listener, int uroced,
		   int start, int reports);

/**
 * Keep the ports of the previous connection manager's listeners for their users, and record the
 * listeners of this connection manager. The function must be called before the first round.
 * @param file  shared memory of all connection managers of a uroced
 * @return 0, or -errno
 */
int cm_server_keep_ports(struct cm_server *server, struct cm_ports_file *file);

/**
 * Do one round of the server's loop: wait for events, for at most `timeout_ms` (-1 for no limit),
 * and handle them.
 */
void cm_server_round(struct cm_server *server, int timeout_ms);

/** Serve clients of the connection manager until uroced closes its socket. */
void cm_server_run(struct cm_server *server);

/**
 * End all clients of the connection manager, and free the objects of the server, except for the
 * listening socket.
 */
void cm_server_fini(struct cm_server *server);

/**
 * Wake the thread of the connection manager's server, because a client has events. Any thread may
 * call this function.
 */
void cm_server_wake(struct cm_server *server);

/* The function cm_report_serve() is in cm_report.c. */

/**
 * Receive a request of uroced's telemetry, and reply to it.
 * @return false if the connection has ended, or the request is invalid. Then the server must not
 *         receive further requests
 */
bool cm_report_serve(const struct cm_server *server);

/* The function cm_calls_make() is in cm_calls.c. */

/**
 * Make the call of connection management that a client requests.
 * @param request  a request that uroce_mux_cm_check() has accepted
 * @param[out] reply  the reply to send
 * @return NULL, or the reason why the client is refused, as the end of a sentence
 */
const char *cm_calls_make(struct cm_client *client, const struct uroce_mux_cm_request *request,
			  struct uroce_mux_cm_reply *reply);

#endif /* UROCED_CM_SERVER_H */
