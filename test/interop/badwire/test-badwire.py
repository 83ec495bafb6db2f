#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests whether badwire causes the faults of its rules, and no other faults.

    test-badwire.py BADWIRE EVERY_OPCODE_PCAP

Prints TAP. The test uses two veths in a network namespace of its own, with raw sockets at the far ends. The frames are
made by test/captures/make-captures.py, which does not use lib/wire.
"""

import importlib.util
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import zlib

sys.dont_write_bytecode = True
import rig  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM, CAPTURE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
spec = importlib.util.spec_from_file_location('make_captures',
                                              HERE.parent.parent / 'captures' / 'make-captures.py')
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)

SEND_ONLY, WRITE_ONLY, READ_REQUEST, READ_RESPONSE_ONLY, ACK = 0x04, 0x0a, 0x0c, 0x10, 0x11
UDP_LEN, ETHERNET_LEN = 8, 14
REORDER_SECONDS = 0.05
FAULTS = ('drop', 'duplicate', 'corrupt', 'delay 2000000', 'reorder 2', 'blackout 60000')


# ---------------------------------------------------------------------------------------- frames

def sends(nb, first=1, **how):
    """A train of RC SEND_ONLY frames, all different."""
    return [make.frame(SEND_ONLY, b'', 32, first + i, bits=(0x40, 0, 0), **how) for i in range(nb)]


def ip_at(frame):
    return ETHERNET_LEN + (4 if frame[12:14] == b'\x81\x00' else 0)


def bth_at(frame):
    at = ip_at(frame)
    return at + (40 if frame[at] >> 4 == 6 else 4 * (frame[at] & 0xf)) + UDP_LEN


def is_roce(frame):
    """Whether a frame is RoCE; for the frames of this test only."""
    at = ip_at(frame)
    is_udp = (frame[at - 2:at] == b'\x08\x00' and frame[at + 9] == 17 and not frame[at + 7]
              or frame[at - 2:at] == b'\x86\xdd' and frame[at + 6] == 17)
    return is_udp and frame[bth_at(frame) - 6:bth_at(frame) - 4] == b'\x12\xb7'


def has_right_icrc(frame):
    """Whether the ICRC is right, with an independent implementation of the masking of [IBA A17.3.3]."""
    at, bth = ip_at(frame), bth_at(frame)
    if frame[at] >> 4 == 6:
        masked = bytearray(frame[at:at + 40 + struct.unpack_from('>H', frame, at + 4)[0]])
        masked[0:4], masked[7] = b'\x6f\xff\xff\xff', 0xff
    else:
        masked = bytearray(frame[at:at + struct.unpack_from('>H', frame, at + 2)[0]])
        masked[1] = masked[8] = masked[10] = masked[11] = 0xff
    masked[bth - at - 2:bth - at], masked[bth - at + 4] = b'\xff\xff', 0xff
    return struct.pack('<I', zlib.crc32(b'\xff' * 8 + masked[:-4])) == masked[-4:]


def others():
    """Frames that are not RoCEv2, or that are only a part of a RoCEv2 frame."""
    def udp(source, target, ident, fragment=b'\x40\x00'):
        head = bytearray(make.ipv4(UDP_LEN + 32, 0, ident, b'')[0])
        head[6:8] = fragment
        return (make.DMAC + make.SMAC + b'\x08\x00' + head
                + struct.pack('>HHHH', source, target, UDP_LEN + 32, 0) + bytes(32))
    yield from make.other_traffic()
    yield udp(4791, 5353, 1)
    yield udp(53, 53, 2)
    yield udp(4791, 4791, 3, b'\x00\x10')                       # a later fragment
    head = bytearray(make.ipv4(20 + 32, 0, 4, b'')[0])
    head[9] = 6
    tcp = struct.pack('>HHIIBBHHH', 4791, 4791, 1, 2, 0x50, 0x18, 0xffff, 0, 0)
    yield make.DMAC + make.SMAC + b'\x08\x00' + head + tcp + bytes(32)
    head6 = bytearray(make.ipv6(20 + 32, 0, 5)[0])
    head6[6] = 6
    yield make.DMAC + make.SMAC + b'\x86\xdd' + head6 + tcp + bytes(32)
    head6[6] = 58                                               # the protocol of a neighbour solicitation
    yield make.DMAC + make.SMAC + b'\x86\xdd' + head6 + bytes(52)
    yield make.DMAC + make.SMAC + b'\x88\xcc' + bytes(46)       # LLDP
    yield make.DMAC + make.SMAC + b'\x88\xb6' + bytes(2)        # shorter than the minimum frame of Ethernet
    yield make.DMAC + make.SMAC + b'\x88\xb6' + bytes(range(256)) * 16 + bytes(190)


def malformed():
    """Frames to port 4791 that are malformed RoCEv2: an undefined opcode, an impossible length, another version."""
    yield make.frame(0x1f, b'', 8, 1)
    yield make.frame(ACK, b'', 0, 2)
    yield make.frame(SEND_ONLY, b'', 8, 3, bits=(0x41, 0, 0))   # another BTH version


def stacked():
    """A frame with two tags, the outer one of 802.1ad."""
    tags = struct.pack('>HHHH', 0x88a8, 7, 0x8100, 0x2009)
    return make.DMAC + make.SMAC + tags + b'\x08\x00' + make.frame(SEND_ONLY, b'', 4, 1)[ETHERNET_LEN:]


# ---------------------------------------------------------------------------------------- checks

def expect(what, is_right, *said):
    if not is_right:
        raise AssertionError(': '.join([what, *map(str, said)]))


def same(what, found, wanted):
    """Check that two lists, mostly of frames, are equal."""
    if found == wanted:
        return
    for i, (left, right) in enumerate(zip(found, wanted)):
        if left != right:
            show = [part.hex() if isinstance(part, bytes) else part for part in (left, right)]
            raise AssertionError(f'{what}: number {i + 1} is {show[0]}, and should be {show[1]}')
    raise AssertionError(f'{what}: there are {len(found)}, and should be {len(wanted)}')


def missing(sent, come):
    """Numbers of the frames, from 1, that did not arrive. The others must have arrived in order."""
    lost, at = [], 0
    for ordinal, frame in enumerate(sent, 1):
        if at < len(come) and come[at] == frame:
            at += 1
        else:
            lost.append(ordinal)
    expect('frames that were not sent, or in another order', at == len(come), len(come) - at)
    return lost


# ----------------------------------------------------------------------------------------- tests

def test_unchanged(joined):
    """without rules every frame of every kind passes unchanged, in both directions"""
    frames = [frame for _, frame in rig.frames_of(CAPTURE)]
    frames += [*make.variants(), *others(), *malformed(), stacked()]
    with rig.Badwire(PROGRAM) as wire:
        same('greeting', wire.greeting, 'badwire: a1 and b1 are joined, seed 1')
        for sender in 'ab':
            same(f'frames of {sender}', joined.carry(frames, sender), frames)


def test_attached(joined):
    """badwire receives all frames that arrive at an interface, for any address, but not those that this host sends"""
    with rig.Badwire(PROGRAM):
        for end in 'ab':
            link = json.loads(subprocess.run(['ip', '-d', '-j', 'link', 'show', f'{end}1'], check=True,
                                             capture_output=True, text=True).stdout)[0]
            same(f'{end}1: promiscuous', link['promiscuity'], 1)
            rig.Host(f'{end}1').send(sends(2))
            same(f'{end}1: it comes there', [joined.host[end].receive() for _ in range(2)], sends(2))
            same(f'{end}1: and there alone', joined.carry(sends(1), end), sends(1))


def test_others(joined):
    """frames that are not RoCEv2, or malformed, get no faults, whatever the rule"""
    frames = [*others(), *malformed()]
    for fault in FAULTS:
        with rig.Badwire(PROGRAM) as wire:
            wire.tell(f'rule both all {fault} 1.0')
            for sender in 'ab':
                same(f'{fault}: frames of {sender}', joined.carry(frames, sender), frames)
            harmed = sends(1)
            expect(f'{fault}: a RoCEv2 frame passes', joined.carry(harmed) != harmed)
        joined.drain()


def test_drop_by_script(joined):
    """a script drops the frames with its numbers, in any order of its list"""
    frames = sends(12)
    for script in '3,7,8', '8,3,7', '7,3,8,3,700':
        with rig.Badwire(PROGRAM) as wire:
            wire.tell(f'rule a>b all drop script {script}')
            same(script, missing(frames, joined.carry(frames)), [3, 7, 8])
            same('afterwards', joined.carry(frames), frames)


def lost_of(joined, frames, rules, seed, sender='a'):
    with rig.Badwire(PROGRAM, seed) as wire:
        wire.tell(*rules)
        return missing(frames, joined.carry(frames, sender))


def test_probability(joined):
    """the share of faults is within five sigma of the probability, and exact for 0 and 1"""
    frames = sends(20000)
    for p in 0.001, 0.1, 0.5:
        nb = len(lost_of(joined, frames, [f'rule a>b all drop {p}'], 7))
        sigma = math.sqrt(len(frames) * p * (1 - p))
        expect(f'{p}', abs(nb - len(frames) * p) < 5 * sigma, nb)
    same('0', lost_of(joined, frames[:2000], ['rule a>b all drop 0'], 7), [])
    same('1', len(lost_of(joined, frames[:2000], ['rule a>b all drop 1'], 7)), 2000)


def test_seed(joined):
    """losses depend on the seed and the rule, not on time, direction, other frames or other rules"""
    frames, rule = sends(2000), 'rule both request drop 0.05'
    first = lost_of(joined, frames, [rule], 5)
    expect('nothing is lost', len(first) > 50, len(first))
    same('again', lost_of(joined, frames, [rule], 5), first)
    same('the other way', lost_of(joined, frames, [rule], 5, 'b'), first)
    same('another rule behind it', lost_of(joined, frames, [rule, 'rule a>b ack drop 0.5'], 5), first)
    same('after clear', lost_of(joined, frames, ['rule both all drop 1', 'clear', rule], 5), first)
    expect('another seed loses the same', lost_of(joined, frames, [rule], 6) != first)
    expect('another place loses the same',
           lost_of(joined, frames, ['rule b>a all drop 0.05', rule], 5) != first)
    acks = [make.frame(ACK, make.AETH, 0, i) for i in range(len(frames))]
    mixed = [frame for pair in zip(acks, frames) for frame in pair]
    same('with ACKs between them', lost_of(joined, mixed, [rule], 5), [2 * i for i in first])


def test_duplicate(joined):
    """a duplicated frame arrives twice, one directly after the other"""
    frames = sends(5)
    with rig.Badwire(PROGRAM) as wire:
        wire.tell('rule a>b all duplicate script 2,5')
        same('frames', joined.carry(frames), [frames[i] for i in (0, 1, 1, 2, 3, 4, 4)])


def test_corrupt(joined):
    """in a corrupted frame exactly one bit is changed; any bit that the ICRC covers may be chosen"""
    frames, bits, padding = [], set(), b'\xaa' * 7
    for how in {}, {'six': True}, {'vlan': 0x6064}, {'options': b'\x01' * 8}:
        frames += sends(1000, **how)
    frames += [make.frame(SEND_ONLY, b'', 1, 9) + padding] * 500    # padding of Ethernet
    with rig.Badwire(PROGRAM) as wire:
        wire.tell('rule a>b all corrupt 1')
        come = joined.carry(frames)
    same('how many', len(come), len(frames))
    for sent, got in zip(frames, come):
        bth, end = bth_at(sent), len(sent) - (len(padding) if sent.endswith(padding) else 0)
        differ = int.from_bytes(sent, 'little') ^ int.from_bytes(got, 'little')
        same('length', len(got), len(sent))
        expect('not one bit differs', bin(differ).count('1') == 1, bin(differ))
        at = (differ.bit_length() - 1) // 8
        expect('a byte that the ICRC does not cover', bth <= at < end and at != bth + 4, at)
        expect('the ICRC is right', has_right_icrc(sent) and not has_right_icrc(got))
        if len(sent) == len(frames[0]):
            bits.add(differ)
    # 32 bytes of payload, BTH without one byte, ICRC: 376 bits, each missed with a probability of 7 %
    expect('few bits are ever chosen', len(bits) > 300, len(bits))


def test_delay(joined):
    """a delayed frame arrives later and does not delay the frames after it; if all are delayed, they stay in order"""
    frames, host, seconds = sends(5), joined.host['b'], 0.3
    with rig.Badwire(PROGRAM) as wire:
        wire.tell(f'rule a>b all delay {int(seconds * 1e6)} script 2')
        before = time.monotonic()
        same('those behind', joined.carry(frames), frames[:1] + frames[2:])
        expect('those behind waited', time.monotonic() - before < seconds)
        same('the late one', host.receive(), frames[1])
        late = time.monotonic() - before
        expect('it came too soon, or too late', seconds <= late < seconds + 1, late)
        wire.tell('clear', 'rule a>b all delay 5000 1')
        same('all are late', joined.carry(frames), [])
        same('in order', [host.receive() for _ in frames], frames)
        same('delayed', wire.stats()['a>b']['delayed'], 6)
        wire.tell('clear', 'rule a>b all delay 600000 script 1', 'rule a>b all delay 100000 script 2')
        same('both are late', joined.carry(frames[:2]), [])
        same('by their times', [host.receive() for _ in range(2)], [frames[1], frames[0]])


def test_reorder(joined):
    """a reordered frame arrives after so many RoCEv2 frames of its direction, or after 50 ms"""
    frames, host = sends(9), joined.host['b']
    with rig.Badwire(PROGRAM) as wire:
        for rule, wanted in (('reorder 3 script 2', (1, 3, 4, 5, 2, 6, 7, 8, 9)),
                             ('reorder 1 script 1,3,8', (2, 1, 4, 3, 5, 6, 7, 9, 8)),
                             ('reorder 4 script 1,2', (3, 4, 5, 1, 6, 2, 7, 8, 9)),
                             ('reorder 1 script 1,2', (1, 3, 2, 4, 5, 6, 7, 8, 9))):
            wire.tell('clear', f'rule a>b all {rule}')
            same(rule, joined.carry(frames), [frames[i - 1] for i in wanted])
        wire.tell('clear', 'rule a>b all reorder 1 script 1')
        before = time.monotonic()
        same('it waits', joined.carry([frames[0], *others()]), list(others()))
        joined.carry(frames, 'b')    # frames of the other direction do not count either
        same('it is let go', host.receive(), frames[0])
        expect('too soon', time.monotonic() - before >= REORDER_SECONDS, time.monotonic() - before)
        same('reordered, let go', [wire.stats()['a>b'][key] for key in ('reordered', 'let_go')], [9, 1])


def test_blackout(joined):
    """a blackout drops matching frames for its duration, and no other blackout begins within it"""
    frames, seconds = sends(3), 1
    with rig.Badwire(PROGRAM) as wire:
        wire.tell(f'rule both request blackout {seconds * 1000} script 2,7')
        before = time.monotonic()
        same('the beginning', joined.carry(frames), frames[:1])
        same('the other way', joined.carry(frames, 'b'), [])
        same('what does not match', len(joined.carry([make.frame(ACK, make.AETH, 0, 1)])), 1)
        time.sleep(seconds * 0.6)    # the frame that would begin another blackout comes within this one
        while not (come := joined.carry(frames[:1])):
            expect('it does not end', time.monotonic() - before < seconds * 1.5)
        expect('too short', time.monotonic() - before >= seconds, time.monotonic() - before)
        same('afterwards', come + joined.carry(frames, 'b'), frames[:1] + frames)


def opcodes_of(kind):
    """The opcodes of a class by [IBA 9.2.1], independent of badwire's table."""
    requests = {*range(0x0d), 0x13, 0x14, 0x16, 0x17, 0x1c, 0x1d}
    responses = {0x0d, 0x0e, 0x0f, 0x10, 0x12}
    reliable = {'request': requests, 'response': responses, 'ack': {ACK}}
    every = {low | service for lows in reliable.values() for low in lows for service in (0, 0xa0)}
    every |= {low | 0x20 for low in range(0x0c)} | {0x64, 0x65, 0x81}
    if kind == 'all':
        return every
    return {code for code in every if code & 0x1f in reliable[kind] and code != 0x81}


