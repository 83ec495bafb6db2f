/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_DEV_H
#define UROCE_DATAPATH_DEV_H

/**
 * @file
 * A RoCE device: a port, its addresses, its workers, and the tables that the workers share (QPNs,
 * memory keys, neighbours). lib/verbs implements verbs on devices.
 *
 * Control calls may come from any thread; the device's lock serialises them. The data path never
 * waits for this lock.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "datapath/device/conf.h"
#include "datapath/net/gid_table.h"
#include "datapath/device/event.h"
#include "datapath/port/port.h"
#include "datapath/worker/worker.h"
#include "mem/mr.h"
#include "transport/qpc.h"

struct uroce_mcast_group;
struct uroce_mcast_table;
struct uroce_neigh;
struct uroce_planned_link;
struct uroce_qpn_table;
struct uroce_service_thread;

struct uroce_dev {
	struct uroce_dev_conf conf;
	/*
	 * The port; NULL: the device is planned (uroce_dev_plan()), and its port is not open yet.
	 */
	struct uroce_port *port;
	struct uroce_port_plan plan;
	/*
	 * State of the link that programs see before the port is open; NULL: the device was not
	 * planned (uroce_dev_plan()).
	 */
	struct uroce_planned_link *planned_link;
	/*
	 * The current GID table: an element of gid_table[], see gid.h. A thread inside a round of a
	 * worker may read the table; other threads read it under `lock`.
	 */
	_Atomic(const struct uroce_gid_table *) gids;
	struct uroce_gid_table gid_table[2];
	uint8_t mac[6];
	uint16_t pkeys[1]; /* table of partition keys; its only entry is the default key 0xffff */
	struct uroce_qpc_limits limits;
	/*
	 * Parameters of congestion control, for the QPs that use it. The algorithm, `cc.ops`, is
	 * always set, even if the configuration has cc=none.
	 */
	struct uroce_cc_conf cc;
	struct uroce_qpn_table *qpns;
	/* table of memory keys, which are added, invalidated and freed under `lock` */
	struct uroce_mr_table *mrs;
	/*
	 * Table of XRC shared receive queues, each in a struct uroce_worker_srq; changed under
	 * `lock`.
	 */
	struct uroce_srq_table *srqs;
	/*
	 * Table of the members of multicast groups, each a struct uroce_worker_qp; changed under
	 * `lock`.
	 */
	struct uroce_mcast_table *mcast;
	/* Number of multicast groups in `groups`; workers read it without `lock`, as a hint. */
	atomic_uint nb_groups;
	atomic_bool has_loopback; /* a path was created that may lead to this device itself */
	/*
	 * State of the replies to ARP, ND and pings for the device's own addresses, with the
	 * neighbour cache; NULL: all addresses belong to the kernel, which replies itself.
	 */
	struct uroce_neigh *neigh;
	struct uroce_event_queue *events;
	/*
	 * The thread that drives the workers while no other thread does; NULL: there is no such
	 * thread.
	 */
	struct uroce_service_thread *service;
	unsigned nb_workers;
	struct uroce_worker *worker[UROCE_WORKERS_MAX];
	/*
	 * The fields from `lock` to `nb_link_downs` begin a cache line, because worker 0 writes
	 * them every 100 ms. No worker uses the fields behind them.
	 */
	_Alignas(64) pthread_mutex_t lock;
	/*
	 * The addresses of the kernel interface or of uroced may have changed, and have not been
	 * read since then; guarded by `lock`.
	 */
	bool has_gid_changes;
	/* some multicast groups must be reported by IGMP or MLD; guarded by `lock` */
	bool has_due_groups;
	/* List of the multicast groups that have members; guarded by `lock`. */
	struct uroce_mcast_group *groups;
	/*
	 * Value of port->nb_downs at the latest check of the multicast groups at which the link was
	 * up; UINT64_MAX: the link was not up at any check since the first group was added. If the
	 * value differs at the next check, all groups are reported again. Guarded by `lock`.
	 */
	uint64_t nb_link_downs;
	/* Name under which telemetry lists the device. */
	char telemetry_name[IBV_SYSFS_NAME_MAX];
	struct uroce_dev *telemetry_next;
};

/**
 * Check that EAL runs.
 * @param port  name of the port, for the log line
 * @return 0, or -ENODEV after one logged line: rte_eal_init() has not run
 */
