/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_INTR_CALL_H
#define UROCE_DATAPATH_INTR_CALL_H

/**
 * @file
 * Errands: calls made in EAL's interrupt thread, where drivers run their own control callbacks, so
 * that the two cannot meet.
 *
 * memif needs it. Its stop frees the rings; so does its own disconnect, in that thread, when the peer
 * goes at the same moment.
 */

/** Run `call(arg)` in the interrupt thread. Returns when it has run. Not from that thread. */
void uroce_intr_call_run(void (*call)(void *arg), void *arg);

/**
 * Wait until the interrupt thread has taken notice of every source that was registered with it, or
 * taken back, before. Who frees such a source (as rte_eal_cleanup() does with memif's listener, which
 * is never taken back) had better not do so while the thread is about to look at it.
 */
void uroce_intr_call_synchronize(void);

#endif /* UROCE_DATAPATH_INTR_CALL_H */