def test_opcodes(joined):
    """each class has its opcodes and no others; a name is one opcode, in upper or lower case"""
    frames = list({frame[bth_at(frame)]: frame for _, frame in rig.frames_of(CAPTURE)
                   if is_roce(frame)}.values())
    for word, wanted in [(kind, opcodes_of(kind)) for kind in ('all', 'request', 'response', 'ack')] + [
            ('RC_WRITE_ONLY', {WRITE_ONLY}), ('rc_read_response_only', {READ_RESPONSE_ONLY}),
            ('UC_SEND_ONLY', {0x24}), ('UD_SEND_ONLY', {0x64}), ('XRC_ACK', {0xb1}), ('CNP', {0x81})]:
        with rig.Badwire(PROGRAM) as wire:
            wire.tell(f'rule a>b {word} drop 1')
            come = joined.carry(frames)
            lost = {frame[bth_at(frame)] for frame in frames if frame not in come}
            same(word, sorted(lost), sorted(wanted))
            same(f'{word}: the other way', joined.carry(frames, 'b'), frames)


def test_messages(joined):
    """`cm` has the messages of connection management, `cm:NAME` one of them, and neither has other datagrams"""
    frames = list(make.connection_management())
    wanted = {'cm': set(range(0x10, 0x1b)), 'cm:REQ': {0x10}, 'cm:rej': {0x12}, 'cm:SIDR_REP': {0x18}, 'cm:APR': {0x1a}}
    for word, attrs in wanted.items():
        with rig.Badwire(PROGRAM) as wire:
            wire.tell(f'rule a>b {word} drop 1')
            come = joined.carry(frames)
            lost = [frame for frame in frames if attribute(frame) in attrs]
            same(word, come, [frame for frame in frames if frame not in lost])
            same(f'{word}: struck', wire.stats()['rules'], [{'matched': len(lost), 'struck': len(lost)}])
            same(f'{word}: the other way', joined.carry(frames, 'b'), frames)
    with rig.Badwire(PROGRAM) as wire:
        wire.tell('rule a>b cm:REP drop script 2', 'rule a>b UD_SEND_ONLY drop script 1')
        replies = [i for i, frame in enumerate(frames, 1) if attribute(frame) == 0x13]
        same('the second REP, and the first datagram', missing(frames, joined.carry(frames)), [1, replies[1]])


