/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_OWN_REPLY_H
#define UROCE_DATAPATH_OWN_REPLY_H

/**
 * @file
 * The replies that a worker sends without a QP, each in the mbuf of the frame that it replies to.
 * Both functions must be called by the thread that holds the worker's lock.
 */

#include "datapath/worker/worker.h"

/**
 * Reply to ARP, ND and pings for the device's own addresses.
 * @return whether the worker owns the mbuf now, because the frame had a reply; false: the caller
 *	keeps the mbuf
 */
bool uroce_own_reply_to_non_roce(struct uroce_worker *worker, struct rte_mbuf *mbuf);

/**
 * Send the response to a Get(ClassPortInfo) [IBA 13.4.8.1]. The worker owns the mbuf from then on.
 * @param pkt  the packet in the mbuf, which uroce_perf_mgt_is_get() has accepted
 */
void uroce_own_reply_class_port_info(struct uroce_worker *worker, struct rte_mbuf *mbuf,
				     const struct uroce_pkt *pkt);

#endif /* UROCE_DATAPATH_OWN_REPLY_H */
