#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the captures of this folder. The frames are built from the specification, without lib/wire.

    make-captures.py FOLDER

every-opcode.pcap   every opcode on IPv4 and IPv6, with and without a VLAN tag; payload lengths that
                    need every length of padding; BTH bits set and clear; other traffic between the
                    frames
cm.pcap             connection management: a MAD of each message on IPv4 and IPv6, with and without a VLAN
                    tag; each reason of a REJ; other MADs and datagrams to QP 1
cm-big-endian.pcap  some of these messages; big-endian pcap with nanoseconds
cm-variants.pcapng  the same messages with IPv4 options, UDP checksums, Ethernet padding, two VLAN tags and an
                    802.1ad tag; frames that were cut behind the MAD, and one that was cut in it; nanosecond pcapng
variants.pcapng     IPv4 options, UDP checksums, Ethernet padding, congestion marks, a frame of the
                    largest path MTU; nanosecond pcapng
"""

import struct
import sys
import zlib

SMAC, DMAC = bytes.fromhex('020000000001'), bytes.fromhex('020000000002')
IPV4 = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
IPV6 = bytes.fromhex('20010db8000000000000000000000001'), bytes.fromhex(
    '20010db8000000000000000000000002')
ROCE_PORT = 4791

RETH = struct.pack('>QII', 0x7f0000001000, 0x0a0b0c0d, 0x1234)
ATOMICETH = struct.pack('>QIQQ', 0x7f0000002008, 0x0a0b0c0e, 0x1122334455667788, 0x99)
AETH = struct.pack('>I', 0x1f << 24 | 0x000102)
ATOMICACKETH = struct.pack('>Q', 0x0102030405060708)
DETH = struct.pack('>II', 0x11111111, 0x000abc)
IMMDT = struct.pack('>I', 0xa0b0c001)
IETH = struct.pack('>I', 0x0a0b0cff)
XRCETH = struct.pack('>I', 0x00000d)
FETH = struct.pack('>I', 1 << 4 | 1)

ANY, FULL = (0, 1, 2, 3, 4, 61), (4, 256)
SENDS_AND_WRITES = [
    (0x00, b'', FULL), (0x01, b'', FULL), (0x02, b'', ANY), (0x03, IMMDT, ANY), (0x04, b'', ANY),
    (0x05, IMMDT, ANY), (0x06, RETH, FULL), (0x07, b'', FULL), (0x08, b'', ANY),
    (0x09, IMMDT, ANY), (0x0a, RETH, ANY), (0x0b, RETH + IMMDT, ANY),
]
REQUESTS = [
    (0x0c, RETH, (0,)), (0x13, ATOMICETH, (0,)), (0x14, ATOMICETH, (0,)), (0x16, IETH, ANY),
    (0x17, IETH, ANY), (0x1c, FETH + RETH, (0,)), (0x1d, RETH, (8,)),
]
RESPONSES = [
    (0x0d, AETH, FULL), (0x0e, b'', FULL), (0x0f, AETH, ANY), (0x10, AETH, ANY), (0x11, AETH, (0,)),
    (0x12, AETH + ATOMICACKETH, (0,)),
]


def opcodes():
    """Each opcode, its extension headers, and payload lengths for it."""
    for low, exts, lens in SENDS_AND_WRITES + REQUESTS + RESPONSES:
        yield low, exts, lens
    for low, exts, lens in SENDS_AND_WRITES:
        yield 0x20 | low, exts, lens
    yield 0x64, DETH, ANY
    yield 0x65, DETH + IMMDT, ANY
    yield 0x81, b'', (16,)
    for low, exts, lens in SENDS_AND_WRITES + REQUESTS:
        yield 0xa0 | low, XRCETH + exts, lens
    for low, exts, lens in RESPONSES:
        yield 0xa0 | low, exts, lens


def ones_sum(data):
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    return total


def ipv4(udp_len, tclass, ident, options):
    ihl = 5 + len(options) // 4
    head = struct.pack('>BBHHHBBH', 0x40 | ihl, tclass, ihl * 4 + udp_len, ident, 0x4000, 63, 17, 0)
    head += IPV4[0] + IPV4[1] + options
    check = ~ones_sum(head) & 0xffff
    masked = bytearray(head)
    masked[1] = masked[8] = masked[10] = masked[11] = 0xff
    return head[:10] + struct.pack('>H', check) + head[12:], bytes(masked)


def ipv6(udp_len, tclass, flow):
    head = struct.pack('>IHBB', 6 << 28 | tclass << 20 | flow, udp_len, 17, 63) + IPV6[0] + IPV6[1]
    masked = bytearray(head)
    masked[0:4] = b'\x6f\xff\xff\xff'
    masked[7] = 0xff
    return head, bytes(masked)


def frame(opcode, exts, payload_len, psn, six=False, vlan=None, tclass=0, bits=(0, 0, 0), options=b'',
          checksum=False, qpn=0x123456, payload=None):
    """One RoCEv2 frame; `bits` are additional bits of the BTH bytes 1, 4 and 8."""
    if payload is None:
        payload = bytes((37 * psn + i) & 0xff for i in range(payload_len))
    pad = -len(payload) % 4
    bth = struct.pack('>BBHBBHI', opcode, bits[0] | pad << 4, 0xffff, bits[1], qpn >> 16, qpn & 0xffff,
                      bits[2] << 24 | psn & 0xffffff)
    body = exts + payload + bytes(pad)
    udp_len = 8 + len(bth) + len(body) + 4
    ip, masked_ip = ipv6(udp_len, tclass, 0x12345) if six else ipv4(udp_len, tclass, psn & 0xffff,
                                                                    options)
    udp = struct.pack('>HHHH', 0xc000 | psn & 0x3fff, ROCE_PORT, udp_len, 0)
    masked = b'\xff' * 8 + masked_ip + udp[:6] + b'\xff\xff' + bth[:4] + b'\xff' + bth[5:] + body
    rest = bth + body + struct.pack('<I', zlib.crc32(masked))
    if checksum:
        addrs = b''.join(IPV6 if six else IPV4)
        pseudo = addrs + struct.pack('>HH', 17, udp_len) + udp + rest
        udp = udp[:6] + struct.pack('>H', (~ones_sum(pseudo) & 0xffff) or 0xffff)
    tag = struct.pack('>HH', 0x8100, vlan) if vlan is not None else b''
    kind = struct.pack('>H', 0x86dd if six else 0x0800)
    return DMAC + SMAC + tag + kind + ip + udp + rest


def other_traffic():
    """Frames that are not RoCE: ARP, a UDP packet to another port, a later fragment of a UDP packet."""
    arp = struct.pack('>HHBBH', 1, 0x0800, 6, 4, 1) + SMAC + IPV4[0] + bytes(6) + IPV4[1]
    yield b'\xff' * 6 + SMAC + b'\x08\x06' + arp + bytes(18)
    head, _ = ipv4(8 + 22, 0, 7, b'')
    yield DMAC + SMAC + b'\x08\x00' + head + struct.pack('>HHHH', 5353, 5353, 30, 0) + bytes(22)
    later = bytearray(head)
    later[6:8] = b'\x00\x10'
    yield DMAC + SMAC + b'\x08\x00' + bytes(later) + bytes(30)


def every_opcode():
    psn = 0xffff00
    yield from other_traffic()
    for six in (False, True):
        for vlan in (None, 0x6064):
            for opcode, exts, lens in opcodes():
                for length in lens:
                    bits = (0x40 | 0x80 * (psn & 1), 0, 0x80 * (psn >> 1 & 1))
                    yield frame(opcode, exts, length, psn, six, vlan, tclass=0x6a, bits=bits)
                    psn += 1


def variants():
    yield frame(0x04, b'', 32, 1, options=b'\x01' * 4)
    yield frame(0x0a, RETH, 8, 2, options=b'\x01' * 40, vlan=5)
    yield frame(0x04, b'', 33, 3, checksum=True)
    yield frame(0x04, b'', 33, 4, six=True, checksum=True)
    yield frame(0x04, b'', 0, 5) + bytes(2)
    yield frame(0x04, b'', 1, 6, vlan=1) + b'\xaa' * 20
    yield frame(0x0a, RETH, 4096, 7, tclass=0x03, bits=(0, 0x80, 0))
    yield frame(0x0a, RETH, 4096, 8, six=True, tclass=0x03, bits=(0x40, 0x80, 0))
    yield frame(0x11, AETH, 0, 9, bits=(0x40, 0x40, 0))
    yield frame(0x04, b'', 4, 10, bits=(0xc0, 0x3f, 0xff))
    yield frame(0x81, b'', 16, 11, bits=(0, 0x40, 0))


# Headers of RDMA IP CM: version 0, IP version, source port, source and destination.
IP_HEADER = {
    False: struct.pack('>BBH12x4s12x4s', 0, 0x40, 0xc553, *IPV4),
    True: struct.pack('>BBH16s16s', 0, 0x60, 0xc553, *IPV6),
}
GID = {False: [bytes(10) + b'\xff\xff' + addr for addr in IPV4], True: IPV6}
TCP_PORT, UDP_PORT = 0x01060000 | 7174, 0x01110000 | 7174
COMM_IDS = struct.pack('>II', 0x11121314, 0x21222324)
GUID = bytes.fromhex('020000fffe000001')
ECE_VENDOR = bytes.fromhex('0015b3')
MTU_1024 = 3


def mad(attr, body, attr_mod=0, klass=7, method=3):
    head = struct.pack('>BBBBHHQHHI', 1, klass, 2, method, 0, 0, 0x0123456789abcdef, attr, 0, attr_mod)
    return (head + body).ljust(256, b'\0')


def req(six, transport=0, extended=0, alternate=bytes(44)):
    body = struct.pack('>I1x3sQ8s4xI', 0x11121314, ECE_VENDOR, TCP_PORT, GUID, 0)
    body += struct.pack('>IIII', 0xabc << 8 | 4, 5, 20 << 3 | transport << 1, 0x123456 << 8 | 20 << 3 | 7)
    body += struct.pack('>HBB', 0xffff, MTU_1024 << 4 | 7, 15 << 4 | extended)
    body += struct.pack('>HH16s16sIBBBB', 0xffff, 0xffff, *GID[six], 0xabcde << 12 | 6, 0x6a, 64, 0, 18 << 3)
    return mad(0x10, body + alternate + IP_HEADER[six] + b'request', attr_mod=0x1020)


def messages(six):
    """A MAD of each message."""
    path = struct.pack('>HH16s16s', 1, 2, *reversed(GID[six]))
    yield req(six)
    yield req(six, transport=3, extended=1,
              alternate=path + struct.pack('>IBBBB', 0x54321 << 12 | 3, 1, 1, 5 << 4 | 8, 17 << 3 | 4))
    yield mad(0x11, COMM_IDS + struct.pack('>BB', 0, 24 << 3) + b'wait')
    yield mad(0x13, COMM_IDS + struct.pack('>IIIIBBBB8s', 0, 0xdef << 8 | 0x00, 0x15, 0x654321 << 8 | 0xb3, 5, 4,
                                           15 << 3 | 2, 7 << 5 | 0x10, GUID) + b'reply', attr_mod=0x1020)
    yield mad(0x14, COMM_IDS + b'ready')
    yield mad(0x15, COMM_IDS + struct.pack('>I', 0xdef << 8) + b'bye')
    yield mad(0x16, COMM_IDS + b'gone')
    yield mad(0x17, struct.pack('>IHxxQ', 0x31323334, 0xffff, UDP_PORT) + IP_HEADER[six] + b'where')
    yield mad(0x18, struct.pack('>IBBHIQI', 0x31323334, 0, 0, 0x0015, 0xdef << 8 | 0xb3, UDP_PORT, 0x01234567) +
              bytes(72) + b'here', attr_mod=0x1020)
    yield mad(0x18, struct.pack('>IBBHIQI', 0x31323334, 1, 4, 0, 0, UDP_PORT, 0) + b'info')
    yield mad(0x19, COMM_IDS + struct.pack('>4xI4x', 0xdef << 8 | 20 << 3) + path +
              struct.pack('>IBBBB', 0x54321 << 12 | 1, 64, 3, 5 << 4 | 8, 17 << 3))
    yield mad(0x1a, COMM_IDS + struct.pack('>BB', 0, 2))


def connection_management():
    mads = [(six, vlan, data) for six in (False, True) for vlan in (None, 0x6064) for data in messages(six)]
    mads += [(False, None, mad(0x12, COMM_IDS + struct.pack('>BBH', reason % 3 << 6, 6 << 1, reason) + b'detail'))
             for reason in (*range(1, 34), 35)]
    mads += [
        (False, None, mad(0x17, struct.pack('>IHxxQ', 1, 0xffff, 0x1000000000000001) + b'no IP')),
        (False, None, mad(0x01, b'', klass=3, method=1)),    # subnet administration
        (False, None, mad(0x01, b'', klass=4, method=1)),    # performance management
        (False, None, b'no MAD'),
    ]
    for psn, (six, vlan, data) in enumerate(mads):
        yield frame(0x64, struct.pack('>II', 0x80010000, 1), 0, psn, six, vlan, qpn=1, payload=data)
    yield frame(0x64, DETH, 256, len(mads))    # not to QP 1
    yield from other_traffic()


def management_frame(six, data, psn, **options):
    return frame(0x64, struct.pack('>II', 0x80010000, 1), 0, psn, six, qpn=1, payload=data, **options)


def some_messages():
    return [management_frame(six, data, 0x200, vlan=5 if six else None)
            for six in (False, True) for data in messages(six)]


def cm_variants():
    """Frames, and how many of their bytes were captured."""
    for six in (False, True):
        for data in messages(six):
            yield management_frame(six, data, 0x300, checksum=True), None
    options = management_frame(False, req(False), 0x301, options=b'\x01' * 8)
    yield options, None
    yield options + b'\xaa' * 6, None
    for six in (False, True):
        tagged = management_frame(six, req(six), 0x302, vlan=7)
        yield tagged[:12] + b'\x88\xa8\x00\x64' + tagged[12:], None
        yield tagged[:12] + b'\x81\x00\x00\x64' + tagged[12:], None
        yield tagged[:12] + b'\x88\xa8\x00\x64' + tagged[16:], None
        yield tagged, len(tagged) - 4    # all but the ICRC
        yield tagged, 96    # in the MAD
    yield frame(0x0a, RETH, 4096, 0x303), 128    # a long frame that is no MAD


def write_big_endian_pcap(path, frames):
    with open(path, 'wb') as out:
        out.write(struct.pack('>IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
        for i, data in enumerate(frames):
            out.write(struct.pack('>IIII', 0, i * 1000, len(data), len(data)) + data)


def write_pcap(path, frames):
    with open(path, 'wb') as out:
        out.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i, data in enumerate(frames):
            out.write(struct.pack('<IIII', i // 1000, i % 1000, len(data), len(data)) + data)


def block(kind, body):
    body += bytes(-len(body) % 4)
    length = struct.pack('<I', 12 + len(body))
    return struct.pack('<I', kind) + length + body + length


def write_pcapng(path, frames):
    """`frames`: each with the number of bytes that were captured; None: all."""
    with open(path, 'wb') as out:
        out.write(block(0x0a0d0d0a, struct.pack('<IHHq', 0x1a2b3c4d, 1, 0, -1)))
        nanoseconds = struct.pack('<HHB3xHH', 9, 1, 9, 0, 0)
        out.write(block(1, struct.pack('<HHI', 1, 0, 65535) + nanoseconds))
        for i, (data, kept) in enumerate(frames):
            kept = len(data) if kept is None else kept
            out.write(block(6, struct.pack('<IIIII', 0, 0, i * 1000, kept, len(data)) + data[:kept]))


def main():
    if len(sys.argv) != 2:
        sys.exit('usage: make-captures.py FOLDER')
    write_pcap(f'{sys.argv[1]}/every-opcode.pcap', every_opcode())
    write_pcap(f'{sys.argv[1]}/cm.pcap', connection_management())
    write_big_endian_pcap(f'{sys.argv[1]}/cm-big-endian.pcap', some_messages())
    write_pcapng(f'{sys.argv[1]}/cm-variants.pcapng', cm_variants())
    write_pcapng(f'{sys.argv[1]}/variants.pcapng', ((data, None) for data in variants()))


if __name__ == '__main__':
    main()
