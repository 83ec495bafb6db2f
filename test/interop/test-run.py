#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests runs whose peer and wire stop, as if the kernel of a guest panics, and runs that are interrupted.

    test-run.py

Prints TAP. uroce is both peers, so that no guest is needed.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RUN = [os.path.join(HERE, 'run'), '--tap', '--ip', '4', '--pairs', 'uroce>uroce', '--soak', '10']
MID_CELL_S = 2


def processes(parent, names):
    """Descendants of a process that have one of these names."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as file:
                name, ppid = re.match(r'\d+ \((.*)\) \S (\d+)', file.read(), re.DOTALL).groups()
        except OSError:
            continue    # the process has ended
        if int(ppid) == parent:
            found += [int(pid)] if name in names else processes(int(pid), names)
    return found


def play(scenarios, strike):
    """A run with `strike` during its second scenario. @return its status, and the lines that it printed"""
    with tempfile.TemporaryDirectory() as out, tempfile.TemporaryDirectory() as folder:
        scratch = os.path.join(folder, 'scratch')
        os.mkdir(scratch)
        with subprocess.Popen([*RUN, '--out', out, *scenarios], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env={**os.environ, 'TMPDIR': scratch}) as run:
            lines = []
            for line in run.stdout:
                lines.append(line)
                if line.startswith('ok 1 -'):
                    strike(run.pid, scratch)
    return run.returncode, lines


def lose(pid, *names):
    for one in processes(pid, names):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


def lose_both(pid, _scratch):
    lose(pid, 'badwire', 'actor')


def lose_for_ever(pid, scratch):
    """Also remove the folder, so that another badwire cannot make its socket."""
    shutil.rmtree(scratch)
    lose_both(pid, scratch)


def interrupt(number):
    def strike(pid, _scratch):
        time.sleep(MID_CELL_S)
        lose(pid, 'badwire')
        os.kill(pid, number)
    return strike


def results(lines):
    return [line.split(' - ')[0] for line in lines if re.match('(not )?ok ', line)]


def goes_on(status, lines):
    return (status == 1 and results(lines) == ['ok 1', 'not ok 2', 'ok 3'] and
            any(line.startswith('# badwire: ') for line in lines))


def tells_all(status, lines):
    return (status == 1 and results(lines) == ['ok 1', 'not ok 2', 'not ok 3'] and
            '# there is no network for it any more\n' in lines)


def ends(status, lines):
    return status != 0 and results(lines) == ['ok 1']


# The second scenario lasts for seconds, so that the strike meets it on a busy machine, too.
THREE, LONG = ('rc-inline', 'rnr', 'both-ways'), ('rc-inline', 'soak')
TESTS = (('a peer and a wire that are lost cost one cell, and the run goes on', THREE, lose_both, goes_on),
         ('cells for which there is no network any more have failed', THREE, lose_for_ever, tells_all),
         ('a run that is interrupted ends, though its wire is lost', LONG, interrupt(signal.SIGINT), ends),
         ('a run that is terminated ends, though its wire is lost', LONG, interrupt(signal.SIGTERM), ends))


def main():
    print(f'TAP version 13\n1..{len(TESTS)}')
    failed = 0
    for number, (text, scenarios, strike, is_well) in enumerate(TESTS, 1):
        status, lines = play(scenarios, strike)
        why = [line for line in lines if line.startswith('1..0 # SKIP')]
        if why and status == 0:
            print(f'ok {number} - {text} {why[0].removeprefix("1..0 ")}', end='', flush=True)
        elif is_well(status, lines):
            print(f'ok {number} - {text}', flush=True)
        else:
            print(f'not ok {number} - {text}\n# status {status}\n' + ''.join('# ' + line for line in lines), end='',
                  flush=True)
            failed += 1
    return int(failed > 0)


sys.exit(main())
