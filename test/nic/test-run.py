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
RUN = [os.path.join(HERE, 'run'), '--nics', 'e1000e', '--roles', 'requester']
SCENARIO = 'memory-malloc'
# {IOVA: words of a fault that the runner must report}
FAULTS = {
    'va': 'DMAR: ',                # of the guest's kernel: the address is not mapped
    'pa': 'with a wrong ICRC',     # of badwire: the frame has bytes of other memory
}


def play(iova, library):
    """A run of one cell. @return its status, what it printed, and the cells of its matrix"""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([*RUN, '--iova', iova, '--out', out, '--preload', library, SCENARIO], capture_output=True,
                              text=True, check=False)
        try:
            with open(os.path.join(out, 'matrix.json'), encoding='utf-8') as file:
                return done.returncode, done.stdout + done.stderr, json.load(file)['cells']
        except OSError:
            return done.returncode, done.stdout + done.stderr, []


def main():
    library, = sys.argv[1:]
    lines, has_failed = [], False
    for number, (iova, words) in enumerate(FAULTS.items(), 1):
        status, said, cells = play(iova, library)
        if not cells:
            print(f'1..0 # SKIP {said.strip().splitlines()[0] if said.strip() else "no cell"}')
            return 0
        is_found = status == 1 and [cell['result'] for cell in cells] == ['fail'] and \
            any(words in why for why in cells[0]['why'])
        has_failed = has_failed or not is_found
        lines.append(f'{"ok" if is_found else "not ok"} {number} - {iova}: a NIC with wrong addresses is found')
        lines += [f'# {line}' for line in said.splitlines()]
    print('\n'.join([f'1..{len(FAULTS)}', *lines]))
    return int(has_failed)


sys.exit(main())
