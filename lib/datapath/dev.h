/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_DEV_H
#define UROCE_DATAPATH_DEV_H

/**
 * @file
 * A RoCE device: a port, its addresses, its workers, and the tables that they share (QPNs, memory
 * keys, neighbours). What floor 4 builds verbs on.
 *
 * Control calls may come from any thread; the device's lock serialises them. The data path takes
 * that lock never.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "datapath/conf.h"
#include "datapath/event.h"
#include "datapath/port.h"
#include "datapath/worker.h"
#include "mem/mr.h"
#include "transport/qpc.h"

/** Size of the GID table; entries past the populated ones are zero. */
#define UROCE_GIDS_MAX 16

struct uroce_mcast_group;
struct uroce_mcast_table;
struct uroce_neigh;
struct uroce_planned_link;
struct uroce_qpn_table;
struct uroce_service_thread;

/** The addresses of a device. One that is zero is none: it went, and those behind it keep their index. */
struct uroce_gid_table {
	struct uroce_addr addr[UROCE_GIDS_MAX]; /* [0] link-local IPv6 of the MAC, then addr= */
	unsigned nb;                            /* behind the last one */
	uint32_t kernels; /* bit i: addr[i] is the kernel's, which answers for it */
};

struct uroce_dev {
	struct uroce_dev_conf conf;
	struct uroce_port *port; /* NULL: it is planned, and not up yet */
	struct uroce_port_plan plan;
	struct uroce_planned_link
		*planned_link; /* until there is a port; NULL: it was not planned */
	/* One of gid_table[], see gid.h: whoever is in a round reads it; others read under `lock`. */
	_Atomic(const struct uroce_gid_table *) gids;
	struct uroce_gid_table gid_table[2];
	bool has_gid_changes; /* the interface's addresses changed, and were not read yet; under `lock` */
	uint8_t mac[6];
	uint16_t pkeys[1]; /* { 0xffff } */
	struct uroce_qpc_limits limits;
	struct uroce_cc_conf cc; /* with an algorithm in any case: for QPs that have one */
	struct uroce_qpn_table *qpns;
	struct uroce_mr_table *mrs;   /* add, invalidate, free under `lock` */
	struct uroce_srq_table *srqs; /* XRC: each in a struct uroce_worker_srq; as `mrs` */
	struct uroce_mcast_table
		*mcast; /* members of groups, each a struct uroce_worker_qp; as `mrs` */
	struct uroce_mcast_group *groups; /* that have members; under `lock` */
	bool has_due_groups;              /* some are to be reported; under `lock` */
	bool was_link_up;      /* the link was up when groups were looked at last; under `lock` */
	atomic_uint nb_groups; /* of them; a hint to workers */
	atomic_bool has_loopback;  /* a path was made that may lead to ourselves */
	struct uroce_neigh *neigh; /* of the addresses that are ours; NULL: none is */
	struct uroce_event_queue *events;
	struct uroce_service_thread
		*service; /* the thread that drives when nobody does; NULL: none */
	unsigned nb_workers;
	struct uroce_worker *worker[UROCE_WORKERS_MAX];
	pthread_mutex_t lock;
	/* telemetry's, which tells of it by this name */
	char telemetry_name[IBV_SYSFS_NAME_MAX];
	struct uroce_dev *telemetry_next;
};

/**
 * Bring a device up: port started, workers driven as configured. EAL runs already.
 * @return 0, or -errno after one logged line: ENODEV no such port, EINVAL, ENOMEM, EPERM
 */
int uroce_dev_create(const struct uroce_dev_conf *conf, struct uroce_dev **dev);

/**
 * Make a device whose port is not there yet, and EAL may not run yet: addresses, limits and events are as they are
 * going to be. Everything else is for after uroce_dev_start().
 * @param vdev  arguments of the port, see uroce_port_plan()
 * @return 0, or -errno after one logged line: as uroce_dev_create(), and as uroce_port_plan()
 */
int uroce_dev_plan(const struct uroce_dev_conf *conf, const char *vdev, struct uroce_dev **dev);

/**
 * Bring a planned device up. EAL runs already. Once; after an error the device can only be destroyed.
 * @return 0, or -errno after one logged line
 */
int uroce_dev_start(struct uroce_dev *dev);

/**
 * Take it down again. The port is stopped, unless it was handed over; and closed, so that ethdev no
 * longer knows it, where its driver would otherwise go on using our memory.
 * @return 0, or -EBUSY: QPs or regions are left; nothing was changed
 */
int uroce_dev_destroy(struct uroce_dev *dev);

