/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_FRAME_H
#define TEST_SIM_FRAME_H

/**
 * @file
 * Frames: real bytes, built as the data path builds them, and the pool that they come from.
 */

#include <stdbool.h>
#include <stdint.h>

#include "transport/qpc.h"

#define FRAME_MAX (UROCE_HDR_MAX + 4096 + 4 + 4)

struct frame {
	struct frame *next; /* in the pool, or in a receive queue */
	uint32_t len;
	uint8_t from; /* host */
	uint8_t to;
	bool is_to_group;   /* to each host with a member, and not to `to` */
	bool is_spoilt;     /* bits were flipped, the first of them at spoilt_at */
	uint16_t spoilt_at; /* offset of the byte */
	uint8_t bytes[FRAME_MAX];
};

/** All zero is empty. */
struct frame_pool {
	struct frame *free;
	struct frame **blocks;
	uint32_t nb_blocks;
};

struct frame *frame_take(struct frame_pool *pool);
void frame_give(struct frame_pool *pool, struct frame *frame);
void frame_pool_free(struct frame_pool *pool);

/**
 * Finish the frame of a descriptor whose header room was `frame->bytes`: gather the payload behind
 * the header, pad, ICRC.
 */
void frame_build(struct frame *frame, const struct uroce_txd *txd);

/** Whether a flipped bit in that byte may go unnoticed: no checksum of ours covers it. */
bool frame_is_covered(const struct frame *frame, uint16_t at);

/** Set the ECN bits to "congestion experienced", if the frame's sender understands them. */
bool frame_mark(struct frame *frame);

#endif /* TEST_SIM_FRAME_H */
