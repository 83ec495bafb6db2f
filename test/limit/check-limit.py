#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests whether `limit` counts the frames that were sent, and refuses wrong options. Two processes run
over memif, without hugepages, with a fixed number of frames each time.

    check-limit.py LIMIT
"""

import json
import os
import subprocess
import sys

EAL = ['--no-huge', '-m', '64', '--no-shconf', '--no-pci', '--no-telemetry', '--log-level=error']
FRAMES = 5000
TIMEOUT_S = 170    # time limit of a run: it ends before meson ends all processes

failed = 0


def expect(what, is_right):
    global failed
    print(f"{'ok' if is_right else 'FAIL'}    {what}")
    failed += not is_right


def command(limit, role, name, words):
    vdev = f'net_memif0,role={role},id=0,bsize=4608,socket=uroce-{name}-{os.getpid()}'
    return [limit, *EAL, '--vdev', vdev, '--', *words]


def both(limit, name, sink, other):
    """Run a sink and its other side. @return exit statuses and JSON objects of both"""
    ends = [subprocess.Popen(command(limit, role, name, [*words, '--json']),
                             stdout=subprocess.PIPE)
            for role, words in (('server', sink), ('client', other))]
    said = [end.communicate(timeout=TIMEOUT_S)[0] for end in ends]
    return [end.returncode for end in ends], [json.loads(text or '{}') for text in said]


def check_blast(limit, size, mtu, frame_bytes):
    shape = ['-s', str(size), '-m', str(mtu)]
    status, (sink, blast) = both(limit, f'blast{size}', ['sink', *shape, '-n', str(FRAMES)],
                                 ['blast', *shape])
    name = f'blast {size} bytes at mtu {mtu}: '
    expect(name + 'both end well', status == [0, 0])
    expect(name + 'none lost, none bad', (sink.get('lost'), sink.get('bad')) == (0, 0))
    expect(name + 'all counted', FRAMES <= sink.get('frames', 0) <= blast.get('frames', 0))
    expect(name + f'a frame is {frame_bytes} bytes', sink.get('frame_bytes') == frame_bytes)


def check_other_shape(limit):
    # The frames are for a region of twice the sink's size, so every second block of 64 frames lies outside.
    # Those frames get no response. The valid frames between them keep both sides running.
    status, (sink, _) = both(limit, 'region', ['sink', '-s', '64', '-n', '1000'],
                             ['blast', '-s', '64', '-r', '8192'])
    expect('frames outside the region are counted as bad', sink.get('bad', 0) > 0)
    expect('and make the sink fail', status[0] != 0)


def check_ping(limit, size):
    # the number of lost samples depends on the load of the machine: a late response counts as lost
    status, (_, ping) = both(limit, f'ping{size}', ['pong', '-s', str(size)],
                             ['ping', '-s', str(size), '-D', '0.2'])
    name = f'ping {size} bytes: '
    expect(name + 'both end well', status == [0, 0])
    expect(name + 'takes samples', ping.get('samples', 0) > 0)
    values = [ping.get(f'half_us_{key}', 0) for key in ('min', 'median', '99', '99_9', 'max')]
    expect(name + 'measures time', 0 < values[0] and values == sorted(values))


def check_working_set(limit):
    shape = ['-s', '65536', '-m', '4096', '-r', '67108864']
    status, (sink, _) = both(limit, 'region', ['sink', *shape, '-n', str(FRAMES)],
                             ['blast', *shape])
    expect('a working set of 64 MiB: both end well', status == [0, 0])
    expect('a working set of 64 MiB: none bad', sink.get('bad') == 0)


def check_refused(limit, words, expected):
    # EAL does not free its memory when the options are refused. That is no leak of this program.
    env = {**os.environ, 'ASAN_OPTIONS': 'detect_leaks=0'}
    run = subprocess.run(command(limit, 'server', 'bad', words), capture_output=True, text=True,
                         env=env)
    expect(f"{' '.join(words)}: refused in one line that says {expected!r}",
           run.returncode == 1 and run.stderr.count('\n') == 1 and expected in run.stderr)


def main():
    limit = sys.argv[1]
    check_blast(limit, 8, 1024, 82)
    check_blast(limit, 5, 1024, 82)
    check_blast(limit, 1024, 1024, 1098)
    check_blast(limit, 65536, 4096, 4170)
    check_blast(limit, 10001, 256, 330)
    check_other_shape(limit)
    check_ping(limit, 8)
    check_ping(limit, 1024)
    check_working_set(limit)
    check_refused(limit, ['blast', '-s', '0'], '1 to 1048576')
    check_refused(limit, ['blast', '-s', 'many'], '1 to 1048576')
    check_refused(limit, ['blast', '-m', '300'], '256, 512, 1024, 2048, 4096')
    check_refused(limit, ['blast', '-D', '-1'], '0.01 to 86400')
    check_refused(limit, ['ping', '-s', '2000', '-m', '1024'], 'up to what -m says')
    check_refused(limit, ['flood'], 'blast, sink, ping, pong')
    check_refused(limit, [], 'blast, sink, ping, pong')
    check_refused(limit, ['sink', '-Z'], '-Z')
    return failed > 0


sys.exit(main())