int uroce_dev_check_eal(const char *port);

/**
 * Create a device and bring it up: the port is started, and the workers are driven as configured.
 * @return 0, or -errno after one logged line: ENODEV (no such port, or EAL does not run), EINVAL,
 *         ENOMEM, EPERM
 */
int uroce_dev_create(const struct uroce_dev_conf *conf, struct uroce_dev **dev);

/**
 * Create a planned device, which programs can see before its port is open and before EAL is
 * initialized. Calls about addresses, limits and events are valid. All other calls require
 * uroce_dev_start().
 * @param vdev  arguments of the port, see uroce_port_plan()
 * @return 0, or -errno after one logged line: the errors of uroce_dev_create() and
 *   uroce_port_plan()
 */
int uroce_dev_plan(const struct uroce_dev_conf *conf, const char *vdev, struct uroce_dev **dev);

/**
 * Bring a planned device (uroce_dev_plan()) up, once. EAL must be initialized. After an error, the
 * device can only be destroyed.
 * @return 0, or -errno after one logged line
 */
int uroce_dev_start(struct uroce_dev *dev);

/**
 * Destroy a device. Its port is stopped, unless the port belongs to the DPDK application
 * (conf.is_handed_over). If the driver of the port would go on using the library's memory, the port
 * is also closed, which removes the port from ethdev.
 * @return 0, or -EBUSY: QPs or memory regions are left, and nothing was changed
 */
int uroce_dev_destroy(struct uroce_dev *dev);

/**
 * Whether the port's link was up at the latest check. For a planned device (uroce_dev_plan()), the
 * result is whether the link is expected to be up.
 */
bool uroce_dev_is_link_up(const struct uroce_dev *dev);

/**
 * Check the link of a planned device (uroce_dev_plan()), because no worker checks it. If the link
 * has changed since the latest check, an event is raised. If the device is up, the call does
 * nothing.
 */
void uroce_dev_check_link(struct uroce_dev *dev);

/**
 * Renew a planned device (uroce_dev_plan()) in a child of fork() that inherited it: the inherited
 * file descriptors are replaced by the child's own.
 */
void uroce_dev_renew(struct uroce_dev *dev);

/**
 * Get the file descriptor that polls readable when uroce_dev_check_link() must be called; -1: the
 * device was not planned.
 */
int uroce_dev_link_fd(const struct uroce_dev *dev);

/** Get the NUMA node of a device's port; -1: the port belongs to no particular node. */
int uroce_dev_socket_id(const struct uroce_dev *dev);

/**
 * Allocate an unpredictable QPN (2 .. 2^24 - 2).
 * @return 0, or -ENOMEM: no QPN is free
 */
int uroce_dev_alloc_qpn(struct uroce_dev *dev, uint32_t *qpn);

/**
 * Allocate QPN 1, the number of the QP for management datagrams (GSI, general services interface).
 * @return 0; -EBUSY: QPN 1 is already allocated; -ECONNREFUSED: the device is attached to uroced,
 *   whose connection manager has this QP for all clients
 */
int uroce_dev_alloc_gsi(struct uroce_dev *dev);

/** Free a QPN whose QP was never added to the device, or was removed from it. */
void uroce_dev_free_qpn(struct uroce_dev *dev, uint32_t qpn);

/**
 * Publish a QP whose context was created with an allocated QPN. From now on received packets find
 * the QP.
 */
int uroce_dev_add_qp(struct uroce_dev *dev, struct uroce_worker_qp *wqp,
		     struct uroce_worker *worker);

/**
 * Report the peer of a QP to uroced, if the device is attached to uroced. uroced delivers only
 * packets of this peer to the QP. The QP's worker calls the function after each ibv_modify_qp().
 */
void uroce_worker_qp_bind(const struct uroce_worker_qp *wqp);

/**
 * Withdraw a QP, so that received packets do not find it. On return no worker refers to the QP, and
 * its memory may be freed.
 */
void uroce_dev_remove_qp(struct uroce_dev *dev, struct uroce_worker_qp *wqp);

/**
 * Publish an XRC shared receive queue. From now on peers may name its number, `srq.srqn`.
 * @return 0, or -ENOMEM: UROCE_XRC_SRQS queues are already published
 */
