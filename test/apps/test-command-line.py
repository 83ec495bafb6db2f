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
TIMEOUT_S = 300    # only a hang exceeds it


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


# Runs a command while a socket listens at the path of uroced.
LISTENER = '''
import os, socket, subprocess, sys
os.mkdir('/run/uroced')
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
    listener.bind('/run/uroced/uroced.sock')
    listener.listen()
    sys.exit(subprocess.run(sys.argv[1:], check=False).returncode)
'''

# The same, but the connections that the listener does not accept leave no room for another one.
FULL_LISTENER = LISTENER.replace('listener.listen()', """listener.listen(0)
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect('/run/uroced/uroced.sock')""")


# `true` and `env` run over a device of uroce which they do not open.
def dashes(build):
    run = [tool('uroce-run'), '--libs', os.path.join(build, 'drivers', 'ibverbs')]
    # A mount namespace in which no uroced listens.
    empty_run = ['unshare', '--mount', '--map-root-user', 'sh', '-c', 'mount -t tmpfs none /run && exec "$@"', 'sh']
    return [
        Row('uroce-run: the value of --eal begins with a dash',
            [*run, '--eal', '--vdev=net_null0', '--dev', 'net_null0,addr=192.0.2.1/24', '--', 'env'], 0,
            r'(?m)^UROCE_EAL=--vdev=net_null0$'),
        Row('uroce-run: the words of the program are not options of uroce-run',
            [*run, '--dev', 'loopback', 'echo', '--eal', '--vdev=x'], 0, r'^--eal --vdev=x$'),
        Row('uroce-run: after the path of a socket, too',
            [*run, '--attach', '/nowhere/sock', '--eal', '--vdev=x', 'true'], 2, r'^$', r'/nowhere/sock'),
        Row('uroce-run: a uroced that accepts no connection',
            [*empty_run, sys.executable, '-c', FULL_LISTENER, *run, '--attach', '--', 'true'], 2, r'^$',
            r'uroced\.sock: no connection within 10 s: '),
        Row('uroce-run: an interface that is not there',
            [*run, '--dev', 'nowhere7,mtu=1024', 'true'], 2, r'^$',
            r'nowhere7: there is no network interface of this name; allowed are .*\blo\b.*, loopback, uroced, '),
        Row('uroce-run: an interface of a network namespace whose /sys is not mounted',
            ['unshare', '--net', '--map-root-user', 'sh', '-c', 'ip link add fd0 type veth && exec "$@"', 'sh', *run, '--dev', 'fd0', 'env'], 0,
            r'(?m)^UROCE=net_af_packet_fd0$'),
        Row('uroce-run: without a device, UDP sockets', [*empty_run, *run, '--verbose', 'env'], 0,
            r'(?m)^UROCE=udp,gid0=addr$', r'^uroce-run: device udp,gid0=addr$'),
        Row('uroce-run: without a device, a uroced that listens', [*empty_run, sys.executable, '-c', LISTENER, *run, 'env'], 0,
            r'(?m)^UROCE=uroced,socket=/run/uroced/uroced.sock$', r'^$'),
        Row('uroce-run: variables have priority over a uroced that listens',
            [*empty_run, sys.executable, '-c', LISTENER, 'env', 'UROCE=net_null0', *run, 'env'], 0, r'(?m)^UROCE=net_null0$', r'^$'),
        Row('uroce-run: a port of the EAL options may have any name',
            [*run, '--eal', '--vdev=nowhere7', '--dev', 'nowhere7', 'true'], 0),
        Row('uroce-lab: an unknown option is one of the test',
            [tool('uroce-lab'), 'no-port', 'write_bw', '--verify'], 1, r'^$', r'no-port: no such port'),
        Row('uroce-lab: the value of --server-eal begins with a dash',
            [tool('uroce-lab'), 'no-port', 'write_bw', '--server-eal', '--no-huge'], 1, r'^$', r'no-port: no such port'),
    ]


# The programs in C, below the build directory.
PROGRAMS = ['apps/uroce-connect', 'apps/uroce-devinfo', 'apps/uroce-perf', 'apps/uroce-pingpong', 'apps/uroced/uroced']
# An option that needs a value, and EAL options with which EAL cannot start.
VALUED = {'uroce-connect': '--uroce', 'uroce-devinfo': '--uroce', 'uroce-perf': '--size', 'uroce-pingpong': '--port', 'uroced': '--socket'}
# Programs that print the line of EAL which names a fault, and own arguments with which they start EAL.
EAL_USERS = (('apps/uroce-connect', ['--uroce=net_null0', '192.0.2.2:7471']), ('apps/uroce-devinfo', ['--uroce=net_null0']),
             ('apps/uroce-perf', ['--loopback', 'write_bw']))
