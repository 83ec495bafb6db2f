# SPDX-License-Identifier: BSD-3-Clause
"""A measurement between two processes, each a thread on a CPU of its own: the processes and
their output. Common to the uroce-bench programs.
"""

import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'usertools'))
from uroce_ports import PORTS, TOP, LabError, cpu_of, inside  # noqa: E402

START_S = 30
MTUS = (256, 512, 1024, 2048, 4096)
# Ethernet, IPv4, UDP, BTH, ICRC; and the RETH of the first or only packet of a WRITE.
HEADERS, RETH = 14 + 20 + 8 + 12 + 4, 16


class Shape:
    """Messages of one size, and their frames."""

    def __init__(self, size, mtu):
        self.size = size
        self.mtu = mtu
        self.frames = -(-size // mtu)
        payload = min(size, mtu)
        # The most frequent frame of a message: the only one, or a middle one.
        self.frame_bytes = HEADERS + -(-payload // 4) * 4 + (RETH if self.frames < 3 else 0)


# ------------------------------------------------------------------------------------------ builds

def build(folder, options, *targets):
    """Build a library with other options, in a directory of its own."""
    steps = [['ninja', '-C', folder, *targets]]
    if not os.path.exists(os.path.join(TOP, folder, 'build.ninja')):
        steps.insert(0, ['meson', 'setup', folder, *options])
    for step in steps:
        done = subprocess.run(step, cwd=TOP, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise LabError(f'{" ".join(step)}: {lines[-1] if lines else "failed"}')


# ------------------------------------------------------------------------------------------- ends

def memory_options(eal):
    """Memory options that uroce-perf itself would choose."""
    if '--no-huge' in eal:
        return ['--no-shconf', '-m', '1024']
    for folder in sorted(os.listdir('/sys/kernel/mm/hugepages')):
        with open(f'/sys/kernel/mm/hugepages/{folder}/free_hugepages', encoding='ascii') as file:
            if int(file.read()) > 0 and os.geteuid() == 0:
                return ['--in-memory']
    return ['--no-huge', '--no-shconf', '-m', '1024']


def eal_options(side):
    return [*side.eal, *memory_options(side.eal), '--no-telemetry', '--log-level=*:error']


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


class End:
    """A process of a measurement. Its output is stored."""

    def __init__(self, lab, name, side, cpu, command):
        self.name = name
        self.log = lab.path(f'{name}.log')
        with open(self.log, 'w', encoding='utf-8') as file:
            self.process = lab.start(inside(side.keeper) + command, cpu_of(cpu),
                                     stdin=subprocess.DEVNULL, stdout=file,
                                     stderr=subprocess.STDOUT)

    def said(self):
        return read(self.log)

    def fail(self, what):
        lines = [line for line in self.said().splitlines() if line.strip()]
        last = f': {lines[-1]}' if lines else ''
        raise LabError(f'{self.name} {what}{last}')

    def wait_until_said(self, pattern, seconds=START_S):
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.said()):
            if self.process.poll() is not None:
                self.fail(f'ended with status {self.process.returncode}')
            if time.monotonic() > deadline:
                self.fail(f'did not get there in {seconds} s')
            time.sleep(0.02)

    def wait(self, seconds):
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.fail(f'has not ended in {seconds} s')
        if code != 0:
            self.fail(f'ended with status {code}')


def last_object(text):
    """The JSON object in the last line that has one."""
    for line in reversed(text.splitlines()):
        if line.startswith('{'):
            return json.loads(line)
    return {}


def perf_pair(lab, wire, perf, test, seconds):
    """Run uroce-perf at both ends. @return the reports of responder and requester"""
    reports = [lab.path(f'{name}.json') for name in ('responder', 'requester')]

    def command(side, report, more):
        port = [f'--port={wire.port}'] if wire.port else []
        return [perf, *side.eal, '--', f'--uroce={side.device}', *test, *port,
                '--out_json', f'--out_json_file={report}', *more]

    server = End(lab, 'uroce-perf (responder)', wire.server, 0,
                 command(wire.server, reports[0], []))
    server.wait_until_said('waiting for a client')
    client = End(lab, 'uroce-perf (requester)', wire.client, 1,
                 command(wire.client, reports[1], [wire.tcp]))
    client.wait(seconds + START_S)
    server.wait(START_S)
    return [json.loads(read(report)) for report in reports]


# ------------------------------------------------------------------------------------ command line

def positive(text):
    value = int(text) if text.isdecimal() else 0
    if value < 1:
        raise LabError(f'{text}: not a positive number; allowed: 1, 2, ...')
    return value


def parse_sizes(text, mtu_max):
    shapes = []
    for word in text.split(','):
        size, _, mtu = word.partition(':')
        size = positive(size)
        mtu = positive(mtu) if mtu else 1024 if size <= 1024 else 4096
        if mtu not in MTUS:
            raise LabError(f'--sizes {word}: no such MTU; allowed: {", ".join(map(str, MTUS))}')
        if size > 1 << 20:
            raise LabError(f'--sizes {word}: too large; allowed: 1 to 1048576')
        shapes.append(Shape(size, min(mtu, mtu_max)))
    return shapes


def check_port(name):
    """Refuse a port that cannot connect two processes. @return its largest path MTU"""
    joined = [port for port, (make, _, _) in PORTS.items() if make]
    if name not in joined:
        raise LabError(f'{name}: two processes do not meet there; allowed: {", ".join(joined)}')
    _, needs_root, mtu_max = PORTS[name]
    if needs_root and os.geteuid() != 0:
        raise LabError(f'{name} needs root, for namespaces and links')
    if len(os.sched_getaffinity(0)) < 2:
        raise LabError('each end needs a CPU of its own, and there is one')
    return mtu_max
