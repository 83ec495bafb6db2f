# SPDX-License-Identifier: BSD-3-Clause
"""The link of the NIC."""

import time

from ends import expect
from peers.nic import NicPeer
from scenarios import scenario
from uroce_ports import built

SECONDS = 120
NB, SIZE = 32, 65536    # messages in flight while the link is down
DOWN_S = 1.5
DEVINFO = built('build/apps/uroce-devinfo')


def nic_of(s):
    return s.a if isinstance(s.a, NicPeer) else s.b


@scenario(program=None, both=False, clean=False, short=True, seconds=2 * SECONDS)
def active_at_once(s):
    """uroce-devinfo: the port is active as soon as the device is open"""
    nic = nic_of(s)
    asked = s.start(nic, [DEVINFO, *nic.eal(), '--', f'--uroce={nic.spec()}'], is_own=True)
    expect(s.finish(asked, SECONDS) == 0, f'uroce-devinfo: {s.said(asked)[-300:]}')
    expect('PORT_ACTIVE' in s.said(asked), f'the port is not active: {s.said(asked)[-600:]}')


@scenario(clean=False, both=False, mtus=(4096,), short=True, seconds=2 * SECONDS)
def link_down(s):
    """The link goes down while WRITEs and SENDs are in flight, and up again: all of them arrive"""
    s.lossless = s.sees_all = False    # frames are lost in the NIC
    guest = nic_of(s).guest
    a, b = s.pair(size=NB * SIZE, depth=2 * NB, timeout=18, retry=7)
    for k, op in enumerate(('WRITE', 'SEND'), 1):
        a.fill(k, NB * SIZE)
        if op == 'SEND':
            b.recv(SIZE, n=NB, step=SIZE)
        a.send(op, SIZE, n=NB, step=SIZE)
        guest.set_link(False)
        time.sleep(DOWN_S)
        guest.set_link(True)
        a.done(NB)
        b.check(k, NB * SIZE)
    b.received(NB)
