#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests uroce-perf in two processes over the port `udp`, as a user without any privilege.

    test-udp.py USERTOOLS UROCE-PERF

If root runs the test, the processes have user 65534, no capability, an empty bounding set, and cannot gain privileges.
They are in a network namespace that was made for them. Another user's processes have the rights of this user, and IPv4
only. Every byte is checked. Prints TAP.
"""

import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import tap  # noqa: E402
from unprivileged import EAL, IPV6, NOBODY, PATIENCE, open_lab, skip  # noqa: E402
from uroce_ports import free_port, loopback_pair  # noqa: E402

PERF = os.path.abspath(sys.argv[2])
LIMIT_S = 300    # time limit of a run, which only a hang exceeds
WAITING = 'waiting for a client'
TESTS = '''
write_bw -a -n 20 --verify
send_bw -s 65536 -n 200 -q 3 --verify
read_bw -s 65536 -n 200 --verify
atomic_bw -n 200 -q 2 --verify
send_bw -s 3000 -n 200 -m 1024 -b --verify
write_bw -s 100003 -n 200 -m 256 --verify
write_bw -c UC -s 4096 -n 200 -q 2
send_bw -c XRC -s 4096 -n 200
send_bw -c UD -s 1024 -n 200 -q 3
send_bw -s 1024 -n 200 -g -r 512
write_lat -n 200
read_lat -n 200
write_bw -R -s 65536 -n 200 --verify
'''


def rights(prefix):
    """The user and the effective capabilities of a process."""
    said = subprocess.run(prefix + ['cat', '/proc/self/status'], capture_output=True, text=True, check=False).stdout
    return re.search(r'^Uid:\s+\d+\s+(\d+)', said, re.M)[1], re.search(r'^CapEff:\s+(\w+)', said, re.M)[1]


def start(lab, prefix, address, test, more):
    command = prefix + [PERF, *EAL, '--', f'--uroce=udp,addr={address}', *PATIENCE, *test, *more]
    return lab.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                     text=True, cwd='/')


def run(lab, prefix, addresses, test):
    """Run a test between two processes. @return whether it is right, and the output"""
    port = f'--port={free_port()}'
    server = start(lab, prefix, addresses[0], test, [port])
    line, said = None, ''
    while line != '' and WAITING not in said:
        line = server.stdout.readline()
        said += line
    to = addresses[0] if '-R' in test else 'localhost'
    client = start(lab, prefix, addresses[1], test, [port, to])
    try:
        heard, said = client.communicate(timeout=LIMIT_S)[0], said + server.communicate(timeout=LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        return False, 'a process has not ended'
    is_right = client.returncode == 0 and server.returncode == 0
    if '--verify' in test:
        is_right &= bool(re.search(r'^verify: .* [1-9]\d* bytes checked, 0 wrong$', heard, re.M))
    return is_right, f'server:\n{said}client:\n{heard}'


def test_all(lab, prefix, keeper):
    user, capabilities = rights(prefix)
    if keeper:
        tap.result(int(user) == NOBODY and int(capabilities, 16) == 0,
                   f'the processes have user {user} and capabilities {capabilities}')
    pairs = [('IPv4', loopback_pair(), [])] + ([('IPv6', IPV6, ['--ipv6'])] if keeper else [])
    for family, addresses, more in pairs:
        for test in TESTS.strip().splitlines():
            is_right, said = run(lab, prefix, addresses, test.split() + more)
            tap.result(is_right, f'{family}: {test}', said)


def main():
    lab, keeper, prefix = open_lab()
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o777)
        os.environ['HOME'] = home
        try:
            if subprocess.run(prefix + ['test', '-x', PERF], check=False).returncode != 0:
                skip(f'user {NOBODY} cannot read {PERF}')
            test_all(lab, prefix, keeper)
        finally:
            lab.close()
    return tap.end()


sys.exit(main())
