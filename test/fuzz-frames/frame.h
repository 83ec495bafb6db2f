/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_FRAME_H
#define FUZZ_FRAMES_FRAME_H

/**
 * @file
 * A frame under construction: bytes, and where its headers were put. The offsets stay those of the
 * frame as it was built, whatever happens to its bytes.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rng.h"

#define FRAME_ROOM 4096
/** No mutation makes a frame longer: it must fit the buffers that it is fed in. */
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

/** Make the lengths of IP and UDP agree with the length of the frame. */
void frame_fit(struct frame *frame);

/**
 * Compute the ICRC of whatever the frame now is and store it where a receiver looks for it, which is
 * at the end of what the IP header announces, if the frame has that, else at its own end.
 * @return false: there is no IP header with room for a BTH and an ICRC behind it
 */
bool frame_seal(struct frame *frame);

/** Change the frame in one to four ways, and perhaps graft a part of `other` into it. */
void frame_mutate(struct frame *frame, const struct frame *other, struct rng *rng);

#endif /* FUZZ_FRAMES_FRAME_H */
