/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_MKEY_H
#define TEST_SIM_MKEY_H

/**
 * @file
 * An mkey of a world: its layout, and what must become of data on its way through. Signatures are summed
 * up here in a way of its own, from what the standards say: nothing is the engine's but the words of a
 * configuration.
 */

#include <stdbool.h>
#include <stdint.h>

#include "mem/mkey.h"

struct qp;
struct rng;

#define MKEY_PIECES 3

struct mkey {
	struct qp *owner;
	uint32_t key;
	uint32_t at;     /* where its area begins in its owner's memory */
	uint32_t extent; /* bytes of that */
	struct uroce_sig_domain mem, wire;
	uint8_t check_mask;
	uint8_t copy_mask;
	uint32_t repeat;
	uint32_t nb_pieces;
	struct uroce_mkey_piece piece[MKEY_PIECES]; /* addresses count from the area */
	uint32_t len;                               /* bytes of the layout */
	uint32_t *place;                            /* where each is in its owner's memory */
	uint8_t *image;                             /* what they must be */
	struct uroce_mkey_error due;                /* what it has to tell; a fault of 0: nothing */
	uint32_t *bad_at; /* the bytes of the wire that bring out what is bad */
	uint32_t nb_bad;
};

/** Signatures of some kind, or none. */
struct uroce_sig_domain mkey_draw_domain(struct rng *rng);

/** Bytes of a side that has so much data. */
uint32_t mkey_spread(const struct uroce_sig_domain *domain, uint32_t data_len);

/** Draw all but the place of an mkey for at least so much data; what is on the wire is given. */
void mkey_draw(struct mkey *mkey, struct qp *owner, const struct uroce_sig_domain *wire,
	       uint32_t data_len);

/** Make it, over `[at, at + extent)` of its owner's memory. */
void mkey_make(struct mkey *mkey, uint32_t at);

/** Bytes of data that it has room for. */
uint32_t mkey_room(const struct mkey *mkey);

/** Put data, with signatures, in one side's order. */
void mkey_join(const struct uroce_sig_domain *domain, const uint8_t *data, uint32_t data_len,
	       uint8_t *out);

/** Flip a bit of a block or of its signature, or of some; nothing where there is none. */
void mkey_damage(struct rng *rng, const struct uroce_sig_domain *domain, uint8_t *bytes,
		 uint32_t len);

/** Put data where an mkey leads from, damaged or not, and say what leaves. */
void mkey_load(struct mkey *mkey, const uint8_t *data, uint32_t data_len, bool is_damaged,
	       uint8_t *bytes);

/** Bytes are going to arrive: what they must become. */
void mkey_expect(struct mkey *mkey, const uint8_t *bytes, uint32_t len);

/** Where a byte of the wire lands in its owner's memory; UINT32_MAX: it is of a signature. */
uint32_t mkey_landing(const struct mkey *mkey, uint32_t wire_at);

/** What the bytes `[from, to)` of the wire change in memory is now so in the owner's shadow. */
void mkey_apply(const struct mkey *mkey, uint32_t from, uint32_t to);

/** Whether that is so in memory. */
bool mkey_is_there(const struct mkey *mkey, uint32_t from, uint32_t to);

/** Ask it for its error, which has to be this, and then for another, which it does not have. */
void mkey_ask(struct mkey *mkey, const struct uroce_mkey_error *due);

#endif /* TEST_SIM_MKEY_H */
