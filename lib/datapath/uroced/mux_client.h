/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_MUX_CLIENT_H
#define UROCE_DATAPATH_MUX_CLIENT_H

/**
 * @file
 * The port of a device that is attached to the daemon uroced. It is not an ethdev port. It consists
 * of SPSC rings (rings with one producer and one consumer) in memory that this process, the client,
 * shares with uroced [doc/design/multiplexer.md]. Each worker has a pair of rings: the ring up
 * carries frames to uroced, the ring down carries frames from uroced.
 *
 *	mux_client.c          the connection to uroced; a thread handles it while the device is up
 *	mux_client_shm.c      creation and replacement of the shared memory
 *	mux_client_fork.c     the descriptors that a child of fork() closes
 *	mux_client_query.c    requests to uroced that need no client
 *	mux_client_burst.c    receive and transmit, by the thread that drives the worker
 *	mux_client_lease.c    the QPNs that uroced leases to this client
 *	mux_client_binding.c  the peers of the QPs
 *
 * uroced may end and be restarted at any time. This affects neither the shared memory nor the
 * threads that use it. Bursts go on: transmit until the ring is full, receive without frames. The
 * connection's thread connects again, with the same leases of QPNs. New memory replaces the shared
 * memory, and contains the same pending frames. Until uroced accepts the connection, only the link
 * is down.
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

/** Number of slots of each SPSC ring between a client and uroced. */
#define UROCE_MUX_CLIENT_SLOTS 1024u

/** Time between two attempts to connect to uroced, in milliseconds. */
#define UROCE_MUX_CLIENT_RETRY_MS 10

/** Maximum time to wait for a reply of uroced, in nanoseconds. */
#define UROCE_MUX_CLIENT_REPLY_NS UINT64_C(5000000000)

struct uroce_dev;
struct uroce_port;
struct uroce_qpc;

/**
 * Counts of unexpected events of a pair of SPSC rings, and of doorbells. One thread writes the
 * counts. Any thread may read them as hints.
 */
struct uroce_mux_client_stats {
	/* Number of invalid slots of the ring down (from uroced); their frames were dropped. */
	_Atomic uint64_t wrong_slots;
	/*
	 * number of times that an index which uroced writes into a ring was invalid; each time the
	 * ring was reset and the connection to uroced was ended
	 */
	_Atomic uint64_t wrong_heads;
	/* Number of receive bursts postponed because the mempool was empty. */
	_Atomic uint64_t no_mbuf;
	/* number of eventfd writes that woke uroced for frames in the ring up (to uroced) */
	_Atomic uint64_t doorbells;
};

/**
 * A pair of SPSC rings, to uroced (up) and from uroced (down), and their buffers: slot i uses the
 * i-th buffer. Only the thread that holds the worker's lock uses the pair.
 */
struct uroce_mux_client_pair {
	_Alignas(64) struct uroce_spsc_end down;
	uint32_t down_at; /* offset in the shared memory of the first buffer of the ring down */
	_Alignas(64) struct uroce_spsc_end up;
	uint32_t up_at;
	/*
	 * uroced did not pass index `late_index` of the ring up in time. Until uroced has passed
	 * this index, uroce_mux_client_sync() sends no barrier.
	 */
	bool is_late;
	uint32_t late_index;
	struct uroce_mux_client_stats stats;
};

