/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_FAULT_GUARD_H
#define UROCE_DATAPATH_FAULT_GUARD_H

/**
 * @file
 * Fault guard: protects bursts on a port whose rings are memory of another process.
 *
 * When that process ends, EAL's interrupt thread unmaps the rings at once, even while a burst of
 * this process uses them. A peer may also shrink the file behind its memory at any time. In both
 * cases the burst raises SIGSEGV or SIGBUS (a fault), which would end the process. So bursts on
 * such ports run under a guard. A fault ends the burst as if nothing had been received or sent.
 * Mbufs that the driver held at that moment are lost to their pool: at most a burst for each lost
 * peer.
 *
 * The signal handler acts only on faults of threads inside a guarded burst. It passes all other
 * faults to the handler that was installed before.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <rte_mbuf.h>

/**
 * Install the signal handler of the fault guard, once for the process.
 * @return 0 or -errno
 */
int uroce_fault_guard_install(void);

/**
 * Call rte_eth_rx_burst() under the fault guard.
 * @return number of frames; 0 after a fault
 */
uint16_t uroce_fault_guard_rx(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames,
			      uint16_t nb);

/**
 * Call rte_eth_tx_burst() under the fault guard.
 * @return number of frames that the port accepted; UINT16_MAX after a fault: the frames are lost
 */
uint16_t uroce_fault_guard_tx(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames,
			      uint16_t nb);

/**
 * Exchange a word atomically in memory that a peer process may remove, under the fault guard.
 * @param[out] was  the previous value of the word; may be NULL
 * @return false after a fault
 */
bool uroce_fault_guard_swap(_Atomic uint16_t *at, uint16_t value, uint16_t *was);

/**
 * Compare a word in memory that a peer process may remove with a value, under the fault guard.
 * @return whether the word has this value; false after a fault
 */
bool uroce_fault_guard_is(const uint32_t *at, uint32_t value);

#endif /* UROCE_DATAPATH_FAULT_GUARD_H */
