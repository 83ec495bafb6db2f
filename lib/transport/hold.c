/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One block of memory: this struct, the gaps, the frames, the buckets of the hash. Free gaps and
 * frames are stacks, linked by index; those never used lie behind a mark, so that memory is touched
 * only as far as it was ever needed. A frame on the death row stays in its slot until it is taken.
 */
#include "transport/hold.h"

#include <assert.h>
#include <string.h>

#include "wire/psn.h"

#define NONE UINT32_MAX

struct gap_slot {
	_Alignas(64) struct uroce_gap gap; /* first: what holders know */
	uint32_t next_free;
};

struct frame_slot {
	struct uroce_pkt pkt;
	uint32_t gap_idx;
	uint32_t next; /* in its bucket, the free stack or the death row */
};

struct uroce_hold {
	uint32_t nb_gaps;
	uint32_t nb_frames;
	uint32_t bucket_mask;
	uint32_t free_gap;    /* NONE: look behind used_gaps */
	uint32_t free_frame;  /* the same */
	uint32_t dead;        /* death row; NONE: empty */
	uint32_t used_gaps;   /* gaps from here on were never used */
	uint32_t used_frames; /* the same */
	uint32_t nb_taken;    /* gaps */
	uint32_t nb_ready;    /* gaps of which what was held is being executed */
	uint32_t nb_held;     /* frames */
	uint32_t newest;      /* the frame that was held last */
	struct gap_slot *gaps;
	struct frame_slot *frames;
	uint32_t *buckets;
	struct uroce_peers peers;
};

static size_t
round_up(size_t len)
{
	return (len + 63) & ~(size_t)63;
}

static uint32_t
nb_buckets(uint32_t nb_frames)
{
	uint32_t nb = 64;

	while (nb < nb_frames)
		nb *= 2;
	return nb;
}

size_t
uroce_hold_memsize(uint32_t nb_gaps, uint32_t nb_frames)
{
	return round_up(sizeof(struct uroce_hold)) + nb_gaps * sizeof(struct gap_slot) +
	       round_up(nb_frames * sizeof(struct frame_slot)) +
	       nb_buckets(nb_frames) * sizeof(uint32_t);
}

struct uroce_hold *
uroce_hold_init(void *mem, uint32_t nb_gaps, uint32_t nb_frames)
{
	struct uroce_hold *hold = mem;
	uint8_t *at = (uint8_t *)mem + round_up(sizeof(*hold));

	assert((uintptr_t)mem % _Alignof(struct gap_slot) == 0);
	*hold = (struct uroce_hold){
		.nb_gaps = nb_gaps,
		.nb_frames = nb_frames,
		.bucket_mask = nb_buckets(nb_frames) - 1,
		.free_gap = NONE,
		.free_frame = NONE,
		.dead = NONE,
	};
	hold->gaps = (struct gap_slot *)at;
	at += nb_gaps * sizeof(struct gap_slot);
	hold->frames = (struct frame_slot *)at;
	at += round_up(nb_frames * sizeof(struct frame_slot));
	hold->buckets = (uint32_t *)at;
	memset(hold->buckets, 0xff, (hold->bucket_mask + 1) * sizeof(uint32_t)); /* NONE */
	return hold;
}

struct uroce_gap *
uroce_hold_take_gap(struct uroce_hold *hold)
{
	struct gap_slot *slot;

	if (hold->free_gap != NONE) {
		slot = &hold->gaps[hold->free_gap];
		hold->free_gap = slot->next_free;
	} else if (hold->used_gaps < hold->nb_gaps) {
		slot = &hold->gaps[hold->used_gaps++];
		slot->gap = (struct uroce_gap){ .nb = 0 };
	} else {
		return NULL;
	}
	hold->nb_taken++;
	return &slot->gap;
}

void
uroce_hold_give_gap(struct uroce_hold *hold, struct uroce_gap *gap, uint32_t base_psn)
{
	struct gap_slot *slot = (struct gap_slot *)gap;

	for (uint32_t psn = base_psn; gap->nb; psn++) {
		if (uroce_gap_has(gap, psn))
			uroce_hold_drop(hold, gap, psn & UROCE_PSN_MASK);
	}
	uroce_hold_set_ready(hold, gap, false);
	gap->later.nb = 0;
	gap->nb_reads = 0;
	slot->next_free = hold->free_gap;
	hold->free_gap = (uint32_t)(slot - hold->gaps);
	hold->nb_taken--;
}

