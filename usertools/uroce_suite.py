# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the benchmark suite: what uroce-bench-all measures.

A part is a list of cases. A case is one run of one program, and yields measurements: what was
measured (labels) and the values by metric. The cases of a part run in turn, round by round, so that
what slows the machine for a while slows all of them.
"""

import json
import os
import subprocess
import sys

import uroce_tcp
from uroce_bench import perf_pair
from uroce_ports import PORTS, TOP, Lab, LabError

PERF = os.path.join(TOP, 'build/apps/uroce-perf')
RATIO = os.path.join(TOP, 'usertools/uroce-bench-ratio')
OFF_BUILD = os.path.join(TOP, 'build-icrc-off')

# metric: unit, which is better, what it is
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
    'ratio': ('', 'more', 'share of the limit'),
}

SIZES = tuple(2 << at for at in range(23))
QUICK_SIZES = (8, 1024, 65536, 1048576)
QPS = (1, 16, 256, 4096, 65536, 102400)
QUICK_QPS = (1, 16, 4096)
MANY_QPS = 256    # fewer are connected too soon for a rate
LOSSES = ('0', '1e-4', '1e-3', '1e-2')
QUICK_LOSSES = ('0', '1e-3')
LATENCY_SIZES = {2: 100000, 64: 100000, 1024: 100000, 4096: 50000, 65536: 10000, 1048576: 1000}
QUICK_LATENCY_SIZES = {64: 50000, 4096: 20000}
RING_FLAGS = ['-t128', '-l16', '-Q16', '-N', '-u17']
RATE_FLAGS = ['-t512', '-l64', '-Q64', '-N', '-u17', '-m1024']


class Case:
    """One run of one program: `run` gives a list of (labels, {metric: value})."""

    def __init__(self, name, run):
        self.name = name
        self.run = run


class Part:
    def __init__(self, name, title, cases, max_rounds=None):
        self.name = name
        self.title = title
        self.cases = cases            # of the settings; raises LabError: cannot be, and why
        self.max_rounds = max_rounds


# ------------------------------------------------------------------------------------------ uroce

def results_of(report):
    rows = report['results']
    return rows if isinstance(rows, list) else [rows]


def metrics_of(row):
    """Of a size in the JSON of uroce-perf."""
    names = {'t_min': 'latency_min', 't_typical': 'latency_p50', 'percentile_99': 'latency_p99',
             'percentile_99.9': 'latency_p999'}
    found = {metric: row[key] for key, metric in names.items() if key in row}
    if 'MsgRate' in row:
        rate = row['MsgRate'] * 1e6
        found |= {'message_rate': rate, 'payload_rate': rate * row['MsgSize']}
    return found


def perf(lab, wire, words, seconds, program=PERF):
    """uroce-perf at both ends. @return the requester's report"""
    return perf_pair(lab, wire, program, words, seconds)[1]


def uroce(port, test, words, labels, seconds, make=None, program=PERF):
    """A case of uroce-perf; with sizes of its own (-a) a measurement for each."""
    def run():
        lab = Lab()
        try:
            report = perf(lab, (make or PORTS[port][0])(lab), [test, *words], seconds, program)
        finally:
            lab.close()
        common = {'port': port, 'tool': 'uroce', 'test': test} | labels
        return [(common | {'size': row['MsgSize']}, metrics_of(row))
                for row in results_of(report)]
    shown = ' '.join(f'{key} {value}' for key, value in labels.items())
    return Case(f'{port} {test} {shown}'.strip(), run)


def ports_of(settings, *names):
    """Those of the ports that this user may use."""
    chosen = [name for name in names if not PORTS[name][1] or os.geteuid() == 0]
    return chosen[:1] if settings.is_quick else chosen


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
                  {'mtu': mtu_of(port), 'size': size}, 10)
            for port in ports_of(settings, 'memif', 'vhost', 'af_xdp', 'af_packet')
            for test in tests for size, count in sizes.items()]


