/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_WIRE_BE_H
#define UROCE_WIRE_BE_H

/**
 * @file
 * Big-endian integers as struct types.
 *
 * A wire field is bytes, so its alignment is 1 and a header struct needs no packed attribute; and
 * it is a struct, so an assignment without conversion does not compile. gcc and clang turn each
 * accessor into one load or store and a byte swap.
 */

#include <stdint.h>

typedef struct {
	uint8_t b[2];
} be16;
typedef struct {
	uint8_t b[3];
} be24;
typedef struct {
	uint8_t b[4];
} be32;
typedef struct {
	uint8_t b[8];
} be64;

static inline uint16_t
be16_get(be16 v)
{
	return (uint16_t)(v.b[0] << 8 | v.b[1]);
}

static inline be16
be16_make(uint16_t v)
{
	return (be16){ { (uint8_t)(v >> 8), (uint8_t)v } };
}

static inline uint32_t
be24_get(be24 v)
{
	return (uint32_t)v.b[0] << 16 | (uint32_t)v.b[1] << 8 | v.b[2];
}

/** The upper eight bits of `v` are dropped. */
static inline be24
be24_make(uint32_t v)
{
	return (be24){ { (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v } };
}

static inline uint32_t
be32_get(be32 v)
{
	return (uint32_t)v.b[0] << 24 | (uint32_t)v.b[1] << 16 | (uint32_t)v.b[2] << 8 | v.b[3];
}

static inline be32
be32_make(uint32_t v)
{
	return (be32){ { (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v } };
}

static inline uint64_t
be64_get(be64 v)
{
	return (uint64_t)v.b[0] << 56 | (uint64_t)v.b[1] << 48 | (uint64_t)v.b[2] << 40 |
	       (uint64_t)v.b[3] << 32 | (uint64_t)v.b[4] << 24 | (uint64_t)v.b[5] << 16 |
	       (uint64_t)v.b[6] << 8 | v.b[7];
}

static inline be64
be64_make(uint64_t v)
{
	return (be64){ { (uint8_t)(v >> 56), (uint8_t)(v >> 48), (uint8_t)(v >> 40),
			 (uint8_t)(v >> 32), (uint8_t)(v >> 24), (uint8_t)(v >> 16),
			 (uint8_t)(v >> 8), (uint8_t)v } };
}

#endif /* UROCE_WIRE_BE_H */