def attribute(frame):
    """The attribute ID of a MAD of the class of connection management; None: the frame is something else."""
    at = bth_at(frame) + 20 if is_roce(frame) else 0
    is_one = at and len(frame) == at + 260 and frame[at - 15:at - 12] == b'\0\0\1' and frame[at + 1] == 7
    return struct.unpack_from('>H', frame, at + 16)[0] if is_one else None


def test_direction(joined):
    """a rule applies to its direction; a rule for both directions counts the frames of both"""
    frames = sends(4)
    for direction, lost_of_a, lost_of_b in (('a>b', [3], []), ('b>a', [], [3]), ('both', [3], [])):
        with rig.Badwire(PROGRAM) as wire:
            wire.tell(f'rule {direction} all drop script 3')
            same(f'{direction}: a', missing(frames, joined.carry(frames)), lost_of_a)
            same(f'{direction}: b', missing(frames, joined.carry(frames, 'b')), lost_of_b)
    with rig.Badwire(PROGRAM) as wire:
        wire.tell('rule both all drop script 6')
        same('both: a', missing(frames, joined.carry(frames)), [])
        same('both: b', missing(frames, joined.carry(frames, 'b')), [2])


def test_order_of_rules(joined):
    """the first rule that applies determines the fault of a frame, and every rule that matches counts the frame"""
    frames = sends(5)
    with rig.Badwire(PROGRAM) as wire:
        wire.tell('rule a>b all drop script 2', 'rule a>b all duplicate script 2,3',
                  'rule b>a all drop 1')
        same('frames', joined.carry(frames), [frames[i] for i in (0, 2, 2, 3, 4)])
        same('counted', wire.stats()['rules'], [{'matched': 5, 'struck': 1}, {'matched': 5, 'struck': 1},
                                                {'matched': 0, 'struck': 0}])
        wire.tell('clear')
        same('after clear', joined.carry(frames), frames)
        same('no rules', wire.stats()['rules'], [])


