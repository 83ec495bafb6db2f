# SPDX-License-Identifier: BSD-3-Clause
"""Evaluates badwire's captures, frame by frame. A capture has the frames as each end sent them, without badwire's
faults."""

import struct
import zlib

ROCE_PORT = 4791
BTH_LEN = 12
GLOBAL_HEADER_LEN, RECORD_LEN = 24, 16
MAGIC = 0xa1b2c3d4
UC, UD, OPERATION = 0x20, 0x60, 0x1f
# Operations: the bits of an opcode without those of the transport [IBA 9.2.1, table 38]
SENDS = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x16, 0x17}
WRITES = {0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b}
READ, READ_RESPONSES, ACK, ATOMIC_ACK, ATOMICS = 0x0c, {0x0d, 0x0e, 0x0f, 0x10}, 0x11, 0x12, {0x13, 0x14}
REQUESTS = SENDS | WRITES | ATOMICS | {READ}
WRITE_BEGINS = {0x06, 0x0a, 0x0b}
RNR_NAK, NAK, SYNDROME = 0x20, 0x60, 0x60
NAK_CODES = {0: 'PSN sequence', 1: 'invalid request', 2: 'remote access', 3: 'remote operation', 4: 'invalid RD request'}


class Frame:
    """One RoCEv2 frame. `time` is in seconds, `source` the address of the sender, `length` that of the whole frame.
    `is_group`: the frame is sent to a multicast group. `bytes` is a checksum of the bytes after the BTH."""

    __slots__ = ('time', 'source', 'is_group', 'opcode', 'qpn', 'psn', 'length', 'syndrome', 'is_sound', 'reth', 'bytes')

    @property
    def operation(self):
        return self.opcode & OPERATION

    @property
    def is_request(self):
        return self.operation in REQUESTS

    @property
    def is_connected(self):
        return self.opcode & ~OPERATION == 0    # RC: the only transport with retransmissions


def parse(time, data):
    """A Frame, or None if the data is not RoCEv2."""
    kind = data[12:14]
    if kind == b'\x08\x00':
        header = (data[14] & 15) * 4
        is_udp, total = data[23] == 17, struct.unpack_from('>H', data, 16)[0]
        source = data[26:30]
    elif kind == b'\x86\xdd':
        header = 40
        is_udp, total = data[20] == 17, 40 + struct.unpack_from('>H', data, 18)[0]
        source = data[22:38]
    else:
        return None
    at = 14 + header
    if not is_udp or struct.unpack_from('>H', data, at + 2)[0] != ROCE_PORT:
        return None
    frame = Frame()
    frame.time, frame.source, frame.length = time, source, len(data)
    frame.is_group = data[0] & 1 == 1
    body = data[at + 8:14 + total]
    frame.opcode = body[0]
    frame.qpn, frame.psn = struct.unpack_from('>I', body, 4)[0] & 0xffffff, struct.unpack_from('>I', body, 8)[0] & 0xffffff
    frame.syndrome = body[BTH_LEN] if frame.operation in (ACK, ATOMIC_ACK) else None
    frame.reth = body[BTH_LEN:BTH_LEN + 16] if frame.opcode == READ else b''
    frame.bytes = zlib.crc32(body[BTH_LEN:-4])
    frame.is_sound = icrc(data[14:at], data[at:at + 8], body) == body[-4:]
    return frame


def icrc(ip, udp, body):
    """The ICRC, computed by zlib, independent of the code of both ends [IBA A17.3.3]."""
    ip, udp, head = bytearray(ip), bytearray(udp), bytearray(body[:BTH_LEN])
    if ip[0] >> 4 == 4:
        ip[1] = ip[8] = ip[10] = ip[11] = 0xff
    else:
        ip[0] |= 0x0f
        ip[1] = ip[2] = ip[3] = ip[7] = 0xff
    udp[6] = udp[7] = 0xff
    head[4] = 0xff
    crc = zlib.crc32(b'\xff' * 8 + ip + udp + head)
    return struct.pack('<I', zlib.crc32(body[BTH_LEN:-4], crc))


