/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_WIRE_ICRC_FIELD_H
#define UROCE_WIRE_ICRC_FIELD_H

/**
 * @file
 * How the ICRC depends on one 16-bit field of the headers.
 *
 * A UDP socket determines the identification of IPv4 and the UDP source port, which the ICRC
 * covers. The ICRC is linear. So if a field changes, the ICRC changes by a term. The term depends
 * on the changed bits of the field and on the number of covered bytes behind the field, and on
 * nothing else. The opposite direction is also possible: a change of the ICRC gives the change of
 * the field that explains it, if there is one.
 *
 * In the arithmetic of polynomials modulo the polynomial of the CRC, the term is the changed bits
 * times x^(8 * len + 32). `len` is the number of covered bytes behind the field.
 */

#include <stdbool.h>
#include <stdint.h>

/** The terms of the 16 bits of a field: how each bit changes the ICRC. */
struct uroce_icrc_field {
	uint32_t bit[16]; /* change of the ICRC if bit i of the field (in host order) changes */
};

/**
 * Compute, for each bit of a field, how the bit changes the ICRC (its term).
 * @param len  number of bytes that the ICRC covers behind the field
 */
void uroce_icrc_field_init(struct uroce_icrc_field *field, uint16_t len);

/**
 * Get the term of a change of a field. The exclusive-or of an ICRC and the term is the ICRC after
 * the change.
 * @param change  exclusive-or of the old and the new value of the field, in host order
 */
static inline uint32_t
uroce_icrc_field_term(const struct uroce_icrc_field *field, uint16_t change)
{
	uint32_t term = 0;

	for (unsigned rest = change; rest; rest &= rest - 1)
		term ^= field->bit[__builtin_ctz(rest)];
	return term;
}

/**
 * Find the change of a field that explains a change of the ICRC.
 * @param term  exclusive-or of the ICRCs before and after the change
 * @param len  number of bytes that the ICRC covers behind the field
 * @param[out] change  exclusive-or of the values of the field; set if the result is true
 * @return whether a change of this field explains the term; at most one change does
 */
bool uroce_icrc_field_find(uint32_t term, uint16_t len, uint16_t *change);

#endif /* UROCE_WIRE_ICRC_FIELD_H */
