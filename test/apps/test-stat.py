#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests what uroce-stat prints about processes. Most processes are simulated: they respond as EAL's telemetry does,
or not at all. The last tests use a real uroce-perf and a real uroced.

    test-stat.py USERTOOLS UROCE-PERF UROCED
"""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

STAT, PERF, UROCED = os.path.join(sys.argv[1], 'uroce-stat'), *sys.argv[2:4]
TIMEOUT_S = 300
failed = 0


def expect(what, is_right, said=''):
    global failed
    print(f"{'ok' if is_right else 'FAIL'}    {what}" + ('' if is_right else f': {said}'))
    failed += not is_right


class Made:
    """A simulated process. `answers` has a response, or a function, for each command; other responses are null."""

    def __init__(self, folder, prefix, answers, instance='', is_mute=False, pid=None):
        place = os.path.join(folder, 'dpdk', prefix)
        os.makedirs(place, exist_ok=True)
        self.path = os.path.join(place, f'dpdk_telemetry.v2{instance}')
        self.answers, self.is_mute, self.pid = answers, is_mute, pid or os.getpid()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(self.path)
        self.socket.listen()
        if not is_mute:
            threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                connection = self.socket.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            connection.send(json.dumps({'version': 'made up', 'pid': self.pid, 'max_output_len': 16384}).encode())
            while command := connection.recv(1024).decode():
                answer = self.answers.get(command)
                told = answer() if callable(answer) else answer
                connection.send(json.dumps({command.split(',')[0]: told}).encode())

    def kill(self):
        """Stop listening. The socket's file stays."""
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        os.unlink(self.path)


def device(name, **counters):
    return {'name': name, 'port': 'net_null0', 'link': 'up', 'mtu': 1024, 'workers': 2, 'qps': 3,
            'counters': {'sent_pkts': 0, 'out_of_sequence': 0, **counters}, 'verdicts': {'request': 7, 'bad_icrc': 0}}


def qp(number, state='RTS', **more):
    return {'qpn': number, 'type': 'RC', 'state': state, **more, 'counters': {'sent_pkts': number, 'rcvd_bytes': 0}}


def process(*devices, **more):
    """The responses of a process that has these devices."""
    return {'/uroce/devices': [told['name'] for told in devices],
            '/uroce/counters': {'sent_pkts': 'packets "sent"', 'out_of_sequence': 'too early'},
            **{f'/uroce/device,{told["name"]}': told for told in devices}, **more}


def stat(folder, *arguments):
    run = subprocess.run([STAT, *arguments], env={**os.environ, 'RUNTIME_DIRECTORY': folder}, capture_output=True,
                         text=True, timeout=TIMEOUT_S, check=False)
    return run.returncode, run.stdout, run.stderr


def is_complaint(run, status, *words):
    """Whether stderr has one line, which contains these words, and stdout is empty."""
    return run[0] == status and not run[1] and run[2].count('\n') == 1 and all(word in run[2] for word in words)


# ------------------------------------------------------------------------------------ which processes

def test_nobody(folder):
    run = stat(folder)
    expect('nobody is there', is_complaint(run, 1, f'{folder}/dpdk', '--no-telemetry'), run)
    run = stat(folder, '--list')
    expect('nobody is in the list', is_complaint(run, 1, 'no process'), run)
    Made(folder, 'rte', process(device('uroce0'))).kill()
    run = stat(folder)
    expect('nor who was killed', is_complaint(run, 1, 'no process'), run)


def test_others(folder):
    with Made(folder, 'rte', {}), Made(folder, 'other', process(device('uroce0')), pid=1):
        run = stat(folder, '--list')
        expect('a process of DPDK that has no device is in the list',
               run[0] == 0 and 'rte: python' in run[1] and 'no device of uroce' in run[1], run)
        expect('so is one that has', re.search(r'^other: \S+, PID 1: uroce0$', run[1], re.M), run)
        run = stat(folder, 'rte/uroce0')
        expect('who asks for a device that is not there hears so', is_complaint(run, 1, 'rte/uroce0', '--list'), run)
    with Made(folder, 'rte', {}):
        run = stat(folder)
        expect('without any device there is nothing to show', is_complaint(run, 1, 'none of them has a device'), run)


def test_mute(folder):
    with Made(folder, 'a', {}, is_mute=True), Made(folder, 'b', process(device('uroce0', sent_pkts=5))):
        run = stat(folder)
    expect('who does not answer is told of, and others are shown',
           run[0] == 0 and 'no answer' in run[2] and 'b/uroce0' in run[1], run)


