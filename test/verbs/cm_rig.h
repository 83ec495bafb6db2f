/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_VERBS_CM_RIG_H
#define UROCE_TEST_VERBS_CM_RIG_H

/**
 * @file
 * Two hosts on a cable, which connect by <uroce_cm.h>: a device of each, and a channel of each.
 */

#include <uroce_cm.h>

#include "net.h"

#define HOST_A   "192.0.2.1"
#define HOST_B   "192.0.2.2"
#define HOST_A6  "2001:db8::1"
#define HOST_B6  "2001:db8::2"

#define RIG_PORT 7471
#define RIG_LEN  4096u /* bytes of a buffer */

/** One end of a connection: an id with a QP, and a buffer. */
struct cm_end {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint8_t buf[RIG_LEN];
};

struct cm_rig {
	struct ibv_device *device[2];
	struct rdma_event_channel *channel[2];
	struct rdma_cm_id *listener; /* at host b */
	struct cm_end a, b;
};

/** Create the devices, with these keys, and the channels. */
void rig_open(struct cm_rig *rig, const char *keys);

/** Destroy everything that is not NULL. */
void rig_close(struct cm_rig *rig);

/** An address, valid until the eighth next call. A port of 0 is none. */
struct sockaddr *sa_of(const char *ip, uint16_t port);

/** Wait for the next event of a channel, which must be this one, with this status. */
struct rdma_cm_event *await_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
				  int status);

/** Wait for the next event, as await_event(), and acknowledge it. */
void expect_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type, int status);

/** Wait until an event is pending. */
void await_readable(struct rdma_event_channel *channel);

/** No event may be pending. */
void expect_no_event(struct rdma_event_channel *channel);

/** Create the listener at host b. */
void rig_listen(struct cm_rig *rig, enum rdma_port_space ps);

/** Create a listener at another port of host b, so that the host answers. */
void rig_listen_elsewhere(struct cm_rig *rig);

/** Create the id of host a with a resolved route to the listener. */
void rig_resolve(struct cm_rig *rig, enum rdma_port_space ps);

/** Create the QP and the region of an end. */
void end_create_qp(struct cm_end *end, enum ibv_qp_type type);

/** Destroy the QP, the region and the id of an end. */
void end_destroy(struct cm_end *end);

/** Connect an RC QP of host a to one of host b; both are established. */
void rig_connect(struct cm_rig *rig);

/** Post a receive request to `b`, a send to `a`, and compare what arrives. */
void rig_exchange(struct cm_end *a, struct cm_end *b);

/** State of the QP of an id. */
enum ibv_qp_state qp_state_of(struct rdma_cm_id *id);

#define assert_cm_fails(err, call)                                                                 \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal(call, -1);                                                        \
		assert_int_equal(errno, err);                                                      \
	} while (0)

#endif /* UROCE_TEST_VERBS_CM_RIG_H */
