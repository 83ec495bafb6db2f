# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the benchmark suite: the measurements of uroce-bench-all.

A part is a list of cases. A case is one run of one program, and yields measurements: labels, and
the values by metric. The cases of a part run in turn, round by round, so that a slow phase of the
machine affects all of them.
"""

import os
import sys

import uroce_tcp
from uroce_bench import Shape, build, perf_pair
from uroce_judge import METRIC_OF, judge_limit, judge_lines, judge_tcp
from uroce_lines import LINES
from uroce_ports import PORTS, Lab, LabError
from uroce_runs import ICRC_OFF, PERF, Limit, Loopback, Perf, Testpmd

# metric: unit, which direction is better, description
METRICS = {
    'message_rate': ('1/s', 'more', 'messages a second'),
    'payload_rate': ('bytes/s', 'more', 'payload bytes a second'),
    'frame_rate': ('1/s', 'more', 'request frames a second'),
    'latency_min': ('us', 'less', 'half a round trip, the fastest'),
    'latency_p50': ('us', 'less', 'half a round trip, the median'),
    'latency_p99': ('us', 'less', 'half a round trip, 99 of 100 are faster'),
    'latency_p999': ('us', 'less', 'half a round trip, 999 of 1000 are faster'),
    'latency_mean': ('us', 'less', 'half a round trip, on average'),
    'connect_rate': ('1/s', 'more', 'QPs connected a second'),
    'destroy_rate': ('1/s', 'more', 'QPs destroyed a second'),
    'memory_per_qp': ('bytes', 'less', 'memory for each QP, its queues included'),
    'ratio': ('', 'more', 'share of the limit, or of what a line of the must-show names'),
    'times': ('', 'more', 'times as good as the other program'),
}

SIZES = tuple(2 << at for at in range(23))
QUICK_SIZES = (8, 1024, 65536, 1048576)
QPS = (1, 16, 256, 4096, 65536, 102400)
QUICK_QPS = (1, 16, 4096)
MANY_QPS = 256    # fewer QPs are connected too fast to measure a rate
LOSSES = ('0', '1e-4', '1e-3', '1e-2')
QUICK_LOSSES = ('0', '1e-3')
LATENCY_SIZES = {2: 100000, 64: 100000, 1024: 100000, 4096: 50000, 65536: 10000, 1048576: 1000}
QUICK_LATENCY_SIZES = {64: 50000, 4096: 20000}
RING_FLAGS = ['-t128', '-l16', '-Q16', '-N', '-u17']
RATE_FLAGS = ['-t512', '-l64', '-Q64', '-N', '-u17', '-m1024']
LIMIT_FLAGS = '-t512 -l64 -Q64'
LIMIT_SIZES = ((8, 1024), (1024, 1024), (4096, 4096), (65536, 4096))
QUICK_LIMIT_SIZES = ((8, 1024), (65536, 4096))
QUICK_GROUPS = ('small', 'latency')
# Approximate time of a case in addition to the measured time.
START_S, TESTPMD_S = 0.7, 12
# Approximate worst rate of connecting and destroying QPs, per second.
CONNECTED_S = 25000


class Case:
    """One run of one program. `run` returns a list of (labels, {metric: value}), and takes about
    `seconds`.
    """

    def __init__(self, name, run, seconds):
        self.name = name
        self.run = run
        self.seconds = seconds + START_S


class Part:
    def __init__(self, name, title, cases, max_rounds=None, prepare=None, judge=None):
        self.name = name
        self.title = title
        # A function of the settings. It raises LabError with the reason if the part is impossible.
        self.cases = cases
        self.max_rounds = max_rounds
        # A function for preparations that take long.
        self.prepare = prepare
        # A function that derives values from the measurements: see uroce_judge.py.
        self.judge = judge

    def rounds(self, asked):
        return min(asked, self.max_rounds or asked)


# ------------------------------------------------------------------------------------------ uroce

def results_of(report):
    rows = report['results']
    return rows if isinstance(rows, list) else [rows]


def metrics_of(row):
    """Metrics of one size in the JSON of uroce-perf."""
    names = {'t_min': 'latency_min', 't_typical': 'latency_p50', 'percentile_99': 'latency_p99',
             'percentile_99.9': 'latency_p999'}
    found = {metric: row[key] for key, metric in names.items() if key in row}
    if 'MsgRate' in row:
        rate = row['MsgRate'] * 1e6
        found |= {'message_rate': rate, 'payload_rate': rate * row['MsgSize']}
    return found


def perf(lab, wire, words, seconds):
    """Run uroce-perf at both ends. @return the requester's report"""
    return perf_pair(lab, wire, PERF, words, seconds)[1]


