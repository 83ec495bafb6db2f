#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests what an application sees when its peer, its link or its interface fails.

    test/failures/survivors.py [--program SURVIVOR] [PORT or CASE...]

Two processes are joined by a port and exchange requests. Then a failure is caused. The checks are:

- If the remaining process (survivor) sends requests: the first request that fails completes with
  IBV_WC_RETRY_EXC_ERR, and all later ones with IBV_WC_WR_FLUSH_ERR, in order, each once. So does a
  request that is posted afterwards.
- The first error does not come before the last retry. If it comes later than (retry_cnt + 1) x 4 x 4.096 us x
  2^timeout, that is noted: the test shares the CPUs with other programs. The simulator checks the limit.
- Every survivor then destroys its objects and ends with status 0. Neither uroce nor a sanitizer that
  the program was built with reports a problem.
- No end leaves a hugepage file, runtime file, socket, shared memory, namespace or process behind.

failures.py runs uroce-perf; this script runs survivor.c, a program that checks each completion.

The last line is `N passed, N failed, N skipped`.
"""

import argparse
import glob
import json
import os
import re
import select
import shutil
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
START_S = 300
END_S = 360     # longer than survivor.c waits for a completion
HANG_S = 300    # only a hang lasts longer
ATTEMPTS = 3
FLOW_S = 0.1    # duration of undisturbed traffic
TICK_S = 4.096e-6
RETRY_EXC_ERR = 12
STATUS_NAMES = {0: 'IBV_WC_SUCCESS', 5: 'IBV_WC_WR_FLUSH_ERR', 12: 'IBV_WC_RETRY_EXC_ERR'}
HUGEPAGES_MIN = 128
# Drivers report the lost peer in messages of their own, which begin with the name of a function.
DRIVER_SAYS = re.compile(r'(\w+: )?\w+\(\): ')    # since DPDK 24.11 the log type precedes the function

# Columns: port; failure; survivor, the first (0) or the second (1) end of the port; its operation; how it waits;
# code of the ACK timeout; retry_cnt; keys of its device. The timeout is 4.096 us x 2^code: 12 is 17 ms, 13 is
# 34 ms, 14 is 67 ms.
CASES = [
    ('memif', 'kill', 0, 'write', 'poll', 14, 3, ''),
    ('memif', 'kill', 1, 'write', 'poll', 13, 7, ''),
    ('memif', 'kill', 0, 'read', 'poll', 14, 1, ''),
    ('memif', 'kill', 1, 'read', 'sleep', 14, 2, ''),
    ('memif', 'kill', 0, 'send', 'sleep', 14, 3, ''),
    ('memif', 'kill', 1, 'fetch-add', 'poll', 12, 7, ''),
    ('memif', 'kill', 0, 'write', 'poll', 14, 3, ',drive=lcore'),
    ('memif', 'kill', 0, 'respond', 'poll', 14, 3, ''),
    ('memif', 'kill', 1, 'respond', 'sleep', 14, 3, ''),
    ('memif', 'kill-hugepages', 0, 'write', 'poll', 14, 3, ''),
    ('memif', 'kill-hugepages', 1, 'read', 'poll', 14, 3, ''),
    ('vhost', 'kill', 0, 'write', 'poll', 14, 3, ''),
    ('vhost', 'kill', 1, 'write', 'poll', 14, 3, ''),
    ('vhost', 'kill', 0, 'read', 'sleep', 14, 1, ''),
    ('vhost', 'kill', 1, 'read', 'poll', 13, 7, ''),
    ('vhost', 'kill', 0, 'respond', 'poll', 14, 3, ''),
    ('af_packet', 'kill', 0, 'write', 'poll', 14, 3, ''),
    ('af_packet', 'kill', 1, 'read', 'sleep', 14, 1, ''),
    ('af_packet', 'own-link-down', 0, 'write', 'poll', 14, 3, ''),
    ('af_packet', 'own-link-down', 1, 'read', 'sleep', 14, 3, ''),
    ('af_packet', 'peer-link-down', 0, 'write', 'sleep', 14, 1, ''),
    ('af_packet', 'peer-link-down', 0, 'read', 'poll', 13, 7, ''),
    ('af_packet', 'namespace', 0, 'write', 'poll', 14, 3, ''),
    ('af_packet', 'namespace', 1, 'read', 'sleep', 14, 3, ''),
    ('af_packet', 'namespace', 0, 'respond', 'poll', 14, 3, ''),
    ('af_xdp', 'kill', 0, 'write', 'poll', 14, 3, ''),
    ('af_xdp', 'own-link-down', 1, 'write', 'poll', 14, 3, ''),
    ('af_xdp', 'peer-link-down', 0, 'read', 'sleep', 14, 3, ''),
    ('af_xdp', 'namespace', 0, 'write', 'poll', 14, 3, ''),
    ('af_xdp', 'namespace', 1, 'read', 'sleep', 14, 1, ''),
    ('tap', 'kill', 0, 'write', 'poll', 14, 3, ''),
    ('tap', 'kill', 1, 'read', 'sleep', 14, 1, ''),
    ('tap', 'own-link-down', 1, 'write', 'poll', 14, 3, ''),
    ('tap', 'peer-link-down', 0, 'read', 'poll', 14, 3, ''),
]


class Failure(Exception):
    """A check of a case has failed."""


class NeverFlowed(Failure):
    """No request has completed. The peer has got no CPU for longer than the retries of the case last."""


class Skip(Exception):
    """The machine lacks what a case needs."""


class Case:
    def __init__(self, row):
        (self.port, self.breaks, self.survivor, self.operation, self.wait, self.timeout_code,
         self.retry_cnt, self.keys) = row
        self.name = '-'.join([self.port, self.breaks, self.operation, self.wait,
                              f'end{self.survivor}', f't{self.timeout_code}', f'r{self.retry_cnt}'])
        self.name += self.keys.replace(',drive=', '-')
        timeout_s = TICK_S * 2 ** self.timeout_code
        self.least_s = self.retry_cnt * timeout_s
        self.most_s = (self.retry_cnt + 1) * 4 * timeout_s


# ------------------------------------------------------------------------------------------- ends

class End:
    """The process at one end, and its output, line by line."""

    def __init__(self, name, lab, command, cpus, env):
        self.name = name
        self.process = lab.start(command, cpus, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, bufsize=0, env=env)
        self.said = b''
        self.complaints = []
        self.reader = threading.Thread(target=self.read_complaints, daemon=True)
        self.reader.start()

    def read_complaints(self):
        for line in self.process.stderr:
            text = line.decode(errors='replace').rstrip()
            if not DRIVER_SAYS.match(text):
                self.complaints.append(text)

    def line(self, timeout_s):
        """The next line of the output."""
        deadline = time.monotonic() + timeout_s
        while b'\n' not in self.said:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Failure(f'the {self.name} is silent for {timeout_s} s')
            some = os.read(self.process.stdout.fileno(), 65536)
            if not some:
                self.reader.join(1)
                raise Failure(f'the {self.name} ended with status {self.process.wait(5)}: '
                              + '; '.join(self.complaints or ['it said nothing']))
            self.said += some
        line, self.said = self.said.split(b'\n', 1)
        return line.decode()

    def expect(self, word, timeout_s=START_S):
        line = self.line(timeout_s)
        if line != word:
            raise Failure(f'the {self.name} said {line!r}, expected {word!r}')

    def tell(self, line):
        self.process.stdin.write(line.encode() + b'\n')

    def end_input(self):
        """Close the standard input: then a responder ends."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.stdin = None

    def expect_good_end(self):
        try:
            status = self.process.wait(END_S)
        except subprocess.TimeoutExpired as error:
            raise Failure(f'the {self.name} has not ended within {END_S} s') from error
        self.reader.join(2)
        if status != 0 or self.complaints:
            raise Failure(f'the {self.name} ended with status {status}: '
                          + '\n      | '.join(self.complaints or ['it said nothing']))


