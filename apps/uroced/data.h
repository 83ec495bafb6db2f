/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_DATA_H
#define UROCED_DATA_H

/**
 * @file
 * The data path: one thread that forwards frames between clients and the wire, in rounds. Between
 * two rounds the thread runs the commands of the control thread.
 *
 *	forward.c    a round: takes frames from clients by deficit round robin, and delivers them
 *	run_queue.c  the clients whose rings a round reads
 *	wire.c       the port: transmits and receives frames
 *	loop.c       the loop of rounds, the idle policy, and commands of the control thread
 */

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "client.h"
#include "datapath/port/rx_wakeup.h"
#include "datapath/port/port.h"
#include "frame.h"
#include "lease.h"

struct data;
struct rte_mbuf;
struct uroce_neigh;

/** The number of frames that are taken from a ring at once. */
#define DATA_BATCH 32u

/** The time that a client gets in each round. A batch of the longest frames takes about as long. */
#define DATA_TURN_NS INT64_C(15000)

/**
 * The most that is charged for a batch, and for a batch that ends with a multicast frame, of which
 * each client gets a copy. A thread that was kept from the CPU cannot tell that time from work, so
 * time above these limits is charged to no client.
 */
#define DATA_BATCH_MAX_NS UINT64_C(200000)
#define DATA_MCAST_MAX_NS UINT64_C(1000000)

/**
 * A client that has sent nothing for this time is parked: it gets no turns until it rings its
 * doorbell.
 */
#define RUNQ_PARK_NS UINT64_C(1000000)

/** A port, or a client, that takes no frames for this time is not waited for. */
#define DATA_STALL_NS UINT64_C(20000000)

/** The most frames that wait until the port has room. */
#define WIRE_PENDING_MAX (4 * UROCE_BURST)

struct wire {
	struct uroce_port *port;
	/* replies to ARP and neighbour discovery; NULL: the kernel owns all addresses */
	struct uroce_neigh *neigh;
	struct rte_mbuf *pending[WIRE_PENDING_MAX];
	unsigned nb_pending;
	struct rte_mbuf *spare[DATA_BATCH];
	unsigned nb_spare;
	uint64_t moved_ns;   /* when the port last took a frame, or no frame was pending */
	uint64_t nb_emptied; /* the number of receive bursts that emptied the port */
	uint64_t link_check_ns;
	struct counters counters; /* up: transmitted to the wire; down: received from the wire */
};

/** A call that the control thread has made in the data path. */
struct data_cmd {
	void (*run)(struct data *data, void *arg);
	void *arg;
	sem_t is_done;
};

struct data {
	struct frame_host host;
	struct lease_table *leases;
	struct client *client[CLIENTS_MAX]; /* clients by slot; NULL: none */
	/* the run queue: clients that have turns, and behind them the parked clients */
	struct client *runq[CLIENTS_MAX];
	unsigned nb_clients;
	unsigned nb_active;    /* clients that have turns: the first part of `runq` */
	unsigned first;        /* the index in `runq` of the client that begins the next round */
	uint64_t doorbells_ns; /* when doorbells were last polled */
	uint64_t nb_heard;     /* the number of polls that found all doorbells that had been rung */
	uint64_t nb_rounds;
	uint64_t nb_barriers; /* the number of barriers that the data path has reached */
	unsigned nb_waiting;  /* barriers that were reached and are not passed yet */
	struct client_down *touched;
	struct wire wire;
	/* the clock by which turns are charged: uroce_clock_ns(), or the clock of a test */
	uint64_t (*read_clock)(void);
	uint64_t now_ns;  /* when this round began */
	uint64_t last_ns; /* when the previous round began */
	counter busy_ns;  /* time spent on rounds that moved at least one frame */
	/* the headers of the current batch */
	_Alignas(64) uint8_t head[DATA_BATCH][FRAME_HEAD];
	/* the idle policy */
	struct uroce_rx_wakeups notices;
	int epoll_fd; /* watches the doorbells, and wake_fd */
	int wake_fd;  /* an eventfd by which the control thread wakes the data path */
	/* an eventfd that wakes the control thread after a client wrote an impossible index */
	int broken_fd;
	/* the rings ask for doorbells, and the RX wake-up is armed if the port has one */
	bool is_down;
	bool is_ending;
	_Alignas(64) _Atomic(struct data_cmd *) cmd;
	atomic_bool is_asleep;
};

