/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CONTROL_H
#define UROCED_CONTROL_H

/**
 * @file
 * The control thread: accepts clients, handles their messages, and removes them. The thread never
 * waits for a client.
 *
 *	control.c  events, connections, readers
 *	handler.c  messages of clients, and the replies
 */

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "mapper.h"
#include "client.h"
#include "closing.h"
#include "cm_process.h"
#include "data.h"
#include "host.h"
#include "readers.h"
#include "service.h"

struct reload;

struct control {
	struct host *host;
	struct data *data;
	struct lease_table *leases;
	/* limits of each user; the control thread holds `stats_lock` when it writes this field */
	struct user_limits limits;
	/* number of refusals for each limit of enum user_limit, over all users */
	counter refused[NB_USER_LIMITS];
	struct mapper mapper;
	struct readers readers;
	struct closing closing;
	struct cm_process cm_process;
	struct service service;
	struct reload *reload;
	/*
	 * listening socket to which clients of the connection manager connect; -1 if there is no
	 * such socket
	 */
	int cm_listener;
	/*
	 * socket by which telemetry sends requests to the connection manager; -1 if no connection
	 * manager runs. The control thread holds `stats_lock` when it writes this field.
	 */
	int cm_reports;
	/*
	 * all clients, indexed by client.slot. The control thread holds `stats_lock` when it writes
	 * this array or the flag `is_attached` of a client.
	 */
	struct client *client[CLIENTS_MAX];
	/*
	 * number of attached clients, not counting the connection manager; the control thread
	 * writes it, and telemetry reads it
	 */
	atomic_uint nb_attached;
	unsigned next_slot;
	/*
	 * Time before which uroced leases no block of QP numbers, so that clients of the former
	 * uroced process can take back their blocks first.
	 */
	uint64_t lease_ns;
	int listener;
	int epoll_fd, signal_fd;
	/*
	 * accept() has failed, since the process has no free descriptor; so the control thread does
	 * not poll the listening socket for a while
	 */
	bool is_deaf;
	/* number of messages of clients and new connections that the control thread has handled */
	uint64_t nb_served;
	bool has_due; /* a message to some client waits for room in the client's socket */
	bool is_ending;
	pthread_mutex_t *stats_lock;
	pthread_t thread;
};

/**
 * Start the control thread. The caller has blocked the signals of control_set_signals() in all
 * threads, and the control thread reads them from a descriptor.
 * @param listener  the listening socket, which the control thread owns after the call
 * @return 0, or -1 after one line of the log
 */
int control_start(struct control *control, int listener);

/**
 * Wait until the control thread has ended. Before its own end, the control thread ends the data
 * path.
 */
void control_join(struct control *control);

/** Set `signals` to the signals that end uroced or let it read its configuration again. */
void control_set_signals(sigset_t *signals);

/** The number of clients of a user, and the sum of their pairs of rings. */
struct user_sum {
	uint32_t nb_clients;
	uint32_t nb_pairs;
};

struct user_sum control_sum_of(const struct control *control, uid_t uid);

/** End the connection of a client, and free the client. @param why  the reason, for the log */
void control_leave(struct control *control, struct client *client, const char *why);

/**
 * Give a job to the reader process of a client's user. Messages of the client are not received
 * until the reader has replied.
 * @return 0, or -errno
 */
int control_ask_reader(struct control *control, struct client *client, struct reader_job *job,
		       int fd);

uint64_t control_now_ns(void);

/* The functions from handler_take() on are in handler.c. */

/**
 * Receive and handle one message of a client, if there is one. The function may free the client.
 */
void handler_take(struct control *control, struct client *client);

/**
 * Handle the reply of a reader process to a job of a client. The function may free the client.
 * @param fd  the descriptor that came with the reply; the caller closes it
 */
void handler_take_reply(struct control *control, struct client *client,
			const struct reader_answer *answer, int fd);

/** Send a client the message REFUSED with the reason, and end its connection. */
__attribute__((format(printf, 4, 5))) void
handler_refuse(struct control *control, struct client *client, int error, const char *format, ...);

/**
 * Send a client the messages for which its socket had no room before.
 * @return whether some messages still have to wait for room
 */
bool handler_send_due(struct control *control, struct client *client);

#endif /* UROCED_CONTROL_H */
