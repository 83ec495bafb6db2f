/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_VERBS_RECEIVER_H
#define UROCE_TEST_VERBS_RECEIVER_H

/**
 * @file
 * Who receives by XRC: a sends with one QP, and b has a target in a domain. Receivers are in contexts of b's
 * device, of their own, and may open the same domain.
 */

#include "net.h"

#define SRQ_WR 8 /* of a receiver's queue */

extern struct pair net;       /* both QPs are in RESET: what sends, and the target */
extern int xrc_fd;            /* the file whose domain the target is in; main opens it */
extern struct ibv_xrcd *xrcd; /* that domain, in b's context */

/** Make the QPs of an open pair what is said above. */
void make_xrc(void);

/** Of each test. Teardown closes what is not NULL of `xrcd` and `net.b.qp`. */
int setup(void **state);
int setup_with(const char *keys); /* of both devices */
int teardown(void **state);

/** A queue, and what it needs in its context. */
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

/** A queue of SRQ_WR requests with its receiver's PD, domain and CQ. @return NULL and errno, or the queue */
struct ibv_srq *make_srq(const struct receiver *of);

/** All of a receiver, in the domain of a file; -1: in one of its own. */
void open_receiver(struct receiver *to, int by_fd);
void close_receiver(struct receiver *to);

/** A receive request of 1000 bytes, at the begin of the buffer. */
void post_to(const struct receiver *to, uint64_t wr_id);
/** SEND from the begin of a's buffer, to the queue of this number. */
void send_to(uint32_t srqn, uint64_t wr_id, uint32_t len);
/** Both, and what comes must be right. */
void exchange(const struct receiver *to, uint64_t wr_id);

#endif /* UROCE_TEST_VERBS_RECEIVER_H */
