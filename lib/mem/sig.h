/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_SIG_H
#define UROCE_MEM_SIG_H

/**
 * @file
 * Signatures of blocks of data: what stands behind a block, in memory or on the wire, and tells whether
 * the block is still what it was.
 *
 *	T10-DIF	| guard:16 | application tag:16 | reference tag:32 |, big-endian [T10 SBC-3]; the guard is
 *		the CRC of polynomial 0x8bb7 or the Internet checksum
 *	CRC	CRC-32 of Ethernet and Fibre Channel, CRC-32C of iSCSI, CRC-64 of XP10: little-endian
 *
 * The guard begins as the seed, and a CRC is exclusive-or-ed with the seed in the end: of all ones both
 * are what the standards say, of 0 nothing is inverted.
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

/** Of T10-DIF. */
enum uroce_sig_flag {
	UROCE_SIG_REF_REMAP = 1 << 0,      /* the reference tag grows by 1 with each block */
	UROCE_SIG_APP_ESCAPE = 1 << 1,     /* no guard where the application tag is 0xffff */
	UROCE_SIG_APP_REF_ESCAPE = 1 << 2, /* and the reference tag 0xffffffff */
};

/** The most bytes of a signature. */
#define UROCE_SIG_LEN_MAX 8

/** What the data of one side, memory or wire, looks like. */
struct uroce_sig_domain {
	uint64_t seed;
	uint32_t ref_tag; /* of the first block */
	uint16_t app_tag;
	uint16_t block_len; /* bytes of data that a signature stands behind; 0: there are none */
	uint8_t kind;       /* enum uroce_sig_kind */
	uint8_t flags;      /* enum uroce_sig_flag */
	uint8_t len;        /* bytes of a signature, see uroce_sig_len() */
};

/** What is wrong with a block. */
enum uroce_sig_fault {
	UROCE_SIG_GOOD,
	UROCE_SIG_BAD_GUARD,
	UROCE_SIG_BAD_REF_TAG,
	UROCE_SIG_BAD_APP_TAG,
};

struct uroce_sig_error {
	uint64_t actual;   /* what follows from the data, and from the domain */
	uint64_t expected; /* what the signature says */
	uint8_t fault;     /* enum uroce_sig_fault */
};

/** Bytes of a signature. */
uint8_t uroce_sig_len(enum uroce_sig_kind kind);

/** The state of a guard before a block's first byte. */
uint64_t uroce_sig_begin(const struct uroce_sig_domain *domain);

/** Extend it over the block's next bytes. */
uint64_t uroce_sig_add(const struct uroce_sig_domain *domain, uint64_t state, const void *data,
		       uint32_t len);

/** The signature of block `nth`, whose guard's state is that. */
void uroce_sig_end(const struct uroce_sig_domain *domain, uint64_t state, uint64_t nth,
		   uint8_t sig[UROCE_SIG_LEN_MAX]);

/**
 * Take bytes of one signature over into another of the same kind.
 * @param mask  a bit for each byte, as in uroce_sig_check()
 */
void uroce_sig_copy(const struct uroce_sig_domain *domain, uint8_t to[UROCE_SIG_LEN_MAX],
		    const uint8_t from[UROCE_SIG_LEN_MAX], uint8_t mask);

/**
 * Compare the signature that stands behind a block with the one that it should have. Of several faults
 * the first is told in the order guard, application tag, reference tag.
 * @param mask  bit i: byte i of the signature, seen as one number, is to be right; of CRCs of four
 *	bytes bit 4 + i [mlx5dv_wr_set_mkey_sig_block(3)]
 * @return whether it is good
 */
bool uroce_sig_check(const struct uroce_sig_domain *domain, const uint8_t found[UROCE_SIG_LEN_MAX],
		     const uint8_t wanted[UROCE_SIG_LEN_MAX], uint8_t mask,
		     struct uroce_sig_error *error);

#endif /* UROCE_MEM_SIG_H */
