# SPDX-License-Identifier: BSD-3-Clause
"""The pages of doc/perf: tables in Markdown from the JSON of uroce-bench-all, and the plots beside.

A table turns the measurements of a part around: one label goes down, the others and the metric go
across. Values are medians; what noise there was stands in the JSON and at the head of the page.
"""

import os
import statistics
import subprocess
import sys

from uroce_suite import METRICS, PARTS

NOISY = 0.03    # of the CPUs, taken by others while a case ran
PLOTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'uroce_plots.py')
# What is told of a part, where that is not every metric.
METRICS_TOLD = {'qps': ('message_rate', 'connect_rate', 'destroy_rate', 'memory_per_qp'),
                'loss': ('payload_rate',), 'workers': ('message_rate',)}
# part: the label that goes down; of those that go across, which come first; what stands above
TABLES = {
    'sizes': ('size', ('port', 'test'),
              'Requests in lists of 16, one completion for 16, 128 in the send queue, one QP. A path '
              'MTU of 4096 where the port carries it (AF_XDP: 2048).'),
    'latency': ('size', ('port', 'test'),
                'Microseconds of half a round trip; each side is one thread that spins.'),
    'qps': ('qps', ('order',),
            '64-byte WRITEs, posted one by one, on the next QP in turn or on any at random; memif. '
            'Memory counts the queues (16 requests each way) and what ibverbs has of a QP.'),
    'loss': ('loss', ('port',), '1 MiB WRITEs over memif, frames lost at random in both directions.'),
    'workers': ('workers', ('port',), '64-byte WRITEs; each worker loops its own QPs over its own '
                'pair of ports.'),
    'icrc': ('icrc', ('size', 'mtu'), 'WRITEs over memif; off: a library built to make and check no '
             'ICRC, which no other RoCE device would talk to.'),
    'limit': ('tool', ('port', 'test', 'size', 'mtu'),
              '*limit* makes, checks and copies frames of the same shape over the same port without a '
              'protocol; *testpmd* neither sums nor copies. The ratio is that of each round.'),
    'tcp': ('tool', ('port', 'kind', 'test'),
            'On the same pair of interfaces, offloads off, in turn; beside memif, TCP over loopback. '
            'One CPU a side.'),
}
UNITS = {'1/s': (1e6, 'M/s'), 'bytes/s': (1e6, 'MB/s'), 'us': (1, 'us'), 'bytes': (1, 'bytes'),
         '': (0.01, '%')}
# What is wanted of uroce beside TCP: by port and kind, times as much (of latency: as little)
WANTED = {('af_xdp', 'rate'): 2, ('af_packet', 'rate'): 2, ('af_xdp', 'stream'): 1,
          ('af_packet', 'stream'): 1, ('af_xdp', 'trip'): 1, ('af_packet', 'trip'): 1,
          ('memif', 'rate'): 5, ('memif', 'trip'): 3}
KINDS = {'rate': ('message_rate', '64-byte messages/s'), 'stream': ('payload_rate', '64 KiB, bytes/s'),
         'trip': ('latency_p50', '64-byte latency')}


def shown(row):
    scale, _ = UNITS[row['unit']]
    if row['metric'] in ('connect_rate', 'destroy_rate'):
        return f'{row["median"]:,.0f}'
    value = row['median'] / scale
    digits = 0 if abs(value) >= 100 or row['unit'] == 'bytes' else 1 if abs(value) >= 20 else 2
    return f'{value:,.{digits}f}'


def unit_of(metric):
    if metric in ('connect_rate', 'destroy_rate'):
        return '1/s'
    return UNITS[METRICS[metric][0]][1]


def sized(value):
    """A size as people say it."""
    for unit, scale in (('MiB', 1 << 20), ('KiB', 1 << 10)):
        if value >= scale and value % scale == 0:
            return f'{value // scale} {unit}'
    return f'{value} B'


def label_text(key, value):
    if key == 'size':
        return sized(value)
    if key in ('port', 'test', 'tool', 'kind', 'order'):
        return str(value)
    return f'{key} {value}'


def order_of(value):
    try:
        return 0, float(value), ''
    except (TypeError, ValueError):
        return 1, 0.0, str(value)


def table(rows, down, first):
    """Lines of one table: `down` goes down, everything else across."""
    across, grid = [], {}
    for row in rows:
        labels = row['labels']
        head = ' '.join(label_text(key, labels[key]) for key in first if key in labels)
        column = (head, row['metric'])
        if column not in across:
            across.append(column)
        grid.setdefault(labels.get(down), {})[column] = row
    if down == 'tool':    # few columns: turned, each measurement is a line
        return lines_of_tools(grid, across)
    lines = [f'| {down} | ' + ' | '.join(f'{head} {metric.replace("_", " ")}, {unit_of(metric)}'.strip()
                                         for head, metric in across) + ' |',
             '|---' * (len(across) + 1) + '|']
    for value in sorted(grid, key=order_of):
        cells = [shown(grid[value][column]) if column in grid[value] else '' for column in across]
        lines.append(f'| {sized(value) if down == "size" else value} | ' + ' | '.join(cells) + ' |')
    return lines


def lines_of_tools(grid, across):
    lines = ['| measured | program | median | least | most | |', '|---|---|---|---|---|---|']
    for head, metric in across:
        for tool in grid:
            row = grid[tool].get((head, metric))
            if not row:
                continue
            ends = [shown(row | {'median': row[end]}) for end in ('least', 'most')]
            lines.append(f'| {head} {metric.replace("_", " ")} | {tool} | {shown(row)} | '
                         f'{ends[0]} | {ends[1]} | {unit_of(metric)} |')
    return lines


