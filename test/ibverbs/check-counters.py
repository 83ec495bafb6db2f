#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests what cat, ls and a shell read from the files of a device. Other processes change the counters.

    check-counters.py LIBS LINGER
"""

import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUN = os.path.join(TOP, 'usertools', 'uroce-run')
LIBS, LINGER = sys.argv[1:]
PORT = '/sys/class/infiniband/uroce0/ports/1'
TIMEOUT_S = 300
LIST = os.path.join(TOP, 'lib', 'transport', 'counter.h')
# Some names of the kernel's ABI, some of rxe, some of mlx5.
NAMES = {'counters': {'port_xmit_data', 'port_rcv_data', 'port_xmit_packets', 'port_rcv_errors', 'link_downed'},
         'hw_counters': {'sent_pkts', 'rcvd_pkts', 'duplicate_request', 'link_downed', 'out_of_sequence',
                         'packet_seq_err', 'local_ack_timeout_err', 'rnr_nak_retry_err', 'out_of_buffer'}}
# Names that are not counted here, and names of uroce only.
ABSENT = {'symbol_error', 'VL15_dropped', 'ack_deferred', 'rounds', 'retransmitted_pkts'}


def check(is_so, *why):
    if not is_so:
        raise AssertionError(' '.join(str(reason) for reason in why))


class Family:
    """Programs that have their sockets in one folder."""

    def __init__(self, folder):
        self.env = {**os.environ, 'RUNTIME_DIRECTORY': folder, 'XDG_RUNTIME_DIR': folder}
        self.lingering = []

    def command(self, *program):
        return [RUN, '--libs', LIBS, '--dev', 'loopback', '--', *program]

    def run(self, *program):
        done = subprocess.run(self.command(*program), env=self.env, capture_output=True, text=True,
                              timeout=TIMEOUT_S, check=False)
        check(done.returncode == 0 and not done.stderr, program, 'ended with', done)
        return done.stdout

    def linger(self, messages):
        process = subprocess.Popen(self.command(LINGER, str(messages)), env=self.env, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.lingering.append(process)
        check(process.stdout.readline() == '0\n', 'the program does not run')

    def end_one(self):
        process = self.lingering.pop()
        process.communicate('', TIMEOUT_S)
        check(process.returncode == 0, 'the program ended with', process.returncode)


def names_are_all_that_are_counted(family):
    """The files are the names of the list that other drivers use. A file for an uncounted name would show 0."""
    with open(LIST, encoding='ascii') as file:
        rows = re.findall(r'X\((\w+),\s+(\w+),', file.read())
    wanted = {'counters': {name.lower() for name, whose in rows if whose == 'IBTA'},
              'hw_counters': {name.lower() for name, whose in rows if whose in ('RXE', 'MLX5')} | {'link_downed'}}
    for folder, names in wanted.items():
        found = set(family.run('ls', f'{PORT}/{folder}').split())
        check(found == names, folder, 'differs:', found ^ names)


def names_are_those_of_others(family):
    for folder, names in NAMES.items():
        found = set(family.run('ls', f'{PORT}/{folder}').split())
        check(names <= found, names - found, 'is missing in', folder)
        check(not found & ABSENT, found & ABSENT, 'is in', folder)
        for line in family.run('sh', '-c', f'cat {PORT}/{folder}/*').splitlines():
            check(line.isdecimal(), line, 'is no number')


def others_sum_up_what_processes_count(family):
    def sends():
        return int(family.run('cat', f'{PORT}/hw_counters/rdma_sends'))

    check(sends() == 0, 'nobody is there, and', sends())
    family.linger(3)
    check(sends() == 3, sends())
    family.linger(40)
    check(sends() == 43, sends())
    check(family.run('sh', '-c', f'cd {PORT}/hw_counters && cat rdma_sends && pwd') == f'43\n{PORT}/hw_counters\n',
          'not from there')
    family.end_one()
    check(sends() == 3, sends())
    family.end_one()


def shells_enter_the_folders(family):
    """Shells enter the folders as ibstatus does."""
    check(family.run('sh', '-c', 'cd /sys/class/infiniband && echo * && cd uroce0/ports && echo *') == 'uroce0\n1\n')
    check(family.run('bash', '-c', f'cd {PORT} && pwd -P && cat state') == f'{PORT}\n4: ACTIVE\n')


def who_asks_by_netlink_is_told(family):
    """uroce-run prints one line for a program that uses netlink. It names an alternative. The program still runs."""
    with tempfile.TemporaryDirectory() as folder:
        for name, is_blind in (('rdma', True), ('perfquery', True), ('ibstatus', False)):
            path = os.path.join(folder, name)
            with open(path, 'w', encoding='ascii') as script:
                script.write('#!/bin/sh\necho it runs\n')
            os.chmod(path, 0o755)
            done = subprocess.run(family.command(path, 'link'), env=family.env, capture_output=True, text=True,
                                  timeout=TIMEOUT_S, check=False)
            check((done.returncode, done.stdout) == (0, 'it runs\n'), done)
            check(done.stderr.count('\n') == is_blind and ('uroce-stat' in done.stderr) == is_blind, name, done.stderr)


def main():
    failed = 0
    for test in (names_are_all_that_are_counted, names_are_those_of_others,
                 others_sum_up_what_processes_count, shells_enter_the_folders, who_asks_by_netlink_is_told):
        with tempfile.TemporaryDirectory() as folder:
            family = Family(folder)
            try:
                test(family)
                print(f'ok    {test.__name__}')
            except (AssertionError, OSError, subprocess.SubprocessError, ValueError) as error:
                print(f'FAIL  {test.__name__}: {error}')
                failed += 1
            for process in family.lingering:
                process.kill()
                process.wait()
    return failed > 0


sys.exit(main())
