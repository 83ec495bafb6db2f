# SPDX-License-Identifier: BSD-3-Clause
"""Stock programs of rdmacm-utils, unmodified, each a server at the responder and a client at the requester."""

import os
import re
import statistics

from ends import Skip, expect
from scenarios import scenario
from uroce_ports import TOP

IPV6_OPTION = '--ipv6-addr'
SECONDS = 120
FI_PORT = 47592    # TCP port of fi_pingpong's server
RATE_ROUNDS, RATE_NB = 5, 1000    # rounds of cmtime whose rate is measured, and connections of each
# The server of cmtime (rdma-core 44) waits only once for its condition variable. If a thread has taken the request before
# the signal, the server takes a request from an empty list, and ends by SIGSEGV. On the CPU of a guest this happens often,
# but not if its threads do not interrupt each other.
CRASHES = 4
IN_TURN = ['chrt', '-f', '1']
# rping frees its channel while another thread of it is about to wait there. That thread may end the process with 255.
RPING_STATUSES = (0, 255)
SETUP = 'create id', 'resolve route', 'create qp', 'connect'    # steps of cmtime that a connection needs


def stock(**words):
    return scenario(**{'needs': ('RC', 'CM', 'stock'), 'program': None, 'clean': False, 'seconds': SECONDS + 60, **words})


@stock(short=True)
def rping(s):
    """rping: READs and WRITEs whose data it validates, then a disconnection"""
    address = s.address(s.b)
    said = s.pair(['rping', '-s', '-a', address, '-C', '20', '-V', '-v'],
                  ['rping', '-c', '-a', address, '-C', '20', '-V', '-v'], SECONDS, well=RPING_STATUSES)
    expect(all('rdma-ping-19' in text for text in said), f'not all pings: {said[0][-200:]} | {said[1][-200:]}')
    s.expect_count(s.a, 'REQ', 1, 20)
    expect(s.mads('DREQ'), 'no DREQ ended the connection')


@stock()
def rping_own_qp(s):
    """rping -q: programs that make and move their QPs themselves"""
    address = s.address(s.b)
    said = s.pair(['rping', '-s', '-a', address, '-C', '20', '-V', '-v', '-q'],
                  ['rping', '-c', '-a', address, '-C', '20', '-V', '-v', '-q'], SECONDS, well=RPING_STATUSES)
    expect(all('rdma-ping-19' in text for text in said), f'not all pings: {said[0][-200:]} | {said[1][-200:]}')


@stock()
def ucmatose(s):
    """ucmatose: several connections with messages both ways, and disconnections"""
    words = ['ucmatose', '-c', '8', '-C', '10', '-S', '2000']
    s.pair(words + ['-b', s.address(s.b)] + family(s), words + ['-s', s.address(s.b)] + family(s), SECONDS,
           has_several_connections=True)
    expect(len({mad.fields['local_comm_id'] for mad in s.mads('REQ')}) >= 8, 'there were less than 8 connections')


@stock()
def ucmatose_migrate(s):
    """ucmatose -m: ids move to another event channel"""
    words = ['ucmatose', '-c', '4', '-C', '10', '-m']
    s.pair(words + ['-b', s.address(s.b)] + family(s), words + ['-s', s.address(s.b)] + family(s), SECONDS,
           has_several_connections=True)


@stock(short=True)
def udaddy(s):
    """udaddy: datagram services that are found by SIDR, and datagrams both ways"""
    words = ['udaddy', '-c', '4', '-C', '10']
    s.pair(words + ['-b', s.address(s.b)] + family(s), words + ['-s', s.address(s.b)] + family(s), SECONDS,
           has_several_connections=True)
    expect(s.mads('SIDR_REP', s.b), 'no SIDR_REP found a service')


def cmtime_server(s):
    return (IN_TURN if 'one-cpu' in s.b.quirks else []) + ['cmtime', '-b', s.address(s.b)]


