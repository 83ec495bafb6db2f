# SPDX-License-Identifier: BSD-3-Clause
"""Requests that depend on each other: READs and atomics in flight, order, windows, shared receives, PSNs that wrap."""

from ends import expect
from scenarios import scenario

WRITE_READ = 'write+read'


@scenario(short=True)
def read_depth(s):
    """48 READs of several packets in one list, 16 of which may be in flight"""
    size = 3 * s.mtu + 4
    a, b = s.pair(size=48 * size, depth=64, rd=16)
    b.fill(3, 48 * size)
    for _ in range(2):
        a.clear()
        a.send('READ', size, n=48, step=size)
        a.done(48)
        a.check(3, 48 * size)


@scenario(both=False)
def read_depth_one(s):
    """READs, of which one may be in flight"""
    a, b = s.pair(size=16 * 5000, rd=1)
    b.fill(4, 16 * 5000)
    a.send('READ', 5000, n=16, step=5000)
    a.done(16)
    a.check(4, 16 * 5000)


@scenario(needs=('RC', 'ATOMIC'), short=True)
def atomics(s):
    """FETCH_ADD and CMP_SWAP, with equal and with different values; the requester gets the previous value"""
    a, b = s.pair()
    b.word(0, 1000)
    for k in range(4):
        a.send('FETCH_ADD', 8, compare_add=k + 1)
        a.done()
        expect(a.word() == 1000 + k * (k + 1) // 2, f'FETCH_ADD returned {a.word()}')
    expect(b.word(0) == 1010, f'the sum is {b.word(0)}')
    a.send('CMP_SWAP', 8, compare_add=1010, swap=2**63 + 5)
    a.done()
    expect((a.word(), b.word(0)) == (1010, 2**63 + 5), 'CMP_SWAP that hits')
    a.send('CMP_SWAP', 8, compare_add=1, swap=7)
    a.done()
    expect((a.word(), b.word(0)) == (2**63 + 5, 2**63 + 5), 'CMP_SWAP that misses')
    b.word(8, 2**64 - 1)
    a.send('FETCH_ADD', 8, at=8, compare_add=3)
    a.done()
    expect((a.word(), b.word(8)) == (2**64 - 1, 2), 'FETCH_ADD that overflows')


@scenario(needs=('RC', 'ATOMIC'))
def atomics_in_flight(s):
    """64 FETCH_ADDs of one word in a list: each returns another value"""
    a, b = s.pair(depth=128)
    b.word(0, 0)
    # One word at the responder; at the requester a word for each request.
    for k in range(64):
        a.send('FETCH_ADD', 8, offset=8 * k, compare_add=1, wr=k)
    a.done(64)
    expect(b.word(0) == 64, f'the sum is {b.word(0)}')
    expect([a.word(8 * k) for k in range(64)] == list(range(64)), 'values out of order')


@scenario(needs=('RC', 'ATOMIC', 'IMM'))
def mixed(s):
    """SEND, WRITE, READ, FETCH_ADD and WRITE_IMM in flight at once complete in order"""
    size = 2 * s.mtu + 1
    a, b = s.pair(size=8 * size, depth=64)
    b.word(0, 0)
    b.recv(size, n=8, offset=size)
    b.fill(6, size, 4 * size)
    a.fill(2, size)
    for k in range(4):
        a.send('SEND', size, wr=5 * k)
        a.send('WRITE', size, at=2 * size, wr=5 * k + 1)
        a.send('READ', size, offset=size, at=4 * size, wr=5 * k + 2)
        a.send('FETCH_ADD', 8, offset=3 * size // 8 * 8, compare_add=1, wr=5 * k + 3)
        a.send('WRITE_IMM', size, at=3 * size, imm=k, wr=5 * k + 4)
    a.done(20)
    ops = [came['op'] for came in b.received(8)]
    expect(ops == ['RECV', 'RECV_IMM'] * 4, f'receives completed as {ops}')
    expect(b.word(0) == 4, f'the sum is {b.word(0)}')
    for at in 1, 2, 3:
        b.check(2, size, at * size)
    a.check(6, size, size)


@scenario(both=False)
def fence(s):
    """A fenced WRITE of the data of a READ is sent after the READ"""
    size = 8 * s.mtu
    a, b = s.pair(size=2 * size)
    for k in range(8):
        b.fill(k, size)
        a.send('READ', size)
        a.send('WRITE', size, at=size, flags='signaled+fence')
        a.done(2)
        b.check(k, size, size)


@scenario(needs=('RC', 'SRQ'))
def shared_receives(s):
    """Four QPs of the responder take their receives from one SRQ"""
    first, owner = s.pair(size=65536, b={'srq': True})
    pairs = [first] + [s.pair(size=65536, b={'srq': owner})[0] for _ in range(3)]
    owner.recv(1024, n=16, step=1024)
    for a in pairs:
        a.fill(8, 1024)
        a.send('SEND', 1024, n=4)
    for a in pairs:
        a.done(4)
        a.other.received(4)
    for k in range(16):
        owner.check(8, 1024, 1024 * k)


def window(s):
    """A memory window of type 2 over the second page of the responder."""
    a, b = s.pair(b={'access': 'write+read+atomic+window'})
    rkey = b.call('bind', type=2, offset=4096, length=4096, access=WRITE_READ)['rkey']
    b.done()
    return a, b, rkey


@scenario(needs=('RC', 'WINDOW', 'INV'), clean=False)
def windows(s):
    """A memory window of type 2 is bound, written, invalidated by a SEND, and then refuses requests"""
    a, b, rkey = window(s)
    a.fill(1, 4096)
    a.send('WRITE', 4096, at=4096, rkey=rkey)
    a.done()
    b.check(1, 4096, 4096)
    b.recv(64)
    a.send('SEND_INV', 64, rkey=rkey)
    a.done()
    came = b.received()[0]
    expect(came.get('invalidated') == rkey or 'untold-invalidation' in b.peer.quirks,
           f'the receive tells of key {came.get("invalidated")}, not {rkey}')
    b.clear(4096, 4096)
    a.send('WRITE', 64, at=4096, rkey=rkey)
    a.done(status='REM_ACCESS_ERR')
    b.check_clear(4096, 4096)


@scenario(needs=('RC', 'WINDOW'), clean=False)
def windows_local(s):
    """A memory window of type 2 that its owner invalidates"""
    a, b, rkey = window(s)
    a.fill(7, 4096)
    a.send('WRITE', 4096, at=4096, rkey=rkey)
    a.done()
    b.check(7, 4096, 4096)
    b.send('LOCAL_INV', 0, rkey=rkey)
    b.done()
    a.send('WRITE', 64, at=4096, rkey=rkey)
    a.done(status='REM_ACCESS_ERR')


@scenario(needs=('RC', 'WINDOW'), clean=False)
def windows_bounds(s):
    """A memory window refuses a byte after its end, and a byte before its beginning"""
    for at in 2 * 4096 - 63, 4095:
        a, b, rkey = window(s)
        b.clear()
        a.fill(7, 64)
        a.send('WRITE', 64, at=at, rkey=rkey)
        if 'window-bounds' in b.peer.quirks:
            a.done()
            continue
        a.done(status='REM_ACCESS_ERR')
        b.check_clear(b.size)


@scenario(needs=('RC', 'WINDOW'), clean=False)
def windows_read(s):
    """A READ through a memory window"""
    a, b, rkey = window(s)
    b.fill(7, 4096, 4096)
    a.send('READ', 4096, at=4096, rkey=rkey)
    a.done()
    a.check(7, 4096)


@scenario(short=True)
def psn_wrap(s):
    """PSNs of both ends wrap at 2^24 during SENDs, WRITEs and READs"""
    size = 5 * s.mtu
    a, b = s.pair(size=8 * size, psn=0xfffff8, other_psn=0xfffffd)
    a.fill(1, 8 * size)
    b.recv(size, n=8, step=size)
    a.send('SEND', size, n=8, step=size)
    a.done(8)
    b.received(8)
    b.check(1, 8 * size)


@scenario()
def psn_wrap_reads(s):
    """The PSNs of READ responses wrap at 2^24"""
    size = 5 * s.mtu
    a, b = s.pair(size=8 * size, psn=0xfffff0, other_psn=0xffffff)
    b.fill(2, 8 * size)
    a.send('READ', size, n=8, step=size)
    a.done(8)
    a.check(2, 8 * size)
    a.fill(3, 8 * size)
    a.send('WRITE', size, n=8, step=size)
    a.done(8)
    b.check(3, 8 * size)
