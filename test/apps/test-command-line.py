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
TIMEOUT_S = 60    # only a hang exceeds it


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


TOOLS = ['usertools/' + name for name in ('quickstart', 'run-tests', 'uroce-doctor', 'uroce-lab', 'uroce-netdev',
                                          'uroce-run', 'uroce-stat')]
TOOLS += ['bench/uroce-bench-' + name for name in ('all', 'idle', 'ratio', 'stages')]


def common():
    """What every tool answers."""
    for path in TOOLS:
        command, name = os.path.join(TOP, path), os.path.basename(path)
        for option in '-h', '--help':
            yield Row(f'{name} {option}', [command, option], 0, name, r'^$')
        yield Row(f'{name} --version', [command, '--version'], 0, rf'^{name}: uroce [0-9.]+, (DPDK [0-9.]+|not built)$',
                  r'^$')
        yield Row(f'{name} with a wrong option', [command, '--no-such-option'], 2, r'^$', rf'^{name}: [^\n]*\n$')


def closed_pipes():
    """A reader that closes its pipe at once, as head does: the tool prints no error."""
    for name in 'uroce-doctor', 'uroce-stat':
        yield Row(f'{name} into a closed pipe', ['sh', '-c', f'{{ sleep 0.1; {tool(name)} --help; }} | true'], 0, r'^$', r'^$')
    yield Row('uroce-doctor lo into a closed pipe', ['sh', '-c', f'{tool("uroce-doctor")} lo | true'], 0, r'^$', r'^$')


def fault(row):
    """@return what is wrong with the row's command, or None"""
    done = subprocess.run(row.command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=TIMEOUT_S)
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
    rows = [*common(), *closed_pipes(), *dashes(os.path.abspath(sys.argv[1]))]
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
