#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests how mads.py reads a capture, and which faults it finds in one.

    test-mads.py CHECK_CAPTURE CM_PCAP

Prints TAP. CM_PCAP has each message of connection management; make-captures.py makes it without lib/cm.
"""

import os
import shutil
import struct
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), 'usertools')]
import mads  # noqa: E402

GLOBAL_HEADER_LEN, RECORD_LEN = 24, 16
REQ, REP = 1, 4          # numbers of frames in the capture
TO_MAD = 14 + 20 + 8 + 12 + 8    # bytes of Ethernet, IPv4, UDP, BTH and DETH before a MAD
PRIVATE_OF_REQ = TO_MAD + 24 + 140


def records(path):
    """The frames of a capture, each behind its record header."""
    with open(path, 'rb') as file:
        head, data = file.read(GLOBAL_HEADER_LEN), file.read()
    found, at = [], 0
    while at < len(data):
        length = RECORD_LEN + struct.unpack_from('=I', data, at + 8)[0]
        found.append(bytearray(data[at:at + length]))
        at += length
    return head, found


def read(folder, head, frames, fates=()):
    """What mads.py reads from a capture of these frames."""
    path = os.path.join(folder, 'some.pcap')
    with open(path, 'wb') as file:
        file.write(head + b''.join(frames))
    with open(path + '.verdicts', 'w', encoding='ascii') as file:
        file.writelines(f'{i} a>b {fates[i - 1] if i <= len(fates) else "pass"}\n' for i in range(1, len(frames) + 1))
    return mads.read(path)


def test_fields(folder, head, frames):
    """a message has its name, sender, fields and fate"""
    found, faults = read(folder, head, frames, ['drop', 'delay'])
    assert faults == [], faults
    assert [mad.fate for mad in found[:3]] == ['drop', 'delay', 'pass'], [mad.fate for mad in found[:3]]
    req, rep = found[REQ - 1], found[REP - 1]
    assert (req.name, req.sender, req.number) == ('REQ', '192.0.2.1', 1), req
    assert req.fields['local_qpn'] == 0xabc and req.fields['primary.hop_limit'] == 64, req.fields
    assert (rep.name, rep.fields['remote_comm_id']) == ('REP', 0x21222324), rep


def test_reasons(folder, head, frames):
    """each REJ has the number of its reason"""
    found, _ = read(folder, head, frames)
    reasons = [mad.fields['reason'] for mad in found if mad.name == 'REJ']
    assert reasons == [*range(1, 34), 35], reasons


def test_others(folder, head, frames):
    """MADs of other classes are left out"""
    found, _ = read(folder, head, frames)
    names = {mad.name for mad in found}
    assert names == {'REQ', 'MRA', 'REP', 'RTU', 'DREQ', 'DREP', 'SIDR_REQ', 'SIDR_REP', 'LAP', 'APR', 'REJ'}, names


def test_times(folder, head, frames):
    """times are seconds since the first frame"""
    late = bytearray(frames[0])
    seconds, micros = struct.unpack_from('=II', late)
    struct.pack_into('=II', late, 0, seconds + 3, micros + 250000)
    found, _ = read(folder, head, [frames[0], late])
    assert [round(mad.seconds, 6) for mad in found] == [0, 3.25], [mad.seconds for mad in found]


def test_repetition(folder, head, frames):
    """a repetition with the same content is no fault, and one with another content is"""
    same, _ = read(folder, head, [frames[REQ - 1]] * 2)
    assert mads.changed(same) == [], mads.changed(same)
    other = bytearray(frames[REQ - 1])
    other[RECORD_LEN + PRIVATE_OF_REQ + 2] ^= 1    # the source port in the IP header of the private data
    found, _ = read(folder, head, [frames[REQ - 1], other])
    assert mads.changed(found) == ['frame 2: 192.0.2.1 repeats its REQ with another content'], mads.changed(found)


def test_refused(folder, head, frames):
    """a MAD that lib/cm refuses is a fault"""
    other = bytearray(frames[REQ - 1])
    other[RECORD_LEN + TO_MAD + 3] = 0x81    # the method
    _, faults = read(folder, head, [frames[REQ - 1], other])
    assert len(faults) == 1 and faults[0].startswith('frame 2: ') and 'refused' in faults[0], faults


def main():
    mads.CHECK_CAPTURE = sys.argv[1]
    tests = [test for name, test in globals().items() if name.startswith('test_')]
    print(f'TAP version 13\n1..{len(tests)}', flush=True)
    failed = 0
    for number, test in enumerate(tests, 1):
        folder = tempfile.mkdtemp()
        try:
            test(folder, *records(sys.argv[2]))
            print(f'ok {number} - {test.__doc__}', flush=True)
        except AssertionError as error:
            failed += 1
            print(f'not ok {number} - {test.__doc__}\n# {error}', flush=True)
        finally:
            shutil.rmtree(folder)
    return int(failed > 0)


sys.exit(main())