/* loop.c */

/** @return NULL after one line of the log */
struct data *data_create(struct uroce_port *port, struct uroce_neigh *neigh,
			 struct lease_table *leases);
void data_destroy(struct data *data);

/** Run rounds until data_end(). */
void data_run(struct data *data);

/* Functions of the control thread. Each waits until the data path has run the command. */

/** Add a client. @return 0, or -errno: the client was not added */
int data_link(struct data *data, struct client *client);

/**
 * Remove a client. When this returns, the data path uses neither the client nor its shared memory.
 */
void data_unlink(struct data *data, struct client *client);

void data_set_host(struct data *data, const struct frame_host *host);
void data_end(struct data *data);

/* forward.c */

/** Run one round. @return 0: no frame was forwarded or dropped, and no barrier or WAKE waits */
unsigned data_round(struct data *data);

/** Whether a frame of some client waits for room in a ring or in the port, or a barrier waits. */
bool data_waits(const struct data *data);

/**
 * Request doorbells from all clients that have turns.
 * @return whether the rings up of all of them are empty
 */
bool data_may_sleep(struct data *data);
void data_awake(struct data *data);

/**
 * A frame in two parts. The first is a copy of uroced's own. The second may be in the memory of a
 * client, which may change it at any time.
 */
struct pieces {
	const uint8_t *head;
	uint32_t head_len;
	const uint8_t *rest;
	uint32_t rest_len;
};

/**
 * Deliver a frame from the wire to the client that holds the QP number. If the client has no room,
 * the drop is counted for the client, and the result is FRAME_PASSES.
 * @return FRAME_PASSES, or why the frame is dropped
 */
enum frame_drop data_deliver(struct data *data, const struct frame *frame,
			     const struct pieces *pieces);

/**
 * Deliver a frame to all clients but one.
 * @param but  NULL: to all @return the number of clients
 */
unsigned data_deliver_all(struct data *data, const struct client *but, const struct pieces *frame);

/** Publish the frames that were written to rings down. */
void data_publish(struct data *data);

/* run_queue.c */

/** Add a client to those that have turns. */
void runq_add(struct data *data, struct client *client);

/** Remove a client. */
void runq_remove(struct data *data, struct client *client);

/** Give turns to a client that is parked. Within a round this takes effect in the next round. */
void runq_activate(struct data *data, struct client *client);

/** Park the clients that have sent nothing for RUNQ_PARK_NS. Called between rounds. */
void runq_park_idle(struct data *data);

/**
 * A client has rung its doorbell. If it is parked and has a frame in a ring up, it gets turns
 * again.
 */
void runq_on_doorbell(struct data *data, struct client *client);

/**
 * Request the doorbell of a client for its next frame.
 * @return whether all of its rings up are empty
 */
bool runq_may_sleep(struct client *client);

/** Withdraw the request for the doorbell of a client. */
void runq_awake(struct client *client);

/* wire.c */

void wire_init(struct wire *wire, struct uroce_port *port, struct uroce_neigh *neigh);
void wire_fini(struct wire *wire);

/**
 * Whether a frame for the wire need not wait: it can be sent, or is dropped because there is no
 * link.
 */
bool wire_has_room(struct wire *wire);

/** Copy a frame to the pending frames. @return FRAME_PASSES, or FRAME_DROP_WIRE */
enum frame_drop wire_send(struct wire *wire, const struct pieces *frame);

/** Pass the pending frames to the port. */
void wire_flush(struct wire *wire, uint64_t now_ns);

/** Receive a burst, and deliver its frames or reply to them. @return the number of frames */
unsigned wire_receive(struct data *data);

#endif /* UROCED_DATA_H */
