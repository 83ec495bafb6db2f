/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_FIELD_H
#define UROCE_CM_FIELD_H

/**
 * @file
 * Layout of the messages of communication management: for each message a table of its fields.
 * Parser, builder and tests read the tables, so that the position of a field is defined only once.
 */

#include <stdint.h>

/**
 * A row of the table of a CM message: a field, or a part of a field. The standard has divided a few
 * fields into parts, because their bits were added in reserved bits. Each part has a row of its
 * own.
 */
struct uroce_cm_field {
	const char *name;
	/* position of the first bit of the row in the MAD; bit 0 is the highest bit of byte 0 */
	uint16_t bit;
	uint16_t width; /* number of bits of the field, or of the part of a field, in the MAD */
	uint16_t at;    /* offset of the field's member in struct uroce_cm_msg */
	/*
	 * number of bytes of the member in struct uroce_cm_msg if the member is a number; 0 if it
	 * is an array of bytes, which is copied
	 */
	uint8_t size;
	/*
	 * if the row is one of several parts of a number: position, in the complete number, of the
	 * lowest bit of this part; otherwise 0
	 */
	uint8_t shift;
};

/**
 * Get the fields of a CM message, including those of the MAD header.
 * @param[out] nb  number of fields; 0 if the attribute is unknown
 * @return the first field; NULL if the attribute is unknown
 */
const struct uroce_cm_field *uroce_cm_fields(unsigned attr, unsigned *nb);

struct uroce_cm_msg;

/** A number in struct uroce_cm_msg, as the codec accesses it: a member of 1, 2, 4 or 8 bytes. */
union uroce_cm_member {
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
};

/**
 * Get the number that a field has in `msg`. If the row `field` is a part of a number, get the
 * complete number.
 */
uint64_t uroce_cm_field_number(const struct uroce_cm_msg *msg, const struct uroce_cm_field *field);

#endif /* UROCE_CM_FIELD_H */
