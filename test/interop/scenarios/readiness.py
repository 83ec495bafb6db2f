# SPDX-License-Identifier: BSD-3-Clause
"""A receiver that is not ready: RNR NAK, the codes of its timer, and the number of retries."""

import time

from ends import expect
from scenarios import scenario

# {code of min_rnr_timer: milliseconds} [IBA 9.7.5.2.8, table 45]
TIMERS = {1: 0.01, 12: 0.64, 20: 10.24, 26: 81.92, 31: 491.52, 0: 655.36}


def late(s, size, code, wait_s, **words):
    """Post a SEND before its receive request: it completes once there is a receive request."""
    a, b = s.pair(size=max(size, 64), rnr_timer=code, **words)
    a.fill(code, size)
    a.send('SEND', size)
    time.sleep(wait_s)
    b.recv(size)
    a.done()
    b.received()
    b.check(code, size)


@scenario(clean=False, seconds=200, short=True)
def rnr(s):
    """Important timer codes: the SEND arrives once there is a receive request"""
    for code in TIMERS:
        late(s, 64, code, 0.2)


@scenario(clean=False)
def rnr_long_message(s):
    """A SEND of several packets without a receive request"""
    for code in 12, 20:
        late(s, 5 * s.mtu + 1, code, 0.2)
        late(s, 64 * s.mtu, code, 0.2)


@scenario(clean=False, needs=('RC', 'IMM'), both=False)
def rnr_immediate(s):
    """A WRITE with immediate data without a receive request"""
    for size in 0, 64, 3 * s.mtu:
        a, b = s.pair(rnr_timer=20)
        a.fill(1, size)
        a.send('WRITE_IMM', size, imm=7)
        time.sleep(0.2)
        b.recv(0)
        a.done()
        expect(b.received()[0].get('imm') == 7, 'another immediate')
        b.check(1, size)


@scenario(clean=False, both=False)
def rnr_retry_zero(s):
    """rnr_retry 0: one NAK, and the requester gives up"""
    a, _ = s.pair(rnr_retry=0)
    a.send('SEND', 64)
    a.done(status='RNR_RETRY_EXC_ERR')


@scenario(clean=False, both=False)
def rnr_retry_three(s):
    """rnr_retry 3: the error comes after three waits, and not much later"""
    a, _ = s.pair(rnr_retry=3, rnr_timer=26)
    began = time.monotonic()
    a.send('SEND', 64)
    a.done(status='RNR_RETRY_EXC_ERR')
    took = (time.monotonic() - began) * 1000
    expect(took > 3 * TIMERS[26] * 0.9, f'gave up after {took:.0f} ms, before three waits of {TIMERS[26]} ms')


@scenario(clean=False, both=False)
def rnr_retry_seven(s):
    """rnr_retry 7: the requester never gives up"""
    late(s, 64, 14, 3, rnr_retry=7)


@scenario(clean=False, both=False)
def rnr_in_the_middle(s):
    """A list of SENDs, some of which find a receive request: none is lost, none arrives twice"""
    a, b = s.pair(size=32 * 2048, rnr_timer=18)
    a.fill(6, 32 * 2048)
    b.recv(2048, n=4, step=2048)
    a.send('SEND', 2048, n=32, step=2048)
    for k in range(4, 32, 4):
        b.received(4)
        b.recv(2048, n=4, offset=2048 * k, step=2048, wr=k)
    b.received(4)
    a.done(32)
    b.check(6, 32 * 2048)
    b.nothing('recv')
