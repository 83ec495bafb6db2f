/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_CM_END_H
#define TEST_UROCED_CM_END_H

/**
 * @file
 * One end of a connection: a device of this process that is attached to uroced, with a user of
 * uroced's connection manager and a QP. Two ends connect to each other and exchange messages. A
 * call that fails fails the test.
 */

#include "../verbs/cm_user.h"

#define CM_END_LEN 4096u

struct cm_end {
	struct user user;
	struct ibv_device *device;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t buf[2 * CM_END_LEN]; /* the first half is sent, the second half is received */
};

void cm_end_open(struct cm_end *end, const char *socket);

/** Close an end, if it is open. */
void cm_end_close(struct cm_end *end);

/** Make a new QP for an end, in place of the one that it has. */
void cm_end_make_qp(struct cm_end *end);

/** Move the QP to RTS, with the attributes that the connection manager has for an id. */
void cm_end_ready_qp(struct cm_end *end, uint32_t id);

/** Send a message from one end to the other. */
void cm_end_exchange(struct cm_end *from, struct cm_end *to);

/** Connect the end `from` to a port at which the end `to` listens, and exchange messages. */
struct user_link cm_end_connect(struct cm_end *from, struct cm_end *to, uint16_t port);

/** Disconnect both ends of a connection, and destroy its ids. */
void cm_end_disconnect(struct cm_end *from, struct cm_end *to, const struct user_link *link);

void cm_end_destroy(struct cm_end *end, uint32_t id);

/** Create an id of an end, and bind it to a port, 0 for any. @return the result of the bind */
int cm_end_bind(struct cm_end *end, uint16_t port, bool is_datagram, uint32_t *id);

/** Wait until a port, which another client had, is free. */
void cm_end_await_port(struct cm_end *end, uint16_t port, bool is_datagram);

#endif /* TEST_UROCED_CM_END_H */
