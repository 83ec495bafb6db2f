# SPDX-License-Identifier: BSD-3-Clause
"""The same traffic over a wire that loses, duplicates, reorders, corrupts and delays packets."""

import threading
import time

from ends import expect
from scenarios import scenario

N, SIZE = 64, 16384    # number of messages of each kind, and their size
TIMEOUT_S = 240
SLOW = {'timeout': 18, 'retry': 7}


def traffic(s, ops=('SEND', 'WRITE', 'READ'), n=N, size=SIZE, both=False, **words):
    """n messages of each kind, 16 requests a list; every byte is checked."""
    s.lossless = False
    a, b = s.pair(size=n * size, depth=2 * n, **{**SLOW, **words})
    for k, op in enumerate(ops):
        source, sink = (b, a) if op == 'READ' else (a, b)
        source.fill(k + 1, n * size)
        sink.clear()
        if op == 'SEND':
            b.recv(size, n=n, step=size)
        for first in range(0, n, 16):
            a.send(op, size, at=first * size, offset=first * size, n=16, step=size, wr=first)
        a.done(n, seconds=TIMEOUT_S)
        if op == 'SEND':
            b.received(n)
            b.nothing('recv', 0.05)
        sink.check(k + 1, n * size)
    return a, b


def lossy(s, opcodes, rate, sender=0, **words):
    s.wire.rule(sender, opcodes, 'drop', rate)
    traffic(s, **words)


@scenario(clean=False, seconds=800)
def loss_1e_3(s):
    """A packet of a thousand is lost"""
    lossy(s, 'all', 0.001, n=256, size=32 * s.mtu)


@scenario(clean=False, seconds=800, short=True, mtus=(1024, 256, 4096))
def loss_1e_2(s):
    """A packet of a hundred is lost"""
    lossy(s, 'all', 0.01)


@scenario(clean=False, seconds=800)
def loss_5e_2(s):
    """A packet of twenty is lost"""
    lossy(s, 'all', 0.05)


@scenario(clean=False, seconds=800)
def loss_of_requests(s):
    """Only requests are lost, two of a hundred"""
    lossy(s, 'request', 0.02)


@scenario(clean=False, seconds=800)
def loss_of_acks(s):
    """Only ACKs are lost, a third of them"""
    lossy(s, 'ack', 0.3, ops=('SEND', 'WRITE'))


@scenario(clean=False, seconds=800)
def loss_of_responses(s):
    """Only READ responses are lost, two of a hundred"""
    lossy(s, 'response', 0.02, ops=('READ',))


@scenario(clean=False, seconds=400, both=False, needs=('RC', 'ATOMIC'))
def loss_of_atomic_responses(s):
    """Responses to atomics are lost: each atomic is still executed once"""
    s.lossless = False
    a, b = s.pair(depth=128, **SLOW)
    b.word(0, 0)
    s.wire.rule(0, 'response', 'drop', 0.1)
    for k in range(64):
        a.send('FETCH_ADD', 8, offset=8 * k, compare_add=1, wr=k)
    a.done(64, seconds=TIMEOUT_S)
    sums = [a.word(8 * k) for k in range(64)]
    expect(sums == list(range(64)) and b.word(0) == 64, f'64 times one is {b.word(0)}; values {sums}')


@scenario(clean=False, seconds=400)
def loss_by_script(s):
    """The first packet, the last, the ACK, the READ request: each is lost once"""
    for sender, opcodes, which in ((s.a.number, 'request', '1'), (s.a.number, 'request', '16'),
                                   (s.b.number, 'ack', '1'), (s.b.number, 'response', '1')):
        s.wire.clear()
        s.wire.rule(sender, opcodes, 'drop', f'script {which}')
        traffic(s, n=16, size=1024, timeout=16)


@scenario(clean=False, seconds=400)
def duplication(s):
    """A packet of ten is duplicated"""
    s.wire.rule(0, 'all', 'duplicate', 0.1)
    traffic(s)


