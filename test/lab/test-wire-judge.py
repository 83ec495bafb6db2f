#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests whether wire-judge detects the faults of a capture and reports them.

    test-wire-judge.py WIRE_JUDGE EVERY_OPCODE_PCAP
"""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

JUDGE, SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).read_bytes()
FILE_HEADER, FRAME_HEADER = 24, 16
IPV4, IPV6, UDP4, UDP6 = b'\x08\x00', b'\x86\xdd', 34, 54


def frames(kind):
    """The first three RoCEv2 frames over IPv4 or IPv6."""
    at, found, udp = FILE_HEADER, [], UDP4 if kind == IPV4 else UDP6
    while at < len(SOURCE) and len(found) < 3:
        length = struct.unpack_from('<I', SOURCE, at + 8)[0]
        frame = SOURCE[at + FRAME_HEADER:at + FRAME_HEADER + length]
        at += FRAME_HEADER + length
        if frame[12:14] == kind and frame[udp + 2:udp + 4] == b'\x12\xb7':
            found.append(bytearray(frame))
    return found


def pcap(captured, lost=0):
    """A capture of frames, without the last `lost` bytes of each frame."""
    data = SOURCE[:FILE_HEADER]
    for frame in captured:
        kept = len(frame) - lost
        data += struct.pack('<IIII', 0, 0, kept, len(frame)) + bytes(frame[:kept])
    return data


class WireJudge(unittest.TestCase):
    def run_on(self, data):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'x.pcap'
            path.write_bytes(data)
            done = subprocess.run([JUDGE, path], capture_output=True, text=True, check=False)
        return done.stdout.splitlines(), done.stderr, done.returncode

    def test_good_frames_of_both_kinds(self):
        out, err, status = self.run_on(pcap(frames(IPV4) + frames(IPV6)))
        self.assertEqual(out, ['x.pcap: 6 frames, 6 dissected, 6 ICRC right'], err)
        self.assertEqual(status, 0)

    def test_padding_of_ethernet_is_no_part_of_the_frame(self):
        out, _, status = self.run_on(pcap([frame + bytes(7)
                                           for frame in frames(IPV4) + frames(IPV6)]))
        self.assertEqual((out, status), (['x.pcap: 6 frames, 6 dissected, 6 ICRC right'], 0))

    def test_changed_bit_is_a_wrong_icrc(self):
        for kind in IPV4, IPV6:
            captured = frames(kind)
            captured[1][-1] ^= 1
            out, _, status = self.run_on(pcap(captured))
            self.assertEqual(out[0], 'x.pcap: 3 frames, 3 dissected, 2 ICRC right')
            self.assertRegex(out[1], r'^x.pcap: frame 2: ICRC \w{8}, scapy says \w{8}$')
            self.assertEqual(status, 1)

    def test_fields_that_routers_change_are_not_covered(self):
        captured = frames(IPV4) + frames(IPV6)
        for frame in captured:
            at = 22 if frame[12:14] == IPV4 else 21  # TTL, hop limit
            frame[at] -= 1
            frame[24:26] = b'\0\0' if at == 22 else frame[24:26]  # header checksum
        out, _, status = self.run_on(pcap(captured))
        self.assertEqual((out, status), (['x.pcap: 6 frames, 6 dissected, 6 ICRC right'], 0))

    def test_frame_that_ends_within_its_headers_is_malformed(self):
        frame = frames(IPV4)[0]
        frame[16:18], frame[38:40] = struct.pack('>H', 36), struct.pack('>H', 16)
        out, _, status = self.run_on(pcap([frame[:50]]))
        self.assertRegex(out[0], r'^x.pcap: 1 frames, 0 dissected, ')
        self.assertEqual(status, 1)

    def test_frame_captured_in_part_is_not_judged_right(self):
        out, _, status = self.run_on(pcap(frames(IPV4), lost=4))
        self.assertEqual(out[0], 'x.pcap: 3 frames, 0 dissected, 0 ICRC right')
        self.assertIn('captured in part', out[1])
        self.assertEqual(status, 1)

    def test_capture_without_frames_is_wrong(self):
        out, _, status = self.run_on(pcap([bytes(60)]))
        self.assertEqual((out, status), (['x.pcap: 0 frames, 0 dissected, 0 ICRC right'], 1))

    def test_what_is_no_capture_cannot_be_judged(self):
        out, err, status = self.run_on(b'no capture at all, but some text')
        self.assertEqual((out, status), ([], 2))
        self.assertEqual(len(err.splitlines()), 1)


if shutil.which('tshark') is None:
    print('tshark is not installed')
    sys.exit(77)
if subprocess.run(['/usr/bin/python3', '-c', 'import scapy.contrib.roce'], check=False,
                  capture_output=True).returncode != 0:
    print('python3-scapy is not installed')
    sys.exit(77)
unittest.main(argv=sys.argv[:1], verbosity=2)