BAD = [
    ('rule', 'DIRECTION is missing'), ('rule a>b', 'OPCODES is missing'),
    ('rule a>c all drop 1', 'a>c: no direction: allowed are a>b, b>a, both'),
    ('rule a>b RC_SEND drop 1', 'RC_SEND: no opcode: allowed are all'),
    ('rule a>b cm:ACK drop 1', 'cm:ACK: no message: allowed are cm, or cm: and a name'),
    ('rule a>b cm: drop 1', 'cm:: no message'), ('rule a>b cmm drop 1', 'cmm: no opcode'),
    ('rule a>b ? drop 1', '?: no opcode'), ('rule a>b all', 'FAULT is missing'),
    ('rule a>b all lose 1', 'lose: no fault: allowed are drop'),
    ('rule a>b all pass 1', 'pass: no fault'), ('rule a>b all drop', 'HOW is missing'),
    ('rule a>b all drop 1.5', '1.5: no probability: allowed is a number from 0 to 1'),
    ('rule a>b all drop -0.1', '-0.1: no probability'), ('rule a>b all drop nan', 'nan: no probab'),
    ('rule a>b all drop 0.5x', '0.5x: no probability'), ('rule a>b all drop 1 2', '2: too much'),
    ('rule a>b all delay 1.5 1', 'delay 1.5: no number of microseconds: allowed are 1 to 10000000'),
    ('rule a>b all delay 0 1', 'delay 0: no number'), ('rule a>b all delay', 'AMOUNT is missing'),
    ('rule a>b all reorder 1001 1', 'reorder 1001: no number of frames: allowed are 1 to 1000'),
    ('rule a>b all blackout 60001 1', 'blackout 60001: no number of milliseconds'),
    ('rule a>b all drop script', 'LIST is missing'),
    ('rule a>b all drop script 1,,2', 'script 1,,2: no list: allowed are ordinals from 1'),
    ('rule a>b all drop script 0', 'script 0: no list'),
    ('rule a>b all drop script 1,2,', 'script 1,2,: no list'),
    ('rule a>b all drop script 1;2', 'script 1;2: no list'),
    ('rule a>b all drop script 99999999999999999999', 'no list'),
    ('rule a>b all drop script ' + ','.join(map(str, range(1, 514))), 'too long: allowed are 512'),
    ('rule a>b all drop script ' + '1' * 5000, 'too long: allowed are 4095 characters'),
    ('pcap', 'pcap : no file'), ('pcap /no/such/folder/x.pcap', 'No such file or directory'),
    ('clear all', 'clear all: no command: allowed are rule'), ('ruler', 'ruler: no command'),
    ('', 'no command'), ('STATS', 'STATS: no command'),
]


