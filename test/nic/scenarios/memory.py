# SPDX-License-Identifier: BSD-3-Clause
"""Memory of every kind, and frames that refer to memory which is given back."""

import re

import capture
from ends import expect
from peers.nic import NicPeer
from scenarios import scenario
from uroce_ports import built

SECONDS = 120
PERF = built('build/apps/uroce-perf')
FILE_LEN = 64 << 20
NB_ROUNDS = 1000      # regions that are deregistered while frames are in flight
NB_WRITES = 16        # frames in flight
MTU = 4096
IP_LEN, UDP_LEN, BTH_LEN, RETH_LEN, ICRC_LEN = 20, 8, 12, 16, 4
WRITE_ONLY = 0x0a
PSN_MASK = 0xffffff
SEED_STEP, BYTE_STEP, PAGE_STEP = 37, 7, 13    # of the pattern of actor


def perf(s, test, *flags, of_nic=()):
    """Run uroce-perf at both ends, which checks every byte. The flags `of_nic` are for the end with the NIC."""
    def words(peer, *more):
        own = of_nic if isinstance(peer, NicPeer) else ()
        return [PERF, *peer.eal(), '--', f'--uroce={peer.spec()}', test, '--verify', '--qp-timeout=18', *flags, *own,
                *more]

    serving = s.start(s.b, words(s.b), is_own=True)
    s.await_line(serving, 'waiting for a client', SECONDS)
    calling = s.start(s.a, words(s.a, s.b.control_address), is_own=True)
    statuses = s.finish(calling, SECONDS), s.finish(serving, SECONDS)
    expect(statuses == (0, 0), s.how(serving, calling))
    for process in calling, serving:
        expect(re.search(r'^verify: .* 0 wrong', s.said(process), re.MULTILINE),
               f'nothing was verified: {s.said(process)[-300:]}')


def make_file(s, path):
    """Make a file for messages at the end with the NIC."""
    nic = s.a if isinstance(s.a, NicPeer) else s.b
    made = s.start(nic, ['truncate', '-s', str(FILE_LEN), path], is_own=True)
    expect(s.finish(made, SECONDS) == 0, f'no file: {s.said(made)}')


def register_memory(name, text, *flags, path=None, short=False):
    @scenario(name=f'memory-{name}', text=f'SEND, WRITE and READ of {text}', program=None, both=False, clean=False,
              short=short, seconds=4 * SECONDS)
    def of_memory(s):
        if path:
            make_file(s, path)
        for test in 'send_bw', 'write_bw', 'read_bw':
            perf(s, test, '-s', '65536', '-n', '100', of_nic=flags)


register_memory('malloc', 'memory of malloc()', short=True)
for NAME, TEXT, PATH in ('file', 'a file that is mapped', '/var/tmp/uroce-nic'), \
        ('shared', 'shared memory', '/dev/shm/uroce-nic'):
    register_memory(NAME, TEXT, f'--mmap={PATH}', path=PATH)
register_memory('hugepages', 'hugepages of the program', '--use_hugepages')


@scenario(program=None, both=False, clean=False, seconds=4 * SECONDS)
def several_qps(s):
    """uroce-perf: 16 QPs, WRITEs and READs of 16 KiB"""
    for test in 'write_bw', 'read_bw':
        perf(s, test, '-q', '16', '-s', '16384', '-n', '20')


@scenario(program=None, both=False, clean=False, seconds=4 * SECONDS)
def both_directions(s):
    """uroce-perf -b: SENDs and WRITEs of both sides at the same time"""
    for test in 'send_bw', 'write_bw':
        perf(s, test, '-b', '-s', '65536', '-n', '50')


def pattern(seed, first, length):
    """The bytes that actor writes for a seed, as doc/guides/interop.md defines them."""
    return bytes((SEED_STEP * seed + BYTE_STEP * i + PAGE_STEP * (i >> 8) + 29 * (i >> 16)) & 0xff
                 for i in range(first, first + length))


def writes(path):
    """(destination QPN, PSN, payload) of each WRITE of one packet in a capture of IPv4."""
    begin = 14 + IP_LEN + UDP_LEN
    for _, data in capture.records(path):
        if data[12:14] == b'\x08\x00' and len(data) > begin + BTH_LEN and data[begin] == WRITE_ONLY:
            yield (int.from_bytes(data[begin + 5:begin + 8], 'big'), int.from_bytes(data[begin + 9:begin + 12], 'big'),
                   data[begin + BTH_LEN + RETH_LEN:-ICRC_LEN])


@scenario(both=False, clean=False, mtus=(MTU,), short=True, seconds=5 * SECONDS)
def deregister_in_flight(s):
    """Memory is deregistered, freed and filled anew while WRITEs of it are in flight: no frame has other bytes"""
    s.lossless = False
    seed_of = {}    # by the QPN to which the WRITEs go
    psn, nb_frames = 0x0abcde, 0
    for k in range(NB_ROUNDS):
        a, b = s.pair(size=NB_WRITES * MTU, depth=2 * NB_WRITES, psn=psn)
        seed_of[b.qpn] = k
        a.fill(k, a.size)
        a.send('WRITE', MTU, n=NB_WRITES, step=MTU)
        a.destroy()
        b.destroy()
        s.ends.clear()
        s.connections.clear()
    s.wire.capture(None)
    expected = {}
    for qpn, at, payload in writes(s.path):
        key = seed_of[qpn] % 256, (at - psn) & PSN_MASK
        if key not in expected:
            expected[key] = pattern(key[0], key[1] * MTU, MTU)
        expect(payload == expected[key], f'QP {qpn:#x}, PSN {at:#x}: a frame has bytes of other memory')
        nb_frames += 1
    expect(len(seed_of) == NB_ROUNDS, 'a QPN was used twice')
    expect(0 < nb_frames, 'no frame has left')
