/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_MKEY_H
#define TEST_SIM_MKEY_H

/**
 * @file
 * An mkey of a world: its layout, and the transformation of data through it. This model computes
 * signatures independently, from the standards. It shares with the transport only the constants of
 * a configuration.
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
	uint32_t at;     /* offset of the mkey's area in the owner's memory */
	uint32_t extent; /* length of that area */
	struct uroce_sig_domain mem, wire;
	uint8_t check_mask;
	uint8_t copy_mask;
	uint32_t repeat;
	uint32_t nb_pieces;
	struct uroce_mkey_piece piece[MKEY_PIECES]; /* pieces; addresses are offsets in the area */
	uint32_t len;                               /* length of the layout */
	/* offset in the owner's memory of each byte of the layout */
	uint32_t *place;
	uint8_t *image; /* what each byte of the layout must contain */
	/* the error that must be reported; a fault of 0: none */
	struct uroce_mkey_error due;
	uint32_t *bad_at; /* bytes of the wire whose arrival reveals a bad block */
	uint32_t nb_bad;
};

/** Draw a kind of signatures, or none. */
struct uroce_sig_domain mkey_draw_domain(struct rng *rng);

/** The number of bytes on a side, signatures included, for so many bytes of data. */
uint32_t mkey_spread(const struct uroce_sig_domain *domain, uint32_t data_len);

/**
 * Draw an mkey for at least `data_len` bytes of data, but for its place in memory. The format on
 * the wire is given.
 */
void mkey_draw(struct mkey *mkey, struct qp *owner, const struct uroce_sig_domain *wire,
	       uint32_t data_len);

/** Create the mkey over `[at, at + extent)` of its owner's memory. */
void mkey_make(struct mkey *mkey, uint32_t at);

/** Bytes of data for which the mkey has room. */
uint32_t mkey_room(const struct mkey *mkey);

/** Write data with signatures in the format of one side. */
void mkey_join(const struct uroce_sig_domain *domain, const uint8_t *data, uint32_t data_len,
	       uint8_t *out);

/** Flip a bit in one or more blocks or in their signatures; nothing if there are none. */
void mkey_damage(struct rng *rng, const struct uroce_sig_domain *domain, uint8_t *bytes,
		 uint32_t len);

/**
 * Write data, damaged or not, into the memory that an mkey describes; return the bytes that must be
 * on the wire.
 */
void mkey_load(struct mkey *mkey, const uint8_t *data, uint32_t data_len, bool is_damaged,
	       uint8_t *bytes);

/** Compute what memory must contain when these bytes have arrived through the mkey. */
void mkey_expect(struct mkey *mkey, const uint8_t *bytes, uint32_t len);

/**
 * The offset in the owner's memory of a byte on the wire; UINT32_MAX: the byte belongs to a
 * signature.
 */
uint32_t mkey_landing(const struct mkey *mkey, uint32_t wire_at);

/** Update the owner's shadow with what bytes `[from, to)` of the wire change in memory. */
void mkey_apply(const struct mkey *mkey, uint32_t from, uint32_t to);

/** Whether memory contains what bytes `[from, to)` of the wire must change. */
bool mkey_is_there(const struct mkey *mkey, uint32_t from, uint32_t to);

/** Query the mkey's error, which must be `due`, and query again: a second error must not exist. */
void mkey_ask(struct mkey *mkey, const struct uroce_mkey_error *due);

#endif /* TEST_SIM_MKEY_H */
