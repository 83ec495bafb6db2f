/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_VERBS_CM_RIG_H
#define UROCE_TEST_VERBS_CM_RIG_H

/**
 * @file
 * Two hosts on a cable, a and b, which connect by <uroce_cm.h>. Each host has a device and an event
 * channel.
 */

#include <uroce_cm.h>

#include "net.h"

#define HOST_A   "192.0.2.1"
#define HOST_B   "192.0.2.2"
#define HOST_A6  "2001:db8::1"
#define HOST_B6  "2001:db8::2"

#define RIG_PORT 7471
#define RIG_LEN  4096u /* length of the buffer of an end */

/** An end of a connection: an id with its QP, and a registered buffer. */
struct cm_end {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint8_t buf[RIG_LEN];
};

struct cm_rig {
	struct ibv_device *device[2];
	struct rdma_event_channel *channel[2];
	struct rdma_cm_id *listener; /* id that listens at host b */
	struct cm_end a, b;
};

/** Create the devices, with the configuration keys `keys`, and the event channels. */
void rig_open(struct cm_rig *rig, const char *keys);

/** Destroy all objects of the rig that exist. */
void rig_close(struct cm_rig *rig);

/**
 * Make a socket address, which is valid until the eighth call after this one. Port 0 means no port.
 */
struct sockaddr *sa_of(const char *ip, uint16_t port);

/** Wait for the next event of a channel. It must have this type and this status. */
struct rdma_cm_event *await_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
				  int status);

/** Wait for an event as await_event() does, and acknowledge the event. */
void expect_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type, int status);

/** Wait until a channel has a pending event. */
void await_readable(struct rdma_event_channel *channel);

/** Check that a channel has no pending event. */
void expect_no_event(struct rdma_event_channel *channel);

/** Create an id that listens at host b, at RIG_PORT. */
void rig_listen(struct cm_rig *rig, enum rdma_port_space ps);

/**
 * Create an id that listens at another port of host b, so that a request to RIG_PORT is rejected.
 */
void rig_listen_elsewhere(struct cm_rig *rig);

/** Create an id of host a, and resolve its route to the listener. */
void rig_resolve(struct cm_rig *rig, enum rdma_port_space ps);

/** Create the QP of an end, and register its buffer. */
void end_create_qp(struct cm_end *end, enum ibv_qp_type type);

/** Destroy the QP, the region and the id of an end, if they exist. */
void end_destroy(struct cm_end *end);

/** Connect an RC QP of host a to one of host b, and wait until both are established. */
void rig_connect(struct cm_rig *rig);

/** Send a message from `a` to `b`, and compare the received bytes. */
void rig_exchange(struct cm_end *a, struct cm_end *b);

/** Get the state of the QP of an id. */
enum ibv_qp_state qp_state_of(struct rdma_cm_id *id);

#define assert_cm_fails(err, call)                                                                 \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal(call, -1);                                                        \
		assert_int_equal(errno, err);                                                      \
	} while (0)

#endif /* UROCE_TEST_VERBS_CM_RIG_H */
