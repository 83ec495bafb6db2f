/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_FRAME_H
#define TEST_SIM_FRAME_H

/**
 * @file
 * Frames as bytes, built as the data path builds them, and the pool from which frames are
 * allocated.
 */

#include <stdbool.h>
#include <stdint.h>

#include "transport/qpc.h"

#define FRAME_MAX (UROCE_HDR_MAX + 4096 + 4 + 4)

struct frame {
	struct frame *next; /* next frame of the pool or of a receive queue */
	uint32_t len;
	uint8_t from; /* index of the sending host */
	uint8_t to;
	/* the frame goes to every host with a member of the multicast group; `to` is not used */
	bool is_to_group;
	bool is_spoilt;     /* bits of the frame were flipped, at byte spoilt_at */
	uint16_t spoilt_at; /* offset of the first byte with flipped bits */
	uint8_t bytes[FRAME_MAX];
};

/** A pool of frames. All zero: an empty pool. */
struct frame_pool {
	struct frame *free;
	struct frame **blocks;
	uint32_t nb_blocks;
};

struct frame *frame_take(struct frame_pool *pool);
void frame_give(struct frame_pool *pool, struct frame *frame);
void frame_pool_free(struct frame_pool *pool);

/**
 * Complete a frame whose headers the transport has written to `frame->bytes`: copy the payload
 * behind the headers, add padding and the ICRC.
 * @param txd  the descriptor of the frame, whose `hdr` is `frame->bytes`
 */
void frame_build(struct frame *frame, const struct uroce_txd *txd);

/**
 * Whether the receiver detects a flipped bit in byte `at`: the ICRC covers the byte, or another
 * check does.
 */
bool frame_is_covered(const struct frame *frame, uint16_t at);

/**
 * Set the ECN bits to "congestion experienced" if the frame is ECN-capable.
 * @return whether the bits were set
 */
bool frame_mark(struct frame *frame);

#endif /* TEST_SIM_FRAME_H */
