/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Transmits frames to the port of uroced and receives frames from it. Frames that the port does not
 * take are pending, and clients that send to the wire wait. Frames for a port that takes nothing
 * for DATA_STALL_NS, or whose link is down, are dropped, so that clients can still send to each
 * other.
 */

#include <string.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "data.h"
#include "datapath/device/qpn.h"
#include "datapath/port/fault_guard.h"
#include "datapath/net/neigh.h"
#include "datapath/net/perf_mgt.h"
#include "datapath/udp/udp_port.h"

#define ETH_LEN 14u
#define MIN_LEN 60u /* length of the shortest Ethernet frame in bytes, without FCS */

void
wire_init(struct wire *wire, struct uroce_port *port, struct uroce_neigh *neigh)
{
	*wire = (struct wire){ .port = port, .neigh = neigh };
}

void
wire_fini(struct wire *wire)
{
	rte_pktmbuf_free_bulk(wire->pending, wire->nb_pending);
	rte_pktmbuf_free_bulk(wire->spare, wire->nb_spare);
}

void
wire_read_udp_counters(struct wire *wire)
{
	uint64_t nb[UROCE_UDP_COUNTER_NB] = { 0 };

	if (!wire->port->udp)
		return;
	uroce_udp_counters_add(wire->port->udp->queue[0], nb);
	for (unsigned c = 0; c < UROCE_UDP_COUNTER_NB; c++)
		atomic_store_explicit(&wire->udp[c], nb[c], memory_order_relaxed);
}

static bool
is_there(const struct wire *wire)
{
	return uroce_port_is_ready(wire->port) && uroce_port_is_up(wire->port);
}

static void
lose_pending(struct wire *wire)
{
	rte_pktmbuf_free_bulk(wire->pending, wire->nb_pending);
	counter_add(&wire->counters.drop[FRAME_DROP_WIRE], wire->nb_pending);
	wire->nb_pending = 0;
}

bool
wire_has_room(struct wire *wire)
{
	return wire->nb_pending < WIRE_PENDING_MAX || !is_there(wire);
}

static struct rte_mbuf *
take_mbuf(struct wire *wire)
{
	if (wire->nb_spare == 0 &&
	    rte_pktmbuf_alloc_bulk(wire->port->pool[0], wire->spare, DATA_BATCH) == 0)
		wire->nb_spare = DATA_BATCH;
	return wire->nb_spare > 0 ? wire->spare[--wire->nb_spare] : NULL;
}

enum frame_drop
wire_send(struct wire *wire, const struct pieces *frame)
{
	const uint32_t len = frame->head_len + frame->rest_len;
	struct rte_mbuf *mbuf =
		is_there(wire) && wire->nb_pending < WIRE_PENDING_MAX ? take_mbuf(wire) : NULL;
	uint8_t *to;

	if (!mbuf)
		return FRAME_DROP_WIRE;
	if (rte_pktmbuf_tailroom(mbuf) < len) {
		rte_pktmbuf_free(mbuf);
		return FRAME_DROP_WIRE;
	}
	to = rte_pktmbuf_mtod(mbuf, uint8_t *);
	memcpy(to, frame->head, frame->head_len);
	if (frame->rest_len > 0)
		memcpy(to + frame->head_len, frame->rest, frame->rest_len);
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = len;
	wire->pending[wire->nb_pending++] = mbuf;
	return FRAME_PASSES;
}

static uint32_t
bytes_of(struct rte_mbuf *const *mbufs, unsigned nb)
{
	uint32_t bytes = 0;

	for (unsigned i = 0; i < nb; i++)
		bytes += mbufs[i]->pkt_len;
	return bytes;
}

/*
 * Transmit the first `nb` frames of those that wait for the port. Frames that the kernel refuses on
 * the port `udp` count as transmitted and as dropped.
 */
static unsigned
transmit(struct wire *wire, uint16_t nb)
{
	const struct uroce_port *port = wire->port;
	unsigned nb_sent, nb_lost;

	if (port->policy->burst == UROCE_BURST_GUARDED)
		return uroce_fault_guard_tx(port->id, 0, wire->pending, nb);
	if (port->policy->burst != UROCE_BURST_UDP)
		return rte_eth_tx_burst(port->id, 0, wire->pending, nb);
	nb_sent = uroce_udp_port_tx(port, 0, wire->pending, nb, &nb_lost);
	counter_add(&wire->counters.drop[FRAME_DROP_WIRE], nb_lost);
	return nb_sent;
}