@stock(seconds=(1 + CRASHES) * SECONDS + 60)
def cmtime_256(s):
    """cmtime: 256 connections at once, from resolution to destruction"""
    s.pair([*cmtime_server(s), '-c', '256'], ['cmtime', '-s', s.address(s.b), '-c', '256'], SECONDS,
           is_endless=True, crashes=CRASHES)
    expect(len({mad.fields['local_comm_id'] for mad in s.mads('REP')}) >= 256, 'there were less than 256 connections')


def steps_of_cmtime(said):
    """The seconds that each step of cmtime took for all connections."""
    return {name: float(ms) / 1000 for name, ms in re.findall(r'^([a-z]+(?: [a-z]+)?) *: +([0-9.]+)', said, re.MULTILINE)}


@stock(both=False, seconds=(RATE_ROUNDS + CRASHES) * SECONDS + 60)
def cmtime_1000(s):
    """cmtime: the median number of connections a second, of 1000 at once"""
    client = ['cmtime', '-s', s.address(s.b), '-c', str(RATE_NB)]
    said = [s.pair(cmtime_server(s), client, SECONDS, is_endless=True, crashes=CRASHES)[1]
            for _ in range(RATE_ROUNDS)]
    steps = [steps_of_cmtime(text) for text in said]
    rates = {'connect': [RATE_NB / step['connect'] for step in steps],
             'setup': [RATE_NB / sum(step[name] for name in SETUP) for step in steps]}
    for name, values in rates.items():
        s.figures.update({f'{name}_median_per_s': round(statistics.median(values)),
                          f'{name}_least_per_s': round(min(values)), f'{name}_most_per_s': round(max(values))})


@stock()
def rdma_client_server(s):
    """rdma_client and rdma_server: synchronous ids"""
    s.pair(['rdma_server', '-s', s.address(s.b)], ['rdma_client', '-s', s.address(s.b)], SECONDS)


@stock(short=True)
def rstream(s):
    """rstream: rsockets, which exchange their buffers by WRITE with immediate data"""
    words = ['rstream', '-S', '4096', '-C', '50']
    serving, calling = s.pair(words + ['-b', s.address(s.b)] + family(s), words + ['-s', s.address(s.b)] + family(s),
                              SECONDS)
    expect('4k' in calling, f'no result: {calling.strip()[-200:]}')


@stock()
def riostream(s):
    """riostream: rsockets that write into memory that the other side has mapped (riomap)"""
    words = ['riostream', '-S', '4096', '-C', '50']
    calling = s.pair(words + ['-b', s.address(s.b)] + family(s), words + ['-s', s.address(s.b)] + family(s), SECONDS)[1]
    expect('4k' in calling, f'no result: {calling.strip()[-200:]}')


@stock(both=False)
def rcopy(s):
    """rcopy: a file of some MiB that is copied by WRITEs, and then compared"""
    source, copy = os.path.join(TOP, 'build/lib/liburoce.so.0'), f'/tmp/uroce-rcopy-{os.getpid()}'
    s.pair(['rcopy'], ['rcopy', source, f'{s.address(s.b)}:{copy}'], SECONDS, is_endless=True)
    compared = s.start(s.b, ['cmp', source, copy])
    removed = s.finish(compared, SECONDS), s.finish(s.start(s.b, ['rm', copy]), SECONDS)
    expect(removed == (0, 0), f'the copy differs: {s.said(compared).strip()[-200:]}')


@stock(both=False)
def mckey(s):
    """mckey: datagrams to a group that the receiver has joined"""
    receiver = ['stdbuf', '-oL', 'mckey', '-m', '239.1.2.3', '-b', s.address(s.b), '-C', '10']
    sender = ['mckey', '-m', '239.1.2.3', '-b', s.address(s.a), '-s', '-C', '5000']
    serving = s.start(s.b, receiver)
    s.await_line(serving, 'receiving data transfers', SECONDS)
    statuses = s.finish(s.start(s.a, sender), SECONDS), s.finish(serving, SECONDS)
    expect(statuses == (0, 0), f'sender and receiver ended with {statuses}: {s.said(serving).strip()[-200:]}')