def memory_of(case):
    """Arguments for EAL's memory. If there are hugepages, EAL's default in uroce is to use them anonymously."""
    if case.breaks.endswith('-hugepages'):
        free = 0
        for path in glob.glob('/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages'):
            with open(path, encoding='ascii') as file:
                free += int(file.read())
        if free < HUGEPAGES_MIN or os.geteuid() != 0:
            raise Skip(f'needs root and {HUGEPAGES_MIN} free hugepages of 2 MiB; there are {free}')
        return ['--in-memory', '-m', '100']
    return ['--no-huge', '--no-shconf', '-m', '256']


def start_end(args, lab, case, wire, idx):
    side = [wire.server, wire.client][idx]
    is_survivor = idx == case.survivor
    operation = case.operation
    if not is_survivor:
        operation = 'write' if case.operation == 'respond' else 'respond'
    wanted = memory_of(case)
    # The socket is in the file system, so that the test can check that it is removed.
    eal = [re.sub('socket=[^,]*', f'socket={lab.path("memif")},socket-abstract=no', word)
           for word in side.eal if word not in wanted]
    lcores = f'0@{min(cpu_of(idx))}'
    if is_survivor and 'lcore' in case.keys:
        lcores += f',1@{min(cpu_of(idx))}'
    command = inside(side.keeper) + [
        args.program, *eal, *wanted, '--no-telemetry', f'--file-prefix={prefix(lab)}',
        '--log-level=*:error', f'--lcores={lcores}', '--',
        side.device + (case.keys if is_survivor else ''), operation,
        case.wait if is_survivor else 'poll', str(case.timeout_code), str(case.retry_cnt)]
    return End('survivor' if is_survivor else 'peer', lab, command, cpu_of(idx), environment())


