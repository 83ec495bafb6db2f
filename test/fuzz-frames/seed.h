/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_SEED_H
#define FUZZ_FRAMES_SEED_H

/**
 * @file
 * Frames that a victim could believe in, from its peer: requests that continue what it is receiving,
 * responses to what it is waiting for, with the keys, addresses and PSNs that it expects or nearly
 * so; and frames of others, captured and readdressed. What the mutations start from.
 */

#include "victim.h"

struct seeds {
	const struct victims *victims;
	uint32_t beside_qpn; /* of a QP that is not ours to attack from its peer's address */
	uint32_t beside_key; /* of its memory */
	uint64_t beside_va;
	uint8_t noise[8192];                   /* payload */
	uint64_t nb_state[3][IBV_QPS_ERR + 1]; /* frames for a RC, UC, UD QP while in each state */
};

void seeds_init(struct seeds *seeds, const struct victims *victims);

/** Make a frame for some victim. @return the victim */
const struct victim *seeds_make(struct seeds *seeds, struct frame *frame, struct rng *rng);

#endif /* FUZZ_FRAMES_SEED_H */