def test_gone(folder):
    answers = {**process(device('uroce0'), device('uroce1')), '/uroce/device,uroce0': None}
    with Made(folder, 'rte', answers):
        run = stat(folder)
        expect('a device that went meanwhile is left out', run[0] == 0 and 'uroce0' not in run[1], run)


def test_choice(folder):
    with Made(folder, 'rte', process(device('uroce0'), device('uroce1')), pid=1), \
            Made(folder, 'rte', process(device('uroce0')), instance=':1'), \
            Made(folder, 'own', process(device('uroce0'))):
        for choice, wanted in (([], 'own/uroce0 rte/uroce0 rte/uroce1 rte:1/uroce0'),
                               (['uroce0'], 'own/uroce0 rte/uroce0 rte:1/uroce0'),
                               (['rte/uroce0'], 'rte/uroce0 rte:1/uroce0'),
                               (['rte:1/uroce0'], 'rte:1/uroce0'),
                               (['1/uroce1'], 'rte/uroce1'),
                               (['own/uroce0', 'uroce1'], 'own/uroce0 rte/uroce1')):
            run = stat(folder, *choice)
            shown = ' '.join(sorted(re.findall(r'^(\S+/\S+):', run[1], re.M)))
            expect(f'chosen by {choice}', shown == wanted, (shown, run[2]))


# ------------------------------------------------------------------------------------- what is printed

def test_table(folder):
    with Made(folder, 'rte', process(device('uroce0', sent_pkts=1234567))):
        run = stat(folder)
        expect('the table has a title', re.search(r'^rte/uroce0: \S+, PID \d+; net_null0, link up, path MTU 1024, '
                                                  r'2 workers, QPs: 3$', run[1], re.M), run)
        expect('what was counted', re.search(r'^  sent_pkts +1,234,567$', run[1], re.M), run)
        expect('verdicts', re.search(r'^  verdict request +7$', run[1], re.M), run)
        expect('and not what was not', 'out_of_sequence' not in run[1] and 'bad_icrc' not in run[1], run)
    with Made(folder, 'rte', process({**device('uroce0'), 'interface': 'eth7'})):
        run = stat(folder, '--all')
        expect('a device of an interface names it', '; net_null0 on eth7, link up' in run[1], run)
        expect('what was not counted is shown if asked for', re.search(r'^  out_of_sequence +0$', run[1], re.M), run)


def test_json(folder):
    with Made(folder, 'rte', process(device('uroce0', sent_pkts=5)), pid=1):
        run = stat(folder, '--json')
        told = json.loads(run[1])
        expect('JSON has no connection management without ids of it', told['cm'] == [], run)
        expect('JSON has what was told', told['devices'] == [{'process': 'rte', 'pid': 1, **device('uroce0', sent_pkts=5),
                                                              'program': told['devices'][0]['program'], 'qp': []}], run)
        expect('and when', abs(told['time'] - time.time()) < 60, run)


SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\.)*",?)+)\} (\d+)')


def test_prometheus(folder):
    numbers = {'/uroce/qps,uroce0': [18], '/uroce/qps,uroce0,18': [], '/uroce/qp,uroce0,18': qp(18)}
    with Made(folder, 'a"b', process(device('uroce0', sent_pkts=5), **numbers)), \
            Made(folder, 'c', process(device('uroce0', sent_pkts=6))):
        run = stat(folder, '--prometheus', '--qp', 'all')
    heads, samples, is_well_formed = [], {}, run[0] == 0
    for line in run[1].splitlines():
        if line.startswith('# '):
            heads.append(tuple(line.split(' ', 3)[1:3]))
            continue
        match = SAMPLE.fullmatch(line)
        is_well_formed &= bool(match) and heads[-2:] == [('HELP', match[1]), ('TYPE', match[1])]
        samples[match[1], match[2]] = int(match[3])
    expect('each sample is well-formed, behind its head', is_well_formed, run)
    expect('each head is there once', len(set(heads)) == len(heads), heads)
    sent = {labels: value for (name, labels), value in samples.items() if name == 'uroce_sent_pkts_total'}
    expect('both processes\' samples are there', sorted(sent.values()) == [5, 6], sent)
    expect('labels are escaped', any('process="a\\"b"' in labels for labels in sent), sent)
    expect('help is not', '# HELP uroce_sent_pkts_total packets "sent"' in run[1], run)
    expect('a QP\'s samples have its number',
           any(name == 'uroce_qp_sent_pkts_total' and 'qpn="0x000012"' in labels and value == 18
               for (name, labels), value in samples.items()), samples)
    expect('so have verdicts theirs', any(name == 'uroce_verdicts_total' and 'verdict="request"' in labels and value == 7
                                          for (name, labels), value in samples.items()), samples)
    expect('the link is a number', all(value == 1 for (name, _), value in samples.items() if name == 'uroce_link_up'))


