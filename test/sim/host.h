/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_HOST_H
#define TEST_SIM_HOST_H

/**
 * @file
 * A host: a model of a worker that drives QPs, and of the applications of those QPs.
 *
 * In a round the host receives, expires timers, lets the applications post, and sends, like a
 * worker of the data path. A round is due when a frame arrives, a timer expires or a request was
 * posted, but not sooner than the speed of the host allows.
 */

#include "qp.h"
#include "world.h"

/** Schedule a round at `at_ns`, or at the first later time at which the host is able to run one. */
void host_wake(struct world *world, struct host *host, uint64_t at_ns);

/** Handle EVENT_ROUND: execute a round. */
void host_round(struct world *world, struct host *host);

/** Handle EVENT_HOST: put the frame into the host's receive queue, or free the frame. */
void host_receive(struct world *world, struct host *host, struct frame *frame);

/**
 * Find the QP of a frame and deliver the frame now.
 * @return the verdict
 */
enum uroce_verdict host_deliver(struct world *world, struct host *host, struct frame *frame);

/**
 * Deliver a frame to a QP of the host.
 * @return the verdict
 */
enum uroce_verdict host_hand_over(struct world *world, struct qp *qp, struct uroce_pkt *pkt);

/** Give the host a reorder buffer with room for `nb_gaps` PSN gaps and `nb_frames` frames. */
void host_add_hold(struct world *world, struct host *host, uint32_t nb_gaps, uint32_t nb_frames);

/** Let the host crash: its QPs no longer exist, and it receives nothing. */
void host_die(struct world *world, struct host *host);

/** Restart a host that has crashed. The host has no QPs. */
void host_return(struct world *world, struct host *host);

/** Add a QP to a host, which assigns the QPN. Remove a QP from its host. */
void host_add_qp(struct host *host, struct qp *qp);
void host_remove_qp(struct host *host, struct qp *qp);

#endif /* TEST_SIM_HOST_H */
