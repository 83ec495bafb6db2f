# SPDX-License-Identifier: BSD-3-Clause
"""Support for scenarios of connection management: ids of librdmacm at both peers, their events, and the messages on the
wire. The program cm-actor executes the operations.
"""

import os
import time

import mads
from ends import End, Scene, expect
from peers import PeerError

PORT = 7174
PATIENCE = 60        # seconds for an event that needs at most a few repetitions
UNANSWERED = 240     # seconds until a peer that gets no answer must have given up: twice what Linux takes
QUIET = 1            # seconds in which an event that must not occur would occur
LATE = 'TIMEWAIT_EXIT'    # an event that ends an id, and may come at any time after its end


class Id:
    """An id of librdmacm. It has the number of its end."""

    def __init__(self, scene, peer, number):
        self.scene = scene
        self.peer = peer
        self.number = number
        self.end = None
        self.request = {}    # the event that brought the id
        self.is_there = True

    def call(self, operation, **words):
        return self.peer.call(f'cm-{operation}', id=self.number, **words)

    def create(self, kind='RC', size=65536, **words):
        """Create the QP. With own=1 the program moves it between states, by modify()."""
        said = self.call('create', type=kind, size=size, **words)
        self.end = End(self.peer, self.number, kind, size, said, self.scene.address(self.peer))
        return self.end

    def resolve(self, port=PORT):
        """Find the other peer, and the route to it."""
        self.call('resolve', address=self.scene.address(self.scene.other(self.peer)), port=port)
        self.event('ADDR_RESOLVED')
        self.call('route')
        self.event('ROUTE_RESOLVED')

    def modify(self, *states):
        for state in states:
            self.call('modify', state=state)

    def connect(self, **words):
        self.call('connect', **words)

    def accept(self, **words):
        self.call('accept', **words)

    def establish(self):
        self.call('establish')

    def reject(self, **words):
        self.call('reject', **words)

    def disconnect(self):
        self.call('disconnect')

    def event(self, name, status=0, seconds=PATIENCE):
        """The next event of the peer, which must be this one of this id. `status` None: any."""
        said = self.scene.event(self.peer, seconds)
        expect(said['event'] == name and said['id'] == self.number,
               f'{self.peer.name}: event {said["event"] or "none"} of id {said.get("id")}, not {name} of {self.number}')
        expect(status in (None, said['status']), f'{self.peer.name}: {name} with status {said["status"]}, not {status}')
        return said

    def destroy(self):
        if self.is_there:
            self.is_there = False
            self.call('destroy')


