/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_WIRE_SPEC_H
#define TEST_UNIT_WIRE_SPEC_H

/**
 * @file
 * The opcodes as the specification lists them [IBA 9.2.1 table 38, A14, A17, A19], written in full
 * and independent of lib/wire/opcode.c.
 */

#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "wire/opcode.h"
#include "wire/verdict.h"

enum spec_payload {
	NO_PAYLOAD,
	ANY_PAYLOAD,  /* any payload length including 0, with padding if needed */
	FULL_PAYLOAD, /* a full path MTU: more than 0 bytes, never with padding */
	PAYLOAD_8,
	PAYLOAD_16,
};

struct spec_opcode {
	uint8_t code;
	const char *name;
	const char *exts; /* names of the extension headers in wire order */
	uint8_t ext_len;
	enum spec_payload payload;
	/* place of the packet in its message: "first", "middle", "last", "only" */
	const char *place;
	enum uroce_service service;
	enum uroce_operation operation;
	enum uroce_verdict accepted_as;
};

extern const struct spec_opcode spec_opcodes[];
extern const size_t spec_nb_opcodes;

/* A payload length that the opcode allows and that needs no padding: `len` if possible. */
uint16_t spec_payload_len(const struct spec_opcode *spec, uint16_t len);

/* @return the opcode with this name, which must exist */
const struct spec_opcode *spec_find(const char *name);

/*
 * Make a frame of an opcode with about `len` bytes of payload, and with padding if the opcode
 * allows padding. All other parameters are taken from `conf`.
 */
void spec_make(struct frame *frame, const struct frame_conf *conf, const struct spec_opcode *spec,
	       uint16_t len);

#endif /* TEST_UNIT_WIRE_SPEC_H */