def test_qps(folder):
    numbers = {'/uroce/qps,uroce0': [18, 3], '/uroce/qps,uroce0,3': [4, 5], '/uroce/qps,uroce0,5': [],
               **{f'/uroce/qp,uroce0,{number}': qp(number) for number in (18, 3, 4)},
               '/uroce/qp,uroce0,3': qp(3, peer='192.0.2.1', dest_qpn=0xabcdef, mtu=4096)}
    with Made(folder, 'rte', process(device('uroce0'), **numbers)):
        run = stat(folder, '--qp', 'all')
        shown = re.findall(r'^ QP 0x([0-9a-f]{6}): (.*)$', run[1], re.M)
        expect('all QPs are shown, in the parts in which they are told, but for one that went',
               [number for number, _ in shown] == ['000012', '000003', '000004'], run)
        expect('with what they are connected to',
               shown[1:2] == [('000003', 'RC, RTS, to 0xabcdef at 192.0.2.1, path MTU 4096')], shown)
        run = stat(folder, '--qp', '0x12', '--qp', '4', '--qp', '77')
        expect('or those that are wanted', re.findall(r'^ QP 0x(\w+)', run[1], re.M) == ['000012', '000004'], run)
        expect('a line names one that is not there', run[0] == 0 and 'no QP 0x00004d in uroce0: ' in run[2], run)
        run = stat(folder, '--qp', '77', '--qp', '78')
        expect('if none is there, nothing is shown', is_complaint(run, 1, 'no QP 0x00004d, 0x00004e in uroce0: ', '--qp all'), run)
        run = stat(folder, '--list', '--qp', '77')
        expect('the list has no QPs', run[0] == 0 and not run[2], run)


# -------------------------------------------------------------------------------- connection management

def row(number, state, **more):
    return {'id': number, 'state': state, 'space': 'TCP', 'side': 'active', 'retries': 0, 'destroyed': 0, **more}


LISTENER = row(3, 'LISTEN', side='none', local='192.0.2.1:7471', waiting=2, backlog=128)
CONNECTION = row(9, 'ESTABLISHED', local='192.0.2.1:40000', remote='[2001:db8::1]:7471', qpn=0x12, dest_qpn=0xabcdef,
                 comm_id=0x1234, remote_comm_id=0xdeadbeef)
MESSAGES = {'cm_tx_msgs': {'req': 7, 'rtu': 0}, 'cm_rx_duplicates': {'rep': 1}}


def ids(command, *parts):
    """The responses of a list of ids in parts."""
    answers, last = {}, ''
    for part in [*parts, []]:
        answers[f'{command}{last}'] = {str(told['id']): told for told in part}
        last = f',{part[-1]["id"]}' if part else ''
    return answers


def test_cm_counters(folder):
    with Made(folder, 'rte', {**process(device('uroce0')), '/uroce/cm,uroce0': MESSAGES}):
        run = stat(folder)
        expect('connection management has a table', re.search(r'^rte/uroce0: \S+, PID \d+; connection management$', run[1],
                                                              re.M), run)
        expect('its counters have the name of their group', re.search(r'^  cm_tx_msgs req +7$', run[1], re.M), run)
        expect('and not what was not counted', 'cm_tx_msgs rtu' not in run[1], run)
        told = json.loads(stat(folder, '--json')[1])['cm']
        expect('JSON has them in groups', len(told) == 1 and told[0]['counters'] == MESSAGES and 'ids' not in told[0], told)
        run = stat(folder, '--prometheus')
        expect('Prometheus has a label for the message',
               re.search(r'^uroce_cm_tx_msgs_total\{process="rte",.*device="uroce0",message="req"\} 7$', run[1], re.M), run)
        run = stat(folder, '--watch', '0.1', '--count', '2')
        expect('they have rates', re.search(r'^  cm_tx_msgs req +7 +0\.0/s$', run[1], re.M), run)


