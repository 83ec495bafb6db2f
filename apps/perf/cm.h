/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_CM_H
#define PERF_CM_H

/**
 * @file
 * Connections by rdma_cm, for the option --rdma_cm. The client connects and the server accepts: at
 * first the connection that carries the exchange of lines, then the queue pairs of the test in
 * their order. The private data of each request says which one it asks for.
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

/** The number of the connection that carries the exchange. A queue pair has its index. */
#define CM_EXCHANGE UINT32_MAX

struct cm {
	const struct options *opt;
	struct endpoint *endpoint;
	bool is_client;
	struct rdma_event_channel *channel;
	/* server: listener of RDMA_PS_TCP; listener of the port space of the test, if it differs */
	struct rdma_cm_id *listeners[2];
	struct sockaddr_storage self;   /* address of the chosen GID; of the server with its port */
	struct sockaddr_storage server; /* of the client: address and port of the server */
	/* a random number that the client draws; its requests carry it, so others are refused */
	uint32_t token;
	struct rdma_cm_id *exchange; /* the connection that carries the exchange; NULL if none */
	/* the connection of the exchange has ended; the last line that has arrived may say why */
	bool is_peer_gone;
};

/**
 * Open the event channel. The server begins to listen, and the client looks up the address of the
 * server. After an error the caller has to call cm_close(), too.
 * @return 0, or -1 after a line on stderr
 */
int cm_open(struct cm *cm, const struct options *opt, struct endpoint *endpoint);

/** Destroy the listeners and the channel. The caller has destroyed the ids of cm_begin(). */
void cm_close(struct cm *cm);

/**
 * Begin a connection: the client finds the way to the server, the server waits for the request of
 * the client. Then the id gets a QP, on which the caller may post receive requests.
 * @param number  index of the QP, or CM_EXCHANGE
 * @param pd    NULL: the default PD
 * @param init  attributes of the QP; its type determines the port space
 * @return the id, which the caller destroys by uroce_cm_destroy_ep(); or NULL after a line on
 *         stderr (without a line if the wait was interrupted or is_peer_gone)
 */
struct rdma_cm_id *cm_begin(struct cm *cm, uint32_t number, struct ibv_pd *pd,
			    struct ibv_qp_init_attr *init);

/**
 * Complete a connection, whose QP can send and receive afterwards.
 * @param[out] ud  of a client whose QP is UD: how to reach the QP of the server
 * @return 0, or -1 after a line on stderr (as cm_begin())
 */
int cm_finish(struct cm *cm, struct rdma_cm_id *id, uint32_t number, struct rdma_ud_param *ud);

/**
 * Do the work that is due, and take the events. Requests of other clients are refused.
 * @return whether the connection that carries the exchange has ended
 */
bool cm_is_disconnected(struct cm *cm);

#endif /* PERF_CM_H */
