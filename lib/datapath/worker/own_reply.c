/* SPDX-License-Identifier: BSD-3-Clause */

#include "datapath/worker/own_reply.h"

#include <rte_mbuf.h>

#include "datapath/net/neigh.h"
#include "datapath/net/perf_mgt.h"
#include "datapath/worker/round.h"

bool
uroce_own_reply_to_non_roce(struct uroce_worker *worker, struct rte_mbuf *mbuf)
{
	uint32_t len = mbuf->data_len;

	if (!worker->dev->neigh || mbuf->nb_segs != 1)
		return false;
	if (uroce_neigh_input(worker->dev->neigh, rte_pktmbuf_mtod(mbuf, uint8_t *), &len,
			      len + rte_pktmbuf_tailroom(mbuf),
			      worker->now_ns) != UROCE_NEIGH_REPLY)
		return false;
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = len;
	mbuf->ol_flags = 0;
	uroce_tx_push(worker, mbuf);
	return true;
}

void
uroce_own_reply_class_port_info(struct uroce_worker *worker, struct rte_mbuf *mbuf,
				const struct uroce_pkt *pkt)
{
	uroce_count(&worker->stats.verdict[UROCE_VERDICT_DATAGRAM], 1);
	uroce_perf_mgt_reply(pkt);
	mbuf->ol_flags = 0;
	uroce_tx_push(worker, mbuf);
}