def uroce(port, test, words, labels, seconds):
    """A case of uroce-perf. With a list of sizes (-a) it has a measurement for each size."""
    def run():
        lab = Lab()
        try:
            report = perf(lab, PORTS[port][0](lab), [test, *words], seconds)
        finally:
            lab.close()
        common = {'port': port, 'tool': 'uroce', 'test': test} | labels
        return [(common | {'size': row['MsgSize']}, metrics_of(row))
                for row in results_of(report)]
    shown = ' '.join(f'{key} {value}' for key, value in labels.items())
    return Case(f'{port} {test} {shown}'.strip(), run, seconds)


def ports_of(settings, *names):
    """The requested ports among these that this user may use."""
    chosen = [name for name in names if not PORTS[name][1] or os.geteuid() == 0]
    if settings.ports:
        chosen = [name for name in chosen if name in settings.ports]
    return chosen[:1] if settings.is_quick else chosen


told = set()


def tell(why):
    """Print the reason why a case is left out, once for each reason."""
    if why not in told:
        print(f'uroce-bench-all: {why}: without it', file=sys.stderr)
    told.add(why)


def mtu_of(port):
    return min(4096, PORTS[port][2])


def cases_of_sizes(settings):
    cases = []
    tests = ('write_bw',) if settings.is_quick else ('write_bw', 'send_bw', 'read_bw')
    for port in ports_of(settings, 'memif', 'vhost', 'af_xdp', 'af_packet'):
        for test in tests if port == 'memif' else tests[:1]:
            words = [*RING_FLAGS, f'-m{mtu_of(port)}', f'-D{settings.seconds}']
            labels = {'mtu': mtu_of(port)}
            if settings.is_quick:
                cases += [uroce(port, test, [*words, f'-s{size}'], labels | {'size': size},
                                settings.seconds) for size in QUICK_SIZES]
            else:
                cases.append(uroce(port, test, [*words, '-a'], labels,
                                   settings.seconds * len(SIZES)))
    return cases


def cases_of_latency(settings):
    sizes = QUICK_LATENCY_SIZES if settings.is_quick else LATENCY_SIZES
    tests = ('write_lat',) if settings.is_quick else ('write_lat', 'send_lat')
    return [uroce(port, test, [f'-s{size}', f'-n{count}', '-u17', f'-m{mtu_of(port)}'],
                  {'mtu': mtu_of(port), 'size': size}, 0.5)
            for port in ports_of(settings, 'memif', 'vhost', 'af_xdp', 'af_packet')
            for test in tests for size, count in sizes.items()]


def cases_of_qps(settings):
    cases = []
    for qps in QUICK_QPS if settings.is_quick else QPS:
        for order in ('turn', 'random'):
            words = ['-s64', '-m1024', f'-q{qps}', '-t16', '-l1', '-Q16', '-N', '-u20',
                     f'--qp-order={order}', f'-D{settings.seconds}']
            cases += [with_setup(port, words, {'qps': qps, 'order': order, 'mtu': 1024},
                                 settings.seconds) for port in ports_of(settings, 'memif')]
    return cases


def with_setup(port, words, labels, seconds):
    """A case that also measures the time to connect and destroy the QPs, and their memory."""
    def run():
        lab = Lab()
        try:
            report = perf(lab, PORTS[port][0](lab), ['write_bw', *words], seconds + 30)
        finally:
            lab.close()
        info, found = report['test_info'], metrics_of(results_of(report)[0])
        common = {'port': port, 'tool': 'uroce', 'test': 'write_bw', 'size': 64}
        rows = [(common | labels, found)]
        if labels['order'] == 'turn':    # equal for every order, so it is recorded once
            setup = {'memory_per_qp': info['Memory_per_qp']}
            if labels['qps'] >= MANY_QPS:
                setup |= {'connect_rate': info['Connect_rate'],
                          'destroy_rate': info['Destroy_rate']}
            rows.append((common | {'qps': labels['qps']}, setup))
        return rows
    return Case(f'{port} write_bw qps {labels["qps"]} {labels["order"]}', run,
                seconds + labels['qps'] / CONNECTED_S)