def reorder(s, distance):
    s.wire.rule(0, 'all', f'reorder {distance}', 0.02)
    traffic(s)


@scenario(clean=False, seconds=800)
def reordering_by_2(s):
    """A packet of fifty arrives two packets late"""
    reorder(s, 2)


@scenario(clean=False, seconds=800)
def reordering_by_16(s):
    """A packet of fifty arrives sixteen packets late"""
    reorder(s, 16)


@scenario(clean=False, seconds=800)
def reordering_by_64(s):
    """A packet of fifty arrives sixty-four packets late"""
    reorder(s, 64)


def read_behind(s, writes, *rules):
    """A READ of eight packets after so many WRITEs, over a wire with rules."""
    s.lossless = False
    size = 8 * s.mtu
    a, b = s.pair(size=2 * size, depth=8, **SLOW)
    a.clear()
    b.fill(1, 2 * size)
    for rule in rules:
        s.wire.rule(*rule)
    a.send('WRITE', 8, at=size, offset=size, n=writes, step=8, wr=1)
    a.send('READ', size, wr=writes + 1)
    a.done(writes + 1, seconds=TIMEOUT_S)
    a.check(1, size)


@scenario(clean=False, seconds=400)
def ack_amid_read(s):
    """A WRITE arrives again, late, while the last response of a later READ is in flight"""
    read_behind(s, 1, (s.a.number, 'RC_WRITE_ONLY', 'delay 300000', 'script 1'),
                (s.b.number, 'RC_READ_RESPONSE_LAST', 'delay 600000', 'script 1'))


@scenario(clean=False, seconds=400)
def late_ack_amid_read(s):
    """The ACK of a WRITE arrives two packets late: after the ACK of the next WRITE, amid a READ"""
    # The requests after the first WRITE arrive 10 ms after it, so that one ACK cannot acknowledge both WRITEs.
    read_behind(s, 2, (s.a.number, 'RC_WRITE_ONLY', 'delay 10000', 'script 2'),
                (s.a.number, 'RC_READ_REQUEST', 'delay 10000', 'script 1'),
                (s.b.number, 'ack', 'reorder 2', 'script 1'))


@scenario(clean=False, seconds=800)
def corruption(s):
    """A packet of a hundred has a wrong bit: none of its bytes reach memory"""
    s.wire.rule(0, 'all', 'corrupt', 0.01)
    traffic(s)


@scenario(clean=False, seconds=400, both=False)
def delay(s):
    """Each packet is delayed by 5 ms"""
    s.wire.rule(0, 'all', 'delay 5000', 1)
    traffic(s, n=32)


@scenario(clean=False, seconds=400, both=False)
def everything_at_once(s):
    """Loss, duplicates, reordering and corruption together"""
    for what in 'drop', 'duplicate', 'corrupt', 'reorder 4':
        s.wire.rule(0, 'all', what, 0.005)
    traffic(s)


@scenario(clean=False, seconds=400, both=False)
def blackout(s):
    """The wire loses all packets for two seconds, in the middle of the traffic"""
    def darken():
        time.sleep(0.3)
        s.wire.rule(0, 'all', 'blackout 2000', 'script 1')
    dark = threading.Thread(target=darken)
    dark.start()
    try:
        for _ in range(4):
            traffic(s)
    finally:
        dark.join()


@scenario(needs=('UC',), clean=False, both=False)
def uc_loss(s):
    """UC over a wire that loses packets: messages arrive completely or not at all"""
    s.lossless = False
    size, n = 4 * s.mtu, 64
    a, b = s.pair('UC', size=n * size, depth=128)
    s.wire.rule(s.a.number, 'all', 'drop', 0.03)
    a.fill(1, size)
    b.clear()
    b.recv(size, n=n, step=size)
    for k in range(n):
        a.send('SEND', size, wr=k)
    a.done(n)
    came = b.poll('recv', n, 2)
    for k, completion in enumerate(came):
        if completion['status'] == 'SUCCESS':
            b.check(1, size, k * size)
