/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CONTROL_H
#define UROCED_CONTROL_H

/**
 * @file
 * The control thread: accepts clients, handles their messages, and removes them. It never waits for
 * a client.
 *
 *	control.c  events, connections, readers
 *	handler.c  messages of clients, and the replies
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "mapper.h"
#include "client.h"
#include "data.h"
#include "host.h"
#include "readers.h"

/**
 * The most sockets that wait for a reader to close them. A further one stays open until uroced
 * ends.
 */
#define CONTROL_PARKED_MAX 1024u

struct control {
	struct host *host;
	struct data *data;
	struct lease_table *leases;
	struct user_limits limits;
	counter refused[NB_USER_LIMITS]; /* number of refusals, for each limit of a user */
	struct mapper mapper;
	struct readers readers;
	/* sockets that a reader has to close, and that no reader accepts now */
	int parked[CONTROL_PARKED_MAX];
	uid_t parked_uid[CONTROL_PARKED_MAX];
	unsigned nb_parked;
	/* clients by slot; written under `stats_lock`, as `is_attached` is */
	struct client *client[CLIENTS_MAX];
	atomic_uint nb_attached; /* the control thread writes it, and telemetry reads it */
	unsigned next_slot;
	/*
	 * until this time no block is leased, since clients of the former uroced take back their
	 * blocks
	 */
	uint64_t lease_ns;
	int listener;
	int epoll_fd, signal_fd;
	/* the listener is not polled, since the process has no descriptor left */
	bool is_deaf;
	uint64_t nb_served; /* number of messages and connections that were handled */
	bool has_due;       /* some client has a message to be sent */
	bool is_ending;
	pthread_mutex_t *stats_lock;
	pthread_t thread;
};

/**
 * Start the control thread. SIGTERM and SIGINT are blocked in all threads; the control thread
 * receives them.
 * @param listener  the listening socket, which the control thread owns from now on
 * @return 0, or -1 after one line of the log
 */
int control_start(struct control *control, int listener);

/** Wait until the control thread has ended. Before its end it ends the data path. */
void control_join(struct control *control);

/** Sums over all clients of a user. */
struct user_sum {
	uint32_t nb_clients;
	uint32_t nb_pairs;
};

struct user_sum control_sum_of(const struct control *control, uid_t uid);

/** End the connection of a client, and free the client. @param why  for the log */
void control_leave(struct control *control, struct client *client, const char *why);

/**
 * Give a job of a client to its user's reader. Messages of the client are not received until the
 * reader has replied.
 * @return 0, or -errno
 */
int control_ask_reader(struct control *control, struct client *client, struct reader_job *job,
		       int fd);

uint64_t control_now_ns(void);

/* handler.c */

/**
 * Receive and handle one message of a client, if there is one. The client may have been freed when
 * this returns.
 */
void handler_take(struct control *control, struct client *client);

/**
 * Handle the reply of a reader to a client's job. The client may have been freed when this returns.
 * @param fd  the descriptor that came with the reply; stays the caller's
 */
void handler_take_reply(struct control *control, struct client *client,
			const struct reader_answer *answer, int fd);

/** Send REFUSED to a client, with the reason, and end its connection. */
__attribute__((format(printf, 4, 5))) void
handler_refuse(struct control *control, struct client *client, int error, const char *format, ...);

/**
 * Send a client the messages for which its socket had no room before.
 * @return whether some are left
 */
bool handler_send_due(struct control *control, struct client *client);

#endif /* UROCED_CONTROL_H */