def test_cm_ids(folder):
    many = [row(number, 'TIMEWAIT', left_ms=1500, retries=2) for number in range(20, 60)]
    answers = {**process(device('uroce0')), '/uroce/cm,uroce0': MESSAGES,
               **ids('/uroce/cm_ids,uroce0', [LISTENER, CONNECTION], many)}
    with Made(folder, 'rte', answers, pid=77):
        run = stat(folder, '--cm')
        lines = run[1].splitlines()
        expect('the ids have a title', lines[0].startswith('rte/uroce0: ') and lines[0].endswith(', ids: 42'), run)
        expect('columns', lines[1].split() == ['ID', 'STATE', 'SIDE', 'PS', 'LOCAL', 'REMOTE', 'QPN', 'DEST_QPN', 'COMM_ID',
                                               'REMOTE_COMM_ID', 'RETRIES', 'LEFT', 'PID', 'UID'], run)
        expect('a listener', lines[2].split() == ['3', 'LISTEN', '-', 'TCP', '192.0.2.1:7471', '-', '-', '-', '-', '-',
                                                  '2/128', '-', '77', '-'], run)
        expect('a connection', lines[3].split() == ['9', 'ESTABLISHED', 'active', 'TCP', '192.0.2.1:40000',
                                                    '[2001:db8::1]:7471', '0x000012', '0xabcdef', '0x00001234',
                                                    '0xdeadbeef', '0', '-', '77', '-'], run)
        expect('all parts of the list', [line.split()[0] for line in lines[2:44]] ==
               ['3', '9', *map(str, range(20, 60))], run)
        expect('the time that is left', lines[4].split()[-4:] == ['2', '1.5s', '77', '-'], run)
        told = json.loads(stat(folder, '--cm', '--json')[1])['cm']
        expect('JSON has them', told[0]['ids'][:2] == [LISTENER, CONNECTION] and len(told[0]['ids']) == 42, told)


def test_cm_of_uroced(folder):
    answers = {'/uroced/cm': MESSAGES, **ids('/uroced/cm_ids', [{**LISTENER, 'pid': 4711, 'uid': 1000},
                                                                {**CONNECTION, 'destroyed': 1}])}
    with Made(folder, 'rte', answers):
        run = stat(folder, '--cm')
        expect('uroced has one', run[1].startswith('rte/uroced: '), run)
        expect('with the clients', re.search(r'^  3 +LISTEN .* 4711 +1000$', run[1], re.M), run)
        expect('and ids without', re.search(r'^  9 +ESTABLISHED .* destroyed +-$', run[1], re.M), run)
        expect('its counters are shown', re.search(r'^  cm_tx_msgs req +7$', stat(folder)[1], re.M))
        expect('it is in the list', re.search(r'PID \d+: uroced$', stat(folder, '--list')[1], re.M))
        expect('it may be chosen', stat(folder, '--cm', 'rte/uroced')[0] == 0)
        expect('or not', stat(folder, '--cm', 'uroce0')[0] == 1)


def test_cm_of_none(folder):
    with Made(folder, 'rte', process(device('uroce0'))):
        run = stat(folder, '--cm')
        expect('without connection management there is a reason', is_complaint(run, 1, 'connection management'), run)
    endless = {'/uroced/cm': MESSAGES, '/uroced/cm_ids': {'9': CONNECTION}, '/uroced/cm_ids,9': {'9': CONNECTION}}
    with Made(folder, 'rte', endless):
        run = stat(folder, '--cm')
        expect('a list that goes round ends', run[0] == 0 and run[1].count('ESTABLISHED') == 1, run)


# ------------------------------------------------------------------------------------------- uroced

def client(uid, pid, frames, **more):
    return {'pid': pid, 'uid': uid, 'lanes': 2, 'area_bytes': 9 << 20, 'leases': 3, 'wakes': 0, 'busy_ns': 5,
            'frames_up': frames, 'bytes_up': 100 * frames, 'frames_down': 0, 'bytes_down': 0, 'drop_slot': 1,
            'drop_ring_full': 2, **more}


def sums(clients, pairs, leases):
    return {'clients': clients, 'pairs': pairs, 'areas': clients, 'area_bytes': clients * (9 << 20), 'leases': leases}


HOST = {'port': 'net_null0', 'is_up': 1, 'busy_ns': 7, 'clients': 4, 'limit_clients': 512, 'limit_pairs': 4096,
        'limit_bytes': 1 << 34, 'limit_leases': 32768, 'refused_clients': 6, 'frames_up': 1234, 'bytes_up': 0,
        'frames_down': 0, 'bytes_down': 0, 'drop_kind': 8}
# Root has a client, the user 4000000 has two, and a third that is not attached; the connection manager is a client, too.
CLIENTS = {3: client(4000000, 901, 10), 5: client(0, 900, 20), 9: client(4000000, 902, 30),
           700: client(0xffffffff, 899, 1, leases=1)}
