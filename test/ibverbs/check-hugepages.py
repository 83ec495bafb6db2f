#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that programs use ordinary memory if free hugepages are taken by others before EAL takes them.

    check-hugepages.py LIBS LINGER THIEF.so

The test reserves hugepages for some time, as root. Other programs may take some of them at the same time.
"""

import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUN = os.path.join(TOP, 'usertools', 'uroce-run')
LIBS, PROGRAM, THIEF = map(os.path.abspath, sys.argv[1:])
NUMBER = '/proc/sys/vm/nr_hugepages'
FREE = '/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages'
WANTED = 260    # the engine requires 512 MiB of free hugepages
TIMEOUT_S = 300
ATTEMPTS = 10
SKIP = 77


def read(path):
    with open(path, encoding='ascii') as file:
        return int(file.read())


def write(path, number):
    with open(path, 'w', encoding='ascii') as file:
        file.write(str(number))


def check(is_so, *why):
    if not is_so:
        raise AssertionError(' '.join(str(reason) for reason in why))


def start(**more):
    return subprocess.Popen([RUN, '--libs', LIBS, '--dev', 'loopback', '--', PROGRAM, '5'], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **more})


def reserve():
    """Reserve more hugepages, until enough are free."""
    write(NUMBER, read(NUMBER) + max(0, WANTED - read(FREE)))


def taken_before_page(number):
    for _ in range(ATTEMPTS):
        reserve()
        program = start(LD_PRELOAD=THIEF, THIEF=number)
        said, _ = program.communicate(timeout=TIMEOUT_S)
        check(program.returncode == 0, 'it ended with', program.returncode, said)
        if 'thief: ' in said:
            return
    check(False, 'others took hugepages before the program in all attempts:', said)


def before_the_first_page():
    taken_before_page('0')


def before_the_second_page():
    taken_before_page('1')


def by_programs_that_start_at_once():
    programs = [start() for _ in range(4)]
    for program in programs:
        said, _ = program.communicate(timeout=TIMEOUT_S)
        check(program.returncode == 0, 'it ended with', program.returncode, said)


def main():
    if os.geteuid() != 0:
        print('needs root, to reserve hugepages')
        return SKIP
    before = read(NUMBER)
    failed = 0
    try:
        reserve()
        if read(FREE) < WANTED:
            print(f'{WANTED} hugepages cannot be had')
            return SKIP
        for test in (before_the_first_page, before_the_second_page, by_programs_that_start_at_once):
            try:
                test()
                print(f'ok    {test.__name__}')
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                print(f'FAIL  {test.__name__}: {error}')
                failed += 1
    finally:
        write(NUMBER, before)
    return failed > 0


sys.exit(main())