void
wire_flush(struct wire *wire, uint64_t now_ns)
{
	const unsigned nb = wire->nb_pending;
	unsigned nb_sent;
	uint64_t bytes;

	if (nb == 0) {
		wire->moved_ns = now_ns;
		return;
	}
	if (!is_there(wire)) {
		lose_pending(wire);
		return;
	}
	bytes = bytes_of(wire->pending, nb);
	nb_sent = transmit(wire, (uint16_t)nb);
	/*
	 * A number of sent frames above `nb` means that the fault guard has caught a fault: the
	 * process at the other end of the port has ended, and the frames are lost.
	 */
	if (nb_sent > nb) {
		wire->nb_pending = 0;
		return;
	}
	wire->nb_pending = nb - nb_sent;
	memmove(wire->pending, wire->pending + nb_sent,
		wire->nb_pending * sizeof(wire->pending[0]));
	bytes -= bytes_of(wire->pending, wire->nb_pending);
	counter_add(&wire->counters.frames_up, nb_sent);
	counter_add(&wire->counters.bytes_up, bytes);
	if (nb_sent > 0)
		wire->moved_ns = now_ns;
	else if (now_ns - wire->moved_ns > DATA_STALL_NS)
		lose_pending(wire);
}

/*
 * Reply to an ARP request, a neighbour solicitation or a ping, if uroced, and not the kernel,
 * responds for the address.
 * @return whether the mbuf is transmitted as the reply
 */
static bool
answer(struct wire *wire, struct rte_mbuf *mbuf, uint64_t now_ns)
{
	uint32_t len = mbuf->data_len;

	if (!wire->neigh || wire->nb_pending == WIRE_PENDING_MAX ||
	    uroce_neigh_input(wire->neigh, rte_pktmbuf_mtod(mbuf, uint8_t *), &len,
			      len + rte_pktmbuf_tailroom(mbuf), now_ns) != UROCE_NEIGH_REPLY)
		return false;
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = len;
	mbuf->ol_flags = 0;
	wire->pending[wire->nb_pending++] = mbuf;
	return true;
}

static bool
is_icrc_right(const struct uroce_port *port, const struct uroce_pkt *pkt)
{
	return port->policy->is_ident_unknown ? uroce_pkt_check_icrc_any_ident(pkt)
					      : uroce_pkt_check_icrc(pkt);
}

/*
 * Check whether a frame is a valid Get(ClassPortInfo) of performance management, a MAD to QP 1 by
 * which another host checks whether RoCEv2 frames reach this host (perf_mgt.h).
 */
static bool
is_class_port_info_get(const struct wire *wire, const struct rte_mbuf *mbuf, struct uroce_pkt *pkt)
{
	return uroce_parse(rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len, pkt) ==
		       UROCE_VERDICT_DATAGRAM &&
	       uroce_perf_mgt_is_get(pkt) && is_icrc_right(wire->port, pkt);
}

/*
 * Reply to a Get(ClassPortInfo). Such a request is not passed to the client that holds QP 1 (the
 * connection manager).
 * @return FRAME_PASSES: the mbuf is transmitted as the reply; otherwise why the frame is dropped
 */
static enum frame_drop
answer_class_port_info(struct wire *wire, struct rte_mbuf *mbuf, const struct uroce_pkt *pkt,
		       uint64_t now_ns)
{
	if (wire->nb_pending == WIRE_PENDING_MAX)
		return FRAME_DROP_WIRE;
	if (!uroce_perf_mgt_may_reply(&wire->replies, now_ns))
		return FRAME_DROP_LIMITED;
	uroce_perf_mgt_reply(pkt);
	mbuf->ol_flags = 0;
	wire->pending[wire->nb_pending++] = mbuf;
	return FRAME_PASSES;
}

static enum frame_drop
pass_on(struct data *data, const struct frame *frame, uint32_t len)
{
	const struct pieces pieces = { frame->bytes, len, NULL, 0 };

	if (frame->kind == FRAME_ROCE && frame->qpn != FRAME_QPN_GROUP)
		return data_deliver(data, frame, &pieces);
	return data_deliver_all(data, NULL, frame, &pieces) > 0 ? FRAME_PASSES : FRAME_DROP_NOBODY;
}

/*
 * Append zeros to a received frame up to the length of the shortest frame that clients accept.
 * Virtual ports deliver shorter frames than this length.
 * @return false if the mbuf has no room
 */
