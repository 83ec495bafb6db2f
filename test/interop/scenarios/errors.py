# SPDX-License-Identifier: BSD-3-Clause
"""Requests that the responder must refuse because of their contents."""

from ends import Skip, expect
from peers import PeerError
from scenarios import scenario

REFUSED = 'REM_ACCESS_ERR'
SHORT_S = 20


def refused(s, op, size=64, status=REFUSED, b=None, connect=None, **words):
    """Post a request that ends in `status`. Both ends go to ERR, nothing is written, and later requests are flushed."""
    a, other = s.pair(b=b, **(connect or {}))
    other.clear()
    if callable(words.get('rkey')):
        words['rkey'] = words['rkey'](other)
    a.send(op, size, wr=1, **words)
    a.send('SEND', 0, wr=2)
    came = a.done(2, status={status, 'WR_FLUSH_ERR'}, seconds=SHORT_S)
    expect([c['status'] for c in came] == [status, 'WR_FLUSH_ERR'], f'completed as {came}')
    expect(a.state() == 'ERR', f'the requester is in {a.state()}, not in ERR')
    if op != 'READ':
        other.check_clear(other.size)
    return a, other


@scenario(clean=False, short=True)
def bad_rkey(s):
    """WRITE, READ and FETCH_ADD with an invalid key"""
    for op, size in ('WRITE', 64), ('WRITE', 3 * s.mtu), ('READ', 64), ('FETCH_ADD', 8):
        refused(s, op, size, rkey=lambda other: other.rkey ^ 0x5a)


@scenario(clean=False)
def out_of_range(s):
    """WRITE, READ and FETCH_ADD beyond the end of the region, and at addresses that wrap"""
    for op, size, at in (('WRITE', 64, 65536 - 63), ('WRITE', 3 * s.mtu, 65536 - s.mtu), ('READ', 64, 65536 - 63),
                         ('READ', 3 * s.mtu, 65536 - s.mtu), ('FETCH_ADD', 8, 65536), ('WRITE', 64, -64)):
        refused(s, op, size, at=at)
    refused(s, 'WRITE', 64, raddr=2**64 - 32)


@scenario(clean=False)
def missing_right(s):
    """WRITE, READ and FETCH_ADD where the region does not allow it"""
    refused(s, 'WRITE', b={'access': 'read+atomic'})
    refused(s, 'READ', b={'access': 'write+atomic'})
    refused(s, 'FETCH_ADD', 8, b={'access': 'write+read'})


@scenario(clean=False)
def missing_right_of_qp(s):
    """WRITE, READ and FETCH_ADD where the QP does not allow it"""
    status = {'REM_INV_REQ_ERR', REFUSED}    # [IBA] requires the first, and rxe returns it
    for op, size, rights in ('WRITE', 64, 'read+atomic'), ('READ', 64, 'write+atomic'), ('FETCH_ADD', 8, 'write+read'):
        a, other = s.pair(other_access=rights)
        other.clear()
        a.send(op, size)
        a.done(status=status, seconds=SHORT_S)
        other.check_clear(other.size)


@scenario(clean=False)
def too_long(s):
    """SENDs that are longer than the receive buffer: of one packet, and of several"""
    for size, room in (64, 63), (3 * s.mtu, 2 * s.mtu), (s.mtu + 1, s.mtu):
        a, b = s.pair()
        b.clear()
        b.recv(room, offset=1024)
        a.send('SEND', size)
        # The responder completes with the error. The requester gets a failed operation or an invalid request:
        # implementations differ, and [IBA] allows both (9.9.6.3, table of NAK codes).
        a.done(status={'REM_INV_REQ_ERR', 'REM_OP_ERR'}, seconds=SHORT_S)
        b.received(status='LOC_QP_OP_ERR' if 'too-long-status' in b.peer.quirks else 'LOC_LEN_ERR')
        b.check_clear(1024)
        b.check_clear(1024, 1024 + room)


@scenario(needs=('UD',), clean=False)
def wrong_qkey(s):
    """A datagram with another Q_Key is dropped, and the next one arrives"""
    a, b = s.pair('UD')
    b.recv(64 + 40, n=2)
    a.send('SEND', 64, qkey=0x22222222)
    a.done()
    b.nothing('recv')
    a.fill(4, 64)
    a.send('SEND', 64)
    a.done()
    b.received()
    b.check(4, 64, 40)


@scenario(needs=('UD',), both=False, clean=False)
def ud_too_long(s):
    """A datagram that is longer than its receive buffer has no effect on memory; later datagrams arrive"""
    a, b = s.pair('UD')
    b.clear()
    b.recv(32 + 40)
    a.send('SEND', 64)
    a.done()
    b.check_clear(1024, 72)
    b.poll('recv', 1, 0.5)    # an error of the receive request, or no completion: a datagram may be lost


@scenario(needs=('RC', 'ATOMIC'), clean=False)
def misaligned_atomic(s):
    """FETCH_ADD and CMP_SWAP at an address that is no multiple of eight"""
    for op in 'FETCH_ADD', 'CMP_SWAP':
        try:
            refused(s, op, 8, status='REM_INV_REQ_ERR', at=4)
        except PeerError as error:
            raise Skip(f'the requester does not even send it: {error}') from error


@scenario(clean=False, both=False, seconds=200)
def nobody_there(s):
    """A QP that does not exist: the requester tries retry_cnt times, and gives up"""
    a, b = s.pair(timeout=16, retry=3)
    b.destroy()
    a.send('SEND', 64)
    a.done(status='RETRY_EXC_ERR', seconds=60)
    expect(a.state() == 'ERR', f'the requester is in {a.state()}')


@scenario(clean=False, both=False, seconds=200)
def destroyed(s):
    """The responder's QP is destroyed in the middle of a message of 4 MiB; other QPs continue"""
    size = 4 << 20
    a, b = s.pair(size=size, timeout=16, retry=3)
    one, other = s.pair()
    a.send('WRITE', size, n=4)
    b.destroy()
    came = a.done(4, status={'SUCCESS', 'RETRY_EXC_ERR', 'WR_FLUSH_ERR'}, seconds=90)
    expect(came[-1]['status'] != 'SUCCESS', 'all of it is said to have arrived')
    other.recv(64)
    one.send('SEND', 64)
    one.done()
    other.received()


@scenario(clean=False, both=False, seconds=200)
def into_error(s):
    """The responder's QP goes to ERR: its receive requests are flushed, and the requester gives up"""
    a, b = s.pair(timeout=16, retry=3)
    b.recv(64, n=3)
    b.call('modify', state='ERR')
    b.received(3, status='WR_FLUSH_ERR')
    a.send('SEND', 64)
    a.done(status={'RETRY_EXC_ERR', 'REM_OP_ERR'}, seconds=60)
