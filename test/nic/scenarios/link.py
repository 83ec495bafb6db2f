# SPDX-License-Identifier: BSD-3-Clause
"""The state of the NIC's port."""

from ends import expect
from peers.nic import NicPeer
from scenarios import scenario
from uroce_ports import built

SECONDS = 120
DEVINFO = built('build/apps/uroce-devinfo')


def nic_of(s):
    return s.a if isinstance(s.a, NicPeer) else s.b


@scenario(program=None, both=False, clean=False, short=True, seconds=2 * SECONDS)
def active_at_once(s):
    """uroce-devinfo: the port is active as soon as the device is open"""
    nic = nic_of(s)
    asked = s.start(nic, [DEVINFO, *nic.eal(), '--', f'--uroce={nic.device()}'], is_own=True)
    expect(s.finish(asked, SECONDS) == 0, f'uroce-devinfo: {s.said(asked)[-300:]}')
    expect('PORT_ACTIVE' in s.said(asked), f'the port is not active: {s.said(asked)[-600:]}')