def is_told(row):
    """Whether the page has it; the file has all."""
    kind = row['labels'].get('kind')
    if kind:    # of a comparison, what is compared, and how the latency spreads
        return row['metric'] == KINDS[kind][0] or row['metric'].startswith('latency_')
    return row['metric'] in METRICS_TOLD.get(row['part'], METRICS)


def split(rows, part):
    """A part in tables that fit a page: sizes and latency one for each port."""
    if part not in ('sizes', 'latency'):
        return [('', rows)]
    ports = list(dict.fromkeys(row['labels']['port'] for row in rows))
    return [(port, [row for row in rows if row['labels']['port'] == port]) for port in ports]


# ------------------------------------------------------------------------------------- ratios to TCP

def best_rounds(rows, better):
    """Round by round, the best of several tests of a program."""
    pick = max if better == 'more' else min
    return [pick(values) for values in zip(*(row['rounds'] for row in rows))]


def ratios(rows):
    """What uroce does beside each other program, round by round: (port, kind, tool, ratios)."""
    found = []
    for port in dict.fromkeys(row['labels']['port'] for row in rows):
        for kind, (metric, _) in KINDS.items():
            of_kind = [row for row in rows
                       if row['labels']['port'] == port and row['labels'].get('kind') == kind]
            ours = [row for row in of_kind
                    if row['labels']['tool'] == 'uroce' and row['metric'] == metric]
            for tool in ('ucx', 'qperf'):
                wanted = ('latency_mean',) if tool == 'qperf' and kind == 'trip' else (metric,)
                theirs = [row for row in of_kind
                          if row['labels']['tool'] == tool and row['metric'] in wanted]
                if not ours or not theirs:
                    continue
                better = METRICS[metric][1]
                pairs = zip(best_rounds(ours, better), best_rounds(theirs, better))
                found.append((port, kind, tool,
                              [a / b if better == 'more' else b / a for a, b in pairs]))
    return found


def lines_of_ratios(rows):
    lines = ['', 'How many times as good as the other program, round by round, best test of each '
             'against best test:', '', '| port | measured | beside | median | least | most | wanted |',
             '|---|---|---|---|---|---|---|']
    for port, kind, tool, values in ratios(rows):
        wanted = WANTED.get((port, kind)) if tool == 'ucx' else None
        lines.append(f'| {port} | {KINDS[kind][1]} | {tool} | {statistics.median(values):.2f} | '
                     f'{min(values):.2f} | {max(values):.2f} | {wanted if wanted else ""} |')
    return lines


# ---------------------------------------------------------------------------------------------- page

def header(result, json_path):
    where, what = result['machine'], result['versions']
    noisy = [row for row in result['measurements'] if row['others'] > NOISY]
    lines = ['# Measured', '',
             f'Written by `usertools/uroce-bench-all{" --quick" if result["is_quick"] else ""}` from '
             f'[{os.path.basename(json_path)}]({os.path.basename(json_path)}), which has every round. '
             'How to run it and what the file holds: [the guide](../guides/benchmarks.md).', '',
             f'Machine `{where["name"]}`: {where["cpu"]}, {where["cpus"]} CPUs, '
             f'{where["memory_bytes"] / (1 << 30):.0f} GiB, {where["kernel"]}. DPDK {what["dpdk"]}, '
             f'UCX {what["ucx"] or "none"}, {what["compiler"]}. uroce {what["uroce"][:12]}'
             f'{"-dirty" if what["uroce"].endswith("-dirty") else ""}, {result["began"]} to '
             f'{result.get("ended", "?")}.', '',
             f'Each value is the median of its rounds ({result["seconds"]} s each). Other processes '
             f'took more than {100 * NOISY:.0f} % of the CPUs during {len(noisy)} of '
             f'{len(result["measurements"])} measurements.']
    return lines


def section(result, name, pictures):
    part, state = PARTS[name], result['parts'][name]
    down, first, text = TABLES[name]
    lines = ['', f'## {part.title[0].upper()}{part.title[1:]}', '', text, '']
    if state['status'] == 'skipped':
        return lines + [f'Skipped: {state["why"]}.']
    rows = [row for row in result['measurements'] if row['part'] == name]
    for title, some in split(rows, name):
        lines += ([f'**{title}**', ''] if title else []) + table(list(filter(is_told, some)), down, first) + ['']
    if name == 'tcp':
        lines += lines_of_ratios(rows) + ['']
    lines += [f'![{picture}]({picture})' for picture in pictures if picture.startswith(name)]
    if state['status'] == 'failed':
        lines += ['Failed:', ''] + [f'- {case}: {why}' for case, why in state['why'].items()]
    return lines


def draw(json_path, folder):
    """@return names of the pictures, and what to say"""
    for python in dict.fromkeys((sys.executable, '/usr/bin/python3')):
        if not os.path.exists(python):
            continue
        done = subprocess.run([python, PLOTS, json_path, folder], capture_output=True, text=True,
                              check=False)
        if done.returncode == 0:
            return done.stdout.split(), []
    return [], [(done.stderr.strip() or 'no plots').splitlines()[-1]]


def write(result, json_path, folder):
    """Write the page and its pictures. @return lines to say"""
    os.makedirs(folder, exist_ok=True)
    pictures, said = draw(json_path, folder)
    lines = header(result, json_path)
    for name in PARTS:
        if name in result['parts']:
            lines += section(result, name, pictures)
    path = os.path.join(folder, 'README.md')
    with open(path, 'w', encoding='utf-8') as file:
        text = '\n'.join(line.rstrip() for line in lines)
        while '\n\n\n' in text:
            text = text.replace('\n\n\n', '\n\n')
        file.write(text.rstrip() + '\n')
    return [*said, f'{path}: {len(pictures)} plots']
