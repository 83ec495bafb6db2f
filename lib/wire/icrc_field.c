/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How the ICRC changes if the bits of a 16-bit header field change, see icrc_field.h. Polynomials
 * are in reflected form, as CRC states are: the most significant bit of a 32-bit word is the
 * coefficient of x^0. The power of x that belongs to a number of bytes is the product of two table
 * entries: one for the low byte of this number, one for the high byte.
 */

#include "wire/icrc_field.h"

#include <assert.h>

#include "wire/icrc_power.h"

#define ONE  0x80000000u /* the polynomial x^0 */
#define X_15 0x00010000u /* the polynomial x^15, the highest power of x in a field of 16 bits */

/* Multiply a polynomial by x. */
static uint32_t
multiply_by_x(uint32_t poly)
{
	return poly >> 1 ^ (CRC32_POLYNOMIAL & -(poly & 1));
}

/* Multiply two polynomials. */
static uint32_t
multiply_polys(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (; a; a <<= 1) {
		product ^= b & -(a >> 31);
		b = multiply_by_x(b);
	}
	return product;
}

/*
 * Get the power of x that belongs to `len` bytes: the product of an entry of powers[0], for the low
 * byte of `len`, and an entry of powers[1], for the high byte.
 */
static uint32_t
get_power(const uint32_t powers[2][256], uint16_t len)
{
	return multiply_polys(powers[0][len & 0xff], powers[1][len >> 8]);
}

/*
 * The bits of a byte are transmitted, and enter the CRC, from the least significant one. So the
 * lowest bit of the first byte of the field (bit 8 in host order) has the highest power of x.
 */
void
uroce_icrc_field_init(struct uroce_icrc_field *field, uint16_t len)
{
	uint32_t term = get_power(power, len);

	for (unsigned i = 8; i-- > 0; term = multiply_by_x(term))
		field->bit[i] = term;
	for (unsigned i = 16; i-- > 8; term = multiply_by_x(term))
		field->bit[i] = term;
}

bool
uroce_icrc_field_find(uint32_t term, uint16_t len, uint16_t *change)
{
	const uint32_t poly = multiply_polys(term, get_power(inverse_power, len));

	static_assert(ONE >> 15 == X_15, "16 coefficients are in the upper half of a word");
	if (poly & (X_15 - 1))
		return false;
	*change = (uint16_t)((poly >> 8 & 0xff00) | poly >> 24);
	return true;
}
