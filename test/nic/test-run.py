#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the runner of NICs finds a NIC that gets wrong addresses.

    test-run.py LIBRARY

LIBRARY, which is preloaded into the programs on the NIC, gives the NIC a wrong address of some mbufs. Prints TAP.
"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RUN = [os.path.join(HERE, 'run'), '--nics', 'e1000e', '--iova', 'va', '--roles', 'requester']
SCENARIO = 'memory-malloc'
UNABLE = 'run: '     # what the runner prints before the reason why it can run nothing
FAULT = 'DMAR: '    # in the line of the guest's kernel that the runner must report: the address is not mapped


def play(library, out):
    """A run of one cell. @return its status, what it printed, and the cells of its matrix"""
    done = subprocess.run([*RUN, '--out', out, '--preload', library, SCENARIO], capture_output=True, text=True,
                          check=False)
    try:
        with open(os.path.join(out, 'matrix.json'), encoding='utf-8') as file:
            return done.returncode, done.stdout + done.stderr, json.load(file)['cells']
    except OSError:
        return done.returncode, done.stdout + done.stderr, []


def main():
    with tempfile.TemporaryDirectory() as out:
        status, said, cells = play(sys.argv[1], out)
    reasons = [line for line in said.splitlines() if line.startswith(UNABLE)]
    if reasons and not cells:
        print(f'1..0 # SKIP {reasons[0].removeprefix(UNABLE)}')
        return 0
    is_found = status == 1 and [cell['result'] for cell in cells] == ['fail'] and \
        any(FAULT in why for why in cells[0]['why'])
    print(f'1..1\n{"ok" if is_found else "not ok"} 1 - a NIC with wrong addresses is found')
    print('\n'.join(f'# {line}' for line in said.splitlines()))
    return int(not is_found)


sys.exit(main())