def register_fi_pingpong(name, *words):
    @stock(name=f'fi-pingpong-{name}', both=False, text=f'fi_pingpong {" ".join(words)}: libfabric, data verified')
    def fi_pingpong(s):
        command = ['fi_pingpong', *words, '-I', '10', '-S', '65536', '-c']
        serving = s.start(s.b, command)
        s.await_tcp(s.b, FI_PORT, SECONDS)
        calling = s.start(s.a, command + [s.b.control_address])
        statuses = s.finish(calling, SECONDS), s.finish(serving, SECONDS)
        for peer, process in (s.a, calling), (s.b, serving):
            if 'rxm-endpoint' in peer.quirks and re.search(r'fi_enable\(\).*Invalid argument', s.said(process)):
                raise Skip(f'{peer.name}: {peer.quirks["rxm-endpoint"]}')
        expect(statuses == (0, 0) and re.search(r'^64k +10', s.said(calling), re.MULTILINE),
               f'client and server ended with {statuses}: {s.said(calling).strip()[-200:]}')


register_fi_pingpong('msg', '-p', 'verbs', '-e', 'msg')
register_fi_pingpong('rxm', '-p', 'verbs;ofi_rxm', '-e', 'rdm')


@stock(both=False)
def ucx_io_demo(s):
    """io_demo: UCX connects by address, and verifies the data of READs and WRITEs"""
    def words(peer, *rest):
        device = peer.device or 'uroce0'
        return ['env', f'UCX_NET_DEVICES={device}:1', 'UCX_SOCKADDR_TLS_PRIORITY=rdmacm', 'UCX_TLS=rc_v,ud_v,self',
                'io_demo', '-q', '-d', '1:65536', *rest]

    serving = s.start(s.b, words(s.b))
    s.await_line(serving, 'started listener', SECONDS)
    calling = s.start(s.a, words(s.a, '-o', 'read,write', '-i', '50', s.address(s.b)))
    status = s.finish(calling, SECONDS)
    expect(status == 0 and "exit with status 'OK'" in s.said(calling), f'client: {s.said(calling).strip()[-200:]}')
    ended = s.finish(serving, 0)
    if 'ucx-last-wqe' in s.b.quirks and re.search('Assertion `wait_ctx->cb_id', s.said(serving)):
        return
    expect(ended is None, f'the server ended with {ended}: {s.said(serving).strip()[-200:]}')


def knows(s, end, program, option):
    asked = s.start(end, [program, '--help'])
    s.finish(asked, SECONDS)
    return option in s.said(asked)


def register_perftest(program, *words):
    @stock(name=f'{program.replace("_", "-")}-rdma-cm', text=f'{program} -R: QPs that librdmacm connects')
    def perftest(s):
        if s.is_ipv6 and not all(knows(s, end, program, IPV6_OPTION) for end in (s.a, s.b)):
            raise Skip(f'{program} has no {IPV6_OPTION}: this version connects by rdma_cm over IPv4 only')
        command = [program, '-R', '-n', '100', '-s', '4096', *words] + ([IPV6_OPTION] if s.is_ipv6 else [])
        # the server listens anew for its second connection, and the client does not wait for that
        calling = s.pair(command, command + [s.address(s.b)], SECONDS, has_several_connections=True)[1]
        expect(re.search(r'^ *4096 +100', calling, re.MULTILINE), f'no result: {calling.strip()[-200:]}')


register_perftest('ib_send_bw')
register_perftest('ib_write_bw')
register_perftest('ib_read_lat')


def family(s):
    return ['-f', 'ipv6'] if s.is_ipv6 else ['-f', 'ip']
