/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CLIENT_H
#define UROCED_CLIENT_H

/**
 * @file
 * A client: a connection, and once the client has attached, shared memory with its rings. Control
 * thread and data path own different fields. The data path uses its fields from data_link() until
 * data_unlink().
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

/** A counter has one writer and any number of readers. */
typedef _Atomic uint64_t counter;

struct counters {
	counter frames_up, bytes_up;     /* frames of the client that were forwarded */
	counter frames_down, bytes_down; /* frames that were delivered to the client */
	counter wakes;                   /* WAKE messages sent to the client */
	counter busy_ns;                 /* time of the data path that the client's turns took */
	/* frames of the client that were dropped; RING_FULL and BUFFER: frames for the client */
	counter drop[FRAME_NB_DROPS];
};

static inline void
counter_add(counter *counter, uint64_t nb)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + nb,
			      memory_order_relaxed);
}

struct client;

/** The data path's end of a ring down. */
struct client_down {
	struct uroce_spsc_end end;
	uint32_t nb_new; /* number of descriptors that are filled and not published yet */
	/* if is_touched: number of descriptors that uroced could fill when it marked the ring */
	int32_t room;
	bool is_touched; /* the ring is in the list of rings with frames to publish */
	uint32_t taken;  /* the client's index in the ring when the ring was last found full */
	struct client *client;
	struct client_down *next;
};

/** A barrier that the data path has reached in a ring up and has not passed yet. */
struct client_barrier {
	bool is_met;
	uint64_t number;     /* the barrier's number; barriers are counted from 1 */
	uint64_t round;      /* the round in which the barrier was reached */
	uint64_t nb_emptied; /* wire.nb_emptied when the barrier was reached */
	uint64_t nb_heard;   /* data.nb_heard when the barrier was reached */
};

/**
 * What a client had in its rings up when other clients' barriers were reached. The rings are marked
 * with the number of the newest barrier.
 */
struct client_marks {
	uint64_t number; /* the barrier for which the rings were marked last */
	uint64_t passed; /* number of the newest barrier before which all frames have been taken */
	/* if number != passed: the index in each ring up where the marked frames end */
	uint32_t index[UROCE_SHM_PAIRS_MAX];
};

struct mapper;
struct mapper_area;

struct client {
	/* Fields of the data path. */
	uint32_t next_pair; /* the pair of rings whose turn is next */
	uint32_t runq_pos;  /* the client's index in the run queue */
	uint64_t active_ns; /* when a ring up last had a frame */
	/* time that is left of the turn; below 0: time that was used beyond the turn */
	int64_t credit_ns;
	/* a ring down has frames for a client that sleeps: a WAKE is sent in the client's turn */
	bool is_wake_due;
	bool is_cut_short; /* a frame or a barrier waits: the turn is continued in the next round */
	/* the barrier that comes next in each ring up */
	struct client_barrier barrier[UROCE_SHM_PAIRS_MAX];
	/* number of rings up in which a barrier was reached and is not passed yet */
	unsigned nb_barriers;
	struct client_marks marks;
	/*
	 * A ring down was found full: whether senders wait for this client, since when, and how
	 * long they may wait.
	 */
	bool is_awaited;
	uint64_t full_ns, wait_budget_ns;
	struct client_down down[UROCE_SHM_PAIRS_MAX];
	struct uroce_spsc_end up[UROCE_SHM_PAIRS_MAX];
	struct counters counters;
	/* Fields that both threads read. */
	_Alignas(64) uint16_t slot; /* the client's index in tables of clients */
	int socket;
	int doorbell;
	struct uroce_shm shm;
	/*
	 * set by the data path when an index in a ring is impossible; the data path leaves the
	 * client alone then
	 */
	atomic_bool is_broken;
	/* Fields of the control thread. */
	/* the client has sent HELLO of this version, and is sent HOST when the host changes */
	bool is_greeted;
	bool is_attached;
	bool is_host_due; /* HOST is to be sent when the socket has room */
	bool has_request; /* a LEASE message for `nb_wanted` blocks has no reply yet */
	uint32_t nb_wanted;
	_Atomic uint32_t nb_leases;
	/*
	 * the reader that has a job of this client; -1: none, and messages of the client are
	 * received
	 */
	int reader;
	uint64_t job_number; /* the number of the job that `reader` has */
	/* the ATTACH message, while a reader seals the shared memory; NULL: no reader does */
	struct uroce_mux_attach *attaching;
	/* the mapper's record of the shared memory; NULL: nothing is mapped */
	struct mapper_area *part;
	/* control.nb_served at the client's last message, or at its connection */
	uint64_t served;
	pid_t pid;
	uid_t uid;
};

/** Make a client for a connection. @return NULL: no memory */
struct client *client_create(int socket, uint16_t slot);

/** Free a client and all that it has but its socket. The mapper unmaps its shared memory. */
void client_destroy(struct client *client, struct mapper *mapper);

/**
 * Check and map the shared memory of a client. The memory has to be sealed afterwards.
 * @param mapper       unmaps the memory later
 * @param fd           the file of the memory; stays the caller's
 * @param frame_limit  the least size of a buffer, in bytes
 * @return NULL; else the end of a sentence: why the memory is refused
 */
const char *client_map(struct client *client, struct mapper *mapper,
		       const struct uroce_shm_layout *plan, int fd, uint32_t frame_limit);

/**
 * Take over the rings of shared memory that is sealed, at the indexes that a former uroced left,
 * and make the doorbell.
 * @param mapper  enters the pages
 * @return NULL; else the end of a sentence: why the memory is refused
 */
const char *client_take_up(struct client *client, struct mapper *mapper);

/**
 * Take over the rings of the shared memory. The data path needs nothing else of the memory.
 * @return whether the indexes in all rings are possible
 */
bool client_take_rings(struct client *client);

/** The slot and the user of a client, by which lease.h identifies the client. */
static inline struct lessee
client_lessee(const struct client *client)
{
	return (struct lessee){ client->slot, client->uid };
}

#endif /* UROCED_CLIENT_H */