def cases_of_loss(settings):
    return [uroce(port, 'write_bw',
                  ['-s1048576', '-m4096', '-t128', '-Q16', '-N', '-u17', f'-D{settings.seconds}',
                   *([f'--impair=loss={loss}'] if loss != '0' else [])],
                  {'loss': loss, 'mtu': 4096}, settings.seconds)
            for port in ports_of(settings, 'memif')
            for loss in (QUICK_LOSSES if settings.is_quick else LOSSES)]


# ------------------------------------------------------------------- runs that are compared

def case_of_run(port, run, labels, settings, metrics=None):
    """A case for a run of uroce_runs.py, with all its metrics, or those of `metrics`."""
    def run_it():
        lab = Lab()
        try:
            found = run.measure(lab, port, settings.seconds)
        finally:
            lab.close()
        return [(labels, {METRIC_OF[key]: value for key, value in found.items()
                          if metrics is None or key in metrics})]
    seconds = settings.seconds
    if isinstance(run, Testpmd):
        seconds += TESTPMD_S
    many = [int(word[2:]) for word in getattr(run, 'flags', []) if word.startswith('-q')]
    return Case(f'{port} {run.name}', run_it, seconds + sum(many) / CONNECTED_S)


def cases_of_workers(settings):
    """Both ends in each worker; each worker has its own pair of ports."""
    runs = {workers: Loopback('write_bw', 64, 1024, '-t512 -l16 -Q16 -q16', workers)
            for workers in (1, 2)}
    why = runs[1].why_not()
    if why:
        raise LabError(why)
    return [case_of_run('ring', run, {'port': 'ring', 'tool': 'uroce', 'test': 'write_bw',
                                      'size': 64, 'workers': workers}, settings,
                        ('messages_per_s', 'bytes_per_s'))
            for workers, run in runs.items()]


def build_without_icrc():
    """Build a library that neither makes nor checks ICRCs, in a directory of its own."""
    build(ICRC_OFF, ['-Dtests=false', '-Dicrc=false'], 'apps/uroce-perf')


def cases_of_icrc(settings):
    cases = []
    for port in ports_of(settings, 'memif'):
        for size, mtu in ((8, 1024), (1024, 1024), (65536, 1024), (65536, 4096)):
            for icrc in 'on', 'off':
                run = Perf('write_bw', size, mtu, '-t128 -l16 -Q16', has_icrc=icrc == 'on')
                labels = {'port': port, 'tool': 'uroce', 'test': 'write_bw', 'size': size,
                          'mtu': mtu, 'icrc': icrc}
                cases.append(case_of_run(port, run, labels, settings,
                                         ('messages_per_s', 'bytes_per_s')))
    return cases


def cases_of_limit(settings):
    cases = []
    for port in ports_of(settings, 'memif', 'vhost'):
        for size, mtu in QUICK_LIMIT_SIZES if settings.is_quick else LIMIT_SIZES:
            runs = {'uroce': Perf('write_bw', size, mtu, LIMIT_FLAGS), 'limit': Limit(size, mtu),
                    'testpmd': Testpmd(Shape(size, mtu))}
            for tool, run in runs.items():
                if tool == 'testpmd' and (size, mtu) not in QUICK_LIMIT_SIZES:
                    continue    # testpmd takes long, and more sizes add little
                if run.why_not():
                    tell(run.why_not())
                    continue
                labels = {'port': port, 'tool': tool, 'test': 'write_bw', 'size': size, 'mtu': mtu}
                metrics = 'frames_per_s', 'bytes_per_s'    # testpmd has no payload bytes
                cases.append(case_of_run(port, run, labels, settings,
                                         metrics[:1] if tool == 'testpmd' else metrics))
    return cases


def is_of_port(port, group, run):
    """Whether a run is measured on a port. Runs with deliberate loss, and with ports of their own,
    are measured on one port.
    """
    return port == 'memif' or group != 'loss' and not isinstance(run, Loopback)


def cases_of_must(settings):
    """All runs that lines of uroce_lines.py need, each once."""
    groups = QUICK_GROUPS if settings.is_quick else LINES
    cases = []
    for port in ports_of(settings, 'memif', 'vhost'):
        metrics = {}
        for group in groups:
            for line in LINES[group]:
                for run in line.runs():
                    if is_of_port(port, group, run):
                        metrics.setdefault(run, set()).add(line.metric)
        cases += [case_of_run(port, run, {'port': port, 'run': run.name}, settings, wanted)
                  for run, wanted in metrics.items()]
    return cases


