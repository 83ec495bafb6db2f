# SPDX-License-Identifier: BSD-3-Clause
"""Runs two processes of one program that was built for libibverbs, under uroce-run: a server and a client. They are
joined by a port of usertools/uroce_ports.py. Several scripts of this folder use this module.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'usertools'))
from uroce_ports import PORTS, Lab, LabError, inside, stop  # noqa: E402

RUN = os.path.join(TOP, 'usertools', 'uroce-run')
TIMEOUT = 90    # time limit in seconds for a pair
GID = 1          # index of the address of the wire, or of the first configured address
PACKAGES = {'ibv': 'ibverbs-utils', 'ib': 'perftest', 'ucx': 'ucx-utils', 'fi': 'libfabric-bin',
            'mpirun': 'openmpi-bin'}


def under_run(side, libs, command, options=()):
    """The words that run a command on this side, with further options of uroce-run."""
    words = [RUN, '--dev', side.device, *options]
    if side.eal:
        words += ['--eal', ' '.join(side.eal)]
    if libs:
        words += ['--libs', libs]
    return words + ['--'] + command


def missing(program):
    """The package of a program that is not installed; None: the program is installed."""
    return None if shutil.which(program) else PACKAGES[program.split('_')[0]]


def alone(lab):
    """A namespace for both ends, if possible: other processes may use the TCP ports of the programs."""
    try:
        return lab.namespace()
    except LabError:
        return None


def listeners(keeper):
    """TCP ports with a listening socket, in this namespace or the one of this process."""
    ports = set()
    for table in 'tcp', 'tcp6':
        with open(f'/proc/{keeper.pid if keeper else "self"}/net/{table}', encoding='ascii') as file:
            ports |= {words[1] for words in map(str.split, file) if words[3] == '0A'}
    return ports


def wait_for_server(process, keeper, before):
    """Wait until the server listens or has ended, ten seconds at most."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and process.poll() is None and not listeners(keeper) - before:
        time.sleep(0.05)


def lines_of(log):
    log.seek(0)
    return [line.strip() for line in log if line.strip()]


def run(port, libs, command, env=None):
    """The statuses of server and client, None for one that did not end, and the lines of output of each."""
    lab = Lab()
    logs = [tempfile.TemporaryFile('w+') for _ in range(2)]
    try:
        wire = PORTS[port][0](lab)
        keeper = wire.server.keeper or alone(lab)
        before = listeners(keeper)
        ends = []
        for side, target, log in zip((wire.server, wire.client), ([], [wire.tcp]), logs):
            ends.append(lab.start(inside(side.keeper or keeper) + under_run(side, libs, command + target),
                                  env=dict(os.environ, **(env or {})), stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log))
            if not target:
                wait_for_server(ends[0], keeper, before)
        deadline = time.monotonic() + TIMEOUT
        for end in reversed(ends):
            try:
                end.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
        statuses = [end.poll() for end in ends]
        for end in ends:
            stop(end)
    finally:
        lab.close()
    return statuses, [lines_of(log) for log in logs]


def report(port, libs, commands, result):
    """Run all commands and print TAP.

    Each of `commands` is a name, the words, and additions to the environment. `result` selects the important line from
    the client's lines, '' for none.
    @return the number of failures
    """
    print('TAP version 13')
    print(f'1..{len(commands)}', flush=True)
    failed = 0
    for number, (name, words, env) in enumerate(commands, 1):
        package = missing(words[0])
        try:
            if package:
                raise LabError(f'{package} is not installed')
            statuses, said = run(port, libs, words, env)
        except LabError as error:
            print(f'ok {number} - {name} # SKIP {error}', flush=True)
            continue
        found = result(said[1])
        is_well = statuses == [0, 0] and found is not None
        print(f'{"ok" if is_well else "not ok"} {number} - {name}', flush=True)
        if found:
            print(f'# {found}', flush=True)
        if not is_well:
            failed += 1
            for end, status, lines in zip(('server', 'client'), statuses, said):
                print(f'# {end}: {"did not end" if status is None else f"status {status}"}',
                      *lines[-4:], sep=f'\n# {end}: ', flush=True)
    return failed


def parse(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument('--port', default='memif', choices=[port for port in PORTS if PORTS[port][0]])
    parser.add_argument('--all', action='store_true', help='every combination')
    parser.add_argument('--libs', metavar='FOLDER', type=os.path.abspath,
                        help='where the libraries are, if not in build/')
    parser.add_argument('words', nargs='*', metavar='WORD',
                        help='only commands with all of these words')
    return parser.parse_args()


def is_chosen(args, words, is_short):
    return all(word in words for word in args.words) and (args.all or bool(args.words) or is_short)
