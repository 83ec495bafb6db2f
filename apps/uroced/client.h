/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CLIENT_H
#define UROCED_CLIENT_H

/**
 * @file
 * The record that uroced has of a client: its connection and, when the client has attached, shared
 * memory with rings. The control thread and the data path own different fields. The data path uses
 * its fields from data_link() until data_unlink().
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
	/* number of forwarded frames of the client, and their bytes */
	counter frames_up, bytes_up;
	/* number of frames that were delivered to the client, and their bytes */
	counter frames_down, bytes_down;
	counter wakes;   /* number of WAKE messages sent to the client */
	counter busy_ns; /* nanoseconds that the turns of the client took */
	/*
	 * number of dropped frames for each reason. For RING_FULL and BUFFER these are frames that
	 * were to be delivered to the client, for other reasons frames that the client sent.
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

/** A ring that carries frames down to a client, as the data path sees the ring. */
struct client_down {
	struct uroce_spsc_end end;
	uint32_t nb_new; /* number of descriptors that are filled and not published yet */
	/*
	 * valid if is_touched: number of descriptors that had room for a frame when the ring was
	 * put in the list data.touched
	 */
	int32_t room;
	/* the ring is in the list data.touched: rings with frames that are not published yet */
	bool is_touched;
	/* index up to which the client had taken descriptors when the ring was last found full */
	uint32_t taken;
	struct client *client;
	struct client_down *next;
};

/** A barrier that the data path has reached in a ring up and has not passed yet. */
struct client_barrier {
	bool is_met;
	/* number of the barrier; the data path numbers barriers from 1 on */
	uint64_t number;
	uint64_t round;      /* value of data.nb_rounds when the barrier was reached */
	uint64_t nb_emptied; /* the value of wire.nb_emptied when the barrier was reached */
	uint64_t nb_heard;   /* the value of data.nb_heard when the barrier was reached */
};

/**
 * Marks in the rings up of a client. The marked frames are those that were in the rings when a
 * barrier of another client was reached. One set of marks is for all barriers up to the barrier
 * `number`.
 */
struct client_marks {
	uint64_t number; /* number of the newest barrier for which the rings are marked */
	uint64_t passed; /* number of the newest barrier whose marked frames have all been taken */
	/* valid if number != passed: the index in each ring up where the marked frames end */
	uint32_t index[UROCE_SHM_PAIRS_MAX];
};

struct mapper;
struct mapper_area;

/**
 * The user ID of the connection manager (cm_process.h) for turns, limits and readers. No process
 * has this user ID. So the connection manager has turns, limits and a reader of its own.
 */
#define CLIENT_UID_MANAGER ((uid_t)-1)

struct client {
	/*
	 * While the client is linked to the data path, only the data path changes the fields from
	 * here to `counters`.
	 */
	uint32_t next_pair; /* index of the pair of rings from which the next batch is taken */
	uint32_t runq_pos;  /* index of the client in the run queue, data.runq */
	uint64_t active_ns; /* time of the last round that took a descriptor from a ring up */
	/*
	 * nanoseconds that are left of the client's turn; a negative value is time that the client
	 * used beyond its turn
	 */
	int64_t credit_ns;
	/*
	 * a ring down has frames for a client that sleeps, so the client's next turn with credit
	 * begins with a WAKE message
	 */
	bool is_wake_due;
	/*
	 * the client's turn ended at a frame or a barrier that has to wait, and is continued in the
	 * next round
	 */
	bool is_cut_short;
	/* for each ring up: the barrier that was reached and is not passed yet, if there is one */
	struct client_barrier barrier[UROCE_SHM_PAIRS_MAX];
	/* number of rings up in which a barrier was reached and is not passed yet */
	unsigned nb_barriers;
	struct client_marks marks;
	/*
	 * The next three fields are for a client whose ring down was found full: whether senders
	 * wait for the client, when the ring was last found full, and how long senders may still
	 * wait.
	 */
	bool is_awaited;
	uint64_t full_ns, wait_budget_ns;
	struct client_down down[UROCE_SHM_PAIRS_MAX];
	struct uroce_spsc_end up[UROCE_SHM_PAIRS_MAX];
	struct counters counters;
	/* The data path and the control thread both read the fields from here to `is_broken`. */
	/* the client's index in tables of clients, such as data.client */
	_Alignas(64) uint16_t slot;
	int socket;
	int doorbell;
	struct uroce_shm shm;
	/*
	 * The data path sets this flag when the client has written an impossible index to a ring.
	 * The data path then takes no frames from the client and delivers none to it.
	 */
	atomic_bool is_broken;
	/* The control thread alone writes the fields from here on. */
	/*
	 * the client has sent HELLO of the version that uroced has. So uroced sends the message
	 * HOST to the client when the host changes
	 */
	bool is_greeted;
	bool is_attached;
	/* the message HOST is to be sent when the socket of the client has room */
	bool is_host_due;
	/* the last message LEASE of the client, for `nb_wanted` blocks, has no reply yet */
	bool has_request;
	uint32_t nb_wanted;
	_Atomic uint32_t nb_leases;
	/*
	 * index of the reader that has a job of this client; -1 if no reader has one. While a
	 * reader has a job, no message of the client is received.
	 */
	int reader;
	uint64_t job_number; /* the number of the job that `reader` has */
	/*
	 * the message ATTACH of the client, while a reader seals the shared memory; otherwise NULL
	 */
	struct uroce_mux_attach *attaching;
	/* the record that the mapper has of the shared memory; NULL if no memory is mapped */
	struct mapper_area *part;
	/*
	 * How many messages and new connections of all clients were handled when this client's last
	 * message was handled, or when this client connected. Of the clients of a user that have a
	 * message, the one with the lowest number is handled first.
	 */
	uint64_t served;
	pid_t pid;
	/* user ID of the client; CLIENT_UID_MANAGER if the client is the connection manager */
	uid_t uid;
};

/** Make the record of a client for its connection. @return NULL if there is no memory */
struct client *client_create(int socket, uint16_t slot);

/**
 * Free the record of a client and the objects of the record, except for the socket. The mapper
 * unmaps the shared memory.
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
 * @param mapper  the mapper that enters the pages into the page table
 * @return NULL if the memory is accepted, otherwise the reason why it is refused, as the end of a
 *         sentence
 */
const char *client_take_up(struct client *client, struct mapper *mapper);

/**
 * Read the indexes of all rings in the shared memory, and begin to use the rings. Unlike
 * client_take_up(), the function needs neither a mapper nor a doorbell.
 * @return whether the indexes in all rings are possible
 */
bool client_take_rings(struct client *client);

static inline bool
client_is_manager(const struct client *client)
{
	return client->uid == CLIENT_UID_MANAGER;
}

/** Get the slot and the user of a client, by which the table of leases identifies the client. */
static inline struct lessee
client_lessee(const struct client *client)
{
	return (struct lessee){ client->slot, client->uid };
}

#endif /* UROCED_CLIENT_H */
