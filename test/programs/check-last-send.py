#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that a SEND which the peer has received is never flushed, even if both ends of a connection stop at once.

    check-last-send.py [--libs FOLDER] [--connections N] [--all] PROGRAM [PORT...]

PROGRAM is last_send, which is run as a server and a client over each port. A completion waits 20 ms at most for the
acknowledgement before it. On a machine with many busy programs, uroced may need longer. So a run with flushed SENDs is
repeated. Without the wait, some SENDs of each run are flushed. Prints TAP.
"""

import argparse
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'interop'))
import pair  # noqa: E402

PORTS = ('memif', 'af_packet', 'uroced', 'uroced_pair')
# The client polls TCP; the server waits for an event; 40 messages in each direction before the last one.
WAYS = ('-s', '-e', '-m 40')
TRIALS = 4
FLUSHED = 1    # exit status of the client if SENDs were flushed
ALL_WAYS = ('', '-w 50', '-w 200', '-s -w 50', '-s -w 200', '-e -s', '-e -w 50', '-e -w 200', *WAYS)


def run(port, args, way):
    """@return exit statuses, and the lines of server and client, of the last run"""
    for _ in range(TRIALS):
        statuses, said = pair.run(port, args.libs, [args.program, '-c', args.connections, *way.split()])
        if statuses != [0, FLUSHED]:
            break
    return statuses, said


def main():
    parser = argparse.ArgumentParser(description='SENDs that are flushed although the peer has taken them.')
    parser.add_argument('--libs', type=os.path.abspath)
    parser.add_argument('--connections', default='50')
    parser.add_argument('--all', action='store_true', help='every way of waiting, with 0, 50 and 200 us')
    parser.add_argument('program', type=os.path.abspath)
    parser.add_argument('ports', nargs='*', default=PORTS)
    args = parser.parse_args()
    tests = [(port, way) for port in args.ports or PORTS for way in (ALL_WAYS if args.all else WAYS)]
    print('TAP version 13')
    print(f'1..{len(tests)}', flush=True)
    failed = 0
    for number, (port, way) in enumerate(tests, 1):
        name = f'{port} {way or "blocking"}'
        try:
            statuses, said = run(port, args, way)
        except pair.LabError as error:
            print(f'ok {number} - {name} # SKIP {error}', flush=True)
            continue
        is_well = statuses == [0, 0]
        failed += not is_well
        print(f'{"ok" if is_well else "not ok"} {number} - {name}: {said[1][-1] if said[1] else ""}', flush=True)
        if not is_well:
            print(f'# statuses {statuses}; the server: {said[0][-2:]}', flush=True)
    return 1 if failed else 0


sys.exit(main())