UROCED_ANSWERS = {'/uroced/host': HOST, '/uroced/clients': [3, 5], '/uroced/clients,5': [9, 11, 700],
                  '/uroced/clients,700': [], '/uroced/users': [4000000, 0, -1],
                  **{f'/uroced/client,{slot}': told for slot, told in CLIENTS.items()},
                  '/uroced/user,4000000': sums(3, 4, 6), '/uroced/user,0': sums(1, 2, 3),
                  '/uroced/user,4294967295': sums(1, 2, 1), '/uroced/cm': MESSAGES,
                  **ids('/uroced/cm_ids', [{**row(number, 'LISTEN'), 'pid': 901, 'uid': 4000000} for number in range(1, 7)])}


def test_uroced(folder):
    with Made(folder, 'rte', UROCED_ANSWERS, pid=1), \
            Made(folder, 'rte', process({**device('uroce0'), 'port': 'uroced', 'mrs': 11}), instance=':1', pid=901):
        run = stat(folder)
        lines = run[1].splitlines()
        expect('uroced has a title', re.match(r'rte/uroced: \S+, PID 1; net_null0, link up, clients: 4$', lines[0]), run)
        expect('counters of its port', re.search(r'^  frames_up +1,234$', run[1], re.M) and
               re.search(r'^  refused_clients +6$', run[1], re.M), run)
        expect('its limits are no counters', 'limit_' not in run[1], run)
        table = [line.split() for line in lines if re.match(r'  (UID|-|\d+) ', line)]
        expect('its users have a table', table[0] == ['UID', 'USER', 'CLIENTS', 'PAIRS', 'LEASES', 'MIB', 'FRAMES_UP',
                                                      'BYTES_UP', 'FRAMES_DOWN', 'BYTES_DOWN', 'DROPS'], table)
        expect('by UID, with the limits', table[1] == ['0', 'root', '1/512', '2/4096', '3/32768', '9/16384', '20', '2,000',
                                                       '0', '0', '3'], table)
        expect('with the sums of their clients', table[2] == ['4000000', '4000000', '3/512', '4/4096', '6/32768', '27/16384',
                                                              '40', '4,000', '0', '0', '6'], table)
        expect('the connection manager has no limit', table[3][:6] == ['-', 'connection-manager', '1', '2', '1', '9'], table)
        expect('it is in the list', re.search(r'^rte: \S+, PID 1: uroced$', stat(folder, '--list')[1], re.M))
        run = stat(folder, '--watch', '0.1', '--count', '2')
        expect('with rates', re.search(r'^  frames_up +1,234 +0\.0/s$', run[1], re.M), run)
        expect('a device alone does not show it', 'rte/uroced' not in stat(folder, 'uroce0')[1])
        expect('it may be chosen', stat(folder, 'rte/uroced')[1].startswith('rte/uroced: '))


def test_clients(folder):
    with Made(folder, 'rte', UROCED_ANSWERS, pid=1), \
            Made(folder, 'rte', process({**device('uroce0'), 'port': 'uroced', 'mrs': 11}, device('uroce1')),
                 instance=':1', pid=901):
        run = stat(folder, '--clients')
        table = [line.split() for line in run[1].splitlines()[1:] if line]
        expect('clients have a table', table[0] == ['UID', 'USER', 'PID', 'PROGRAM', 'QPS', 'MRS', 'PAIRS', 'LEASES', 'MIB',
                                                    'FRAMES_UP', 'BYTES_UP', 'FRAMES_DOWN', 'BYTES_DOWN', 'DROPS',
                                                    'CM_IDS'], run)
        expect('by user, but for one that left', [line[2] for line in table[1:]] == ['900', '901', '902', '899'], table)
        expect('a client whose process reports has QPs, MRs and ids',
               table[2][:3] + table[2][4:] == ['4000000', '4000000', '901', '3', '11', '2', '3', '9', '10', '1,000', '0', '0',
                                               '3', '1,2,3,4,+2'], table)
        expect('another has neither', table[3][4:6] == ['-', '-'] and table[3][-1] == '-', table)
        told = json.loads(stat(folder, '--clients', '--json')[1])['uroced'][0]
        user = told['users'][1]
        expect('JSON has the uroced', (told['port'], told['link'], told['clients'], told['limits']['clients'],
                                       told['counters']['frames_up']) == ('net_null0', 'up', 4, 512, 1234), told)
        expect('its users', (user['uid'], user['clients'], user['frames_up'], user['drops']) == (4000000, 3, 40, 6), user)
        expect('their clients', [(each['pid'], each['qps'], each['mrs'], each['cm_ids']) for each in user['client']] ==
               [(901, 3, 11, [1, 2, 3, 4, 5, 6]), (902, None, None, [])], user)
        told = json.loads(stat(folder, '--json')[1])['uroced'][0]
        expect('clients only if they are wanted', all('client' not in user for user in told['users']), told)
        run = stat(folder, '--prometheus', '--clients')
        expect('Prometheus has users', re.search(r'^uroced_user_clients\{.*uid="4000000",user="4000000"\} 3$', run[1], re.M), run)
        expect('and clients', re.search(r'^uroced_client_frames_up_total\{.*uid="4000000",.*client_pid="902"\} 30$', run[1],
                                        re.M), run)
    with Made(folder, 'rte', {**UROCED_ANSWERS, '/uroced/clients,5': [3, 5]}):
        expect('a list of clients that goes round ends', len(stat(folder, '--clients')[1].splitlines()) == 5)
    with Made(folder, 'rte', process(device('uroce0'))):
        run = stat(folder, '--clients')
        expect('without a uroced there is a reason', is_complaint(run, 1, 'is a uroced', '--list'), run)


