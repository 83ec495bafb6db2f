/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_TWINS_DRAW_H
#define TEST_TWINS_DRAW_H

/**
 * @file
 * Frames that a peer might send to a twin: requests in order, and responses to the twin's requests.
 * They are in runs of similar packets. Some packets of a run differ slightly: in a bit of a header,
 * in the PSN, the key, the address or the length, by an ECN mark, or by an invalid ICRC.
 */

#include "../fuzz-frames/rng.h"
#include "twin.h"

#define DRAW_ANSWERS 1024u

/** A response that a peer has to send to the twin. */
struct draw_answer {
	uint8_t low; /* low bits of the response's opcode */
	uint32_t psn;
	uint32_t len;
};

struct draw {
	struct rng rng;
	/* while there are responses to send, one of every `ask_in` runs has requests */
	uint32_t ask_in;
	/* one of every `odd_in` frames differs slightly from a valid frame; 0: no frame does */
	uint32_t odd_in;
	struct draw_answer answers[DRAW_ANSWERS];
	unsigned nb_answers;
	/* state of the message in progress, which the next requests continue */
	uint8_t operation; /* operation of the message in progress (enum uroce_operation) */
	uint32_t nb_left;  /* number of packets that follow, including the Last */
	uint32_t last_len;
};

/** Record the responses that a peer sends to a frame of the twin. */
void draw_note_sent(struct draw *draw, struct twin *twin, const uint8_t *frame, uint32_t len);

/**
 * Draw a burst of frames to the twin.
 * @return number of frames
 */
unsigned draw_burst(struct draw *draw, struct twin *twin, struct twin_frame frames[TWIN_BURST]);

#endif /* TEST_TWINS_DRAW_H */
