/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_TWINS_DRAW_H
#define TEST_TWINS_DRAW_H

/**
 * @file
 * What a peer might send to a twin: requests in order and answers to what the twin asks, in runs of
 * packets that are alike, among which here and there one is almost alike: another bit in a header, another
 * PSN, key, address or length, a mark, a wrong ICRC.
 */

#include "../fuzz-frames/rng.h"
#include "twin.h"

#define DRAW_ANSWERS 1024u

/** An answer that the twin waits for. */
struct draw_answer {
	uint8_t low; /* opcode */
	uint32_t psn;
	uint32_t len;
};

struct draw {
	struct rng rng;
	uint32_t ask_in; /* one run in so many is of requests of the peer */
	uint32_t odd_in; /* one frame in so many is almost alike; 0: none */
	struct draw_answer answers[DRAW_ANSWERS];
	unsigned nb_answers;
	/* the message that goes on in the next frames */
	uint8_t operation; /* enum uroce_operation */
	uint32_t nb_left;  /* packets; the last one included */
	uint32_t last_len;
};

/** The twin has sent this: remember how a peer answers it. */
void draw_note_sent(struct draw *draw, struct twin *twin, const uint8_t *frame, uint32_t len);

/** A burst. @return how many frames */
unsigned draw_burst(struct draw *draw, struct twin *twin, struct twin_frame frames[TWIN_BURST]);

#endif /* TEST_TWINS_DRAW_H */