def test_bad_commands(joined):
    """a refused command gets a line with the wrong word, the reason and the allowed values, and changes nothing"""
    frames = sends(4)
    with rig.Badwire(PROGRAM) as wire:
        wire.tell('rule a>b all drop script 2,7')
        same('before', missing(frames, joined.carry(frames)), [2])
        for line, words in BAD:
            said = wire.ask(line)
            expect(line[:60], said.startswith('error: ') and words in said, said)
        same('afterwards', missing(frames, joined.carry(frames)), [3])
        same('rules', wire.stats()['rules'], [{'matched': 8, 'struck': 2}])
        wire.tell(*['rule b>a all drop 0'] * 31)
        said = wire.ask('rule b>a all drop 0')
        expect('too many rules', 'there are 32, and no more are allowed' in said, said)
        other = wire.connect()
        expect('a line without an end', is_sent_away(other, b'x' * 20000))
        same('the others do not mind', wire.ask('clear'), 'ok')


def is_sent_away(connection, text):
    try:
        connection.sendall(text)
        return connection.recv(1) == b''
    except (BrokenPipeError, ConnectionResetError):
        return True


def run(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=rig.TIMEOUT,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def test_options(_joined):
    """a wrong option gets one line with the option, the reason and the allowed values"""
    with tempfile.TemporaryDirectory() as folder:
        for words, status, said in (
                ([], 2, '0 interfaces named: allowed are two'), (['a1'], 2, '1 interfaces named'),
                (['a1', 'b1', 'b0'], 2, '3 interfaces'), (['a1', 'a1'], 2, 'a1: named twice'),
                (['--seed', 'x', 'a1', 'b1'], 2, '--seed x: no number: allowed are 0 to'),
                (['--seed', '-1', 'a1', 'b1'], 2, '--seed -1: no number'),
                (['--frob', 'a1', 'b1'], 2, '--frob: unknown option'),
                (['a1', 'b1', '--control'], 2, '--control: needs a value'),
                (['a1', 'b9'], 1, 'b9: no such interface: allowed are those that ip link lists'),
                (['--control', folder, 'a1', 'b1'], 1, 'Address already in use: allowed is a path'),
                (['--control', 'x' * 200, 'a1', 'b1'], 1, 'no path of a socket: allowed are 1 to 107'),
                (['--pcap', folder, 'a1', 'b1'], 1, 'Is a directory: allowed is a file')):
            found = run(*words)
            expect(' '.join(words), found[0] == status and said in found[2]
                   and found[2].startswith('badwire: ') and found[2].count('\n') == 1, found)
    status, out, err = run('--help')
    expect('--help', status == 0 and err == '' and 'rule DIRECTION OPCODES FAULT' in out, err)


def test_stats(joined):
    """the statistics are the sums of the frames that were sent, and of the faults"""
    captured = [frame for _, frame in rig.frames_of(CAPTURE)]
    spoilt = bytearray(sends(1)[0])
    spoilt[-1] ^= 1
    frames = captured + [*others(), *malformed(), bytes(spoilt)]
    last = len(joined.last())
    by_opcode = {}
    for frame in captured + [bytes(spoilt)]:
        if is_roce(frame):
            by_opcode[frame[bth_at(frame)]] = by_opcode.get(frame[bth_at(frame)], 0) + 1
    with rig.Badwire(PROGRAM) as wire:
        wire.tell('rule a>b RC_ACK drop 1', 'rule a>b RC_SEND_ONLY duplicate script 1,2',
                  'rule a>b RC_WRITE_ONLY corrupt script 2')
        come = joined.carry(frames)
        stats = wire.stats()
    nb_acks, nb_roce = by_opcode[ACK], sum(by_opcode.values())
    wanted = {'frames': len(frames) + 1, 'bytes': sum(map(len, frames)) + last, 'malformed': 3,
              'roce': nb_roce + 3, 'bad_icrc': 1, 'dropped': nb_acks, 'duplicated': 2, 'corrupted': 1,
              'delayed': 0, 'reordered': 0, 'let_go': 0, 'sent': len(come) + 1, 'unsent': 0,
              'device_drops': 0, 'kernel_drops': 0}
    opcodes = stats['a>b'].pop('opcodes')
    same('counters', sorted(stats['a>b'].items()), sorted(wanted.items()))
    same('sent', len(come), len(frames) - nb_acks + 2)
    same('by opcode', sorted(opcodes.values()), sorted(by_opcode.values()))
    same('of ACKs', opcodes['RC_ACK'], nb_acks)
    same('the other way', {key: nb for key, nb in stats['b>a'].items() if nb}, {})


def test_capture(joined):
    """a capture has each frame as it arrived, and the verdicts name the fault of each frame"""
    frames = [*make.variants(), *others(), *sends(6), stacked()]
    rules = [f'rule a>b RC_SEND_ONLY {fault} script {i}' for i, fault in enumerate(FAULTS[:5], 1)]
    with tempfile.TemporaryDirectory() as folder, rig.Badwire(PROGRAM) as wire:
        path, second = os.path.join(folder, 'first.pcap'), os.path.join(folder, 'second name.pcap')
        before = time.time()
        wire.tell(*rules, f'pcap {path}')
        joined.carry(frames)
        ends = [rig.Joined.trains]
        joined.carry(frames, 'b')
        expect('the same file', 'is being written' in wire.ask(f'pcap {path}'))
        expect('a folder', wire.ask(f'pcap {folder}').startswith('error: '))
        wire.tell('clear')
        joined.carry(sends(1))
        wire.tell(f'pcap {second}')
        joined.carry(sends(2))
        wire.tell('pcap off')
        joined.carry(sends(3))
        found, verdicts = rig.frames_of(path), rig.verdicts_of(path)
        same('second file', [frame for _, frame in rig.frames_of(second)][:2], sends(2))
        same('its verdicts', rig.verdicts_of(second), [(str(i), 'a>b', 'pass') for i in (1, 2, 3)])
    nb = len(frames)
    same('of a', [frame for _, frame in found[:nb]], frames)
    same('of b', [frame for _, frame in found[nb + 1:2 * nb + 1]], frames)
    same('ends', struct.unpack_from('>I', found[nb][1], 14), tuple(ends))
    times = [seconds for seconds, _ in found]
    expect('times', times == sorted(times) and before - 1e-6 <= times[0] <= times[-1] <= time.time())
    wanted, left = [], [fault.split()[0] for fault in FAULTS[:5]]
    for i, (_, frame) in enumerate(found, 1):
        is_a = i <= nb + 1 or i > 2 * nb + 2
        is_struck = is_a and left and is_roce(frame) and frame[bth_at(frame)] == SEND_ONLY
        wanted.append((str(i), 'a>b' if is_a else 'b>a', left.pop(0) if is_struck else 'pass'))
    same('verdicts', verdicts, wanted)


def test_same_verdicts(joined):
    """two runs with the same seed, rules and frames write the same verdicts and forward the same frames"""
    chance = random.Random(3)
    frames = [make.frame(*chance.choice([(SEND_ONLY, b'', 64), (WRITE_ONLY, make.RETH, 12),
                                         (READ_REQUEST, make.RETH, 0), (ACK, make.AETH, 0)]), psn)
              for psn in range(3000)] + [make.frame(ACK, make.AETH, 0, 1)]
    rules = ['rule a>b request drop 0.1', 'rule both all corrupt 0.1', 'rule a>b ack duplicate 0.2',
             'rule a>b RC_WRITE_ONLY reorder 1 0.3']

    def once(seed):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'x.pcap')
            with rig.Badwire(PROGRAM, seed, path) as wire:
                wire.tell(*rules)
                come = joined.carry(frames)
                same('status', wire.end(), (0, ''))
            same('captured', [frame for _, frame in rig.frames_of(path)][:-1], frames)
            return come, pathlib.Path(path + '.verdicts').read_text(encoding='ascii')
    first, second, third = once(11), once(11), once(12)
    same('verdicts', second[1].splitlines(), first[1].splitlines())
    same('frames', sorted(second[0]), sorted(first[0]))
    for fault in 'pass', 'drop', 'corrupt', 'duplicate', 'reorder':
        expect(f'no {fault}', f' a>b {fault}\n' in first[1])
    expect('another seed has the same verdicts', third[1] != first[1])