static uint32_t *
bucket_of(const struct uroce_hold *hold, uint32_t gap_idx, uint32_t psn)
{
	return &hold->buckets[(psn + gap_idx * 0x9e3779b1u) & hold->bucket_mask];
}

static uint32_t
index_of(const struct uroce_hold *hold, const struct uroce_gap *gap)
{
	return (uint32_t)((const struct gap_slot *)gap - hold->gaps);
}

bool
uroce_hold_keep(struct uroce_hold *hold, struct uroce_gap *gap, const struct uroce_pkt *pkt)
{
	const uint32_t gap_idx = index_of(hold, gap);
	uint32_t *bucket = bucket_of(hold, gap_idx, pkt->psn);
	uint32_t idx = hold->free_frame;

	if (idx != NONE)
		hold->free_frame = hold->frames[idx].next;
	else if (hold->used_frames < hold->nb_frames)
		idx = hold->used_frames++;
	else
		return false;
	hold->frames[idx] = (struct frame_slot){ *pkt, gap_idx, *bucket };
	*bucket = idx;
	hold->nb_held++;
	hold->newest = idx;
	uroce_gap_mark(gap, pkt->psn);
	return true;
}

void
uroce_hold_move(struct uroce_hold *hold, const void *owner, const uint8_t *frame, void *new_owner)
{
	struct uroce_pkt *pkt = &hold->frames[hold->newest].pkt;

	assert(pkt->owner == owner);
	pkt->ip = frame + (pkt->ip - pkt->frame);
	pkt->bth = (const struct uroce_bth *)(frame + ((const uint8_t *)pkt->bth - pkt->frame));
	pkt->ext = frame + (pkt->ext - pkt->frame);
	pkt->payload = frame + (pkt->payload - pkt->frame);
	pkt->frame = frame;
	pkt->owner = new_owner;
}

/* Where the index of the frame is written; where NONE is, if there is no such frame. */
static uint32_t *
find(const struct uroce_hold *hold, const struct uroce_gap *gap, uint32_t psn)
{
	const uint32_t gap_idx = index_of(hold, gap);
	uint32_t *at = bucket_of(hold, gap_idx, psn);

	while (*at != NONE &&
	       (hold->frames[*at].gap_idx != gap_idx || hold->frames[*at].pkt.psn != psn))
		at = &hold->frames[*at].next;
	return at;
}

const struct uroce_pkt *
uroce_hold_find(const struct uroce_hold *hold, const struct uroce_gap *gap, uint32_t psn)
{
	const uint32_t idx = *find(hold, gap, psn);

	return idx == NONE ? NULL : &hold->frames[idx].pkt;
}

void
uroce_hold_drop(struct uroce_hold *hold, struct uroce_gap *gap, uint32_t psn)
{
	uint32_t *at = find(hold, gap, psn);
	const uint32_t idx = *at;

	uroce_gap_clear(gap, psn);
	if (idx == NONE)
		return;
	*at = hold->frames[idx].next;
	hold->frames[idx].next = hold->dead;
	hold->dead = idx;
	hold->nb_held--;
}

void
uroce_hold_set_ready(struct uroce_hold *hold, struct uroce_gap *gap, bool is_ready)
{
	hold->nb_ready += (uint32_t)is_ready - (uint32_t)gap->is_ready;
	gap->is_ready = is_ready;
}

bool
uroce_hold_has_ready(const struct uroce_hold *hold)
{
	return hold->nb_ready > 0;
}

unsigned
uroce_hold_reap(struct uroce_hold *hold, void **owners, unsigned max)
{
	unsigned nb = 0;

	while (nb < max && hold->dead != NONE) {
		const uint32_t idx = hold->dead;

		owners[nb++] = hold->frames[idx].pkt.owner;
		hold->dead = hold->frames[idx].next;
		hold->frames[idx].next = hold->free_frame;
		hold->free_frame = idx;
	}
	return nb;
}

uint32_t
uroce_hold_count(const struct uroce_hold *hold)
{
	return hold->nb_held;
}

uint32_t
uroce_hold_count_gaps(const struct uroce_hold *hold)
{
	return hold->nb_taken;
}

struct uroce_peers *
uroce_hold_peers(struct uroce_hold *hold)
{
	return &hold->peers;
}
