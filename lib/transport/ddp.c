/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WRITEs behind the one that is being received, while a hole is open: the packets from their middle are
 * placed when they come.
 *
 * Why: to hold a long message takes an mbuf for each packet, which the port then fills others instead
 * of, out of the cache, and each is read once more when it is not in the cache either. Where the repair
 * stands behind a whole window that is more than all else that a loss costs.
 *
 * How it works: the present WRITE says where it ends, there the next one begins, and its first packet,
 * which is held, says where that goes and ends; and so on, as long as there are WRITEs. Everything else
 * ends the chain: what a READ or an atomic sees must not be changed before its turn, and a SEND's
 * length is not known, or it takes back the right to write.
 *
 * What must not be noticed: the first and the last packet of a message, and so each one of a single
 * packet, are held as ever. So where a flag is what a message begins or ends with, or a message of its
 * own, nobody sees it before all that was sent before it. And of two WRITEs to one place the later wins: whatever
 * is executed while a hole is open leaves out the bytes that a later packet has been placed at.
 */
#include "transport/ddp.h"

#include <string.h>

#include "mem/copy.h"
#include "mem/mkey.h"
#include "transport/position.h"
#include "transport/psn_gap.h"
#include "wire/psn.h"

/* Those whose first packet was executed are not later any more. */
static void
drop_begun_writes(struct uroce_resp *resp)
{
	struct uroce_ddp *later = &resp->gap->ddp;
	uint32_t nb = 0;

	while (nb < later->nb && uroce_psn_before(later->write[nb].psn, resp->epsn))
		nb++;
	if (!nb)
		return;
	later->nb -= nb;
	memmove(later->write, later->write + nb, later->nb * sizeof(later->write[0]));
}

/* Where the last message ends of which that is known. */
static uint32_t
find_known_end(const struct uroce_qpc *qpc)
{
	const struct uroce_resp *resp = &qpc->resp;
	const struct uroce_ddp *later = &resp->gap->ddp;

	if (later->nb) {
		const struct uroce_ddp_write *last = &later->write[later->nb - 1];

		return uroce_psn_add(last->psn, last->nb_psn);
	}
	if (resp->operation == UROCE_OPERATION_NONE)
		return resp->epsn;
	return uroce_psn_add(resp->epsn, uroce_msg_packets(qpc, resp->write_len - resp->msg_len));
}

/* What a first packet says of its WRITE. @return false: not what the peer may do */
static bool
read_first_packet(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
		  struct uroce_ddp_write *out)
{
	const struct uroce_reth *reth = uroce_pkt_reth(pkt);
	struct uroce_ddp_write write = {
		.va = be64_get(reth->va),
		.rkey = be32_get(reth->rkey),
		.len = be32_get(reth->dma_len),
		.psn = pkt->psn,
	};
	const bool is_only = pkt->op->flags & UROCE_OPF_LAST;

	if (is_only ? write.len != pkt->payload_len : write.len <= 1u << qpc->mtu_shift)
		return false;
	if (write.len) {
		write.base = uroce_rkey_resolve(qpc->mrs, write.rkey, qpc->pdn, qpc->qpn, write.va,
						write.len, IBV_ACCESS_REMOTE_WRITE);
		if (!write.base)
			return false;
	}
	write.nb_psn = uroce_msg_packets(qpc, write.len);
	*out = write;
	return true;
}

/* The next WRITE, if its first packet is here. */
static bool
learn_next_write(struct uroce_qpc *qpc, uint32_t psn)
{
	struct uroce_psn_gap *gap = qpc->resp.gap;
	struct uroce_ddp *later = &gap->ddp;

	if (later->nb == UROCE_DDP_WRITES_MAX || !uroce_psn_gap_has(gap, psn))
		return false;
	const struct uroce_pkt *pkt = uroce_reorder_buffer_find(qpc->reorder_buffer, gap, psn);

	if (!pkt || pkt->op->operation != UROCE_OPERATION_WRITE ||
	    !(pkt->op->flags & UROCE_OPF_FIRST) ||
	    !read_first_packet(qpc, pkt, &later->write[later->nb]))
		return false;
	later->nb++;
	return true;
}