# ------------------------------------------------------------------------------------ UCX and qperf

# What is compared: tests of uroce with their options, tests of UCX with their numbers of messages.
RATE, STREAM, TRIP = 'rate', 'stream', 'trip'
UROCE_TESTS = {RATE: ('write_bw', 'send_bw'), STREAM: ('write_bw', 'send_bw'),
               TRIP: ('write_lat', 'send_lat')}
UCX_TESTS = {RATE: ('tag_bw', 'ucp_am_bw'), STREAM: ('tag_bw', 'ucp_am_bw'),
             TRIP: ('tag_lat', 'ucp_am_lat')}
QPERF_TESTS = {RATE: 'tcp_bw', STREAM: 'tcp_bw', TRIP: 'tcp_lat'}
SIZE_OF = {RATE: 64, STREAM: 65536, TRIP: 64}
UCX_COUNT = {RATE: 300000, STREAM: 20000, TRIP: 50000}


def uroce_words(kind, port, seconds):
    if kind == TRIP:
        return ['-s64', '-n50000', '-u17', '-m1024']
    if kind == RATE:
        return ['-s64', f'-D{seconds}', *RATE_FLAGS]
    return ['-s65536', f'-m{mtu_of(port)}', '-t128', '-Q16', '-N', '-u17', f'-D{seconds}']


def tcp_case(port, make, tool, test, kind, run):
    def run_it():
        lab = Lab()
        try:
            return [({'port': port, 'tool': tool, 'test': test, 'size': SIZE_OF[kind],
                      'kind': kind}, run(lab, make(lab)))]
        finally:
            lab.close()
    return Case(f'{port} {tool} {test} size {SIZE_OF[kind]}', run_it, 1)


def cases_of_tcp(settings):
    """Comparison on the same pair of interfaces. memif has no interfaces, so the other programs use
    the loopback.
    """
    without = {program: uroce_tcp.missing(program) for program in uroce_tcp.PACKAGES}
    if all(without.values()):
        raise LabError(', '.join(without.values()))
    for why in filter(None, without.values()):
        tell(why)
    cases = []
    for port in ports_of(settings, 'memif', 'af_xdp', 'af_packet'):
        make = PORTS[port][0] if port != 'memif' else uroce_tcp.loopback
        for kind in RATE, STREAM, TRIP:
            cases += [uroce(port, test, uroce_words(kind, port, settings.seconds), {'kind': kind},
                            0.5 if kind == TRIP else settings.seconds)
                      for test in UROCE_TESTS[kind]]
            if not without['ucx_perftest']:
                cases += [tcp_case(port, make, 'ucx', test, kind, ucx_run(test, kind))
                          for test in UCX_TESTS[kind]]
            if not without['qperf']:
                cases.append(tcp_case(port, make, 'qperf', QPERF_TESTS[kind], kind,
                                      qperf_run(kind, settings.seconds)))
    return cases


def ucx_run(test, kind):
    return lambda lab, wire: uroce_tcp.ucx(lab, wire, test, SIZE_OF[kind], UCX_COUNT[kind])


def qperf_run(kind, seconds):
    return lambda lab, wire: uroce_tcp.qperf(lab, wire, QPERF_TESTS[kind], SIZE_OF[kind], seconds)


PARTS = {part.name: part for part in (
    Part('must', 'what must be shown', cases_of_must, None, build_without_icrc, judge_lines),
    Part('tcp', 'beside UCX over TCP and qperf', cases_of_tcp, None, None, judge_tcp),
    Part('limit', 'against what a port and two cores carry', cases_of_limit, 3, None, judge_limit),
    Part('sizes', 'rate and bandwidth by size of the message', cases_of_sizes, 2),
    Part('latency', 'latency by size of the message', cases_of_latency, 3),
    Part('qps', 'message rate, set-up and memory by QPs', cases_of_qps, 5),
    Part('loss', 'bandwidth by loss', cases_of_loss, 5),
    Part('workers', 'message rate by workers', cases_of_workers, 5),
    Part('icrc', 'what the ICRC costs', cases_of_icrc, 3, build_without_icrc),
)}
