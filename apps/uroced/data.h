/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_DATA_H
#define UROCED_DATA_H

/**
 * @file
 * The data path: one thread, which goes round the clients and the wire. The control thread's wishes are granted
 * between two rounds.
 *
 *	forward.c  a round: frames from clients, by deficit round robin, and where they go
 *	run_queue.c     whose lanes a round looks at
 *	wire.c     the port: frames out and in
 *	loop.c     round after round; sleep; what the control thread wants
 */

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "client.h"
#include "datapath/rx_wakeup.h"
#include "datapath/port.h"
#include "frame.h"
#include "lease.h"

struct data;
struct rte_mbuf;
struct uroce_neigh;

/** Frames that are taken from a lane at a time. */
#define DATA_BATCH 32u

/** The time that a client has in each round: a batch of the longest frames takes as long. */
#define DATA_TURN_NS INT64_C(15000)

/**
 * The most that is charged for a batch, and for a batch that ends with a multicast frame, of which each client gets a copy.
 * A thread that was kept from the CPU cannot tell that time from work, so time above these limits is charged to nobody.
 */
#define DATA_BATCH_MAX_NS UINT64_C(200000)
#define DATA_MCAST_MAX_NS UINT64_C(1000000)

/** A client that has sent nothing for so long has no turns until it rings its doorbell. */
#define RUNQ_PARK_NS UINT64_C(1000000)

/** The port, or a client, that takes nothing for so long is not waited for any more. */
#define DATA_STALL_NS UINT64_C(20000000)

/** Frames to the wire that wait for the port. */
#define WIRE_PENDING_MAX (4 * UROCE_BURST)

struct wire {
	struct uroce_port *port;
	struct uroce_neigh *neigh; /* NULL: the kernel answers for all addresses */
	struct rte_mbuf *pending[WIRE_PENDING_MAX];
	unsigned nb_pending;
	struct rte_mbuf *spare[DATA_BATCH];
	unsigned nb_spare;
	uint64_t moved_ns;   /* when the port took one last, or had none to take */
	uint64_t nb_emptied; /* times that a look at it took all it had */
	uint64_t link_check_ns;
	struct counters counters; /* up: to the wire; down: from it */
};

/** A wish of the control thread. */
struct data_cmd {
	void (*run)(struct data *data, void *arg);
	void *arg;
	sem_t is_done;
};

struct data {
	struct frame_host host;
	struct lease_table *leases;
	struct client *client[CLIENTS_MAX]; /* by slot; NULL: none */
	struct client
		*runq[CLIENTS_MAX]; /* who have turns, as they come; behind them who are parked */
	unsigned nb_clients;
	unsigned nb_active;    /* of those, who have turns */
	unsigned first;        /* in line, of the next round */
	uint64_t doorbells_ns; /* when it was looked for bells of who are parked */
	uint64_t nb_heard;     /* times that it was looked for bells */
	uint64_t nb_rounds;
	uint64_t nb_barriers; /* that were met */
	unsigned nb_waiting;  /* of those, the ones that are not passed yet */
	struct client_down *touched;
	struct wire wire;
	uint64_t (*read_clock)(void); /* charges turns: uroce_clock_ns(), or the clock of a test */
	uint64_t now_ns;              /* of this round */
	uint64_t last_ns;             /* of the one before */
	counter busy_ns;              /* spent on rounds that moved something */
	/* a batch */
	_Alignas(64) uint8_t head[DATA_BATCH][FRAME_HEAD];
	/* sleep */
	struct uroce_rx_wakeups notices;
	int epoll_fd;  /* bells, and wake_fd */
	int wake_fd;   /* the control thread's bell */
	int broken_fd; /* to the control thread: a client is broken */
	bool is_down;  /* lanes and port are told that we may sleep */
	bool is_ending;
	_Alignas(64) _Atomic(struct data_cmd *) cmd;
	atomic_bool is_asleep;
};

/* loop.c */

/** @return NULL after one line */
struct data *data_create(struct uroce_port *port, struct uroce_neigh *neigh,
			 struct lease_table *leases);
void data_destroy(struct data *data);

/** Go round until data_end(). */
void data_run(struct data *data);

/* From the control thread; each is done when it returns. */

/** Let a client take part. @return 0, or -errno: it does not */
int data_link(struct data *data, struct client *client);

/** And no more: nothing refers to it, or its area, when this returns. */
void data_unlink(struct data *data, struct client *client);

void data_set_host(struct data *data, const struct frame_host *host);
void data_end(struct data *data);

/* forward.c */

/** A round. @return frames moved, or dropped */
unsigned data_round(struct data *data);

/** Whether a client's frame waits for room. */
bool data_waits(const struct data *data);

/** Whether the lanes of all who have turns are empty, and who fills one rings its bell. */
bool data_may_sleep(struct data *data);
void data_awake(struct data *data);

/** A frame in two pieces: its first bytes do not change, the others may. */
struct pieces {
	const uint8_t *head;
	uint32_t head_len;
	const uint8_t *rest;
	uint32_t rest_len;
};

/**
 * A frame from the wire to who has the QP number; what that one has no room for is counted there.
 * @return FRAME_PASSES, or why it is dropped
 */
enum frame_drop data_deliver(struct data *data, const struct frame *frame,
			     const struct pieces *pieces);

/** To all but one (NULL: to all). @return to how many */
unsigned data_deliver_all(struct data *data, const struct client *but, const struct pieces *frame);

/** What was delivered becomes visible. */
void data_publish(struct data *data);

/* run_queue.c */

/** A client comes; it has turns. */
void runq_add(struct data *data, struct client *client);

/** A client goes. */
void runq_remove(struct data *data, struct client *client);

/** Let a client have turns, if it has none. Amid a round: from the next round on. */
void runq_activate(struct data *data, struct client *client);

/** Between rounds: who had nothing to send for a while has no turns until it rings its bell. */
void runq_park_idle(struct data *data);

/** A client has rung its bell: if it was parked and there are frames, it has turns again. */
void runq_on_doorbell(struct data *data, struct client *client);

/** Whether all lanes up of a client are empty, and it rings its bell when it fills one. */
bool runq_may_sleep(struct client *client);

/** It need not ring any more. */
void runq_awake(struct client *client);

/* wire.c */

void wire_init(struct wire *wire, struct uroce_port *port, struct uroce_neigh *neigh);
void wire_fini(struct wire *wire);

/** Whether a frame can be sent, or is lost, and need not wait. */
bool wire_has_room(struct wire *wire);

/** Send a frame. @return FRAME_PASSES, or FRAME_DROP_WIRE */
enum frame_drop wire_send(struct wire *wire, const struct pieces *frame);

/** Offer to the port what is pending. */
void wire_flush(struct wire *wire, uint64_t now_ns);

/** Receive a burst, and see to it. @return frames */
unsigned wire_receive(struct data *data);

#endif /* UROCED_DATA_H */
