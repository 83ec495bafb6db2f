# SPDX-License-Identifier: BSD-3-Clause
"""The soak test."""

import time

from scenarios import scenario
from scenarios.many import memory, stream

SOAK_S = 600


@scenario(needs=('RC', 'ATOMIC'), mtus=(4096,), both=False, clean=False, seconds=SOAK_S + 300)
def soak(s):
    """Ten minutes of all requests in both directions, over a wire that loses, duplicates and reorders packets"""
    size, window = 32768, 16
    s.lossless = False
    pair = s.pair(size=memory(size, window), depth=64, timeout=18)
    s.wire.rule(0, 'all', 'drop', 0.0005)
    s.wire.rule(0, 'all', 'duplicate', 0.0005)
    s.wire.rule(0, 'all', 'reorder 8', 0.0005)
    until = time.monotonic() + s.soak_s
    while time.monotonic() < until:
        # A capture of the whole run would be too large, so each round has its own: that of the failed round is kept.
        s.wire.capture(None)
        s.wire.capture(s.path)
        stream(s, [pair], 400, 400, size, window)
