#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests whether noise is found, and what follows from it. Nothing is measured: /proc has fixed contents.

    test-bench-noise.py BENCH
"""

import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.abspath(sys.argv[1]))
import uroce_noise  # noqa: E402
from uroce_noise import Noise, Repeats, Watch, measure_quietly, verdict  # noqa: E402

failed = 0
OWN, CHILD, GRANDCHILD, OTHER = 100, 101, 102, 200


def expect(what, is_right):
    global failed
    print(f"{'ok' if is_right else 'FAIL'}    {what}")
    failed += not is_right


class Proc:
    """A folder with the files of /proc. CPUs have 1000 ticks when it begins."""

    def __init__(self, folder):
        self.folder = folder
        self.cpus = [[100, 0, 100, 800, 0, 0, 0, 0, 0, 0] for _ in range(3)]

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)

    def process(self, pid, parent, ticks, name='x'):
        """@param ticks utime, stime, cutime, cstime"""
        words = ['S', parent, *[0] * 9, *ticks, 20, 0]
        self.write(f'{pid}/stat', f'{pid} ({name}) ' + ' '.join(map(str, words)) + '\n')

    def add(self, cpu, **ticks):
        names = 'user', 'nice', 'system', 'idle', 'iowait', 'irq', 'softirq', 'steal', 'guest'
        for name, value in ticks.items():
            self.cpus[cpu][names.index(name)] += value
        lines = ['cpu  1 2 3 4 5 6 7 8 9 10']
        lines += [f'cpu{idx} {" ".join(map(str, row))}' for idx, row in enumerate(self.cpus)]
        self.write('stat', '\n'.join([*lines, 'intr 1', 'ctxt 1']) + '\n')


def noise_of(change):
    """The noise of a change of /proc, on the CPUs 0 and 1."""
    with tempfile.TemporaryDirectory() as folder:
        proc = Proc(folder)
        proc.add(0)
        proc.process(OWN, 1, (10, 10, 0, 0))
        proc.process(OTHER, 1, (50, 0, 0, 0), 'a name) with (brackets')
        proc.write('self/stat', 'not read')
        watch = Watch(folder, OWN, {0, 1})
        change(proc)
        return watch.noise()


def is_noise(noise, steal, foreign):
    return abs(noise.steal - steal) < 1e-9 and abs(noise.foreign - foreign) < 1e-9


def check_sources():
    def idle(proc):
        proc.add(0, idle=100)
        proc.add(1, idle=100)
    expect('an idle machine has no noise', is_noise(noise_of(idle), 0, 0))

    def own(proc):
        proc.add(0, user=100)
        proc.add(1, system=60, idle=40)
        proc.process(OWN, 1, (11, 10, 60, 20))      # itself, and children that were waited for
        proc.process(CHILD, OWN, (30, 20, 0, 0))
        proc.process(GRANDCHILD, CHILD, (10, 19, 0, 0))
    expect('the time of its own processes is not noise', is_noise(noise_of(own), 0, 0))

    def other(proc):
        own(proc)
        proc.process(GRANDCHILD, OTHER, (10, 19, 0, 0))
    expect('the time of a child of another process is', is_noise(noise_of(other), 0, 29 / 200))

    def stolen(proc):
        proc.add(0, steal=10, idle=90)
        proc.add(1, idle=100)
    expect('stolen time is noise', is_noise(noise_of(stolen), 0.05, 0))

    def elsewhere(proc):
        proc.add(0, idle=100)
        proc.add(1, idle=100)
        proc.add(2, user=50, steal=50)
    expect('the other CPUs of the machine do not count', is_noise(noise_of(elsewhere), 0, 0))

    def interrupts(proc):
        proc.add(0, irq=50, softirq=50)
        proc.add(1, iowait=100)
    expect('interrupts and waiting are not noise', is_noise(noise_of(interrupts), 0, 0))

    def rounding(proc):
        proc.add(0, user=99, idle=101)
        proc.process(OWN, 1, (110, 11, 0, 0))
    expect('no share is below zero', is_noise(noise_of(rounding), 0, 0))
    expect('without time there is no noise', is_noise(noise_of(lambda proc: None), 0, 0))


def check_text():
    expect('the limit itself is allowed', not Noise(0, uroce_noise.LIMIT).is_noisy())
    expect('both shares count together', Noise(0.02, 0.02).is_noisy())
    expect('a quiet machine has no warning', Noise(0.01, 0.01).warning() is None)
    expect('a warning has both figures',
           'steal 2 %, other processes 40 % of the CPUs' in Noise(0.02, 0.4).warning())
    expect('JSON has both figures', Noise(0.5, 0.25).as_json() == {'steal': 0.5, 'foreign': 0.25})
    noises = [Noise(0.1, 0), Noise(0, 0.3)]
    expect('the worst round has the largest sum', uroce_noise.worst(noises) is noises[1])
    expect('the peak has the largest of each', is_noise(uroce_noise.peak(noises), 0.1, 0.3))


def quietly(noises, repeats):
    """Measure with these noises in turn. @return the number of the kept result, of the first that
    was not measured, and the noise
    """
    left = list(enumerate(noises))

    class Fixed:
        def noise(self):
            return Noise(0, left.pop(0)[1])
    result, noise = measure_quietly(lambda: left[0][0], repeats, Fixed)
    return result, len(noises) - len(left), noise.foreign


def check_repeats():
    many = Repeats(100)
    expect('a quiet measurement is not repeated', quietly([0.01, 0], many) == (0, 1, 0.01))
    expect('a noisy one is', quietly([0.5, 0.01, 0], many) == (1, 2, 0.01))
    expect('a result that stays noisy is the least noisy one',
           quietly([0.5, 0.2, 0.3, 0], many) == (1, 3, 0.2))
    few = Repeats(8)
    quietly([0.5, 0.5, 0.5], few)
    expect('a round repeats a quarter of its measurements', quietly([0.5, 0], few) == (0, 1, 0.5))
    expect('and at least one', quietly([0.5, 0, 0], Repeats(1)) == (1, 2, 0))


def check_verdicts():
    def floor(value):
        return value >= 10

    def ceiling(value):
        return value <= 10
    quiet = [False] * 5
    one = [True, *quiet[1:]]
    three = [True, True, True, False, False]
    expect('quiet rounds have a verdict', verdict([9, 10, 11], quiet, floor) == 'pass' and
           verdict([9, 9, 11], quiet, floor) == 'FAIL')
    expect('a noisy round does not matter if the others agree',
           verdict([1, 12, 12, 12, 12], one, floor) == 'pass' and
           verdict([99, 9, 9, 9, 9], one, floor) == 'FAIL')
    expect('if it decides, there is no verdict',
           verdict([12, 9, 9, 12, 12], one, floor) == 'noisy')
    expect('most rounds noisy: no verdict', verdict([12] * 5, three, floor) == 'noisy')
    expect('nor if the median fails', verdict([9] * 5, three, floor) == 'noisy')
    expect('a ceiling is judged in the same way', verdict([9] * 5, one, ceiling) == 'pass' and
           verdict([9] * 5, three, ceiling) == 'noisy')
    expect('an even number of rounds', verdict([12, 12], [True, False], floor) == 'noisy' and
           verdict([12, 12], quiet, floor) == 'pass')


def main():
    check_sources()
    check_text()
    check_repeats()
    check_verdicts()
    return failed > 0


sys.exit(main())