def test_idle(joined):
    """the process uses no CPU while no frames arrive, and while a frame is delayed"""
    with rig.Badwire(PROGRAM) as wire:
        wire.tell('rule a>b all delay 10000000 1')
        joined.carry(sends(3))
        before = wire.cpu_seconds()
        time.sleep(1)
        expect('it works all the time', wire.cpu_seconds() - before <= 0.05, wire.cpu_seconds() - before)


def test_overflow(joined):
    """frames of a burst that does not fit are counted"""
    frame = make.frame(0x07, b'', 4096, 1)
    nb = 40000
    with rig.Badwire(PROGRAM) as wire:
        wire.tell('rule a>b all drop 1')
        wire.pause()
        joined.host['a'].send([frame] * nb)
        wire.go_on()
        deadline = time.monotonic() + rig.TIMEOUT
        while sum(found := [wire.stats()['a>b'][key] for key in ('frames', 'kernel_drops')]) < nb:
            expect('frames without a trace', time.monotonic() < deadline, *found)
    expect('too many, nothing lost, or little room', sum(found) == nb and found[1] > 0
           and found[0] > 5000, *found)


def test_unsent(joined):
    """a frame that is too long for the other interface is counted, and the next frames pass"""
    frames = sends(1) + [make.frame(0x07, b'', 4096, 1)] + sends(2)
    subprocess.run(['ip', 'link', 'set', 'b1', 'mtu', '1500'], check=True)
    try:
        with rig.Badwire(PROGRAM) as wire:
            same('frames', joined.carry(frames), frames[:1] + frames[2:])
            same('unsent', wire.stats()['a>b']['unsent'], 1)
    finally:
        subprocess.run(['ip', 'link', 'set', 'b1', 'mtu', str(rig.MTU)], check=True)