struct uroce_mux_client {
	struct uroce_port *port;
	/* next entry in the list of this process's clients of uroced */
	struct uroce_mux_client *next;
	const char *path;
	/*
	 * Receive and transmit bursts use the fields from `shm` to `pair`, which are constant while
	 * the client exists.
	 */
	struct uroce_shm shm;
	uint32_t stride; /* distance in bytes between two buffers in the shared memory */
	uint32_t nb_pairs;
	/* number of slots of the table of bindings, by which uroced knows the peers of QPs */
	uint32_t nb_bindings;
	struct uroce_mux_client_pair *pair;
	/*
	 * Lock that guards writes to the table of bindings (the peers of the QPs), and the
	 * replacement of its memory.
	 */
	pthread_mutex_t binding_lock;
	/*
	 * eventfd by which this process wakes uroced; each connection to uroced has another
	 * eventfd, under the same descriptor number
	 */
	int doorbell_fd;
	int rx_wakeup_fd; /* eventfd on which a thread sleeps until a frame arrives */
	/* eventfd that wakes the connection's thread for work other than uroced's messages */
	int work_fd;
	int shm_fd;
	atomic_bool is_broken; /* the connection to uroced is faulty and must be ended */
	/*
	 * While the thread that handles the connection to uroced runs, only this thread uses the
	 * fields from `dev` to `is_refused`, apart from uroce_mux_client_unwatch(), which sets
	 * is_stopping.
	 */
	struct uroce_dev *dev; /* device of the port; NULL: the device does not exist yet */
	struct uroce_dpdk_thread thread;
	atomic_bool is_stopping;
	bool is_refused; /* the reason why uroced refused the client was logged */
	/*
	 * The fields from `changed` to `lease` hold the latest information from uroced. `lock`
	 * guards those that are not atomic.
	 */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fd; /* socket of the connection to uroced; -1: not connected */
	bool is_attached;
	struct uroce_mux_host host;
	_Atomic uint32_t mbps;
	/* uroced's addresses have changed, and the device has not adopted them yet */
	atomic_bool has_changes;
	/* more leases of QP numbers were requested, and uroced has not replied yet */
	bool is_leasing;
	uint32_t nb_denials; /* number of requests for leases that uroced has denied */
	uint32_t nb_leases;
	struct uroce_mux_lease lease[UROCE_MUX_LEASES_MAX];
	/*
	 * Latest message of uroced, which only the connection's thread uses. The field is the last
	 * one, because the length of the message varies.
	 */
	union uroce_mux_message message;
};

/* The functions from here to uroce_mux_client_await_room() are in mux_client_query.c. */

/**
 * Query uroced for the properties of its host (link, MAC, addresses), over a connection that exists
 * only for this query.
 * @return 0, or -errno after one logged line
 */
int uroce_mux_client_query_host(const char *path, struct uroce_mux_host *host);

/**
 * Query uroced for the properties of its host (link, MAC, addresses), and keep the connection.
 * uroced reports changes of its host over this connection. The connection ends when uroced ends.
 * The call logs nothing.
 * @return descriptor of the connection, or -errno
 */
int uroce_mux_client_call(const char *path, struct uroce_mux_host *host);

/** Copy gateways, VLAN and path MTU of uroced's host into the configuration of a device. */
void uroce_mux_client_adopt(struct uroce_dev_conf *conf, const struct uroce_mux_host *host);

/**
 * Copy the addresses of uroced's host, in the order of its GID table.
 * @return number of addresses
 */
int uroce_mux_client_addrs(const struct uroce_mux_host *host,
			   struct uroce_addr addr[UROCE_MUX_ADDRS_MAX]);

/** Log why a connection to uroced failed. @param err  negative errno */
void uroce_mux_client_log_absence(const char *path, int err);

/**
 * A path of the form UROCE_MUX_CLIENT_FD "N" is not the path of a socket file: descriptor N is a
 * connection to uroced, which the process has inherited. The connection manager of uroced attaches
 * its device in this way. Such a connection cannot be made again when it has ended.
 */
#define UROCE_MUX_CLIENT_FD "fd:"

/** Whether a path names an inherited connection to uroced, see UROCE_MUX_CLIENT_FD. */
bool uroce_mux_client_is_inherited(const char *path);

/** Connect to uroced, or duplicate an inherited connection. @return the socket, or -errno */
int uroce_mux_client_connect(const char *path);

/** Send the message HELLO to uroced. @return 0, or -errno */
int uroce_mux_client_send_hello(int fd);

/** Copy from uroced's message, as a string, the reason why uroced refused the client. */
void uroce_mux_client_format_refusal(const union uroce_mux_message *message, char why[256]);

