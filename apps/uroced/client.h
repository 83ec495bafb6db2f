/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CLIENT_H
#define UROCED_CLIENT_H

/**
 * @file
 * The record that uroced has of a client: its connection and, when the client has attached, its
 * shared memory with rings. The control thread and the data path own different fields. The data
 * path uses its fields from data_link() until data_unlink().
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "frame.h"
#include "lease.h"
#include "user_limits.h"
#include "mux/shm.h"
#include "mux/message.h"

/** A counter that one thread writes and any number of threads read. */
typedef _Atomic uint64_t counter;

struct counters {
	/* number of frames from the client that uroced has forwarded, and their bytes */
	counter frames_up, bytes_up;
	/* number of frames that were delivered to the client, and their bytes */
	counter frames_down, bytes_down;
	counter wakes;   /* number of WAKE messages that uroced sent to the client */
	counter busy_ns; /* nanoseconds that the client's turns in the data path took */
	/*
	 * number of dropped frames for each reason. With the reasons RING_FULL and BUFFER, the
	 * frames were to be delivered to the client; with other reasons, the client had sent them.
	 */
	counter drop[FRAME_NB_DROPS];
};

static inline void
counter_add(counter *counter, uint64_t nb)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + nb,
			      memory_order_relaxed);
}

struct client;

/** A ring from uroced to a client, as the data path sees the ring. */
struct client_down {
	struct uroce_spsc_end end;
	/* number of frames that were written to the ring and are not published to the client yet */
	uint32_t nb_new;
	/*
	 * valid if `is_touched`: number of frames for which the ring had room when it was put in
	 * the list data.touched
	 */
	int32_t room;
	/*
	 * the ring is in data.touched, the list of rings with frames that are not published to
	 * their clients yet
	 */
	bool is_touched;
	/*
	 * number of descriptors, modulo 2^32, that the client had taken from the ring when the ring
	 * was last found full
	 */
	uint32_t taken;
	struct client *client;
	struct client_down *next;
};

/**
 * A barrier that the data path has reached in a ring from a client and has not passed yet. A
 * barrier is a descriptor that is passed when all earlier frames have been forwarded.
 */
struct client_barrier {
	bool is_met;
	/* number of the barrier; the data path numbers barriers from 1 on */
	uint64_t number;
	uint64_t round; /* value of data.nb_rounds when the barrier was reached */
	/* value of wire.nb_emptied, receive bursts that emptied the port, at this barrier */
	uint64_t nb_emptied;
	/* value of data.nb_heard, complete polls of the doorbells, at this barrier */
	uint64_t nb_heard;
};

/**
 * Marks in the rings from a client to uroced. The marked frames are the frames that were in the
 * rings when the data path reached a barrier of another client. One set of marks serves all
 * barriers up to the barrier `number`.
 */
struct client_marks {
	/* number of the newest barrier for which the client's rings are marked */
	uint64_t number;
	/*
	 * number of the newest barrier whose marked frames have all been taken from the client's
	 * rings
	 */
	uint64_t passed;
	/*
	 * valid if number != passed: for each ring from the client, the index where the marked
	 * frames end
	 */
	uint32_t index[UROCE_SHM_PAIRS_MAX];
};

struct mapper;
struct mapper_area;

/**
 * The user ID by which the connection manager (cm_process.h) is counted. No process has this user
 * ID. So turns, limits and the reader process of the connection manager are its own.
 */
#define CLIENT_UID_MANAGER ((uid_t)-1)

