/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_SIG_H
#define UROCE_MEM_SIG_H

/**
 * @file
 * Signatures of data blocks. A signature follows its block, in memory or on the wire, and reveals
 * whether the block has changed.
 *
 *	T10-DIF	| guard:16 | application tag:16 | reference tag:32 |, big-endian [T10 SBC-3]; the
 *		guard is the CRC of polynomial 0x8bb7 or the Internet checksum
 *	CRC	little-endian: CRC-32 of Ethernet and Fibre Channel, CRC-32C of iSCSI, CRC-64 of
 *		XP10
 *
 * The guard begins with the seed of the format. At the end a CRC is exclusive-or-ed with the seed.
 * A seed of all ones gives the standard CRCs; with seed 0 nothing is inverted.
 */

#include <stdbool.h>
#include <stdint.h>

enum uroce_sig_kind {
	UROCE_SIG_NONE,
	UROCE_SIG_T10_CRC,
	UROCE_SIG_T10_CSUM,
	UROCE_SIG_CRC32,
	UROCE_SIG_CRC32C,
	UROCE_SIG_CRC64,
};

/** Options of a T10-DIF signature. */
enum uroce_sig_flag {
	UROCE_SIG_REF_REMAP = 1 << 0, /* the reference tag grows by 1 with each block */
	/* the guard of a block is not checked if the application tag is 0xffff */
	UROCE_SIG_APP_ESCAPE = 1 << 1,
	/*
	 * the guard of a block is not checked if the application tag is 0xffff and the reference
	 * tag is 0xffffffff
	 */
	UROCE_SIG_APP_REF_ESCAPE = 1 << 2,
};

/** Maximum length of a block signature in bytes. */
#define UROCE_SIG_LEN_MAX 8

/** Format of the data of an mkey, with its signatures, on one side: in memory or on the wire. */
struct uroce_sig_domain {
	uint64_t seed;
	uint32_t ref_tag; /* reference tag of the first block of the mkey */
	uint16_t app_tag;
	/*
	 * number of data bytes of a block; the signature of the block follows them; 0: the data has
	 * no signatures
	 */
	uint16_t block_len;
	uint8_t kind;  /* kind of the signature (enum uroce_sig_kind) */
	uint8_t flags; /* flags of the signature (enum uroce_sig_flag, or-ed) */
	uint8_t len;   /* number of bytes of a signature, which uroce_sig_len() has computed */
};

/** Result of the check of a block's signature: which part of the signature was wrong, if any. */
enum uroce_sig_fault {
	UROCE_SIG_GOOD,
	UROCE_SIG_BAD_GUARD,
	UROCE_SIG_BAD_REF_TAG,
	UROCE_SIG_BAD_APP_TAG,
};

struct uroce_sig_error {
	/* value of the bad part of the signature, computed from the data and the format */
	uint64_t actual;
	uint64_t expected; /* value of the bad part in the signature that was checked */
	uint8_t fault;     /* the part of the signature that is bad (enum uroce_sig_fault) */
};

/** Get the number of bytes of a signature of the kind `kind`. */
uint8_t uroce_sig_len(enum uroce_sig_kind kind);

/** Get the initial state of the guard of a block signature, before the first byte of the block. */
uint64_t uroce_sig_begin(const struct uroce_sig_domain *domain);

/** Extend the state of the guard of a block signature over the next `len` bytes of the block. */
uint64_t uroce_sig_add(const struct uroce_sig_domain *domain, uint64_t state, const void *data,
		       uint32_t len);

/**
 * Compute the signature of the block with number `nth`. `state` is the state of its guard after the
 * last byte of the block.
 */
void uroce_sig_end(const struct uroce_sig_domain *domain, uint64_t state, uint64_t nth,
		   uint8_t sig[UROCE_SIG_LEN_MAX]);

/**
 * Copy some bytes of one signature into another signature of the same kind.
 * @param mask  a bit for each byte, as in uroce_sig_check()
 */
void uroce_sig_copy(const struct uroce_sig_domain *domain, uint8_t to[UROCE_SIG_LEN_MAX],
		    const uint8_t from[UROCE_SIG_LEN_MAX], uint8_t mask);

/**
 * Compare a block's signature, `found`, with the computed one, `wanted`. Of several faults the
 * first in the order guard, application tag, reference tag is reported.
 * @param mask  bit i: byte i of the signature, as a number, is compared; for CRCs of four bytes,
 *	bit 4 + i [mlx5dv_wr_set_mkey_sig_block(3)]
 * @return whether all compared bytes are equal
 */
bool uroce_sig_check(const struct uroce_sig_domain *domain, const uint8_t found[UROCE_SIG_LEN_MAX],
		     const uint8_t wanted[UROCE_SIG_LEN_MAX], uint8_t mask,
		     struct uroce_sig_error *error);

#endif /* UROCE_MEM_SIG_H */
