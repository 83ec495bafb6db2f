# SPDX-License-Identifier: BSD-3-Clause
"""Writes headers with the constants of CRCs, computed from the polynomials.

    crc-tables.py PATH...        a path ends with the name of one of these headers

icrc_table.h: terms of the length fields. A term is what a byte adds to the ICRC state after the UDP
header. The CRC is linear. So the term of a byte with value v is the state after a prefix with v,
exclusive-or the state after the same prefix with 0. It depends only on v and on the number of bytes
after v.

icrc_power.h: powers of x, and their inverses, by which a term of a 16-bit field is computed.

crc32_fold.h: multipliers for folding by carry-less multiplication, see crc32_x86.c.

crc64_table.h: terms of a CRC-64. A term is what one of eight bytes adds to the state after the eight
bytes, see block_crc.c.
"""

import os
import sys

POLYNOMIAL = 0x104C11DB7  # CRC-32 of Ethernet, x^32 included
POLYNOMIAL_64 = 0x9A6C9329AC4BC9B5  # CRC-64 of XP10 and NVMe, reflected


def reflect(value, bits):
    return int(f'{value:0{bits}b}'[::-1], 2)


def power(n):
    """x^n modulo the polynomial."""
    value = 1
    for _ in range(n):
        value <<= 1
        if value >> 32:
            value ^= POLYNOMIAL
    return value


def multiply(a, b):
    """a times b modulo the polynomial."""
    product = 0
    for i in range(31, -1, -1):
        product <<= 1
        if product >> 32:
            product ^= POLYNOMIAL
        if a >> i & 1:
            product ^= b
    return product


def quotient(n):
    """x^n divided by the polynomial."""
    rest, result = 1 << n, 0
    for i in range(n - 32, -1, -1):
        if rest >> (i + 32) & 1:
            rest ^= POLYNOMIAL << i
            result |= 1 << i
    return result


def step(state):
    """CRC state after one more byte, of value 0."""
    for _ in range(8):
        state = state >> 1 ^ (reflect(POLYNOMIAL & 0xFFFFFFFF, 32) if state & 1 else 0)
    return state


def term(value, after):
    """What a byte adds to the state after the byte and `after` more bytes."""
    for _ in range(1 + after):
        value = step(value)
    return value


def terms(after):
    """256 terms of the upper byte of a 16-bit field, then 256 of the lower."""
    return [[term(v, after + 1) for v in range(256)], [term(v, after) for v in range(256)]]


def both(a, b):
    return [[x ^ y for x, y in zip(*halves)] for halves in zip(a, b)]


def table(name, pair):
    yield f'static const uint32_t {name}[2][256] = {{'
    for half in pair:
        yield '\t{'
        for i in range(0, 256, 8):
            yield '\t\t' + ' '.join(f'0x{v:08x},' for v in half[i:i + 8])
        yield '\t},'
    yield '};'


def icrc_table():
    # Bytes between the length field and the end of the UDP header: UDP has 8 bytes, length at 4;
    # IPv4 has 20, length at 2; IPv6 has 40, length at 4.
    udp, ipv4, ipv6 = terms(8 - 4 - 2), terms(20 - 2 - 2 + 8), terms(40 - 4 - 2 + 8)
    yield '/* First index: upper, lower byte of the length field. */'
    yield '#include <stdint.h>'
    yield from table('udp_term', udp)
    yield from table('ipv4_term', ipv4)
    yield '/* The length fields of IPv6 and UDP are equal, so that one look-up serves both. */'
    yield from table('ipv6_udp_term', both(udp, ipv6))


def powers(first, factor):
    """256 reflected polynomials, each `factor` times the one before."""
    values = [first]
    while len(values) < 256:
        values.append(multiply(values[-1], factor))
    return [reflect(v, 32) for v in values]


def icrc_power():
    inverse = POLYNOMIAL >> 1  # of x, because the polynomial minus 1 is x times this
    by_byte = by_32 = inverse
    for _ in range(7):
        by_byte = multiply(by_byte, inverse)
    for _ in range(31):
        by_32 = multiply(by_32, inverse)
    by_256 = by_byte
    for _ in range(8):
        by_256 = multiply(by_256, by_256)
    yield '#include <stdint.h>'
    yield f'#define CRC32_POLYNOMIAL 0x{reflect(POLYNOMIAL & 0xFFFFFFFF, 32):08x}u'
    yield '/* power[0][i] is x^(8 * i + 32), and power[1][i] is x^(2048 * i). */'
    yield from table('power', [powers(power(32), power(8)), powers(1, power(2048))])
    yield '/* The inverse of each entry of the table `power`. */'
    yield from table('inverse_power', [powers(by_32, by_byte), powers(1, by_256)])


def multiplier(n):
    """x^n for a reflected carry-less product. The product is one bit too low, hence the shift."""
    return reflect(power(n), 32) << 1


def crc32_fold():
    yield '/* FOLD_n folds over n bits. The first value multiplies the 64 bits that are first in memory. */'
    for bits in (128, 256, 384, 512, 1024, 1536, 2048):
        yield (f'#define FOLD_{bits} 0x{multiplier(bits + 32):09x}, '
               f'0x{multiplier(bits - 32):09x}')
    yield '/* FOLD_TO_64 folds 96 bits to 64. QUOTIENT and POLYNOMIAL are for a Barrett reduction. */'
    yield f'#define FOLD_TO_64 0x{multiplier(64):09x}'
    yield f'#define QUOTIENT   0x{reflect(quotient(64), 33):09x}'
    yield f'#define POLYNOMIAL 0x{reflect(POLYNOMIAL, 33):09x}'


def crc64_table():
    rows = [list(range(256))]
    for _ in range(8):
        state = rows[-1]
        for _ in range(8):
            state = [s >> 1 ^ (POLYNOMIAL_64 if s & 1 else 0) for s in state]
        rows.append(state)
    yield '/* First index: number of bytes between the byte and the state. */'
    yield '#include <stdint.h>'
    yield 'static const uint64_t crc64_term[8][256] = {'
    for row in rows[1:]:
        yield '\t{'
        for i in range(0, 256, 4):
            yield '\t\t' + ' '.join(f'0x{v:016x},' for v in row[i:i + 4])
        yield '\t},'
    yield '};'


def write(path, lines):
    with open(path, 'w', encoding='utf-8') as out:
        out.write('/* SPDX-License-Identifier: BSD-3-Clause */\n/* Written by crc-tables.py. */\n')
        out.write('\n'.join(lines) + '\n')


TABLES = {'icrc_table.h': icrc_table, 'icrc_power.h': icrc_power, 'crc32_fold.h': crc32_fold,
          'crc64_table.h': crc64_table}

for argument in sys.argv[1:]:
    write(argument, TABLES[os.path.basename(argument)]())
