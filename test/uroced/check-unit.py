#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The unit of systemd: it is one, it grants little, and what uroced calls to give up the rest is let.

    check-unit.py UNIT UROCED
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

EXPOSURE_MAX = 2.5                     # of 10, as systemd-analyze counts
SANDBOX_CALLS = {'capset', 'seccomp'}  # @system-service has neither of them once @privileged is gone


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, check=False)


def copy_for_here(unit, uroced, folder):
    """With the program that was built, and without a manual that is not installed."""
    lines = [line for line in unit.read_text().splitlines() if not line.startswith('Documentation=')]
    copy = pathlib.Path(folder) / unit.name
    copy.write_text('\n'.join(lines).replace('/usr/local/sbin/uroced', str(uroced)) + '\n')
    return copy


def section_of(unit, key):
    section = None
    for line in unit.read_text().splitlines():
        if line.startswith('['):
            section = line
        if line.startswith(f'{key}='):
            return section
    return None


def checks(unit, copy):
    done = run('systemd-analyze', 'verify', str(copy))
    yield 'unit__is_understood', done.returncode == 0 and not done.stderr, done.stderr
    done = run('systemd-analyze', 'security', '--offline=true', '--no-pager', f'--threshold={int(EXPOSURE_MAX * 10)}',
               str(copy))
    yield 'unit__grants_little', done.returncode == 0, done.stdout[-200:] + done.stderr
    allowed = set()
    for line in unit.read_text().splitlines():
        if line.startswith('SystemCallFilter='):
            allowed |= set(line.partition('=')[2].split())
    yield 'unit__lets_the_sandbox_be_entered', SANDBOX_CALLS <= allowed, str(SANDBOX_CALLS - allowed)
    sections = [section_of(unit, key) for key in ('StartLimitIntervalSec', 'StartLimitBurst')]
    yield 'unit__bounds_restarts', sections == ['[Unit]'] * 2, str(sections)


def main():
    unit, uroced = (pathlib.Path(arg).resolve() for arg in sys.argv[1:])
    if not shutil.which('systemd-analyze'):
        print('1..0 # SKIP no systemd-analyze')
        return 0
    nb_failed = 0
    with tempfile.TemporaryDirectory() as folder:
        results = list(checks(unit, copy_for_here(unit, uroced, folder)))
    print(f'1..{len(results)}')
    for number, (name, is_good, why) in enumerate(results, 1):
        nb_failed += not is_good
        print(f'{"ok" if is_good else "not ok"} {number} - {name}')
        for line in [] if is_good else why.splitlines():
            print(f'# {line}')
    return nb_failed > 0


if __name__ == '__main__':
    sys.exit(main())
