#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the command lines of the tools: each row of a table is a command, its exit status, and what
it prints.

    test/apps/test-command-line.py BUILD

Nothing is measured, and no port is opened. Prints TAP.
"""

import dataclasses
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE_S = 60    # only a hang exceeds it


@dataclasses.dataclass
class Row:
    """A command, and what must be seen of it. Standard output and error are regular expressions."""
    name: str
    command: list
    status: int
    out: str = ''
    err: str = ''


def tool(name):
    return os.path.join(TOP, 'usertools', name)


# `true` and `env` run over a device of uroce which they do not open.
def dashes(build):
    run = [tool('uroce-run'), '--libs', os.path.join(build, 'drivers', 'ibverbs')]
    return [
        Row('uroce-run: the value of --eal begins with a dash',
            [*run, '--eal', '--vdev=net_null0', '--dev', 'net_null0,addr=192.0.2.1/24', '--', 'env'], 0,
            r'(?m)^UROCE_EAL=--vdev=net_null0$'),
        Row('uroce-run: the words of the program are not options of uroce-run',
            [*run, '--dev', 'loopback', 'echo', '--eal', '--vdev=x'], 0, r'^--eal --vdev=x$'),
        Row('uroce-run: after the path of a socket, too',
            [*run, '--attach', '/nowhere/sock', '--eal', '--vdev=x', 'true'], 2, r'^$', r'/nowhere/sock'),
        Row('uroce-lab: the value of --server-eal begins with a dash',
            [tool('uroce-lab'), 'no-port', 'write_bw', '--server-eal', '--no-huge'], 1, r'^$', r'no-port: no such port'),
    ]


def fault(row):
    """@return what is wrong with the row's command, or None"""
    done = subprocess.run(row.command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=PATIENCE_S)
    if done.returncode != row.status:
        return f'status {done.returncode} instead of {row.status}: {done.stderr or done.stdout}'
    if 'Traceback' in done.stderr:
        return done.stderr
    if not re.search(row.out, done.stdout.rstrip('\n')):
        return f'stdout has no {row.out}: {done.stdout}'
    if not re.search(row.err, done.stderr):
        return f'stderr has no {row.err}: {done.stderr}'
    return None


def main():
    rows = dashes(os.path.abspath(sys.argv[1]))
    failed = 0
    print(f'TAP version 13\n1..{len(rows)}', flush=True)
    for number, row in enumerate(rows, 1):
        why = fault(row)
        failed += why is not None
        print(f'{"ok" if why is None else "not ok"} {number} - {row.name}', flush=True)
        for line in (why or '').splitlines():
            print(f'# {line}', flush=True)
    return 1 if failed else 0


sys.exit(main())
