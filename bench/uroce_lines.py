# SPDX-License-Identifier: BSD-3-Clause
"""The lines of a comparison: what is compared with what, and the limit of the ratio. LINES has what
the data path must reach on a port between two processes. A line is added by adding a row.
"""

from uroce_runs import Limit, Loopback, Perf, Ping

KIB, MIB = 1 << 10, 1 << 20
SET = 256 * MIB     # larger than any cache

# Requests are posted in lists of 16 on 16 QPs, or one by one on one QP.
LISTS = '-t512 -l16 -Q16 -q16'
SINGLE = '-t512 -l1 -Q64 -q1'
LARGE = '-t128 -Q16'
SMALL = 8, 1024
TESTS = {'WRITE': 'write_bw', 'SEND': 'send_bw', 'READ': 'read_bw', 'FETCH_AND_ADD': 'atomic_bw'}


class Line:
    """The ratio of `left` to `share` times `right` has a limit. Without `right`, the value of
    `left` has a limit.
    """

    def __init__(self, name, left, right, metric, floor=None, ceiling=None, share=1):
        self.name = name
        self.left = left
        self.right = right
        self.metric = metric
        self.floor = floor
        self.ceiling = ceiling
        self.share = share

    def runs(self):
        return [run for run in (self.left, self.right) if run]

    def why_not(self):
        return next(filter(None, (run.why_not() for run in self.runs())), None)

    def ratio(self, metrics):
        """@param metrics of one round, by run"""
        value = metrics[self.left][self.metric]
        return value / (metrics[self.right][self.metric] * self.share) if self.right else value

    def is_right(self, ratio):
        return ((self.floor is None or ratio >= self.floor) and
                (self.ceiling is None or ratio <= self.ceiling))

    def must(self):
        word, bound = ('>=', self.floor) if self.floor is not None else ('<=', self.ceiling)
        return f'{word} {bound:,.0f}' if not self.right else f'{word} {100 * bound:.0f} %'


def small_lines():
    for op in 'WRITE', 'SEND':
        yield Line(f'8 B {op}, lists of 16, 16 QPs', Perf(TESTS[op], *SMALL, LISTS), Limit(*SMALL),
                   'frames_per_s', floor=0.60)
    for op in 'READ', 'FETCH_AND_ADD':
        # each operation has two frames
        yield Line(f'8 B {op}, lists of 16, 16 QPs', Perf(TESTS[op], *SMALL, LISTS), Limit(*SMALL),
                   'frames_per_s', floor=0.60, share=0.5)
    for op in 'WRITE', 'SEND':
        yield Line(f'8 B {op}, single posts, 1 QP', Perf(TESTS[op], *SMALL, SINGLE), Limit(*SMALL),
                   'frames_per_s', floor=0.45)


def large_lines():
    for mtu, floor in (4096, 0.90), (1024, 0.85):
        for size, text in (64 * KIB, '64 KiB'), (MIB, '1 MiB'):
            for op in 'WRITE', 'SEND', 'READ':
                yield Line(f'{text} {op}, MTU {mtu}', Perf(TESTS[op], size, mtu, LARGE),
                           Limit(size, mtu), 'bytes_per_s', floor=floor)


def icrc_lines():
    for size, text in (64 * KIB, '64 KiB'), (MIB, '1 MiB'):
        for op in 'WRITE', 'SEND', 'READ':
            yield Line(f'{text} {op}, ICRC on against off', Perf(TESTS[op], size, 4096, LARGE),
                       Perf(TESTS[op], size, 4096, LARGE, has_icrc=False), 'bytes_per_s',
                       floor=0.85)


def set_lines():
    for op in 'WRITE', 'SEND', 'READ':
        yield Line(f'64 KiB {op}, working set of 256 MiB',
                   Perf(TESTS[op], 64 * KIB, 4096, f'{LARGE} --working-set={SET}'),
                   Limit(64 * KIB, 4096, SET), 'bytes_per_s', floor=0.85)


def latency_lines():
    for op, test in ('WRITE', 'write_lat'), ('SEND', 'send_lat'):
        for metric, text, ceiling in ('median_us', 'median', 1.3), ('p99_us', '99 %', 2.0):
            yield Line(f'8 B {op} latency, {text}', Perf(test, *SMALL), Ping(8), metric,
                       ceiling=ceiling)


def many_lines():
    flags = '-t16 -l1 -Q16 --qp-order=random'
    many = Perf('write_bw', 64, 1024, f'-q102400 {flags}')
    yield Line('64 B WRITE, 100 Ki QPs against 16', many,
               Perf('write_bw', 64, 1024, f'-q16 {flags}'), 'messages_per_s', floor=0.80)
    flags = '-t16 -l16 -Q16 --qp-order=random'
    yield Line('64 B WRITE, lists, 100 Ki QPs against 16',
               Perf('write_bw', 64, 1024, f'-q102400 {flags}'),
               Perf('write_bw', 64, 1024, f'-q16 {flags}'), 'messages_per_s', floor=0.80)
    yield Line('QPs connected a second', many, None, 'connect_per_s', floor=20000)
    yield Line('64 B WRITE, two workers against one', Loopback('write_bw', 64, 1024, LISTS, 2),
               Loopback('write_bw', 64, 1024, LISTS, 1), 'messages_per_s', floor=1.9)


def loss_lines():
    yield Line('1 MiB WRITE, loss 1e-3 against none',
               Perf('write_bw', MIB, 4096, f'{LARGE} --impair=loss=1e-3'),
               Perf('write_bw', MIB, 4096, LARGE), 'bytes_per_s', floor=0.90)


GROUPS = {'small': small_lines, 'large': large_lines, 'icrc': icrc_lines, 'set': set_lines,
          'latency': latency_lines, 'many': many_lines, 'loss': loss_lines}
LINES = {group: list(lines()) for group, lines in GROUPS.items()}
