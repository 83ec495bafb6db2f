# SPDX-License-Identifier: BSD-3-Clause
"""The main function of tests that boot guests: main() runs the methods test_...() of a class, and prints TAP."""

import argparse
import subprocess

import guest as guests
from uroce_ports import LabError


def main(rig):
    """Run the tests of a class, which is created with the name of a kernel and closed by close(). The document string of a
    test is its name. @return the exit status"""
    parser = argparse.ArgumentParser()
    parser.add_argument('--kernel', default='stable', choices=guests.KERNELS)
    kernel = parser.parse_args().kernel
    why = guests.build(kernel)
    if why:
        print(f'1..0 # SKIP {why}')
        return 0
    tests = [name for name in vars(rig) if name.startswith('test_')]
    print('TAP version 13')
    print(f'1..{len(tests)}', flush=True)
    opened = rig(kernel)
    failed = 0
    try:
        for number, name in enumerate(tests, 1):
            test = getattr(opened, name)
            why = ''
            try:
                test()
            except (AssertionError, LabError, OSError, subprocess.SubprocessError) as error:
                why = f'{type(error).__name__}: {error}'
            print(f'{"not ok" if why else "ok"} {number} - {test.__doc__}')
            print(''.join(f'# {line}\n' for line in why.splitlines()), end='', flush=True)
            failed += bool(why)
    finally:
        opened.close()
    return 1 if failed else 0