/**
 * Wait until a message of uroced arrives on `fd`, until `work_fd` polls readable because the
 * connection's thread has other work, or until a time has passed.
 * @param ms  maximum time in milliseconds; -1: no limit
 */
void uroce_mux_client_wait(int fd, int work_fd, int ms);

/**
 * Wait a short time if a connect failed because the queue of uroced's listening socket is full
 * (-EAGAIN). Other clients may fill the queue with connections that they open and close.
 * @param ret  result of the connect
 * @param end  time after which no further attempt is made
 * @return whether to try again
 */
bool uroce_mux_client_await_room(int ret, time_t end);

/** @return the time in seconds of the monotonic clock, for deadlines */
time_t uroce_mux_client_now(void);

/* The functions from here to uroce_mux_client_host() are in mux_client.c. */

/**
 * Attach a port to uroced, with a pair of rings for each of its queues.
 * @param known  the host as uroced reported it before, whose MAC, VLAN, frame length and kind of
 *   port must be the same; NULL: uroced was not queried before
 * @return 0, or -errno after one logged line
 */
int uroce_mux_client_open(struct uroce_port *port, const struct uroce_dev_conf *conf,
			  const struct uroce_mux_host *known);

/**
 * Close the connection to uroced. No thread may receive or transmit on the port any more. `client`
 * may be NULL.
 */
void uroce_mux_client_close(struct uroce_mux_client *client);

/**
 * Start the thread that handles the connection to uroced, for a device whose workers exist.
 * @return 0 or -errno
 */
int uroce_mux_client_watch(struct uroce_mux_client *client, struct uroce_dev *dev);

/** Stop the thread that handles the connection to uroced, before the workers are destroyed. */
void uroce_mux_client_unwatch(struct uroce_mux_client *client);

/** Copy the latest information that uroced has sent about its host into `host`. */
void uroce_mux_client_host(struct uroce_mux_client *client, struct uroce_mux_host *host);

/** Make the connection's thread end the connection to uroced and connect again. */
void uroce_mux_client_break(struct uroce_mux_client *client);

/* The function uroce_mux_client_prepare_shm() is in mux_client_shm.c. */

/**
 * Make sure that the client has shared memory that no uroced process has sealed yet, because sealed
 * memory cannot be mapped again [mux/shm.h]. The connection's thread calls this function, or the
 * thread that creates the device.
 * @return 0, or -errno; without memory after one logged line
 */
int uroce_mux_client_prepare_shm(struct uroce_mux_client *client);

/* The functions from here to uroce_mux_client_unlink() are in mux_client_fork.c. */

/**
 * Prevent a fork() of this process until uroce_mux_client_allow_fork(). The caller creates,
 * receives or replaces a descriptor that a child of fork() must close. The calls do not nest.
 */
void uroce_mux_client_prevent_fork(void);
void uroce_mux_client_allow_fork(void);

/** Add a client to the list of those whose descriptors a child of fork() closes. */
void uroce_mux_client_link(struct uroce_mux_client *client);

/**
 * Remove a client from the list of those whose descriptors a child of fork() closes, and close the
 * client's descriptors. No fork() happens between these two steps.
 */
void uroce_mux_client_unlink(struct uroce_mux_client *client);

/*
 * The functions from here to uroce_mux_client_disarm(), and uroce_mux_client_break(), are in
 * mux_client_burst.c.
 */

/**
 * Initialize the client's SPSC rings, a pair of rings (up and down) for each worker, in new shared
 * memory.
 */
void uroce_mux_client_begin(struct uroce_mux_client *client);

/**
 * Receive and transmit bursts over uroced's rings, with the arguments and results of
 * rte_eth_rx_burst() and rte_eth_tx_burst().
 */
uint16_t uroce_mux_client_rx(const struct uroce_port *port, uint16_t queue,
			     struct rte_mbuf **frames, uint16_t nb);
uint16_t uroce_mux_client_tx(const struct uroce_port *port, uint16_t queue,
			     struct rte_mbuf **frames, uint16_t nb);

