# SPDX-License-Identifier: BSD-3-Clause
"""Messages of every length, by every type of QP."""

from ends import expect
from scenarios import scenario

ALL_MTUS = 256, 1024, 4096
MIB = 1 << 20
IMM = 0xa0b0c000


def around(mtu):
    """Lengths on both sides of each boundary: of a packet, of padding, of a segment."""
    return [0, 1, 2, 3, 4, mtu - 1, mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, 2 * mtu + 1, 5 * mtu + 3]


def datagrams(mtu):
    return [0, 1, 2, 3, 4, mtu // 2 + 1, mtu - 1, mtu]


def send_each(s, kind, sizes, op='SEND'):
    """Send each size alone, then all of them in flight at once."""
    grh = 40 if kind == 'UD' else 0
    a, b = s.pair(kind, size=max(sizes) + 64 + grh, depth=64)
    for k, size in enumerate(sizes):
        b.clear(size + grh)
        a.fill(k, size)
        b.recv(size + grh)
        a.send(op, size, imm=IMM + k)
        a.done()
        came = b.received()[0]
        expect(came['length'] == size + grh, f'length {came["length"]}, not {size + grh}')
        if op == 'SEND_IMM':
            expect(came.get('imm') == IMM + k, f'immediate {came.get("imm")}, not {IMM + k}')
        b.check(k, size, grh)
    return a, b


@scenario(mtus=ALL_MTUS, short=True)
def rc_send(s):
    """RC SENDs around each boundary of packets and padding"""
    send_each(s, 'RC', around(s.mtu))


@scenario(mtus=ALL_MTUS, short=True)
def rc_write(s):
    """RC WRITEs around each boundary; no other bytes are changed"""
    sizes = around(s.mtu)
    a, b = s.pair(size=max(sizes) + 64)
    for k, size in enumerate(sizes):
        b.clear()
        a.fill(k, size)
        a.send('WRITE', size, at=13)
        a.done()
        b.check(k, size, 13)
        b.check_clear(13)
        b.check_clear(32, 13 + size)


@scenario(mtus=ALL_MTUS)
def rc_read(s):
    """RC READs around each boundary; no other bytes are changed"""
    sizes = around(s.mtu)
    a, b = s.pair(size=max(sizes) + 64)
    for k, size in enumerate(sizes):
        a.clear()
        b.fill(k, size, 13)
        a.send('READ', size, at=13)
        a.done()
        a.check(k, size)
        a.check_clear(32, size)


@scenario(needs=('RC', 'IMM'), mtus=ALL_MTUS)
def rc_send_immediate(s):
    """RC SENDs with immediate data around each boundary"""
    send_each(s, 'RC', around(s.mtu), 'SEND_IMM')


@scenario(needs=('RC', 'IMM'), mtus=ALL_MTUS)
def rc_write_immediate(s):
    """RC WRITEs with immediate data: each uses a receive request, which gets the length"""
    sizes = around(s.mtu)
    a, b = s.pair(size=max(sizes) + 64)
    b.recv(0, n=len(sizes))
    for k, size in enumerate(sizes):
        b.clear()
        a.fill(k, size)
        a.send('WRITE_IMM', size, at=7, imm=IMM + k)
        a.done()
        came = b.received()[0]
        expect((came['op'], came.get('imm')) == ('RECV_IMM', IMM + k), f'completed as {came}')
        expect(came['length'] == size, f'length {came["length"]}, not {size}')
        b.check(k, size, 7)
        b.check_clear(7)


@scenario()
def rc_megabyte(s):
    """RC SEND, WRITE and READ of 1 MiB, and of a byte more"""
    a, b = s.pair(size=MIB + 1)
    for k, size in enumerate((MIB, MIB + 1)):
        a.fill(k, size)
        b.clear()
        b.recv(size)
        a.send('SEND', size)
        a.done()
        b.received()
        b.check(k, size)
        b.clear()
        a.send('WRITE', size)
        a.done()
        b.check(k, size)
        a.clear()
        a.send('READ', size)
        a.done()
        a.check(k, size)


@scenario(mtus=(4096,), both=False, seconds=400)
def rc_64_megabytes(s):
    """One RC WRITE of 64 MiB, and one READ of the same bytes"""
    size = 64 * MIB
    a, b = s.pair(size=size, timeout=20)
    a.fill(5, size)
    a.send('WRITE', size)
    a.done(seconds=150)
    b.check(5, size)
    a.clear()
    a.send('READ', size)
    a.done(seconds=150)
    a.check(5, size)


@scenario(both=False)
def rc_inline(s):
    """SENDs and WRITEs whose data is copied when they are posted"""
    a, b = s.pair(a={'inline': 64})
    for k, size in enumerate((0, 1, 31, 64)):
        b.clear(256)
        b.recv(64)
        a.fill(k, size)
        a.send('SEND', size, flags='signaled+inline')
        a.fill(k + 100, size)    # the posted requests must not contain this change
        a.done()
        b.received()
        b.check(k, size)
        a.fill(k + 50, size)
        a.send('WRITE', size, at=128, flags='signaled+inline')
        a.clear(size)
        a.done()
        b.check(k + 50, size, 128)


@scenario(needs=('RC', 'SOLICITED'), both=False)
def rc_solicited(s):
    """Only a solicited SEND causes an event for an application that requested solicited events"""
    a, b = s.pair()
    b.recv(64, n=3)
    b.call('arm', of='recv', solicited=1)
    a.send('SEND', 64)
    a.done()
    expect(not b.call('event', ms=500)['came'], 'a SEND that was not solicited made an event')
    a.send('SEND', 64, flags='signaled+solicited')
    a.done()
    expect(b.call('event', ms=5000)['came'], 'a solicited SEND made no event')
    b.received(2)
    b.call('arm', of='recv', solicited=0)
    a.send('SEND', 64)
    a.done()
    expect(b.call('event', ms=5000)['came'], 'a SEND made no event')
    b.received()


@scenario(needs=('UC',), mtus=ALL_MTUS)
def uc_send(s):
    """UC SENDs around each boundary"""
    send_each(s, 'UC', around(s.mtu))


@scenario(needs=('UC', 'IMM'))
def uc_send_immediate(s):
    """UC SENDs with immediate data"""
    send_each(s, 'UC', around(s.mtu), 'SEND_IMM')


@scenario(needs=('UC', 'IMM'), mtus=ALL_MTUS)
def uc_write(s):
    """UC WRITEs, each followed by one with immediate data, whose completion shows the end"""
    sizes = around(s.mtu)
    a, b = s.pair('UC', size=max(sizes) + 64)
    b.recv(0, n=len(sizes))
    for k, size in enumerate(sizes):
        b.clear()
        a.fill(k, size)
        a.send('WRITE', size, at=5)
        a.send('WRITE_IMM', 0, imm=IMM + k)
        a.done(2)
        expect(b.received()[0].get('imm') == IMM + k, 'another immediate')
        b.check(k, size, 5)
        b.check_clear(5)
        b.check_clear(32, 5 + size)


@scenario(needs=('UD',), mtus=ALL_MTUS, short=True)
def ud_send(s):
    """Datagrams of each length up to the MTU"""
    send_each(s, 'UD', datagrams(s.mtu))


@scenario(needs=('UD', 'IMM'))
def ud_send_immediate(s):
    """Datagrams with immediate data"""
    send_each(s, 'UD', datagrams(s.mtu), 'SEND_IMM')


@scenario(needs=('UD',), both=False)
def ud_source(s):
    """The completion of a datagram has the QP of its sender; the reply is sent there"""
    a, b = s.pair('UD')
    b.recv(64 + 40)
    a.recv(64 + 40)
    a.fill(1, 64, 1024)
    b.fill(2, 64, 1024)
    a.send('SEND', 64, offset=1024)
    a.done()
    came = b.received()[0]
    expect(came.get('src_qp') == a.qpn, f'source QP {came.get("src_qp")}, not {a.qpn}')
    b.check(1, 64, 40)
    b.send('SEND', 64, offset=1024, dqpn=came['src_qp'])
    b.done()
    expect(a.received()[0].get('src_qp') == b.qpn, 'the answer is of another QP')
    a.check(2, 64, 40)


@scenario(needs=('UD', 'MULTICAST'))
def ud_multicast(s):
    """A datagram to a group: attached QPs receive it, detached QPs do not"""
    group = 'ff0e::4:77' if s.is_ipv6 else '239.1.2.3'
    a, b = s.pair('UD')
    b.call('attach', group=group)
    b.recv(1024 + 40, n=2)
    a.fill(9, 1024)
    a.send('SEND', 1024, dgid=group, dqpn=0xffffff)
    a.done()
    b.received()
    b.check(9, 1024, 40)
    b.call('attach', group=group, leave=1)
    a.send('SEND', 1024, dgid=group, dqpn=0xffffff)
    a.done()
    b.nothing('recv')
