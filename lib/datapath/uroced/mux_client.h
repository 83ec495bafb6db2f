/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_MUX_CLIENT_H
#define UROCE_DATAPATH_MUX_CLIENT_H

/**
 * @file
 * The port of a device that is attached to uroced. It is not an ethdev port. It consists of SPSC
 * rings in memory that the two processes share [doc/design/multiplexer.md], a pair of rings for
 * each worker.
 *
 *	mux_client.c          the connection to uroced; a thread handles it while the device is up
 *	mux_client_query.c    requests to uroced that need no client
 *	mux_client_burst.c    receive and transmit, by the thread that drives the worker
 *	mux_client_lease.c    the QPNs that uroced leases to this client
 *	mux_client_binding.c  the peers of the QPs
 *
 * uroced may end and be restarted at any time. This affects neither the shared memory nor the
 * threads that use it. Bursts go on: transmit until the ring is full, receive without frames. The
 * connection's thread connects again, with the same leases. New memory replaces the shared memory,
 * and contains the same pending frames. Meanwhile only the link is down.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <rte_mbuf.h>

#include "datapath/device/conf.h"
#include "datapath/dpdk.h"
#include "mux/shm.h"
#include "mux/spsc_ring.h"
#include "mux/message.h"

/** Number of slots of an SPSC ring. */
#define UROCE_MUX_CLIENT_SLOTS 1024u

/** Time between two attempts to connect, in milliseconds. */
#define UROCE_MUX_CLIENT_RETRY_MS 10

/** Maximum time to wait for a reply of uroced, in nanoseconds. */
#define UROCE_MUX_CLIENT_REPLY_NS UINT64_C(5000000000)

struct uroce_dev;
struct uroce_port;
struct uroce_qpc;

/** Counts of unexpected events. One thread writes them; any thread may read them as hints. */
struct uroce_mux_client_stats {
	_Atomic uint64_t wrong_slots; /* invalid slots of a ring down, whose frames were dropped */
	/* invalid indexes of a ring; after each, the ring was reset and the connection was ended */
	_Atomic uint64_t wrong_heads;
	_Atomic uint64_t no_mbuf;   /* receive bursts postponed because the mempool was empty */
	_Atomic uint64_t doorbells; /* doorbells that were rung for the ring up */
};

/**
 * A pair of SPSC rings and their buffers: slot i uses the i-th buffer. Used by the thread that
 * holds the worker's lock.
 */
struct uroce_mux_client_pair {
	_Alignas(64) struct uroce_spsc_end down;
	uint32_t down_at; /* offset of the first buffer of the ring down */
	_Alignas(64) struct uroce_spsc_end up;
	uint32_t up_at;
	/*
	 * A wait for uroced timed out: there is no further wait until uroced passes `late_index`.
	 */
	bool is_late;
	uint32_t late_index;
	struct uroce_mux_client_stats stats;
};

struct uroce_mux_client {
	struct uroce_port *port;
	struct uroce_mux_client *next; /* next client in the list of the clients of this process */
	const char *path;
	/*
	 * Bursts use the fields from `shm` to `pair`, which are constant while the client exists.
	 */
	struct uroce_shm shm;
	uint32_t stride; /* distance between two buffers, in bytes */
	uint32_t nb_pairs;
	uint32_t nb_bindings; /* number of slots of the table of bindings */
	struct uroce_mux_client_pair *pair;
	pthread_mutex_t binding_lock; /* held to write bindings, or to replace their memory */
	/*
	 * uroced sleeps on this eventfd; a new connection replaces the eventfd, but not its number
	 */
	int doorbell_fd;
	int rx_wakeup_fd; /* eventfd on which a thread sleeps that waits for frames */
	/* eventfd that wakes the connection's thread for work other than uroced's messages */
	int work_fd;
	int shm_fd;
	atomic_bool is_broken; /* the connection must be ended */
	/* Only the connection's thread uses the fields from `dev` to `is_refused`. */
	struct uroce_dev *dev; /* device of the port; NULL: the device does not exist yet */
	struct uroce_dpdk_thread thread;
	atomic_bool is_stopping;
	bool is_refused; /* the reason why uroced refused was logged */
	/*
	 * The fields from `changed` to `lease` hold the latest information from uroced. `lock`
	 * guards those that are not atomic.
	 */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fd; /* connection to uroced; -1: none */
	bool is_attached;
	struct uroce_mux_host host;
	_Atomic uint32_t mbps;
	/* uroced's addresses have changed, and the device has not adopted them yet */
	atomic_bool has_changes;
	bool is_leasing;     /* more leases were requested, and uroced has not replied yet */
	uint32_t nb_denials; /* requests for leases that uroced denied */
	uint32_t nb_leases;
	struct uroce_mux_lease lease[UROCE_MUX_LEASES_MAX];
	/* Used by the connection's thread. It is the last field, because its length may vary. */
	union uroce_mux_message message;
};

/* Functions of mux_client_query.c. */

/**
 * Query the host of uroced, over a connection of its own.
 * @return 0, or -errno after one logged line
 */
int uroce_mux_client_query_host(const char *path, struct uroce_mux_host *host);

/**
 * Query the host of uroced, and keep the connection. uroced reports changes of its host over the
 * connection, and the connection ends with uroced. The call logs nothing.
 * @return a descriptor, or -errno
 */
int uroce_mux_client_call(const char *path, struct uroce_mux_host *host);

/** Copy gateways, VLAN and path MTU of uroced's host into a configuration. */
void uroce_mux_client_adopt(struct uroce_dev_conf *conf, const struct uroce_mux_host *host);

/**
 * Copy the addresses of a host, in the order of its GID table.
 * @return number of addresses
 */
