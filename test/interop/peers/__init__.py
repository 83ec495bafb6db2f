# SPDX-License-Identifier: BSD-3-Clause
"""Peers: whoever can be one end of the wire. doc/guides/interop.md says how another is added."""

import importlib


class PeerError(Exception):
    """What a peer could not do, and why."""


class Missing(PeerError):
    """What the machine lacks for this peer."""


class Peer:
    """One implementation of RoCE v2, at one end of the wire.

    `words` are what it can do: types of QP and operations as actor has them, `ipv6`, and `stock` where programs run on
    it. A scenario that needs a word that a peer lacks is skipped with it.
    """

    name = None    # in PEERS
    words = frozenset()
    quirks = {}    # {word: what it is known to get wrong, and since when}; scenarios expect it of this peer alone

    def __init__(self, number, network, log):
        """The peer of port `number` (1 or 2) of a Network; it writes what it has to say to the file `log`."""
        self.number = number
        self.network = network
        self.log = log

    def prepare(self):
        """What takes a while or the machine's own network: before there is a network of ours. Raises Missing."""

    def start(self):
        """Make the port, where network.has(self.number) is not so yet, and begin. The wire may not be joined yet."""
        raise NotImplementedError

    def ready(self):
        """The wire is joined: be ready for operations."""

    def stop(self):
        """Leave nothing behind but the port, which start() may find. It may have been started in part, or not at all."""
        raise NotImplementedError

    def call(self, operation, **words):
        """Do one operation of doc/guides/interop.md: the answer. Raises PeerError."""
        raise NotImplementedError

    def counters(self):
        """Counters of the device by name; those with names of rxe and mlx5 are compared with the capture."""
        return {}

    def version(self):
        """What the matrix says of it."""
        return ''

    def restart(self):
        """As new, after a scenario that failed. Where that raises PeerError all begins anew, the network, too."""
        self.stop()
        self.start()
        self.ready()


# name: module and class, and arguments
PEERS = {
    'uroce': ('uroce', 'Uroce', {'port': 'af_packet'}),
    'uroce-tap': ('uroce', 'Uroce', {'port': 'tap'}),
    'uroce-af_xdp': ('uroce', 'Uroce', {'port': 'af_xdp'}),
    'rxe': ('rxe', 'Rxe', {'kernel': 'stable'}),
    'rxe-backports': ('rxe', 'Rxe', {'kernel': 'backports'}),
    'udp': ('udp', 'Udp', {}),
}


def make(name, number, network, log):
    module, kind, arguments = PEERS[name]
    peer = getattr(importlib.import_module(f'peers.{module}'), kind)(number, network, log, **arguments)
    peer.name = name
    return peer