def cases_of_qps(settings):
    cases = []
    for qps in QUICK_QPS if settings.is_quick else QPS:
        for order in ('turn', 'random'):
            words = ['-s64', '-m1024', f'-q{qps}', '-t16', '-l1', '-Q16', '-N', '-u17',
                     f'--qp-order={order}', f'-D{settings.seconds}']
            cases.append(with_setup('memif', words, {'qps': qps, 'order': order, 'mtu': 1024},
                                    settings.seconds))
    return cases


def with_setup(port, words, labels, seconds):
    """What it takes to connect and to destroy the QPs, and their memory, as well."""
    def run():
        lab = Lab()
        try:
            report = perf(lab, PORTS[port][0](lab), ['write_bw', *words], seconds + 30)
        finally:
            lab.close()
        info, found = report['test_info'], metrics_of(results_of(report)[0])
        found['memory_per_qp'] = info['Memory_per_qp']
        if labels['qps'] >= MANY_QPS:
            found |= {'connect_rate': info['Connect_rate'], 'destroy_rate': info['Destroy_rate']}
        return [({'port': port, 'tool': 'uroce', 'test': 'write_bw', 'size': 64} | labels, found)]
    return Case(f'{port} write_bw qps {labels["qps"]} {labels["order"]}', run)


def cases_of_loss(settings):
    return [uroce('memif', 'write_bw',
                  ['-s1048576', '-m4096', '-t64', '-Q1', '-N', '-u17', f'-D{settings.seconds}',
                   *([f'--impair=loss={loss}'] if loss != '0' else [])],
                  {'loss': loss, 'mtu': 4096}, settings.seconds)
            for loss in (QUICK_LOSSES if settings.is_quick else LOSSES)]


def has_flag(flag):
    said = subprocess.run([PERF, '--', '--help'], capture_output=True, text=True, check=False)
    return flag in said.stdout


def cases_of_workers(settings):
    if not has_flag('--workers'):
        raise LabError('this uroce-perf drives one worker: it has no --workers')
    return [loopback_of(workers, settings.seconds) for workers in (1, 2)]


def loopback_of(workers, seconds):
    """Both ends in each worker, each worker over a pair of ports of its own."""
    def run():
        lab = Lab()
        try:
            report = lab.path('report.json')
            command = [PERF, '--', '--loopback', 'write_bw', '-s64', '-m1024', '-t512', '-l16',
                       '-Q16', '-q16', '-N', '-u17', f'-D{seconds}', f'--workers={workers}',
                       '--out_json', f'--out_json_file={report}']
            done = subprocess.run(command, capture_output=True, text=True, check=False,
                                  timeout=seconds + 30)
            if done.returncode != 0:
                raise LabError((done.stderr.strip() or 'failed').splitlines()[-1])
            with open(report, encoding='utf-8') as file:
                row = results_of(json.load(file))[0]
        finally:
            lab.close()
        return [({'port': 'ring', 'tool': 'uroce', 'test': 'write_bw', 'size': 64,
                  'workers': workers}, metrics_of(row))]
    return Case(f'ring write_bw workers {workers}', run)


# ----------------------------------------------------------------------------------- ICRC, on, off

def build_without_icrc():
    """A library that neither makes nor checks ICRCs, in a directory of its own."""
    program = os.path.join(OFF_BUILD, 'apps/uroce-perf')
    steps = []
    if not os.path.exists(os.path.join(OFF_BUILD, 'build.ninja')):
        steps.append(['meson', 'setup', OFF_BUILD, TOP, '-Dicrc=false'])
    steps.append(['ninja', '-C', OFF_BUILD, 'apps/uroce-perf'])
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip().splitlines() or ['failed']
            raise LabError(f'{step[0]}: {said[-1]}')
    return program


