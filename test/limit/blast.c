/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The sender of `limit`. A window limits the number of frames without a response, so that a port
 * that drops frames is driven at the rate of its receiver. If responses are lost, the window opens
 * again after a timeout.
 */

#include "side.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <rte_cycles.h>

#include "region.h"
#include "shape.h"
#include "wire/psn.h"

/* Time in seconds without a response, after which the frames in flight count as lost. */
#define REOPEN_S 0.02

struct blaster {
	const struct port *port;
	const struct limit_options *opt;
	struct shape shape;
	struct shape_kind seen[256]; /* kinds of responses that were received, by opcode */
	uint8_t *region;
	uint64_t place;    /* offset in the region of the payload of the present message */
	uint32_t idx;      /* index in its message of the next frame */
	uint32_t next_psn; /* PSN of the next frame */
	uint32_t una_psn;  /* the oldest PSN without a response */
	uint64_t heard;    /* time of the latest response, as a TSC value */
	uint64_t answers;
	uint64_t frames;
	uint64_t reopened; /* number of times that the timeout has opened the window */
	bool is_stuck;     /* the port does not accept frames any more */
	bool is_ended;     /* the receiver has ended the test */
};

/* The number of frames that were sent and got no response yet. */
static unsigned
on_way(const struct blaster *blaster)
{
	return uroce_psn_dist(blaster->una_psn, blaster->next_psn);
}

static void
take_answers(struct blaster *blaster)
{
	struct rte_mbuf *frames[LIMIT_BURST_MAX];
	const unsigned nb =
		rte_eth_rx_burst(blaster->port->id, 0, frames, (uint16_t)blaster->opt->burst);

	for (unsigned i = 0; i < nb; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(frames[i], const uint8_t *);

		if (!shape_check(blaster->seen, frame, frames[i]->data_len))
			continue;
		blaster->is_ended |= shape_syndrome(frame) == SHAPE_SYNDROME_END;
		if (!uroce_psn_in(shape_psn(frame), blaster->una_psn, on_way(blaster)))
			continue;
		blaster->una_psn = uroce_psn_add(shape_psn(frame), 1);
		blaster->answers++;
	}
	if (nb > 0) {
		rte_pktmbuf_free_bulk(frames, nb);
		blaster->heard = rte_rdtsc();
	}
}

/* A frame that is written, but whose ICRC is not computed yet. */
struct draft {
	const struct shape_kind *kind;
	uint32_t state; /* state of the ICRC computation, which shape_put() returned */
};

static void
put_frame(struct blaster *blaster, struct rte_mbuf *m, bool has_ack_req, struct draft *draft)
{
	const struct shape *shape = &blaster->shape;
	const struct shape_kind *kind = shape_kind_at(shape, blaster->idx);
	const uint64_t off = blaster->place + (uint64_t)blaster->idx * blaster->opt->mtu;

	m->data_len = kind->frame_len;
	m->pkt_len = kind->frame_len;
	draft->kind = kind;
	draft->state = shape_put(kind, rte_pktmbuf_mtod(m, uint8_t *), blaster->next_psn,
				 has_ack_req, blaster->place, blaster->region + off);
	blaster->next_psn = uroce_psn_add(blaster->next_psn, 1);
	if (++blaster->idx < shape->nb_frames)
		return;
	blaster->idx = 0;
	blaster->place += shape->stride;
	if (blaster->place + shape->size > blaster->opt->region)
		blaster->place = 0;
}

/*
 * Build and send a burst of frames, at most as many as the window has room for.
 * @return number of frames that were sent
 */
static unsigned
send_frames(struct blaster *blaster, bool has_ack_req)
{
	const unsigned room = blaster->opt->window - on_way(blaster);
	const unsigned nb = room < blaster->opt->burst ? room : blaster->opt->burst;
	struct rte_mbuf *frames[LIMIT_BURST_MAX];
	struct draft drafts[LIMIT_BURST_MAX];
	unsigned sent;

	if (nb == 0 || rte_pktmbuf_alloc_bulk(blaster->port->pool, frames, nb) != 0)
		return 0;
	for (unsigned i = 0; i < nb; i++)
		put_frame(blaster, frames[i], has_ack_req, &drafts[i]);
	for (unsigned i = 0; i < nb; i++)
		shape_sum(drafts[i].kind, rte_pktmbuf_mtod(frames[i], uint8_t *), drafts[i].state);
	sent = port_send(blaster->port, frames, nb);
	blaster->frames += sent;
	blaster->is_stuck = sent < nb;
	return sent;
}

static int
init(struct blaster *blaster, const struct port *port, const struct limit_options *opt)
{
	*blaster = (struct blaster){ .port = port, .opt = opt, .next_psn = 1, .una_psn = 1 };
	shape_init(&blaster->shape, opt->size, opt->mtu);
	blaster->region = region_create(opt->region);
	if (!blaster->region)
		return -ENOMEM;
	return port_wait_link(port, SIDE_TIMEOUT_S) ? 0 : -ENETDOWN;
}

static double
silent_s(const struct blaster *blaster)
{
	return (double)(rte_rdtsc() - blaster->heard) / (double)rte_get_tsc_hz();
}

/*
 * Whether the test is over: the receiver has ended it, the port is stuck, or the time without a
 * response is too long.
 */
static bool
is_silent(const struct blaster *blaster)
{
	return blaster->is_stuck || blaster->is_ended ||
	       silent_s(blaster) > (blaster->answers ? SIDE_SILENCE_S : SIDE_TIMEOUT_S);
}

static void
reopen_stuck_window(struct blaster *blaster)
{
	if (silent_s(blaster) > REOPEN_S && blaster->una_psn != blaster->next_psn) {
		blaster->una_psn = blaster->next_psn;
		blaster->reopened++;
	}
}

static void
blast(struct blaster *blaster)
{
	blaster->heard = rte_rdtsc();
	while (!port_is_stopped() && !blaster->is_ended) {
		if (on_way(blaster) >= blaster->opt->window / 2)
			take_answers(blaster);
		if (send_frames(blaster, false) > 0 && !blaster->is_stuck)
			continue;
		reopen_stuck_window(blaster);
		if (is_silent(blaster))
			return;
	}
}

int
side_blast(const struct port *port, const struct limit_options *opt)
{
	struct blaster blaster;
	int ret = init(&blaster, port, opt);

	if (ret == 0) {
		blast(&blaster);
		side_leave();
		printf(opt->is_json
			       ? "{\"side\": \"blast\", \"frames\": %lu, \"answers\": %lu, "
				 "\"reopened\": %lu}\n"
			       : "blast: %lu frames sent, %lu answers, window reopened %lu times\n",
		       blaster.frames, blaster.answers, blaster.reopened);
		if (blaster.answers == 0) {
			fprintf(stderr, "limit: the sink never answered\n");
			ret = -ETIMEDOUT;
		}
	}
	region_destroy(blaster.region);
	return ret;
}
