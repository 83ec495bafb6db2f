#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the page of several machines, which is made from files with fixed results.

    test-bench-machines.py BENCH
"""

import json
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.join(os.path.abspath(sys.argv[1]), 'uroce-bench-machines')
RATE, CONNECT, LATENCY = '8 B WRITE, lists of 16, 16 QPs', 'QPs connected a second', '8 B SEND latency, median'

failed = 0


def expect(what, is_right):
    global failed
    print(f"{'ok' if is_right else 'FAIL'}    {what}")
    failed += not is_right


def record(name, commit):
    return {'machine': {'name': name, 'cpu': f'CPU of {name}', 'cpus': 2, 'memory_bytes': 1, 'kernel': 'Linux 6'},
            'versions': {'uroce': commit, 'dpdk': '22.11', 'compiler': 'cc', 'ucx': ''}, 'began': 'then'}


def of_ratio(name, commit):
    """The JSON of uroce-bench-ratio."""
    return record(name, commit) | {'port': 'memif', 'lines': [
        {'line': RATE, 'ratio': 0.654, 'result': 'pass'}, {'line': 'an old line', 'ratio': 1, 'result': 'pass'},
        {'line': CONNECT, 'ratio': 21000.4, 'result': 'noisy'}, {'line': LATENCY, 'result': 'error', 'why': 'it ended'}]}


def of_suite(name, commit):
    """The JSON of uroce-bench-all."""
    def row(port, line, median, verdict):
        return {'part': 'must', 'labels': {'port': port, 'line': line}, 'median': median, 'verdict': verdict}
    return record(name, commit) | {'schema': 'uroce-bench-1', 'measurements': [
        row('memif', RATE, 0.5, 'FAIL'), row('vhost', RATE, 0.7, 'pass'),
        {'part': 'must', 'labels': {'port': 'memif', 'run': 'x'}, 'median': 3},
        {'part': 'tcp', 'labels': {'port': 'memif'}, 'median': 3, 'verdict': 'pass'}]}


def run(*results):
    """@return the exit status, the lines of the page, and the errors"""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, result in enumerate(results):
            paths.append(os.path.join(folder, f'{number}.json'))
            with open(paths[-1], 'w', encoding='utf-8') as file:
                file.write(result if isinstance(result, str) else json.dumps(result))
        done = subprocess.run([PROGRAM, *paths], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


def main():
    commit = '0123456789abcdef'
    code, page, _ = run(of_ratio('one', commit), of_suite('two', commit))
    expect('files of one commit: status 0', code == 0 and not any('cannot be compared' in line for line in page))
    expect('a machine has its record', '| one | CPU of one | 2 | Linux 6 | 22.11 | 0123456789ab | then |' in page)
    expect('a port has a table with both machines', page.count('| | must | one | two |') == 2)
    memif, vhost = page[page.index('## memif'):page.index('## vhost')], page[page.index('## vhost'):]
    expect('a ratio and its verdict stand side by side', f'| {RATE} | >= 60 % | 65 % pass | 50 % FAIL |' in memif)
    expect('a machine without the port has an empty cell', f'| {RATE} | >= 60 % |  | 70 % pass |' in vhost)
    expect('a value is no percentage', f'| {CONNECT} | >= 20,000 | 21,000 noisy |  |' in memif)
    expect('a run that failed has no figure', f'| {LATENCY} | <= 130 % | error |  |' in memif)
    expect('a line that is gone is left out', not any('an old line' in line for line in page))

    code, page, _ = run(of_ratio('one', commit), of_suite('two', 'fedcba9876543210'))
    expect('files of two commits: status 1, and the page says so', code == 1 and
           any('cannot be compared' in line for line in page))
    expect('so is a tree with changes', run(of_ratio('one', f'{commit}-dirty'))[0] == 1)
    for wrong in 'no JSON', '[]', {'lines': []}:
        code, page, said = run(wrong)
        expect(f'{wrong} is refused in one line', code == 1 and not page and said.count('\n') == 1 and 'allowed' in said)
    expect('no file: status 2', run()[0] == 2)
    return failed > 0


sys.exit(main())
