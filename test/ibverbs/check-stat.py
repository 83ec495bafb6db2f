#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that uroce-stat finds programs that were built for libibverbs and do not know uroce.

    check-stat.py LIBS LINGER
"""

import json
import os
import signal
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUN, STAT = (os.path.join(TOP, 'usertools', name) for name in ('uroce-run', 'uroce-stat'))
LIBS, LINGER = sys.argv[1:]
TIMEOUT_S = 300


def check(is_so, *why):
    if not is_so:
        raise AssertionError(' '.join(str(reason) for reason in why))


class Program:
    """A program that sends messages to itself and then waits."""

    def __init__(self, folder, messages, *more, eal=()):
        environment = {**os.environ, 'RUNTIME_DIRECTORY': folder}
        command = [RUN, '--libs', LIBS, '--dev', 'loopback', *eal, '--', LINGER, str(messages), *more]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.child = int(self.process.stdout.readline() or -1)
        check(self.child >= 0, 'the program does not run')

    def end(self):
        self.process.stdin.close()
        check(self.process.wait(TIMEOUT_S) == 0, 'the program ended with', self.process.returncode)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.end()


def stat(folder, *arguments):
    run = subprocess.run([STAT, *arguments], env={**os.environ, 'RUNTIME_DIRECTORY': folder}, capture_output=True,
                         text=True, timeout=TIMEOUT_S, check=False)
    return run.returncode, run.stdout, run.stderr


def devices(folder, *arguments):
    status, out, err = stat(folder, '--json', *arguments)
    check(status == 0, 'uroce-stat ended with', status, err)
    return json.loads(out)['devices']


def finds_each_process(folder):
    with Program(folder, 10) as a, Program(folder, 20) as b:
        found = {device['pid']: device for device in devices(folder, '--qp', 'all')}
        check(found.keys() == {a.process.pid, b.process.pid}, 'found', list(found))
        for program, messages in ((a, 10), (b, 20)):
            device = found[program.process.pid]
            counters = device['counters']
            check(device['program'] == os.path.basename(LINGER), 'it is', device['program'])
            check(counters['rdma_sends'] == counters['rdma_recvs'] == messages, counters)
            # each message gets a response, and no frame is sent to the port
            check(counters['loopback_pkts'] == counters['sent_pkts'] >= 2 * messages, counters)
            check(counters['port_xmit_packets'] == 0, counters)
            check(device['qps'] == len(device['qp']) == 2, device['qps'])
            check(sum(qp['counters']['sent_pkts'] for qp in device['qp']) == counters['sent_pkts'], device['qp'])
        one = devices(folder, f'{a.process.pid}/uroce0')
        check([device['pid'] for device in one] == [a.process.pid], one)
    status, _, err = stat(folder)
    check(status == 1 and 'no process' in err, status, err)


def runs_without_telemetry(folder):
    with Program(folder, 1, eal=['--eal=--no-telemetry']):
        status, _, err = stat(folder)
        check(status == 1 and '--no-telemetry' in err, status, err)


def runs_where_there_is_no_room_for_a_socket(folder):
    """The folder for the socket cannot be made, or its name is too long. EAL with telemetry would not start there."""
    long = os.path.join(folder, 'long' * 30)
    os.mkdir(long)
    for nowhere in ('/proc/nowhere', long):
        with Program(nowhere, 1):
            pass


def leaves_no_socket_with_its_children(folder):
    """The parent is killed and its child continues. No process listens on the parent's socket."""
    program = Program(folder, 1, '100')
    check(len(devices(folder)) == 1, 'it is not there')
    program.process.kill()
    program.process.wait()
    program.process.stdin.close()
    program.process.stdout.close()
    try:
        # uroce-stat reports a socket that takes its connection and does not answer
        status, _, err = stat(folder)
        check(status == 1 and 'no answer' not in err, status, err)
    finally:
        os.kill(program.child, signal.SIGKILL)


def main():
    failed = 0
    for test in (finds_each_process, runs_without_telemetry, runs_where_there_is_no_room_for_a_socket,
                 leaves_no_socket_with_its_children):
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder)
                print(f'ok    {test.__name__}')
            except (AssertionError, OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
                print(f'FAIL  {test.__name__}: {error}')
                failed += 1
    return failed > 0


sys.exit(main())
