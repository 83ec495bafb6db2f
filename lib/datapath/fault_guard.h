/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_FAULT_GUARD_H
#define UROCE_DATAPATH_FAULT_GUARD_H

/**
 * @file
 * Bursts on a port whose rings are the memory of another process.
 *
 * When that process ends, EAL's interrupt thread unmaps the rings at once, also while a burst of
 * ours works on them; and a peer may shrink the file behind its memory whenever it likes. Either
 * way the burst faults, and a fault ends the process. So on such ports a burst runs under a guard:
 * the fault ends the burst, as if nothing had been received, or sent. Mbufs that the driver held at
 * that moment are lost to their pool: at most a burst for each lost peer.
 *
 * The handler acts on faults of threads inside a guarded burst alone, and passes every other on to
 * the handler that was there before.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <rte_mbuf.h>

/** Install the handler, once. @return 0 or -errno */
int uroce_fault_guard_install(void);

/** rte_eth_rx_burst(). @return 0 after a fault */
uint16_t uroce_fault_guard_rx(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames,
			      uint16_t nb);

/** rte_eth_tx_burst(). @return UINT16_MAX after a fault: the frames are gone */
uint16_t uroce_fault_guard_tx(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames,
			      uint16_t nb);

/**
 * Exchange what is in memory that a peer may take away.
 * @param[out] was  what was there; NULL: no matter
 * @return false after a fault
 */
bool uroce_fault_guard_swap(_Atomic uint16_t *at, uint16_t value, uint16_t *was);

/** Read from it: whether it is this. @return false after a fault */
bool uroce_fault_guard_is(const uint32_t *at, uint32_t value);

#endif /* UROCE_DATAPATH_FAULT_GUARD_H */
