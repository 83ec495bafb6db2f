/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_DATA_H
#define UROCED_DATA_H

/**
 * @file
 * The data path: one thread of uroced that forwards frames between clients and the wire, in rounds.
 * Between two rounds the thread runs the commands of the control thread.
 *
 *	forward.c    a round: takes frames from clients by deficit round robin, and delivers them
 *	run_queue.c  the clients whose rings a round reads
 *	wire.c       the port: transmits and receives frames
 *	groups.c     multicast groups of the port `udp`
 *	loop.c       the loop of rounds, the idle policy, and commands of the control thread
 */

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/token_bucket.h"
#include "client.h"
#include "datapath/port/rx_wakeup.h"
#include "datapath/port/port.h"
#include "datapath/udp/udp_counter.h"
#include "frame.h"
#include "groups.h"
#include "lease.h"

struct data;
struct rte_mbuf;
struct uroce_neigh;

/** Maximum number of descriptors that the data path takes from a ring of a client in one batch. */
#define DATA_BATCH 32u

/**
 * The time in nanoseconds that a client may use in each round of the data path. To forward
 * DATA_BATCH frames of maximum length takes about as long.
 */
#define DATA_TURN_NS INT64_C(15000)

/**
 * The maximum times in nanoseconds that are charged to a client for one batch of its frames: for a
 * batch without a multicast frame, and for a batch with one, of which each client gets a copy. The
 * thread cannot distinguish the time in which another thread had its CPU from the time of its own
 * work. So time above these limits is charged to no client.
 */
#define DATA_BATCH_MAX_NS UINT64_C(200000)
#define DATA_MCAST_MAX_NS UINT64_C(1000000)

/**
 * Time in nanoseconds after which a client that has sent nothing loses its turns: the data path
 * does not read its rings. The client gets turns again when it rings its doorbell.
 */
#define RUNQ_PARK_NS UINT64_C(1000000)

/**
 * Time in nanoseconds for which frames wait for a port that transmits nothing, or for a client that
 * takes no frames from its ring. Afterwards frames for this port or client are dropped.
 */
#define DATA_STALL_NS UINT64_C(20000000)

/** Maximum number of frames that wait in uroced until the port has room for them. */
#define WIRE_PENDING_MAX (4 * UROCE_BURST)

struct wire {
	struct uroce_port *port;
	/*
	 * responder for ARP and neighbour discovery; NULL if the kernel owns all addresses of the
	 * port and responds for them
	 */
	struct uroce_neigh *neigh;
	struct rte_mbuf *pending[WIRE_PENDING_MAX];
	unsigned nb_pending;
	struct rte_mbuf *spare[DATA_BATCH];
	unsigned nb_spare;
	/*
	 * time at which the port last took a frame or, if it is later, at which no frame was
	 * pending
	 */
	uint64_t moved_ns;
	/* number of receive bursts after which the port had no more received frames */
	uint64_t nb_emptied;
	uint64_t link_check_ns;
	/* limits the number of replies to Get(ClassPortInfo), a MAD by which hosts test the path */
	struct uroce_token_bucket replies;
	/*
	 * "up" counters of frames count the frames that were transmitted to the wire, "down"
	 * counters the frames that were received from it
	 */
	struct counters counters;
	/* the counters of the port `udp`, copied by the last call of wire_read_udp_counters() */
	counter udp[UROCE_UDP_COUNTER_NB];
};

/** A command: a function that the data path runs for the control thread between two rounds. */
struct data_cmd {
	void (*run)(struct data *data, void *arg);
	void *arg;
	sem_t is_done;
};

struct data {
	struct frame_host host;
	struct lease_table *leases;
	/* the attached clients, indexed by client.slot; NULL in a slot without a client */
	struct client *client[CLIENTS_MAX];
	/*
	 * the run queue: first the clients that have turns, then the clients without turns, whose
	 * rings are not read
	 */
	struct client *runq[CLIENTS_MAX];
	unsigned nb_clients;
	/* number of clients that have turns; these clients are the first ones in `runq` */
	unsigned nb_active;
	unsigned first;        /* the index in `runq` of the client that begins the next round */
	uint64_t doorbells_ns; /* time at which the doorbells of clients were last polled */
	/* number of polls of the doorbells that reported every doorbell that clients had rung */
	uint64_t nb_heard;
	uint64_t nb_rounds;
	uint64_t nb_barriers; /* number of barriers that the data path has reached in rings */
	/* number of barriers that the data path has reached and not passed yet */
	unsigned nb_waiting;
	struct client_down *touched;
	struct wire wire;
	struct groups groups; /* multicast groups of the port `udp`; none on other ports */
	/*
	 * clock that measures the time of clients' turns: uroce_clock_ns(), or the clock of a test
	 */
	uint64_t (*read_clock)(void);
	uint64_t now_ns;  /* time at which the current round began */
	uint64_t last_ns; /* time at which the round before the current one began */
	/* nanoseconds that the data path spent on rounds which moved at least one frame */
	counter busy_ns;
	/*
	 * number of rounds of the data path, including rounds that only slept, for data_progress()
	 */
	counter nb_loops;
	/* copies of the headers of the frames in the current batch, which clients cannot change */
	_Alignas(64) uint8_t head[DATA_BATCH][FRAME_HEAD];
	/* The idle policy of the data path uses `notices`, `epoll_fd`, `wake_fd` and `is_down`. */
	struct uroce_rx_wakeups notices;
	int epoll_fd; /* an epoll descriptor that watches the clients' doorbells and `wake_fd` */
	int wake_fd;  /* an eventfd by which the control thread wakes the data path */
	/*
	 * an eventfd that wakes the control thread after a client wrote an impossible index to a
	 * ring
	 */
	int broken_fd;
	/*
	 * the data path may sleep until a wake-up: it has requested doorbells in the clients'
	 * rings, and has armed the RX wake-up if the port has one
	 */
	bool is_down;
	bool is_ending;
	_Alignas(64) _Atomic(struct data_cmd *) cmd;
	atomic_bool is_asleep;
};