def records(path):
    """Each frame of a capture, as (time in seconds, bytes)."""
    with open(path, 'rb') as file:
        data = file.read()
    if len(data) < GLOBAL_HEADER_LEN:
        return
    order = '<' if struct.unpack_from('<I', data)[0] == MAGIC else '>'
    at = GLOBAL_HEADER_LEN
    while at + RECORD_LEN <= len(data):
        seconds, micros, length, _ = struct.unpack_from(order + 'IIII', data, at)
        at += RECORD_LEN
        yield seconds + micros / 1e6, data[at:at + length]
        at += length


def frames(path):
    """The RoCE frames of a capture in their order, each with its number in the capture. The first number is 1."""
    found = ((number, parse(time, data)) for number, (time, data) in enumerate(records(path), 1))
    return [(number, frame) for number, frame in found if frame]


class Tally:
    """Sums over the frames that one end of the wire sent."""

    def __init__(self):
        self.frames = self.groups = self.unsound = 0
        self.writes = self.reads = self.atomics = 0    # number of requests, without retransmissions
        self.again = self.again_bytes = 0        # RC requests with a PSN that was sent before
        self.changed = 0                         # SENDs and WRITEs among them whose bytes have changed
        self.responses_again = self.responses_again_bytes = 0    # the same for READ and atomic responses
        self.rnr_naks = self.sequence_naks = self.other_naks = 0
        self.naks_after_rnr = 0                  # sequence NAKs for a PSN that got an RNR NAK before

    def add(self, frame, seen, asked, mtu):
        self.frames += 1
        self.groups += frame.is_group
        self.unsound += not frame.is_sound
        if not frame.is_connected:
            self.writes += frame.opcode - UC in WRITE_BEGINS
            return
        if frame.operation == ACK and frame.syndrome & SYNDROME == RNR_NAK:
            self.rnr_naks += 1
            asked.add((frame.qpn, 'RNR', frame.psn))
        elif frame.operation == ACK and frame.syndrome & SYNDROME == NAK:
            if frame.syndrome & ~SYNDROME & 0x1f == 0:
                self.sequence_naks += 1
                self.naks_after_rnr += (frame.qpn, 'RNR', frame.psn) in asked
            else:
                self.other_naks += 1
        if frame.is_request:
            key = frame.qpn, frame.psn
            if key in seen:
                self.again += 1
                self.again_bytes += frame.length
                self.changed += frame.operation in SENDS | WRITES and frame.bytes != seen[key]
            else:
                self.writes += frame.operation in WRITE_BEGINS
                self.atomics += frame.operation in ATOMICS
                self.reads += frame.operation == READ
                if frame.reth:    # a later READ request may begin at the PSN of any of its responses
                    nb = -(-struct.unpack_from('>I', frame.reth, 12)[0] // mtu)
                    seen.update(((frame.qpn, frame.psn + i & 0xffffff), 0) for i in range(nb))
            seen[key] = frame.bytes
        elif frame.operation in READ_RESPONSES or frame.operation == ATOMIC_ACK:
            key = -frame.qpn, frame.psn
            if key in asked:
                self.responses_again += 1
                self.responses_again_bytes += frame.length
            asked.add(key)


def tally(found, mtu):
    """A Tally for each sender, by its address; mtu: the path MTU in bytes."""
    tallies, seen, asked = {}, {}, {}
    for _, frame in found:
        one = tallies.setdefault(frame.source, Tally())
        one.add(frame, seen.setdefault(frame.source, {}), asked.setdefault(frame.source, set()), mtu)
    return tallies


def stalls(found, requester, least_s):
    """Sum of the pauses in seconds in which the requester sent nothing. Pauses shorter than `least_s` do not count."""
    total, last = 0.0, None
    for _, frame in found:
        if frame.source == requester and frame.is_request:
            if last is not None and frame.time - last >= least_s:
                total += frame.time - last
            last = frame.time
    return total
