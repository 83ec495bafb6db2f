/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_SEED_H
#define FUZZ_FRAMES_SEED_H

/**
 * @file
 * Frames that a victim may accept from its peer, from which mutations start. They are requests that
 * continue what the victim receives, and responses for which it waits. Keys, addresses and PSNs are
 * the expected ones or close to them. Other frames are captured and readdressed.
 */

#include "victim.h"

struct seeds {
	const struct victims *victims;
	/* a QP of the honest traffic, which must not be attacked from its peer's address */
	uint32_t beside_qpn;
	uint32_t beside_key; /* key of the memory of QP `beside_qpn` */
	uint64_t beside_va;
	uint8_t noise[8192];                   /* random bytes for payloads */
	uint64_t nb_state[3][IBV_QPS_ERR + 1]; /* frames to RC, UC and UD QPs in each state */
};

void seeds_init(struct seeds *seeds, const struct victims *victims);

/**
 * Make a frame for one of the victims.
 * @return the victim
 */
const struct victim *seeds_make(struct seeds *seeds, struct frame *frame, struct rng *rng);

#endif /* FUZZ_FRAMES_SEED_H */