def environment():
    env = dict(os.environ)
    env['LSAN_OPTIONS'] = f'suppressions={LSAN_SUPPRESSIONS}:print_suppressions=0'
    env['UBSAN_OPTIONS'] = 'halt_on_error=1:print_stacktrace=1'
    return env


# ------------------------------------------------------------------------------------------ failures
# Each function causes a failure, and returns the time of the failure.

def kill(lab, wire, case, peer):
    peer.process.kill()
    peer.process.wait()


def link_down(lab, wire, idx):
    side = [wire.server, wire.client][idx]
    name = 'roce0'
    for word in side.eal:
        if 'iface=' in word:
            name = word.split('iface=')[1].split(',')[0]
    lab.run_in(side.keeper, f'ip link set {name} down')


def own_link_down(lab, wire, case, peer):
    link_down(lab, wire, case.survivor)


def peer_link_down(lab, wire, case, peer):
    link_down(lab, wire, 1 - case.survivor)


def remove_namespace(lab, wire, case, peer):
    """Kill the last process of a namespace. The namespace, the link and the survivor's interface are removed."""
    own, others = ([wire.server, wire.client][idx].keeper
                   for idx in (case.survivor, 1 - case.survivor))
    peer.process.kill()
    others.kill()
    peer.process.wait()
    others.wait()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = subprocess.run(inside(own) + ['ip', 'link', 'show', 'roce0'], capture_output=True,
                               check=False)
        if found.returncode != 0:
            return
        time.sleep(0.005)
    raise Failure('the namespace of the peer has not gone')


BREAKS = {
    'kill': kill,
    'kill-hugepages': kill,
    'own-link-down': own_link_down,
    'peer-link-down': peer_link_down,
    'namespace': remove_namespace,
}


# ----------------------------------------------------------------------------------------- leftovers

def prefix(lab):
    return os.path.basename(lab.folder)


def hugetlbfs():
    with open('/proc/mounts', encoding='utf-8') as file:
        return [line.split()[1] for line in file if line.split()[2] == 'hugetlbfs']


def runtime_folders(lab):
    """Folders that EAL creates for a file prefix, and does not remove, even if it put no file there."""
    own = os.environ.get('XDG_RUNTIME_DIR', '/tmp')
    return [path for path in (f'/var/run/dpdk/{prefix(lab)}', f'{own}/dpdk/{prefix(lab)}')
            if os.path.isdir(path)]


def traces(lab):
    """Files that the two ends of a lab have left, including those of the dead end."""
    found = []
    for folder in hugetlbfs():
        found += glob.glob(f'{folder}/{prefix(lab)}*')
    for folder in runtime_folders(lab):
        found += glob.glob(f'{folder}/*')
        shutil.rmtree(folder)
    found += glob.glob(f'/dev/shm/*{prefix(lab)}*')
    return found


def left_sockets(lab, case):
    """Sockets that are left. A killed process cannot unlink its socket; a process that ends must unlink it."""
    if case.breaks.startswith('kill') and case.survivor == 1:
        return []
    return [os.path.basename(path) for path in glob.glob(f'{lab.folder}/*')]


# ------------------------------------------------------------------------------------------- cases

def join(ends, case):
    addresses = [end.line(START_S) for end in ends]
    ends[0].tell(addresses[1])
    ends[1].tell(addresses[0])
    for end in ends:
        end.expect('ready')
    requester = ends[case.survivor if case.operation != 'respond' else 1 - case.survivor]
    requester.tell('go')
    line = requester.line(START_S)
    if line != 'flowing':
        raise NeverFlowed(f'no request of the {requester.name} has completed: {line}')


