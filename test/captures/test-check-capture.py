#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests whether check-capture detects the faults of a capture and reports them.

    test-check-capture.py CHECK_CAPTURE EVERY_OPCODE_PCAP CM_PCAP CM_BIG_ENDIAN_PCAP CM_VARIANTS_PCAPNG
"""

import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, GOOD = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).read_bytes()
CM, BIG_ENDIAN, VARIANTS = (pathlib.Path(name).read_bytes() for name in sys.argv[3:6])
FILE_HEADER, FRAME_HEADER = 24, 16
NB_OTHER = 3  # frames before the first RoCEv2 frame, which is an IPv4 RC SEND_FIRST of 4 bytes
IP, UDP, BTH, PAYLOAD, ICRC = 14, 34, 42, 54, 58
MAD, BODY = 62, 86  # in the first frame of CM, a REQ on IPv4
NB_CM, NB_OTHER_MADS = 4 * 12 + 34 + 1, 3


def frames(data):
    """The offset and the length of each frame in a capture."""
    at, found = FILE_HEADER, []
    while at < len(data):
        length = struct.unpack_from('<I', data, at + 8)[0]
        found.append((at + FRAME_HEADER, length))
        at += FRAME_HEADER + length
    return found


def first_roce():
    return frames(GOOD)[NB_OTHER][0]


class CheckCapture(unittest.TestCase):
    def run_on(self, *captures, options=()):
        """Run check-capture on files with these contents. @return its output and its exit status"""
        with tempfile.TemporaryDirectory() as folder:
            for i, data in enumerate(captures):
                (pathlib.Path(folder) / f'{i}.pcap').write_bytes(data)
            names = [f'{i}.pcap' for i in range(len(captures))]
            run = subprocess.run([PROGRAM, *options, *names], cwd=folder, capture_output=True, text=True)
        return run.stdout, run.stderr, run.returncode

    def expect_mismatch(self, data, words):
        nb = len(frames(GOOD)) - NB_OTHER
        out, err, status = self.run_on(bytes(data))
        self.assertEqual(out, f'0.pcap: frame {NB_OTHER + 1}: {words}\n'
                              f'0.pcap: {nb} frames, {nb - 1} ok\n')
        self.assertEqual((err, status), ('', 1))

    def flipped(self, off, bits=1):
        data = bytearray(GOOD)
        data[first_roce() + off] ^= bits
        return data

    def test_good_files_each_on_a_line(self):
        nb = len(frames(GOOD)) - NB_OTHER
        out, err, status = self.run_on(GOOD, GOOD)
        self.assertEqual(out, ''.join(f'{i}.pcap: {nb} frames, {nb} ok\n' for i in (0, 1)))
        self.assertEqual((err, status), ('', 0))

    def test_no_roce(self):
        out, err, status = self.run_on(GOOD[:first_roce() - FRAME_HEADER])
        self.assertEqual((out, err, status), ('0.pcap: 0 frames, 0 ok\n', '', 0))

    def test_payload(self):
        self.expect_mismatch(self.flipped(PAYLOAD), 'RC_SEND_FIRST: invariant CRC wrong')

    def test_icrc(self):
        self.expect_mismatch(self.flipped(ICRC), 'RC_SEND_FIRST: invariant CRC wrong')

    def test_ip_checksum(self):
        was = GOOD[first_roce() + IP + 10]
        self.expect_mismatch(self.flipped(IP + 10),
                             f'RC_SEND_FIRST: byte {IP + 10}, in the IP header, is '
                             f'0x{was ^ 1:02x} but rebuilt as 0x{was:02x}')

    def test_udp_checksum(self):
        out, _, status = self.run_on(bytes(self.flipped(UDP + 6)))
        self.assertIn(f'byte {UDP + 6}, in the UDP header', out)
        self.assertEqual(status, 1)

    def test_unknown_opcode(self):
        self.expect_mismatch(self.flipped(BTH, 0x40),
                             'does not parse: opcode unknown or reserved')

    def test_udp_length(self):
        self.expect_mismatch(self.flipped(UDP + 5, 4),
                             'does not parse: UDP length disagrees with the IP length')

    def test_frame_captured_in_part(self):
        data = bytearray(GOOD)
        at, length = frames(GOOD)[NB_OTHER]
        struct.pack_into('<I', data, at - 4, length + 100)
        self.expect_mismatch(data, f'only {length} of its {length + 100} bytes were captured')

    def test_only_the_first_mismatch_is_told(self):
        data = self.flipped(PAYLOAD)
        data[frames(GOOD)[NB_OTHER + 1][0] + PAYLOAD] ^= 1
        out, _, status = self.run_on(bytes(data))
        self.assertEqual((out.count('\n'), status), (2, 1))

    def test_a_bad_file_does_not_hide_the_next(self):
        out, err, status = self.run_on(b'no capture', GOOD)
        self.assertIn('1.pcap: ', out)
        self.assertEqual((err.count('\n'), status), (1, 1))
        self.assertTrue(err.startswith('check-capture: 0.pcap: '), err)

    def test_file_cut_in_a_frame(self):
        out, err, status = self.run_on(GOOD[:-1])
        self.assertEqual((out.count('\n'), err.count('\n'), status), (1, 1, 1))
        self.assertIn('0.pcap: after frame ', err)

    def test_other_link_type(self):
        data = bytearray(GOOD)
        struct.pack_into('<I', data, 20, 101)
        out, err, status = self.run_on(bytes(data))
        self.assertEqual((out, status), ('', 1))
        self.assertEqual(err, 'check-capture: 0.pcap: link type RAW, but only Ethernet can be '
                              'checked\n')

    def test_no_such_file(self):
        run = subprocess.run([PROGRAM, '/no/such/file'], capture_output=True, text=True)
        self.assertEqual((run.stdout, run.returncode), ('', 1))
        self.assertEqual(run.stderr, 'check-capture: /no/such/file: No such file or directory\n')

    def test_no_file(self):
        run = subprocess.run([PROGRAM], capture_output=True, text=True)
        self.assertEqual((run.stdout, run.returncode), ('', 2))
        self.assertEqual(run.stderr.count('\n'), 1)

    def run_cm(self, changes=(), data=CM):
        """Check the messages of a capture with changed bytes of the first frame: {offset: value}.
        @return the lines of the output, and the exit status
        """
        data = bytearray(data)
        for off, value in dict(changes).items():
            data[frames(CM)[0][0] + off] = value
        out, err, status = self.run_on(bytes(data), options=['--cm'])
        self.assertEqual(err, '')
        return out.splitlines(), status

    def test_cm_each_message_on_a_line(self):
        lines, status = self.run_cm()
        self.assertEqual(status, 0)
        self.assertEqual(len(lines), NB_CM + NB_OTHER_MADS + 1)
        self.assertEqual(lines[-1], f'0.pcap: {NB_CM} CM messages, {NB_CM} ok, {NB_OTHER_MADS} other MADs')
        for name in 'REQ MRA REJ REP RTU DREQ DREP SIDR_REQ SIDR_REP LAP APR'.split():
            self.assertTrue(any(f': {name} tid 0x123456789abcdef ' in line for line in lines), name)
        self.assertEqual(sum(line.endswith(': ok') for line in lines), NB_CM)
        self.assertEqual(sum(line.endswith(', skipped') for line in lines), NB_OTHER_MADS)

    def test_cm_fields_of_a_req(self):
        lines, _ = self.run_cm()
        self.assertTrue(lines[0].startswith('0.pcap: frame 1: 192.0.2.1 > 192.0.2.2: REQ '), lines[0])
        for words in ('local_comm_id 0x11121314 ', 'vendor_id 0x15b3 ', 'local_qpn 0xabc ', 'starting_psn 0x123456 ',
                      'primary.flow_label 0xabcde ', 'primary.local_gid ::ffff:192.0.2.1 ', ', TCP port 7174',
                      ', IPv4 from 192.0.2.1 port 50515 to 192.0.2.2: ok'):
            self.assertIn(words, lines[0])

    def test_cm_reason_in_words(self):
        lines, _ = self.run_cm()
        rejs = [line for line in lines if ': REJ ' in line]
        self.assertEqual(len(rejs), 34)
        self.assertIn(' about 2 (other) info_len 6 reason 8 (no listener', rejs[7])
        self.assertFalse(any('unknown' in line for line in rejs))

    def test_cm_reserved_bits_are_named(self):
        lines, status = self.run_cm({MAD + 4: 0x12, BODY + 4: 1, BODY + 94: 7})
        self.assertTrue(lines[0].endswith(', reserved bits set in byte 4 28 118: ok'), lines[0])
        self.assertEqual(status, 0)

    def test_cm_reserved_bits_of_the_ip_header(self):
        lines, status = self.run_cm({BODY + 141: 0x4f, BODY + 144: 1})
        self.assertTrue(lines[0].endswith(', reserved bits set in byte 165 168: ok'), lines[0])
        self.assertEqual(status, 0)

    def test_cm_private_data_without_ip_header(self):
        lines, status = self.run_cm({BODY + 140: 1})
        self.assertIn(', no IP header: version of the IP header', lines[0])
        self.assertEqual(status, 0)

    def test_cm_refused_message(self):
        for off, words in ((2, 'class version of the MAD is not 2'), (3, 'method of the MAD is not Send'),
                           (17, 'attribute is no message of communication management')):
            lines, status = self.run_cm({MAD + off: 0x7f})
            self.assertTrue(lines[0].endswith(f': refused: {words}'), lines[0])
            self.assertIn(f': {NB_CM} CM messages, {NB_CM - 1} ok', lines[-1])
            self.assertEqual(status, 1)

    def test_cm_frame_captured_in_part(self):
        at, length = frames(CM)[0]
        for kept in range(length):
            part = bytearray(CM[:at + kept])
            struct.pack_into('<I', part, at - 8, kept)
            lines, status = self.run_cm(data=part)
            has_bth, has_mad = kept >= BTH + 8, kept >= MAD + 256
            self.assertEqual((len(lines), status), (2, 0 if has_mad else 1) if has_bth else (1, 0), kept)
            if has_mad:
                self.assertTrue(lines[0].endswith(': ok'), lines[0])
            elif has_bth:
                self.assertTrue(lines[0].endswith(f': only {kept} of its {length} bytes were captured'), lines[0])

    def said(self, data):
        """What check-capture says of each message in a capture, without the number of the frame."""
        out, err, status = self.run_on(data, options=['--cm'])
        self.assertEqual(err, '')
        return [line.split(': ', 2)[2] for line in out.splitlines()[:-1]], out.splitlines()[-1], status

    def test_cm_big_endian_with_nanoseconds(self):
        lines, total, status = self.said(BIG_ENDIAN)
        self.assertEqual((total, status), ('0.pcap: 24 CM messages, 24 ok, 0 other MADs', 0))
        whole, _, _ = self.said(CM)
        self.assertEqual(lines, whole[:12] + whole[24:36])

    def test_cm_variants(self):
        lines, total, status = self.said(VARIANTS)
        whole, _, _ = self.said(CM)
        self.assertEqual(lines[:24], whole[:12] + whole[24:36])
        self.assertEqual(lines[24:26], whole[:1] * 2)
        for at, length, req in ((26, 326, whole[0]), (31, 346, whole[24])):
            self.assertEqual(lines[at:at + 4], [req] * 4)
            self.assertTrue(lines[at + 4].endswith(f': only 96 of its {length} bytes were captured'), lines[at + 4])
        self.assertEqual((total, status), ('0.pcap: 36 CM messages, 34 ok, 0 other MADs', 1))

    def test_cm_tags_alone(self):
        for nb in range(80):
            tags = CM[:FILE_HEADER] + struct.pack('<IIII', 0, 0, 12 + nb, 12 + nb) + bytes(12) + (b'\x88\xa8' * 40)[:nb]
            self.assertEqual(self.said(tags), ([], '0.pcap: 0 CM messages, 0 ok, 0 other MADs', 0))

    def test_cm_no_file(self):
        run = subprocess.run([PROGRAM, '--cm'], capture_output=True, text=True)
        self.assertEqual((run.stdout, run.returncode), ('', 2))


unittest.main(argv=sys.argv[:1])
