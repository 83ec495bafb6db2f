/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_MKEY_H
#define TEST_SIM_MKEY_H

/**
 * @file
 * The simulator's own model of an mkey: its layout, and how it transforms data. The model computes
 * signatures from the standards. It shares with the transport only the struct types and constants
 * of a configuration.
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
	uint32_t at;     /* offset in the owner's memory of the range that the layout uses */
	uint32_t extent; /* length of the range that the layout uses */
	struct uroce_sig_domain mem, wire;
	uint8_t check_mask;
	uint8_t copy_mask;
	uint32_t repeat;
	uint32_t nb_pieces;
	struct uroce_mkey_piece piece[MKEY_PIECES]; /* pieces; addresses are offsets from `at` */
	uint32_t len;                               /* number of bytes in the layout */
	/* place[i]: offset in the owner's memory of byte i of the layout */
	uint32_t *place;
	uint8_t *image; /* image[i]: expected content of byte i of the layout */
	/* the error that the mkey must report; if sig.fault is 0, there is no error */
	struct uroce_mkey_error due;
	/* offsets on the wire of the bytes whose arrival shows a bad block */
	uint32_t *bad_at;
	uint32_t nb_bad;
};

/** Draw at random a format with signatures of one kind, or without signatures. */
struct uroce_sig_domain mkey_draw_domain(struct rng *rng);

/** The number of bytes that `data_len` bytes of data occupy together with their signatures. */
uint32_t mkey_spread(const struct uroce_sig_domain *domain, uint32_t data_len);

/**
 * Draw an mkey for at least `data_len` bytes of data with a given format on the wire. The caller
 * chooses its place in memory afterwards (mkey_make).
 */
void mkey_draw(struct mkey *mkey, struct qp *owner, const struct uroce_sig_domain *wire,
	       uint32_t data_len);

/** Create the mkey over `[at, at + extent)` of its owner's memory. */
void mkey_make(struct mkey *mkey, uint32_t at);

/** Bytes of data for which the mkey has room. */
uint32_t mkey_room(const struct mkey *mkey);

/**
 * Write data and its signatures to `out`.
 * @param domain  the format of the signatures
 */
void mkey_join(const struct uroce_sig_domain *domain, const uint8_t *data, uint32_t data_len,
	       uint8_t *out);

/**
 * Flip a bit in one or more blocks or their signatures. Without a complete block nothing is
 * changed.
 */
void mkey_damage(struct rng *rng, const struct uroce_sig_domain *domain, uint8_t *bytes,
		 uint32_t len);

/**
 * Write data with signatures into the memory that an mkey describes.
 * @param is_damaged  a block is damaged
 * @param bytes       receives the bytes that the transport must send
 */
void mkey_load(struct mkey *mkey, const uint8_t *data, uint32_t data_len, bool is_damaged,
	       uint8_t *bytes);

/**
 * Compute what memory must contain, and which error the mkey must report, when `bytes` have arrived
 * through the mkey.
 */
void mkey_expect(struct mkey *mkey, const uint8_t *bytes, uint32_t len);

/**
 * The offset in the owner's memory of byte `wire_at` on the wire; UINT32_MAX: the byte belongs to a
 * signature.
 */
uint32_t mkey_landing(const struct mkey *mkey, uint32_t wire_at);

/**
 * Copy to the owner's shadow, the expected content of memory, what bytes `[from, to)` of the wire
 * change in memory.
 */
void mkey_apply(const struct mkey *mkey, uint32_t from, uint32_t to);

/** Whether memory contains what bytes `[from, to)` of the wire must write. */
bool mkey_is_there(const struct mkey *mkey, uint32_t from, uint32_t to);

/**
 * Query the error of the mkey twice: the first result must be `due`, and the second one no error.
 */
void mkey_ask(struct mkey *mkey, const struct uroce_mkey_error *due);

#endif /* TEST_SIM_MKEY_H */
