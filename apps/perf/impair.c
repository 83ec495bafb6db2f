/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulates a bad network with receive and transmit callbacks of ethdev.
 *
 * Each RX queue has a receive callback. In it random numbers decide for each frame whether it is
 * lost, duplicated, corrupted or reordered. A frame to be reordered waits in a list, with the
 * number of frames that may overtake it. ethdev also calls the callback when nothing was received.
 * Then the waiting frames are delivered, because perhaps no later frame arrives that could overtake
 * them.
 *
 * A queue may also have a transmit callback. This callback must return as many frames as it was
 * given, because the sender would treat missing frames as not sent. So a frame to be lost is sent
 * with an EtherType that no host accepts, and a frame to be reordered changes places within its
 * burst. No frame is duplicated. A frame that the port does not accept is passed to the callback
 * again, so a flag of the mbuf marks frames for which the decision was made.
 */

#include "impair.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_kvargs.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_udp.h>

#define QUEUES_MAX 64
#define HELD_MAX   256
#define SPAN_MAX   4096
#define ROCE_PORT  4791
#define ETHERTYPE_EXPERIMENTAL                                                                     \
	0x88b5 /* EtherType for local experiments, which no host receives [IEEE 802] */

/* The direction in which frames are impaired. */
enum side { SIDE_RX = 1, SIDE_TX = 2, SIDE_BOTH = SIDE_RX | SIDE_TX };

static const char *const side_names[] = {
	[SIDE_RX] = "rx",
	[SIDE_TX] = "tx",
	[SIDE_BOTH] = "both",
};

static struct {
	double loss, dup, reorder, corrupt; /* probabilities of the four faults for each frame */
	double span, seed;
	enum side side;
} wanted;

static const struct key {
	const char *name;
	double *value;
	double max;
} keys[] = {
	{ "loss", &wanted.loss, 1 },        { "dup", &wanted.dup, 1 },
	{ "reorder", &wanted.reorder, 1 },  { "corrupt", &wanted.corrupt, 1 },
	{ "span", &wanted.span, SPAN_MAX }, { "seed", &wanted.seed, UINT32_MAX },
};

static const char *const names[] = { "loss", "dup",  "reorder", "corrupt",
				     "span", "seed", "side",    NULL };

struct held {
	struct rte_mbuf *frame;
	unsigned nb_to_pass;
};

struct queue {
	uint16_t port, idx;
	/* the receive callback of the queue; NULL if the queue has no such callback */
	const struct rte_eth_rxtx_callback *callback;
	/* the transmit callback of the queue; NULL if the queue has no such callback */
	const struct rte_eth_rxtx_callback *tx_callback;
	unsigned short random[3];
	struct held held[HELD_MAX];
	unsigned nb_held;
	uint64_t nb_frames, nb_lost, nb_doubled, nb_held_back, nb_corrupted;
};

/*
 * mbuf flag of transmitted frames for which the faults were already decided; 0 if the flag is not
 * registered yet
 */
static uint64_t decided;
static bool is_open;
static struct queue *queues[QUEUES_MAX];
static unsigned nb_queues;

/* --- options --------------------------------------------------------------------------------- */

static int
take_side(const char *text)
{
	for (unsigned side = SIDE_RX; side <= SIDE_BOTH; side++) {
		if (strcmp(text, side_names[side]) == 0) {
			wanted.side = (enum side)side;
			return 0;
		}
	}
	fprintf(stderr, "uroce-perf: --impair side=%s: allowed: rx, tx or both\n", text);
	return -1;
}

static int
take_pair(const char *name, const char *text, void *arg)
{
	(void)arg;
	if (strcmp(name, "side") == 0)
		return take_side(text);
	for (size_t i = 0; i < RTE_DIM(keys); i++) {
		char *end;

		if (strcmp(keys[i].name, name) != 0)
			continue;
		const double value = strtod(text, &end);

		if (end == text || *end != '\0' || !(value >= 0 && value <= keys[i].max)) {
			fprintf(stderr, "uroce-perf: --impair %s=%s: allowed: 0 to %.0f\n", name,
				text, keys[i].max);
			return -1;
		}
		*keys[i].value = value;
	}
	return 0;
}

