/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_VERBS_RECEIVER_H
#define UROCE_TEST_VERBS_RECEIVER_H

/**
 * @file
 * Receivers of XRC: a sends with one QP, and b has a target in a domain. Each receiver is in a
 * context of its own on b's device, and may open the same domain.
 */

#include "net.h"

#define SRQ_WR 8 /* requests in a receiver's queue */

extern struct pair net; /* both QPs are in RESET: the initiator, and the target */
/* the file that identifies the domain of the target; opened by main */
extern int xrc_fd;
extern struct ibv_xrcd *xrcd; /* the XRC domain, in b's context */

/** Make the QPs of an open pair an XRC initiator and a target. */
void make_xrc(void);

/** Setup and teardown of each test. Teardown closes `xrcd` and `net.b.qp` if they are not NULL. */
int setup(void **state);
int setup_with(const char *keys); /* setup of cmocka, with keys for both devices */
int teardown(void **state);

/** A queue, and the objects that it needs in its context. */
struct receiver {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	uint8_t *buf;
	uint32_t srqn;
};

struct ibv_qp *make_target(struct ibv_context *context, struct ibv_xrcd *in);
struct ibv_xrcd *open_by(struct ibv_context *context, int by_fd, int oflags);

/**
 * Create a queue of SRQ_WR requests with its receiver's PD, domain and CQ.
 * @return the queue, or NULL and errno
 */
struct ibv_srq *make_srq(const struct receiver *of);

/** Create all objects of a receiver in the domain of a file; -1: in a domain of its own. */
void open_receiver(struct receiver *to, int by_fd);
void close_receiver(struct receiver *to);

/** Post a receive request of 1000 bytes at the beginning of the buffer. */
void post_to(const struct receiver *to, uint64_t wr_id);
/** Post a SEND from the beginning of a's buffer to the queue of this number. */
void send_to(uint32_t srqn, uint64_t wr_id, uint32_t len);
/** Post a receive request and a SEND, and check the received data. */
void exchange(const struct receiver *to, uint64_t wr_id);

#endif /* UROCE_TEST_VERBS_RECEIVER_H */
