#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that a set-uid program takes neither devices nor code from the environment of its caller.

    check-secure.py PROGRAM PLUGIN.so

The test runs as root, with a /tmp of its own. PROGRAM finds the library by its RUNPATH.
"""

import os
import shutil
import subprocess
import sys

PROGRAM, PLUGIN = map(os.path.abspath, sys.argv[1:])
TIMEOUT_S = 300
ROOT, CALLER = 0, 65534
SKIP = 77
SPEC = 'net_null0,addr=192.0.2.1/24'
CODE = '/tmp/code/plugin.so'
OPTIONS = f'--vdev net_null0 -d {CODE}'
FILE = '/tmp/code/devices.conf'
WAYS = {'the environment': {'UROCE': SPEC, 'UROCE_EAL': OPTIONS},
        'a file': {'UROCE_CONFIG': FILE},
        'a file, and options': {'UROCE_CONFIG': FILE, 'UROCE_EAL': OPTIONS}}


def check(is_so, *why):
    if not is_so:
        raise AssertionError(' '.join(str(reason) for reason in why))


def prepare():
    """Make the folder of the caller's code. All users may read it."""
    os.mkdir('/tmp/code')
    shutil.copy(PLUGIN, CODE)
    with open(FILE, 'w', encoding='ascii') as file:
        file.write(f'[eal]\noptions={OPTIONS}\n[device]\nspec={SPEC}\n')
    for path in ('/tmp/code', CODE, FILE):
        os.chmod(path, 0o755)


def run(is_set_uid, more, user=CALLER):
    """Let a user run a copy of the program that belongs to root. @return its output"""
    shutil.copy(PROGRAM, '/tmp/program')
    os.chmod('/tmp/program', 0o4755 if is_set_uid else 0o755)
    run = subprocess.run(['/tmp/program'], user=user, group=user, extra_groups=[], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S, check=False,
                         env={'PATH': os.environ['PATH'], **more})
    check(run.returncode == 0, 'it ended with', run.returncode, run.stdout)
    return run.stdout


def the_attack_works_on_ones_own_program():
    for way, more in WAYS.items():
        said = run(False, more, ROOT)
        check(f'plugin: euid {ROOT}' in said and '1 devices' in said, way, said)


def a_set_uid_program_takes_nothing():
    for way, more in WAYS.items():
        said = run(True, more)
        check(said == '0 devices\n', way, said)


def main():
    if os.geteuid() != 0:
        print('needs root, to make a set-uid program')
        return SKIP
    if os.environ.get('CHECK_SECURE_TMP') != 'own':
        os.environ['CHECK_SECURE_TMP'] = 'own'
        os.execvp('unshare', ['unshare', '-m', sys.executable, *sys.argv])
    # EAL loads no code from below a folder that all users may write to. PROGRAM must exist with the new /tmp.
    for path, name in ((PROGRAM, 'PROGRAM'), (PLUGIN, 'PLUGIN')):
        check(not path.startswith('/tmp/'), name, 'must not be below /tmp')
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'mode=0755,suid,exec', 'none', '/tmp'], check=False).returncode != 0:
        print('/tmp cannot be mounted here')
        return SKIP
    prepare()
    failed = 0
    for test in (the_attack_works_on_ones_own_program, a_set_uid_program_takes_nothing):
        try:
            test()
            print(f'ok    {test.__name__}')
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            print(f'FAIL  {test.__name__}: {error}')
            failed += 1
    return failed > 0


sys.exit(main())
