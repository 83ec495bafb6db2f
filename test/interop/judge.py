# SPDX-License-Identifier: BSD-3-Clause
"""Evaluates the capture and the counters of a cell, independent of the results that the ends report."""

import ipaddress
import os
import subprocess

import capture
from uroce_ports import TOP

WIRE_JUDGE = os.path.join(TOP, 'test', 'wire-judge')
FRAMES_MAX = 2000        # frames of one capture that Python and Wireshark check; badwire checks the ICRC of all frames
STALL_S = 0.02
# A requester may retransmit if a response is late. An emulated guest often responds late, and on a busy machine the timer
# of a requester may expire before the wire gets a turn. Allowed share of all frames:
AGAIN_MAX, AGAIN_SPARE = 0.05, 3
# Frames that badwire could not forward, by no rule: a fault of the machine, which is a loss for the ends.
BY_ACCIDENT = 'device_drops', 'kernel_drops', 'unsent'


class Verdict:
    def __init__(self):
        self.faults = []     # [text]: each makes the cell fail
        self.timing = []     # those of them that a busy machine may cause: the cell is played again
        self.figures = {}    # {name: number}, for the matrix


def source_of(peer, is_ipv6):
    return ipaddress.ip_address(peer.network.address(peer.number, is_ipv6)).packed


def compare(peer, counters, seen, verdict):
    """Compare the counters of a peer, if it has a counter of this name, with the frames on the wire."""
    for name, number in seen.items():
        if name not in counters:
            continue
        verdict.figures['counters'] = verdict.figures.get('counters', 0) + 1
        if counters[name] != number:
            verdict.faults.append(f'{peer.name} counts {name} {counters[name]}, and the wire had {number}')


def is_reordered(scene, counters):
    """Whether a NIC may have delivered frames in another order than the wire: a flow's frames came by several queues."""
    return any(peer.moves_flows and counters[peer].get('forwarded_pkts', 0) > 0 for peer in (scene.a, scene.b))


def judge(scene, scenario, path, stats, counters, drops):    # pylint: disable=too-many-arguments
    """Check the traffic of a cell. @return a Verdict

    stats: badwire's statistics of this cell, by port; counters: {peer: {name: increase}}; drops: frames that the kernel
    dropped at the interfaces.
    """
    verdict = Verdict()
    if not scene.sees_all:
        counters = {peer: {} for peer in counters}
    for number, peer in (scene.a.number, scene.a), (scene.b.number, scene.b):
        if stats[number]['bad_icrc']:
            verdict.faults.append(f'{peer.name} sent {stats[number]["bad_icrc"]} frames with a wrong ICRC')
        sent = stats[peer.number]['roce']
        compare(peer, counters[peer], {'sent_pkts': sent, 'port_xmit_packets': sent,
                                       'port_rcv_errors': stats[3 - peer.number]['corrupted']}, verdict)
    by_accident = drops + sum(stats[number].get(name, 0) for number in (1, 2) for name in BY_ACCIDENT)
    verdict.figures['lost_by_accident'] = by_accident
    roce = sum(stats[number]['roce'] for number in (1, 2))
    verdict.figures['frames'] = roce
    lost = sum(stats[number][what] for number in (1, 2) for what in ('dropped', 'corrupted'))
    verdict.figures['lost'] = lost
    if not path or not os.path.exists(path):
        return verdict
    found = capture.frames(path) if roce <= FRAMES_MAX * 50 else []
    if not found:
        return verdict
    if any(not frame.is_sound for _, frame in found):
        verdict.faults.append('an ICRC is wrong by zlib')
    tallies = capture.tally(found, scene.mtu)
    for peer, other in (scene.a, scene.b), (scene.b, scene.a):
        one, theirs = (tallies.get(source_of(end, scene.is_ipv6), capture.Tally()) for end in (peer, other))
        role = 'requester' if peer is scene.a else 'responder'
        compare(peer, counters[peer], {'send_rnr_err': one.rnr_naks, 'out_of_seq_request': one.sequence_naks,
                                       'retransmitted_pkts': one.again}, verdict)
        if scene.lossless and not by_accident:    # all frames that one peer sent arrived at the other
            compare(peer, counters[peer], {'unicast_rcv_packets': theirs.frames - theirs.groups,
                                           'rcvd_rnr_err': theirs.rnr_naks, 'packet_seq_err': theirs.sequence_naks}, verdict)
            if scenario.clean and not theirs.groups:    # and were accepted; not all QPs may be members of a group
                compare(peer, counters[peer], {'rcvd_pkts': theirs.frames, 'rx_write_requests': theirs.writes,
                                               'rx_read_requests': theirs.reads, 'rx_atomic_requests': theirs.atomics},
                        verdict)
        if one.changed:
            verdict.faults.append(f'{peer.name} sent {one.changed} requests again with other bytes than before')
        if one.naks_after_rnr and scene.lossless and 'nak-after-rnr' not in peer.quirks:
            verdict.faults.append(f'{peer.name} sent {one.naks_after_rnr} sequence NAKs for what it had sent an RNR NAK for')
        verdict.figures.update({f'{role}_again': one.again, f'{role}_again_bytes': one.again_bytes,
                                f'{role}_responses_again': one.responses_again,
                                f'{role}_responses_again_bytes': one.responses_again_bytes, f'{role}_rnr_naks': one.rnr_naks,
                                f'{role}_sequence_naks': one.sequence_naks,
                                f'{role}_naks_after_rnr': one.naks_after_rnr})
        if scenario.clean and scene.lossless and not by_accident and not is_reordered(scene, counters) and (
                one.again > one.frames * AGAIN_MAX + AGAIN_SPARE or one.sequence_naks):
            verdict.faults.append(f'{peer.name} sent {one.again} of {one.frames} frames again and {one.sequence_naks} '
                                  'sequence NAKs, though nothing was lost')
            if not one.sequence_naks:
                verdict.timing.append(verdict.faults[-1])
    verdict.figures['stalled_s'] = round(capture.stalls(found, source_of(scene.a, scene.is_ipv6), STALL_S), 3)
    verdict.faults += dissected(path, len(found))
    return verdict


def dissected(path, nb):
    """The faults that Wireshark and scapy find in a capture, unless the capture is too long."""
    if nb > FRAMES_MAX:
        return []
    done = subprocess.run([WIRE_JUDGE, path], capture_output=True, text=True, check=False)
    if done.returncode == 1:
        return ['Wireshark or scapy complain: ' + ' '.join(done.stdout.split('\n')[:3])]
    return []
