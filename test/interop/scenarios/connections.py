# SPDX-License-Identifier: BSD-3-Clause
"""Connection management: the states that both sides must agree about, on a wire that loses, repeats and delays messages,
and with peers that stop.
"""

import ipaddress
import statistics
import time

from connections import PORT, QUIET, UNANSWERED
from ends import expect
from scenarios import scenario

CONSUMER, NO_LISTENER, STALE = 28, 8, 10    # reasons of a REJ [IBA 12.6.7.2]
REQ_PRIVATE, REP_PRIVATE, REJ_PRIVATE = 56, 196, 148    # bytes of private data that an event has at most
DELAY_S = 8    # longer than the timeout after which Linux repeats a message
GROUP = '239.192.7.174'
GROUP_QKEY = 0x01234567    # of the groups of librdmacm [rdma_join_multicast(3)]


def cm(**words):
    return scenario(**{'needs': ('RC', 'CM'), 'program': 'cm-actor', 'clean': False, **words})


def text(event):
    return bytes.fromhex(event['private']).rstrip(b'\0').decode()


def serve(s, listener, one, **words):
    """Accept the request of `one`, which has called connect(). @return the id of the passive side, established"""
    other = s.requested(listener)
    other.create()
    other.accept(**words)
    one.event('ESTABLISHED')
    other.event('ESTABLISHED')
    s.tie(one, other)
    return other


def accepted(s):
    """A connection that lacks the RTU. The active side moves its QP itself, and so decides when the RTU is sent.
    @return the listener, and the ids of both sides
    """
    listener = s.listen()
    one = s.caller(own=1)
    one.modify('INIT')
    one.connect()
    other = s.requested(listener)
    other.create()
    other.accept()
    one.event('CONNECT_RESPONSE')
    return listener, one, other


# -------------------------------------------------------------------------------- without faults

@cm(short=True)
def connect(s):
    """A connection with private data each way, data, and a disconnection by the active side"""
    listener = s.listen()
    one = s.caller()
    one.connect(private='a' * REQ_PRIVATE)
    other = s.requested(listener)
    expect(text(other.request) == 'a' * REQ_PRIVATE, f'private data of the REQ: {other.request["private"]}')
    expect(other.request['responder_resources'] == 4 and other.request['initiator_depth'] == 4, other.request)
    other.create()
    other.accept(private='b' * REP_PRIVATE)
    said = one.event('ESTABLISHED')
    expect(text(said) == 'b' * REP_PRIVATE, f'private data of the REP: {said["private"]}')
    other.event('ESTABLISHED')
    s.tie(one, other)
    s.exchange(one, other)
    s.disconnected(one, other)
    s.nothing()
    s.expect_count(s.b, 'REP', 1, 16)    # from 10 ms on, and an emulated guest on a busy machine is slow
    # Linux sends an MRA for a REQ that is repeated before its user has answered.
    expect([name for name in s.names() if name != 'MRA'] == ['REQ', 'REP', 'RTU', 'DREQ', 'DREP'],
           f'messages {s.names()}')
    expect(s.mads('REQ')[0].fields['local_qpn'] == one.end.qpn, 'the REQ names another QP')
    expect(s.mads('REP')[0].fields['local_qpn'] == other.end.qpn, 'the REP names another QP')


@cm()
def disconnect_by_passive(s):
    """A disconnection by the passive side"""
    one, other = s.connected(s.listen())
    s.exchange(one, other)
    s.disconnected(other, one)
    s.nothing()
    expect(s.mads('DREQ')[0].sender == s.address(s.b), 'the active side sent the DREQ')


@cm()
def disconnect_by_both(s):
    """Both sides disconnect at once, and each gets one event"""
    one, other = s.connected(s.listen())
    s.exchange(one, other)
    one.disconnect()
    other.disconnect()
    one.event('DISCONNECTED')
    other.event('DISCONNECTED')
    s.nothing()


