/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Counters of a device: sums over its workers, and counters that are derived from other counters.
 */

#include "datapath/device/stats.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <rte_common.h>

#include "datapath/port/port.h"

void
uroce_stats_read_verdicts(const struct uroce_dev *dev, uint64_t nb[UROCE_VERDICT_NB])
{
	for (unsigned v = 0; v < UROCE_VERDICT_NB; v++) {
		nb[v] = 0;
		for (unsigned i = 0; i < dev->nb_workers; i++)
			nb[v] += uroce_counted(&uroce_worker_stats(dev->worker[i])->verdict[v]);
	}
}

static uint64_t
sum_verdicts(const uint64_t verdicts[UROCE_VERDICT_NB], enum uroce_verdict from,
	     enum uroce_verdict to)
{
	uint64_t nb = 0;

	for (unsigned v = from; v <= to; v++)
		nb += verdicts[v];
	return nb;
}

/* Compute those counters of a device that are derived from other counters. */
static void
derive_counters(const struct uroce_dev *dev, uint64_t *nb)
{
	uint64_t verdicts[UROCE_VERDICT_NB];

	uroce_stats_read_verdicts(dev, verdicts);
	nb[UROCE_COUNTER_PORT_XMIT_DATA] /= 4;
	nb[UROCE_COUNTER_PORT_RCV_DATA] /= 4;
	nb[UROCE_COUNTER_UNICAST_XMIT_PACKETS] =
		nb[UROCE_COUNTER_PORT_XMIT_PACKETS] - nb[UROCE_COUNTER_MULTICAST_XMIT_PACKETS];
	nb[UROCE_COUNTER_UNICAST_RCV_PACKETS] =
		nb[UROCE_COUNTER_PORT_RCV_PACKETS] - nb[UROCE_COUNTER_MULTICAST_RCV_PACKETS];
	nb[UROCE_COUNTER_PORT_RCV_ERRORS] =
		sum_verdicts(verdicts, UROCE_VERDICT_BAD_UDP_LEN, UROCE_VERDICT_BAD_ICRC);
	nb[UROCE_COUNTER_RX_ICRC_ENCAPSULATED] = verdicts[UROCE_VERDICT_BAD_ICRC];
	nb[UROCE_COUNTER_SENT_PKTS] =
		nb[UROCE_COUNTER_PORT_XMIT_PACKETS] + nb[UROCE_COUNTER_LOOPBACK_PKTS];
	/* Received packets are those that passed parsing, verification and the lookup of the QP. */
	nb[UROCE_COUNTER_RCVD_PKTS] =
		sum_verdicts(verdicts, UROCE_VERDICT_REQUEST, UROCE_VERDICT_DATAGRAM) +
		sum_verdicts(verdicts, UROCE_VERDICT_DUPLICATE, UROCE_VERDICT_CNP);
	nb[UROCE_COUNTER_RCVD_SEQ_ERR] = nb[UROCE_COUNTER_PACKET_SEQ_ERR];
	nb[UROCE_COUNTER_LINK_DOWNED] =
		atomic_load_explicit(&dev->port->nb_downs, memory_order_relaxed);
}

/*
 * Read the counters from the last to the first. Some counters count a part of what another counter
 * counts, and follow that counter in enum uroce_counter. So a part is read before the whole, and
 * never exceeds it.
 */
void
uroce_stats_read(const struct uroce_dev *dev, struct uroce_counters *counters)
{
	for (unsigned c = UROCE_COUNTER_NB; c-- > 0;) {
		counters->nb[c] = 0;
		for (unsigned i = 0; i < dev->nb_workers; i++)
			counters->nb[c] += uroce_worker_counted(dev->worker[i], c);
	}
	derive_counters(dev, counters->nb);
}

#define NO_COUNTER UROCE_COUNTER_NB

/* Offset and size of a field of struct uroce_qpc_stats, as two values of a row of qp_counters. */
#define AT(field)                                                                                  \
	offsetof(struct uroce_qpc_stats, field), sizeof(((struct uroce_qpc_stats *)0)->field)

static const struct {
	/*
	 * The counter of the device (enum uroce_counter) that has the name of this QP counter;
	 * NO_COUNTER: the device has no counter with this name.
	 */
	uint8_t counter;
	uint8_t offset;
	uint8_t size;
	/* name and text of the counter if `counter` is NO_COUNTER; otherwise unused */
	const char *name, *text;
} qp_counters[] = {
	{ UROCE_COUNTER_SENT_PKTS, AT(tx_packets) },
	{ NO_COUNTER, AT(tx_bytes), "sent_bytes", "octets of payload sent" },
	{ UROCE_COUNTER_RCVD_PKTS, AT(rx_packets) },
	{ NO_COUNTER, AT(rx_bytes), "rcvd_bytes", "octets of payload placed" },
	{ UROCE_COUNTER_DUPLICATE_REQUEST, AT(duplicates) },
	{ UROCE_COUNTER_OUT_OF_SEQUENCE, AT(ooo_requests) },
	{ UROCE_COUNTER_OUT_OF_SEQ_REQUEST, AT(naks_seq_sent) },
	{ UROCE_COUNTER_SEND_RNR_ERR, AT(naks_rnr_sent) },
	{ UROCE_COUNTER_RETRANSMITTED_PKTS, AT(retransmits) },
	{ UROCE_COUNTER_PACKET_SEQ_ERR, AT(naks_seq) },
	{ UROCE_COUNTER_IMPLIED_NAK_SEQ_ERR, AT(implied_naks) },
	{ UROCE_COUNTER_RCVD_RNR_ERR, AT(naks_rnr) },
	{ UROCE_COUNTER_ACK_TIMEOUTS, AT(timeouts) },
	{ UROCE_COUNTER_NP_ECN_MARKED_ROCE_PACKETS, AT(ce_marked) },
	{ UROCE_COUNTER_NP_CNP_SENT, AT(cnps_sent) },
	{ UROCE_COUNTER_RP_CNP_HANDLED, AT(cnps_handled) },
};
static_assert(RTE_DIM(qp_counters) == UROCE_STATS_QP_NB, "UROCE_STATS_QP_NB is the number of rows");

void
uroce_stats_read_qp(const struct uroce_qpc *qpc, struct uroce_stats_row rows[UROCE_STATS_QP_NB])
{
	for (unsigned i = 0; i < UROCE_STATS_QP_NB; i++) {
		const uint8_t *at = (const uint8_t *)&qpc->stats + qp_counters[i].offset;
		const bool is_own = qp_counters[i].counter == NO_COUNTER;
		uint32_t narrow;

		rows[i].is_qps_alone = is_own;
		rows[i].name =
			is_own ? qp_counters[i].name : uroce_counter_name(qp_counters[i].counter);
		rows[i].text =
			is_own ? qp_counters[i].text : uroce_counter_text(qp_counters[i].counter);
		if (qp_counters[i].size == sizeof(narrow)) {
			memcpy(&narrow, at, sizeof(narrow));
			rows[i].nb = narrow;
		} else {
			memcpy(&rows[i].nb, at, sizeof(rows[i].nb));
		}
	}
}
