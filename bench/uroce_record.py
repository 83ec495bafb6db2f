# SPDX-License-Identifier: BSD-3-Clause
"""The record of a run: the machine, the versions of what was measured, and the time. Every
uroce-bench program prints it or writes it to its JSON.
"""

import datetime
import os
import platform
import re
import subprocess

from uroce_bench import read
from uroce_ports import TOP

# Files that a benchmark writes do not make the tree dirty.
WRITTEN = ':!doc/perf', ':!README.md'


def said_by(command):
    """The first line of a program's output; '': there is no such program."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TOP)
    except OSError:
        return ''
    return (done.stdout.strip().splitlines() or [''])[0] if done.returncode == 0 else ''


def machine():
    model = re.search(r'model name\s*:\s*(.*)', read('/proc/cpuinfo'))
    memory = re.search(r'MemTotal:\s*(\d+) kB', read('/proc/meminfo'))
    return {
        'name': platform.node(),
        'cpu': model.group(1) if model else platform.machine(),
        'cpus': len(os.sched_getaffinity(0)),
        'memory_bytes': int(memory.group(1)) * 1024 if memory else 0,
        'kernel': f'{platform.system()} {platform.release()}',
    }


def versions():
    is_dirty = bool(said_by(['git', 'status', '--porcelain', '--untracked-files=no', '--', '.',
                             *WRITTEN]))
    ucx = re.search(r'[\d.]+', said_by(['ucx_info', '-v']))
    return {
        'uroce': said_by(['git', 'rev-parse', 'HEAD']) + ('-dirty' if is_dirty else ''),
        'dpdk': said_by(['pkg-config', '--modversion', 'libdpdk']),
        'compiler': said_by(['cc', '--version']),
        'ucx': ucx.group(0) if ucx else '',
    }


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')


def record():
    return {'machine': machine(), 'versions': versions(), 'began': now()}


def commit_text(version):
    """A commit with `-dirty` if the tree had changes, for readers."""
    commit, _, dirty = version.partition('-')
    return f'{commit[:12] or "of no known commit"}{" with changes" if dirty else ""}'


def describe(made):
    """A record as one line."""
    where, what = made['machine'], made['versions']
    return (f'{where["name"]}: {where["cpu"]}, {where["cpus"]} CPUs, {where["kernel"]}; '
            f'uroce {commit_text(what["uroce"])}, DPDK {what["dpdk"] or "unknown"}, {made["began"]}')