int uroce_mux_client_addrs(const struct uroce_mux_host *host,
			   struct uroce_addr addr[UROCE_MUX_ADDRS_MAX]);

/** Log why the connection to uroced failed. @param err  negative errno */
void uroce_mux_client_log_absence(const char *path, int err);

/** Send HELLO. @return 0, or -errno */
int uroce_mux_client_send_hello(int fd);

/** Copy the reason of a refusal, as a string. */
void uroce_mux_client_format_refusal(const union uroce_mux_message *message, char why[256]);

/**
 * Wait for a message, for other work of the connection's thread, or for a time.
 * @param ms  maximum time; -1: no limit
 */
void uroce_mux_client_wait(int fd, int work_fd, int ms);

/**
 * Wait if the queue of the listener is full (-EAGAIN). Other clients may fill it with connections
 * that they open and close.
 * @param end  the time at which no further attempt is made
 * @return whether to try again
 */
bool uroce_mux_client_await_room(int ret, time_t end);

/** @return the time in seconds of the monotonic clock, for deadlines */
time_t uroce_mux_client_now(void);

/* Functions of mux_client.c. */

/**
 * Attach a port to uroced, with a pair of rings for each of its queues.
 * @param known  the host that was queried before, which must not have changed; NULL: none
 * @return 0, or -errno after one logged line
 */
int uroce_mux_client_open(struct uroce_port *port, const struct uroce_dev_conf *conf,
			  const struct uroce_mux_host *known);

/** Close the connection. No thread may call bursts any more. NULL is allowed. */
void uroce_mux_client_close(struct uroce_mux_client *client);

/**
 * Start the thread that handles the connection, for a device whose workers exist.
 * @return 0 or -errno
 */
int uroce_mux_client_watch(struct uroce_mux_client *client, struct uroce_dev *dev);

/** Stop the thread that handles the connection, before the workers are destroyed. */
void uroce_mux_client_unwatch(struct uroce_mux_client *client);

/** Copy the latest information about uroced's host. */
void uroce_mux_client_host(struct uroce_mux_client *client, struct uroce_mux_host *host);

/** Make the connection's thread end the connection and connect again. */
void uroce_mux_client_break(struct uroce_mux_client *client);

/* Functions of mux_client_burst.c. */

/** Initialize the rings in new shared memory. */
void uroce_mux_client_begin(struct uroce_mux_client *client);

/**
 * Receive and transmit bursts over uroced's rings, as rte_eth_rx_burst() and rte_eth_tx_burst().
 */
uint16_t uroce_mux_client_rx(const struct uroce_port *port, uint16_t queue,
			     struct rte_mbuf **frames, uint16_t nb);
uint16_t uroce_mux_client_tx(const struct uroce_port *port, uint16_t queue,
			     struct rte_mbuf **frames, uint16_t nb);

/**
 * Send a barrier [mux/spsc_ring.h], which makes uroced forward the frames that are on their way to
 * this process. They have been forwarded when uroced has passed the frames and the barrier that
 * were sent on the queue until now.
 * @return false: uroced is not connected, or takes no more
 */
bool uroce_mux_client_sync(const struct uroce_port *port, uint16_t queue);

/**
 * Note that uroced did not pass an index in time. uroce_mux_client_sync() returns false until
 * uroced has passed it.
 */
void uroce_mux_client_give_up(const struct uroce_port *port, uint16_t queue, uint32_t index);

/** The index behind the last frame that was sent on a queue. */
uint32_t uroce_mux_client_sent(const struct uroce_port *port, uint16_t queue);

/**
 * Whether uroced has passed an index of a queue: all earlier frames were forwarded to other clients
 * or to the network, or were dropped.
 */
bool uroce_mux_client_has_passed(const struct uroce_port *port, uint16_t queue, uint32_t index);

/** Arm the RX wake-up of a queue: frames that arrive from now on make `rx_wakeup_fd` readable. */
void uroce_mux_client_arm(struct uroce_mux_client *client, uint16_t queue);

/** Disarm the RX wake-up of a queue. Any thread. */
void uroce_mux_client_disarm(struct uroce_mux_client *client, uint16_t queue);

/* Functions of mux_client_lease.c. */

/**
 * Allocate a QPN among those that are leased. If none is left, more are leased.
 * @return 0; -ENOMEM: there are no more; -ENOTCONN: uroced is not connected; -EAGAIN: uroced does
 *   not reply
 */
int uroce_mux_client_alloc_qpn(struct uroce_dev *dev, uint32_t *qpn);

/** Whether a QPN is leased to this client. */
bool uroce_mux_client_holds(struct uroce_mux_client *client, uint32_t qpn);

/** Handle the message LEASED. Called by the connection's thread. */
void uroce_mux_client_take_leased(struct uroce_mux_client *client,
				  const struct uroce_mux_leased *leased);

/**
 * Handle the message ATTACHED. Leases that uroced does not accept are given up, and their QPs fail.
 * Called by the connection's thread.
 */
void uroce_mux_client_take_good(struct uroce_mux_client *client,
				const struct uroce_mux_attached *attached);

/* Functions of mux_client_binding.c. */

/** Bind a QP: report the peer in the QP's context to uroced. Called by the QP's worker. */
void uroce_mux_client_bind(struct uroce_mux_client *client, const struct uroce_qpc *qpc);

/** Unbind a QPN: it has no peer any more. */
void uroce_mux_client_unbind(struct uroce_mux_client *client, uint32_t qpn);

/**
 * Replace the memory of the bindings by that of another shared memory, see
 * uroce_shm_renew_bindings().
 */
int uroce_mux_client_renew_bindings(struct uroce_mux_client *client, const struct uroce_shm *fresh);

#endif /* UROCE_DATAPATH_MUX_CLIENT_H */
