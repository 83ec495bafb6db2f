/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_BASE_BE_H
#define UROCE_BASE_BE_H

/**
 * @file
 * Big-endian integers as struct types.
 *
 * A wire field is an array of bytes. Its alignment is 1, so a header struct needs no packed
 * attribute. The field is a struct, so an assignment without conversion does not compile. An
 * accessor is one load or store of a machine word and a byte swap. It does not access single
 * bytes, because a compiler may turn such accesses into vector code.
 */

#include <endian.h>
#include <stdint.h>
#include <string.h>

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
	uint16_t word;

	memcpy(&word, v.b, sizeof(word));
	return be16toh(word);
}

static inline be16
be16_make(uint16_t v)
{
	const uint16_t word = htobe16(v);
	be16 made;

	memcpy(made.b, &word, sizeof(word));
	return made;
}

static inline uint32_t
be24_get(be24 v)
{
	return (uint32_t)v.b[0] << 16 | (uint32_t)v.b[1] << 8 | v.b[2];
}

/** Convert the low 24 bits of `v` to big-endian. The upper eight bits are dropped. */
static inline be24
be24_make(uint32_t v)
{
	return (be24){ { (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v } };
}

static inline uint32_t
be32_get(be32 v)
{
	uint32_t word;

	memcpy(&word, v.b, sizeof(word));
	return be32toh(word);
}

static inline be32
be32_make(uint32_t v)
{
	const uint32_t word = htobe32(v);
	be32 made;

	memcpy(made.b, &word, sizeof(word));
	return made;
}

static inline uint64_t
be64_get(be64 v)
{
	uint64_t word;

	memcpy(&word, v.b, sizeof(word));
	return be64toh(word);
}

static inline be64
be64_make(uint64_t v)
{
	const uint64_t word = htobe64(v);
	be64 made;

	memcpy(made.b, &word, sizeof(word));
	return made;
}

#endif /* UROCE_BASE_BE_H */
