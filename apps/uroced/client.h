/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CLIENT_H
#define UROCED_CLIENT_H

/**
 * @file
 * A client: a connection, and once it has attached, an area and its lanes. Control thread and data path each have
 * fields of their own; the data path has them from data_link() to data_unlink() alone.
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

/** Counters: one writer, any reader. */
typedef _Atomic uint64_t counter;

struct counters {
	counter frames_up, bytes_up;     /* passed on, of those that it sent */
	counter frames_down, bytes_down; /* that it was given */
	counter wakes;                   /* that it was sent */
	counter busy_ns;                 /* of the data path's time, that its turns took */
	counter drop[FRAME_NB_DROPS];    /* of its own; LANE_FULL and BUFFER: that were for it */
};

static inline void
counter_add(counter *counter, uint64_t nb)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + nb,
			      memory_order_relaxed);
}

struct client;

/** A lane down, as the data path has it. */
struct client_down {
	struct uroce_spsc_end end;
	uint32_t nb_new; /* slots that are filled, and not published yet */
	int32_t room;    /* with is_touched: slots that there were */
	bool is_touched; /* it is in the list of those that are to be published */
	uint32_t taken;  /* slots, when it was last found full */
	struct client *client;
	struct client_down *next;
};

/** A barrier that was met in a lane up, and is not passed yet. */
struct client_barrier {
	bool is_met;
	uint64_t number;     /* of all barriers, counted from 1 */
	uint64_t round;      /* in which it was met */
	uint64_t nb_emptied; /* looks at the wire that took all it had, before that */
	uint64_t nb_heard;   /* looks for bells, before that */
};

/** What a client had in its lanes up when others' barriers were met: lanes are marked with the newest barrier's number. */
struct client_marks {
	uint64_t number; /* of the barrier for which the lanes were marked last */
	uint64_t passed; /* what was in the lanes before the barrier with this number was taken */
	uint32_t index[UROCE_SHM_PAIRS_MAX]; /* with number != passed: where what is marked ends */
};

struct mapper;
struct mapper_area;

struct client {
	/* the data path's */
	uint32_t next_pair; /* whose turn it is */
	uint32_t runq_pos;  /* in the data path's line */
	uint64_t active_ns; /* when its lanes up had something last */
	int64_t credit_ns; /* time that it has in its turn; below 0: that its last turn took too much */
	bool is_wake_due;  /* it sleeps, and is to be sent a WAKE in its turn */
	bool is_cut_short; /* there was no room for a frame: its turn goes on in the next round */
	struct client_barrier barrier[UROCE_SHM_PAIRS_MAX]; /* that is next in a lane up */
	unsigned nb_barriers;                               /* lanes up whose barrier was met */
	struct client_marks marks;
	/* when a lane down of its was last found full: whether others wait for it, and how long they are to */
	bool is_awaited;
	uint64_t full_ns, wait_budget_ns;
	struct client_down down[UROCE_SHM_PAIRS_MAX];
	struct uroce_spsc_end up[UROCE_SHM_PAIRS_MAX];
	struct counters counters;
	/* both read */
	_Alignas(64) uint16_t slot; /* its place, in tables of clients */
	int socket;
	int doorbell;
	struct uroce_shm shm;
	atomic_bool
		is_broken; /* set by the data path, which leaves it alone then: an index of its cannot be */
	/* the control thread's */
	bool is_greeted; /* it has asked what this host is: it hears of changes */
	bool is_attached;
	bool is_host_due; /* it is to be told of the host, when it reads */
	bool has_request; /* and of leases, as many as these */
	uint32_t nb_wanted;
	_Atomic uint32_t nb_leases;
	int reader;          /* that has a job of its; -1: none, its messages are heard */
	uint64_t job_number; /* the job's */
	struct uroce_mux_attach
		*attaching;       /* what it said, while the area is sealed; NULL: nothing */
	struct mapper_area *part; /* what unmaps the area; NULL: it is not mapped */
	uint64_t served;          /* the number of its last message, or of its coming */
	pid_t pid;
	uid_t uid;
};

/** A client that has connected. @return NULL: no memory */
struct client *client_create(int socket, uint16_t slot);

/** Close what it has but its socket, and have its area unmapped. */
void client_destroy(struct client *client, struct mapper *mapper);

/**
 * Judge and map its area, which is to be sealed then.
 * @param mapper       unmaps it
 * @param fd           the area's file; the caller's
 * @param frame_limit  bytes of a buffer at least
 * @return NULL; else a sentence's end
 */
const char *client_map(struct client *client, struct mapper *mapper,
		       const struct uroce_shm_layout *plan, int fd, uint32_t frame_limit);

/**
 * Take up the lanes of an area that is sealed, where another uroced may have left them, and make its bell.
 * @param areas  whose thread enters its pages
 * @return NULL; else a sentence's end
 */
const char *client_take_up(struct client *client, struct mapper *mapper);

/** Take up the lanes of its area alone, which is what the data path needs. @return whether the indexes in them can be */
bool client_take_rings(struct client *client);

/** As lease.h has it. */
static inline struct lessee
client_lessee(const struct client *client)
{
	return (struct lessee){ client->slot, client->uid };
}

#endif /* UROCED_CLIENT_H */
