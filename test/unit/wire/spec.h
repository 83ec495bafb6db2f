/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_WIRE_SPEC_H
#define TEST_UNIT_WIRE_SPEC_H

/**
 * @file
 * The opcodes as the specification lists them [IBA 9.2.1 table 38, A14, A17, A19], typed in full
 * and apart from lib/wire/opcode.c.
 */

#include <stddef.h>
#include <stdint.h>

#include "wire/opcode.h"
#include "wire/verdict.h"

enum spec_payload {
	NO_PAYLOAD,
	ANY_PAYLOAD,  /* 0 too; may be padded */
	FULL_PAYLOAD, /* a whole path MTU: more than 0, never padded */
	PAYLOAD_8,
	PAYLOAD_16,
};

struct spec_opcode {
	uint8_t code;
	const char *name;
	const char *exts; /* in wire order */
	uint8_t ext_len;
	enum spec_payload payload;
	const char *place; /* "first", "middle", "last", "only" */
	enum uroce_service service;
	enum uroce_operation operation;
	enum uroce_verdict accepted_as;
};

extern const struct spec_opcode spec_opcodes[];
extern const size_t spec_nb_opcodes;

/* A payload length that the opcode may have, pad not counted: `len` if it can be. */
uint16_t spec_payload_len(const struct spec_opcode *spec, uint16_t len);

#endif /* TEST_UNIT_WIRE_SPEC_H */
