/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Alerts: log lines about suspected attacks. The table `rows` describes each kind of attack. The
 * frames of each kind are counted over a second, and at most one line is logged for each kind in a
 * second.
 */

#include "datapath/worker/alert.h"

#include <rte_common.h>

#include "datapath/log.h"
#include "datapath/net/address_text.h"

#define SECOND_NS UINT64_C(1000000000)

static const struct {
	/* Event of the QP that reports this kind of attack: one bit of enum uroce_qpc_event. */
	uint32_t event;
	enum uroce_counter counter;
	/*
	 * Minimum number of frames of an attack in a second that cause an alert; fewer such frames
	 * may arrive by chance.
	 */
	uint32_t least;
	const char *text;
} rows[] = {
	[UROCE_ALERT_CNP] = { UROCE_QPC_CNP_IMPLAUSIBLE, UROCE_COUNTER_RP_CNP_IMPLAUSIBLE, 8,
			      "CNPs that a correct notification point does not send: they are "
			      "forged, or its interval is below cc_reduce_us" },
	[UROCE_ALERT_KEYS] = { UROCE_QPC_KEYS_GUESSED, UROCE_COUNTER_RX_WRITE_UNREAD, 1,
			       "WRITEs with invalid keys: an attacker may be guessing keys" },
	[UROCE_ALERT_CONFLICT] = { UROCE_QPC_PSN_CONFLICT, UROCE_COUNTER_RX_PSN_CONFLICT, 1,
				   "two different requests with one PSN, or a buffered request "
				   "that is invalid at its turn: one is forged, or the peer's "
				   "program changed memory while it was sent" },
	[UROCE_ALERT_RNR] = { UROCE_QPC_RNR_FALSE, UROCE_COUNTER_RCVD_RNR_FALSE, 16,
			      "RNR NAKs for requests that the peer has executed: they are "
			      "forged, or the network duplicates frames" },
};
static_assert(RTE_DIM(rows) == UROCE_ALERT_NB, "a row for each kind");

static void
log_alert(enum uroce_alert kind, const struct uroce_qpc *qpc, uint64_t nb)
{
	char text[INET6_ADDRSTRLEN];

	UROCE_LOG(WARNING, qp, "qp 0x%x, peer %s: %s (%lu within a second)", qpc->qpn,
		  uroce_address_text_of_peer(&qpc->path, text), rows[kind].text, (unsigned long)nb);
}

static void
raise_alert(struct uroce_alert_second *second, enum uroce_alert kind, const struct uroce_qpc *qpc,
	    uint64_t counted, uint64_t now_ns)
{
	if (!second->begin_ns || now_ns - second->begin_ns >= SECOND_NS) {
		second->begin_ns = now_ns;
		second->base = second->seen;
		second->is_logged = false;
	}
	second->seen = counted;
	const uint64_t nb = counted - second->base;

	if (second->is_logged || nb < rows[kind].least)
		return;
	second->is_logged = true;
	log_alert(kind, qpc, nb);
}

void
uroce_alert_raise(struct uroce_alerts *alerts, const struct uroce_qpc *qpc, uint32_t events,
		  const struct uroce_counters *counters, uint64_t now_ns)
{
	for (unsigned kind = 0; kind < UROCE_ALERT_NB; kind++) {
		if (events & rows[kind].event)
			raise_alert(&alerts->kind[kind], kind, qpc,
				    counters->nb[rows[kind].counter], now_ns);
	}
}
