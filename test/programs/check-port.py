#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests programs on a port whose interface goes down and up. The port is the program's own AF_PACKET port, or uroced's.
The interface is one end of a cable in a network namespace, which ends with the test.

    check-port.py LIBS UROCED PORT

PORT is a program of this tree that uses only libibverbs. ibv_asyncwatch is the distribution's. Prints TAP.
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
INSIDE = 'inside'    # last argument of this script when it runs in the namespace
TIMEOUT_S = 300    # time limit, which only a hang exceeds
CABLE = '''mount -t sysfs sysfs /sys
ip link set lo up
ip link add v0 type veth peer name v1
ip address add 192.0.2.1/24 dev v0
ip link set v1 up
ip link set v0 up'''


class Failure(Exception):
    """A check has failed."""


def wait_for(is_so, what):
    end = time.monotonic() + TIMEOUT_S
    while not is_so():
        if time.monotonic() > end:
            raise Failure(f'waited in vain for {what}')
        time.sleep(0.02)


def set_link(state):
    subprocess.run(['ip', 'link', 'set', 'v0', state], check=True)


def listens(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        try:
            connection.connect(path)
        except OSError:
            return False
    return True


class Uroced:
    def __init__(self, program, where):
        self.program, self.where = program, where
        self.socket = os.path.join(where, 'uroced.sock')
        self.process = None

    def start(self):
        command = [self.program, '--no-pci', '--vdev=net_af_packet0,iface=v0,blocksz=16384,framesz=8192,framecnt=512',
                   '--', '--socket', self.socket, 'net_af_packet0']
        with open(os.path.join(self.where, 'uroced.log'), 'ab') as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_for(lambda: listens(self.socket), 'uroced')

    def kill(self):
        self.process.kill()
        self.process.wait()


def run_port(command, port):
    done = subprocess.run([*command, '--', port, 'v0'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, timeout=4 * TIMEOUT_S)
    print(re.sub('^', '# ', done.stdout, flags=re.MULTILINE))
    if done.returncode != 0:
        raise Failure(f'it ended with {done.returncode}')


class Watch:
    """An ibv_asyncwatch process. The test waits for lines of its output."""

    def __init__(self, command, where):
        self.path = os.path.join(where, 'asyncwatch.log')
        with open(self.path, 'wb') as log:
            self.process = subprocess.Popen([*command, '--', 'stdbuf', '-oL', 'ibv_asyncwatch'], stdout=log, stderr=log)
        self.expect('async event FD')

    def said(self):
        with open(self.path, encoding='utf-8') as log:
            return log.read()

    def expect(self, words):
        """Wait until the last line of the output contains these words."""
        try:
            wait_for(lambda: words in (self.said().splitlines() or [''])[-1], f'{words} of ibv_asyncwatch')
        except Failure as failure:
            raise Failure(f'{failure}; it said: {self.said()!r}') from failure

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        print(re.sub('^', '# ', self.said(), flags=re.MULTILINE))


def watch_interface(command, where):
    watch = Watch(command, where)
    try:
        for state, words in (('down', 'IBV_EVENT_PORT_ERR'), ('up', 'IBV_EVENT_PORT_ACTIVE')) * 2:
            set_link(state)
            watch.expect(words)
    finally:
        watch.end()


def watch_uroced(command, where, uroced):
    watch = Watch(command, where)
    try:
        uroced.kill()
        watch.expect('IBV_EVENT_PORT_ERR')
        uroced.start()
        watch.expect('IBV_EVENT_PORT_ACTIVE')
    finally:
        watch.end()


def tests(libs, uroced, port, where):
    own = [RUN, '--libs', libs, '--dev', 'v0']
    attached = [RUN, '--libs', libs, '--attach', uroced.socket]
    why = '' if shutil.which('ibv_asyncwatch') else 'ibv_asyncwatch is not installed'
    yield 'a port of its own', '', run_port, own, port
    yield 'ibv_asyncwatch on a port of its own', why, watch_interface, own, where
    uroced.start()
    yield 'a port of uroced', '', run_port, attached, port
    yield 'ibv_asyncwatch on a port of uroced', why, watch_interface, attached, where
    yield 'ibv_asyncwatch while uroced is killed and started', why, watch_uroced, attached, where, uroced


def run(libs, program, port):
    subprocess.run(['sh', '-ec', CABLE], check=True)
    nb, nb_failed = 0, 0
    with tempfile.TemporaryDirectory() as where:
        uroced = Uroced(program, where)
        try:
            for nb, (name, why_not, test, *args) in enumerate(tests(libs, uroced, port, where), 1):
                if why_not:
                    print(f'ok {nb} - {name} # SKIP {why_not}')
                    continue
                try:
                    test(*args)
                    print(f'ok {nb} - {name}', flush=True)
                except (Failure, subprocess.TimeoutExpired) as failure:
                    nb_failed += 1
                    set_link('up')
                    print(f'# {failure}\nnot ok {nb} - {name}', flush=True)
        finally:
            if uroced.process and uroced.process.poll() is None:
                uroced.kill()
    print(f'1..{nb}')
    return int(nb_failed > 0)


def main():
    args = sys.argv[1:]
    if args[-1] == INSIDE:
        return run(*map(os.path.abspath, args[:-1]))
    unshare = ['unshare', '--net', '--mount']
    if subprocess.run([*unshare, 'sh', '-ec', CABLE], capture_output=True, check=False).returncode != 0:
        print('1..0 # SKIP network namespaces with cables cannot be made here')
        return 0
    os.execvp('unshare', [*unshare, sys.executable, os.path.abspath(__file__), *args, INSIDE])
    return 1


sys.exit(main())
