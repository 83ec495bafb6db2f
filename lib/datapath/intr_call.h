/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_INTR_CALL_H
#define UROCE_DATAPATH_INTR_CALL_H

/**
 * @file
 * Interrupt thread calls: calls that run in EAL's interrupt thread. Drivers run their own control
 * callbacks in this thread. So a callback and a call never run at the same time.
 *
 * The memif driver needs such calls: stopping a memif port frees its rings. If the peer disconnects
 * at the same moment, the driver's disconnect callback frees the rings as well.
 */

/**
 * Run `call(arg)` in EAL's interrupt thread, and return after `call` has returned. The function
 * must not be called from the interrupt thread.
 */
void uroce_intr_call_run(void (*call)(void *arg), void *arg);

/**
 * Wait until EAL's interrupt thread has noticed all earlier registrations and unregistrations of
 * interrupt sources. The memory of a source may be freed only after that. For example,
 * rte_eal_cleanup() frees memif's listener, which is never unregistered.
 */
void uroce_intr_call_synchronize(void);

#endif /* UROCE_DATAPATH_INTR_CALL_H */
