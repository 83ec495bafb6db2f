#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests uroced on the port `udp`, with uroce-perf as its clients and as a host of its own, without any privilege.

    test-udp.py USERTOOLS UROCED UROCE-PERF

If root runs the test, all processes have user 65534, no capability and an empty bounding set, cannot gain privileges,
and are in a network namespace that was made for them. Another user's processes have the rights of this user, and IPv4
only. Every byte is checked. Prints TAP.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../apps'))
import tap  # noqa: E402
from unprivileged import EAL, IPV6, NOBODY, PATIENCE, open_lab, skip  # noqa: E402
from uroce_ports import LabError, free_port, loopback_pair  # noqa: E402

UROCED, PERF = (os.path.abspath(path) for path in sys.argv[2:4])
LIMIT_S = 300    # time limit of a run, which only a hang exceeds
WAITING = 'waiting for a client'
# Tests of every pair of ends, and of two clients, and of a client and another host.
ALL = '''
write_bw -s 65536 -n 200 -q 3 --verify
send_bw -s 3000 -n 200 -m 1024 -b --verify
read_bw -s 65536 -n 100 --verify
send_bw -c UC -s 4096 -n 200
send_bw -c UD -s 1024 -n 200 -q 3
send_bw -s 1024 -n 200 -g -r 512
write_bw -R -s 65536 -n 100 --verify
'''
CLIENTS = ALL + '''\
atomic_bw -n 100 -q 2 --verify
send_bw -c XRC -s 4096 -n 200
'''
GROUP = '239.1.2.4'
# A transfer that goes on while uroced is killed: its retries of 17 s last longer than the restart.
LONG = 'write_bw -s 65536 -n 20000 -u 19 --verify'.split()