NO_MEMORY = ['--no-huge', '-m', '1000000000']
VERSIONS = r'uroce [0-9.]+, DPDK [0-9.]+, rdma-core [0-9.]+'
TOOLS = ['usertools/' + name for name in ('quickstart', 'run-tests', 'uroce-doctor', 'uroce-lab', 'uroce-netdev',
                                          'uroce-run', 'uroce-stat')]
TOOLS += ['bench/uroce-bench-' + name for name in ('all', 'cm', 'idle', 'machines', 'ratio', 'sockets', 'stages', 'udp')]


def common(build):
    """What every tool answers."""
    for command in [os.path.join(TOP, path) for path in TOOLS] + [os.path.join(build, path) for path in PROGRAMS]:
        name = os.path.basename(command)
        for option in '-h', '--help':
            yield Row(f'{name} {option}', [command, option], 0, rf'(?s)^(?!.*EAL common options).*{name}', r'^$')
        yield Row(f'{name} --version', [command, '--version'], 0, rf'^{name}: ({VERSIONS}|uroce [0-9.]+, not built)$', r'^$')
        # uroce-lab passes options that it does not know to the test
        yield Row(f'{name} with a wrong option', [command, '--no-such-option'], 2, r'^$',
                  rf'^{name}: [^\n]*{"" if name == "uroce-lab" else "--no-such-option"}[^\n]*\n$')


def programs(build):
    """The programs in C, whose own options are behind `--`."""
    for path in PROGRAMS:
        command, name = os.path.join(build, path), os.path.basename(path)
        yield Row(f'{name} -- --help', [command, '--', '--help'], 0, rf'^(usage: )?{name} \[EAL options\]', r'^$')
        yield Row(f'{name} with a wrong option behind --', [command, '--no-huge', '--', '--no-such-option'], 2, r'^$',
                  rf'^{name}: --no-such-option: [^\n]*{name} --help[^\n]*\n$')
        yield Row(f'{name} with an option that lacks its value', [command, '--', VALUED[name]], 2, r'^$',
                  rf'^{name}: {VALUED[name]}: needs a value[^\n]*\n$')
        yield Row(f'{name} without arguments', [command], 2, r'^$', rf'^{name}: no [^\n]*\n$')
    yield Row('uroce-perf -V', [os.path.join(build, 'apps/uroce-perf'), '-V'], 0, rf'^uroce-perf: {VERSIONS}$', r'^$')
    # uroce-pingpong is an example of a program that calls rte_eal_init() itself
    for path, words in (*EAL_USERS, ('apps/uroced/uroced', ['net_null0'])):
        command, name = os.path.join(build, path), os.path.basename(path)
        yield Row(f'{name} -l 0 --help --', [command, '-l', '0', '--help', '--', *words], 0, rf'^{name} \[EAL options\]', r'^$')
    for path, words in EAL_USERS:
        command, name = os.path.join(build, path), os.path.basename(path)
        yield Row(f'{name} with a wrong option of EAL', [command, '--no-such-option', '--', *words], 2, r'^$',
                  rf'^{name}: [^\n]*--no-such-option[^\n]*DPDK[^\n]*\n$')
        yield Row(f'{name} with too little memory for EAL', [command, *NO_MEMORY, '--', *words], 1, r'^$',
                  rf'^{name}: EAL did not start, with [^\n]*\n$')


def forgotten(build):
    """@return the tools that no row runs"""
    found = [path for folder in ('usertools', 'bench') for path in os.scandir(os.path.join(TOP, folder))
             if path.is_file() and os.access(path, os.X_OK) and '.' not in path.name]
    found += [path for path in os.scandir(os.path.join(build, 'apps')) if path.is_file() and os.access(path, os.X_OK)]
    return sorted({path.name for path in found} - {os.path.basename(path) for path in TOOLS + PROGRAMS})


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
    build = os.path.abspath(sys.argv[1])
    rows = [*common(build), *programs(build), *closed_pipes(), *dashes(build)]
    failed = 0
    if forgotten(build):
        print('Bail out! without a row: ' + ' '.join(forgotten(build)))
        return 1
    print(f'TAP version 13\n1..{len(rows)}', flush=True)
    for number, row in enumerate(rows, 1):
        why = fault(row)
        failed += why is not None
        print(f'{"ok" if why is None else "not ok"} {number} - {row.name}', flush=True)
        for line in (why or '').splitlines():
            print(f'# {line}', flush=True)
    return 1 if failed else 0


sys.exit(main())
