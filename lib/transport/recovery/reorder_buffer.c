/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reorder buffer is one block of memory: struct uroce_reorder_buffer, the records of PSN gaps
 * ("gaps"), the frames, and the buckets of the hash table. Free gaps and frames are stacks that are
 * linked by index. Entries that were never used are behind the indices used_gaps and used_frames,
 * so that memory is touched only as far as it was ever needed. A released frame stays in its slot
 * until uroce_reorder_buffer_reap() returns it.
 */
#include "transport/recovery/reorder_buffer.h"

#include <assert.h>
#include <string.h>

#include "wire/psn.h"

#define NONE UINT32_MAX

struct gap_slot {
	/*
	 * `gap` must be the first field, because a pointer to the gap is cast to a pointer to its
	 * slot
	 */
	_Alignas(64) struct uroce_psn_gap gap;
	uint32_t next_free;
};

struct frame_slot {
	struct uroce_pkt pkt;
	uint32_t gap_idx;
	/* index of the next frame in the bucket, the free stack or the list of released frames */
	uint32_t next;
};

struct uroce_reorder_buffer {
	uint32_t nb_gaps;
	uint32_t nb_frames;
	uint32_t bucket_mask;
	/*
	 * index of the top of the stack of free gap records; NONE: the next record to allocate is
	 * the one at used_gaps
	 */
	uint32_t free_gap;
	/*
	 * index of the top of the stack of free frames; NONE: the next frame to allocate is the one
	 * at used_frames
	 */
	uint32_t free_frame;
	/* index of the first released frame; NONE: no released frame waits to be reaped */
	uint32_t released;
	/*
	 * number of gap records that were ever used: the records from this index on were never used
	 */
	uint32_t used_gaps;
	/* number of frames that were ever used: the frames from this index on were never used */
	uint32_t used_frames;
	uint32_t nb_taken; /* number of gap records that are in use */
	uint32_t nb_ready; /* number of filled PSN gaps with packets that wait for execution */
	uint32_t nb_held;  /* number of frames that are buffered */
	uint32_t newest;   /* index of the frame that was buffered last */
	struct gap_slot *gaps;
	struct frame_slot *frames;
	uint32_t *buckets;
	struct uroce_peer_cache peers;
};

static size_t
round_up_to_line(size_t len)
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
uroce_reorder_buffer_memsize(uint32_t nb_gaps, uint32_t nb_frames)
{
	return round_up_to_line(sizeof(struct uroce_reorder_buffer)) +
	       nb_gaps * sizeof(struct gap_slot) +
	       round_up_to_line(nb_frames * sizeof(struct frame_slot)) +
	       nb_buckets(nb_frames) * sizeof(uint32_t);
}

struct uroce_reorder_buffer *
uroce_reorder_buffer_init(void *mem, uint32_t nb_gaps, uint32_t nb_frames)
{
	struct uroce_reorder_buffer *reorder_buffer = mem;
	uint8_t *at = (uint8_t *)mem + round_up_to_line(sizeof(*reorder_buffer));

	assert((uintptr_t)mem % _Alignof(struct gap_slot) == 0);
	*reorder_buffer = (struct uroce_reorder_buffer){
		.nb_gaps = nb_gaps,
		.nb_frames = nb_frames,
		.bucket_mask = nb_buckets(nb_frames) - 1,
		.free_gap = NONE,
		.free_frame = NONE,
		.released = NONE,
	};
	reorder_buffer->gaps = (struct gap_slot *)at;
	at += nb_gaps * sizeof(struct gap_slot);
	reorder_buffer->frames = (struct frame_slot *)at;
	at += round_up_to_line(nb_frames * sizeof(struct frame_slot));
	reorder_buffer->buckets = (uint32_t *)at;
	/* each bucket becomes NONE, which means that it is empty: the bytes of NONE are 0xff */
	memset(reorder_buffer->buckets, 0xff, (reorder_buffer->bucket_mask + 1) * sizeof(uint32_t));
	return reorder_buffer;
}

struct uroce_psn_gap *
uroce_reorder_buffer_alloc_gap(struct uroce_reorder_buffer *reorder_buffer)
{
	struct gap_slot *slot;

	if (reorder_buffer->free_gap != NONE) {
		slot = &reorder_buffer->gaps[reorder_buffer->free_gap];
		reorder_buffer->free_gap = slot->next_free;
	} else if (reorder_buffer->used_gaps < reorder_buffer->nb_gaps) {
		slot = &reorder_buffer->gaps[reorder_buffer->used_gaps++];
		slot->gap = (struct uroce_psn_gap){ .nb = 0 };
	} else {
		return NULL;
	}
	reorder_buffer->nb_taken++;
	return &slot->gap;
}

void
uroce_reorder_buffer_free_gap(struct uroce_reorder_buffer *reorder_buffer,
			      struct uroce_psn_gap *gap, uint32_t base_psn)
{
	struct gap_slot *slot = (struct gap_slot *)gap;

	for (uint32_t psn = base_psn; gap->nb; psn++) {
		if (uroce_psn_gap_has(gap, psn))
			uroce_reorder_buffer_drop(reorder_buffer, gap, psn & UROCE_PSN_MASK);
	}
	gap->ddp.nb = 0;
	gap->nb_reads = 0;
	slot->next_free = reorder_buffer->free_gap;
	reorder_buffer->free_gap = (uint32_t)(slot - reorder_buffer->gaps);
	reorder_buffer->nb_taken--;
}

