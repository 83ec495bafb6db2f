#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that many connections by librdmacm stand at once between two processes, are used, and end.

    check-cm-many.py [--libs FOLDER] [--connections N] PROGRAM [PORT...]

PROGRAM is cm_many, which is run as a server and a client over each port. Prints TAP, with the rates.
"""

import argparse
import copy
import os
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'interop'))
import pair  # noqa: E402

PORTS = ('memif', 'af_packet', 'uroced', 'uroced_pair')
TIMEOUT_S = 600    # only a hang exceeds it
# Memory of a process: for its port and its rings, and for each connection.
MIB = 512
QP_KIB = 100


def memory_mib(nb):
    """The memory of EAL that a process with so many connections gets."""
    return MIB + nb * QP_KIB // 1024


def available_mib():
    with open('/proc/meminfo', encoding='ascii') as file:
        return next(int(line.split()[1]) // 1024 for line in file if line.startswith('MemAvailable:'))


def check_memory(nb):
    """Raise an error if this machine has not enough memory for both ends."""
    needed, available = 2 * memory_mib(nb), available_mib()
    if available < needed:
        raise pair.LabError(f'{nb} connections need {needed} MiB of memory, and {available} MiB are available')


def start(lab, side, keeper, args, words, log):
    """Start one end, with room for the QPs. It uses ordinary memory, which check_memory() has counted: the free hugepages may
    be too few.
    """
    side = copy.copy(side)
    side.device = re.sub(',qps=[0-9]+', '', side.device) + f',qps={2 * args.connections}'
    if side.eal:
        side.eal = side.eal + ['--no-huge', f'-m {memory_mib(args.connections)}']
    command = [args.program, '-n', str(args.connections), *words]
    return lab.start(pair.inside(side.keeper or keeper) + pair.under_run(side, args.libs, command),
                     stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def listens(process, log):
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        if 'listens' in pair.lines_of(log):
            return True
        time.sleep(0.05)
    return False


def run(port, args):
    """@return whether both ends are well, and the lines of the client and the server"""
    check_memory(args.connections)
    lab = pair.Lab()
    logs = [tempfile.TemporaryFile('w+') for _ in range(2)]
    try:
        wire = pair.PORTS[port][0](lab)
        keeper = wire.server.keeper or pair.alone(lab)
        server = start(lab, wire.server, keeper, args, [], logs[0])
        is_well = listens(server, logs[0])
        if is_well:
            client = start(lab, wire.client, keeper, args, ['192.0.2.1'], logs[1])
            is_well = client.wait(TIMEOUT_S) == 0 and server.wait(TIMEOUT_S) == 0
    except subprocess.TimeoutExpired:
        is_well = False
    finally:
        lab.close()
    return is_well, pair.lines_of(logs[1]), pair.lines_of(logs[0])


def main():
    parser = argparse.ArgumentParser(description='Many connections by librdmacm.')
    parser.add_argument('--libs', type=os.path.abspath)
    parser.add_argument('--connections', type=int, default=500)
    parser.add_argument('program', type=os.path.abspath)
    parser.add_argument('ports', nargs='*', default=PORTS)
    args = parser.parse_args()
    ports = args.ports or PORTS
    print('TAP version 13')
    print(f'1..{len(ports)}', flush=True)
    failed = 0
    for number, port in enumerate(ports, 1):
        try:
            is_well, client, server = run(port, args)
        except pair.LabError as error:
            print(f'ok {number} - {port} # SKIP {error}', flush=True)
            continue
        failed += not is_well
        print(f'{"ok" if is_well else "not ok"} {number} - {port}', flush=True)
        for line in client[-4:] if is_well else client[-4:] + server[-4:]:
            print(f'# {line}', flush=True)
    return 1 if failed else 0


sys.exit(main())