int uroce_dev_add_srq(struct uroce_dev *dev, struct uroce_worker_srq *wsrq);

/**
 * Withdraw an XRC shared receive queue. On return no worker and no QP refers to it, and its memory
 * may be freed. A message that an XRC target QP is receiving into the queue is aborted.
 */
void uroce_dev_remove_srq(struct uroce_dev *dev, struct uroce_worker_srq *wsrq);

/**
 * Attach a QP to a multicast group, so that the QP receives the datagrams to the group's GID. To
 * attach a member again changes nothing. The QP must be detached before it is removed.
 * @return 0; -EINVAL: not the GID of a multicast group; -ENOMEM: too many memberships; where the
 *   kernel owns the interface, the error of the kernel's join
 */
int uroce_dev_attach_mcast(struct uroce_dev *dev, struct uroce_worker_qp *wqp,
			   const uint8_t gid[16]);

/**
 * Detach a QP from a multicast group.
 * @return 0; -EINVAL: the QP was not a member
 */
int uroce_dev_detach_mcast(struct uroce_dev *dev, struct uroce_worker_qp *wqp,
			   const uint8_t gid[16]);

/** Whether a QP is a member of any multicast group. */
bool uroce_dev_is_attached(struct uroce_dev *dev, const struct uroce_worker_qp *wqp);

/**
 * Wait for a grace period: until every worker that is inside a round, a pass through its work, has
 * left it. The calling thread must not be inside a round.
 */
void uroce_dev_grace(struct uroce_dev *dev);

/**
 * uroce_dev_reclaim_mr(): wait until the port has no frame that refers to memory of a memory region
 * (zero-copy transmit). The region must have been invalidated, and a grace period must have passed
 * since.
 *
 * uroce_dev_reclaim_qp(): wait until the port has no frame that refers to memory of a QP that sends
 * no more.
 *
 * Both functions drop pending frames that refer to such memory.
 */
void uroce_dev_reclaim_mr(struct uroce_dev *dev, uint32_t key);
void uroce_dev_reclaim_qp(struct uroce_dev *dev, const struct uroce_worker_qp *wqp);

/**
 * Check whether the kernel has a route from an address of a device whose frames pass UDP sockets.
 * If uroced has the sockets, this process may be in another network namespace, which does not have
 * the address. The connection manager of uroced is not allowed to open a socket. In these cases the
 * route is not checked, and uroced drops frames for which the kernel has no route.
 * @return 0, or -errno of the kernel: ENETUNREACH and others
 */
int uroce_dev_check_socket_route(const struct uroce_dev *dev, const uint8_t sip[16],
				 const uint8_t dip[16]);

/**
 * Resolve an address vector to a path. The call checks the GRH and sgid_index, finds the next hop,
 * requests its MAC and waits up to 3 s for the reply. Meanwhile the call drives the workers, unless
 * only the DPDK application may drive them.
 * @param sport  UDP source port
 * @return 0; -EINVAL: the vector is malformed; -ENETUNREACH: no route; -ETIMEDOUT: no reply
 */
int uroce_dev_resolve(struct uroce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport,
		      struct uroce_path *path);

/**
 * Resolve an address vector as uroce_dev_resolve() does, but never wait for a reply. The call does
 * not drive the workers. A caller that gets -EAGAIN repeats the call about every millisecond, and
 * decides itself when to give up.
 * @param[in,out] request_ns  0 before the first call for a vector. Between the calls it keeps the
 *   time of the next request for the MAC, so that a repeated call does not repeat the request.
 * @return 0; -EAGAIN: the MAC was requested, or the kernel was asked to resolve it; -EINVAL: the
 *   vector is malformed; -ENETUNREACH: no route; another -errno of the kernel
 */
int uroce_dev_try_resolve(struct uroce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport,
			  uint64_t *request_ns, struct uroce_path *path);

/** Get the file descriptor that polls readable while an asynchronous event is pending. */
int uroce_dev_event_fd(const struct uroce_dev *dev);

/**
 * Take the oldest pending asynchronous event of a device.
 * @return whether an event was pending
 */
bool uroce_dev_event_pop(struct uroce_dev *dev, struct uroce_dev_event *event);

#endif /* UROCE_DATAPATH_DEV_H */
