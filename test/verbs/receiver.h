/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_VERBS_RECEIVER_H
#define UROCE_TEST_VERBS_RECEIVER_H

/**
 * @file
 * Receivers of XRC: host a sends with one QP, and host b has a target QP in an XRC domain. Each
 * receiver has a context of its own on b's device. Several receivers may open the same domain.
 */

#include "net.h"

#define SRQ_WR 8 /* number of requests of a receiver's SRQ */

extern struct pair net; /* the hosts: a has the initiator QP, b the target QP */
/* descriptor of the file that identifies the target's XRC domain, opened by main() */
extern int xrc_fd;
extern struct ibv_xrcd *xrcd; /* the target's XRC domain, opened in b's context */

/** Replace the QPs of the open pair by an XRC initiator and an XRC target. */
void make_xrc(void);

/**
 * Setup and teardown of each test. The teardown destroys `net.b.qp` and closes `xrcd`, unless they
 * are NULL.
 */
int setup(void **state);
int setup_with(const char *keys); /* setup() with configuration keys for both devices */
int teardown(void **state);

/** A receiver: an XRC SRQ, and the objects that the SRQ needs in the receiver's context. */
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
 * Create an XRC SRQ of SRQ_WR requests with the PD, the domain and the CQ of a receiver.
 * @return the SRQ; NULL: see errno
 */
struct ibv_srq *make_srq(const struct receiver *of);

/**
 * Create all objects of a receiver. Its domain is that of the file `by_fd`; -1: a new domain
 * without a file.
 */
void open_receiver(struct receiver *to, int by_fd);
void close_receiver(struct receiver *to);

/** Post a receive request of 1000 bytes at the beginning of the receiver's buffer. */
void post_to(const struct receiver *to, uint64_t wr_id);
/**
 * Post a SEND of `len` bytes from the beginning of a's buffer to the SRQ with the number `srqn`.
 */
void send_to(uint32_t srqn, uint64_t wr_id, uint32_t len);
/** Send a message from a to a receiver, and compare the received bytes. */
void exchange(const struct receiver *to, uint64_t wr_id);

#endif /* UROCE_TEST_VERBS_RECEIVER_H */