def test_device_drops(joined):
    """frames that the interface drops are counted: the interface is a tap whose reader is slow"""
    if not os.path.exists('/dev/net/tun'):
        print('# not tried: there is no /dev/net/tun')
        return
    nb, frame = 5000, sends(1)[0]
    with rig.Tap('t0') as tap, rig.Badwire(PROGRAM, ends=('a1', 't0')) as wire:
        joined.host['a'].send([frame] * nb)
        deadline = time.monotonic() + rig.TIMEOUT
        while (stats := wire.stats()['a>b'])['frames'] < nb:
            expect('frames without a trace', time.monotonic() < deadline, stats)
        come = tap.receive()
        same('what comes', set(come), {frame})
        same('sent', stats['sent'], nb)
        same('sent and dropped, or come', stats['device_drops'] + len(come), nb)
        expect('nothing is dropped', stats['device_drops'] > 0)


def test_end(joined):
    """quit and SIGTERM end the process in order: delayed frames are sent, and the socket is removed"""
    frames = sends(3)
    for how in 'quit', 'signal':
        with rig.Badwire(PROGRAM) as wire:
            wire.tell('rule a>b all delay 10000000 script 1,3')
            same('those that do not wait', joined.carry(frames), frames[1:2])
            same(how, wire.end(how), (0, ''))
            expect('the socket is there', not os.path.exists(wire.path))
            same('those that waited', [joined.host['b'].receive() for _ in range(2)],
                 [frames[0], frames[2]])


