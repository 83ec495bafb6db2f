# SPDX-License-Identifier: BSD-3-Clause
"""Support for scenarios: a scene of two peers on a wire, and the ends of their connections."""

import itertools

from peers import PeerError


class Failure(Exception):
    """A check of a scenario has failed."""


class Skip(Exception):
    """The reason why a scenario cannot run here."""


def expect(is_so, text):
    if not is_so:
        raise Failure(text)


class End:
    """A QP of a peer and its memory, for scenarios. The pattern of a seed is the one of `actor`."""

    def __init__(self, peer, number, kind, size, said, address):
        self.peer = peer
        self.id = number
        self.kind = kind
        self.size = size
        self.qpn = said['qpn']
        self.base = said.get('address', 0)
        self.rkey = said.get('rkey', 0)
        self.inline = said.get('inline', 0)
        self.address = address
        self.other = None    # the end to which this end is connected
        self.is_there = True

    def call(self, operation, **words):
        return self.peer.call(operation, id=self.id, **words)

    # ------------------------------------------------------------------------------------- memory

    def fill(self, seed, length, offset=0):
        self.call('fill', offset=offset, length=length, seed=seed)

    def clear(self, length=None, offset=0):
        self.call('fill', offset=offset, length=self.size if length is None else length, zero=1)

    def check(self, seed, length, offset=0, what='data'):
        at = self.call('check', offset=offset, length=length, seed=seed)['at']
        expect(at < 0, f'{what} of {length} bytes at {self.peer.name}: byte {at} is wrong')

    def check_clear(self, length, offset=0):
        at = self.call('check', offset=offset, length=length, zero=1)['at']
        expect(at < 0, f'{self.peer.name}: byte {offset + at} was written')

    def word(self, offset=0, value=None):
        return self.call('word', offset=offset, value=value)['value']

    # ------------------------------------------------------------------------------------ requests

    def recv(self, size, n=1, offset=0, step=0, wr=0):
        self.call('recv', n=n, size=size, offset=offset, step=step, wr=wr)

    def send(self, op, size, at=0, **words):
        """Post requests to the connected end; `at`: the offset in the memory of that end."""
        other = words.pop('to', self.other)
        words.setdefault('raddr', other.base + at)
        words.setdefault('rkey', other.rkey)
        if self.kind == 'UD':
            words.setdefault('dgid', other.address)
            words.setdefault('dqpn', other.qpn)
        self.call('send', op=op, size=size, **words)

    # --------------------------------------------------------------------------------- completions

    def poll(self, of, n, seconds):
        return self.call('poll', of=of, n=n, ms=int(seconds * 1000))['completions']

    def done(self, n=1, status='SUCCESS', of='send', seconds=60):
        """Check n completions: each has this status, or one of these. They are in the order of the requests, unless
        one failed."""
        allowed = {status} if isinstance(status, str) else set(status)
        came = self.poll(of, n, seconds)
        said = [completion['status'] for completion in came]
        expect(set(said) <= allowed, f'{self.peer.name}: {of} completions {summary(said)}, '
                                     f'not {" or ".join(sorted(allowed))}')
        expect(len(came) == n, f'{self.peer.name}: {len(came)} of {n} {of} completions after {seconds} s')
        if allowed == {'SUCCESS'} and self.kind != 'UD':
            ids = [completion['wr'] for completion in came]
            expect(ids == sorted(ids), f'{self.peer.name}: {of} completions out of order: {ids}')
        return came

    def received(self, n=1, **words):
        return self.done(n, of='recv', **words)

    def nothing(self, of, seconds=0.3):
        came = self.poll(of, 1, seconds)
        expect(not came, f'{self.peer.name}: a completion of {of} that nobody asked for: {came}')

    # --------------------------------------------------------------------------------------- state

    def state(self):
        return self.call('state')['state']

    def destroy(self):
        if self.is_there:
            self.is_there = False
            self.call('destroy')


def summary(names):
    return ', '.join(f'{name} x{len(list(group))}' for name, group in itertools.groupby(names)) or 'none'


class Scene:
    """One cell of the matrix: the two peers, the wire, and the parameters."""

    def __init__(self, requester, responder, wire, is_ipv6, mtu, seed):
        self.a = requester
        self.b = responder
        self.wire = wire
        self.is_ipv6 = is_ipv6
        self.mtu = mtu
        self.seed = seed
        self.ends = []
        self.lossless = True    # the wire loses nothing, so no retransmissions are needed
        self.sees_all = True    # the wire has all frames that the ends send
        self.connections = []

    def end(self, peer, kind='RC', size=65536, **words):
        number = len(self.ends)
        if words.get('srq') is True:
            words['srq'] = number
        elif isinstance(words.get('srq'), End):
            words['srq'] = words['srq'].id
        said = peer.call('create', id=number, type=kind, size=size, **words)
        end = End(peer, number, kind, size, said, peer.network.address(peer.number, self.is_ipv6))
        self.ends.append(end)
        return end

    def open(self):
        """Open both peers with their address of this cell's family."""
        for peer in self.a, self.b:
            peer.call('open', address=peer.network.address(peer.number, self.is_ipv6))

    def join(self, one, other, psn=0x0abcde, other_psn=0x123456, **words):
        """Connect two ends. Words for one end only begin with `one_` or `other_`."""
        one.other, other.other = other, one
        for end, prefix, out, back in (one, 'one_', psn, other_psn), (other, 'other_', other_psn, psn):
            own = {key: value for key, value in words.items() if not key.startswith(('one_', 'other_'))}
            own.update({key[len(prefix):]: value for key, value in words.items() if key.startswith(prefix)})
            end.call('connect', dqpn=end.other.qpn, dgid=end.other.address, mtu=self.mtu, psn=out, rq_psn=back, **own)
        self.connections.append((one, other))

    def pair(self, kind='RC', size=65536, depth=64, a=None, b=None, **words):
        """Create one end of each peer, and connect them. `a` and `b` are additional words of create for one end."""
        one = self.end(self.a, kind, size, depth=depth, **(a or {}))
        other = self.end(self.b, kind, size, depth=depth, **(b or {}))
        self.join(one, other, **words)
        return one, other

    def role(self, end):
        """1 or 2: the number of the port that sends the frames of this end."""
        return end.peer.number

    def close(self):
        """Destroy the ends in the order that SRQs require. A failure here is a failure of the scenario."""
        errors = []
        for end in reversed(self.ends):
            try:
                end.destroy()
            except PeerError as error:
                errors.append(str(error))
        if errors:
            raise Failure('; '.join(errors))
