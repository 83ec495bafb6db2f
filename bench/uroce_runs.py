# SPDX-License-Identifier: BSD-3-Clause
"""Runs of a comparison: one run of one program over a port, and its metrics.

A run has a name, which has all that distinguishes the run, and these metrics:

    frames_per_s     frames that have a request or its payload; not acknowledgements
    messages_per_s
    bytes_per_s      payload
    median_us, p99_us    half a round trip (READ and atomics: a whole one)
    connect_per_s    QPs connected
"""

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import time

from uroce_bench import (START_S, End, Shape, eal_options, last_object, perf_pair, read)
from uroce_ports import FRAME, PORTS, TOP, LabError, cpu_of, stop

PERF = os.path.join(TOP, 'build/apps/uroce-perf')
LIMIT = os.path.join(TOP, 'build/test/limit')
TESTPMD = shutil.which('dpdk-testpmd')
ICRC_OFF = 'build-no-icrc'      # -Dicrc=false
RING, BURST = 1024, 64          # lib/datapath: NB_DESC, UROCE_BURST
ROUND_TRIPS_PER_S = 150000      # a latency test is given a number of messages, not of seconds


def has_perf_flag(flag):
    said = subprocess.run([PERF, '--', '--help'], capture_output=True, text=True, check=False)
    return flag in said.stdout


def metrics_of(shape, report):
    """Metrics from a report of uroce-perf."""
    row = report['results']
    found = {}
    if 'MsgRate' in row:
        rate = row['MsgRate'] * 1e6
        found |= {'messages_per_s': rate, 'frames_per_s': rate * shape.frames,
                  'bytes_per_s': rate * shape.size}
    if 'percentile_99' in row:
        found |= {'median_us': row.get('percentile_50', row['t_typical']),
                  'p99_us': row['percentile_99']}
    if 'Connect_rate' in report['test_info']:
        found['connect_per_s'] = report['test_info']['Connect_rate']
    return found


class Run:
    """The common part of all runs. `port` creates the wire, `seconds` is the measured time."""

    def why_not(self):
        """The reason why the run is not possible here; None: it is possible."""
        return None

    def builds(self):
        """Build directories that the run needs, with meson's options."""
        return {}

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)


class Perf(Run):
    """uroce-perf at both ends."""

    def __init__(self, test, size, mtu, flags='', has_icrc=True):
        self.test = test
        self.shape = Shape(size, mtu)
        self.flags = flags.split()
        self.has_icrc = has_icrc
        self.name = ' '.join([test, f'-s{size}', f'-m{mtu}', *self.flags,
                              *([] if has_icrc else ['without ICRC'])])

    def why_not(self):
        for flag in '--qp-order', '--working-set', '--impair':
            if any(word.startswith(flag) for word in self.flags) and not has_perf_flag(flag):
                return f'this uroce-perf has no {flag}'
        return None

    def builds(self):
        return {} if self.has_icrc else {ICRC_OFF: ['-Dicrc=false']}

    def length(self, seconds):
        if self.test.endswith('_lat'):
            return [f'-n{ROUND_TRIPS_PER_S * seconds}']
        return [f'-D{seconds}', '-N']

    def measure(self, lab, port, seconds):
        wire = PORTS[port][0](lab)
        program = PERF
        if not self.has_icrc:
            program = os.path.join(TOP, ICRC_OFF, 'apps/uroce-perf')
            for side in wire.server, wire.client:
                side.device += ',icrc=off'
        words = [self.test, f'-s{self.shape.size}', f'-m{self.shape.mtu}', '-u17',
                 *self.length(seconds), *self.flags]
        _, report = perf_pair(lab, wire, program, words, 10 * seconds)
        return metrics_of(self.shape, report)


