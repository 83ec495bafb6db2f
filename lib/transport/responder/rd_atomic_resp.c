/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fast path of the responder for READs of one packet and for atomics. Such requests often arrive in
 * bursts, and are executed in bursts (see single_packet.c). Each request uses the next resource
 * (record of a READ or atomic). Responses are also sent in bursts: resources are a ring in PSN
 * order, so the next response is mostly in the next slot and reads the same region. A burst ends
 * before a request or response that is of another kind or has to be refused; resp.c processes this
 * request or response.
 */
#include "transport/responder/rd_atomic_resp.h"

#include "transport/fast_path.h"
#include "transport/txd.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

/*
 * Execute an atomic by an atomic instruction of the CPU. So threads and processes that use atomic
 * instructions on the memory see one indivisible operation [IBA 9.4.5].
 */
uint64_t
uroce_rd_atomic_execute(uint64_t *at, const struct uroce_atomiceth *eth, bool is_swap)
{
	const uint64_t swap_add = be64_get(eth->swap_add);
	uint64_t compare = be64_get(eth->compare);

	if (!is_swap)
		return __atomic_fetch_add(at, swap_add, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(at, &compare, swap_add, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return compare;
}

/*
 * Prepare the resource (record of a READ or atomic) for a READ of one packet.
 * @return false: the READ is longer or empty, or access is refused
 */
static inline bool
recv_single_read(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
		 struct uroce_mr_view *view, struct uroce_rd_res *res)
{
	const struct uroce_reth *reth = uroce_pkt_reth(pkt);
	const uint64_t va = be64_get(reth->va);
	const uint32_t rkey = be32_get(reth->rkey), len = be32_get(reth->dma_len);

	if (!len || len > 1u << qpc->mtu_shift)
		return false;
	const void *src = uroce_mr_view_resolve(view, qpc->mrs, rkey, qpc->pdn, va, len,
						IBV_ACCESS_REMOTE_READ);

	if (!src)
		return false;
	__builtin_prefetch(src);
	*res = (struct uroce_rd_res){ .va = va, .rkey = rkey, .pdn = qpc->pdn, .len = len };
	return true;
}

/*
 * Execute the atomic in a packet, and prepare its resource (record of a READ or atomic).
 * @return false: access is refused, or the address is not aligned
 */
static inline bool
recv_atomic(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt, struct uroce_mr_view *view,
	    struct uroce_rd_res *res)
{
	const struct uroce_atomiceth *eth = uroce_pkt_atomiceth(pkt);
	const uint64_t va = be64_get(eth->va);
	uint64_t *at = uroce_mr_view_resolve(view, qpc->mrs, be32_get(eth->rkey), qpc->pdn, va,
					     sizeof(*at), IBV_ACCESS_REMOTE_ATOMIC);

	if (!at || va % sizeof(*at) || (uintptr_t)at % sizeof(*at))
		return false;
	const bool is_swap = (pkt->opcode & 0x1f) == UROCE_OP_CMP_SWAP;

	*res = (struct uroce_rd_res){ .orig = uroce_rd_atomic_execute(at, eth, is_swap) };
	res->is_atomic = true;
	return true;
}

/*
 * Get the number of further READs and atomics that max_dest_rd_atomic allows. The caller has to
 * check for each that its slot in the ring of resources is not in use.
 */
static uint32_t
count_resource_room(const struct uroce_qpc *qpc)
{
	const uint32_t nb = (uint32_t)__builtin_popcount(qpc->resp.pending);

	return nb < qpc->attr.max_dest_rd_atomic ? qpc->attr.max_dest_rd_atomic - nb : 0;
}

unsigned
uroce_rd_atomic_recv_requests(struct uroce_qpc *qpc, const struct uroce_pkt *tmpl,
			      const struct uroce_pkt *pkts, unsigned nb)
{
	struct uroce_resp *resp = &qpc->resp;
	const bool is_read = tmpl->op->operation == UROCE_OPERATION_READ;
	const uint32_t nb_free = count_resource_room(qpc);
	struct uroce_mr_view view = { 0 };
	unsigned n;

	for (n = 0; n < nb && n < nb_free; n++) {
		const struct uroce_pkt *pkt = &pkts[n];
		const uint32_t slot = resp->res_head % UROCE_RD_ATOMIC_MAX;
		struct uroce_rd_res *res = &resp->res[slot];

		if (pkt->psn != resp->epsn || resp->pending & 1u << slot ||
		    !uroce_fast_path_matches(pkt, tmpl))
			break;
		if (!(is_read ? recv_single_read(qpc, pkt, &view, res)
			      : recv_atomic(qpc, pkt, &view, res)))
			break;
		uroce_rd_atomic_begin(resp, res, 1);
	}
	qpc->stats.rx_packets += n;
	uroce_count_in(qpc->counters,
		       is_read ? UROCE_COUNTER_RX_READ_REQUESTS : UROCE_COUNTER_RX_ATOMIC_REQUESTS,
		       n);
	return n;
}

/*
 * Whether a resource (record of a READ or atomic) has a single response packet, and this packet has
 * not been sent yet.
 */
static inline bool
is_single_response(const struct uroce_rd_res *res, uint32_t mtu)
{
	return res->end == 1 && !res->sent && !res->is_begun && res->len <= mtu;
}

void
uroce_rd_atomic_put_ack(struct uroce_qpc *qpc, const struct uroce_rd_res *res,
			struct uroce_txd *txd)
{
	uint8_t *ext = uroce_txd_begin(txd, qpc, (uint8_t)(qpc->service << 5 | UROCE_OP_ATOMIC_ACK),
				       res->psn, 0);
	struct uroce_atomicacketh *eth =
		(struct uroce_atomicacketh *)(ext + sizeof(struct uroce_aeth));

	uroce_aeth_put((struct uroce_aeth *)ext, UROCE_SYNDROME_ACK, res->msn);
	eth->orig = be64_make(res->orig);
}

/*
 * Build a READ response of one packet.
 * @return false: the response is empty, access is refused, or the key is not that of a region
 */
static inline bool
put_single_read_response(struct uroce_qpc *qpc, const struct uroce_rd_res *res,
			 struct uroce_mr_view *view, struct uroce_txd *txd)
{
	if (!res->len || res->pdn != qpc->pdn)
		return false;
	const void *src = uroce_mr_view_resolve(view, qpc->mrs, res->rkey, qpc->pdn, res->va,
						res->len, IBV_ACCESS_REMOTE_READ);

	if (!src)
		return false;
	uint8_t *ext = uroce_txd_begin(txd, qpc,
				       (uint8_t)(qpc->service << 5 | UROCE_OP_READ_RESPONSE_ONLY),
				       res->psn, res->len);

	uroce_aeth_put((struct uroce_aeth *)ext, UROCE_SYNDROME_ACK, res->msn);
	txd->slice[0] = (struct uroce_slice){ .addr = src, .len = res->len };
	txd->nb_slices = 1;
	return true;
}

unsigned
uroce_rd_atomic_put_responses(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max)
{
	struct uroce_resp *resp = &qpc->resp;
	const uint32_t mtu = 1u << qpc->mtu_shift;
	uint32_t slot = uroce_rd_atomic_oldest(resp), pending = resp->pending;
	struct uroce_mr_view view = { 0 };
	uint64_t nb_bytes = 0;
	unsigned nb = 0;

	if (qpc->cc.is_limited)
		return 0;
	for (; nb < max && pending & 1u << slot; nb++, slot = (slot + 1) % UROCE_RD_ATOMIC_MAX) {
		struct uroce_rd_res *res = &resp->res[slot];

		if (!is_single_response(res, mtu))
			break;
		if (res->is_atomic)
			uroce_rd_atomic_put_ack(qpc, res, &out[nb]);
		else if (!put_single_read_response(qpc, res, &view, &out[nb]))
			break;
		nb_bytes += res->len; /* `len` is 0 if the resource is that of an atomic */
		res->sent = 1;
		res->is_begun = true;
		res->was_answered = true;
		pending &= ~(1u << slot);
	}
	resp->pending = pending;
	qpc->stats.tx_bytes += nb_bytes;
	return nb;
}