STEP = 3000000    # what a counter grows between two queries


def test_watch(folder):
    asked = []    # times of the queries

    def counting():
        asked.append(time.monotonic())
        return device('uroce0', sent_pkts=STEP * len(asked))

    with Made(folder, 'rte', {**process(device('uroce0')), '/uroce/device,uroce0': counting}):
        run = stat(folder, '--watch', '0.3', '--count', '3')
        asked.append(time.monotonic())
        rates = [float(rate.replace(',', '')) for rate in re.findall(r'^  sent_pkts +[\d,]+ +([\d,.]+)/s$', run[1], re.M)]
        expect('rates are told from the second time on', len(rates) == 2 and run[1].count('rte/uroce0') == 3, run)
        # The time of a rate ends before the next query. It begins behind the last one, and lasts for the pause at least.
        expect('and right', all(0.29 < STEP / rate < 1.01 * (asked[nb + 2] - asked[nb]) for nb, rate in enumerate(rates)),
               (rates, asked))
        expect('what stands still has none', re.search(r'verdict request +7 +0\.0/s', run[1]), run)
        run = stat(folder, '--watch', '0.1', '--count', '2', '--json')
        lines = [json.loads(line) for line in run[1].splitlines()]
        expect('JSON is a line each time', len(lines) == 2 and lines[0]['time'] < lines[1]['time'], run)
    nb_asked = 0

    def last_two():
        nonlocal nb_asked
        nb_asked += 1
        if nb_asked == 2:
            killed.kill()
        return device('uroce0')

    killed = Made(folder, 'rte', {**process(device('uroce0')), '/uroce/device,uroce0': last_two})
    run = stat(folder, '--watch', '0.2')
    expect('watching ends with who is watched', run[0] == 1 and run[1].count('rte/uroce0') == 2, run)


def test_options(folder):
    for options, word in ((['--watch', '0'], '--watch'), (['--watch', 'x'], '--watch'), (['--qp', 'x'], '--qp'),
                          (['--json', '--prometheus'], '--json'), (['--prometheus', '--watch', '1'], '--watch'),
                          (['--cm', '--prometheus'], '--cm'), (['--cm', '--qp', 'all'], '--cm'), (['--clients', '--cm'], '--clients'),
                          (['--count', '2'], '--watch'), (['--nonsense'], '--nonsense')):
        run = stat(folder, *options)
        expect(f'refused: {options}', is_complaint(run, 2, word, '--help'), run)


# -------------------------------------------------------------------------------------- a real process

def test_perf(folder):
    """Run uroce-stat while uroce-perf exchanges data with itself."""
    with subprocess.Popen([PERF, '--telemetry', '--no-huge', '-m', '1024', '--', '--loopback', 'write_bw', '-s', '4096', '-D',
                           str(TIMEOUT_S)],
                          env={**os.environ, 'RUNTIME_DIRECTORY': folder}, stdout=subprocess.DEVNULL) as perf:
        end, runs = time.monotonic() + TIMEOUT_S, []
        while perf.poll() is None and time.monotonic() < end and len(runs) < 3:
            status, out, _ = stat(folder, '--json', '--qp', 'all')
            devices = json.loads(out)['devices'] if status == 0 else []
            if any(told['counters']['rx_write_requests'] for told in devices):
                runs.append({told['name']: told for told in devices})
            time.sleep(0.1)
        expect('uroce-perf is found', len(runs) == 3 and all(told['pid'] == perf.pid for told in runs[0].values()))
        perf.terminate()
        perf.wait(TIMEOUT_S)
    if len(runs) < 3:
        return
    for earlier, later in zip(runs, runs[1:]):
        sunk = [(name, counter) for name, told in later.items() for counter, value in told['counters'].items()
                if value < earlier[name]['counters'][counter]]
        expect('no counter sinks', not sunk, sunk)
    expect('a QP has its share', any(told['qp'] and told['qp'][0]['counters']['sent_pkts'] for told in runs[-1].values()))


