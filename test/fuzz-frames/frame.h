/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_FRAME_H
#define FUZZ_FRAMES_FRAME_H

/**
 * @file
 * A frame under construction: its bytes and the offsets of its headers. The offsets stay those of
 * the original frame when its bytes are mutated.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rng.h"

#define FRAME_ROOM 4096
/** Limit of the frame length: no mutation exceeds it, so that frames fit their buffers. */
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
 * Compute the ICRC of the present bytes and store it where a receiver expects it. That is the end
 * of the length in the IP header, or else the end of the frame.
 * @return false: there is no IP header with room for a BTH and an ICRC behind it
 */
bool frame_seal(struct frame *frame);

/** Mutate the frame in one to four ways; perhaps insert a part of `other`. */
void frame_mutate(struct frame *frame, const struct frame *other, struct rng *rng);

#endif /* FUZZ_FRAMES_FRAME_H */
