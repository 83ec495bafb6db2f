/* SPDX-License-Identifier: BSD-3-Clause */

/* Conversion of the timer code of an RNR NAK to nanoseconds. */

#include "wire/syndrome.h"

#define CODE_MASK 0x1f

/* Delay for each value of the RNR NAK timer field, in units of 10 us [IBA 9.7.5.2.8, table 45]. */
static const uint32_t rnr_timer_10us[CODE_MASK + 1] = {
	65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
	48,    64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

uint64_t
uroce_rnr_timer_ns(uint8_t code)
{
	return rnr_timer_10us[code & CODE_MASK] * UINT64_C(10000);
}
