# SPDX-License-Identifier: BSD-3-Clause
"""Writes icrc_table.h: what a byte of a length field adds to the ICRC state after the UDP header.

The CRC is linear: the state after a prefix with some byte v, exclusive-or the state with 0 in its
place, depends on v and on the number of bytes that follow it, and on nothing else.
"""

POLYNOMIAL = 0xEDB88320  # CRC-32 of Ethernet, reflected

# Field bytes and how many bytes stand between them and the end of the UDP header. The UDP header
# has 8 bytes, length at 4; IPv4 has 20, length at 2; IPv6 has 40, length at 4.
UDP_AFTER = 8 - 4 - 2
FIELDS = {
    'udp': UDP_AFTER,
    'ipv4': 8 + 20 - 2 - 2,
    'ipv6': 8 + 40 - 4 - 2,
}


def step(state):
    """State after one more byte, of value 0."""
    for _ in range(8):
        state = state >> 1 ^ (POLYNOMIAL if state & 1 else 0)
    return state


def term(value, after):
    for _ in range(1 + after):
        value = step(value)
    return value


def row(after):
    """256 terms of the upper byte of a 16-bit field, then 256 of the lower."""
    return [[term(v, after + 1) for v in range(256)], [term(v, after) for v in range(256)]]


def emit(name, pair):
    print(f'static const uint32_t {name}[2][256] = {{')
    for half in pair:
        print('\t{')
        for i in range(0, 256, 8):
            print('\t\t' + ' '.join(f'0x{v:08x},' for v in half[i:i + 8]))
        print('\t},')
    print('};')


print('/* SPDX-License-Identifier: BSD-3-Clause */')
print('/* Written by icrc-table.py. First index: upper, lower byte of the length field. */')
print('#include <stdint.h>')
udp, ipv4, ipv6 = (row(FIELDS[f]) for f in ('udp', 'ipv4', 'ipv6'))
emit('udp_term', udp)
emit('ipv4_term', ipv4)
# IPv6 counts the same bytes in both fields, so one look-up serves both.
emit('ipv6_udp_term', [[u ^ i for u, i in zip(us, is_)] for us, is_ in zip(udp, ipv6)])
