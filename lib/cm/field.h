/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_FIELD_H
#define UROCE_CM_FIELD_H

/**
 * @file
 * Layout of the messages of communication management: for each message a table of its fields.
 * Parser, builder and tests read the tables, so a place on the wire is written once.
 */

#include <stdint.h>

/**
 * A field of a message, or a part of it: the standard has divided a few fields because their bits
 * were added to reserved places. A part has a row of its own.
 */
struct uroce_cm_field {
	const char *name;
	uint16_t bit;   /* first bit in the MAD; bit 0 is the highest bit of byte 0 */
	uint16_t width; /* bits in the MAD */
	uint16_t at;    /* offset of the member in struct uroce_cm_msg */
	uint8_t size;   /* bytes of the member, a number; 0: an array of bytes, which is copied */
	uint8_t shift;  /* lowest bit of the number that is in this row; 0 if it is not divided */
};

/**
 * Fields of a message, the header of the MAD included.
 * @param[out] nb  number of fields; 0 if the attribute is unknown
 * @return the first field; NULL if the attribute is unknown
 */
const struct uroce_cm_field *uroce_cm_fields(unsigned attr, unsigned *nb);

struct uroce_cm_msg;

/** A number of a message in any of its sizes. */
union uroce_cm_member {
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
};

/** The number in the member of a field; the complete number if the field is a part of it. */
uint64_t uroce_cm_field_number(const struct uroce_cm_msg *msg, const struct uroce_cm_field *field);

#endif /* UROCE_CM_FIELD_H */
