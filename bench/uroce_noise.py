# SPDX-License-Identifier: BSD-3-Clause
"""Noise: the CPU time that a measurement did not get. It has two causes.

    steal      the hypervisor ran other machines on the CPUs
    foreign    processes other than the benchmark and its descendants ran on the CPUs

Both are shares of the time of the CPUs that the benchmark may use (taskset(1) chooses some). They
are computed from /proc at the beginning and at the end of a measurement. `foreign` is the busy time
of the CPUs in /proc/stat, less the user and system time of the benchmark's process tree. Time in
interrupts is not included: on a veth it belongs to the measured processes, too.

A measurement is noisy if the two shares together exceed LIMIT. It is then measured again, at most
REPEATS times, and the least noisy of its results is kept. A round may repeat a quarter of its
measurements, so that a machine that is always noisy does not prolong a run without end.
"""

import os
import re
import statistics

from uroce_bench import read

LIMIT = 0.03
REPEATS = 2
PASS, FAIL, NOISY = 'pass', 'FAIL', 'noisy'


class Noise:
    def __init__(self, steal, foreign):
        self.steal = steal
        self.foreign = foreign

    def share(self):
        return self.steal + self.foreign

    def is_noisy(self):
        return self.share() > LIMIT

    def as_json(self):
        return {'steal': round(self.steal, 4), 'foreign': round(self.foreign, 4)}

    def __str__(self):
        return (f'steal {100 * self.steal:.0f} %, other processes {100 * self.foreign:.0f} % '
                'of the CPUs')

    def warning(self):
        """A sentence; None: there was little noise."""
        return f'noise: {self}: these figures are worth little' if self.is_noisy() else None


def worst(noises):
    return max(noises, key=Noise.share)


def peak(noises):
    """The largest steal and the largest foreign share of several measurements."""
    return Noise(max(noise.steal for noise in noises), max(noise.foreign for noise in noises))


# ------------------------------------------------------------------------------------- CPU times

def cpu_ticks(proc, cpus):
    """Ticks of these CPUs: all, stolen, and those of processes."""
    total = stolen = busy = 0
    for cpu, words in re.findall(r'^cpu(\d+) (.*)$', read(f'{proc}/stat'), re.MULTILINE):
        if int(cpu) in cpus:
            # user, nice, system, idle, iowait, irq, softirq, steal; then guests, which user includes
            ticks = [int(word) for word in words.split()][:8]
            total += sum(ticks)
            stolen += ticks[7]
            busy += sum(ticks[:3])
    return total, stolen, busy


def tree_ticks(proc, root):
    """Ticks of a process, of its living descendants, and of those that were waited for."""
    ticks, children = {}, {}
    for name in os.listdir(proc):
        if not name.isdecimal():
            continue
        try:
            words = read(f'{proc}/{name}/stat').rpartition(')')[2].split()
        except OSError:
            continue    # the process has ended
        ticks[int(name)] = sum(int(word) for word in words[11:15])    # utime, stime, cutime, cstime
        children.setdefault(int(words[1]), []).append(int(name))
    total, left = 0, [root]
    while left:
        pid = left.pop()
        total += ticks.get(pid, 0)
        left += children.get(pid, [])
    return total


class Watch:
    """The noise from the creation of the object on."""

    def __init__(self, proc='/proc', pid=None, cpus=None):
        self.proc = proc
        self.pid = pid or os.getpid()
        self.cpus = cpus or os.sched_getaffinity(0)
        self.begin = self.look()

    def look(self):
        return *cpu_ticks(self.proc, self.cpus), tree_ticks(self.proc, self.pid)

    def noise(self):
        total, stolen, busy, own = (now - then for now, then in zip(self.look(), self.begin))
        total = max(1, total)
        return Noise(max(0, stolen) / total, max(0, busy - own) / total)


# ------------------------------------------------------------------------------ repeats, verdicts

class Repeats:
    """The number of measurements that a round may still repeat."""

    def __init__(self, planned):
        self.left = max(1, planned // 4)

    def take(self):
        self.left -= 1
        return self.left >= 0


def measure_quietly(measure, repeats, watch=Watch):
    """Measure, and measure again while the machine is noisy. @return the least noisy result, and
    its noise
    """
    best = None
    for attempt in range(1 + REPEATS):
        if attempt and not repeats.take():
            break
        watched = watch()
        result = measure()
        noise = watched.noise()
        if best is None or noise.share() < best[1].share():
            best = result, noise
        if not noise.is_noisy():
            break
    return best


def verdict(values, are_noisy, is_right):
    """Whether the median of the rounds is right. The answer must not depend on noisy rounds: the
    verdict is NOISY if other values of these rounds could change it.

    @param is_right has one bound, a floor or a ceiling
    """
    answers = {is_right(statistics.median(extreme if noisy else value
                                          for value, noisy in zip(values, are_noisy)))
               for extreme in (float('-inf'), float('inf'))}
    if len(answers) == 2:
        return NOISY
    return PASS if answers.pop() else FAIL
