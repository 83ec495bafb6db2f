#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests whether the comparisons follow from the measurements. Nothing is measured: the runs have fixed results.

    test-bench-ratio.py BENCH
"""

import argparse
import importlib.machinery
import importlib.util
import os
import subprocess
import sys

sys.dont_write_bytecode = True
TOOLS = os.path.abspath(sys.argv[1])
sys.path.insert(0, TOOLS)
import uroce_lines  # noqa: E402
import uroce_record  # noqa: E402
import uroce_runs  # noqa: E402
from uroce_bench import Shape  # noqa: E402
from uroce_noise import Noise  # noqa: E402

failed = 0


def expect(what, is_right):
    global failed
    print(f"{'ok' if is_right else 'FAIL'}    {what}")
    failed += not is_right


class Made(uroce_runs.Run):
    """A run with known values."""

    def __init__(self, name, why=None):
        self.name = name
        self.why = why

    def why_not(self):
        return self.why


def load(name):
    """Load a program of usertools as a module, without its last line, which would run it."""
    path = os.path.join(TOOLS, name)
    with open(path, encoding='utf-8') as file:
        text = file.read()
    spec = importlib.util.spec_from_loader(name, loader=None)
    module = importlib.util.module_from_spec(spec)
    exec(compile(text.replace('\nsys.exit(main())\n', '\n'), path, 'exec'), module.__dict__)
    return module


def check_lines():
    ours, theirs = Made('ours'), Made('theirs')
    metrics = {ours: {'frames_per_s': 30}, theirs: {'frames_per_s': 100}}
    line = uroce_lines.Line('x', ours, theirs, 'frames_per_s', floor=0.6, share=0.5)
    expect('a ratio is of a share of the reference', line.ratio(metrics) == 0.6)
    expect('a floor is enough', line.is_right(0.6) and not line.is_right(0.59))
    expect('what must be is told', line.must() == '>= 60 %')
    line = uroce_lines.Line('x', ours, theirs, 'frames_per_s', ceiling=1.3)
    expect('a ceiling is allowed', line.is_right(1.3) and not line.is_right(1.31))
    line = uroce_lines.Line('x', ours, None, 'frames_per_s', floor=20000)
    expect('without a reference it is the value', line.ratio(metrics) == 30)
    expect('that is told as a number', line.must() == '>= 20,000')
    rows = [line for lines in uroce_lines.LINES.values() for line in lines]
    expect('names of lines are unique', len({row.name for row in rows}) == len(rows))
    expect('each line has one bound', all((row.floor is None) != (row.ceiling is None)
                                          for row in rows))


def quiet(*values, **noisy):
    """Rounds with these values. @param noisy  `roundN` is the share that other processes took in round N"""
    return [({'bytes_per_s': value}, Noise(0, noisy.get(f'round{number}', 0)))
            for number, value in enumerate(values)]


def check_judge():
    ratio = load('uroce-bench-ratio')
    ours, theirs, absent = Made('ours'), Made('theirs'), Made('absent', 'it is not there')
    found = {ours: quiet(90, 80, 95), theirs: quiet(100, 100, 100)}
    line = uroce_lines.Line('x', ours, theirs, 'bytes_per_s', floor=0.9)
    row = ratio.judge('g', line, found, {})
    expect('the median of the rounds is judged', (row['ratio'], row['result']) == (0.9, 'pass'))
    expect('the spread is told', (row['ratio_min'], row['ratio_max']) == (0.8, 0.95))
    line = uroce_lines.Line('x', ours, theirs, 'bytes_per_s', floor=0.91)
    expect('below the floor it fails', ratio.judge('g', line, found, {})['result'] == 'FAIL')
    row = ratio.judge('g', line, found, {theirs: 'it ended'})
    expect('a run that ended is an error', (row['result'], row['why']) == ('error', 'it ended'))
    line = uroce_lines.Line('x', ours, absent, 'bytes_per_s', floor=0.9)
    expect('what cannot be run is skipped', ratio.judge('g', line, found, {})['result'] == 'skipped')


def check_noise():
    ratio = load('uroce-bench-ratio')
    ours, theirs = Made('ours'), Made('theirs')
    line = uroce_lines.Line('x', ours, theirs, 'bytes_per_s', floor=0.9)

    def judged(left, right):
        return ratio.judge('g', line, {ours: left, theirs: right}, {})
    row = judged(quiet(95, 95, 95), quiet(100, 100, 100))
    expect('without noise there is a verdict', (row['result'], row['noisy_rounds']) == ('pass', 0))
    expect('the noise of each round is in the row',
           row['noise'] == [{'steal': 0, 'foreign': 0}] * 3 and ratio.of_noise(row) == '')
    row = judged(quiet(95, 80, 95, round2=0.5), quiet(100, 100, 100))
    expect('a noisy round that may decide: no verdict', (row['result'], row['noisy_rounds']) == ('noisy', 1))
    expect('the number of noisy rounds is told', ratio.of_noise(row) == ' (noise in 1 of 3 rounds)')
    row = judged(quiet(95, 95, 95), quiet(100, 100, 100, round0=0.2, round1=0.3))
    expect('noise during the reference counts, too', row['result'] == 'noisy' and
           [part['foreign'] for part in row['noise']] == [0.2, 0.3, 0])
    row = judged(quiet(95, 95, 95, 95, 1, round4=0.5), quiet(*[100] * 5))
    expect('a noisy round that cannot decide: a verdict', (row['result'], row['noisy_rounds']) == ('pass', 1))

    def status(*results):
        return ratio.status_of([{'result': result} for result in results])
    expect('all lines pass: status 0', status('pass', 'skipped') == 0)
    expect('a line fails: status 1', status('pass', 'FAIL', 'noisy') == 1 and status('error') == 1)
    expect('a line has no verdict: status 3', status('pass', 'noisy') == 3)
    found = {ours: [({}, Noise(0.12, 0)), ({}, Noise(0.01, 0.3))]}
    said = ratio.refusal([{'result': 'noisy'}, {'result': 'pass'}], found)
    expect('the refusal names the figures', 'no verdict on 1 of 2 lines' in said and
           'steal 12 %, other processes 30 % of the CPUs' in said and 'allowed: 3 %' in said)
    expect('without noisy lines nothing is refused', ratio.refusal([{'result': 'FAIL'}], found) is None)


def check_rounds():
    ratio = load('uroce-bench-ratio')
    runs = [Made('good'), Made('bad')]
    no_noise = Noise(0, 0)
    kept = [({'bytes_per_s': value}, no_noise) for value in (1, 2)]
    values = {runs[0]: iter((1, 2)), runs[1]: iter(())}

    def measure(args, run):
        value = next(values[run], None)
        if value is None:
            raise uroce_runs.LabError('it ended')
        return {'bytes_per_s': value}
    ratio.measure = measure
    ratio.measure_quietly = lambda measure, repeats: (measure(), no_noise)
    args = argparse.Namespace(rounds=2, verbose=False, minutes=None)
    found, why = ratio.run_rounds(args, runs)
    expect('each round is kept with its noise', found == {runs[0]: kept, runs[1]: []})
    expect('a run that fails has a reason', why == {runs[1]: 'it ended'})


def check_deadline():
    ratio = load('uroce-bench-ratio')

    def rounds(minutes, *seconds):
        """The number of rounds that run if they take so long."""
        now = [0]
        deadline = ratio.Deadline(minutes, lambda: now[0])
        for number, took in enumerate(seconds):
            if not deadline.has_room():
                return number
            now[0] += took
        return len(seconds)
    expect('without a limit all rounds run', rounds(None, 9999, 9999) == 2)
    expect('a round that would end in time runs', rounds(2, 60, 60) == 2)
    expect('a round that would end later does not', rounds(2, 61, 1) == 1)
    expect('the longest round counts', rounds(3, 70, 10, 60, 1) == 3)
    expect('the first round always runs', rounds(1, 999, 1) == 1)


def check_metrics():
    report = {'test_info': {'Connect_rate': 5}, 'results': {'MsgRate': 2.0}}
    found = uroce_runs.metrics_of(Shape(8192, 4096), report)
    expect('a message has its frames', found['frames_per_s'] == 4e6)
    expect('and its bytes', found['bytes_per_s'] == 2e6 * 8192)
    expect('the rate of connecting is read', found['connect_per_s'] == 5)


def check_record():
    made = {'machine': {'name': 'vm', 'cpu': 'a CPU', 'cpus': 2, 'memory_bytes': 1, 'kernel': 'Linux 6'},
            'versions': {'uroce': '0123456789abcdef', 'dpdk': '22.11', 'compiler': 'cc', 'ucx': ''},
            'began': '2026-01-02T03:04:05Z'}
    expect('a run names machine, commit, DPDK and time', uroce_record.describe(made) ==
           'vm: a CPU, 2 CPUs, Linux 6; uroce 0123456789ab, DPDK 22.11, 2026-01-02T03:04:05Z')
    expect('a tree with changes is named so',
           uroce_record.commit_text('0123456789abcdef-dirty') == '0123456789ab with changes')
    expect('a tree without git, too', uroce_record.commit_text('') == 'of no known commit')
    found = uroce_record.record()
    expect('the record of this run has the same keys', found.keys() == made.keys() and
           all(found[key].keys() == made[key].keys() for key in ('machine', 'versions')))


def check_refused(name, words, expected):
    run = subprocess.run([os.path.join(TOOLS, name), *words], capture_output=True, text=True,
                         check=False)
    expect(f"{name} {' '.join(words)}: refused in one line that says {expected!r}",
           run.returncode == 1 and run.stderr.count('\n') == 1 and expected in run.stderr)


def main():
    check_lines()
    check_judge()
    check_noise()
    check_rounds()
    check_deadline()
    check_metrics()
    check_record()
    for name in 'uroce-bench-ratio', 'uroce-bench-stages':
        check_refused(name, ['ring'], 'memif')
        check_refused(name, ['memif', '--seconds', '0'], 'positive')
    check_refused('uroce-bench-ratio', ['memif', '--minutes', '0'], 'positive')
    check_refused('uroce-bench-ratio', ['memif', '--list', '--lines', 'nosuch'], 'small')
    check_refused('uroce-bench-ratio', ['memif', '--lines', 'small'], '--must-show')
    check_refused('uroce-bench-stages', ['memif', '--tests', 'nosuch', '--no-build'], 'write_bw')
    check_refused('uroce-bench-stages', ['memif', '--sizes', '8:100', '--no-build'], '4096')
    return failed > 0


sys.exit(main())
