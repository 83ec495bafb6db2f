/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_MANAGER_H
#define UROCE_VERBS_CM_MANAGER_H

/**
 * @file
 * The connection manager of a device, as its user in this process sees it.
 *
 * The port space of a host has one owner. If this process owns the port of the device, the
 * connection manager is an agent in this process (verbs/cm/agent.h). If the device is attached to
 * uroced, the connection manager is that of uroced, and serves all clients. Both have the same
 * calls: those of the CM engine without the parameter `now_ns`. lib/cm/cm.h describes the meaning,
 * the arguments and the errors of each call. In addition each call may return -EIO: the connection
 * to uroced was lost, or the device is being closed.
 *
 * Any thread may make the calls. No call waits for a peer.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"

struct ibv_context;
struct uroce_cm_manager;

/** The calls of a connection manager. */
struct uroce_cm_manager_ops {
	int (*create)(struct uroce_cm_manager *manager, uint16_t space, bool is_datagram,
		      uint64_t user, uint32_t *id);
	int (*bind)(struct uroce_cm_manager *manager, uint32_t id, const struct uroce_cm_addr *addr,
		    bool is_v6only, bool is_shared);
	int (*listen)(struct uroce_cm_manager *manager, uint32_t id, uint32_t backlog);
	int (*connect)(struct uroce_cm_manager *manager, uint32_t id,
		       const struct uroce_cm_addr *remote, const struct uroce_cm_av *av,
		       const struct uroce_cm_param *param);
	int (*accept)(struct uroce_cm_manager *manager, uint32_t id,
		      const struct uroce_cm_param *param);
	int (*reject)(struct uroce_cm_manager *manager, uint32_t id, uint16_t reason,
		      const void *private_data, uint8_t private_len);
	int (*establish)(struct uroce_cm_manager *manager, uint32_t id, const void *private_data,
			 uint8_t private_len);
	int (*disconnect)(struct uroce_cm_manager *manager, uint32_t id, const void *private_data,
			  uint8_t private_len);
	int (*destroy)(struct uroce_cm_manager *manager, uint32_t id);
	int (*set_user)(struct uroce_cm_manager *manager, uint32_t id, uint64_t user);
	int (*query)(struct uroce_cm_manager *manager, uint32_t id, struct uroce_cm_info *info);
	/*
	 * Take the oldest event of the connection manager. @return 1: an event was taken; 0: there
	 * is no event; -EIO
	 */
	int (*next_event)(struct uroce_cm_manager *manager, struct uroce_cm_event *event);
	/*
	 * Get the number of nanoseconds from now on in which a QP number must not be used for
	 * another QP, see uroce_cme_qpn_busy_until().
	 */
	int (*qpn_busy_ns)(struct uroce_cm_manager *manager, uint32_t qpn, uint64_t *busy_ns);
	/*
	 * Destroy the ids that the user of the connection manager has not destroyed, and free the
	 * manager.
	 */
	void (*close)(struct uroce_cm_manager *manager);
};

/** A connection manager. The struct of each implementation begins with this struct. */
struct uroce_cm_manager {
	const struct uroce_cm_manager_ops *ops;
	/*
	 * notify() tells the user of the connection manager that next_event() has an event. A
	 * thread of the connection manager calls this function. It must not wait, and must not call
	 * the connection manager. After a call, notify() is not called again before next_event()
	 * has returned 0. So the user takes events until next_event() returns 0.
	 */
	void (*notify)(void *arg);
	void *arg;
};

/**
 * Get access to the connection manager of a device. The first call for a device that this process
 * owns creates the agent.
 * @param context  an open device; it must stay open until the manager is closed
 * @return 0, or -errno: ENOMEM; EINVAL: an argument is NULL; ECONNREFUSED: uroced serves no
 *         connection management; EIO: this process is a child of fork(), and the device is the
 *         parent's; or another error of the creation of QP 1
 */
int uroce_cm_manager_open(struct ibv_context *context, void (*notify)(void *arg), void *arg,
			  struct uroce_cm_manager **manager);

#endif /* UROCE_VERBS_CM_MANAGER_H */
