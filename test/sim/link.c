/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Models cables and queues. A queue of frames is represented by the time at which its transmitter
 * will be free. The bytes in the queue are the time from now until then, multiplied by the rate of
 * the cable.
 */

#include "link.h"

#include <assert.h>
#include <string.h>

#include "mcast.h"
#include "world.h"

/*
 * Bytes that a frame occupies on an Ethernet cable beside its own: preamble, frame check sequence
 * and gap [IEEE 802.3].
 */
#define ETHERNET_MORE 24

static uint64_t
wire_ns(const struct link *link, uint32_t len)
{
	return link->rate_bps ? (uint64_t)(len + ETHERNET_MORE) * 8 * 1000000000 / link->rate_bps
			      : 0;
}

uint64_t
link_backlog(const struct world *world, const struct link *link)
{
	if (link->down_free_ns <= world->now_ns)
		return 0;
	return (link->down_free_ns - world->now_ns) * (link->rate_bps / 1000) / 8000000;
}

void
link_script(struct link *link, uint32_t nth, enum fault fault, uint32_t late_ns)
{
	assert(link->nb_script < SCRIPT_MAX);
	link->script[link->nb_script].nth = link->nb_sent + nth;
	link->script[link->nb_script].fault = fault;
	link->script[link->nb_script].late_ns = late_ns;
	link->nb_script++;
}

static bool
is_cut(const struct link *link, uint64_t now_ns)
{
	for (uint32_t i = 0; i < link->nb_blackouts; i++) {
		if (now_ns >= link->blackouts[i].begin_ns && now_ns < link->blackouts[i].end_ns)
			return true;
	}
	return false;
}

static enum fault
draw_fault(struct world *world, struct link *link, uint32_t *late_ns)
{
	if (link->burst_left) {
		link->burst_left--;
		return FAULT_LOSE;
	}
	if (rng_chance(&world->rng, link->lose_ppm)) {
		if (link->burst_len)
			link->burst_left = rng_below(&world->rng, 2 * link->burst_len);
		return FAULT_LOSE;
	}
	if (rng_chance(&world->rng, link->spoil_ppm))
		return FAULT_SPOIL;
	*late_ns = link->late_ns ? rng_below(&world->rng, link->late_ns) : 0;
	if (rng_chance(&world->rng, link->repeat_ppm))
		return FAULT_REPEAT;
	return rng_chance(&world->rng, link->late_ppm) ? FAULT_LATE : FAULT_NONE;
}

static enum fault
choose_fault(struct world *world, struct link *link, uint32_t *late_ns)
{
	const uint32_t nth = link->nb_sent++;

	*late_ns = 0;
	for (uint32_t i = 0; i < link->nb_script; i++) {
		if (link->script[i].nth == nth) {
			*late_ns = link->script[i].late_ns;
			return link->script[i].fault;
		}
	}
	if (world->now_ns >= world->calm_ns)
		return FAULT_NONE;
	if (is_cut(link, world->now_ns))
		return FAULT_BLACKOUT;
	return draw_fault(world, link, late_ns);
}

/* Damage a frame: flip bits of one of its bytes. */
static void
spoil(struct world *world, struct frame *frame)
{
	uint32_t at = rng_below(&world->rng, frame->len);

	/*
	 * half of the faults are in the headers, although the headers are a small part of the frame
	 */
	if (rng_one_in(&world->rng, 2) && frame->len > 80)
		at = rng_below(&world->rng, 80);
	frame->bytes[at] ^= (uint8_t)rng_between(&world->rng, 1, 255);
	frame->is_spoilt = true;
	frame->spoilt_at = (uint16_t)at;
}

static void
launch(struct world *world, struct frame *frame, uint64_t at_ns)
{
	heap_push(&world->heap, at_ns, EVENT_SWITCH, frame->to, frame);
}

void
link_send(struct world *world, struct frame *frame)
{
	struct link *link = &world->hosts[frame->from].link;
	uint32_t late_ns;
	const enum fault fault = choose_fault(world, link, &late_ns);
	const uint64_t from_ns =
		link->up_free_ns > world->now_ns ? link->up_free_ns : world->now_ns;
	const uint64_t at_ns = from_ns + wire_ns(link, frame->len);

	link->up_free_ns = at_ns;
	world->tally.packets++;
	world->tally.faults[fault]++;
	trace_frame(world, frame, fault);
	if (fault == FAULT_LOSE || fault == FAULT_BLACKOUT) {
		frame_give(&world->frames, frame);
		return;
	}
	if (fault == FAULT_REPEAT) {
		struct frame *copy = frame_take(&world->frames);

		copy->len = frame->len;
		copy->from = frame->from;
		copy->to = frame->to;
		copy->is_to_group = frame->is_to_group;
		memcpy(copy->bytes, frame->bytes, frame->len);
		launch(world, copy, at_ns + link->delay_ns + late_ns);
		late_ns = 0;
	}
	if (fault == FAULT_SPOIL)
		spoil(world, frame);
	if (fault == FAULT_MARK)
		(void)frame_mark(frame);
	launch(world, frame, at_ns + link->delay_ns + (fault == FAULT_LATE ? late_ns : 0));
}

/* Whether the switch sets CE in a frame that finds `backlog` bytes in the queue. */
static bool
is_marked(struct world *world, const struct link *link, uint64_t backlog)
{
	if (!link->mark_max || backlog <= link->mark_min)
		return false;
	if (backlog >= link->mark_max)
		return true;
	return rng_chance(&world->rng, (uint32_t)((backlog - link->mark_min) * link->mark_ppm /
						  (link->mark_max - link->mark_min)));
}

void
link_forward(struct world *world, struct frame *frame)
{
	if (frame->is_to_group) {
		group_forward(world, frame);
		return;
	}
	struct link *link = &world->hosts[frame->to].link;
	const uint64_t backlog = link_backlog(world, link);
	const uint64_t from_ns =
		link->down_free_ns > world->now_ns ? link->down_free_ns : world->now_ns;

	if (link->queue_len && backlog + frame->len > link->queue_len &&
	    world->now_ns < world->calm_ns) {
		world->tally.faults[FAULT_OVERFLOW]++;
		trace_drop(world, frame);
		frame_give(&world->frames, frame);
		return;
	}
	if (backlog + frame->len > link->peak_bytes)
		link->peak_bytes = backlog + frame->len;
	if (is_marked(world, link, backlog) && frame_mark(frame))
		world->tally.faults[FAULT_MARK]++;
	link->down_free_ns = from_ns + wire_ns(link, frame->len);
	heap_push(&world->heap, link->down_free_ns + link->delay_ns, EVENT_HOST, frame->to, frame);
}

const char *
fault_name(enum fault fault)
{
	static const char *const names[] = {
		[FAULT_NONE] = "none",         [FAULT_LOSE] = "lost",
		[FAULT_REPEAT] = "repeated",   [FAULT_LATE] = "late",
		[FAULT_SPOIL] = "spoilt",      [FAULT_BLACKOUT] = "blackout",
		[FAULT_OVERFLOW] = "overflow", [FAULT_MARK] = "marked",
	};

	return names[fault];
}
