#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests uroce-perf in two processes, over memif and over one uroced: with --rdma_cm, with --com_rdma_cm, and over TCP.

    test-perf-cm.py USERTOOLS UROCE-PERF UROCED

Every byte is checked. A server that is not there, a client that differs and a process that was killed must get one
line that names the cause. Prints TAP.
"""

import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import tap  # noqa: E402
from uroce_ports import DEVICE_IPV4, DEVICE_IPV6, Lab, cpu_of, memif, uroced  # noqa: E402

PERF, UROCED = sys.argv[2:4]
FILE_BYTES = 32 << 20
LIMIT_S = 300    # time limit of a run, which only a hang exceeds
WAITING = 'waiting for a client'
# A busy CPU may not run the other process for seconds, and the default of 67 ms for 8 times is too short for that.
PATIENCE = ['-u', '18']
NO_HUGE = ['--no-huge', '-m', '256', '--no-shconf', '--no-telemetry', '--log-level=*:error']
INTERRUPTIONS = 5    # a fault of EAL's interrupt thread at the end of a process was seen in one of two or three
ELSEWHERE = '192.0.2.77'    # an address that no device has

# The tests over memif, and over a uroced whose clients have one address.
MEMIF = '''
write_bw -a -n 20 --verify
send_bw -s 65536 -n 200 -q 3 --verify
read_bw -s 65536 -n 200 --verify
atomic_bw -n 200 -q 2 --verify
send_bw -s 3000 -n 200 -m 1024 -b --verify
write_bw -c UC -s 4096 -n 200 -q 2
send_bw -c UC -s 4096 -n 200
send_bw -c UD -s 1024 -n 200 -q 3
send_bw -c UD -s 1024 -n 200 -b
send_lat -c UD -s 64 -n 200
write_lat -n 200
read_lat -n 200
write_bw --ipv6 -s 65536 -n 200 --verify
write_bw -T 96 -s 65536 -n 200 --verify
send_lat --ipv6 -c UD -n 200
write_bw -s 65536 -n 200 --verify --impair loss=1e-2
'''
# The tests with regular QPs, which are not connected by rdma_cm. FILE is a file of both sides.
EXCHANGE = '''
write_bw -s 65536 -n 200 -q 3 --verify
send_lat -c UD -n 200
send_bw -c XRC -s 4096 -n 200
'''
TCP = '''
write_bw -s 65536 -n 200 --verify --source_ip 127.0.0.1
read_bw -s 65536 -n 200 --verify --mmap FILE --mmap-offset 4096
write_bw -s 4096 -n 200 --reversed
send_bw -s 4096 -n 200 -c XRC -q 3
send_bw -s 1024 -n 200 -g -r 512
send_lat -n 200 -g -M 239.1.2.4
send_bw -s 4096 -n 200 -e
'''
CLIENTS = '''
send_bw -s 65536 -n 200 -q 2 --verify
send_bw -c UD -s 1024 -n 200
'''

class Pair:
    """A server that waits, and clients for it."""

    def __init__(self, make, connect='-R'):
        self.connect = connect.split()
        self.lab = Lab()
        self.wire = make(self.lab)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lab.close()

    def start(self, side, cpu, flags):
        return self.lab.start([PERF, *NO_HUGE, *side.eal, '--', f'--uroce={side.device}',
                               *self.connect, *PATIENCE, *flags.split()],
                              cpu_of(cpu), text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)

    def serve(self, flags):
        server = self.start(self.wire.server, 0, flags)
        read_until(server, WAITING)
        return server

    def client(self, flags, address=DEVICE_IPV4):
        return self.start(self.wire.client, 1, f'{flags} {address}')


def read_until(process, word):
    for line in process.stdout:
        if word in line:
            return


def end(process):
    """@return its status, and the rest of its output"""
    try:
        said = process.communicate(timeout=LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return None, 'it hangs\n' + process.communicate()[0]
    return process.returncode, said


def with_file(pair, flags):
    """The flags, with the path of a file that exists in place of FILE."""
    if 'FILE' not in flags:
        return flags
    path = pair.lab.path('messages')
    with open(path, 'wb') as file:
        file.truncate(FILE_BYTES)
    return flags.replace('FILE', path)


def run_pair(make, flags, connect):
    with Pair(make, connect) as pair:
        flags, address = with_file(pair, flags), DEVICE_IPV6 if '--ipv6' in flags else DEVICE_IPV4
        if not connect:
            flags, address = f'-p {pair.wire.port} {flags}', '127.0.0.1'
        server = pair.serve(flags)
        return zip(end(pair.client(flags, address)), end(server))


def runs_well(make, name, flags, connect='-R'):
    statuses, said = run_pair(make, flags, connect)
    checked = re.findall(r'(?m)^verify: .* [1-9][0-9]* bytes checked, 0 wrong$', said[0])
    is_right = statuses == (0, 0) and (checked != [] or '--verify' not in flags)
    tap.result(is_right, f'{name}: {connect} {flags}', f'statuses {statuses}\n' + '\n'.join(said))


def own_lines(said):
    return [line for line in said.splitlines() if line.startswith('uroce-perf: ')]


def fails_with(what, process, words):
    """The process must end with status 1, after one line of its own that has the words."""
    status, said = end(process)
    lines = own_lines(said)
    tap.result(status == 1 and len(lines) == 1 and words in lines[0], what, f'status {status}\n{said}')


def refused_clients():
    with Pair(memif) as pair:
        server = pair.serve('write_bw -p 18600 -m 1024')
        fails_with('no listener', pair.client('write_bw'), 'RDMA port 18515: no listener (REJ reason 8')
        fails_with('no host', pair.client('write_bw', ELSEWHERE), 'no way to it: Connection timed out')
        fails_with('a larger path MTU', pair.client('write_bw -p 18600'),
                   'refused: the path MTU is 4096 at the client and 1024 at the server; allowed: --mtu 1024')
        fails_with('other flags', pair.client('write_bw -p 18600 -m 1024 -s 8'), 'the sides differ in --size')
        fails_with('other flags, at the server', server, 'the sides differ in --size')


def traffic_class():
    """The server captures what it receives: connection management and the exchange have another traffic class."""
    with Pair(memif) as pair:
        path = pair.lab.path('frames')
        server = pair.serve(f'write_bw -T 96 -n 200 --capture {path}')
        said = end(pair.client('write_bw -T 96 -n 200'))[1] + end(server)[1]
        with open(path, 'rb') as file:
            data = file.read()
    found = data.count(b'\x08\x00\x45\x60')    # Ethertype, version and header length, traffic class
    tap.result(found >= 200, '-T is in the frames', f'{found} frames\n{said}')


def no_queue_pair():
    with Pair(memif) as pair:
        server, client = pair.serve('write_bw -I 4096'), pair.client('write_bw -I 4096')
        fails_with('too much inline data', client, '--inline_size 4096: more than the device takes')
        fails_with('and the server is told', server, 'the other side gave up: it cannot connect its queue pairs')


def endings():
    with Pair(memif) as pair:
        server = pair.serve('write_bw')
        server.send_signal(signal.SIGINT)
        status, said = end(server)
        tap.result(status == 128 + signal.SIGINT and not own_lines(said), 'a server that waits is interrupted', said)
    statuses = []
    for _ in range(INTERRUPTIONS):
        with Pair(memif) as pair:
            server, client = pair.serve('write_bw -D 100'), pair.client('write_bw -D 100')
            read_until(client, '#bytes')
            server.send_signal(signal.SIGINT)
            statuses.append(end(server)[0])
            end(client)
    tap.result(statuses == [128 + signal.SIGINT] * INTERRUPTIONS, 'a server whose client runs is interrupted',
               f'statuses {statuses}')
    with Pair(memif) as pair:
        # the server of a READ posts nothing that could fail
        server, client = pair.serve('read_lat -D 100'), pair.client('read_lat -D 100')
        read_until(client, '#bytes')
        client.kill()
        client.wait()
        fails_with('the client is killed', server, 'the other side closed the connection')


def clients_of_uroced(make):
    with Pair(make) as pair:
        server, client = pair.serve('send_lat -D 100'), pair.client('send_lat -D 100')
        read_until(client, '#bytes')
        fails_with('a second client', pair.client('send_lat -D 100'), 'refused: it serves another client')
        client.send_signal(signal.SIGINT)
        status, said = end(client)
        tap.result(status == 128 + signal.SIGINT, 'the first client is interrupted', said)
        fails_with('and the server is told', server, 'the other side gave up: it was stopped')


def main():
    def shared(lab):
        return uroced(lab, UROCED)

    for flags in MEMIF.strip().splitlines():
        runs_well(memif, 'memif', flags)
    for flags in EXCHANGE.strip().splitlines():
        runs_well(memif, 'memif', flags, '-z')
    for flags in TCP.strip().splitlines():
        runs_well(memif, 'memif', flags, '')
    for flags in CLIENTS.strip().splitlines():
        runs_well(shared, 'uroced', flags)
    refused_clients()
    traffic_class()
    no_queue_pair()
    endings()
    clients_of_uroced(shared)
    return tap.end()


sys.exit(main())