static uint32_t *
find_frame_bucket(const struct uroce_reorder_buffer *reorder_buffer, uint32_t gap_idx, uint32_t psn)
{
	return &reorder_buffer
			->buckets[(psn + gap_idx * 0x9e3779b1u) & reorder_buffer->bucket_mask];
}

static uint32_t
get_gap_index(const struct uroce_reorder_buffer *reorder_buffer, const struct uroce_psn_gap *gap)
{
	return (uint32_t)((const struct gap_slot *)gap - reorder_buffer->gaps);
}

bool
uroce_reorder_buffer_insert(struct uroce_reorder_buffer *reorder_buffer, struct uroce_psn_gap *gap,
			    const struct uroce_pkt *pkt)
{
	const uint32_t gap_idx = get_gap_index(reorder_buffer, gap);
	uint32_t *bucket = find_frame_bucket(reorder_buffer, gap_idx, pkt->psn);
	uint32_t idx = reorder_buffer->free_frame;

	if (idx != NONE)
		reorder_buffer->free_frame = reorder_buffer->frames[idx].next;
	else if (reorder_buffer->used_frames < reorder_buffer->nb_frames)
		idx = reorder_buffer->used_frames++;
	else
		return false;
	reorder_buffer->frames[idx] = (struct frame_slot){ *pkt, gap_idx, *bucket };
	*bucket = idx;
	reorder_buffer->nb_held++;
	reorder_buffer->newest = idx;
	uroce_psn_gap_mark(gap, pkt->psn);
	return true;
}

void
uroce_reorder_buffer_relocate(struct uroce_reorder_buffer *reorder_buffer, const void *owner,
			      const uint8_t *frame, void *new_owner)
{
	struct uroce_pkt *pkt = &reorder_buffer->frames[reorder_buffer->newest].pkt;

	assert(pkt->owner == owner);
	pkt->ip = frame + (pkt->ip - pkt->frame);
	pkt->bth = (const struct uroce_bth *)(frame + ((const uint8_t *)pkt->bth - pkt->frame));
	pkt->ext = frame + (pkt->ext - pkt->frame);
	pkt->payload = frame + (pkt->payload - pkt->frame);
	pkt->frame = frame;
	pkt->owner = new_owner;
}

/*
 * Find the bucket or the frame whose link leads to the frame that is buffered for a PSN behind a
 * gap.
 * @return the field that holds the index of the frame; its value is NONE if there is no such frame
 */
static uint32_t *
find_frame(const struct uroce_reorder_buffer *reorder_buffer, const struct uroce_psn_gap *gap,
	   uint32_t psn)
{
	const uint32_t gap_idx = get_gap_index(reorder_buffer, gap);
	uint32_t *at = find_frame_bucket(reorder_buffer, gap_idx, psn);

	while (*at != NONE && (reorder_buffer->frames[*at].gap_idx != gap_idx ||
			       reorder_buffer->frames[*at].pkt.psn != psn))
		at = &reorder_buffer->frames[*at].next;
	return at;
}

const struct uroce_pkt *
uroce_reorder_buffer_find(const struct uroce_reorder_buffer *reorder_buffer,
			  const struct uroce_psn_gap *gap, uint32_t psn)
{
	const uint32_t idx = *find_frame(reorder_buffer, gap, psn);

	return idx == NONE ? NULL : &reorder_buffer->frames[idx].pkt;
}

void
uroce_reorder_buffer_drop(struct uroce_reorder_buffer *reorder_buffer, struct uroce_psn_gap *gap,
			  uint32_t psn)
{
	uint32_t *at = find_frame(reorder_buffer, gap, psn);
	const uint32_t idx = *at;

	uroce_psn_gap_clear(gap, psn);
	if (idx == NONE)
		return;
	*at = reorder_buffer->frames[idx].next;
	reorder_buffer->frames[idx].next = reorder_buffer->released;
	reorder_buffer->released = idx;
	reorder_buffer->nb_held--;
}

void
uroce_reorder_buffer_add_ready(struct uroce_reorder_buffer *reorder_buffer, int nb)
{
	reorder_buffer->nb_ready += (uint32_t)nb;
}

bool
uroce_reorder_buffer_has_ready(const struct uroce_reorder_buffer *reorder_buffer)
{
	return reorder_buffer->nb_ready > 0;
}

unsigned
uroce_reorder_buffer_reap(struct uroce_reorder_buffer *reorder_buffer, void **owners, unsigned max)
{
	unsigned nb = 0;

	while (nb < max && reorder_buffer->released != NONE) {
		const uint32_t idx = reorder_buffer->released;

		owners[nb++] = reorder_buffer->frames[idx].pkt.owner;
		reorder_buffer->released = reorder_buffer->frames[idx].next;
		reorder_buffer->frames[idx].next = reorder_buffer->free_frame;
		reorder_buffer->free_frame = idx;
	}
	return nb;
}

uint32_t
uroce_reorder_buffer_count(const struct uroce_reorder_buffer *reorder_buffer)
{
	return reorder_buffer->nb_held;
}

uint32_t
uroce_reorder_buffer_count_gaps(const struct uroce_reorder_buffer *reorder_buffer)
{
	return reorder_buffer->nb_taken;
}

struct uroce_peer_cache *
uroce_reorder_buffer_peer_cache(struct uroce_reorder_buffer *reorder_buffer)
{
	return &reorder_buffer->peers;
}
