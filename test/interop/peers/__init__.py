# SPDX-License-Identifier: BSD-3-Clause
"""Peers: the programs that can be one end of the wire. doc/guides/interop.md describes how to add another."""

import importlib


class PeerError(Exception):
    """An operation of a peer has failed. The text gives the reason."""


class Missing(PeerError):
    """The machine lacks something that this peer needs."""


class Peer:
    """One implementation of RoCEv2, at one end of the wire.

    `words` are its features: types of QP and operations as in `actor`, `ipv6`, `stock` if other programs run on it, and
    `CM` if programs connect by librdmacm.
    A scenario that needs a word is skipped with a peer that lacks the word.
    """

    name = None    # name in PEERS
    words = frozenset()
    quirks = {}    # {word: a known fault, and since when}; scenarios expect the fault of this peer only
    # Whether the NIC may move a flow to another of its queues. Frames in that queue then overtake those in the old one.
    moves_flows = False

    def __init__(self, number, network, log):
        """The peer of port `number` (1 or 2) of a Network. It writes its output to the file `log`."""
        self.number = number
        self.network = network
        self.log = log

    def prepare(self):
        """Do what takes long, or needs the network of the machine, before the network of the test exists. Raises
        Missing."""

    def start(self):
        """Make the port, unless network.has(self.number), and start. The wire may not be joined yet."""
        raise NotImplementedError

    def ready(self):
        """Prepare for operations: the wire is joined now."""

    def stop(self):
        """Leave nothing behind but the port, which start() may find. The peer may have been started in part or not at
        all."""
        raise NotImplementedError

    def use(self, program):
        """Let this program of build/test/interop execute the operations from now on: `actor` or `cm-actor`. None: no
        program, so that run() can start others."""

    def run(self, command, **options):
        """Start a stock program, which is a list of words, on this peer. @return a subprocess.Popen with these options"""
        raise PeerError(f'{self.name}: no other program can be started')

    @property
    def control_address(self):
        """Address of the host that runs the peer, for TCP of programs that agree by TCP."""
        raise PeerError(f'{self.name}: its host has no address for TCP')

    def kernel_file(self, path):
        """The text of a file of /proc of the host that runs the peer."""
        raise PeerError(f'{self.name}: the files of its kernel cannot be read')

    def kill(self):
        """Kill the program that executes the operations, without any notice; use() starts it again."""
        raise PeerError(f'{self.name}: its program cannot be killed')

    def call(self, operation, **words):
        """Do one operation of doc/guides/interop.md and return its response. Raises PeerError."""
        raise NotImplementedError

    def counters(self):
        """Counters of the device by name. Those with names of rxe and mlx5 are compared with the capture."""
        return {}

    def faults(self):
        """Faults that the host of the peer has noticed since the last call, as texts: each makes the cell fail."""
        return []

    def version(self):
        """Text about the version of the peer, for the matrix."""
        return ''

    def restart(self):
        """Start again after a failed scenario. If this raises PeerError, a new network and new peers are made."""
        self.stop()
        self.start()
        self.ready()


# name: module, class and arguments
PEERS = {
    'uroce': ('uroce', 'Uroce', {'port': 'af_packet'}),
    'uroce-tap': ('uroce', 'Uroce', {'port': 'tap'}),
    'uroce-udp': ('uroce', 'Uroce', {'port': 'udp'}),
    'uroce-af_xdp': ('uroce', 'Uroce', {'port': 'af_xdp'}),
    'rxe': ('rxe', 'Rxe', {'kernel': 'stable'}),
    'rxe-backports': ('rxe', 'Rxe', {'kernel': 'backports'}),
    'udp': ('udp', 'Udp', {}),
    **{f'{nic}-{iova}': ('nic', 'NicPeer', {'nic': nic, 'iova': iova})
       for nic in ('e1000', 'e1000e', 'igb', 'vmxnet3', 'virtio', 'virtio4') for iova in ('va', 'pa')},
}


def make(name, number, network, log):
    module, kind, arguments = PEERS[name]
    peer = getattr(importlib.import_module(f'peers.{module}'), kind)(number, network, log, **arguments)
    peer.name = name
    return peer
