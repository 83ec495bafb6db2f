/* SPDX-License-Identifier: BSD-3-Clause */

#include "mads.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define LINUX_HEADER(attr) "01 07 02 03 0000 0000 00000002295de5a0 " attr " 0000 00000000 "

const char mad_linux_req[] = LINUX_HEADER("0010")
	"a0e55d29 00 000000 0000000001061c06 50540afffe4d0002 00000000 00000000 000025 01 000000 01 "
	"000000 a0 045b8c a7 ffff 37 f0 ffff ffff "
	"00000000000000000000ffff0a4d0002 00000000000000000000ffff0a4d0001 80113000 00 40 00 98 "
	"0000 0000 00000000000000000000000000000000 00000000000000000000000000000000 00000000 00 00 00 00 "
	"00 40 c553 0000000000000000000000000a4d0002 0000000000000000000000000a4d0001";

const char mad_linux_rep[] = LINUX_HEADER("0013")
	"8454a6a1 a0e55d29 00000000 000025 00 000000 00 b182b1 00 01 01 78 e0 50540afffe4d0001";

const char mad_linux_rtu[] = LINUX_HEADER("0014") "a0e55d29 8454a6a1";
const char mad_linux_dreq[] = LINUX_HEADER("0015") "a0e55d29 8454a6a1 000025 00";
const char mad_linux_drep[] = LINUX_HEADER("0016") "8454a6a1 a0e55d29";

#define FULL_HEADER(attr) "01 07 02 03 0000 0000 0123456789abcdef " attr " 0000 a1b2c3d4 "

/* the 72 bytes of additional information in a message */
#define INFO \
	"d0d1d2d3 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 " \
	"00000000 00000000 00000000 00000000 00000000 00000000 00000000 d4d5d6d7 "

const char mad_full_req[] = FULL_HEADER("0010")
	"11121314 00 212223 3132333435363738 4142434445464748 a3a4a5a6 51525354 616263 05 717273 06 "
	"818283 "
	"8d " /* bit fields: 10001 10 1 */
	"919293 "
	"95 " /* bit fields: 10010 101 */
	"a1a2 "
	"4b " /* bit fields: 0100 1 011 */
	"59 " /* bit fields: 0101 1 001 */
	"b1b2 b3b4 c0c1c2c3c4c5c6c7c8c9cacbcccdcecf d0d1d2d3d4d5d6d7d8d9dadbdcdddedf "
	"e1e2f 03 5 " /* flow label (20 bits), reserved (6 bits), rate (6 bits) */
	"f1 f2 "
	"98 " /* bit fields: 1001 1 000 */
	"a8 " /* bit fields: 10101 000 */
	"b5b6 b7b8 101112131415161718191a1b1c1d1e1f 202122232425262728292a2b2c2d2e2f "
	"e3e4e 03 6 "
	"f3 f4 "
	"a0 " /* bit fields: 1010 0 000 */
	"b4 " /* bit fields: 10110 1 00 */
	"77 7879";

const char mad_full_mra[] = FULL_HEADER("0011")
	"11121314 21222324 "
	"80 " /* bit fields: 10 000000 */
	"c0 " /* bit fields: 11000 000 */
	"77 7879";

const char mad_full_rej[] = FULL_HEADER("0012")
	"11121314 21222324 "
	"40 " /* bit fields: 01 000000 */
	"0c " /* bit fields: 0000110 0 */
	"001c " INFO "77 7879";

const char mad_full_rep[] = FULL_HEADER("0013")
	"11121314 21222324 31323334 414243 44 515253 45 616263 46 07 08 "
	"8d " /* bit fields: 10001 10 1 */
	"b0 " /* bit fields: 101 1 0000 */
	"7172737475767778 77 7879";

const char mad_full_dreq[] = FULL_HEADER("0015") "11121314 21222324 313233 00 77 7879";

const char mad_full_sidr_req[] = FULL_HEADER("0017")
	"11121314 2122 0000 3132333435363738 77 7879";

const char mad_full_sidr_rep[] = FULL_HEADER("0018")
	"11121314 02 48 2122 313233 23 4142434445464748 51525354 " INFO "77 7879";

const char mad_full_lap[] = FULL_HEADER("0019")
	"11121314 21222324 a3a4a5a6 313233 "
	"88 " /* bit fields: 10001 000 */
	"00000000 b1b2 b3b4 c0c1c2c3c4c5c6c7c8c9cacbcccdcecf d0d1d2d3d4d5d6d7d8d9dadbdcdddedf "
	"e1e2f 0 f1 f2 "
	"35 " /* reserved (2 bits), rate (6 bits) */
	"98 " /* bit fields: 1001 1 000 */
	"a8 " /* bit fields: 10101 000 */
	"77 7879";

const char mad_full_apr[] = FULL_HEADER("001a") "11121314 21222324 48 02 0000 " INFO "77 7879";
/* clang-format on */

void
mad_from_hex(const char *hex, uint8_t mad[UROCE_MAD_LEN])
{
	size_t nb_digits = 0;

	memset(mad, 0, UROCE_MAD_LEN);
	for (; *hex != '\0'; hex++) {
		if (!isxdigit((unsigned char)*hex))
			continue;
		const char digit[2] = { *hex, '\0' };
		const unsigned value = (unsigned)strtoul(digit, NULL, 16);

		if (nb_digits < 2 * UROCE_MAD_LEN)
			mad[nb_digits / 2] |= (uint8_t)(nb_digits % 2 ? value : value << 4);
		nb_digits++;
	}
}