def test_full(folder):
    """A process accepts no connections of telemetry, as one that is stopped, and its backlog is full. Another process
    starts beside it."""
    with Made(folder, 'rte', {}, is_mute=True) as mute, contextlib.ExitStack() as connections:
        mute.socket.listen(1)
        with contextlib.suppress(BlockingIOError):
            while True:
                one = connections.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
                one.setblocking(False)
                one.connect(mute.path)
        with subprocess.Popen([PERF, '--telemetry', '--no-huge', '-m', '256', '--', '--loopback', 'write_bw', '-s', '4096',
                               '-D', str(TIMEOUT_S)],
                              env={**os.environ, 'RUNTIME_DIRECTORY': folder}, stdout=subprocess.DEVNULL) as perf:
            end = time.monotonic() + TIMEOUT_S
            while not os.path.exists(mute.path + ':1') and perf.poll() is None and time.monotonic() < end:
                time.sleep(0.1)
            has_socket = os.path.exists(mute.path + ':1')
            perf.kill()
        expect('a process starts beside one that accepts no connections', has_socket, os.listdir(os.path.dirname(mute.path)))
        expect('the socket of the other process stays', os.path.exists(mute.path))


def device_of(folder, perf):
    """The device of a process, as soon as uroce-stat reports it; {}: the process has ended, or it took too long."""
    end = time.monotonic() + TIMEOUT_S
    while perf.poll() is None and time.monotonic() < end:
        status, out, _ = stat(folder, '--json')
        if status == 0:
            return json.loads(out)['devices'][0]
        time.sleep(0.1)
    return {}


def test_interface(folder):
    """A server on an interface of the kernel, in a network namespace of its own."""
    if os.geteuid() != 0 or subprocess.run(['unshare', '-n', 'true'], check=False).returncode != 0:
        print('ok    an interface # SKIP network namespaces cannot be made here')
        return
    server = [PERF, '--telemetry', '--no-huge', '-m', '256', '--no-pci', '--vdev=net_af_packet0,iface=fd0', '--',
              '--uroce=net_af_packet0,addr=192.0.2.1/24', 'send_bw']
    with subprocess.Popen(['unshare', '-n', 'sh', '-c', 'ip link add fd0 type veth && ip link set fd0 up && exec "$@"', 'sh',
                           *server],
                          env={**os.environ, 'RUNTIME_DIRECTORY': folder}, stdout=subprocess.DEVNULL) as perf:
        told = device_of(folder, perf)
        title = stat(folder)[1].partition('\n')[0]
        perf.terminate()
        perf.wait(TIMEOUT_S)
    expect('JSON has the interface of a device', told.get('interface') == 'fd0', told)
    expect('so has the title', '; net_af_packet0 on fd0, link ' in title, title)


def test_udp(folder):
    """A device on UDP sockets has counters of its own."""
    server = [PERF, '--telemetry', '--no-huge', '-m', '256', '--no-pci', '--', '--uroce=udp,addr=127.77.0.3', 'send_bw']
    with subprocess.Popen(server, env={**os.environ, 'RUNTIME_DIRECTORY': folder}, stdout=subprocess.DEVNULL) as perf:
        before = device_of(folder, perf)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(3):
                sender.sendto(bytes(40000), ('127.77.0.3', 4791))
        end, told = time.monotonic() + TIMEOUT_S, {}
        while before and told.get('udp_rx_too_long') != 3 and perf.poll() is None and time.monotonic() < end:
            told = device_of(folder, perf).get('counters', {})
        table, metrics = stat(folder, '--all')[1], stat(folder, '--prometheus')[1]
        perf.terminate()
        perf.wait(TIMEOUT_S)
    expect('datagrams that are too long', told.get('udp_rx_too_long') == 3 and told['udp_rx_messages'] >= 3, told)
    expect('datagrams that the kernel has dropped: none', told.get('udp_rx_dropped') == 0, told)
    expect('the table has them', re.search(r'^  udp_rx_too_long +3$', table, re.M) and 'udp_tx_lost' in table, table)
    expect('Prometheus, too', re.search(r'(?m)^uroce_udp_rx_too_long_total\{[^}]*port="udp"\} 3$', metrics) and
           '# HELP uroce_udp_tx_lost_total of port_xmit_discards, frames' in metrics, metrics)


