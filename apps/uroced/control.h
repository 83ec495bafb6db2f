/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CONTROL_H
#define UROCED_CONTROL_H

/**
 * @file
 * The control thread: who comes and goes, and what they ask for. It never waits for a client.
 *
 *	control.c  what happens, and to whom
 *	handler.c      what a client asks for, and what it is told
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "mapper.h"
#include "client.h"
#include "data.h"
#include "host.h"
#include "readers.h"

/** Sockets that wait for a reader to close them; more stay open. */
#define CONTROL_PARKED_MAX 1024u

struct control {
	struct host *host;
	struct data *data;
	struct lease_table *leases;
	struct user_limits limits;
	counter refused[NB_USER_LIMITS]; /* by one of these */
	struct mapper mapper;
	struct readers readers;
	int parked
		[CONTROL_PARKED_MAX]; /* sockets that a reader is to close, which none takes now */
	uid_t parked_uid[CONTROL_PARKED_MAX];
	unsigned nb_parked;
	struct client
		*client[CLIENTS_MAX]; /* by slot; changed under `stats_lock`, as `is_attached` */
	unsigned nb_attached;
	unsigned next_slot;
	uint64_t
		lease_ns; /* before then no block is leased anew: clients of a former life come back */
	int listener;
	int epoll_fd, signal_fd;
	bool is_deaf;       /* the listener is left alone: no descriptor can be had */
	uint64_t nb_served; /* messages of clients */
	bool has_due;       /* some client is to be told something */
	bool is_ending;
	pthread_mutex_t *stats_lock;
	pthread_t thread;
};

/**
 * Start it; signals that end the process are blocked, and are its to take.
 * @param listener  the socket, the control thread's from now on
 * @return 0, or -1 after one line
 */
int control_start(struct control *control, int listener);

/** Wait for its end, which ends the data path first. */
void control_join(struct control *control);

/** What clients of a user have that are attached, or about to be. */
struct user_sum {
	uint32_t nb_clients;
	uint32_t nb_pairs;
};

struct user_sum control_sum_of(const struct control *control, uid_t uid);

/** A client's connection is over, by its own doing or by ours; it is freed. */
void control_leave(struct control *control, struct client *client, const char *why);

/**
 * Give a job of a client to its user's reader; it is not heard until there is an answer.
 * @return 0, or -errno
 */
int control_ask_reader(struct control *control, struct client *client, struct reader_job *job,
		       int fd);

uint64_t control_now_ns(void);

/* handler.c */

/** Take a message of a client, if there is one. The client may be gone afterwards. */
void handler_take(struct control *control, struct client *client);

/**
 * Take what a reader answered to a job of a client, which may be gone afterwards.
 * @param fd  that came with it, the caller's
 */
void handler_take_reply(struct control *control, struct client *client,
			const struct reader_answer *answer, int fd);

/** Tell a client that is refused why, and end its connection. */
__attribute__((format(printf, 4, 5))) void
handler_refuse(struct control *control, struct client *client, int error, const char *format, ...);

/** Tell what could not be told before. @return whether there is something left */
bool handler_send_due(struct control *control, struct client *client);

#endif /* UROCED_CONTROL_H */
