/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_VERBS_CM_USER_H
#define UROCE_TEST_VERBS_CM_USER_H

/**
 * @file
 * A user of a device's connection manager, for tests: it makes calls, and waits for events. The
 * tests link the libraries directly, because programs do not see this interface.
 */

#include "net.h"

#include "cm/reason.h"
#include "cm/service_id.h"
#include "cm/state.h"
#include "verbs/cm/manager.h"

struct user {
	struct ibv_context *context;
	struct uroce_cm_manager *manager;
	int event_fd; /* readable when the manager has told that there are events */
	union ibv_gid gid;
};

/** Open a device, and its connection manager. The user's address is the GID of this index. */
void user_open(struct user *user, struct ibv_device *device, int gid_index);

/** Close the manager and the context. A user that is not open is allowed. */
void user_close(struct user *user);

/** Listen at a port of the user's address. */
uint32_t user_listen(struct user *user, uint16_t port, uint32_t backlog);

/** Ask for a connection from a QP number to a port of an address. */
uint32_t user_connect(struct user *user, const union ibv_gid *to, uint16_t port, uint32_t qpn);

/** Accept a request with a QP number. */
void user_accept(struct user *user, uint32_t id, uint32_t qpn);

/**
 * Wait for the next event. While there is none, `drive(arg)` is called; NULL: sleep until the
 * manager notifies. The test fails if there is no event for a minute.
 */
struct uroce_cm_event user_await(struct user *user, void (*drive)(void *arg), void *arg);

/** Wait for the next event, which must be of this kind. */
struct uroce_cm_event user_expect(struct user *user, enum uroce_cm_event_kind kind);

/** Check that there is no event now. */
void user_expect_none(struct user *user);

/** Wait until the manager tells of an event after user_expect_none(). The event is not taken. */
void user_await_notice(struct user *user);

/** The state of an id. */
struct uroce_cm_info user_query(struct user *user, uint32_t id);

/** The ids of both ends of a connection. */
struct user_link {
	uint32_t active;
	uint32_t passive;
};

/** Connect a user to a port at which another user, or the same one, listens. */
struct user_link user_establish(struct user *from, struct user *to, uint16_t port, uint32_t qpn);

#endif /* UROCE_TEST_VERBS_CM_USER_H */
