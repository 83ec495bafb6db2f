/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The codec of communication management. It copies the fields of a CM message between the MAD and
 * struct uroce_cm_msg, row by row of the table of the message (cm/field.h).
 */

#include "cm/message.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "cm/field.h"

/* The first bytes of a MAD of communication management [IBA 13.4.3, 16.7.1]. */
static const struct {
	uint8_t value;
	enum uroce_cm_verdict otherwise;
} mad_prefix[] = {
	{ 1, UROCE_CM_VERDICT_BAD_BASE_VERSION },
	{ 0x07, UROCE_CM_VERDICT_OTHER_CLASS },
	{ 2, UROCE_CM_VERDICT_BAD_CLASS_VERSION },
	{ 0x03, UROCE_CM_VERDICT_BAD_METHOD },
};
#define MAD_PREFIX_LEN (sizeof(mad_prefix) / sizeof(mad_prefix[0]))
#define MAD_ATTR_AT    16 /* offset in bytes of the attribute ID in a MAD; it has 16 bits */

static const char *const attr_names[UROCE_CM_ATTR_END - UROCE_CM_ATTR_FIRST] = {
	"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR",
};

static uint64_t
low_bits(unsigned width)
{
	return UINT64_MAX >> (64 - width);
}

/*
 * Get the number of low-order bits in the last byte of a field of a MAD that do not belong to the
 * field.
 */
static unsigned
bits_behind(const struct uroce_cm_field *field)
{
	return (8u - (field->bit + field->width) % 8u) % 8u;
}

/* Read the value of a field from a MAD. The bits of a field are within eight bytes. */
static uint64_t
get_bits(const uint8_t *mad, const struct uroce_cm_field *field)
{
	const unsigned end = field->bit + field->width;
	uint64_t value = 0;

	for (unsigned byte = field->bit / 8; byte * 8 < end; byte++)
		value = value << 8 | mad[byte];
	return value >> bits_behind(field) & low_bits(field->width);
}

/* Write a number into a field of a MAD. The bits of the field were zero before. */
static void
put_bits(uint8_t *mad, const struct uroce_cm_field *field, uint64_t value)
{
	const unsigned end = field->bit + field->width;

	value = (value & low_bits(field->width)) << bits_behind(field);
	for (unsigned byte = (end + 7) / 8; byte > field->bit / 8u; byte--) {
		mad[byte - 1] |= (uint8_t)value;
		value >>= 8;
	}
}

static void
set_member(struct uroce_cm_msg *msg, const struct uroce_cm_field *field, uint64_t value)
{
	union uroce_cm_member member = { .u64 = value };

	if (field->size == sizeof(member.u8))
		member.u8 = (uint8_t)value;
	else if (field->size == sizeof(member.u16))
		member.u16 = (uint16_t)value;
	else if (field->size == sizeof(member.u32))
		member.u32 = (uint32_t)value;
	memcpy((uint8_t *)msg + field->at, &member, field->size);
}

static void
parse_field(const uint8_t *mad, const struct uroce_cm_field *field, struct uroce_cm_msg *msg)
{
	if (field->size == 0)
		memcpy((uint8_t *)msg + field->at, mad + field->bit / 8, field->width / 8);
	else
		set_member(msg, field,
			   uroce_cm_field_number(msg, field) | get_bits(mad, field)
								       << field->shift);
}

static void
build_field(const struct uroce_cm_msg *msg, const struct uroce_cm_field *field, uint8_t *mad)
{
	if (field->size == 0)
		memcpy(mad + field->bit / 8, (const uint8_t *)msg + field->at, field->width / 8);
	else
		put_bits(mad, field, uroce_cm_field_number(msg, field) >> field->shift);
}

enum uroce_cm_verdict
uroce_cm_parse(const uint8_t mad[UROCE_MAD_LEN], struct uroce_cm_msg *msg)
{
	const unsigned attr = (unsigned)mad[MAD_ATTR_AT] << 8 | mad[MAD_ATTR_AT + 1];
	unsigned nb;
	const struct uroce_cm_field *fields = uroce_cm_fields(attr, &nb);

	for (unsigned i = 0; i < MAD_PREFIX_LEN; i++) {
		if (mad[i] != mad_prefix[i].value)
			return mad_prefix[i].otherwise;
	}
	if (fields == NULL)
		return UROCE_CM_VERDICT_UNKNOWN_ATTR;
	memset(msg, 0, sizeof(*msg));
	for (unsigned i = 0; i < nb; i++)
		parse_field(mad, &fields[i], msg);
	return UROCE_CM_VERDICT_ACCEPTED;
}

void
uroce_cm_build(const struct uroce_cm_msg *msg, uint8_t mad[UROCE_MAD_LEN])
{
	unsigned nb;
	const struct uroce_cm_field *fields = uroce_cm_fields(msg->attr, &nb);

	assert(fields != NULL);
	memset(mad, 0, UROCE_MAD_LEN);
	for (unsigned i = 0; i < MAD_PREFIX_LEN; i++)
		mad[i] = mad_prefix[i].value;
	for (unsigned i = 0; i < nb; i++)
		build_field(msg, &fields[i], mad);
}

const char *
uroce_cm_attr_name(unsigned attr)
{
	return attr >= UROCE_CM_ATTR_FIRST && attr < UROCE_CM_ATTR_END
		       ? attr_names[attr - UROCE_CM_ATTR_FIRST]
		       : "?";
}