/* The WRITE that `psn` belongs to; NULL: none that is known. */
static const struct uroce_ddp_write *
find_placed_write(const struct uroce_ddp *later, uint32_t psn)
{
	/* mostly it is the last one */
	for (uint32_t i = later->nb; i-- > 0;) {
		if (uroce_psn_in(psn, later->write[i].psn, later->write[i].nb_psn))
			return &later->write[i];
	}
	return NULL;
}

void *
uroce_ddp_place(struct uroce_qpc *qpc, uint32_t psn)
{
	struct uroce_resp *resp = &qpc->resp;
	const uint32_t mtu = 1u << qpc->mtu_shift;

	if (resp->operation == UROCE_OPERATION_SEND || !(qpc->access & IBV_ACCESS_REMOTE_WRITE))
		return NULL;
	/* what is missing may go through an mkey, and where that leads is not known */
	if (uroce_mkey_any(qpc->mrs))
		return NULL;
	drop_begun_writes(resp);
	for (uint32_t end = find_known_end(qpc);
	     uroce_psn_before(end, psn) && learn_next_write(qpc, end);)
		end = find_known_end(qpc);
	const struct uroce_ddp_write *write = find_placed_write(&resp->gap->ddp, psn);

	if (!write)
		return NULL;
	const uint32_t nth = uroce_psn_dist(write->psn, psn);

	if (!nth || nth + 1 == write->nb_psn)
		return NULL;
	return uroce_rkey_resolve(qpc->mrs, write->rkey, qpc->pdn, qpc->qpn,
				  write->va + ((uint64_t)nth << qpc->mtu_shift), mtu,
				  IBV_ACCESS_REMOTE_WRITE);
}

/* Whether packet `nth` of a WRITE was placed when it came; its first and its last never are. */
static bool
is_placed(const struct uroce_qpc *qpc, const struct uroce_ddp_write *write, uint32_t nth)
{
	const uint32_t psn = uroce_psn_add(write->psn, nth);

	return nth && nth + 1 < write->nb_psn && uroce_psn_gap_has(qpc->resp.gap, psn) &&
	       !uroce_reorder_buffer_find(qpc->reorder_buffer, qpc->resp.gap, psn);
}

/*
 * From `dst` on, how many bytes of at most `len` share one answer.
 * @param[out] is_taken  that: whether a packet of a WRITE behind `psn` was placed there
 */
static uint32_t
count_uniform_bytes(const struct uroce_qpc *qpc, uint32_t psn, const uint8_t *dst, uint32_t len,
		    bool *is_taken)
{
	const struct uroce_ddp *later = &qpc->resp.gap->ddp;

	*is_taken = false;
	for (uint32_t i = 0; i < later->nb && !*is_taken; i++) {
		const struct uroce_ddp_write *write = &later->write[i];
		const int64_t off = (int64_t)((uintptr_t)dst - (uintptr_t)write->base);

		if (!uroce_psn_before(psn, write->psn) || off >= (int64_t)write->len)
			continue;
		if (off < 0) {
			len = -off < (int64_t)len ? (uint32_t)-off : len;
			continue;
		}
		const uint32_t nth = (uint32_t)(off >> qpc->mtu_shift);
		const uint32_t left = (uint32_t)(((int64_t)(nth + 1) << qpc->mtu_shift) - off);

		*is_taken = is_placed(qpc, write, nth);
		len = left < len ? left : len;
	}
	return len;
}

void
uroce_ddp_copy_around(struct uroce_qpc *qpc, uint32_t psn, void *dst, const void *src, uint32_t len)
{
	drop_begun_writes(&qpc->resp);
	for (uint32_t at = 0, nb; at < len; at += nb) {
		bool is_taken;

		nb = count_uniform_bytes(qpc, psn, (uint8_t *)dst + at, len - at, &is_taken);
		if (!is_taken)
			uroce_copy((uint8_t *)dst + at, (const uint8_t *)src + at, nb);
	}
}
