# SPDX-License-Identifier: BSD-3-Clause
"""The measurements in README.md: a few lines of the results of uroce-bench-all, between two marks.
"""

import os

from uroce_judge import METRIC_OF, ports_in, select
from uroce_lines import LINES
from uroce_noise import NOISY
from uroce_report import how_sure, judged, shown, told, where_and_what

BEGIN, END = '<!-- measured: written by bench/uroce-bench-all -->', '<!-- measured: end -->'
# The lines of the must-show that README.md has, by the beginnings of their names.
CHOSEN = ('8 B WRITE, lists', '8 B SEND, lists', '8 B READ, lists', '8 B WRITE, single',
          '64 KiB WRITE, MTU 4096', '64 KiB SEND, MTU 4096', '64 KiB READ, MTU 4096',
          '1 MiB WRITE, MTU 4096', '64 KiB WRITE, working set', '8 B WRITE latency, median',
          '64 B WRITE, lists, 100 Ki', 'QPs connected', '64 B WRITE, two workers',
          '1 MiB WRITE, loss')
UNITS = {'frame_rate': 'M frames/s', 'message_rate': 'M/s', 'payload_rate': 'MB/s',
         'latency_p50': 'us', 'connect_rate': '/s'}
LATENCY_SIZE, STREAM_SIZE = 64, 65536


def cell(rows, row, line):
    """A table cell: the value, and the ratio in words."""
    metric = METRIC_OF[line.metric]
    ours = select(rows, metric, port=row['labels']['port'], run=line.left.name)
    if not line.right or not ours:
        return f'{row["median"]:,.0f}{UNITS[metric]}'
    noisy = ', noisy' if row['verdict'] == NOISY else ''
    return f'{shown(ours[0])} {UNITS[metric]}, **{100 * row["median"]:.0f} %**{noisy}'


def lines_of_must(result):
    rows = [row for row in result['measurements'] if row['part'] == 'must']
    ports = ports_in(rows)
    lines = ['| | ' + ' | '.join(ports) + ' | wanted |', '|---|' + '---|' * (len(ports) + 1)]
    for line in (line for group in LINES.values() for line in group):
        found = {row['labels']['port']: row for row in judged({'measurements': rows}, 'must')
                 if row['labels']['line'] == line.name}
        if found and line.name.startswith(CHOSEN):
            cells = [cell(rows, found[port], line) if port in found else '' for port in ports]
            lines.append(f'| {line.name} | ' + ' | '.join(cells) + f' | {line.must()} |')
    return lines if len(lines) > 2 else []


def lines_of_ports(result):
    """Lines with latency and bandwidth of each port."""
    rows = result['measurements']
    lines = ['| port | 64 B WRITE, half a round trip: median, 99 % | 64 KiB WRITE |', '|---|---|---|']
    for port in ports_in([row for row in rows if row['part'] == 'latency']):
        some = [row for row in rows if row['labels']['port'] == port]
        half = [select(some, metric, tool='uroce', test='write_lat', size=LATENCY_SIZE)
                for metric in ('latency_p50', 'latency_p99')]
        stream = [row for row in select(some, 'payload_rate', test='write_bw', size=STREAM_SIZE)
                  if row['part'] == 'sizes']
        if all(half):
            lines.append(f'| {port} | {shown(half[0][0])}, {shown(half[1][0])} us | ' +
                         (f'{shown(stream[0])} MB/s |' if stream else '|'))
    return lines if len(lines) > 2 else []


def lines_of_tcp(result):
    lines = ['| port | beside UCX over TCP | times as good, least to most | wanted |',
             '|---|---|---|---|']
    for row in judged(result, 'tcp'):
        if row['labels']['beside'] == 'ucx':
            what, value, must, verdict = told(row)
            value += ', noisy' if verdict == NOISY else ''
            lines.append(f'| {row["labels"]["port"]} | {what.partition(", times")[0]} | {value} | '
                         f'{must} |')
    return lines if len(lines) > 2 else []


def section(result):
    lines = [BEGIN, where_and_what(result), how_sure(result), '']
    must, ports, tcp = lines_of_must(result), lines_of_ports(result), lines_of_tcp(result)
    if must:
        lines += ['Each side has one CPU. The share in bold compares uroce with *limit*, or with '
                  'the value that the line names. The program *limit* makes, checks and copies frames of the same '
                  'size and layout over the same port, without a protocol.', '', *must, '']
    if ports:
        lines += [*ports, '']
    if tcp:
        lines += ['The next table compares uroce with UCX over TCP, in turn on the same pair of interfaces, with offloads '
                  'off. Memif is compared with TCP over loopback.', '',
                  *tcp, '']
    return '\n'.join([*lines, '[The page of measurements](doc/perf/README.md) has all figures, and plots.', END])


def write(result, path):
    """Replace the text between the marks. @return a line to print"""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        return f'{path}: no marks, left as it is'
    with open(f'{path}.new', 'w', encoding='utf-8') as file:
        file.write(before + section(result) + after)
    os.replace(f'{path}.new', path)
    return f'{path}: what was measured'