class Loopback(Run):
    """uroce-perf with both ends in one process. It has `workers` workers, each with its own pair of
    ports.
    """

    def __init__(self, test, size, mtu, flags, workers):
        self.test = test
        self.shape = Shape(size, mtu)
        self.flags = flags.split()
        self.workers = workers
        self.name = f'{test} -s{size} -m{mtu} {flags} --loopback --workers={workers}'

    def why_not(self):
        return None if has_perf_flag('--workers') else 'this uroce-perf has no --workers'

    def measure(self, lab, port, seconds):
        report = lab.path('report.json')
        command = [PERF, '--', '--loopback', self.test, f'-s{self.shape.size}',
                   f'-m{self.shape.mtu}', '-u17', '-N', f'-D{seconds}',
                   f'--workers={self.workers}', *self.flags, '--out_json',
                   f'--out_json_file={report}']
        with open(lab.path('loopback.log'), 'w', encoding='utf-8') as log:
            process = lab.start(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            try:
                code = process.wait(seconds + START_S)
            except subprocess.TimeoutExpired as slow:
                raise LabError(f'{self.name}: has not ended') from slow
        if code != 0:
            lines = read(lab.path('loopback.log')).strip().splitlines() or ['failed']
            raise LabError(f'{self.name}: {lines[-1]}')
        return metrics_of(self.shape, json.loads(read(report)))


class Limit(Run):
    """build/test/limit: frames of the same form are made, checked and copied, without a protocol.
    """

    def __init__(self, size, mtu, region=0):
        self.shape = Shape(size, mtu)
        self.region = region
        self.name = f'limit -s{size} -m{mtu}' + (f' -r{region}' if region else '')

    def measure(self, lab, port, seconds):
        wire = PORTS[port][0](lab)
        common = [f'-s{self.shape.size}', f'-m{self.shape.mtu}', f'-q{RING}', f'-b{BURST}',
                  '--json', *([f'-r{self.region}'] if self.region else [])]
        sink = End(lab, 'limit sink', wire.server, 0,
                   [LIMIT, *eal_options(wire.server), '--', 'sink', f'-D{seconds}', *common])
        time.sleep(0.3)
        blast = End(lab, 'limit blast', wire.client, 1,
                    [LIMIT, *eal_options(wire.client), '--', 'blast', *common])
        sink.wait(seconds + START_S)
        try:
            blast.process.wait(5)
        except subprocess.TimeoutExpired:
            stop(blast.process)
        result = last_object(sink.said())
        return {'frames_per_s': result['frames_per_s'],
                'messages_per_s': result['frames_per_s'] / self.shape.frames,
                'bytes_per_s': result['payload_bytes_per_s']}


class Ping(Run):
    """build/test/limit: one frame there and back."""

    def __init__(self, size):
        self.shape = Shape(size, 4096)
        self.name = f'limit ping -s{size}'

    def measure(self, lab, port, seconds):
        wire = PORTS[port][0](lab)
        size = f'-s{self.shape.size}'
        pong = End(lab, 'limit pong', wire.server, 0,
                   [LIMIT, *eal_options(wire.server), '--', 'pong', size])
        time.sleep(0.3)
        ping = End(lab, 'limit ping', wire.client, 1,
                   [LIMIT, *eal_options(wire.client), '--', 'ping', f'-D{seconds}', size, '--json'])
        ping.wait(seconds + START_S)
        pong.wait(START_S)
        result = last_object(ping.said())
        return {'median_us': result['half_us_median'], 'p99_us': result['half_us_99']}


class Testpmd(Run):
    """dpdk-testpmd, txonly to rxonly, with neither a CRC nor a copy: a well-known reference."""

    def __init__(self, shape):
        self.shape = shape
        self.name = f'testpmd {shape.frame_bytes} bytes'

    def why_not(self):
        return None if TESTPMD else 'no dpdk-testpmd (Debian: dpdk-dev)'

    def command(self, side, cpu, more):
        # The thread that prints mostly sleeps. It shares the CPU of the thread that forwards.
        own = min(cpu_of(cpu))
        return [TESTPMD, *eal_options(side), f'--lcores=0@{own},1@{own}', '--', '--auto-start',
                '--nb-cores=1', '--stats-period=1', f'--rxd={RING}', f'--txd={RING}',
                f'--burst={BURST}', f'--mbuf-size={FRAME + 128}', '--total-num-mbufs=16384',
                '--no-lsc-interrupt', '--no-flush-rx', '--no-mlockall', *more]

    def measure(self, lab, port, seconds):
        wire = PORTS[port][0](lab)
        rx = End(lab, 'testpmd rxonly', wire.server, 0,
                 self.command(wire.server, 0, ['--forward-mode=rxonly']))
        rx.wait_until_said('Rx-pps')
        tx = End(lab, 'testpmd txonly', wire.client, 1,
                 self.command(wire.client, 1, ['--forward-mode=txonly',
                                               f'--txpkts={self.shape.frame_bytes}',
                                               '--tx-udp=4791,4791']))
        tx.wait_until_said('Tx-pps')
        seen = len(re.findall(r'Rx-pps:', rx.said()))
        # One value more than requested, because the first may include the start.
        rx.wait_until_said(rf'(?s)(Rx-pps:.*){{{seen + seconds + 1}}}', seconds + START_S)
        rates = [int(rate) for rate in re.findall(r'Rx-pps:\s+(\d+)', rx.said())][seen + 1:]
        for end in tx, rx:
            end.process.send_signal(signal.SIGINT)
            stop(end.process)
        rate = statistics.median(rates)
        return {'frames_per_s': rate, 'bytes_per_s': rate * self.shape.frame_bytes}
