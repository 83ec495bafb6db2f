/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PSN conflicts: two different packets with the same PSN. A packet that arrived out of order is
 * trusted less than one in order. If two packets of one PSN differ, at most one is the peer's, and
 * the responder cannot find out which one. So the packet that was kept is discarded, the PSN is
 * requested again, and the packet with this PSN that then arrives in order is executed. If the kept
 * packet was already executed, the conflict is only counted.
 */
#include "transport/recovery/psn_conflict.h"

#include <string.h>

#include "base/crc32.h"
#include "transport/recovery/ooo_request_state.h"
#include "transport/recovery/psn_gap.h"
#include "wire/psn.h"

static void
count_conflict(struct uroce_qpc *qpc)
{
	uroce_count_in(qpc->counters, UROCE_COUNTER_RX_PSN_CONFLICT, 1);
	qpc->events |= UROCE_QPC_PSN_CONFLICT;
}

/*
 * Whether a retransmission of a request is always identical to the request. A retransmission of a
 * READ may differ, because it may request only a part of the data.
 */
static bool
is_retransmit_identical(const struct uroce_pkt *pkt)
{
	return pkt->op->operation != UROCE_OPERATION_READ;
}

/* Whether two requests with the same PSN are equal, apart from what a retransmission may change. */
static bool
is_same_request(const struct uroce_pkt *a, const struct uroce_pkt *b)
{
	if (a->opcode != b->opcode)
		return false;
	return !is_retransmit_identical(a) ||
	       (a->payload_len == b->payload_len && !memcmp(a->ext, b->ext, a->op->ext_len) &&
		!memcmp(a->payload, b->payload, a->payload_len));
}

/* Hash the opcode, the extension headers and the payload of a request to 32 bits. */
static uint32_t
hash_request(const struct uroce_pkt *pkt)
{
	const uint32_t sum = uroce_crc32(pkt->opcode, pkt->ext, pkt->op->ext_len);

	return uroce_crc32(sum, pkt->payload, pkt->payload_len);
}

/*
 * Whether a packet that arrived out of order differs from the kept packet with the same PSN. A
 * packet that was placed in memory can be compared only if it opened the gap, because then its hash
 * is known. The memory itself cannot be compared, because its owner may have changed it in the
 * meantime.
 */
static bool
is_psn_conflict(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	const struct uroce_pkt *held =
		uroce_reorder_buffer_find(qpc->reorder_buffer, qpc->resp.gap, pkt->psn);

	if (held)
		return !is_same_request(held, pkt);
	if (pkt->op->operation != UROCE_OPERATION_WRITE ||
	    (pkt->op->flags & (UROCE_OPF_FIRST | UROCE_OPF_LAST)))
		return true;
	return pkt->psn == qpc->ooo_first_psn && qpc->ooo_first_sum != hash_request(pkt);
}

void
uroce_psn_conflict_discard(struct uroce_qpc *qpc, uint32_t psn)
{
	struct uroce_psn_gap *gap = qpc->resp.gap;
	const struct uroce_pkt *held = uroce_reorder_buffer_find(qpc->reorder_buffer, gap, psn);
	const bool is_base = held && gap->ddp.nb && held->op->flags & UROCE_OPF_FIRST;

	uroce_reorder_buffer_drop(qpc->reorder_buffer, gap, psn);
	if (is_base || !gap->nb)
		uroce_ooo_request_discard(qpc);
}

enum uroce_verdict
uroce_psn_conflict_check(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	if (!is_psn_conflict(qpc, pkt))
		return UROCE_VERDICT_DUPLICATE;
	count_conflict(qpc);
	uroce_psn_conflict_discard(qpc, pkt->psn);
	return UROCE_VERDICT_PSN_GAP;
}

void
uroce_psn_conflict_remember(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	if (!is_retransmit_identical(pkt))
		return;
	qpc->ooo_first_psn = pkt->psn;
	qpc->ooo_first_sum = hash_request(pkt);
}

void
uroce_psn_conflict_compare(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	/*
	 * a duplicate that is far behind the expected PSN (epsn) is not compared: PSNs wrap around,
	 * so the duplicate may be another packet with the PSN of the packet whose hash is known
	 */
	const bool is_of_then = uroce_psn_dist(pkt->psn, qpc->resp.epsn) < UROCE_PSN_GAP_SPAN;

	if (is_of_then && qpc->ooo_first_sum == hash_request(pkt))
		return;
	if (is_of_then)
		count_conflict(qpc);
	qpc->ooo_first_psn = UROCE_OOO_PSN_NONE;
}
