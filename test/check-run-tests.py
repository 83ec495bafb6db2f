#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests which suites run-tests runs, how often, and what it prints. The script is copied into a folder where
small scripts take the place of the programs that it runs.

    check-run-tests.py RUN_TESTS
"""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TIMEOUT_S = 1200    # only a hang exceeds it
STUB = '''#!/bin/bash
echo "$(basename "$0") $*" >>"$CALLS"
wait_for()
{
    until [ -e "$CALLS.$1" ]; do sleep 0.05; done
}
case "$(basename "$0") $*" in
*"--suite dpdk"*) echo 'FAIL  dpdk/one: 2 it__breaks: 3 != 4'; echo '5 passed, 1 failed, 0 skipped'; exit 1 ;;
check-all*) [ -z "${BESIDE-}" ] || wait_for unit-asan ;;
*asan*"--suite unit"*) [ -z "${BESIDE-}" ] || : >"$CALLS.unit-asan" ;;
every-port.sh*) echo 'what it wrote last'; exit 3 ;;
run-models*) echo 'SPIN is tired'; exit 77 ;;
"run-meson-tests build --no-rebuild --suite verbs") [ -z "${SLOW-}" ] || { echo '[7/9] Linking'; echo $$ >"$CALLS.pid"; sleep 60; } ;;
esac
echo '5 passed, 0 failed, 0 skipped'
'''
PRETENDED = {
    'bin': 'meson ninja pkg-config gcc clang git gcovr spin aarch64-linux-gnu-gcc qemu-aarch64-static tshark unshare setarch',
    'devtools': 'check-all run-meson-tests check-install build-aarch64 coverage fuzz',
    'test/mutants': 'run-mutants', 'test/models': 'run-models run-litmus', 'test/lab': 'every-port.sh captures',
    'test/failures': 'failures.py survivors.py', 'test/docs': 'run-blocks',
}
FAST = ['check-all', 'unit-gcc', 'unit-asan', 'lab', 'sim', 'capture', 'dpdk', 'verbs', 'apps', 'uroced', 'fuzz-frames',
        'ibverbs', 'install']

failed = 0


def expect(what, is_right, said=''):
    global failed
    print(f"{'ok' if is_right else 'FAIL'}    {what}" + ('' if is_right else f': {said}'))
    failed += not is_right


class Tree:
    def __init__(self, folder, script):
        self.folder = folder
        self.script = os.path.join(folder, 'usertools', 'run-tests')
        self.calls = os.path.join(folder, 'calls')
        self.env = {**os.environ, 'CALLS': self.calls, 'PATH': f'{folder}/bin:{os.environ["PATH"]}'}
        for place, names in {**PRETENDED, 'usertools': '', 'build': ''}.items():
            os.makedirs(os.path.join(folder, place), exist_ok=True)
            for name in names.split():
                path = os.path.join(folder, place, name)
                with open(path, 'w', encoding='ascii') as file:
                    file.write(STUB)
                os.chmod(path, 0o755)
        shutil.copy(script, self.script)
        with open(os.path.join(folder, 'usertools', 'packages.sh'), 'w', encoding='ascii') as file:
            file.write('packages_test=few packages_test_all=many\n'
                       'install_packages() { echo "packages: $2" >>"$CALLS"; }\n')
        with open(os.path.join(folder, 'build', 'build.ninja'), 'w', encoding='ascii'):
            pass

    def run(self, *args, **env):
        """@return the status, the output, and the calls of other programs"""
        with open(self.calls, 'w', encoding='ascii'):
            pass
        run = subprocess.run([self.script, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, env={**self.env, **env}, timeout=TIMEOUT_S, check=False)
        with open(self.calls, encoding='ascii') as file:
            return run.returncode, run.stdout, file.read()


def suites(output):
    """Names of the suites that ran or were skipped, in the order of their end, without the summary."""
    body = output.split('\nWhat failed:')[0]
    return re.findall(r'^(?:ok  |FAIL|skip)  ([a-z0-9-]+)', body, re.MULTILINE)


def last_fast_start(calls):
    """Position of the last call for a suite of the fast tier, among the calls that are tests."""
    tests = [call for call in calls.splitlines() if not call.startswith(('meson', 'ninja', 'packages', 'git', 'pkg-config'))]
    return max(at for at, call in enumerate(tests) if call.startswith(('check-install', 'every-port.sh')))


def check_tiers(tree):
    status, output, calls = tree.run()
    expect('without arguments: the fast tier', sorted(suites(output)) == sorted(FAST))
    expect('it needs few packages', 'packages: few\n' in calls)
    expect('the build that is there is not configured again', 'meson configure' not in calls and
           'meson setup build ' not in calls)
    expect('it fails where a suite does', status == 1)
    status, every, calls = tree.run('--all')
    names = suites(every)
    expect('--all: the fast tier', set(FAST) <= set(names))
    expect('each suite once', len(set(names)) == len(names) and len(names) > len(FAST) + 10)
    expect('but no suite of the tier named', not {'nic', 'arm64', 'arm64-guest'} & set(names))
    expect('it needs many packages', 'packages: many\n' in calls)
    expect('the fast tier first', last_fast_start(calls) < len(FAST) + 3)
    expect('a sum of the fast tier', re.search(r'^ +the fast tier: \d+ passed, 2 failed, ', every, re.MULTILINE) is not None)
    expect('a suite that exits with 77 is skipped, with its reason', 'skip  models: SPIN is tired\n' in every)
    return output


def check_beside(tree):
    """The first suite does not end before another one runs."""
    status, output, _ = tree.run('check-all', 'unit-asan', BESIDE='yes')
    expect('suites run at the same time', status == 0, output)


def check_recap(output):
    recap = output.split('\nWhat failed:\n')[1].splitlines()
    expect('the recap names the suites',
           {line.split()[1] for line in recap if line.startswith('FAIL  ')} == {'dpdk', 'lab'})
    expect('and their failed tests', '      FAIL  dpdk/one: 2 it__breaks: 3 != 4' in recap)
    expect('or the end of what they wrote', '      | what it wrote last' in recap)
    expect('the last line is the sum', re.fullmatch(r'\d+ passed, 2 failed, \d+ skipped', recap[-1]) is not None)
    expect('no progress without a terminal', '\r' not in output and '\033' not in output)


def check_words(tree):
    status, output, _ = tree.run('capture', 'models', 'sim')
    expect('suites by name', (status, sorted(suites(output))) == (0, ['capture', 'models', 'sim']))
    status, output, calls = tree.run('--list')
    lines = output.splitlines()
    expect('--list: each suite with its tier', status == 0 and not calls and all(
        line.split()[1] in ('fast', 'all', 'named') for line in lines) and [
            line.split()[0] for line in lines if line.split()[1] == 'fast'] == FAST)
    with open(tree.script, encoding='utf-8') as file:
        functions = {name.replace('_', '-') for name in re.findall(r'^suite_(\w+)\(\)', file.read(), re.MULTILINE)}
    expect('each suite that the script can run has a line', functions == {line.split()[0] for line in lines},
           functions ^ {line.split()[0] for line in lines})
    status, output, calls = tree.run('--help')
    expect('--help names the options', status == 0 and not calls and all(
        option in output for option in ('--all', '--list', '--help', 'SUITE')))
    for words, said in ((['--every'], 'run-tests: unknown option: --every;'), (['sim', '-x'], 'run-tests: unknown option: -x;'),
                        (['simm'], 'run-tests: no such suite: simm;'), (['--all', 'sim'], 'run-tests: --all takes no arguments')):
        status, output, calls = tree.run(*words)
        expect(f'{" ".join(words)}: refused', status == 2 and output.startswith(said) and not calls)


def check_terminal(tree):
    """Check the progress on a terminal, and that SIGINT from the terminal ends the script. The suite sim, which starts at the
    same time, may still run when the progress of verbs is shown.
    """
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(tree.script, [tree.script, 'verbs', 'sim'], {**tree.env, 'SLOW': 'yes'})
    said, end = b'', time.monotonic() + TIMEOUT_S
    while b'built 7/9' not in said and time.monotonic() < end:
        said += os.read(fd, 4096)
    expect('a line that is rewritten says how far a suite is', re.search(rb'\r\033\[K +(sim [^\r]*)?verbs .*built 7/9', said) is not None, said)
    with open(tree.calls + '.pid', encoding='ascii') as file:
        suite = int(file.read())
    os.kill(pid, signal.SIGINT)
    status = os.waitpid(pid, 0)[1]
    os.close(fd)
    expect('SIGINT ends it', os.waitstatus_to_exitcode(status) == 130)
    while os.path.exists(f'/proc/{suite}') and time.monotonic() < end:
        time.sleep(0.05)
    expect('and the suite', not os.path.exists(f'/proc/{suite}'))


def main():
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder, sys.argv[1])
        check_recap(check_tiers(tree))
        check_beside(tree)
        check_words(tree)
        check_terminal(tree)
    return int(failed > 0)


sys.exit(main())
