/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct data placement of later WRITEs: while a PSN gap is open, the payload of Middle packets of
 * WRITEs behind the one being received is written to its destination on arrival (placed).
 *
 * The reason: a buffered message occupies an mbuf for each packet. The port then receives into
 * other mbufs, which are not in the cache. In addition, each buffered packet is read a second time,
 * when it has left the cache. If the retransmission arrives behind a whole window of packets,
 * buffering is the largest cost of a loss.
 *
 * How it works: the length of the present WRITE determines at which PSN the next WRITE begins. The
 * first packet of the next WRITE, which is buffered, has the address and the length of that WRITE;
 * and so on, as long as WRITEs follow. No WRITE behind another kind of request is placed. Memory
 * that a READ or an atomic reads must not change before this request is executed. The length of a
 * SEND is not known, and a SEND may invalidate the key.
 *
 * What the application sees stays in order, because the first and the last packet of a message, and
 * so every message of one packet, are buffered. An application may use the first or the last bytes
 * of a message, or a short message, as a flag that data before it has arrived. Such a flag does not
 * become visible before the earlier data. If two WRITEs write to the same memory, the later one
 * must win. So a packet that is executed while the gap is open does not overwrite the bytes where a
 * later packet has been placed.
 */
#include "transport/recovery/ddp.h"

#include <string.h>

#include "base/copy.h"
#include "mem/mkey.h"
#include "transport/requester/position.h"
#include "transport/recovery/psn_gap.h"
#include "wire/psn.h"

/*
 * Remove the WRITEs whose first packet was executed from the list of later WRITEs, because they are
 * not behind the message being received.
 */
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

/*
 * Find the PSN behind the last message whose length is known: the last WRITE in the list of later
 * WRITEs, or, if the list is empty, the message being received.
 */
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

/*
 * Read the address and the length of a WRITE from its first packet.
 * @return false: the peer must not write to this memory, or the length does not fit the packet
 */
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

/*
 * Add the WRITE that begins at `psn` to the list of later WRITEs.
 * @return false: the list is full, or no first packet of a permitted WRITE has arrived at `psn`
 */
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

/*
 * Find the WRITE in the list of later WRITEs that `psn` belongs to.
 * @return NULL: `psn` belongs to no WRITE in the list
 */
static const struct uroce_ddp_write *
find_placed_write(const struct uroce_ddp *later, uint32_t psn)
{
	/* search the list from its end, because `psn` usually belongs to the last WRITE */
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
	/*
	 * nothing is placed if there is any mkey: the missing packets may write through the mkey,
	 * and the memory that they write to is not known
	 */
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

/*
 * Whether the packet number `nth` of a WRITE, counted from 0, was placed on arrival. The first and
 * the last packet of a WRITE are never placed.
 */
static bool
is_placed(const struct uroce_qpc *qpc, const struct uroce_ddp_write *write, uint32_t nth)
{
	const uint32_t psn = uroce_psn_add(write->psn, nth);

	return nth && nth + 1 < write->nb_psn && uroce_psn_gap_has(qpc->resp.gap, psn) &&
	       !uroce_reorder_buffer_find(qpc->reorder_buffer, qpc->resp.gap, psn);
}

/*
 * Count the bytes from `dst` on, at most `len`, that are either all taken or all free. Bytes are
 * taken if a packet of a WRITE behind `psn` was placed at them.
 * @param[out] is_taken  whether the counted bytes are taken
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
