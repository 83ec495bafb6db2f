/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_MKEY_SEGMENT_H
#define UROCE_MEM_MKEY_SEGMENT_H

/**
 * @file
 * How a packet that passes through an mkey is cut into segments of data and segments of
 * signatures. Only mkey_transfer.c includes this header.
 */

#include <stdbool.h>
#include <stdint.h>

#include "mem/mkey_object.h"

/* A segment of a packet. It contains data of one block, or one signature, or a part of either. */
struct uroce_mkey_segment {
	bool is_sig;
	uint32_t len;
	/* if the segment is a part of a signature: offset of the segment in the signature */
	uint32_t sig_at;
	/*
	 * offset of the segment in the data bytes; for a signature, the offset of the end of its
	 * block
	 */
	uint64_t data;
};

/*
 * Count the data bytes, without signatures, before offset `at` in memory or on the wire. `domain`
 * is the format of that side. `at` is not inside a signature.
 */
static inline uint64_t
uroce_mkey_data_before(const struct uroce_sig_domain *domain, uint64_t at)
{
	return domain->block_len == 0 ? at
				      : at - at / (domain->block_len + domain->len) * domain->len;
}

/*
 * Get the segment that begins at offset `at` of the mkey's wire bytes. It has at most `max` bytes.
 */
static inline struct uroce_mkey_segment
uroce_mkey_segment_at(const struct uroce_mkey *mkey, uint64_t at, uint32_t max)
{
	const struct uroce_sig_domain *wire = &mkey->wire;

	if (wire->block_len == 0)
		return (struct uroce_mkey_segment){ .len = max, .data = at };
	const uint64_t unit = (uint64_t)wire->block_len + wire->len, in_unit = at % unit;
	const bool is_sig = in_unit >= wire->block_len;
	const uint64_t left = is_sig ? unit - in_unit : wire->block_len - in_unit;

	return (struct uroce_mkey_segment){
		.is_sig = is_sig,
		.len = (uint32_t)(left < max ? left : max),
		.sig_at = is_sig ? (uint32_t)(in_unit - wire->block_len) : 0,
		.data = is_sig ? (at / unit + 1) * wire->block_len
			       : uroce_mkey_data_before(wire, at),
	};
}

/* Whether a segment of a packet has the last byte of a signature. */
static inline bool
uroce_mkey_segment_ends_sig(const struct uroce_mkey *mkey, const struct uroce_mkey_segment *segment)
{
	return segment->is_sig && segment->sig_at + segment->len == mkey->wire.len;
}

#endif /* UROCE_MEM_MKEY_SEGMENT_H */