def judge(case, story, broken_ns):
    if not (story['in_order'] and story['posted'] == story['completed']):
        raise Failure(f'{story["posted"]} requests, {story["completed"]} completions, in order: '
                      f'{story["in_order"]}; {story}')
    if story['first_bad'] != RETRY_EXC_ERR or story['odd'] != 0:
        names = [STATUS_NAMES.get(story[key], str(story[key])) for key in ('first_bad', 'odd')]
        raise Failure(f'the first that failed has status {names[0]}; another that is no flush: '
                      f'{names[1]}')
    if story['flushed'] == 0 or not story['is_err']:
        raise Failure(f'{story["flushed"]} flushed; QP in ERR: {story["is_err"]}')
    after_s = (story['first_bad_ns'] - broken_ns) / 1e9
    silent_s = (story['first_bad_ns'] - story['last_good_ns']) / 1e9
    if after_s > case.most_s + HANG_S:
        raise Failure(f'the first error came after {after_s * 1e3:.0f} ms, wanted are '
                      f'{case.most_s * 1e3:.0f} ms')
    if after_s > case.most_s:
        print(f'note  the first error came after {after_s * 1e3:.0f} ms, wanted are {case.most_s * 1e3:.0f} ms: '
              'the machine is busy')
    if silent_s < case.least_s:
        raise Failure(f'gave up after {silent_s * 1e3:.0f} ms, which is before its '
                      f'{case.retry_cnt} retries of {case.least_s * 1e3 / case.retry_cnt:.0f} ms')
    if story['last_ns'] - story['first_bad_ns'] > HANG_S * 1e9:
        raise Failure(f'the flushes came more than {HANG_S} s after the error')
    return (f'RETRY_EXC_ERR after {after_s * 1e3:.0f} ms of {case.most_s * 1e3:.0f}, '
            f'{story["flushed"]} flushed')


def run_ends(args, lab, case):
    wire = PORTS[case.port][0](lab)
    lab.path('folder')  # the lab has a folder from now on
    first = start_end(args, lab, case, wire, 0)
    address = first.line(START_S)  # this end listens now
    first.said = address.encode() + b'\n' + first.said
    ends = [first, start_end(args, lab, case, wire, 1)]
    survivor, peer = ends[case.survivor], ends[1 - case.survivor]
    join(ends, case)
    time.sleep(FLOW_S)
    BREAKS[case.breaks](lab, wire, case, peer)
    broken_ns = time.monotonic_ns()
    if case.operation == 'respond':
        time.sleep(2 * FLOW_S)
        survivor.end_input()
        words = 'took its port down'
        if not json.loads(survivor.line(END_S))['is_good']:
            raise Failure('a receive completed in error')
    else:
        words = judge(case, json.loads(survivor.line(END_S)), broken_ns)
    survivor.expect_good_end()
    if peer.process.poll() is None:
        peer.end_input()
        peer.expect_good_end()
    left = traces(lab) + left_sockets(lab, case)
    if left:
        raise Failure(f'left behind: {", ".join(left)}')
    return words


def run(args, case):
    for _ in range(ATTEMPTS - 1):
        try:
            return run_once(args, case)
        except NeverFlowed as failure:
            print(f'note  {case.name}: {failure}: the machine is busy')
    return run_once(args, case)


def run_once(args, case):
    lab = Lab()
    try:
        words = run_ends(args, lab, case)
    finally:
        lab.close()
    # A namespace lives as long as a process in it.
    left = find_children()
    if lab.folder and os.path.exists(lab.folder):
        left.append(lab.folder)
    if left:
        raise Failure(f'the lab has left {", ".join(left)}')
    return words


def parse():
    parser = argparse.ArgumentParser(usage='test/failures/survivors.py [--program SURVIVOR] '
                                           '[PORT or CASE...]')
    parser.add_argument('--program', default=os.path.join(TOP, 'build/test/failures/survivor'),
                        help='which survivor to run')
    parser.add_argument('names', nargs='*', metavar='PORT',
                        help='run these alone: ports, or beginnings of names of cases')
    args = parser.parse_args()
    for name in args.names:
        if not any(Case(row).name.startswith(name) for row in CASES):
            parser.error(f'{name}: no such port; allowed: memif, vhost, af_packet, af_xdp, tap')
    return args


def main():
    args = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    adopt_orphans()
    passed = failed = skipped = 0
    for case in map(Case, CASES):
        if args.names and not any(case.name.startswith(name) for name in args.names):
            continue
        try:
            if PORTS[case.port][1] and os.geteuid() != 0:
                raise Skip('this is not root')
            words = run(args, case)
            passed += 1
            print(f'ok    {case.name}: {words}', flush=True)
        except Skip as why:
            skipped += 1
            print(f'skip  {case.name}: {why}', flush=True)
        except (Failure, LabError, OSError) as why:
            failed += 1
            print(f'FAIL  {case.name}: {why}', flush=True)
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return int(failed > 0)


sys.exit(main())
