/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_FRAME_H
#define FUZZ_FRAMES_FRAME_H

/**
 * @file
 * A frame under construction: its bytes, and the offsets of its headers. If a mutation changes the
 * bytes of a header, the offsets remain those of the original headers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rng.h"

#define FRAME_ROOM 4096
/** Maximum length of a frame. Mutations keep this limit, so that frames fit their buffers. */
#define FRAME_MAX 2000

struct frame {
	uint32_t len;
	uint16_t ip_off;
	uint16_t bth_off;
	bool is_ipv6;
	uint8_t at[FRAME_ROOM];
};

static inline uint16_t
frame_udp_off(const struct frame *frame)
{
	return (uint16_t)(frame->bth_off - 8);
}

/** Set the IP and UDP lengths to the length of the frame. */
void frame_fit(struct frame *frame);

/**
 * Compute the ICRC over the current bytes of a frame, and store it where a receiver expects the
 * ICRC: at the end of the packet as the IP length gives it, or at the end of the frame if the IP
 * length exceeds the frame.
 * @return false if the frame has no IP header with room for a BTH and an ICRC behind it
 */
bool frame_seal(struct frame *frame);

/**
 * Mutate a frame in one to four ways. Sometimes the end of the frame is first replaced by the end
 * of `other`.
 * @param other  another frame, or NULL if there is none
 */
void frame_mutate(struct frame *frame, const struct frame *other, struct rng *rng);

#endif /* FUZZ_FRAMES_FRAME_H */