int
impair_open(const char *spec)
{
	struct rte_kvargs *pairs = rte_kvargs_parse(spec, names);
	int ret;

	wanted.span = 16;
	wanted.seed = 1;
	wanted.side = SIDE_RX;
	if (pairs == NULL) {
		fprintf(stderr,
			"uroce-perf: --impair %s: not understood; allowed: "
			"loss=P,dup=P,reorder=P,corrupt=P,span=N,seed=N,side=rx|tx|both\n",
			spec);
		return -1;
	}
	ret = rte_kvargs_process(pairs, NULL, take_pair, NULL);
	rte_kvargs_free(pairs);
	if (ret == 0 && wanted.side == SIDE_TX && wanted.dup > 0) {
		fprintf(stderr,
			"uroce-perf: --impair dup=%g,side=tx: frames are doubled where they "
			"are received; allowed: side=rx or both\n",
			wanted.dup);
		ret = -1;
	}
	is_open = ret == 0;
	return ret;
}

/* --- frames ---------------------------------------------------------------------------------- */

static bool
draw(struct queue *queue, double probability)
{
	return probability > 0 && erand48(queue->random) < probability;
}

static uint32_t
draw_below(struct queue *queue, uint32_t bound)
{
	return (uint32_t)(erand48(queue->random) * bound);
}

/*
 * Get the offset of the UDP header, which is behind an IP header without options; 0 if there is no
 * IP header.
 */
static uint32_t
udp_offset(const struct rte_mbuf *frame)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(frame, const struct rte_ether_hdr *);
	uint32_t at = sizeof(*eth);
	rte_be16_t type;

	if (frame->data_len < at + sizeof(struct rte_vlan_hdr) + sizeof(struct rte_ipv6_hdr))
		return 0;
	type = eth->ether_type;
	if (type == rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN)) {
		type = rte_pktmbuf_mtod_offset(frame, const struct rte_vlan_hdr *, at)->eth_proto;
		at += sizeof(struct rte_vlan_hdr);
	}
	if (type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4))
		return at + sizeof(struct rte_ipv4_hdr);
	return type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6) ? at + sizeof(struct rte_ipv6_hdr) : 0;
}

static bool
is_roce(const struct rte_mbuf *frame)
{
	const uint32_t at = udp_offset(frame);

	return at > 0 && frame->data_len >= at + sizeof(struct rte_udp_hdr) &&
	       rte_pktmbuf_mtod_offset(frame, const struct rte_udp_hdr *, at)->dst_port ==
		       rte_cpu_to_be_16(ROCE_PORT);
}

/*
 * Flip one bit behind the Ethernet header. The Ethernet header is not changed, because a wrong
 * address would send the frame to another host.
 */
static void
flip_bit(struct queue *queue, struct rte_mbuf *frame)
{
	const uint32_t at =
		RTE_ETHER_HDR_LEN + draw_below(queue, frame->data_len - RTE_ETHER_HDR_LEN);

	*rte_pktmbuf_mtod_offset(frame, uint8_t *, at) ^= (uint8_t)(1u << draw_below(queue, 8));
	queue->nb_corrupted++;
}

static void
hold(struct queue *queue, struct rte_mbuf *frame, unsigned nb_to_pass)
{
	if (queue->nb_held == HELD_MAX) {
		queue->nb_lost++;
		rte_pktmbuf_free(frame);
		return;
	}
	queue->held[queue->nb_held++] = (struct held){ frame, nb_to_pass };
}

static void
double_up(struct queue *queue, struct rte_mbuf *frame)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(frame, frame->pool, 0, UINT32_MAX);

	if (copy == NULL)
		return;
	hold(queue, copy, draw_below(queue, 2));
	queue->nb_doubled++;
}

/*
 * Decide at random which faults a received frame gets, and apply them.
 * @return whether the frame is delivered now; false if it is lost, or waits until other frames have
 *         overtaken it
 */
