/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_AGENT_H
#define UROCE_VERBS_CM_AGENT_H

/**
 * @file
 * The agent of a device: the engine of connection management (lib/cm/cm.h) with QP 1, a clock, a
 * lock and a thread.
 *
 * The first manager of a device (verbs/cm/manager.h) creates the agent. The agent exists as long as
 * the device: an id that its program has destroyed stays in the agent until the messages that end
 * its connection are exchanged, and until TIMEWAIT is over.
 *
 * The thread sleeps until a message arrives, a timer of the engine expires, or another thread wakes
 * it. Then the thread works in turns. A turn takes a bounded number of messages under the lock, so
 * that a flood of messages does not make callers wait. A call of a manager runs in the caller's
 * thread under the lock, and transmits the messages that the call has caused. The lock is never
 * held while a thread waits for a peer.
 *
 * A program whose own loop drives the workers may also do the work of the agent's thread:
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
 * Number of ids of an agent: enough for 20,000 connections, and for as many that have ended a short
 * time ago. Ids are smaller than this number. The memory of an id is not used before the id is
 * created.
 */
#define UROCE_CM_AGENT_IDS 65536u

/**
 * Number of ids of an agent whose device is attached to uroced. Only the connection manager of
 * uroced has such an agent, which serves all clients. One user of the host gets at most one half of
 * the ids.
 */
#define UROCE_CM_SHARED_AGENT_IDS 131072u

/** Maximum number of consumers (users of an agent) that one agent has at a time. */
#define UROCE_CM_CONSUMERS_MAX 1024u

struct ibv_context;
struct uroce_cm_manager;

/**
 * A consumer: a user of the agent, with ids of its own. The index of its entry in `clients` of
 * struct uroce_cm_agent is the number by which the CM engine identifies the owner of the consumer's
 * ids.
 */
struct uroce_cm_client {
	/* manager of the consumer, whose notify() is called for events; NULL: the entry is free */
	struct uroce_cm_manager *manager;
	/* true from a call of notify() until the consumer finds its queue of events empty */
	bool is_notified;
};

/** The agent of a device. Its `lock` guards the fields from `cm` to `clients`. */
struct uroce_cm_agent {
	struct uroce_vdevice *device;
	struct uroce_dpdk_thread thread;
	/*
	 * Whether the agent has a thread. Only uroce_cm_agent_take_over() and the end of the agent
	 * change this field, under the lock.
	 */
	bool has_thread;
	atomic_bool is_stopping;
	/*
	 * epoll descriptor that watches `gsi.event_fd`, `timer_fd` and `wake_fd`: readable while
	 * the agent has work
	 */
	int epoll_fd;
	int timer_fd; /* timerfd, armed for the nearest deadline of the agent */
	int wake_fd;  /* eventfd by which other threads wake the agent's thread */
	void *mem;    /* memory of the CM engine `cm` */
	size_t mem_len;
	struct uroce_fair_lock lock;
	struct uroce_cm *cm;
	struct uroce_gsi gsi;
	struct uroce_cm_sender sender;
	struct uroce_cm_receiver_stats received;
	uint64_t armed_ns; /* time for which `timer_fd` is armed; UROCE_CM_NEVER: not armed */
	/* number of entries of `clients`, counted from the first one, that have ever been used */
	unsigned nb_clients;
	struct uroce_cm_client clients[UROCE_CM_CONSUMERS_MAX];
	/*
	 * next agent in the list of agents in cm_telemetry.c; `agents_lock` of that file guards the
	 * list
	 */
	struct uroce_cm_agent *telemetry_next;
};

/**
 * Get the agent of a device: its CM engine with QP 1, a lock and a thread. The first call for a
 * device creates the agent.
 * @return 0, or -errno: ENOMEM; the errors of uroce_gsi_open(); the thread was not created
 */
int uroce_cm_agent_get(struct uroce_vdevice *device, struct uroce_cm_agent **agent);

/**
 * End the agent of a device. All managers of the device (struct uroce_cm_manager) must have been
 * closed. If the device has no agent, the call does nothing.
 */
void uroce_cm_agent_end(struct uroce_vdevice *device);

/**
 * Add a consumer, which is a user of the agent with ids of its own.
 * @param[out] number  number of the consumer
 * @return 0; -ENOMEM: the agent has UROCE_CM_CONSUMERS_MAX consumers
 */
int uroce_cm_agent_add(struct uroce_cm_agent *agent, struct uroce_cm_manager *manager,
		       uint16_t *number);

/**
 * Remove a consumer (user of the agent), and destroy its ids. After this call the agent does not
 * call the consumer's notify().
 */
void uroce_cm_agent_remove(struct uroce_cm_agent *agent, uint16_t number);

/**
 * For `ns` nanoseconds from now on, let the CM engine drop connection requests for which there is
 * no listener, instead of refusing them (uroce_cme_await_listeners()).
 */
void uroce_cm_agent_await_listeners(struct uroce_cm_agent *agent, uint64_t ns);

/**
 * Begin a call to the CM engine (lib/cm/cm.h). No other thread uses the engine before
 * uroce_cm_agent_end_call().
 * @return the present time
 */
uint64_t uroce_cm_agent_begin_call(struct uroce_cm_agent *agent);

/**
 * End a call to the CM engine (lib/cm/cm.h). The function transmits a bounded number of messages of
 * the engine. The agent's thread does the rest of the work that the call has caused.
 */
void uroce_cm_agent_end_call(struct uroce_cm_agent *agent);

/**
 * End the agent's thread, so that the program can do the agent's work. The program waits until the
 * returned descriptor polls readable, and then calls uroce_cm_agent_process(). The thread cannot be
 * started again.
 * @return the descriptor, which belongs to the agent
 */
int uroce_cm_agent_take_over(struct uroce_cm_agent *agent);

/**
 * Do a bounded part of the agent's work, without waiting for events.
 * @return whether there is more work that can be done at once
 */
bool uroce_cm_agent_process(struct uroce_cm_agent *agent);

#endif /* UROCE_VERBS_CM_AGENT_H */