class Shared:
    """A real uroced, and servers of uroce-perf that are attached to it and wait for a client."""

    def __init__(self, folder):
        self.folder, self.socket, self.started = folder, os.path.join(folder, 's'), []
        self.start([UROCED, '--no-huge', '--no-pci', '-m', '256', '--vdev=net_null0,no-rx=1', '--', '--no-sandbox',
                    '--mode=0666', f'--socket={self.socket}', 'net_null0,addr=192.0.2.1/24'], folder)

    def start(self, command, folder, **more):
        self.started.append(subprocess.Popen(command, env={**os.environ, 'RUNTIME_DIRECTORY': folder},
                                             stdout=subprocess.DEVNULL, **more))
        return self.started[-1]

    def perf(self, port, folder, *words, **more):
        return self.start([PERF, '--no-huge', '-m', '256', '--no-pci', '--telemetry', '--',
                           f'--uroce=uroced,socket={self.socket}', '-R', f'--port={port}', 'send_bw', *words], folder, **more)

    def users_when(self, is_so):
        """Wait until a condition holds for the clients. @return the users, as uroce-stat reports them"""
        end, users = time.monotonic() + TIMEOUT_S, []
        while time.monotonic() < end:
            status, out, _ = stat(self.folder, '--clients', '--json', 'uroced')
            users = json.loads(out)['uroced'][0]['users'] if status == 0 else []
            if is_so([each for user in users for each in user['client']]):
                break
            time.sleep(0.1)
        return users

    def __enter__(self):
        end = time.monotonic() + TIMEOUT_S
        while not os.path.exists(self.socket) and time.monotonic() < end:
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        for each in reversed(self.started):
            each.terminate()
            each.wait(TIMEOUT_S)


def test_shared(folder):
    """Two users are attached to a uroced. Only the processes of the first report to this folder."""
    other, is_root = os.path.join(folder, 'other'), os.geteuid() == 0
    os.chmod(folder, 0o755)
    os.mkdir(other)
    with Shared(folder) as shared:
        seconds = ('-D', str(TIMEOUT_S))
        mine = [shared.perf(18515, folder, *seconds)]
        if is_root:
            os.chown(other, 65534, 65534)
            theirs = shared.perf(18516, other, user=65534, group=65534, extra_groups=[])
        shared.users_when(lambda clients: sum(bool(each['cm_ids']) for each in clients) == 1 + is_root)
        mine.append(shared.perf(18515, folder, *seconds, '192.0.2.1'))
        users = shared.users_when(lambda clients: sum(each['frames_up'] > 0 and bool(each['qps']) for each in clients) == 2)
        users = {user['uid']: user for user in users}
        own = users.get(os.geteuid(), {'client': []})['client']
        expect('clients of a real uroced are found', {each['pid'] for each in own} == {each.pid for each in mine}, users)
        expect('with their objects', all(each['qps'] >= 1 and each['mrs'] >= 1 and each['leases'] >= 1 for each in own), own)
        expect('and their connections', all(each['cm_ids'] for each in own), own)
        if is_root:
            others = users.get(65534, {'client': []})['client']
            expect('and a client of another user', [(each['pid'], each['qps'], len(each['cm_ids'])) for each in others] ==
                   [(theirs.pid, None, 1)], users)
        out = stat(folder, '--clients', 'uroced')[1]
        expect('the table has them', re.search(rf'^  {os.geteuid()} .* {mine[0].pid} +uroce-perf ', out, re.M), out)
        expect('the connection manager is no client of the title', ', clients: 3\n' in out or not is_root, out)


def main():
    for test in (test_nobody, test_others, test_mute, test_gone, test_choice, test_table, test_json, test_prometheus,
                 test_qps, test_cm_counters, test_cm_ids, test_cm_of_uroced, test_cm_of_none, test_uroced,
                 test_clients, test_watch, test_options, test_perf, test_full, test_interface, test_udp, test_shared):
        with tempfile.TemporaryDirectory() as folder:
            test(folder)
    return failed > 0


sys.exit(main())
