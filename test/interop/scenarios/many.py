# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios with many QPs, and with requests of both sides at once."""

import threading

from ends import Failure, expect
from scenarios import scenario


def stream(s, pairs, n, m, size, window, timeout_s=60, **words):
    """Both ends of each pair send n and m requests to each other: see actor/stream.c."""
    for a, b in pairs:
        for end, own, others in (a, n, m), (b, m, n):
            end.call('stream', phase='prepare', n=own, m=others, size=size, window=window, raddr=end.other.base,
                     rkey=end.other.rkey, **words)
        said = {}
        errors = []

        def run(end):
            try:
                said[end] = end.call('stream', phase='run', ms=timeout_s * 1000)
            except Exception as error:    # pylint: disable=broad-except
                errors.append(str(error))
        threads = [threading.Thread(target=run, args=[end]) for end in (a, b)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise Failure('; '.join(errors))
        for end, own, others in (a, n, m), (b, m, n):
            done = said[end]
            after = end.call('stream', phase='end')
            faults = [f'{after[f"wrong_{kind}"]} {kind} with wrong bytes' for kind in ('sends', 'writes', 'reads')
                      if after[f'wrong_{kind}']]
            if done['broken']:
                faults.append(f'{done["broken"]} after {done["done"]} of {own} requests')
            expect(not faults, f'{end.peer.name}: {", ".join(faults)}')
            adds = others // 4 if end.kind == 'RC' else 0
            expect(after['added'] == adds, f'{end.peer.name}: added {after["added"]} times, not {adds}')


def memory(size, window):
    return (4 * window + 2) * size


# An emulated guest loses frames itself under such a load.
@scenario(needs=('RC', 'ATOMIC'), short=True, clean=False)
def both_ways(s):
    """Both sides send, write, read and add at once"""
    size, window = 8192, 16
    stream(s, [s.pair(size=memory(size, window), depth=64)], 400, 400, size, window)


@scenario(needs=('RC', 'ATOMIC'), both=False, clean=False, seconds=400)
def both_ways_lossy(s):
    """Both sides at once, over a wire that loses one packet of two hundred"""
    size, window = 8192, 16
    s.lossless = False
    s.wire.rule(0, 'all', 'drop', 0.005)
    stream(s, [s.pair(size=memory(size, window), depth=64, timeout=18)], 200, 200, size, window)


@scenario(both=False, seconds=400)
def qps_256(s):
    """256 connections: a SEND, a WRITE and a READ on each, all in flight"""
    pairs = [s.pair(size=16384, depth=4) for _ in range(256)]
    for k, (a, b) in enumerate(pairs):
        a.fill(k, 3000)
        b.fill(k + 1000, 3000, 8192)
        b.recv(3000)
    for a, _ in pairs:
        a.send('SEND', 3000, wr=0)
        a.send('WRITE', 3000, at=4096, wr=1)
        a.send('READ', 3000, offset=8192, at=8192, wr=2)
    for k, (a, b) in enumerate(pairs):
        a.done(3, seconds=60)
        b.received(seconds=60)
        b.check(k, 3000)
        b.check(k, 3000, 4096)
        a.check(k + 1000, 3000, 8192)


@scenario(both=False)
def again(s):
    """Twenty connections, one after the other; some use the PSNs of the previous one"""
    for k in range(20):
        a, b = s.pair(size=4096, depth=4)
        b.recv(4096)
        a.fill(k, 4096)
        a.send('SEND', 4096)
        a.done()
        b.received()
        b.check(k, 4096)
        a.destroy()
        b.destroy()
