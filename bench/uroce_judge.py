# SPDX-License-Identifier: BSD-3-Clause
"""Values derived from the measurements of a part: ratios, round by round, and whether they meet
their limits. A derived value is stored, printed and compared as a measurement is.
"""

from uroce_lines import LINES
from uroce_noise import LIMIT, verdict

# The metrics of uroce_runs, with their names in the suite.
METRIC_OF = {'frames_per_s': 'frame_rate', 'messages_per_s': 'message_rate',
             'bytes_per_s': 'payload_rate', 'median_us': 'latency_p50', 'p99_us': 'latency_p99',
             'connect_per_s': 'connect_rate'}
# The comparison with TCP: for each kind, the metric that is compared, and its title.
KINDS = {'rate': ('message_rate', '64-byte messages'), 'stream': ('payload_rate', '64 KiB messages, bytes'),
         'trip': ('latency_p50', '64-byte latency')}
# Limits: how many times as good as UCX uroce must be, by port and kind. For latency: how many times
# shorter.
TIMES = {('af_xdp', 'rate'): 2, ('af_packet', 'rate'): 2, ('af_xdp', 'stream'): 1,
         ('af_packet', 'stream'): 1, ('af_xdp', 'trip'): 1, ('af_packet', 'trip'): 1,
         ('memif', 'rate'): 5, ('memif', 'trip'): 3}


class Judged:
    """A value for each round, derived from other measurements, and its limits. `others` is the noise
    of each round.
    """

    def __init__(self, labels, metric, rounds, others, floor=None, ceiling=None):
        self.labels = labels
        self.metric = metric
        self.rounds = rounds
        self.others = others
        self.floor = floor
        self.ceiling = ceiling

    def better(self):
        """Which direction is better: 'less', or None for that of the metric."""
        return None if self.ceiling is None else 'less'

    def bounds(self):
        if self.floor is None and self.ceiling is None:
            return {}
        bound = {'floor': self.floor} if self.ceiling is None else {'ceiling': self.ceiling}
        return bound | {'verdict': verdict(self.rounds, [share > LIMIT for share in self.others],
                                           self.is_right)}

    def is_right(self, value):
        return ((self.floor is None or value >= self.floor) and
                (self.ceiling is None or value <= self.ceiling))


def select(rows, metric, **labels):
    return [row for row in rows if row['metric'] == metric and
            all(row['labels'].get(key) == value for key, value in labels.items())]


def ports_in(rows):
    return list(dict.fromkeys(row['labels']['port'] for row in rows))


def others_of(rows):
    """The noise of each round: that of the noisiest row."""
    return [max(shares) for shares in zip(*(row['others_by_round'] for row in rows))]


def judge_lines(rows):
    """Results of the lines of uroce_lines.py, from the runs that were measured for them."""
    found = []
    for port in ports_in(rows):
        for group, line in ((group, line) for group, lines in LINES.items() for line in lines):
            metric = METRIC_OF[line.metric]
            of_runs = [select(rows, metric, port=port, run=run.name) for run in line.runs()]
            if not all(of_runs):
                continue
            of_runs = [some[0] for some in of_runs]
            rounds = [line.ratio(dict(zip(line.runs(), ({line.metric: value} for value in values))))
                      for values in zip(*(row['rounds'] for row in of_runs))]
            found.append(Judged({'port': port, 'group': group, 'line': line.name},
                                'ratio' if line.right else metric, rounds, others_of(of_runs),
                                line.floor, line.ceiling))
    return found


def judge_limit(rows):
    found = []
    for ours in select(rows, 'frame_rate', tool='uroce'):
        labels = ours['labels'] | {'tool': 'limit'}
        for theirs in select(rows, 'frame_rate', **labels):
            found.append(Judged(ours['labels'], 'ratio',
                                [a / b for a, b in zip(ours['rounds'], theirs['rounds'])],
                                others_of([ours, theirs])))
    return found


def best_rounds(rows, better):
    """For each round, the best of several tests of a program."""
    pick = max if better == 'more' else min
    return [pick(values) for values in zip(*(row['rounds'] for row in rows))]


def judge_tcp(rows):
    """How many times as good as each other program uroce is, by the best test of each."""
    found = []
    for port in ports_in(rows):
        for kind, (metric, _) in KINDS.items():
            better = 'less' if kind == 'trip' else 'more'
            ours = select(rows, metric, port=port, kind=kind, tool='uroce')
            for tool in 'ucx', 'qperf':
                is_mean = tool == 'qperf' and kind == 'trip'    # qperf reports no median
                theirs = select(rows, 'latency_mean' if is_mean else metric, port=port, kind=kind,
                                tool=tool)
                if not ours or not theirs:
                    continue
                pairs = zip(best_rounds(ours, better), best_rounds(theirs, better))
                found.append(Judged({'port': port, 'kind': kind, 'beside': tool}, 'times',
                                    [a / b if better == 'more' else b / a for a, b in pairs],
                                    others_of(ours + theirs),
                                    TIMES.get((port, kind)) if tool == 'ucx' else None))
    return found
