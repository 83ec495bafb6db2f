/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_HOST_H
#define TEST_SIM_HOST_H

/**
 * @file
 * A host: what a worker does for its QPs, and what an application does with them.
 *
 * A round receives, lets timers expire, lets the application post, and sends; as the worker of the
 * data path does, in that order. Rounds come when a frame arrives, a timer is due or something was
 * posted, and not faster than the host is.
 */

#include "qp.h"
#include "world.h"

/** A round is to be made at `at_ns`, or as soon after as the host can. */
void host_wake(struct world *world, struct host *host, uint64_t at_ns);

/** EVENT_ROUND. */
void host_round(struct world *world, struct host *host);

/** EVENT_HOST: takes the frame. */
void host_receive(struct world *world, struct host *host, struct frame *frame);

/** Look the frame up and hand it over now. @return the verdict */
enum uroce_verdict host_deliver(struct world *world, struct host *host, struct frame *frame);

/** Hand a frame to a QP of its. @return the verdict */
enum uroce_verdict host_hand_over(struct world *world, struct qp *qp, struct uroce_pkt *pkt);

/** Give it a pool for what arrives ahead of holes. */
void host_add_hold(struct world *world, struct host *host, uint32_t nb_gaps, uint32_t nb_frames);

/** All QPs are gone, nothing is received. */
void host_die(struct world *world, struct host *host);

/** Alive again, without a QP. */
void host_return(struct world *world, struct host *host);

/** It gets a QPN. */
void host_add_qp(struct host *host, struct qp *qp);
void host_remove_qp(struct host *host, struct qp *qp);

#endif /* TEST_SIM_HOST_H */