static bool
impair_received(struct queue *queue, struct rte_mbuf *frame)
{
	queue->nb_frames++;
	if (draw(queue, wanted.loss)) {
		queue->nb_lost++;
		rte_pktmbuf_free(frame);
		return false;
	}
	if (draw(queue, wanted.corrupt))
		flip_bit(queue, frame);
	if (draw(queue, wanted.dup))
		double_up(queue, frame);
	if (draw(queue, wanted.reorder)) {
		queue->nb_held_back++;
		hold(queue, frame, 1 + draw_below(queue, (uint32_t)wanted.span));
		return false;
	}
	return true;
}

/*
 * Note that `nb_passed` frames have overtaken all waiting frames. Deliver those waiting frames that
 * enough frames have overtaken, at most `room` of them.
 * @return the number of delivered frames
 */
static uint16_t
release(struct queue *queue, unsigned nb_passed, struct rte_mbuf **out, uint16_t room)
{
	unsigned nb_kept = 0;
	uint16_t nb = 0;

	for (unsigned i = 0; i < queue->nb_held; i++) {
		struct held held = queue->held[i];

		held.nb_to_pass -= RTE_MIN(held.nb_to_pass, nb_passed);
		if (held.nb_to_pass == 0 && nb < room)
			out[nb++] = held.frame;
		else
			queue->held[nb_kept++] = held;
	}
	queue->nb_held = nb_kept;
	return nb;
}

static uint16_t
on_receive(uint16_t port, uint16_t idx, struct rte_mbuf **frames, uint16_t nb, uint16_t max,
	   void *arg)
{
	struct queue *queue = arg;
	uint16_t nb_now = 0;

	(void)port, (void)idx;
	for (uint16_t i = 0; i < nb; i++)
		if (!is_roce(frames[i]) || impair_received(queue, frames[i]))
			frames[nb_now++] = frames[i];
	if (queue->nb_held == 0)
		return nb_now;
	return nb_now + release(queue, nb > 0 ? nb : UINT32_MAX, frames + nb_now, max - nb_now);
}

/*
 * Simulate the loss of a frame that is to be transmitted: change its EtherType to
 * ETHERTYPE_EXPERIMENTAL, so that no host accepts the frame as RoCE.
 */
static void
hide(struct rte_mbuf *frame)
{
	rte_pktmbuf_mtod(frame, struct rte_ether_hdr *)->ether_type =
		rte_cpu_to_be_16(ETHERTYPE_EXPERIMENTAL);
}

/* Reorder a transmitted frame: move it behind up to `span` later frames of its burst. */
static void
let_pass(struct queue *queue, struct rte_mbuf **frames, uint16_t i, uint16_t nb)
{
	const uint32_t room = RTE_MIN((uint32_t)wanted.span, (uint32_t)(nb - 1 - i));
	struct rte_mbuf *frame = frames[i];

	if (room == 0)
		return;
	const uint32_t nb_to_pass = 1 + draw_below(queue, room);

	memmove(&frames[i], &frames[i + 1], nb_to_pass * sizeof(frames[0]));
	frames[i + nb_to_pass] = frame;
	queue->nb_held_back++;
}

static uint16_t
on_transmit(uint16_t port, uint16_t idx, struct rte_mbuf **frames, uint16_t nb, void *arg)
{
	struct queue *queue = arg;

	(void)port, (void)idx;
	for (uint16_t i = 0; i < nb; i++) {
		struct rte_mbuf *frame = frames[i];

		if (frame->ol_flags & decided || !is_roce(frame))
			continue;
		frame->ol_flags |= decided;
		queue->nb_frames++;
		if (draw(queue, wanted.loss)) {
			hide(frame);
			queue->nb_lost++;
			continue;
		}
		if (draw(queue, wanted.corrupt))
			flip_bit(queue, frame);
		if (draw(queue, wanted.reorder)) {
			let_pass(queue, frames, i, nb);
			/*
			 * if the frame at index i was moved, another frame has taken its place at
			 * index i
			 */
			i -= frames[i] != frame;
		}
	}
	return nb;
}