static bool
fill_up(struct rte_mbuf *mbuf)
{
	const uint16_t nb = mbuf->data_len < MIN_LEN ? (uint16_t)(MIN_LEN - mbuf->data_len) : 0;
	char *end = nb > 0 ? rte_pktmbuf_append(mbuf, nb) : NULL;

	if (end)
		memset(end, 0, nb);
	return nb == 0 || end;
}

/*
 * Deliver a received frame to clients, answer it, or drop it.
 * @param[out] is_sent  true if the mbuf is transmitted as a reply, so the caller must not free it
 * @return FRAME_PASSES, or why the frame is dropped
 */
static enum frame_drop
see_to(struct data *data, struct rte_mbuf *mbuf, bool *is_sent)
{
	enum frame_drop drop;
	struct frame frame;
	struct uroce_pkt pkt;

	*is_sent = false;
	if (rte_pktmbuf_linearize(mbuf) < 0 || mbuf->data_len < ETH_LEN)
		return FRAME_DROP_KIND;
	frame_read(rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len, &frame);
	drop = frame_filter_wire(&frame, &data->host);
	if (drop != FRAME_PASSES)
		return drop;
	if (frame.kind == FRAME_ROCE && frame.qpn == UROCE_QPN_GSI &&
	    is_class_port_info_get(&data->wire, mbuf, &pkt)) {
		drop = answer_class_port_info(&data->wire, mbuf, &pkt, data->now_ns);
		*is_sent = drop == FRAME_PASSES;
		return drop;
	}
	if (frame.kind != FRAME_ASK && frame.kind != FRAME_OTHER)
		return fill_up(mbuf) ? pass_on(data, &frame, mbuf->data_len) : FRAME_DROP_KIND;
	*is_sent = answer(&data->wire, mbuf, data->now_ns);
	return *is_sent ? FRAME_PASSES : FRAME_DROP_KIND;
}

/*
 * Receive frames from the port `udp`. A receive burst of this port takes at most one message of
 * each socket. So bursts are repeated until one is empty or there are UROCE_BURST frames. As with
 * other ports, fewer than UROCE_BURST frames then mean that the port had no more frames.
 */
static uint16_t
receive_datagrams(const struct uroce_port *port, struct rte_mbuf **mbufs)
{
	uint16_t nb = 0, n;

	do {
		n = uroce_udp_port_rx(port, 0, mbufs + nb, (uint16_t)(UROCE_BURST - nb));
		nb = (uint16_t)(nb + n);
	} while (n > 0 && nb < UROCE_BURST);
	return nb;
}

static uint16_t
receive(const struct uroce_port *port, struct rte_mbuf **mbufs)
{
	if (port->policy->burst == UROCE_BURST_GUARDED)
		return uroce_fault_guard_rx(port->id, 0, mbufs, UROCE_BURST);
	if (port->policy->burst == UROCE_BURST_UDP)
		return receive_datagrams(port, mbufs);
	return rte_eth_rx_burst(port->id, 0, mbufs, UROCE_BURST);
}

unsigned
wire_receive(struct data *data)
{
	struct wire *wire = &data->wire;
	struct rte_mbuf *mbufs[UROCE_BURST];
	uint16_t nb, nb_done = 0;
	bool is_sent;

	if (!uroce_port_is_ready(wire->port) || wire->port->policy->burst == UROCE_BURST_TX_ONLY) {
		wire->nb_emptied++;
		return 0;
	}
	nb = receive(wire->port, mbufs);
	wire->nb_emptied += nb < UROCE_BURST;
	if (nb == 0)
		return 0;
	counter_add(&wire->counters.frames_down, nb);
	counter_add(&wire->counters.bytes_down, bytes_of(mbufs, nb));
	for (uint16_t i = 0; i < nb; i++) {
		if (i + 2 < nb)
			__builtin_prefetch(rte_pktmbuf_mtod(mbufs[i + 2], const void *));
		const enum frame_drop drop = see_to(data, mbufs[i], &is_sent);

		if (drop != FRAME_PASSES)
			counter_add(&wire->counters.drop[drop], 1);
		if (!is_sent)
			mbufs[nb_done++] = mbufs[i];
	}
	data_publish(data);
	wire_flush(wire, data->now_ns);
	rte_pktmbuf_free_bulk(mbufs, nb_done);
	return nb;
}