class ConnectionScene(Scene):
    """One cell: the active side is the peer `a`, the passive side `b`."""

    def __init__(self, *words):
        super().__init__(*words)
        self.ids = []
        self.count = {self.a: 0, self.b: 0}    # numbers of ids that were given
        self.found = None                      # the messages, when the capture has ended
        self.figures = {}                      # {name: number}, for the matrix

    def open(self):
        for peer in self.a, self.b:
            self.open_peer(peer)

    def open_peer(self, peer):
        peer.call('cm-open', address=self.address(peer))

    def address(self, peer):
        return peer.network.address(peer.number, self.is_ipv6)

    def other(self, peer):
        return self.b if peer is self.a else self.a

    def new(self, peer):
        """An Id with the next number, which the peer does not have yet."""
        one = Id(self, peer, self.count[peer])
        self.count[peer] += 1
        self.ids.append(one)
        return one

    def id(self, peer, ps='TCP'):
        one = self.new(peer)
        one.call('id', ps=ps)
        return one

    # ------------------------------------------------------------------------------------------- events

    def event(self, peer, seconds):
        """The next event of a peer; its "event" is "" if there is none in time. LATE is passed over."""
        deadline = time.monotonic() + seconds
        while True:
            left = max(0, deadline - time.monotonic())
            said = peer.call('cm-event', ms=int(left * 1000), **{'as': self.count[peer]})
            if said['event'] != LATE:
                return said

    def expected(self, peer, name):
        """The next event of a peer, which must be this one, of any id."""
        said = self.event(peer, PATIENCE)
        expect(said['event'] == name and said['status'] == 0, f'{peer.name}: event {said}, not {name}')
        return said

    def first(self, seconds=PATIENCE):
        """The next event of either peer. @return the peer, and the event"""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for peer in self.a, self.b:
                said = self.event(peer, 0.2)
                if said['event']:
                    return peer, said
        expect(False, f'no event at either peer in {seconds} s')

    def requested(self, listener, seconds=PATIENCE):
        """The Id of the next CONNECT_REQUEST at the peer of the listener."""
        said = self.event(listener.peer, seconds)
        expect(said['event'] == 'CONNECT_REQUEST', f'{listener.peer.name}: event {said["event"] or "none"}, '
                                                   'not CONNECT_REQUEST')
        one = self.new(listener.peer)
        one.request = said
        return one

    def nothing(self, *peers, seconds=QUIET):
        """No further event occurs."""
        for peer in peers or (self.a, self.b):
            said = self.event(peer, seconds)
            expect(not said['event'], f'{peer.name}: an event {said["event"]} of id {said.get("id")} that nothing caused')

    def quiet(self, seconds):
        """No event occurs at either peer for so long."""
        self.nothing(self.a, seconds=seconds)
        self.nothing(self.b)

    # ------------------------------------------------------------------------------------ frequent steps

    def listen(self, peer=None, port=PORT, ps='TCP', backlog=8):
        one = self.id(peer or self.b, ps)
        one.call('listen', port=port, backlog=backlog)
        return one

    def caller(self, own=0, ps='TCP', port=PORT):
        """An id of the active side that is ready to connect, with a QP."""
        one = self.id(self.a, ps)
        one.resolve(port)
        one.create(kind='UD' if ps == 'UDP' else 'RC', own=own)
        return one

    def connected(self, listener, **words):
        """A connection, established on both sides. @return its two ids"""
        one = self.caller()
        one.connect(**words)
        other = self.requested(listener)
        other.create()
        other.accept()
        one.event('ESTABLISHED')
        other.event('ESTABLISHED')
        self.tie(one, other)
        return one, other

    @staticmethod
    def tie(one, other):
        one.end.other, other.end.other = other.end, one.end

    def exchange(self, one, other, seed=1, size=5000):
        """Send a message each way, and compare each byte."""
        for sender, receiver in (one.end, other.end), (other.end, one.end):
            receiver.clear(size)
            receiver.recv(size)
            sender.fill(seed, size, sender.size // 2)
            sender.send('SEND', size, offset=sender.size // 2)
            sender.done(seconds=PATIENCE)
            receiver.received(seconds=PATIENCE)
            receiver.check(seed, size)
            seed += 1

    def again(self, one):
        """Destroy an id, whose QP the program moves itself, and make another id with this QP."""
        one.is_there = False
        one.call('destroy', keep=1)
        two = self.id(one.peer)
        two.resolve()
        two.call('adopt', **{'from': one.number})
        two.end, one.end.id = one.end, two.number
        two.end.call('modify', state='RESET')
        two.modify('INIT')
        return two

    def disconnected(self, one, other):
        """End a connection. The id `one` disconnects first."""
        one.disconnect()
        other.event('DISCONNECTED')
        other.disconnect()
        one.event('DISCONNECTED')

    def ended(self, one, other):
        """End a connection, as programs do that destroy an id at DISCONNECTED. Linux answers a repeated DREQ if the id
        is in TIMEWAIT or destroyed, and not if it is kept for longer."""
        one.disconnect()
        other.event('DISCONNECTED')
        other.disconnect()
        other.destroy()
        one.event('DISCONNECTED')

    # --------------------------------------------------------------------------------------- the wire

    def lose(self, sender, message, n=1):
        """Drop the first n of these messages from a peer."""
        self.wire.rule(sender.number, f'cm:{message}', 'drop', 'script ' + ','.join(str(i + 1) for i in range(n)))

    def silence(self, *peers):
        """Drop all messages of connection management that these peers send from now on."""
        for peer in peers:
            self.wire.rule(peer.number, 'cm', 'drop', '1')

    def mads(self, name=None, sender=None):
        """The messages so far. The first call ends the capture. `name` and `sender` choose among the messages."""
        if self.found is None:
            self.wire.capture(None)
            self.found, self.faults = mads.read(self.path)
        return [mad for mad in self.found if name in (None, mad.name) and
                (sender is None or mad.sender == self.address(sender))]

    def names(self, sender=None):
        """The names of the messages in their order, without repetitions."""
        return list(dict.fromkeys(mad.name for mad in self.mads(sender=sender)))

    def expect_count(self, sender, name, least, most=None):
        """Check how often a peer sent a message."""
        nb = len(self.mads(name, sender))
        most = least if most is None else most
        expect(least <= nb <= most, f'{sender.name} sent {nb} {name}, not {least}' +
               (f' to {most}' if most != least else ''))

    # ------------------------------------------------------------------------ the end of a cell

    def kill(self, peer):
        """Kill the program of a peer, and start it again without ids."""
        peer.kill()
        for one in self.ids:
            one.is_there = one.is_there and one.peer is not peer
        peer.use('cm-actor')
        self.open_peer(peer)
        self.count[peer] = 0

    def close(self):
        errors = []
        for one in reversed(self.ids):
            try:
                one.destroy()
            except PeerError as error:
                errors.append(str(error))
        if errors:
            raise PeerError('; '.join(errors))


def judge(scene):
    """The faults in the messages of a cell, whose capture has ended. Writes them beside the capture."""
    if not os.path.exists(scene.path):
        return ['there is no capture']
    found = scene.mads()
    mads.write(found, scene.path + '.mads')
    renewed = {scene.address(peer) for peer in (scene.a, scene.b) if 'sidr-again' in peer.quirks}
    return scene.faults + mads.changed([mad for mad in found if mad.name != 'SIDR_REP' or mad.sender not in renewed])
