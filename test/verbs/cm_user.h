/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_VERBS_CM_USER_H
#define UROCE_TEST_VERBS_CM_USER_H

/**
 * @file
 * A user of a device's connection manager, for tests: it makes calls of the manager, and waits for
 * its events. The manager's interface is internal, so these tests link the libraries directly.
 */

#include "net.h"

#include "cm/reason.h"
#include "cm/service_id.h"
#include "cm/state.h"
#include "verbs/cm/manager.h"

struct user {
	struct ibv_context *context;
	struct uroce_cm_manager *manager;
	/* descriptor that is readable after the manager has notified that there are events */
	int event_fd;
	union ibv_gid gid;
};

/** Open a device and its connection manager. The address of the user is the GID with this index. */
void user_open(struct user *user, struct ibv_device *device, int gid_index);

/** Close the manager and the context of a user. No effect if the user is not open. */
void user_close(struct user *user);

/** Create an id, and listen at a port of the user's address. Returns the id. */
uint32_t user_listen(struct user *user, uint16_t port, uint32_t backlog);

/**
 * Create an id, and request a connection of the QP number `qpn` to a port of the address `to`.
 * Returns the id.
 */
uint32_t user_connect(struct user *user, const union ibv_gid *to, uint16_t port, uint32_t qpn);

/** Accept the request of the id `id` for the QP number `qpn`. */
void user_accept(struct user *user, uint32_t id, uint32_t qpn);

/**
 * Wait for the next event, and call `drive(arg)` meanwhile. If `drive` is NULL, sleep until the
 * manager notifies. The test fails if there is no event for a minute.
 */
struct uroce_cm_event user_await(struct user *user, void (*drive)(void *arg), void *arg);

/** Wait for the next event, whose kind must be `kind`. */
struct uroce_cm_event user_expect(struct user *user, enum uroce_cm_event_kind kind);

/** Check that the user has no event. */
void user_expect_none(struct user *user);

/**
 * After user_expect_none(): wait until the manager notifies that there is an event. The event is
 * not taken.
 */
void user_await_notice(struct user *user);

/** Query the state of an id. */
struct uroce_cm_info user_query(struct user *user, uint32_t id);

/** A connection: the ids of its two ends. */
struct user_link {
	uint32_t active;
	uint32_t passive;
};

/**
 * Connect `from` to a port at which `to` listens, and wait until both ends are established. Both
 * may be the same user.
 */
struct user_link user_establish(struct user *from, struct user *to, uint16_t port, uint32_t qpn);

#endif /* UROCE_TEST_VERBS_CM_USER_H */
