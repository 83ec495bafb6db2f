#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The unit of systemd: it is one, it grants little, and what uroced calls to give up the rest is let. The sample of the
configuration file is accepted. The samples for a DPU are understood, and pin the lcores of EAL to CPUs that they allow.

    check-unit.py UNIT UROCED
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EXPOSURE_MAX = 2.0                     # of 10, as systemd-analyze counts
SANDBOX_CALLS = {'capset', 'seccomp'}  # @system-service has neither of them once @privileged is gone


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, check=False)


def copy_for_here(unit, uroced, folder):
    """With the program that was built, and without a manual that is not installed."""
    lines = [line for line in unit.read_text().splitlines() if not line.startswith('Documentation=')]
    copy = pathlib.Path(folder) / unit.name
    copy.write_text('\n'.join(lines).replace('/usr/local/sbin/uroced', str(uroced)) + '\n')
    return copy


def values_of(unit, key):
    return [line.partition('=')[2] for line in unit.read_text().splitlines() if line.startswith(f'{key}=')]


def is_check_of_start(start, reloads):
    """Whether a reload first checks the command line of the start, and then sends SIGHUP."""
    return len(start) == 1 and reloads == [start[0].replace(' -- ', ' -- --check '), '/bin/kill -HUP $MAINPID']


def check_sample(sample, uroced, folder):
    """A check of the sample of /etc/uroced.conf."""
    return run(str(uroced), '--no-huge', '--no-pci', '-m', '256', '--vdev=net_null0,no-rx=1', '--', '--check', '--no-sandbox',
               f'--config={sample}', f'--socket={folder}/s', 'net_null0,addr=192.0.2.1/24')


def numbers_of(text):
    """The numbers of a list like "0,4-7" or "0 4-7"."""
    ranges = [part.partition('-') for part in re.split('[ ,]', text)]
    return {number for low, _, high in ranges for number in range(int(low), int(high or low) + 1)}


def samples_of_dpu(unit, copy):
    """The drop-in and the unit for a DPU. systemd finds a drop-in in a folder beside the unit."""
    folder = unit.parent / 'dpu'
    drop_in = copy.parent / f'{copy.name}.d' / 'dpu.conf'
    drop_in.parent.mkdir()
    shutil.copy(folder / 'uroced.service.conf', drop_in)
    done = run('systemd-analyze', 'verify', str(copy))
    yield 'dpu__drop_in_is_understood', done.returncode == 0 and not done.stderr, done.stderr
    shutil.rmtree(drop_in.parent)
    embedder = copy.parent / 'embedder.service'
    embedder.write_text((folder / 'embedder.service').read_text().replace('/usr/local/bin/embedder', '/bin/true'))
    done = run('systemd-analyze', 'verify', str(embedder))
    yield 'dpu__unit_of_an_embedder_is_understood', done.returncode == 0 and not done.stderr, done.stderr
    for options, allowed in ((folder / 'uroced.default', folder / 'uroced.service.conf'), (embedder, embedder)):
        lcores = numbers_of(re.search(r'[ =]-l ([\d,-]+)', options.read_text())[1])
        cpus = numbers_of(values_of(allowed, 'CPUAffinity')[-1])
        yield f'dpu__lcores_of_{options.stem}_are_allowed', lcores <= cpus, f'{lcores} of {cpus}'


def section_of(unit, key):
    section = None
    for line in unit.read_text().splitlines():
        if line.startswith('['):
            section = line
        if line.startswith(f'{key}='):
            return section
    return None


def checks(unit, copy, uroced):
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
    yield 'unit__waits_for_readiness', values_of(unit, 'Type') == ['notify'], str(values_of(unit, 'Type'))
    yield 'unit__has_a_watchdog', section_of(unit, 'WatchdogSec') == '[Service]', str(section_of(unit, 'WatchdogSec'))
    done = check_sample(unit.with_name('uroced.conf'), uroced, copy.parent)
    yield 'sample__of_the_configuration_is_accepted', done.returncode == 0, done.stderr
    yield from samples_of_dpu(unit, copy)
    reloads = values_of(unit, 'ExecReload')
    yield 'unit__checks_before_a_reload', is_check_of_start(values_of(unit, 'ExecStart'), reloads), str(reloads)


def main():
    unit, uroced = (pathlib.Path(arg).resolve() for arg in sys.argv[1:])
    if not shutil.which('systemd-analyze'):
        print('1..0 # SKIP no systemd-analyze')
        return 0
    nb_failed = 0
    with tempfile.TemporaryDirectory() as folder:
        results = list(checks(unit, copy_for_here(unit, uroced, folder), uroced))
    print(f'1..{len(results)}')
    for number, (name, is_good, why) in enumerate(results, 1):
        nb_failed += not is_good
        print(f'{"ok" if is_good else "not ok"} {number} - {name}')
        for line in [] if is_good else why.splitlines():
            print(f'# {line}')
    return nb_failed > 0


if __name__ == '__main__':
    sys.exit(main())
