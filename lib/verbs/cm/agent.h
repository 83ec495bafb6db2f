/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_AGENT_H
#define UROCE_VERBS_CM_AGENT_H

/**
 * @file
 * The agent of a device: the engine of connection management (lib/cm/cm.h) with QP 1, a clock, a
 * lock and a thread.
 *
 * The first manager of a device creates the agent. It lives as long as the device, because an id
 * that was destroyed continues until the peer knows, and TIMEWAIT goes on.
 *
 * The thread sleeps until a message arrives, a timer of the engine expires, or another thread wakes
 * it. Then it works in turns. A turn takes a bounded number of messages under the lock, so that a
 * flood of messages keeps no caller waiting. A call of a manager runs in the caller's thread under
 * the lock, and transmits what it caused. The lock is never held while a thread waits for a peer.
 *
 * An embedder whose loop does everything may do the work of the thread, too:
 * uroce_cm_agent_take_over() ends the thread.
 *
 * In a child of fork() the agent stays with the parent. The child's calls must not take the lock,
 * which a thread of the parent may have held.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"
#include "datapath/dpdk.h"
#include "verbs/cm/fair_lock.h"
#include "verbs/cm/gsi.h"
#include "verbs/cm/receiver.h"
#include "verbs/cm/sender.h"

/**
 * Number of ids of an agent: 20,000 connections, and as many that have ended a short time ago. Ids
 * are smaller than this number. The memory of an id is used when the id is created.
 */
#define UROCE_CM_AGENT_IDS 65536u

/**
 * Number of ids of an agent whose device is attached to uroced. Only the connection manager of
 * uroced has such an agent, which serves all clients. One user of the host gets at most one half of
 * the ids.
 */
#define UROCE_CM_SHARED_AGENT_IDS 131072u

/** Most consumers of an agent at a time. */
#define UROCE_CM_CONSUMERS_MAX 1024u

struct ibv_context;
struct uroce_cm_manager;

/** A user of the agent. Its number is the owner of its ids in the engine. */
struct uroce_cm_client {
	struct uroce_cm_manager *manager; /* its notify() is called; NULL: the number is free */
	/* notify() was called, and the consumer has not found its queue of events empty since */
	bool is_notified;
};

/** The lock guards the fields from `cm` to `clients`. */
struct uroce_cm_agent {
	struct uroce_vdevice *device;
	struct uroce_dpdk_thread thread;
	bool has_thread; /* changed by uroce_cm_agent_take_over() alone, under the lock */
	atomic_bool is_stopping;
	int epoll_fd; /* readable while there is work: one of the following three is readable */
	int timer_fd; /* timerfd of the nearest deadline */
	int wake_fd;  /* eventfd by which other threads wake the thread */
	void *mem;    /* memory of the engine */
	size_t mem_len;
	struct uroce_fair_lock lock;
	struct uroce_cm *cm;
	struct uroce_gsi gsi;
	struct uroce_cm_sender sender;
	struct uroce_cm_receiver_stats received;
	uint64_t armed_ns;   /* time for which `timer_fd` is armed; UROCE_CM_NEVER: not armed */
	unsigned nb_clients; /* clients from 0 on that have been used */
	struct uroce_cm_client clients[UROCE_CM_CONSUMERS_MAX];
	/* next agent of the list of cm/cm_telemetry.c, which has a lock of its own */
	struct uroce_cm_agent *telemetry_next;
};

/**
 * Get the agent of a device, which is created by the first call.
 * @return 0, or -errno: ENOMEM; the errors of uroce_gsi_open(); the thread was not created
 */
int uroce_cm_agent_get(struct uroce_vdevice *device, struct uroce_cm_agent **agent);

/** End the agent of a device without managers. A device without agent is allowed. */
void uroce_cm_agent_end(struct uroce_vdevice *device);

/**
 * Add a consumer.
 * @param[out] number  its number
 * @return 0; -ENOMEM: there are UROCE_CM_CONSUMERS_MAX
 */
int uroce_cm_agent_add(struct uroce_cm_agent *agent, struct uroce_cm_manager *manager,
		       uint16_t *number);

/** Remove a consumer. Its ids are destroyed. On return its notify() is not called any more. */
void uroce_cm_agent_remove(struct uroce_cm_agent *agent, uint16_t number);

/**
 * Begin a call to the engine, which nobody else uses until uroce_cm_agent_end_call().
 * @return the present time
 */
uint64_t uroce_cm_agent_begin_call(struct uroce_cm_agent *agent);

/**
 * End a call to the engine. Messages that it caused are transmitted, as far as they fit. Everything
 * else that it caused is left to the thread.
 */
void uroce_cm_agent_end_call(struct uroce_cm_agent *agent);

/**
 * Let the caller do the work of the agent's thread, which ends. The caller waits until the
 * descriptor polls readable, and then calls uroce_cm_agent_process(). This cannot be undone.
 * @return the descriptor, which belongs to the agent
 */
int uroce_cm_agent_take_over(struct uroce_cm_agent *agent);

/**
 * Do one turn of the agent's work, without waiting.
 * @return whether there is more to do at once
 */
bool uroce_cm_agent_process(struct uroce_cm_agent *agent);

#endif /* UROCE_VERBS_CM_AGENT_H */
