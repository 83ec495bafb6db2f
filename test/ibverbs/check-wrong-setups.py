#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests what a user of unmodified programs sees after a wrong set-up: one line of uroce says what is
wrong and what is allowed. Each row of the table is a mistake.

    test/ibverbs/check-wrong-setups.py --libs FOLDER

Server and client are joined by memif. Prints TAP. A program that is not installed is skipped.
"""

import argparse
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, 'test', 'interop')]
import pair  # noqa: E402
from uroce_ports import PORTS, Lab, LabError, inside, stop  # noqa: E402

PATIENCE_S = 300    # only a hang exceeds it
KILL_PACKETS = 1000
STAT = os.path.join(TOP, 'usertools', 'uroce-stat')


@dataclasses.dataclass
class Row:
    """A mistake. `pattern` is a regular expression for the line of uroce, of server or client."""
    name: str
    pattern: str
    server: str = 'ib_write_bw -x 1'
    client: str = None             # as the server's, if it is None
    server_keys: str = ''          # added to the device
    client_keys: str = ''
    client_device: str = None      # instead of the device of the wire
    client_eal: str = None         # instead of the EAL options of the wire
    config: str = None             # text of a configuration file, instead of the device and the EAL options
    is_alone: bool = False         # the client alone runs: it fails before it looks for a server
    is_killed: bool = False        # the server is killed when the client has sent KILL_PACKETS


NO_SERVER = {'is_alone': True}
ROWS = [
    Row('addresses of different networks',
        r'198\.51\.100\.2|192\.0\.2\.1 is in no network of net_memif\w* \(198\.51\.100\.2/24\) and there is no gateway: allowed',
        client_device='net_memif0,addr=198.51.100.2/24'),
    Row('no GRH, as -g was forgotten', r'is_global is 0: allowed is 1, RoCE needs a GRH \(option -x or -g',
        server='ibv_rc_pingpong'),
    Row('a GID index without an address', r'GID index 9 of net_memif\w* is empty: allowed are 0 \(fe80::',
        server='ib_write_bw -x 9'),
    Row('a GID of the other IP version', r'GID index \d is an address of IPv\d and the destination \S+ is not: allowed are \d',
        server='ibv_rc_pingpong -g 1', client='ibv_rc_pingpong -g 0'),
    Row('a VLAN that the peer does not have', r'no reply to ARP on the way to 192\.0\.2\.\d within 3 s: is that host up',
        client_keys=',vlan=5'),
    Row('a path MTU above that of the port', r'path_mtu 5 is 4096 bytes, and the port carries 1024: allowed is up to 1024',
        server='ibv_rc_pingpong -g 1 -m 4096', server_keys=',mtu=1024', client_keys=',mtu=1024'),
    # The client of ib_write_bw always has unacknowledged requests. A ping-pong does not: a client that
    # waits for a message of a dead peer waits forever, as RC sends nothing to ask whether the peer lives.
    Row('the peer was killed', r'no response from the peer, after all retries; check that the peer\'s program runs',
        server='ib_write_bw -x 1 -n 100000000', is_killed=True),
    Row('a receive queue longer than the limit', r'create_qp: max_recv_wr is 40000: allowed are up to \d+',
        server='ibv_rc_pingpong -g 1 -r 40000', **NO_SERVER),
    Row('a message longer than the receive buffer',
        r'message longer than the receive buffer; post receive requests that are as long',
        server='ibv_rc_pingpong -g 1 -s 4096', client='ibv_rc_pingpong -g 1 -s 100000'),
    Row('path MTUs that differ', r"failed at PSN 0x\w+ of the peer's requests: .*the path MTU, which must be the same",
        server='ibv_rc_pingpong -g 1 -m 2048 -s 8192', client='ibv_rc_pingpong -g 1 -m 1024 -s 8192'),
    Row('a completion queue longer than the limit', r'create_cq: cqe is \d+: allowed are 1 to \d+',
        server='ibv_rc_pingpong -g 1 -r 5000000', **NO_SERVER),
    Row('an unknown key of the device', r"unknown key 'mtuu': allowed are addr, gw, mtu",
        client_keys=',mtuu=1024', **NO_SERVER),
    Row('a port that does not exist', r"no port 'net_nothing0': EAL has none \(--vdev makes one",
        client_device='net_nothing0,addr=192.0.2.2/24', client_eal='--no-huge', **NO_SERVER),
    Row('a configuration file without a device', r'UROCE_CONFIG: \S+ names no device: allowed is a section \[device\]',
        server='ibv_devices', config='; nothing\n', **NO_SERVER),
    Row('a configuration file that is none', r'UROCE_CONFIG: \S+ cannot be read: allowed is a file of sections',
        server='ibv_devices', config='garbage\n[\n', **NO_SERVER),
    Row('uroced does not run', r'/nowhere/sock', client_device='uroced,socket=/nowhere/sock', client_eal='', **NO_SERVER),
    Row('more memory than there is', r'EAL did not start: .*; allowed in UROCE_EAL is -m MIB that', server='ibv_rc_pingpong -g 1', client_eal='--no-huge -m 1000000000 --vdev=net_null0',
        client_device='net_null0,addr=192.0.2.2/24', **NO_SERVER),
]


def start(lab, side, libs, command, log, keeper, config=None):
    words = [pair.RUN, *(('--config', config.name) if config else ('--dev', side.device))]
    if side.eal and not config:
        words += ['--eal', ' '.join(side.eal)]
    words += ['--libs', libs, '--', *command]
    return lab.start(inside(side.keeper or keeper) + words, env=dict(os.environ, UROCE_LOG='warning,qp=debug'),
                     stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def wait_for_packets(process):
    """Wait until the device of the process has sent KILL_PACKETS, or the process has ended."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        told = subprocess.run([STAT, '--json', '--all', f'{process.pid}/uroce0'], capture_output=True, text=True)
        counts = re.search(r'"sent_pkts": (\d+)', told.stdout)
        if counts and int(counts[1]) >= KILL_PACKETS:
            return
        time.sleep(0.05)