/** Whether the port's link is up, as last seen; of a planned one, whether it may be expected to be. */
bool uroce_dev_is_link_up(const struct uroce_dev *dev);

/**
 * Look at the link of a planned device, where no worker does: if it has changed since the last look there is an event.
 * On one that is up this does nothing.
 */
void uroce_dev_check_link(struct uroce_dev *dev);

/** In a child of fork() that inherited a planned device: its descriptors are the child's own from now on. */
void uroce_dev_renew(struct uroce_dev *dev);

/** Polls readable when a planned device wants that; -1: the device was not planned. */
int uroce_dev_link_fd(const struct uroce_dev *dev);

/** The kernel's interface that the port shares; 0: none. */
unsigned uroce_dev_if_index(const struct uroce_dev *dev);

/** The NUMA node of the port; -1: any. */
int uroce_dev_socket_id(const struct uroce_dev *dev);

/** Draw an unpredictable QPN (2 .. 2^24 - 2) and keep it for a QP. @return 0, -ENOMEM: no room. */
int uroce_dev_alloc_qpn(struct uroce_dev *dev, uint32_t *qpn);

/** Give an unused QPN back (one whose QP was never added, or was removed). */
void uroce_dev_free_qpn(struct uroce_dev *dev, uint32_t qpn);

/** Publish a QP, whose context was made with an allocated QPN: packets find it from now on. */
int uroce_dev_add_qp(struct uroce_dev *dev, struct uroce_worker_qp *wqp,
		     struct uroce_worker *worker);

/**
 * Tell uroced, if the device is attached to one, which peer a QP is connected to since it was modified: uroced delivers to it
 * what comes from this peer alone. The QP's worker.
 */
void uroce_worker_qp_bind(const struct uroce_worker_qp *wqp);

/** Withdraw a QP. On return no worker refers to it, and its memory may be freed. */
void uroce_dev_remove_qp(struct uroce_dev *dev, struct uroce_worker_qp *wqp);

/**
 * Publish an XRC shared receive queue: peers may name its number, `srq.srqn`, from now on.
 * @return 0, or -ENOMEM: UROCE_XRC_SRQS queues
 */
int uroce_dev_add_srq(struct uroce_dev *dev, struct uroce_worker_srq *wsrq);

/**
 * Withdraw it. On return no worker and no QP refers to it, and its memory may be freed. A message that
 * an XRC target was receiving into it is cut off.
 */
void uroce_dev_remove_srq(struct uroce_dev *dev, struct uroce_worker_srq *wsrq);

/**
 * Let a QP receive the datagrams that are sent to a group's GID; once more changes nothing. It is to
 * be detached before it is removed.
 * @return 0; -EINVAL: not a group's GID; -ENOMEM: too many memberships; where the kernel owns the
 *	interface, why it does not join
 */
int uroce_dev_attach_mcast(struct uroce_dev *dev, struct uroce_worker_qp *wqp,
			   const uint8_t gid[16]);

/** End that. @return 0; -EINVAL: it was not a member */
int uroce_dev_detach_mcast(struct uroce_dev *dev, struct uroce_worker_qp *wqp,
			   const uint8_t gid[16]);

/** Whether a QP is a member of any group. */
bool uroce_dev_is_attached(struct uroce_dev *dev, const struct uroce_worker_qp *wqp);

/** Wait until every worker that is inside a round has left it. Not from inside a round. */
void uroce_dev_grace(struct uroce_dev *dev);

/**
 * Wait until no port refers to memory of a region that was invalidated a grace period ago, or of a QP
 * that sends no more. Frames that did not leave yet are lost.
 */
void uroce_dev_reclaim_mr(struct uroce_dev *dev, uint32_t key);
void uroce_dev_reclaim_qp(struct uroce_dev *dev, const struct uroce_worker_qp *wqp);

/**
 * Resolve an address vector to a path: checks the GRH and sgid_index, finds the next hop, asks for its MAC
 * and waits for the answer, up to a second (driving the worker where the caller would have to).
 * @param sport  UDP source port
 * @return 0; -EINVAL the vector is malformed; -ENETUNREACH no route; -ETIMEDOUT no answer
 */
int uroce_dev_resolve(struct uroce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport,
		      struct uroce_path *path);

/** A file descriptor that polls readable while an event waits. */
int uroce_dev_event_fd(const struct uroce_dev *dev);

/** Take the oldest event. @return whether there was one */
bool uroce_dev_event_pop(struct uroce_dev *dev, struct uroce_dev_event *event);

#endif /* UROCE_DATAPATH_DEV_H */