def cases_of_icrc(settings):
    with open(os.path.join(TOP, 'meson_options.txt'), encoding='utf-8') as file:
        if "option('icrc'" not in file.read():
            raise LabError('this tree cannot be built without the ICRC: no option icrc')
    off = build_without_icrc()

    def without(lab):
        wire = PORTS['memif'][0](lab)
        for side in wire.server, wire.client:
            side.device += ',icrc=off'
        return wire

    cases = []
    for size, mtu in ((8, 1024), (65536, 1024), (65536, 4096)):
        words = [*RING_FLAGS, f'-s{size}', f'-m{mtu}', f'-D{settings.seconds}']
        for icrc, make, program in (('on', None, PERF), ('off', without, off)):
            cases.append(uroce('memif', 'write_bw', words, {'mtu': mtu, 'icrc': icrc, 'size': size},
                               settings.seconds, make, program))
    return cases


# ---------------------------------------------------------------------------------- limit, testpmd

def cases_of_limit(settings):
    """Each case is a round of uroce-bench-ratio, which runs the three programs in turn."""
    return [Case(f'{port} uroce, limit, testpmd', lambda port=port: ratio_round(port, settings))
            for port in ports_of(settings, 'memif', 'vhost')]


def run_tool(command):
    """One that clears up behind itself: when we are ended it is asked to end, and not killed."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as tool:
        try:
            out, err = tool.communicate()
        except BaseException:
            tool.terminate()
            tool.communicate()
            raise
    return tool.returncode, out, err


def ratio_round(port, settings):
    sizes = '8:1024,65536:4096' if settings.is_quick else '8:1024,1024:1024,4096:4096,65536:4096'
    command = [sys.executable, RATIO, port, '--rounds=1', f'--seconds={settings.seconds}',
               f'--sizes={sizes}', '--json']
    code, out, err = run_tool(command)
    if code != 0:
        raise LabError((err.strip() or 'uroce-bench-ratio failed').splitlines()[-1])
    found = []
    for row in json.loads(out):
        labels = {'port': port, 'test': row.get('test', 'write_bw'), 'size': row['size'],
                  'mtu': row['mtu']}
        for tool in 'uroce', 'limit', 'testpmd':
            if row.get(f'{tool}_frames_per_s') is None:
                continue
            values = {'frame_rate': row[f'{tool}_frames_per_s']}
            if row.get(f'{tool}_payload_bytes_per_s') is not None:
                values['payload_rate'] = row[f'{tool}_payload_bytes_per_s']
            if tool == 'uroce':
                values['ratio'] = row['frames_ratio']
            found.append((labels | {'tool': tool}, values))
    return found


# ------------------------------------------------------------------------------------ UCX and qperf

# What is compared: uroce's test and its words, UCX' tests and how many messages of each.
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
    return Case(f'{port} {tool} {test} size {SIZE_OF[kind]}', run_it)


def cases_of_tcp(settings):
    """On the very same pair of interfaces; beside memif, which has none, over loopback."""
    without = {program: uroce_tcp.missing(program) for program in uroce_tcp.PACKAGES}
    if all(without.values()):
        raise LabError(', '.join(without.values()))
    for why in filter(None, without.values()):
        print(f'uroce-bench-all: {why}: without it', file=sys.stderr)
    cases = []
    for port in ports_of(settings, 'memif', 'af_xdp', 'af_packet'):
        make = PORTS[port][0] if port != 'memif' else uroce_tcp.loopback
        for kind in RATE, STREAM, TRIP:
            cases += [uroce(port, test, uroce_words(kind, port, settings.seconds), {'kind': kind},
                            settings.seconds) for test in UROCE_TESTS[kind]]
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
    Part('sizes', 'rate and bandwidth by size of the message', cases_of_sizes, 3),
    Part('latency', 'latency by size of the message', cases_of_latency, 3),
    Part('qps', 'message rate, set-up and memory by QPs', cases_of_qps, 5),
    Part('loss', 'bandwidth by loss', cases_of_loss),
    Part('workers', 'message rate by workers', cases_of_workers),
    Part('icrc', 'what the ICRC costs', cases_of_icrc),
    Part('limit', 'against what a port and two cores carry', cases_of_limit),
    Part('tcp', 'beside UCX over TCP and qperf', cases_of_tcp),
)}
