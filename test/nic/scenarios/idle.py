# SPDX-License-Identifier: BSD-3-Clause
"""The CPU time of an idle program, and of an idle uroced, which receive interrupts of the NIC wake."""

import time

from ends import Skip, expect
from peers.nic import NicPeer
from nic_guest import NICS
from scenarios import scenario
from uroce_ports import built

PROGRAM = built('build/test/bench-idle')
UROCED = built('build/apps/uroced/uroced')
SOCKET = '/tmp/idle-uroced.sock'
SECONDS = 120
NO_HUGE = '--no-huge', '--no-shconf', '-m', '512'    # of the other end: this machine may have no hugepages
IDLE_S, NB_MESSAGES, GAP_MS = 10, 20, 300
WAKEUPS_PER_S = 150    # a thread that polls wakes up after at most 1 ms, several times as often


# How often the threads of uroced have slept, and what they have taken of a CPU, in hundredths of a second.
COSTS = """
pid=$(pgrep -x uroced) || exit 1
awk '/^voluntary_ctxt_switches/ { sum += $2 } END { print sum }' /proc/$pid/task/*/status
awk '{ print $14 + $15 }' /proc/$pid/stat
"""


def numbers(said):
    """{name: value} of the lines "name value" that the program has printed"""
    pairs = [line.split() for line in said.splitlines()]
    return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].replace('.', '', 1).isdigit()}


def nic_of(s):
    nic = s.a if isinstance(s.a, NicPeer) else s.b
    if nic.iova != 'va':
        raise Skip('only vfio-pci has receive interrupts')
    return nic


def costs(guest, seconds):
    """How often uroced has slept, and what it has taken of a CPU, after so many seconds more."""
    time.sleep(seconds)
    return [int(word) for word in guest.output(COSTS).split()]


def exchange(s, eal_of, spec_of):
    """Let two programs sleep, then send messages now and then. @return what each has printed"""
    def start(peer, *words):
        return s.start(peer, [PROGRAM, str(IDLE_S), str(NB_MESSAGES), str(GAP_MS), *eal_of(peer), '--',
                              f'--uroce={spec_of(peer)}', *words], is_own=True)

    serving = start(s.b)
    s.await_line(serving, 'waiting for a client', SECONDS)
    calling = start(s.a, s.b.control_address)
    statuses = s.finish(calling, SECONDS), s.finish(serving, SECONDS)
    expect(statuses == (0, 0), s.how(serving, calling))
    return {s.a: s.said(calling), s.b: s.said(serving)}


@scenario(program=None, both=False, clean=False, mtus=(4096,), short=True, seconds=3 * SECONDS)
def idle_cpu(s):
    """Two programs sleep, then send messages now and then: the program on the NIC seldom wakes up while it is idle"""
    nic = nic_of(s)

    def eal_of(peer):
        return [*peer.eal(), *(NICS[nic.nic].rx_intr_eal if peer is nic else NO_HUGE)]

    found = numbers(exchange(s, eal_of, lambda peer: peer.spec())[nic])
    expect(found['idle_wakeups_per_s'] < WAKEUPS_PER_S, f'an idle program is polling: {found}')


@scenario(program=None, both=False, clean=False, mtus=(4096,), seconds=4 * SECONDS)
def idle_uroced(s):
    """The same with a client of uroced, which has the NIC: after the messages, uroced seldom wakes up"""
    nic = nic_of(s)
    spec = f'uroced,socket={SOCKET}'
    daemon = s.start(nic, [UROCED, *nic.eal(), *NICS[nic.nic].rx_intr_eal, '--', '--socket', SOCKET, nic.spec()], is_own=True)
    s.await_that(lambda: nic.guest.output(f'[ ! -S {SOCKET} ] || echo yes') or daemon.poll() is not None, SECONDS,
                 'the socket of uroced')

    exchange(s, lambda peer: ['--no-pci', *NO_HUGE] if peer is nic else [*peer.eal(), *NO_HUGE],
             lambda peer: spec if peer is nic else peer.spec())
    before = costs(nic.guest, 1)
    after = costs(nic.guest, IDLE_S)
    nic.guest.output('pkill -x uroced')
    expect(s.finish(daemon, SECONDS) == 0, f'uroced: {s.said(daemon)[-300:]}')
    wakeups, ticks = [(last - first) / IDLE_S for first, last in zip(before, after)]
    s.a.log.write(f'uroced, idle: {wakeups:.0f} wake-ups a second, {ticks:.1f} % of a CPU\n')
    expect(wakeups < WAKEUPS_PER_S, f'an idle uroced is polling: {wakeups:.0f} wake-ups a second')
