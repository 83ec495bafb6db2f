/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_EVENT_H
#define UROCE_VERBS_EVENT_H

/**
 * @file
 * Asynchronous events, from the one event queue of a device to the contexts that have the device
 * open.
 */

#include "verbs/object.h"

/**
 * Open the event descriptor of a new context, with an empty list of events, and add the context to
 * its device. The context gets the events that happen from now on.
 * @return 0, or -errno of eventfd(2), epoll_create1(2) or epoll_ctl(2)
 */
int uroce_vevent_open(struct uroce_vcontext *context);

/**
 * In a child of fork() that inherited an announced device: replace the event descriptors of the
 * device's contexts by descriptors of the child's own. The program may have stored the numbers of
 * the descriptors, so the numbers stay.
 */
void uroce_vevent_renew(struct uroce_vdevice *device);

/**
 * Remove a context from its device, close the context's event descriptors, and free the events that
 * the program has not taken.
 */
void uroce_vevent_close(struct uroce_vcontext *context);

/**
 * Remove the pending events of an object that is about to be freed. Then wait until the program
 * has acknowledged the events that it took. The caller must make sure that the object raises no
 * further events.
 */
void uroce_vevent_forget_cq(struct uroce_vcq *cq);
void uroce_vevent_forget_qp(struct uroce_vqp *qp);
void uroce_vevent_forget_srq(struct uroce_vsrq *srq);

#endif /* UROCE_VERBS_EVENT_H */
