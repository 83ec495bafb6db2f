# SPDX-License-Identifier: BSD-3-Clause
"""Removal of the NIC while traffic runs."""

from ends import Skip, expect
from peers.nic import NicPeer
from scenarios import scenario
from uroce_ports import built, stop

PERF = built('build/apps/uroce-perf')
PROGRAM = built('build/test/nic/removal')
SECONDS = 60
NB_ROUNDS = 20
NB_FRAMES = 1000    # frames after which traffic counts as running
MTU = 4096    # the largest of both ports, which the program takes
NO_HUGE = '--no-huge', '--no-shconf', '-m', '512'    # of the server: this machine may have no hugepages


def need_vfio(s):
    if not isinstance(s.a, NicPeer) or s.a.iova != 'va':
        raise Skip('the NIC is at the requester, and behind vfio-pci, which asks the program to release the NIC')
    s.lossless = s.sees_all = False


def replace_nic(s, process):
    """Unplug the NIC that the process uses, and plug a new one. A process that does not release the NIC is killed."""
    guest = s.a.guest
    guest.unplug()
    try:
        s.await_that(lambda: not guest.is_plugged(), SECONDS, 'the removal of the NIC')
    finally:
        if guest.is_plugged():
            stop(process)
            s.await_that(lambda: not guest.is_plugged(), SECONDS, 'the removal of the NIC of a process that was killed')
        guest.plug()


def play(s, nb_rounds):
    """Let a program write to the memory of another, and unplug its NIC. The new NIC is for the next round."""
    need_vfio(s)

    def start(peer, eal, *words):
        return s.start(peer, ['env', f'ROUNDS={nb_rounds}', PROGRAM, *peer.eal(), *eal, '--',
                              f'--uroce={peer.spec()}', *words], is_own=True)

    serving = start(s.b, NO_HUGE)
    s.await_line(serving, 'waiting for a client', SECONDS)
    expect(serving.poll() is None, f'the server has ended: {s.said(serving)[-300:]}')
    calling = start(s.a, [], s.b.control_address)
    for k in range(1, nb_rounds + 1):
        s.await_line(calling, f'traffic {k}\n', SECONDS)
        expect(calling.poll() is None, s.how(serving, calling))
        replace_nic(s, calling)
    statuses = s.finish(calling, SECONDS), s.finish(serving, SECONDS)
    expect(statuses == (0, 0), s.how(serving, calling))


@scenario(program=None, both=False, clean=False, mtus=(MTU,), short=True, seconds=10 * SECONDS)
def unplug(s):
    """The NIC is unplugged while requests of both sides are in flight, and plugged again"""
    play(s, 2)


@scenario(program=None, both=False, clean=False, mtus=(MTU,), seconds=NB_ROUNDS * SECONDS)
def unplug_often(s):
    """The same 20 times in one process"""
    play(s, NB_ROUNDS)


@scenario(program=None, both=False, clean=False, mtus=(MTU,), seconds=6 * SECONDS)
def unplug_perf(s):
    """The NIC of uroce-perf is unplugged: uroce-perf ends with an error, and releases the NIC"""
    need_vfio(s)

    def start(peer, *words):
        return s.start(peer, [PERF, *peer.eal(), '--', f'--uroce={peer.spec()}', 'write_bw', '--qp-timeout=16',
                              '-s', '65536', '-D', '1000', *words], is_own=True)

    before = s.wire.stats()[s.a.number]['roce']
    serving = start(s.b)
    s.await_line(serving, 'waiting for a client', SECONDS)
    calling = start(s.a, s.b.control_address)
    s.await_that(lambda: calling.poll() is not None or s.wire.stats()[s.a.number]['roce'] > before + NB_FRAMES, SECONDS,
                 'traffic')
    expect(calling.poll() is None, s.how(serving, calling))
    replace_nic(s, calling)
    expect(s.finish(calling, SECONDS) not in (None, 0), s.how(serving, calling))
    expect(s.finish(serving, SECONDS) is not None, s.how(serving, calling))
    expect('retries' in s.said(calling), f'another error: {s.said(calling)[-300:]}')
