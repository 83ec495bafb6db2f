/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_REMOTE_LINK_H
#define UROCE_VERBS_CM_REMOTE_LINK_H

/**
 * @file
 * The connection of a process to the connection manager of uroced (mux/cm_message.h). A thread of
 * the connection receives all messages. When the connection has ended, this thread connects again.
 *
 * Any thread may make a request. One request is made at a time.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "datapath/dpdk.h"
#include "mux/cm_message.h"

struct uroce_remote_link;

/** Functions that the user of a connection to uroced's connection manager provides. */
struct uroce_remote_link_ops {
	/*
	 * This function is called when the connection to uroced's connection manager has ended. The
	 * caller holds `lock`.
	 */
	void (*lost)(void *arg);
	/*
	 * This function is called when the connection to uroced's connection manager was made
	 * again, before any thread makes a request. The function may make requests by
	 * uroce_remote_link_exchange(). The caller holds `lock`.
	 */
	void (*connected)(void *arg);
	/*
	 * This function is called when uroced's connection manager has events for the user, or the
	 * connection to it has ended. The caller holds no lock.
	 */
	void (*notify)(void *arg);
};

struct uroce_remote_link {
	const struct uroce_remote_link_ops *ops;
	void *arg;
	/* next entry in the list of all connections of this process */
	struct uroce_remote_link *next;
	char path[sizeof(((struct uroce_mux_cm_reply *)NULL)->why)];
	struct uroce_dpdk_thread thread;
	bool has_thread;
	int work_fd; /* eventfd that wakes the connection's thread */
	/*
	 * Lock that guards the fields from `is_ready` to `reply`, and the data of the user of the
	 * connection (struct uroce_cm_remote).
	 */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fd; /* socket of the connection; -1: there is no connection */
	/* the connection is ready: threads may make requests to uroced's connection manager */
	bool is_ready;
	bool is_stopping;
	bool is_child;    /* this process is a child of fork() that has no connection */
	bool is_calling;  /* a thread has made a request, and waits for its reply */
	bool is_answered; /* `reply` is the reply to the request that a thread has made */
	uint64_t number;  /* number of the last request, by which its reply is recognised */
	/*
	 * How many times the connection to uroced's connection manager has ended. A thread that
	 * waits for a reply sees by a change of this number that its connection has ended.
	 */
	uint64_t epoch;
	struct uroce_mux_cm_reply reply;
	/*
	 * The last message that was received. Only the thread that receives messages uses this
	 * field.
	 */
	struct uroce_mux_cm_reply incoming;
	/* the connection manager has refused this client, and the reason was logged */
	bool is_refused;
};

/**
 * Connect to the connection manager of the uroced at `socket`, and start the thread of the
 * connection.
 * @return 0, or -errno: ECONNREFUSED: there is no connection manager
 */
int uroce_remote_link_open(struct uroce_remote_link *link, const char *socket,
			   const struct uroce_remote_link_ops *ops, void *arg);

void uroce_remote_link_close(struct uroce_remote_link *link);

/**
 * Wait until a request to uroced's connection manager can be made. The caller holds `lock`, which
 * is released meanwhile.
 * @return 0; -EIO: there is no connection
 */
int uroce_remote_link_await(struct uroce_remote_link *link);

/**
 * Make a request and wait for the reply. The caller holds `lock`, which is released meanwhile. If
 * there is no connection, the call waits for some seconds until there is one.
 * @param request  the call sets the number of the request
 * @param[out] reply  the reply; NULL: the caller needs only the result
 * @return result of the request; -EIO: there is no connection
 */
int uroce_remote_link_call(struct uroce_remote_link *link, struct uroce_mux_cm_request *request,
			   struct uroce_mux_cm_reply *reply);

/**
 * Make a request as uroce_remote_link_call() does. Only connected() of `ops` may call this
 * function. `lock` is not released during the call.
 */
int uroce_remote_link_exchange(struct uroce_remote_link *link, struct uroce_mux_cm_request *request,
			       struct uroce_mux_cm_reply *reply);

#endif /* UROCE_VERBS_CM_REMOTE_LINK_H */
