/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_TWINS_TWIN_H
#define TEST_TWINS_TWIN_H

/**
 * @file
 * Two QPs that live the same life, but for one thing: what one of them receives comes frame by frame, the
 * other gets it in bursts. Nobody may be able to tell them apart: by their state, their memory, their
 * completions or the frames that they send.
 *
 * Each is a side of a pair (test/unit/transport/pair.h), whose other side is there for its addresses
 * only. Memory is registered at the same address in both.
 */

#include <stdbool.h>
#include <stdint.h>

#include "../unit/transport/pair.h"

#define TWIN_MEM_LEN 65536u
#define TWIN_IOVA    UINT64_C(0x7654321000)
#define TWIN_BURST   64u

/** Keys of a twin's memory; both have the same. */
struct twin_keys {
	uint32_t all;      /* of all of it, with all rights */
	uint32_t readable; /* of all of it, for READs of the peer alone */
	uint32_t some;     /* of its first quarter, with all rights */
	uint32_t window;   /* of type 2B; led to the first half when it was bound last */
};

struct twin {
	struct pair pair;
	enum pair_side side;
	bool is_in_bursts;
	struct twin_keys keys;
	uint8_t verdicts[TWIN_BURST]; /* of the last burst */
	uint8_t sent[TWIN_BURST][8192];
	uint32_t sent_len[TWIN_BURST];
};

/** A frame before it arrives: each twin gets a copy. */
struct twin_frame {
	uint8_t bytes[8192];
	uint32_t len;
	bool is_cut; /* who gets frames in bursts gets no more in this one's */
};

static inline struct pair_host *
twin_host(struct twin *twin)
{
	return &twin->pair.host[twin->side];
}

static inline struct uroce_qpc *
twin_qpc(struct twin *twin)
{
	return &twin_host(twin)->qpc;
}

/** Made the same way, both are the same. */
void twin_open(struct twin *twin, const struct pair_conf *conf, enum pair_side side);
void twin_close(struct twin *twin);

/** Bind the window again, with this tag. @return as uroce_mw_bind() */
int twin_bind(struct twin *twin, uint8_t tag);

/** Up to TWIN_BURST frames arrive now. */
void twin_receive(struct twin *twin, const struct twin_frame *frames, unsigned nb);

/** What is to be sent, at most `max` frames, is in `sent`. @return how many */
unsigned twin_send(struct twin *twin, unsigned max);

/** Timers that are due expire. */
void twin_expire(struct twin *twin);

/**
 * Compare, and take completions out if asked to.
 * @return what is different; NULL: nothing
 */
const char *twin_compare(struct twin *a, struct twin *b, unsigned nb_received, bool is_polled);

#endif /* TEST_TWINS_TWIN_H */
