#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests what a process reports when its peer dies, its link goes down, or its interface is removed.

    failures.py [--perf PROGRAM] [--list] [CASE...]

Each case starts a transfer between two processes of uroce-perf, causes a failure, and checks the
remaining processes (survivors):

- The first request completes with IBV_WC_RETRY_EXC_ERR and the rest with IBV_WC_WR_FLUSH_ERR. More time than
  (retry_cnt + 1) x 4 x 4.096 us x 2^timeout is noted only: the test shares the CPUs with other programs.
- The process ends without a signal, with a status that reports the failure.
- No process, namespace, socket or hugepage file remains. No memory leaks: PROGRAM reports leaks if it
  was built with the address sanitizer.

The script prints a line for each check; the last line is the sum. It needs root, for namespaces.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, 'usertools'))
from orphans import adopt_orphans, find_children  # noqa: E402
from uroce_ports import PORTS, Lab, LabError, cpu_of, inside  # noqa: E402

LSAN_SUPPRESSIONS = os.path.join(TOP, 'test/failures/lsan-suppressions')
TIMEOUT_CODE = 14
RETRIES = 3
BUDGET_S = (RETRIES + 1) * 4 * 4.096e-6 * 2**TIMEOUT_CODE
START_S = 300    # only a hang lasts longer
RUN_S = 1       # duration of the transfer before the failure
END_S = 300     # time limit for the end of a survivor, which only a hang exceeds
WRONG = re.compile(r'Sanitizer|runtime error|Segmentation|assertion', re.IGNORECASE)

counts = {'ok': 0, 'FAIL': 0, 'skip': 0}


def tell(outcome, what):
    counts[outcome] += 1
    print(f'{outcome:6}{what}', flush=True)


def expect(what, is_right, seen=''):
    tell('ok' if is_right else 'FAIL', what if is_right or not seen else f'{what}: {seen}')


# ------------------------------------------------------------------------------------------- ends

class End:
    """A uroce-perf process, and its output, line by line, with the time of each line."""

    def __init__(self, lab, command, cpu):
        self.lines = []
        self.process = lab.start(command, cpu_of(cpu), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 errors='replace')
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.rstrip()))

    def matches(self, pattern):
        """(time, match) of each line so far that matches."""
        return [(when, match) for when, line in list(self.lines)
                for match in [re.search(pattern, line)] if match]

    def wait_for(self, pattern):
        deadline = time.monotonic() + START_S
        while not self.matches(pattern):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise LabError(f'no sign of "{pattern}": {self.last_words()}')
            time.sleep(0.02)

    def wait_end(self):
        """@return the exit status, or None if the process hangs"""
        try:
            code = self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            return None
        self.reader.join(5)
        return code

    def text(self):
        return '\n'.join(line for _, line in self.lines)

    def last_words(self):
        """The last lines, as one line."""
        return ' | '.join(line for _, line in self.lines[-8:])


class Pair:
    """Two ends during a transfer."""

    def __init__(self, lab, perf, port, test):
        self.wire = PORTS[port][0](lab)
        self.server = self.start(lab, perf, self.wire.server, test, None, 0)
        self.server.wait_for('waiting for a client')
        self.client = self.start(lab, perf, self.wire.client, test, self.wire.tcp, 1)
        self.client.wait_for('#bytes')
        time.sleep(RUN_S)

    def start(self, lab, perf, side, test, tcp, cpu):
        command = inside(side.keeper) + [
            perf, *side.eal, '--', f'--uroce={side.device}', *test.split(), '-D600',
            f'-u{TIMEOUT_CODE}', f'--retry_count={RETRIES}']
        if self.wire.port:
            command.append(f'--port={self.wire.port}')
        if tcp:
            command.append(tcp)
        return End(lab, command, cpu)


# ------------------------------------------------------------------------------------------ failures
# Each function causes a failure. It returns the time of the failure and the survivors.

def kill_server(_, pair):
    now = time.monotonic()
    pair.server.process.kill()
    return now, [pair.client]


def kill_client(_, pair):
    now = time.monotonic()
    pair.client.process.kill()
    return now, [pair.server]


def kill_client_and_stop_server(_, pair):
    """Stop the survivor for longer than its requests take to fail, as a machine with many programs does."""
    killed = kill_client(_, pair)
    time.sleep(0.3)
    pair.server.process.send_signal(signal.SIGSTOP)
    time.sleep(3)
    pair.server.process.send_signal(signal.SIGCONT)
    return killed


def set_link_down(lab, pair):
    now = time.monotonic()
    lab.run_in(pair.wire.server.keeper, 'ip link set roce0 down')
    return now, [pair.client, pair.server]


def set_own_link_down(lab, pair):
    now = time.monotonic()
    lab.run_in(pair.wire.client.keeper, 'ip link set roce0 down')
    return now, [pair.client, pair.server]


def remove_namespace(_, pair):
    """Kill the last process of a namespace. The namespace, the link and the client's interface are removed."""
    now = time.monotonic()
    pair.wire.server.keeper.kill()
    pair.server.process.kill()
    return now, [pair.client]


def remove_link(lab, pair):
    now = time.monotonic()
    lab.run_in(pair.wire.client.keeper, 'ip link del roce0')
    return now, [pair.client, pair.server]


