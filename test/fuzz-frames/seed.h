/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_SEED_H
#define FUZZ_FRAMES_SEED_H

/**
 * Frames that a victim may accept from its peer. Most of these frames are mutated before they are
 * sent. The frames are requests that continue the message which the victim receives, and responses
 * that the victim waits for. Keys, addresses and PSNs are the expected ones or close to them. Some
 * frames are frames of the honest traffic that were captured and are sent to a victim.
 */

#include "victim.h"

struct seeds {
	const struct victims *victims;
	/* a QP of the honest traffic, at which some mutated frames are aimed */
	uint32_t beside_qpn;
	uint32_t beside_key; /* rkey of the buffer of QP `beside_qpn` */
	uint64_t beside_va;
	uint8_t noise[8192]; /* random bytes, from which payloads are taken */
	/* number of frames to victims of type RC, UC and UD in each state */
	uint64_t nb_state[3][IBV_QPS_ERR + 1];
};

void seeds_init(struct seeds *seeds, const struct victims *victims);

/**
 * Choose a victim, and make a valid frame for it.
 * @return the victim
 */
const struct victim *seeds_make(struct seeds *seeds, struct frame *frame, struct rng *rng);

#endif /* FUZZ_FRAMES_SEED_H */