/* --- ports ----------------------------------------------------------------------------------- */

static int
add_callbacks(struct queue *queue)
{
	if (wanted.side & SIDE_RX)
		queue->callback =
			rte_eth_add_rx_callback(queue->port, queue->idx, on_receive, queue);
	if (wanted.side & SIDE_TX)
		queue->tx_callback =
			rte_eth_add_tx_callback(queue->port, queue->idx, on_transmit, queue);
	if ((wanted.side & SIDE_RX && !queue->callback) ||
	    (wanted.side & SIDE_TX && !queue->tx_callback))
		return -1;
	return 0;
}

static void
remove_callbacks(const struct queue *queue)
{
	if (!rte_eth_dev_is_valid_port(queue->port))
		return;
	if (queue->callback)
		(void)rte_eth_remove_rx_callback(queue->port, queue->idx, queue->callback);
	if (queue->tx_callback)
		(void)rte_eth_remove_tx_callback(queue->port, queue->idx, queue->tx_callback);
}

static int
add_queue(uint16_t port, uint16_t idx)
{
	struct queue *queue = nb_queues < QUEUES_MAX ? calloc(1, sizeof(*queue)) : NULL;

	if (queue == NULL) {
		rte_errno = ENOMEM;
		return -1;
	}
	queue->port = port;
	queue->idx = idx;
	/*
	 * The high bits of the state of the random number generator are the seed, as with
	 * srand48(). Otherwise the first random numbers would all be small.
	 */
	queue->random[0] = (unsigned short)(0x330e + nb_queues);
	queue->random[1] = (unsigned short)wanted.seed;
	queue->random[2] = (unsigned short)((uint32_t)wanted.seed >> 16);
	if (add_callbacks(queue) < 0) {
		remove_callbacks(queue);
		free(queue);
		return -1;
	}
	queues[nb_queues++] = queue;
	return 0;
}

static int
make_mark(void)
{
	static const struct rte_mbuf_dynflag flag = { .name = "uroce_perf_decided" };
	const int bit = rte_mbuf_dynflag_register(&flag);

	if (bit < 0) {
		fprintf(stderr, "uroce-perf: --impair side=tx: no flag in mbufs is free: %s\n",
			rte_strerror(rte_errno));
		return -1;
	}
	decided = UINT64_C(1) << bit;
	return 0;
}

int
impair_add_port(const char *port_name)
{
	struct rte_eth_dev_info info;
	uint16_t port;

	if (!is_open)
		return 0;
	if (wanted.side & SIDE_TX && decided == 0 && make_mark() != 0)
		return -1;
	if (rte_eth_dev_get_port_by_name(port_name, &port) != 0 ||
	    rte_eth_dev_info_get(port, &info) != 0) {
		fprintf(stderr,
			"uroce-perf: --impair: %s is not one of DPDK's ports, which this option "
			"needs: allowed are ports of the EAL options\n",
			port_name);
		return -1;
	}
	for (uint16_t idx = 0; idx < info.nb_rx_queues; idx++) {
		if (add_queue(port, idx) != 0) {
			fprintf(stderr, "uroce-perf: --impair: port %s: %s\n", port_name,
				rte_strerror(rte_errno));
			return -1;
		}
	}
	return 0;
}

static void
close_queue(struct queue *queue)
{
	remove_callbacks(queue);
	fprintf(stderr,
		"impaired: of %" PRIu64 " frames %" PRIu64 " lost, %" PRIu64 " held back, %" PRIu64
		" doubled, %" PRIu64 " corrupted\n",
		queue->nb_frames, queue->nb_lost, queue->nb_held_back, queue->nb_doubled,
		queue->nb_corrupted);
	for (unsigned i = 0; i < queue->nb_held; i++)
		rte_pktmbuf_free(queue->held[i].frame);
	free(queue);
}

void
impair_close(void)
{
	while (nb_queues > 0)
		close_queue(queues[--nb_queues]);
}