# The end that sends requests gets errors. The end that only responds has no pending requests, but must end.
CASES = [
    ('memif', 'write_bw -s 65536', kill_server),
    ('memif', 'write_bw -s 8', kill_server),
    ('memif', 'send_bw -s 4096', kill_server),
    ('memif', 'read_bw -s 65536', kill_server),
    ('memif', 'atomic_bw', kill_server),
    ('memif', 'write_bw -s 4096 -q 8', kill_server),
    ('memif', 'write_bw -s 65536', kill_client),
    ('memif', 'send_bw -s 4096', kill_client),
    ('memif', 'write_bw -s 65536 -b', kill_client),
    ('memif', 'write_bw -s 65536 -b', kill_client_and_stop_server),
    ('vhost', 'write_bw -s 65536', kill_server),
    ('vhost', 'read_bw -s 65536', kill_client),
    ('af_packet', 'write_bw -s 65536', kill_server),
    ('af_packet', 'send_bw -s 4096', kill_client),
    ('af_packet', 'write_bw -s 65536', set_link_down),
    ('af_packet', 'read_bw -s 65536', set_own_link_down),
    ('af_packet', 'write_bw -s 65536', remove_namespace),
    ('af_packet', 'write_bw -s 65536', remove_link),
    ('af_xdp', 'write_bw -s 65536', kill_server),
    ('af_xdp', 'write_bw -s 65536', set_link_down),
    ('af_xdp', 'write_bw -s 65536', remove_namespace),
    ('tap', 'write_bw -s 65536', kill_server),
]


def name_of(case):
    port, test, broken = case
    return f'{port}, {test}, {broken.__name__.replace("_", " ")}'


# ------------------------------------------------------------------------------------------- checks

def check_requester(name, end, broken_at):
    errors = end.matches(r'qp 0x[0-9a-f]+: wr .*: (IBV_WC_\w+),')
    first = errors[0][1].group(1) if errors else 'no error'
    expect(f'{name}: the first request ends in IBV_WC_RETRY_EXC_ERR',
           first == 'IBV_WC_RETRY_EXC_ERR', first)
    sums = end.matches(r'completions in error: (.*)')
    kinds = dict((status, int(count)) for count, status in
                 re.findall(r'(\d+) send (IBV_WC_\w+)', sums[0][1].group(1) if sums else ''))
    queue_pairs = len(set(re.findall(r'local address: .*QPN (\w+)', end.text())))
    retried = kinds.pop('IBV_WC_RETRY_EXC_ERR', 0)
    expect(f'{name}: one such error for each queue pair', retried == queue_pairs,
           f'{retried} for {queue_pairs}')
    expect(f'{name}: the rest is flushed', set(kinds) <= {'IBV_WC_WR_FLUSH_ERR'}, kinds)
    expect(f'{name}: the sum of the errors', sums != [], end.last_words())
    took = sums[0][0] - broken_at if sums else 0
    if took > BUDGET_S:
        print(f'note  {name}: the errors took {took:.2f} s, wanted are {BUDGET_S:.2f} s: the machine is busy')


def check_survivor(name, end, is_requester, broken_at):
    who = f'{name}, {"requester" if is_requester else "responder"}'
    code = end.wait_end()
    expect(f'{who}: does not hang', code is not None)
    expect(f'{who}: ends with an error and not by a signal', code is not None and code > 0,
           f'{code}: {end.last_words()}')
    if is_requester:
        check_requester(who, end, broken_at)
    wrong = [line for _, line in end.lines if WRONG.search(line)]
    expect(f'{who}: no fault, no leak', not wrong, wrong[:3])


def files_in(folder, pattern=''):
    try:
        return {os.path.join(folder, name) for name in os.listdir(folder) if pattern in name}
    except OSError:
        return set()


def sockets(name):
    with open('/proc/net/unix', encoding='ascii', errors='replace') as file:
        return {line.split()[-1] for line in file if name in line}


def check_remains(name, own, before):
    """Check that nothing remains. Other programs may use the machine, so only names with the lab's prefix count."""
    left = {
        'hugepage file': files_in('/dev/hugepages') - before,
        'file': {path for folder in ('/run/dpdk', '/var/run/dpdk', '/tmp', '/dev/shm')
                 for path in files_in(folder, own)},
        'socket': sockets(own) | sockets(f'uroce-lab-{os.getpid()}-'),
        # A namespace lives as long as a process in it.
        'process': find_children(),
    }
    left = {kind: seen for kind, seen in left.items() if seen}
    expect(f'{name}: nothing stays behind', not left, left)


def run_case(case, perf):
    port, test, break_it = case
    name = name_of(case)
    before = files_in('/dev/hugepages')
    lab = Lab()
    own = os.path.basename(os.path.dirname(lab.path('.')))
    try:
        pair = Pair(lab, perf, port, test)
        broken_at, survivors = break_it(lab, pair)
        for end in survivors:
            # In a bidirectional test both ends send requests.
            is_requester = end is pair.client or '-b' in test.split()
            check_survivor(name, end, is_requester, broken_at)
    except LabError as error:
        tell('FAIL', f'{name}: {error}')
    finally:
        lab.close()
    check_remains(name, own, before)


def main():
    parser = argparse.ArgumentParser(description='Survivors of failures.', allow_abbrev=False)
    parser.add_argument('--perf', default=os.path.join(TOP, 'build/apps/uroce-perf'))
    parser.add_argument('--list', action='store_true')
    parser.add_argument('words', nargs='*', metavar='CASE', help='words of the names of cases')
    args = parser.parse_args()
    chosen = [case for case in CASES if all(word in name_of(case) for word in args.words)]
    if args.list:
        print('\n'.join(map(name_of, chosen)))
        return 0
    if os.geteuid() != 0:
        print('failures: needs root, for namespaces')
        return 77
    # The driver net_af_xdp leaks memory that libxdp and libbpf allocate for it.
    os.environ['LSAN_OPTIONS'] = f'suppressions={LSAN_SUPPRESSIONS}'
    os.environ['UBSAN_OPTIONS'] = 'halt_on_error=1:print_stacktrace=1'
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    adopt_orphans()
    for case in chosen:
        run_case(case, args.perf)
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    return int(counts['FAIL'] > 0)


sys.exit(main())
