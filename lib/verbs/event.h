/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_EVENT_H
#define UROCE_VERBS_EVENT_H

/**
 * @file
 * Asynchronous events, from the device's one queue to the contexts that have it open.
 */

#include "verbs/object.h"

/**
 * Give a new context its descriptor and its empty list, and put it on the device's list of contexts:
 * it gets what happens from now on.
 * @return 0, or -errno of eventfd(2) and epoll_create1(2)
 */
int uroce_vevent_open(struct uroce_vcontext *context);

/**
 * In a child of fork() that inherited an announced device: its contexts have descriptors of the child's own from now on,
 * under the numbers that the program knows.
 */
void uroce_vevent_renew(struct uroce_vdevice *device);

/** Take it off that list, close the descriptors, forget what was not taken. */
void uroce_vevent_close(struct uroce_vcontext *context);

/**
 * Forget the events of an object that is about to be freed, and wait until those that the program
 * took are acknowledged. Nothing raises events for it any more.
 */
void uroce_vevent_forget_cq(struct uroce_vcq *cq);
void uroce_vevent_forget_qp(struct uroce_vqp *qp);
void uroce_vevent_forget_srq(struct uroce_vsrq *srq);

#endif /* UROCE_VERBS_EVENT_H */
