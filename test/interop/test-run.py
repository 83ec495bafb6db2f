#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What becomes of a run whose peer stops, and its wire with it, as they do when the kernel of a guest panics?

    test-run.py

Prints TAP. Uroce against itself, so that no guest is needed.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RUN = [os.path.join(HERE, 'run'), '--tap', '--ip', '4', '--mtu', '1024', '--pairs', 'uroce>uroce']
SCENARIOS = 'rc-send', 'rc-write', 'rc-read'
LOST = 'badwire', 'actor'


def lost(parent):
    """The processes of these names, of those that a process began."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as file:
                name, ppid = re.match(r'\d+ \((.*)\) \S (\d+)', file.read()).groups()
        except OSError:
            continue    # it has ended
        if int(ppid) == parent:
            found += [int(pid)] if name in LOST else lost(int(pid))
    return found


def main():
    print('TAP version 13')
    with tempfile.TemporaryDirectory() as folder:
        with subprocess.Popen([*RUN, '--out', folder, *SCENARIOS], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as run:
            lines = []
            for line in run.stdout:
                lines.append(line)
                if line.startswith('ok 1 -'):
                    for pid in lost(run.pid):
                        os.kill(pid, signal.SIGKILL)
        skipped = [line for line in lines if line.startswith('1..0 # SKIP')]
        if skipped:
            print(skipped[0], end='')
            return 0
        said = [line.split(' - ')[0] for line in lines if re.match('(not )?ok ', line)]
        is_well = said == ['ok 1', 'not ok 2', 'ok 3'] and run.returncode == 1
        print(f'1..1\n{"ok" if is_well else "not ok"} 1 - a peer and a wire that are lost cost one cell, and the run goes on')
        if not is_well:
            print(''.join('# ' + line for line in lines), end='')
        return int(not is_well)


sys.exit(main())
