/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_MUX_CLIENT_H
#define UROCE_DATAPATH_MUX_CLIENT_H

/**
 * @file
 * The port of a device that is attached to uroced: no port of ethdev, but lanes in an area of memory that the
 * two processes share [doc/design/multiplexer.md], a pair for each worker.
 *
 *	mux_client.c        the connection: a thread of its own has it, from the moment that the device is up
 *	mux_client_burst.c  frames, by whoever drives the worker
 *	mux_client_lease.c  the numbers that QPs may have
 *	mux_client_binding.c  which peers QPs have
 *
 * uroced may end and be started again at any moment. That touches neither the area nor who uses it: bursts
 * go on, up until the lane is full, down they find nothing. The thread connects again, with the leases that it holds
 * and with new memory in the area's place, in whose lanes the same frames wait; only the link is down meanwhile.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <rte_mbuf.h>

#include "datapath/conf.h"
#include "datapath/dpdk.h"
#include "mux/shm.h"
#include "mux/spsc_ring.h"
#include "mux/message.h"

/** Slots of a lane. */
#define UROCE_MUX_CLIENT_SLOTS 1024u

struct uroce_dev;
struct uroce_port;
struct uroce_qpc;

/** What was not as it is to be; single writer, read by anyone as hints. */
struct uroce_mux_client_stats {
	_Atomic uint64_t wrong_slots; /* of a lane down: dropped */
	_Atomic uint64_t wrong_heads; /* or its index: the lane was emptied, the connection ended */
	_Atomic uint64_t no_mbuf;     /* bursts put off because the pool was empty */
	_Atomic uint64_t doorbells;   /* of a lane up */
};

/** Two lanes, and their buffers: slot i has the i-th. Of who holds the worker's lock. */
struct uroce_mux_client_pair {
	_Alignas(64) struct uroce_spsc_end down;
	uint32_t down_at; /* offset of the first buffer */
	_Alignas(64) struct uroce_spsc_end up;
	uint32_t up_at;
	bool is_late; /* uroced was waited for in vain; until it passes `late_index` it is not again */
	uint32_t late_index;
	struct uroce_mux_client_stats stats;
};

struct uroce_mux_client {
	struct uroce_port *port;
	struct uroce_mux_client *next; /* of those of this process */
	const char *path;
	/* what bursts need; for life */
	struct uroce_shm shm;
	uint32_t stride; /* from a buffer to the next */
	uint32_t nb_pairs;
	uint32_t nb_bindings; /* slots of the table of bindings */
	struct uroce_mux_client_pair *pair;
	pthread_mutex_t binding_lock; /* who writes bindings, or moves them */
	int doorbell_fd;  /* uroced sleeps on it; the number stays, what is behind it changes */
	int rx_wakeup_fd; /* eventfd: who sleeps for frames does so on it */
	int work_fd;      /* eventfd: the thread has something else to do than to wait for uroced */
	int shm_fd;
	atomic_bool is_broken; /* the connection is to be ended */
	/* the thread */
	struct uroce_dev *dev; /* NULL: there is none yet */
	struct uroce_dpdk_thread thread;
	atomic_bool is_stopping;
	bool is_refused; /* it was said why */
	/* what uroced has said, under `lock` */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fd; /* the connection; -1: none */
	bool is_attached;
	struct uroce_mux_host host;
	_Atomic uint32_t mbps;
	atomic_bool has_changes; /* its addresses are others, and were not taken over yet */
	bool is_leasing;         /* more leases were asked for */
	uint32_t nb_denials;     /* answers that were none */
	uint32_t nb_leases;
	struct uroce_mux_lease lease[UROCE_MUX_LEASES_MAX];
	/* the thread's again, and the last, for its length may vary */
	union uroce_mux_message message;
};

/* mux_client.c */

/**
 * Ask uroced what its host is, and leave again.
 * @return 0, or -errno after one logged line
 */
int uroce_mux_client_query_host(const char *path, struct uroce_mux_host *host);

/**
 * The same, and stay: uroced says over this connection when its host changes, and it ends with uroced. Logs nothing.
 * @return a descriptor, or -errno
 */
int uroce_mux_client_call(const char *path, struct uroce_mux_host *host);

/** Let a configuration say what uroced's host says. */
void uroce_mux_client_adopt(struct uroce_dev_conf *conf, const struct uroce_mux_host *host);

