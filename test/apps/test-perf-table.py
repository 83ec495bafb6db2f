#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the table of perftest's flags in the guide of uroce-perf.

    test-perf-table.py GUIDE UROCE-PERF

Each flag in the help of the eight perftest programs must have a row, with the same letter. What a row says must be what
uroce-perf does: its help must have each flag that is supported, and must refuse each flag that is refused. Without
perftest only the table and uroce-perf are compared. The last lines count the flags of each program. Prints TAP.
"""

import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import tap  # noqa: E402

GUIDE, PERF = sys.argv[1:3]
PROGRAMS = [f'ib_{operation}_{kind}' for operation in ('send', 'write', 'read', 'atomic') for kind in ('bw', 'lat')]
FLAG = re.compile(r'^\s+(?:(-\w), )?(--[a-zA-Z0-9_-]+)', re.MULTILINE)
ROW = re.compile(r'^\| (?:`(-\w)` )?`(--[a-zA-Z0-9_-]+)` \| (supported|always|refused)\b', re.MULTILINE)
VALUED = re.compile(r'^\s+(?:-\w, )?(--[a-zA-Z0-9_-]+)=', re.MULTILINE)
VALUES = {'--atomic_type': 'FETCH_AND_ADD', '--connection': 'RC', '--force-link': 'Ethernet', '--iters': '5',
          '--mtu': '1024', '--rate_limit_type': 'SW', '--rate_units': 'g', '--sl': '0'}
# no test but some bandwidth tests uses these, and perftest ignores them elsewhere
IGNORED = ('--perform_warm_up', '--recv_post_list')
SKIPPED = ('--help', '--version')
LIMIT_S = 300    # only a hang takes so long

def report(what, findings):
    tap.result(not findings, what, '\n'.join(findings))


def help_of(program):
    run = subprocess.run([program, '--help'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         timeout=LIMIT_S, check=False)
    return run.stdout


def flags_of(text):
    """{name: letter or ''}"""
    return {name: letter for letter, name in FLAG.findall(text)}


def table():
    """{name: (letter or '', state)}"""
    with open(GUIDE, encoding='utf-8') as file:
        return {name: (letter, state) for letter, name, state in ROW.findall(file.read())}


def compare_with_perf(rows):
    known, refused = (flags_of(part) for part in help_of(PERF).split('flags of perftest that are refused:'))
    wrong = []
    for name, (letter, state) in rows.items():
        flags = refused if state == 'refused' else known
        if flags.get(name) != letter:
            wrong.append(f'{name}: the table says {letter or "no letter"}, {state}; the help of uroce-perf does not')
    return wrong


def refusals(rows):
    """A flag that is refused must be refused by its name."""
    for name, (letter, state) in rows.items():
        for flag in (name, letter):
            if state != 'refused' or not flag:
                continue
            run = subprocess.run([PERF, '--', '--loopback', 'send_bw', flag, '1'], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False)
            if run.returncode != 2 or not re.fullmatch(rf'uroce-perf: {name}: .+\n', run.stderr):
                yield f'{flag}: status {run.returncode}, {run.stderr}'


def compare_with_perftest(program, rows):
    for name, letter in flags_of(help_of(program)).items():
        if name not in rows:
            yield f'{letter} {name} of {program}: has no row'
        elif rows[name][0] != letter:
            yield f'{letter} {name} of {program}: the row has {rows[name][0] or "no letter"}'


def compare_tests(program, rows):
    """Each flag that is not refused applies to the test of the program. Further rules are checked after that rule, and
    the first of them is that --loopback has no SERVER."""
    test = program[len('ib_'):]
    values = {name: VALUES.get(name, '1') for name in VALUED.findall(help_of(PERF))}
    values['--output'] = 'latency' if test.endswith('lat') else 'bandwidth'
    for name in flags_of(help_of(program)):
        if name not in rows or rows[name][1] == 'refused' or name in SKIPPED:
            continue
        flag = f'{name}={values[name]}' if name in values else name
        run = subprocess.run([PERF, '--', '--loopback', test, flag, 'SERVER'], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False)
        if not run.stderr.startswith(('uroce-perf: --loopback: ', 'uroce-perf: --uroce and', 'uroce-perf: --com_rdma_cm:')):
            if not (name in IGNORED and 'has no meaning' in run.stderr):
                yield f'{flag} of {program}: {run.stderr}'


def count(program, rows):
    states = [rows[name][1] for name in flags_of(help_of(program)) if name in rows]
    numbers = ', '.join(f'{states.count(state)} {state}' for state in ('supported', 'always', 'refused'))
    print(f'# {program}: {len(states)} flags: {numbers}')


def main():
    rows = table()
    report('the table has rows', [] if len(rows) > 50 else [f'{len(rows)} rows in {GUIDE}'])
    report('the table and uroce-perf agree', compare_with_perf(rows))
    report('refused flags are refused by name', list(refusals(rows)))
    for program in PROGRAMS:
        if shutil.which(program) is None:
            report(f'{program} # SKIP perftest is not installed', [])
            continue
        report(f'the table has each flag of {program}', list(compare_with_perftest(program, rows)))
        report(f'the flags apply to the test of {program}', list(compare_tests(program, rows)))
        count(program, rows)
    return tap.end()


sys.exit(main())