def lines_of(logs):
    for log in logs:
        log.seek(0)
    return [line.strip() for log in logs for line in log if line.strip()]


def run(row, libs):
    """@return the lines that both ends printed, and whether both ended by themselves"""
    lab = Lab()
    logs = [tempfile.TemporaryFile('w+') for _ in range(2)]
    config = tempfile.NamedTemporaryFile('w', suffix='.conf') if row.config else None
    try:
        wire = PORTS['memif'][0](lab)
        keeper = wire.server.keeper or pair.alone(lab)
        wire.server.device += row.server_keys
        wire.client.device = (row.client_device or wire.client.device) + row.client_keys
        if row.client_eal is not None:
            wire.client.eal = row.client_eal.split()
        ends = []
        if not row.is_alone:
            before = pair.listeners(keeper)
            ends.append(start(lab, wire.server, libs, row.server.split(), logs[0], keeper))
            pair.wait_for_server(ends[0], keeper, before)
        command = (row.client or row.server).split() + ([] if row.is_alone else [wire.tcp])
        if config:
            config.write(row.config)
            config.flush()
        ends.append(start(lab, wire.client, libs, command, logs[1], keeper, config))
        if row.is_killed:
            wait_for_packets(ends[1])
            ends[0].kill()
        deadline = time.monotonic() + PATIENCE_S
        ends[-1].wait(max(0.1, deadline - time.monotonic()))
        for end in ends:
            stop(end)
        return lines_of(logs), True
    except subprocess.TimeoutExpired:
        return lines_of(logs), False
    finally:
        lab.close()


def main():
    parser = argparse.ArgumentParser(description='What a user sees after a wrong set-up.')
    parser.add_argument('--libs', metavar='FOLDER', type=os.path.abspath, required=True)
    parser.add_argument('words', nargs='*', metavar='WORD', help='only rows with all of these words')
    args = parser.parse_args()
    rows = [row for row in ROWS if all(word in row.name for word in args.words)]
    failed = 0
    print(f'TAP version 13\n1..{len(rows)}', flush=True)
    for number, row in enumerate(rows, 1):
        program = row.server.split()[0]
        try:
            if not shutil.which(program):
                raise LabError(f'{pair.PACKAGES[program.split("_")[0]]} is not installed')
            lines, has_ended = run(row, args.libs)
        except LabError as error:
            print(f'ok {number} - {row.name} # SKIP {error}', flush=True)
            continue
        found = [line for line in lines if re.search(row.pattern, line)]
        is_well = bool(found) and has_ended
        failed += not is_well
        print(f'{"ok" if is_well else "not ok"} {number} - {row.name}', flush=True)
        if not has_ended:
            print('# the client did not end')
        print(*(f'# {line}' for line in (found[:1] if is_well else lines)), sep='\n', flush=True)
    return 1 if failed else 0


sys.exit(main())