/** The addresses of a host, as its GID table has them. @return how many */
int uroce_mux_client_addrs(const struct uroce_mux_host *host,
			   struct uroce_addr addr[UROCE_MUX_ADDRS_MAX]);

/**
 * Attach a port, with a pair of lanes for each of its queues.
 * @param known  what was said before, and must still be so; NULL: nothing
 * @return 0, or -errno after one logged line
 */
int uroce_mux_client_open(struct uroce_port *port, const struct uroce_dev_conf *conf,
			  const struct uroce_mux_host *known);

/** Nobody calls bursts any more. NULL is allowed. */
void uroce_mux_client_close(struct uroce_mux_client *client);

/** From now on the connection is looked after, for this device; its workers are there. @return 0 or -errno */
int uroce_mux_client_watch(struct uroce_mux_client *client, struct uroce_dev *dev);

/** And no more: before the workers go. */
void uroce_mux_client_unwatch(struct uroce_mux_client *client);

/** What uroced has said last. */
void uroce_mux_client_host(struct uroce_mux_client *client, struct uroce_mux_host *host);

/** The connection is to be ended, and made again. */
void uroce_mux_client_break(struct uroce_mux_client *client);

/* mux_client_burst.c */

/** The ends of the lanes of a new area. */
void uroce_mux_client_begin(struct uroce_mux_client *client);

/** As rte_eth_rx_burst(), and rte_eth_tx_burst(). */
uint16_t uroce_mux_client_rx(const struct uroce_port *port, uint16_t queue,
			     struct rte_mbuf **frames, uint16_t nb);
uint16_t uroce_mux_client_tx(const struct uroce_port *port, uint16_t queue,
			     struct rte_mbuf **frames, uint16_t nb);

/**
 * Ask uroced to pass on what is on its way to this process, by a barrier [mux/spsc_ring.h]: it has when it passes what was sent on
 * the queue until now. @return false: it is not there, or takes no more
 */
bool uroce_mux_client_sync(const struct uroce_port *port, uint16_t queue);

/** uroced did not pass what was sent before an index in time: until it does, uroce_mux_client_sync() says no. */
void uroce_mux_client_give_up(const struct uroce_port *port, uint16_t queue, uint32_t index);

/** The index behind the last frame that was sent on a queue. */
uint32_t uroce_mux_client_sent(const struct uroce_port *port, uint16_t queue);

/** Whether uroced has passed on, or dropped, all frames of a queue before an index: other clients have theirs, and the wire. */
bool uroce_mux_client_has_passed(const struct uroce_port *port, uint16_t queue, uint32_t index);

/** Have frames of a queue give notice, by `rx_wakeup_fd`; those that are there do not. */
void uroce_mux_client_arm(struct uroce_mux_client *client, uint16_t queue);

/** They need not any more. Any thread. */
void uroce_mux_client_disarm(struct uroce_mux_client *client, uint16_t queue);

/* mux_client_lease.c */

/**
 * Draw a QP number of those that are leased, and lease more if there is none left.
 * @return 0; -ENOMEM: there are no more; -ENOTCONN: uroced is not there; -EAGAIN: it does not answer
 */
int uroce_mux_client_alloc_qpn(struct uroce_dev *dev, uint32_t *qpn);

/** Whether a number is leased. */
bool uroce_mux_client_holds(struct uroce_mux_client *client, uint32_t qpn);

/** The thread has received LEASED. */
void uroce_mux_client_take_leased(struct uroce_mux_client *client,
				  const struct uroce_mux_leased *leased);

/** The thread has received ATTACHED: leases that are not good are given up, and their QPs fail. */
void uroce_mux_client_take_good(struct uroce_mux_client *client,
				const struct uroce_mux_attached *attached);

/* mux_client_binding.c */

/** Tell which peer a QP has now, as its context says. Its worker. */
void uroce_mux_client_bind(struct uroce_mux_client *client, const struct uroce_qpc *qpc);

/** A number has no peer any more. */
void uroce_mux_client_unbind(struct uroce_mux_client *client, uint32_t qpn);

/** The table's memory becomes that of another area, as uroce_shm_renew_bindings() says. */
int uroce_mux_client_renew_bindings(struct uroce_mux_client *client, const struct uroce_shm *fresh);

#endif /* UROCE_DATAPATH_MUX_CLIENT_H */
