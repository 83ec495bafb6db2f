#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests programs that were built for libibverbs, as clients of one uroced. They get uroced's devices and exchange
data. uroced may be killed and started again in the meantime.

    check-attached.py UROCED LIBS FORK TRANSFER CLOSED

FORK, TRANSFER and CLOSED are programs of this tree that use only libibverbs. Programs of the distribution that are not
installed are not run.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUN = os.path.join(TOP, 'usertools', 'uroce-run')
TIMEOUT_S = 300    # time limit for the slowest machine
NOBODY = 65534
NO_FRAMES = bytes.fromhex('d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000')    # an empty pcap file for Ethernet


def check(is_so, *why):
    if not is_so:
        raise AssertionError(' '.join(str(reason) for reason in why))


def wait_for(is_so, what):
    end = time.monotonic() + TIMEOUT_S
    while not is_so():
        check(time.monotonic() < end, 'waited in vain for', what)
        time.sleep(0.02)


def listens(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        try:
            connection.connect(path)
        except OSError:
            return False
    return True


class Uroced:
    """A uroced process. By default no frames arrive at its port. The port's MAC is the same after each start."""

    def __init__(self, program, libs, where, port=None, address='192.0.2.1'):
        self.program, self.libs, self.where = program, libs, where
        self.socket = os.path.join(where, 'uroced.sock')
        self.port = port or f'net_pcap0,rx_pcap={where}/none.pcap,tx_pcap={where}/out.pcap'
        self.address = address
        self.process = None
        with open(os.path.join(where, 'none.pcap'), 'wb') as file:
            file.write(NO_FRAMES)

    def start(self):
        command = [self.program, '--no-pci', f'--vdev={self.port}', '--', '--no-cm', '--socket', self.socket,
                   f'{self.port.split(",")[0]},addr={self.address}/24']
        with open(os.path.join(self.where, 'uroced.log'), 'ab') as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_for(lambda: listens(self.socket), 'uroced')

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        check(self.process.wait(TIMEOUT_S) == 0, 'uroced ended with', self.process.returncode)

    def run(self, *command):
        return [RUN, '--libs', self.libs, '--attach', self.socket, '--', *command]

    def log(self):
        with open(os.path.join(self.where, 'uroced.log'), encoding='utf-8') as log:
            return log.read()


class Client:
    """A program under uroce-run."""

    def __init__(self, uroced, *command):
        self.process = subprocess.Popen(uroced.run(*command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)

    def await_line(self, line):
        """Read the output up to a line. A program that ends before is an error."""
        said = []
        for said_line in self.process.stdout:
            said.append(said_line)
            if said_line == line + '\n':
                return
        check(False, 'the program ended without the line', line, ''.join(said))

    def end(self):
        """End the input of the program, and wait for its end. @return its status and its further output"""
        said, _ = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, said


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def is_listening(port):
    sign = re.compile(f':{port:04X} [0-9A-F:]+ 0A ')
    for path in ('/proc/net/tcp', '/proc/net/tcp6'):
        with open(path, encoding='ascii') as table:
            if sign.search(table.read()):
                return True
    return False


def pingpong(uroced, kind, *args, far=None):
    """Run two processes; the second may use another uroced. Each compares the received data if it can."""
    port = free_port()
    command = [f'ibv_{kind}_pingpong', '-g', '1', '-p', str(port), '-n', '200', *args]
    server = Client(uroced, *command)
    wait_for(lambda: server.process.poll() is not None or is_listening(port), 'the server')
    client = Client(far or uroced, *command, '127.0.0.1')
    for end in (client, server):
        code, said = end.end()
        check(code == 0, ' '.join(command), 'ended with', code, said)
        check(' iters in ' in said and uroced.address in said, said)


def expect_refusal(result, *words):
    check(result.returncode == 2, 'it ended with', result.returncode, result.stderr)
    check(result.stderr.count('\n') == 1, 'more than a line:', result.stderr)
    for word in ('uroce-run: ', 'allowed', *words):
        check(word in result.stderr, word, 'is not in', result.stderr)


def says_what_is_wrong(uroced):
    command = uroced.run('true')
    expect_refusal(subprocess.run(command, capture_output=True, text=True, check=False),
                   uroced.socket, 'No such file')
    uroced.start()
    if os.geteuid() != 0:
        return
    os.chmod(uroced.where, 0o755)
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, user=NOBODY, group=NOBODY,
                                extra_groups=[])
    except PermissionError:    # uroce-run itself cannot be read
        result = None
    if result and 'uroce-run: ' in result.stderr:
        expect_refusal(result, uroced.socket, 'permission')
    else:
        print('# nobody cannot reach the tree: permissions were not looked at')


def devices_are_uroceds(uroced):
    code, said = Client(uroced, 'ibv_devinfo', '-v').end()
    check(code == 0, said)
    check('PORT_ACTIVE' in said and '::ffff:192.0.2.1' in said, said)
    check(len(re.findall(r'^hca_id', said, re.MULTILINE)) == 1, said)


def programs_reach_one_another(uroced):
    for kind in ('rc', 'uc', 'ud'):
        pingpong(uroced, kind, '-c')
    pingpong(uroced, 'srq')
    pingpong(uroced, 'rc', '-e', '-c')


def hosts_reach_one_another(uroced):
    """Two uroceds are joined by a wire, so that a connection's peer is behind another uroced."""
    ends = []
    for nth, role in enumerate(('server', 'client'), 1):
        where = os.path.join(uroced.where, role)
        os.mkdir(where)
        port = f'net_memif0,role={role},mac=02:00:00:00:01:0{nth},bsize=4400,socket-abstract=no,' \
               f'socket={uroced.where}/wire'
        ends.append(Uroced(uroced.program, uroced.libs, where, port, f'192.0.2.{nth}'))
    try:
        for end in ends:
            end.start()
        for kind in ('rc', 'uc', 'ud'):
            pingpong(ends[0], kind, '-s', '1000', far=ends[1])
        for end in ends:
            end.stop()
    finally:
        for end in ends:
            if end.process and end.process.poll() is None:
                end.kill()


def transfers_live_through_its_death(uroced, transfer):
    """uroced is killed twice. Each time both clients attach again and keep their leases."""
    def nb_attached():
        return uroced.log().count(' attached:')

    nb_before = nb_attached()
    client = Client(uroced, transfer)
    client.await_line('connected')
    for nb in (4, 6):
        time.sleep(1)
        uroced.kill()
        uroced.start()
        wait_for(lambda nb=nb: nb_attached() == nb_before + nb, 'clients that are back')
    code, said = client.end()
    check(code == 0, 'the transfer ended with', code, said)
    check(said.count('the connection was lost') == 4, said)
    check(uroced.log().count('1 leases of 1') >= 4, uroced.log())
    print(f'# {said.splitlines()[-1]}')


def children_are_clients_of_their_own(uroced, fork):
    code, said = Client(uroced, fork).end()
    check(code == 0, 'it ended with', code, said)


def programs_close_what_they_do_not_know(uroced, closed):
    """Programs close the library's descriptors. If they do so with libc, the device still works. Otherwise it fails
    with one line on stderr. The program's own files are unchanged."""
    for way in ('closefrom', 'close', 'daemon', 'kernel'):
        code, said = Client(uroced, closed, way).end()
        check(code == 0, way, 'ended with', code, said)
        check(said.count('has closed the descriptors') == (way == 'kernel'), way, said)


def main():
    program, libs, fork, transfer, closed = map(os.path.abspath, sys.argv[1:])
    tests = [(says_what_is_wrong,), (devices_are_uroceds,), (programs_reach_one_another,),
             (hosts_reach_one_another,), (children_are_clients_of_their_own, fork),
             (programs_close_what_they_do_not_know, closed), (transfers_live_through_its_death, transfer)]
    if not shutil.which('ibv_rc_pingpong'):
        print('# the programs of ibverbs-utils are not installed')
        del tests[1:4]
    with tempfile.TemporaryDirectory() as where:
        uroced = Uroced(program, libs, where)
        try:
            for test, *args in tests:
                test(uroced, *args)
                print(f'ok {test.__name__}', flush=True)
            uroced.stop()
        except (AssertionError, subprocess.TimeoutExpired) as error:
            print(f'{error}\n{uroced.log() if uroced.process else ""}', file=sys.stderr)
            return 1
        finally:
            if uroced.process and uroced.process.poll() is None:
                uroced.kill()
    return 0


sys.exit(main())