class Uroced:
    """A uroced on the port `udp`, without privileges."""

    def __init__(self, lab, prefix, spec, home):
        self.lab, self.prefix, self.spec = lab, prefix, spec
        self.runtime = os.path.join(home, 'run')
        self.socket = os.path.join(home, 'uroced.sock')
        self.device = f'uroced,socket={self.socket}'
        self.process = None

    def start(self):
        command = [*self.prefix, 'env', f'RUNTIME_DIRECTORY={self.runtime}', UROCED, '--no-pci', '--no-huge', '-m', '256',
                   '--', f'--socket={self.socket}', self.spec]
        self.process = self.lab.start(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd='/')
        end = time.monotonic() + LIMIT_S
        while not listens(self.socket):
            if self.process.poll() is not None or time.monotonic() > end:
                raise LabError('uroced has not started')
            time.sleep(0.02)

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(LIMIT_S)

    def ask(self, question):
        """A reply of telemetry."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as telemetry:
            telemetry.settimeout(LIMIT_S)
            telemetry.connect(os.path.join(self.runtime, 'dpdk/rte/dpdk_telemetry.v2'))
            telemetry.recv(65536)
            telemetry.send(question.encode())
            return json.loads(telemetry.recv(65536))[question]

    def clients(self):
        return len(self.ask('/uroced/clients'))


def listens(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        return connection.connect_ex(path) == 0


def wait_until(is_so, what):
    end = time.monotonic() + LIMIT_S
    while not is_so():
        if time.monotonic() > end:
            raise LabError(f'waited in vain until {what}')
        time.sleep(0.02)


def start(lab, prefix, device, test):
    command = prefix + [PERF, *EAL, '--', f'--uroce={device}', *PATIENCE, *test]
    return lab.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                     text=True, cwd='/')


def start_both(lab, prefix, devices, address, test):
    """Start a server and, when it waits, its client. @return both, and what the server has said"""
    port = f'--port={free_port()}'
    server = start(lab, prefix, devices[0], [*test, port])
    line, said = None, ''
    while line != '' and WAITING not in said:
        line = server.stdout.readline()
        said += line
    to = address if '-R' in test else 'localhost'
    return server, start(lab, prefix, devices[1], [*test, port, to]), said


def await_both(server, client, said, test):
    """@return whether both have ended well, and their output"""
    try:
        heard, said = client.communicate(timeout=LIMIT_S)[0], said + server.communicate(timeout=LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        return False, 'a process has not ended'
    is_right = client.returncode == 0 and server.returncode == 0
    if '--verify' in test:
        is_right &= ' bytes checked, 0 wrong' in heard
    return is_right, f'server:\n{said}client:\n{heard}'


def run(lab, prefix, devices, address, test):
    server, client, said = start_both(lab, prefix, devices, address, test)
    return await_both(server, client, said, test)


def test_family(lab, prefix, uroced, family, addresses, more):
    """All tests: two clients, then a client and another host, each as the server."""
    other = f'udp,addr={addresses[1]}'
    for what, devices, address, tests in (
            ('two clients', [uroced.device] * 2, addresses[0], CLIENTS),
            ('a client serves another host', [uroced.device, other], addresses[0], ALL),
            ('another host serves a client', [other, uroced.device], addresses[1], ALL)):
        for test in tests.strip().splitlines():
            is_right, said = run(lab, prefix, devices, address, test.split() + more)
            tap.result(is_right, f'{family}, {what}: {test}', said)


def frames_up(uroced):
    return uroced.ask('/uroced/host')['frames_up']


def test_killed_client(lab, prefix, uroced, address):
    """The end of a client leaves nothing behind, and other clients go on."""
    devices = [uroced.device, f'udp,addr={address}']
    before, clients = frames_up(uroced), uroced.clients()
    victim = start_both(lab, prefix, [uroced.device] * 2, None, LONG)
    server, client, said = start_both(lab, prefix, devices, None, LONG[:-1] + ['-n', '2000', '--verify'])
    wait_until(lambda: frames_up(uroced) > before + 100, 'frames leave')
    for process in victim[:2]:
        process.kill()
        process.communicate()
    is_right, said = await_both(server, client, said, LONG)
    tap.result(is_right, 'a transfer goes on when other clients are killed', said)
    wait_until(lambda: uroced.clients() == clients, 'the clients are gone')
    tap.result(True, 'killed clients leave nothing behind')


def test_restart(lab, prefix, uroced, address):
    """uroced is killed and started again, while its clients transfer."""
    before = frames_up(uroced)
    server, client, said = start_both(lab, prefix, [uroced.device, f'udp,addr={address}'], None, LONG)
    wait_until(lambda: frames_up(uroced) > before + 1000, 'frames leave')
    uroced.end(signal.SIGKILL)
    is_interrupted = client.poll() is None
    uroced.start()
    is_right, said = await_both(server, client, said, LONG)
    tap.result(is_right and is_interrupted, 'a transfer goes on when uroced is killed and started again', said)


def is_joined(prefix):
    """Whether the kernel is a member of GROUP."""
    table = subprocess.run([*prefix, 'cat', '/proc/net/igmp'], capture_output=True, text=True, check=True).stdout
    return f'{int.from_bytes(socket.inet_aton(GROUP), sys.byteorder):08X}' in table


def test_groups_after_restart(lab, prefix, uroced):
    """Clients report their groups to a uroced that was started again."""
    processes = start_both(lab, prefix, [uroced.device] * 2, None, f'send_bw -g -M {GROUP} -s 1024 -D 600'.split())[:2]
    wait_until(lambda: is_joined(prefix), 'the group is joined')
    uroced.end(signal.SIGKILL)
    is_left = not is_joined(prefix)
    uroced.start()
    wait_until(lambda: is_joined(prefix), 'the group is joined again')
    tap.result(is_left, 'groups are joined again when uroced is killed and started again')
    for process in processes:
        process.kill()
        process.communicate()


def test_check(prefix, uroced):
    done = subprocess.run([*prefix, UROCED, '--no-pci', '--no-huge', '-m', '256', '--no-telemetry', '--', '--check',
                           f'--socket={uroced.socket}', uroced.spec], capture_output=True, text=True, check=False, cwd='/')
    is_right = done.returncode == 0 and 'port: udp, driver udp' in done.stdout and 'the kernel answers' in done.stdout
    tap.result(is_right, '--check opens the port', done.stdout + done.stderr)


def test_taken(prefix, uroced):
    """A second uroced at the same address is refused, with the reason."""
    done = subprocess.run([*prefix, UROCED, '--no-pci', '--no-huge', '-m', '256', '--no-telemetry', '--',
                           f'--socket={uroced.socket}2', uroced.spec], capture_output=True, text=True, check=False, cwd='/')
    tap.result(done.returncode == 1 and 'another socket has UDP port 4791' in done.stderr,
               'a port that another process has is refused', done.stderr)


def test_all(lab, prefix, home, keeper):
    ipv4 = loopback_pair()
    families = [('IPv4', ipv4, [])] + ([('IPv6', IPV6, ['--ipv6'])] if keeper else [])
    uroced = Uroced(lab, prefix, ','.join(['udp'] + [f'addr={addresses[0]}' for _, addresses, _ in families]), home)
    test_check(prefix, uroced)
    uroced.start()
    test_taken(prefix, uroced)
    for family, addresses, more in families:
        test_family(lab, prefix, uroced, family, addresses, more)
    test_killed_client(lab, prefix, uroced, ipv4[1])
    test_restart(lab, prefix, uroced, ipv4[1])
    test_groups_after_restart(lab, prefix, uroced)
    tap.result(uroced.end(signal.SIGTERM) == 0, 'uroced ends')


def main():
    lab, keeper, prefix = open_lab()
    with tempfile.TemporaryDirectory() as home:
        os.mkdir(os.path.join(home, 'run'))
        if keeper:
            for path in home, os.path.join(home, 'run'):
                os.chown(path, NOBODY, NOBODY)
        os.environ['HOME'] = home
        # The leak sanitizer traces its process, which the sandbox of uroced does not allow.
        os.environ['LSAN_OPTIONS'] = 'detect_leaks=0'
        try:
            if subprocess.run(prefix + ['test', '-x', UROCED], check=False).returncode != 0:
                skip(f'user {NOBODY} cannot read {UROCED}')
            test_all(lab, prefix, home, keeper)
        finally:
            lab.close()
    return tap.end()


sys.exit(main())