@cm()
def disconnect_by_destroy(s):
    """A side that destroys its id ends the connection"""
    one, other = s.connected(s.listen())
    s.exchange(one, other)
    one.destroy()
    other.event('DISCONNECTED')
    s.nothing()
    s.expect_count(s.a, 'DREQ', 1, 16)    # Linux answers when its user disconnects, too


@cm(short=True)
def own_qp(s):
    """A program that moves its QP itself: CONNECT_RESPONSE, then an RTU by rdma_establish()"""
    listener = s.listen()
    one = s.caller(own=1)
    one.modify('INIT')
    one.connect()
    other = s.requested(listener)
    other.create(own=1)
    other.modify('INIT', 'RTR', 'RTS')
    other.accept()
    one.event('CONNECT_RESPONSE')
    one.modify('RTR', 'RTS')
    s.nothing(s.b)
    one.establish()
    other.event('ESTABLISHED')
    s.tie(one, other)
    s.exchange(one, other)
    s.disconnected(one, other)


@cm(short=True)
def reject(s):
    """A reject by the user of the passive side, with private data: reason 28"""
    listener = s.listen()
    one = s.caller()
    one.connect()
    s.requested(listener).reject(private='r' * REJ_PRIVATE)
    said = one.event('REJECTED', CONSUMER)
    expect(text(said) == 'r' * REJ_PRIVATE, f'private data of the REJ: {said["private"]}')
    reject_repetitions(s)
    s.nothing()
    # The listener is not affected.
    two = s.caller()
    two.connect()
    s.exchange(two, serve(s, listener, two))
    expect(s.mads('REJ')[0].fields['reason'] == CONSUMER, s.mads('REJ')[0])


def reject_repetitions(s):
    """Reject what the passive side takes for new requests: repetitions of the REQ that have crossed the REJ."""
    while 'req-again' in s.b.quirks:
        said = s.event(s.b, QUIET)
        if not said['event']:
            return
        expect(said['event'] == 'CONNECT_REQUEST', f'event {said}')
        s.new(s.b).reject()


@cm(short=True)
def no_listener(s):
    """A port without listener: reason 8, at once"""
    one = s.caller(port=PORT + 1)
    one.connect()
    one.event('REJECTED', NO_LISTENER)
    s.nothing()
    rej = s.mads('REJ', s.b)
    expect(rej and rej[0].fields['reason'] == NO_LISTENER and rej[0].fields['remote_comm_id'] ==
           s.mads('REQ', s.a)[0].fields['local_comm_id'], f'REJ {rej and rej[0]}')


@cm()
def both_directions(s):
    """Two connections between the same hosts, one opened from each side"""
    one, other = s.connected(s.listen())
    s.a, s.b = s.b, s.a
    two, four = s.connected(s.listen())
    s.exchange(one, other)
    s.exchange(two, four, seed=7)
    s.disconnected(one, other)
    s.exchange(two, four, seed=9)
    s.disconnected(two, four)
    s.a, s.b = s.b, s.a