struct client {
	/*
	 * From data_link() until data_unlink(), only the data path changes the fields from
	 * `next_pair` to `counters`.
	 */
	uint32_t next_pair; /* index of the ring from which the data path takes the next batch */
	uint32_t runq_pos;  /* index of the client in data.runq, the run queue */
	/* time of the last round in which the data path took a descriptor from the client */
	uint64_t active_ns;
	/*
	 * nanoseconds that are left of the client's turn; a negative value is time that the client
	 * used beyond its turn
	 */
	int64_t credit_ns;
	/*
	 * a ring has frames for the client, which sleeps, so the client's next turn with credit
	 * begins with a WAKE message
	 */
	bool is_wake_due;
	/*
	 * the client's turn ended at a frame or a barrier that has to wait, and is continued in the
	 * next round
	 */
	bool is_cut_short;
	/*
	 * for each ring from the client: the barrier that was reached and is not passed yet, if any
	 */
	struct client_barrier barrier[UROCE_SHM_PAIRS_MAX];
	/* number of rings from the client in which a barrier was reached and is not passed yet */
	unsigned nb_barriers;
	struct client_marks marks;
	/*
	 * The next three fields are for a client that was found without room in one of its rings:
	 * whether senders of frames wait for the client, when a ring was last found full, and how
	 * long senders may still wait.
	 */
	bool is_awaited;
	uint64_t full_ns, wait_budget_ns;
	struct client_down down[UROCE_SHM_PAIRS_MAX];
	struct uroce_spsc_end up[UROCE_SHM_PAIRS_MAX];
	struct counters counters;
	/* The data path and the control thread both read the fields from `slot` to `is_broken`. */
	/* index of the client in tables of clients, such as data.client */
	_Alignas(64) uint16_t slot;
	int socket;
	int doorbell;
	struct uroce_shm shm;
	/*
	 * The data path sets this flag when the client has written an impossible index to a ring.
	 * From then on the data path takes no frames from the client and delivers none to it.
	 */
	atomic_bool is_broken;
	/* Only the control thread writes the fields from `is_greeted` on. */
	/*
	 * the client has sent HELLO with the protocol version of uroced. So uroced sends the
	 * message HOST to the client when the addresses of the host change
	 */
	bool is_greeted;
	bool is_attached;
	/* the message HOST is to be sent as soon as the socket of the client has room */
	bool is_host_due;
	/*
	 * uroced has not replied yet to the last message LEASE of the client, which asked for
	 * `nb_wanted` blocks of QP numbers
	 */
	bool has_request;
	uint32_t nb_wanted;
	_Atomic uint32_t nb_leases;
	/*
	 * index of the reader process that has a job for this client; -1 if none has one. While a
	 * reader has a job, uroced receives no message from the client.
	 */
	int reader;
	uint64_t job_number; /* the number of the job that the reader process `reader` has */
	/*
	 * the message ATTACH of the client, while a reader process seals the shared memory;
	 * otherwise NULL
	 */
	struct uroce_mux_attach *attaching;
	/*
	 * the record that the mapper has of the client's shared memory; NULL if no memory is mapped
	 */
	struct mapper_area *part;
	/*
	 * How many messages and new connections of all clients had been handled when this client's
	 * last message was handled, or when this client connected. If several clients of a user
	 * have a message, the client with the lowest number is served first.
	 */
	uint64_t served;
	pid_t pid;
	/* user ID of the client; CLIENT_UID_MANAGER if the client is the connection manager */
	uid_t uid;
};

/** Make the record of a client that has connected. @return NULL if there is no memory */
struct client *client_create(int socket, uint16_t slot);

/**
 * Free the record of a client with all that it owns, except for the socket. The mapper unmaps the
 * shared memory.
 */
void client_destroy(struct client *client, struct mapper *mapper);

/**
 * Check and map the shared memory of a client. The memory has to be sealed afterwards.
 * @param mapper       the mapper that unmaps the memory later
 * @param fd           the file of the memory; the caller closes it
 * @param frame_limit  the least size of a buffer, in bytes
 * @return NULL if the memory is accepted, otherwise the reason why it is refused, as the end of a
 *         sentence
 */
const char *client_map(struct client *client, struct mapper *mapper,
		       const struct uroce_shm_layout *plan, int fd, uint32_t frame_limit);

/**
 * Begin to use the rings of sealed shared memory, and create the eventfd by which the client wakes
 * the data path of uroced. The indexes of the rings stay as an earlier uroced process left them.
 * @param mapper  the mapper that enters the pages of the memory into the page table
 * @return NULL if the memory is accepted, otherwise the reason why it is refused, as the end of a
 *         sentence
 */
const char *client_take_up(struct client *client, struct mapper *mapper);

/**
 * Read the indexes of all rings in the shared memory of a client, and begin to use the rings.
 * Unlike client_take_up(), the function needs neither a mapper nor a doorbell.
 * @return whether the indexes in all rings are possible
 */
bool client_take_rings(struct client *client);

static inline bool
client_is_manager(const struct client *client)
{
	return client->uid == CLIENT_UID_MANAGER;
}

/** Get the slot and the user of a client. The table of leases identifies the client by them. */
static inline struct lessee
client_lessee(const struct client *client)
{
	return (struct lessee){ client->slot, client->uid };
}

#endif /* UROCED_CLIENT_H */
