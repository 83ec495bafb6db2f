/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_CM_H
#define PERF_CM_H

/**
 * @file
 * Connections by rdma_cm, for the option --rdma_cm. The client connects and the server accepts: at
 * first the connection over which the two sides exchange lines, then the queue pairs of the test in
 * their order. The private data of each connection request has the number of the connection.
 *
 * One thread uses these functions. While they wait, they do the work of connection management that
 * is due, and drive the workers of the endpoint.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uroce_cm.h>

#include "endpoint.h"
#include "options.h"

/**
 * The number of the connection over which the two sides exchange lines. The number of any other
 * connection is the index of its queue pair.
 */
#define CM_EXCHANGE UINT32_MAX

struct cm {
	const struct options *opt;
	struct endpoint *endpoint;
	bool is_client;
	struct rdma_event_channel *channel;
	/*
	 * on the server: the listener of RDMA_PS_TCP and, if the QPs of the test use another port
	 * space, a listener of that port space
	 */
	struct rdma_cm_id *listeners[2];
	/* IP address of this side, which is its chosen GID; on the server also the port */
	struct sockaddr_storage self;
	struct sockaddr_storage server; /* on the client: address and port of the server */
	/*
	 * random number of the client: each connection request of the client has this number, and
	 * the server refuses requests with another number
	 */
	uint32_t token;
	/*
	 * id of the connection over which the two sides exchange lines; NULL if there is no such
	 * connection
	 */
	struct rdma_cm_id *exchange;
	/*
	 * the connection over which the two sides exchange lines has ended; the last line that has
	 * arrived may give the reason
	 */
	bool is_peer_gone;
};

/**
 * Open the event channel. The server begins to listen, and the client looks up the address of the
 * server. After an error the caller has to call cm_close() as well.
 * @return 0, or -1 after a line on stderr
 */
int cm_open(struct cm *cm, const struct options *opt, struct endpoint *endpoint);

/**
 * Destroy the listeners and the channel. The caller has destroyed the ids that cm_begin() returned.
 */
void cm_close(struct cm *cm);

/**
 * Begin a connection: the client resolves the address of the server and the route, the server waits
 * for the connection request of the client. Then a QP is created for the id of the connection. The
 * caller may post receive requests on this QP.
 * @param number  index of the QP, or CM_EXCHANGE
 * @param pd      the PD of the QP; NULL for the default PD of rdma_cm
 * @param init    attributes of the QP; its type determines the port space
 * @return the id, which the caller destroys by uroce_cm_destroy_ep(); or NULL after a line on
 *         stderr (without a line if the wait was interrupted or cm->is_peer_gone is set)
 */
struct rdma_cm_id *cm_begin(struct cm *cm, uint32_t number, struct ibv_pd *pd,
			    struct ibv_qp_init_attr *init);

/**
 * Complete a connection, whose QP can send and receive afterwards.
 * @param[out] ud  on a client whose QP is UD: how to reach the QP of the server; may be NULL
 * @return 0, or -1 after a line on stderr (without a line if the wait was interrupted or
 *         cm->is_peer_gone is set)
 */
int cm_finish(struct cm *cm, struct rdma_cm_id *id, uint32_t number, struct rdma_ud_param *ud);

/**
 * Do the work of connection management that is due, and handle its events. Connection requests of
 * other clients are refused.
 * @return whether the connection over which the two sides exchange lines has ended
 */
bool cm_is_disconnected(struct cm *cm);

#endif /* PERF_CM_H */