@cm(seconds=300)
def connect_256(s):
    """256 connections at once: none is lost, none is mixed up with another"""
    nb = 256
    listener = s.listen(backlog=nb)
    callers = [s.id(s.a) for _ in range(nb)]
    for one in callers:
        one.resolve()
        one.create(size=4096, depth=4)
    for i, one in enumerate(callers):
        one.connect(private=f'number-{i}')
    by_number = {}
    for _ in range(nb):
        other = s.requested(listener)
        other.create(size=4096, depth=4)
        other.accept()
        by_number[text(other.request)] = other
    for peer, name in (s.a, 'ESTABLISHED'), (s.b, 'ESTABLISHED'):
        came = {s.expected(peer, name)['id'] for _ in range(nb)}
        expect(len(came) == nb, f'{peer.name}: {len(came)} connections of {nb} are established')
    for i in (0, 1, nb // 2, nb - 1):
        other = by_number[f'number-{i}']
        s.tie(callers[i], other)
        s.exchange(callers[i], other, seed=i, size=1000)
    for one in callers:
        one.disconnect()
    by_id = {other.number: other for other in by_number.values()}
    for _ in range(nb):
        by_id.pop(s.expected(s.b, 'DISCONNECTED')['id']).destroy()
    came = {s.expected(s.a, 'DISCONNECTED')['id'] for _ in range(nb)}
    expect(len(came) == nb, f'{s.a.name}: {len(came)} connections of {nb} were ended')


@cm(seconds=240)
def again_and_again(s):
    """20 connections one after another: neither QPs nor ids in TIMEWAIT make the next one stale"""
    listener = s.listen()
    for i in range(20):
        one, other = s.connected(listener)
        s.exchange(one, other, seed=i)
        s.disconnected(one, other)
        one.destroy()
        other.destroy()
    expect(not s.mads('REJ'), f'a REJ: {s.mads("REJ")[:1]}')


# ------------------------------------------------------------------------- messages that are lost

CONNECTING = 'REQ', 'REP', 'RTU'
SENDER = {'REQ': 'a', 'REP': 'b', 'RTU': 'a', 'DREQ': 'a', 'DREP': 'b'}


def whole_life(s, prepare):
    """A connection from beginning to end, on a wire that prepare() has set up. All events are those of a good wire."""
    listener = s.listen()
    prepare()
    one = s.caller()
    one.connect(private='hello')
    other = serve(s, listener, one)
    s.exchange(one, other)
    s.ended(one, other)


def register_lost(message, nb):
    @cm(name=f'lost-{message.lower()}{"-twice" if nb > 1 else ""}', seconds=240,
        short=(message, nb) in (('REQ', 1), ('DREP', 1)),
        text=f'{message} is lost {"twice" if nb > 1 else "once"}, and repeated: the events stay the same')
    def lost(s):
        sender = getattr(s, SENDER[message])
        whole_life(s, lambda: s.lose(sender, message, nb))
        s.nothing()
        s.expect_count(sender, message, nb + 1, nb + 16)
        expect([mad.fate for mad in s.mads(message, sender)][:nb + 1] == ['drop'] * nb + ['pass'],
               'the wire did not lose what it should')


def register_delayed(message):
    @cm(name=f'late-{message.lower()}', seconds=240,
        text=f'The first {message} arrives {DELAY_S} s late, behind its repetition: it has no effect')
    def late(s):
        sender = getattr(s, SENDER[message])
        listener = s.listen()
        s.wire.rule(sender.number, f'cm:{message}', f'delay {DELAY_S * 1000000}', 'script 1')
        one = s.caller()
        one.connect()
        other = serve(s, listener, one)
        if message in CONNECTING:    # a REQ that arrives after the connection and its TIMEWAIT is a new request
            s.quiet(DELAY_S)
        s.exchange(one, other)
        s.ended(one, other)
        if message not in CONNECTING:
            s.quiet(DELAY_S)
        s.expect_count(sender, message, 2, 16)


for _message in SENDER:
    for _nb in 1, 2:
        register_lost(_message, _nb)
for _message in SENDER:
    register_delayed(_message)


ROUNDS, ROUNDS_LEAST, ROUNDS_S = 50, 5, 300    # ROUNDS_S: after so many seconds ROUNDS_LEAST are enough


def seconds_to_establish(s, one):
    """Time on the wire from the first REQ of a connection until the RTU that arrives."""
    own = [mad for mad in s.mads(sender=s.a) if mad.fields.get('local_comm_id') == one]
    return next(mad.seconds for mad in own if mad.name == 'RTU' and mad.fate == 'pass') - own[0].seconds


@cm(both=False, seconds=ROUNDS_S + 600)
def cost_of_loss(s):
    """What the loss of a REQ, REP or RTU costs: the median time until both sides are established, in turns with no loss"""
    listener = s.listen()
    began = time.monotonic()
    lost = []
    while len(lost) < ROUNDS * 4 and (len(lost) < ROUNDS_LEAST * 4 or time.monotonic() - began < ROUNDS_S):
        for message in ('none', *CONNECTING):
            s.wire.clear()
            if message != 'none':
                s.lose(getattr(s, SENDER[message]), message)
            one = s.caller()
            one.connect()
            s.ended(one, serve(s, listener, one))
            one.destroy()
            lost.append(message)
    ids = list(dict.fromkeys(mad.fields['local_comm_id'] for mad in s.mads('REQ', s.a)))
    expect(len(ids) == len(lost), f'{len(ids)} connections on the wire, not {len(lost)}')
    for message in ('none', *CONNECTING):
        times = sorted(1000 * seconds_to_establish(s, one) for one, what in zip(ids, lost) if what == message)
        s.figures.update({f'{message}_lost_median_ms': round(statistics.median(times), 1),
                          f'{message}_lost_least_ms': round(times[0], 1), f'{message}_lost_most_ms': round(times[-1], 1)})
    s.figures['rounds'] = len(lost) // 4


@cm(seconds=UNANSWERED + 60)
def lost_drep_id_kept(s):
    """DREP is lost, and the passive side does not destroy its id: the disconnection ends in bounded time"""
    one, other = s.connected(s.listen())
    s.lose(s.b, 'DREP')
    one.disconnect()
    other.event('DISCONNECTED')
    other.disconnect()
    one.event('DISCONNECTED', None, UNANSWERED)


@cm(short=True)
def repeated(s):
    """Every message arrives twice: each event occurs once"""
    listener = s.listen()
    s.wire.rule(0, 'cm', 'duplicate', '1')
    one = s.caller()
    one.connect(private='hello')
    other = serve(s, listener, one)
    s.nothing()
    s.exchange(one, other)
    s.disconnected(one, other)
    s.nothing()


@cm(seconds=240)
def lossy(s):
    """Five connections while a fifth of all messages is lost"""
    listener = s.listen()
    s.wire.rule(0, 'cm', 'drop', '0.2')
    for i in range(5):
        one, other = s.connected(listener)
        s.exchange(one, other, seed=i)
        s.ended(one, other)


@cm(seconds=240)
def slow_answer(s):
    """The user of the passive side answers after 15 s: the active side waits, and no request is reported twice"""
    listener = s.listen()
    one = s.caller()
    one.connect()
    other = s.requested(listener)
    s.nothing(seconds=15)
    other.create()
    other.accept()
    one.event('ESTABLISHED')
    other.event('ESTABLISHED')
    s.tie(one, other)
    s.exchange(one, other)
    s.disconnected(one, other)
    if 'MRA' in s.b.words:
        expect(s.mads('MRA', s.b), f'{s.b.name} sent no MRA')


# ------------------------------------------------------------------------------- peers that stop

@cm(seconds=UNANSWERED + 60)
def gone_before_rep(s):
    """The passive host falls silent before its REP: the active side gives up"""
    listener = s.listen()
    one = s.caller()
    s.silence(s.b)
    one.connect()
    s.requested(listener)
    one.event('UNREACHABLE', None, UNANSWERED)
    expect(len(s.mads('REQ', s.a)) > 1, 'the REQ was not repeated')


@cm(seconds=UNANSWERED + 60)
def gone_before_rtu(s):
    """The active host falls silent before its RTU: the passive side gives up"""
    _, _, other = accepted(s)
    s.silence(s.a)
    other.event('UNREACHABLE', None, UNANSWERED)
    expect(len(s.mads('REP', s.b)) > 1, 'the REP was not repeated')


@cm(seconds=UNANSWERED + 60)
def gone_while_connected(s):
    """The passive host falls silent: a disconnection by the active side ends in bounded time"""
    one, _ = s.connected(s.listen())
    s.silence(s.b)
    one.disconnect()
    one.event('DISCONNECTED', None, UNANSWERED)
    expect(len(s.mads('DREQ', s.a)) > 1, 'the DREQ was not repeated')


@cm(seconds=UNANSWERED + 60)
def killed_before_rep(s):
    """The program of the passive side is killed before it answers: the active side gets an error"""
    listener = s.listen()
    one = s.caller()
    one.connect()
    s.requested(listener)
    s.kill(s.b)
    said = s.event(s.a, UNANSWERED)
    expect(said['event'] in ('REJECTED', 'UNREACHABLE') and said['id'] == one.number, f'event {said}')
    two = s.caller()
    listener = s.listen()
    two.connect()
    s.exchange(two, serve(s, listener, two))


@cm(seconds=UNANSWERED + 60)
def killed_before_rtu(s):
    """The program of the active side is killed before its RTU: the passive side gets an error"""
    listener, _, other = accepted(s)
    s.kill(s.a)
    said = s.event(s.b, UNANSWERED)
    expect(said['event'] in ('REJECTED', 'UNREACHABLE', 'DISCONNECTED') and said['id'] == other.number,
           f'event {said}')
    two = s.caller()
    two.connect()
    s.exchange(two, serve(s, listener, two))


@cm(seconds=UNANSWERED + 60)
def killed_while_connected(s):
    """The program of the active side is killed, and a new one connects"""
    listener = s.listen()
    s.connected(listener)
    s.kill(s.a)
    two = s.caller()
    two.connect()
    said = s.event(s.b, UNANSWERED)
    if said['event'] == 'DISCONNECTED':    # a killed program whose kernel, or daemon, ends its connections
        two_passive = s.requested(listener)
    else:
        expect(said['event'] == 'CONNECT_REQUEST', f'event {said}')
        two_passive = s.new(s.b)
    two_passive.create()
    two_passive.accept()
    two.event('ESTABLISHED')
    two_passive.event('ESTABLISHED')
    s.tie(two, two_passive)
    s.exchange(two, two_passive)


# --------------------------------------------------------------------------- states in between

@cm(seconds=180)
def stale(s):
    """The active side has lost a connection, and its QP connects again: REJ 10, and the old connection ends"""
    listener, one, other = accepted(s)
    one.modify('RTR', 'RTS')
    one.establish()
    other.event('ESTABLISHED')
    s.lose(s.a, 'DREQ', 16)
    two = s.again(one)
    two.connect()
    other.event('DISCONNECTED')
    peer, said = s.first()
    if peer is s.a:    # the active side does not try again by itself, so the program does
        expect(said['event'] == 'REJECTED' and said['status'] == STALE and said['id'] == two.number, f'event {said}')
        two = s.again(two)
        two.connect()
        four = s.requested(listener)
    else:
        expect(said['event'] == 'CONNECT_REQUEST', f'event {said}')
        four = s.new(s.b)
    four.create()
    four.accept()
    two.event('CONNECT_RESPONSE')
    two.modify('RTR', 'RTS')
    two.establish()
    four.event('ESTABLISHED')
    s.tie(two, four)
    s.exchange(two, four)
    expect(STALE in [mad.fields['reason'] for mad in s.mads('REJ', s.b)], 'no REJ with reason 10')


@cm()
def data_before_rtu(s):
    """Data arrives before the RTU, which is lost: COMM_EST, and rdma_notify() establishes the connection"""
    listener = s.listen()
    one = s.caller(own=1)
    one.modify('INIT')
    one.connect()
    other = s.requested(listener)
    other.create(own=1)
    other.modify('INIT', 'RTR')    # a QP in RTS raises no COMM_EST [IBA 11.6.3.1]
    other.end.recv(100)
    other.accept()
    one.event('CONNECT_RESPONSE')
    one.modify('RTR', 'RTS')
    s.tie(one, other)
    one.end.fill(3, 100, 1000)
    one.end.send('SEND', 100, offset=1000)
    one.end.done()
    other.end.received()
    other.end.check(3, 100)
    said = s.b.call('async', ms=2000)['event']
    if 'no-comm-est' in s.b.quirks:
        expect(not said, f'{s.b.name}: asynchronous event {said}')
    else:
        expect(said == 'communication established', f'{s.b.name}: asynchronous event {said or "none"}')
    other.call('notify')
    other.event('ESTABLISHED')
    other.modify('RTS')
    one.establish()
    s.nothing()
    s.exchange(one, other)
    s.disconnected(one, other)


# --------------------------------------------------------------------------------- datagrams

def answer(s, listener):
    other = s.requested(listener)
    expect(text(other.request) == 'where', f'private data {other.request["private"]}')
    other.create(kind='UD')
    other.accept(private='here')
    return other


def sidr_pair(s, is_lossy=False):
    listener = s.listen(ps='UDP')
    one = s.caller(ps='UDP')
    one.connect(private='where')
    other = answer(s, listener)
    if is_lossy and 'sidr-again' in s.b.quirks:
        other = answer(s, listener)
    said = one.event('ESTABLISHED')
    expect(said['qpn'] == other.end.qpn and said['qkey'] == GROUP_QKEY and text(said) == 'here', f'event {said}')
    expect(ipaddress.ip_address(said['gid']) == gid(s.address(s.b)), f'the GID is {said["gid"]}')
    s.tie(one, other)
    return one, other


def gid(address):
    one = ipaddress.ip_address(address)
    return one if one.version == 6 else ipaddress.ip_address(f'::ffff:{address}')


def datagram(s, one, other, **words):
    other.end.recv(1040)
    one.end.fill(5, 1000, 2000)
    one.end.send('SEND', 1000, offset=2000, qkey=GROUP_QKEY, **words)
    one.end.done()
    other.end.received()
    other.end.check(5, 1000, 40)


@cm(needs=('UD', 'CM'), short=True)
def datagram_service(s):
    """A datagram service is found by SIDR, and datagrams go both ways"""
    one, other = sidr_pair(s)
    datagram(s, one, other)
    datagram(s, other, one)
    s.nothing()
    expect(s.names() == ['SIDR_REQ', 'SIDR_REP'], f'messages {s.names()}')


@cm(needs=('UD', 'CM'))
def datagram_no_listener(s):
    """No datagram service has the port: UNREACHABLE, at once"""
    one = s.caller(ps='UDP', port=PORT + 1)
    one.connect()
    one.event('UNREACHABLE', None)
    expect(s.mads('SIDR_REP', s.b)[0].fields['status'] == 1, s.mads('SIDR_REP')[0])


@cm(needs=('UD', 'CM'))
def datagram_reject(s):
    """The user of a datagram service refuses: UNREACHABLE, status 2 on the wire"""
    listener = s.listen(ps='UDP')
    one = s.caller(ps='UDP')
    one.connect()
    s.requested(listener).reject()
    one.event('UNREACHABLE', None)
    expect(s.mads('SIDR_REP', s.b)[0].fields['status'] == 2, s.mads('SIDR_REP')[0])


def register_sidr_lost(message, side):
    @cm(name=f'lost-{message.lower().replace("_", "-")}', needs=('UD', 'CM'), text=f'{message} is lost once, and repeated')
    def lost(s):
        s.lose(getattr(s, side), message)
        one, other = sidr_pair(s, is_lossy=message == 'SIDR_REP')
        datagram(s, one, other)
        s.nothing()
        s.expect_count(getattr(s, side), message, 2, 16)


register_sidr_lost('SIDR_REQ', 'a')
register_sidr_lost('SIDR_REP', 'b')


@cm(needs=('UD', 'CM', 'MULTICAST'), both=False)
def multicast_join(s):
    """Both peers join a group by rdma_join_multicast(): an IGMP report, and datagrams of each reach the other"""
    ends = []
    for peer in s.a, s.b:
        one = s.id(peer, 'UDP')
        one.call('resolve', address=GROUP, port=PORT)
        one.event('ADDR_RESOLVED')
        one.create(kind='UD')
        one.call('join', group=GROUP)
        said = one.event('MULTICAST_JOIN')
        expect(said['qpn'] == 0xffffff and said['qkey'] == GROUP_QKEY, f'event {said}')
        expect(ipaddress.ip_address(said['gid']) == gid(GROUP), f'the GID is {said["gid"]}')
        ends.append(one)
    for one, other in ends, ends[::-1]:
        s.tie(one, other)
        datagram(s, one, other, dgid=GROUP, dqpn=0xffffff)
    for one in ends:
        one.call('leave', group=GROUP)
    s.nothing()