def await_link(sender, receiver):
    deadline = time.monotonic() + rig.TIMEOUT
    sender.send(sends(1))
    while receiver.receive(0.1) is None:
        expect('the link does not come up', time.monotonic() < deadline)
        sender.send(sends(1))


def test_link(joined):
    """frames pass again after a link goes down and up; if an interface is removed, the process ends"""
    with rig.Badwire(PROGRAM) as wire:
        subprocess.run(['ip', 'link', 'set', 'b1', 'down'], check=True)
        joined.host['a'].send(sends(3))
        expect('it lives', wire.stats()['b>a']['frames'] == 0)
        subprocess.run(['ip', 'link', 'set', 'b1', 'up'], check=True)
        for sender, receiver in 'ab', 'ba':
            await_link(joined.host[sender], joined.host[receiver])
        joined.drain()
        for sender in 'ab':
            same('frames', joined.carry(sends(5), sender), sends(5))
    add = ['ip', 'link', 'add', 'c0', 'type', 'veth', 'peer', 'name', 'c1']
    for is_another_there in False, True:
        subprocess.run(add, check=True)
        with rig.Badwire(PROGRAM, ends=('a1', 'c1')) as wire:
            wire.pause()
            subprocess.run(['ip', 'link', 'del', 'c0'], check=True)
            if is_another_there:
                subprocess.run(add, check=True)
            wire.go_on()
            same('status, reason', wire.end('alone'), (1, 'badwire: c1: the interface is gone\n'))
    subprocess.run(['ip', 'link', 'del', 'c0'], check=True)


# ------------------------------------------------------------------------------------------ main

def main():
    tests = [test for name, test in globals().items() if name.startswith('test_')]
    joined, failed = rig.Joined(), 0
    print('TAP version 13')
    print(f'1..{len(tests)}', flush=True)
    for number, test in enumerate(tests, 1):
        joined.drain()
        try:
            test(joined)
            print(f'ok {number} - {test.__doc__}', flush=True)
        except Exception as error:    # any exception is a failure of this test; the other tests still run
            failed += 1
            print(f'not ok {number} - {test.__doc__}')
            for line in f'{error}\n{traceback.format_exc()}'.splitlines():
                print(f'# {line}', flush=True)
    return failed > 0


def why_not():
    """The reason why this test cannot run here, or None."""
    if os.geteuid() != 0:
        return 'this is not root'
    done = subprocess.run(['unshare', '--net', 'true'], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f'network namespaces cannot be made here: {done.stderr.strip()}'


if len(sys.argv) == 4 and sys.argv[3] == '--inside':
    sys.exit(main())
reason = why_not()
if reason:
    print(f'1..0 # SKIP {reason}')
    sys.exit(0)
os.execvp('unshare', ['unshare', '--net', sys.executable, os.path.abspath(__file__), PROGRAM, CAPTURE,
                      '--inside'])