/* The functions from data_create() to data_end() are in loop.c. */

/**
 * Create the data path for a port of uroced.
 * @return NULL after one line of the log if it cannot be created
 */
struct data *data_create(struct uroce_port *port, struct uroce_neigh *neigh,
			 struct lease_table *leases);
void data_destroy(struct data *data);

/** Run rounds of the data path until data_end() is called by the control thread. */
void data_run(struct data *data);

/**
 * Get a number that increases as long as the data path runs: at least every
 * UROCE_IDLE_WAKEUP_MAX_NS, even if there are no frames to forward. Any thread may call this
 * function.
 */
static inline uint64_t
data_progress(const struct data *data)
{
	return atomic_load_explicit(&data->nb_loops, memory_order_relaxed);
}

/*
 * The control thread calls the functions from data_link() to data_end(). Each of them gives a
 * command to the data path, and waits until the data path has run the command.
 */

/** Let the data path serve an attached client. @return 0, or -errno: the client was not added */
int data_link(struct data *data, struct client *client);

/**
 * Let the data path stop serving a client. After the call, the data path uses neither the client
 * nor its shared memory.
 */
void data_unlink(struct data *data, struct client *client);

void data_set_host(struct data *data, const struct frame_host *host);
void data_end(struct data *data);

/* The functions from data_round() to data_publish() are in forward.c. */

/**
 * Run one round of the data path.
 * @return 0 if no frame was forwarded or dropped, and no barrier and no WAKE message waits
 */
unsigned data_round(struct data *data);

/**
 * Check whether a frame of some client waits for room in a ring of its receiver or in the port, or
 * a barrier waits to be passed.
 */
bool data_waits(const struct data *data);

/**
 * Request doorbells from all clients that have turns, so that the data path may sleep.
 * @return whether these clients have no frames in their rings for uroced
 */
bool data_may_sleep(struct data *data);
void data_awake(struct data *data);

/**
 * A frame in two parts. The head is in memory of uroced. The rest may be in the shared memory of a
 * client, and this client may change the rest at any time.
 */
struct pieces {
	const uint8_t *head;
	uint32_t head_len;
	const uint8_t *rest;
	uint32_t rest_len;
};

/**
 * Deliver a frame from the wire to the client that holds the destination QPN of the frame. If this
 * client has no room, the drop is counted for the client, and the result is FRAME_PASSES.
 * @return FRAME_PASSES, or why the frame is dropped
 */
enum frame_drop data_deliver(struct data *data, const struct frame *frame,
			     const struct pieces *pieces);

/**
 * Deliver a copy of a frame to all clients. A multicast datagram is delivered to those that may
 * have joined its group: not to its sender, and not to the connection manager, whose QP 1 joins no
 * group.
 * @param from  the client that has sent the frame; NULL if the frame comes from the wire
 * @return the number of clients to which a copy was to be delivered
 */
unsigned data_deliver_all(struct data *data, const struct client *from, const struct frame *frame,
			  const struct pieces *pieces);

/** Publish the frames that were written to the clients' rings, so that the clients see them. */
void data_publish(struct data *data);

/* The functions from runq_add() to runq_awake() are in run_queue.c. */

/** Give turns to a client that is not in the run queue yet. */
void runq_add(struct data *data, struct client *client);

/** Remove a client from the run queue. */
void runq_remove(struct data *data, struct client *client);

/**
 * Give turns to a client that has none. If a round of the data path runs, the turns begin in the
 * next round.
 */
void runq_activate(struct data *data, struct client *client);

/**
 * Take the turns from clients that have sent nothing for RUNQ_PARK_NS. The function may be called
 * only between two rounds of the data path.
 */
void runq_park_idle(struct data *data);

/**
 * Handle the doorbell that a client has rung. A client without turns gets turns again if one of its
 * rings has a frame for uroced.
 */
void runq_on_doorbell(struct data *data, struct client *client);

/**
 * Request that a client rings its doorbell when it sends its next frame.
 * @return whether the client has no frames in its rings for uroced
 */
bool runq_may_sleep(struct client *client);

/** Withdraw the request of runq_may_sleep() that a client rings its doorbell. */
void runq_awake(struct client *client);

/* The functions from wire_read_udp_counters() to wire_receive() are in wire.c. */

/**
 * Copy the counters of the port `udp` to the field wire.udp, where other threads read them. On
 * other ports the function does nothing.
 */
void wire_read_udp_counters(struct wire *wire);

void wire_init(struct wire *wire, struct uroce_port *port, struct uroce_neigh *neigh);
void wire_fini(struct wire *wire);

/**
 * Check whether a frame for the wire may leave the ring of its client: the port has room for the
 * frame, or the frame is dropped because there is no link.
 */
bool wire_has_room(struct wire *wire);

/**
 * Append a copy of a frame to the frames that wait for the port.
 * @return FRAME_PASSES, or FRAME_DROP_WIRE
 */
enum frame_drop wire_send(struct wire *wire, const struct pieces *frame);

/** Pass the frames that wait for the port to the port. */
void wire_flush(struct wire *wire, uint64_t now_ns);

/**
 * Receive a burst of frames from the port. Each frame is delivered to clients, answered by uroced,
 * or dropped.
 * @return the number of frames
 */
unsigned wire_receive(struct data *data);

#endif /* UROCED_DATA_H */
