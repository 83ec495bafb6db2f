#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that every completion of WRITEs and SENDs arrives, whether the peer polls, stops, reads memory or waits.

    check-completion.py [--libs LIBS] [--port memif] [--rounds 200] PROGRAM

PROGRAM is completion.c of this folder. Its client and its server are joined by a port of usertools/uroce_ports.py. The
script prints the client's TAP. The measured times are comments in it, and do not affect the result.
"""

import argparse
import os
import sys

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, 'test', 'interop'))
import pair  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description='Completions of sends, between two processes.')
    parser.add_argument('--libs', type=os.path.abspath)
    parser.add_argument('--port', default='memif', choices=[port for port in pair.PORTS if pair.PORTS[port][0]])
    parser.add_argument('--rounds', default='200')
    parser.add_argument('program', type=os.path.abspath)
    args = parser.parse_args()
    try:
        statuses, said = pair.run(args.port, args.libs, [args.program, '-n', args.rounds])
    except pair.LabError as error:
        print(f'1..0 # SKIP {error}')
        return 0
    print(*said[1], sep='\n')
    if statuses == [0, 0]:
        return 0
    print('# the server said:', *said[0][-4:], sep='\n# ')
    print(f'Bail out! server and client ended with {statuses[0]} and {statuses[1]}, None: not at all')
    return 1


sys.exit(main())
