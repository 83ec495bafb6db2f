#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that a failed test does not affect the tests after it. The tests of PROGRAM fail on purpose.

    check-isolation.py PROGRAM
"""

import os
import re
import subprocess
import sys

GOOD = {1, 3, 5, 6, 8, 10}
BAD = {2, 4, 9}
SKIPPED = 7
failed = 0


def expect(what, is_right):
    global failed
    print(f"{'ok' if is_right else 'FAIL'}    {what}")
    failed += not is_right


def main():
    run = subprocess.run([sys.argv[1], 'with spaces', ''], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                         timeout=60, check=False, env={**os.environ, 'CMOCKA_MESSAGE_OUTPUT': 'TAP'})
    print(run.stdout)
    lines = run.stdout.splitlines()
    results = [re.match(r'(ok|not ok) (\d+) (.*)', line) for line in lines]
    results = [(int(found[2]), found[1], found[3]) for found in results if found]
    expect('one plan, of all tests', [line for line in lines if line.startswith('1..')] == ['1..10'])
    expect('each test has one result, in order', [number for number, _, _ in results] == list(range(1, 11)))
    expect('those that are good are ok', {number for number, word, _ in results if word == 'ok'} - {SKIPPED} == GOOD)
    expect('those that are bad are not', {number for number, word, _ in results if word != 'ok'} - {SKIPPED} == BAD)
    expect('the skip is a skip', [text for number, _, text in results if number == SKIPPED and '# SKIP' in text] != [])
    expect('a skip begins no new image', '# count 2' in lines)
    expect('each image has the arguments', lines.count('# arguments with spaces ') == 4)
    expect('the exit status counts the failures of all images', run.returncode == len(BAD))
    return int(failed > 0)


sys.exit(main())