/**
 * Send a barrier [mux/spsc_ring.h], which makes uroced forward the frames that are on their way to
 * this process. When uroced has passed the barrier (see uroce_mux_client_sent()), it has forwarded
 * these frames.
 * @return false: uroced is not connected, or the ring has no room, or a wait has timed out
 */
bool uroce_mux_client_sync(const struct uroce_port *port, uint16_t queue);

/**
 * Record that uroced did not pass an index of a queue's ring up in time. uroce_mux_client_sync()
 * returns false until uroced has passed this index.
 */
void uroce_mux_client_give_up(const struct uroce_port *port, uint16_t queue, uint32_t index);

/**
 * Get the index of the ring slot behind the last frame or barrier that was sent to uroced on a
 * queue.
 */
uint32_t uroce_mux_client_sent(const struct uroce_port *port, uint16_t queue);

/**
 * Whether uroced has passed an index of a queue's ring up: all earlier frames were forwarded to
 * other clients or to the network, or were dropped.
 */
bool uroce_mux_client_has_passed(const struct uroce_port *port, uint16_t queue, uint32_t index);

/**
 * Wait until uroced has taken the last frames of all rings, for at most 100 ms. The function is
 * called before the connection is closed, because uroced drops the frames of a client that has
 * left. No thread may receive or transmit on the port any more.
 */
void uroce_mux_client_drain(struct uroce_mux_client *client);

/** Arm the RX wake-up of a queue: frames that arrive from now on make `rx_wakeup_fd` readable. */
void uroce_mux_client_arm(struct uroce_mux_client *client, uint16_t queue);

/**
 * Disarm the RX wake-up of a queue: arriving frames need not make `rx_wakeup_fd` readable any more.
 * Any thread may call this function.
 */
void uroce_mux_client_disarm(struct uroce_mux_client *client, uint16_t queue);

/* The functions from here to uroce_mux_client_take_good() are in mux_client_lease.c. */

/**
 * Allocate a QPN among those that uroced has leased. If no leased QPN is free, more are leased.
 * @return 0; -ENOMEM: uroced leases no more; -ENOTCONN: uroced is not connected; -EAGAIN: uroced
 *   does not reply
 */
int uroce_mux_client_alloc_qpn(struct uroce_dev *dev, uint32_t *qpn);

/** Whether a QPN is leased to this client. */
bool uroce_mux_client_holds(struct uroce_mux_client *client, uint32_t qpn);

/**
 * Find uroced's lease of the block of QPNs that contains a QPN.
 * @return token of the lease; 0: uroced has not leased the block to this client
 */
uint64_t uroce_mux_client_token(struct uroce_mux_client *client, uint32_t qpn);

/**
 * Handle uroced's message LEASED, which grants or denies blocks of QPNs. The connection's thread
 * calls this function.
 */
void uroce_mux_client_take_leased(struct uroce_mux_client *client,
				  const struct uroce_mux_leased *leased);

/**
 * Handle uroced's message ATTACHED. Leases that uroced does not accept are given up, and their QPs
 * fail. The connection's thread calls this function.
 */
void uroce_mux_client_take_good(struct uroce_mux_client *client,
				const struct uroce_mux_attached *attached);

/* The functions from here to the end of this header are in mux_client_binding.c. */

/**
 * Bind a QP: report the peer in the QP's context to uroced. The QP's worker calls this function.
 */
void uroce_mux_client_bind(struct uroce_mux_client *client, const struct uroce_qpc *qpc);

/**
 * Remove the binding of a QPN, which tells uroced the peer of its QP, because the QP has no peer
 * any more.
 */
void uroce_mux_client_unbind(struct uroce_mux_client *client, uint32_t qpn);

/**
 * Replace the memory of the table of bindings by the memory of the table in `fresh`, see
 * uroce_shm_renew_bindings().
 */
int uroce_mux_client_renew_bindings(struct uroce_mux_client *client, const struct uroce_shm *fresh);

#endif /* UROCE_DATAPATH_MUX_CLIENT_H */
