/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_TWINS_TWIN_H
#define TEST_TWINS_TWIN_H

/**
 * @file
 * Twins: two QPs that are used in the same way, with one difference: one receives frames one by
 * one, the other in bursts. There must be no difference in their state, their memory, their
 * completions or the frames that they send. Each twin is a side of a pair
 * (test/unit/transport/pair.h) of its own. The other side of that pair is used for its addresses
 * only. Both twins have memory registered at the same address.
 */

#include <stdbool.h>
#include <stdint.h>

#include "../unit/transport/pair.h"

#define TWIN_MEM_LEN 65536u
#define TWIN_IOVA    UINT64_C(0x7654321000)
#define TWIN_BURST   64u

/** Keys of a twin's memory. The keys of both twins have the same values. */
struct twin_keys {
	uint32_t all;      /* key of all memory, with all rights */
	uint32_t readable; /* key of all memory, for READs of the peer only */
	uint32_t some;     /* key of the first quarter of the memory, with all rights */
	uint32_t window;   /* key of a window of type 2B, which was last bound to the first half */
};

struct twin {
	struct pair pair;
	enum pair_side side;
	bool is_in_bursts;
	struct twin_keys keys;
	uint8_t verdicts[TWIN_BURST]; /* verdicts of the latest burst */
	uint8_t sent[TWIN_BURST][8192];
	uint32_t sent_len[TWIN_BURST];
};

/** A frame that arrives at both twins: each twin gets a copy. */
struct twin_frame {
	uint8_t bytes[8192];
	uint32_t len;
	bool is_cut; /* the frame is the last one of its burst */
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

/** Open a twin. Two twins that are opened with the same `conf` and `side` are equal. */
void twin_open(struct twin *twin, const struct pair_conf *conf, enum pair_side side);
void twin_close(struct twin *twin);

/**
 * Bind the memory window again. `tag` is the new low byte of its rkey.
 * @return the result of uroce_mw_bind()
 */
int twin_bind(struct twin *twin, uint8_t tag);

/** Let a twin receive copies of the frames, at most TWIN_BURST. */
void twin_receive(struct twin *twin, const struct twin_frame *frames, unsigned nb);

/**
 * Let a twin build at most `max` frames, in `sent`.
 * @return number of frames
 */
unsigned twin_send(struct twin *twin, unsigned max);

/** Expire the timers of a twin that are due. */
void twin_expire(struct twin *twin);

/**
 * Compare the twins. Then poll the completions of both if `is_polled`.
 * @return name of the first difference; NULL: none
 */
const char *twin_compare(struct twin *a, struct twin *b, unsigned nb_received, bool is_polled);

#endif /* TEST_TWINS_TWIN_H */
