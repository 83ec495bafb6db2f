# SPDX-License-Identifier: BSD-3-Clause
"""The pages of doc/perf: tables in Markdown from the JSON of uroce-bench-all, and plots.

A table arranges the measurements of a part: one label has a row for each value; the other labels
and the metrics have columns. Values are medians. Noise is shown in the JSON and at the head of the
page.
"""

import os
import subprocess
import sys

from uroce_judge import KINDS, METRIC_OF, ports_in, select
from uroce_lines import LINES
from uroce_noise import LIMIT
from uroce_record import commit_text
from uroce_suite import METRICS, PARTS

PLOTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'uroce_plots.py')
# The metrics that the tables show of a part, in order. A part without an entry shows every metric.
METRICS_SHOWN = {'sizes': ('message_rate', 'payload_rate'),
                'latency': ('latency_min', 'latency_p50', 'latency_p99', 'latency_p999'),
                'qps': ('message_rate', 'connect_rate', 'destroy_rate', 'memory_per_qp'),
                'loss': ('payload_rate',), 'workers': ('message_rate',),
                'icrc': ('message_rate', 'payload_rate')}
SHORT = {'message_rate': '', 'payload_rate': '', 'frame_rate': '', 'latency_min': 'least',
         'latency_p50': 'median', 'latency_p99': '99 %', 'latency_p999': '99.9 %',
         'latency_mean': 'mean', 'connect_rate': 'connected', 'destroy_rate': 'destroyed',
         'memory_per_qp': 'memory of each', 'ratio': 'share of the limit'}
# part: the label of the rows; the columns that come first; the text above the table
TABLES = {
    'must': ('run', (), 'These are the lines of [uroce_lines.py](../../bench/uroce_lines.py), as '
             '`uroce-bench-ratio PORT --must-show` prints them. Each line compares uroce with another '
             'value and has the ratio of the two, round by round. `--list` prints the commands.'),
    'sizes': ('size', ('port', 'test'),
              'Requests are in lists of 16, with one completion for 16, 128 in the send queue, and one QP. The path '
              'MTU is 4096 if the port carries it (AF_XDP: 2048). M/s are million messages a second, and '
              'MB/s are 10^6 bytes of payload a second.'),
    'latency': ('size', ('test',),
                'The time of half a round trip is in microseconds. Each side is one thread that spins.'),
    'qps': ('qps', ('order',),
            'There are 64-byte WRITEs over memif, posted one by one, on the next QP in turn or on a random QP. '
            'Memory includes the queues (16 requests each way) and the verbs object of a QP.'),
    'loss': ('loss', ('port',), 'There are 1 MiB WRITEs, and frames are lost at random in both directions.'),
    'workers': ('workers', ('port',), 'There are 64-byte WRITEs. Each worker loops its own QPs over its '
                'own pair of ports.'),
    'icrc': ('icrc', ('size', 'mtu'), 'There are WRITEs over memif. *Off* is a library that makes and '
             'checks no ICRC; it cannot communicate with any other RoCE device.'),
    'limit': ('tool', (),
              'There are WRITEs in lists of 64. The program *limit* makes, checks and copies frames of the same '
              'size and layout over the same port, without a protocol. The program *testpmd* neither computes '
              'ICRCs nor copies. The ratio is computed round by round.'),
    'tcp': ('tool', ('port', 'kind', 'test'),
            'The programs run in turn on the same pair of interfaces, with offloads off. Memif is compared with '
            'TCP over loopback. Each side has one CPU.'),
}
UNITS = {'1/s': (1e6, 'M/s'), 'bytes/s': (1e6, 'MB/s'), 'us': (1, 'us'), 'bytes': (1, 'bytes'),
         '': (0.01, '%')}
LINE_UNITS = {'frame_rate': 'M frames/s', 'message_rate': 'M messages/s', 'payload_rate': 'MB/s',
              'latency_p50': 'us', 'latency_p99': 'us', 'connect_rate': 'QPs/s'}


def shown(row):
    scale, _ = UNITS[row['unit']]
    if row['metric'] in ('connect_rate', 'destroy_rate'):
        return f'{row["median"]:,.0f}'
    value = row['median'] / scale
    if abs(value) < 0.1 and value:
        return f'{value:.3g}' if abs(value) >= 1e-4 else f'{value:.6f}'
    digits = 0 if abs(value) >= 100 or row['unit'] == 'bytes' else 1 if abs(value) >= 20 else 2
    return f'{value:,.{digits}f}'


def unit_of(metric):
    if metric in ('connect_rate', 'destroy_rate'):
        return '1/s'
    return UNITS[METRICS[metric][0]][1]


def sized(value):
    """A size with a unit prefix, like 64 Ki."""
    for unit, scale in (('MiB', 1 << 20), ('KiB', 1 << 10)):
        if value >= scale and value % scale == 0:
            return f'{value // scale} {unit}'
    return f'{value} B'


def label_text(key, value):
    if key == 'size':
        return sized(value)
    if key == 'kind':
        return f'{KINDS[value][1]},'
    if key in ('port', 'test', 'tool', 'order'):
        return str(value)
    return f'{key} {value}'


def order_of(value):
    try:
        return 0, float(value), ''
    except (TypeError, ValueError):
        return 1, 0.0, str(value)


def heading(head, metric):
    """The head of a column: what distinguishes it, and the unit."""
    words = ' '.join(word for word in (head, SHORT[metric]) if word)
    return f'{words}, {unit_of(metric)}' if words else unit_of(metric)


def table(rows, down, first, metrics):
    """Lines of one table. The values of `down` are rows, all other labels are columns."""
    across, grid = [], {}
    for row in rows:
        labels = row['labels']
        head = ' '.join(label_text(key, labels[key]) for key in first if key in labels)
        column = (head, row['metric'])
        if column not in across:
            across.append(column)
        grid.setdefault(labels.get(down), {})[column] = row
    if down == 'tool':    # few columns, so the table is turned: each measurement is a row
        return lines_of_tools(grid, across)
    if metrics:
        across.sort(key=lambda column: metrics.index(column[1]) if down == 'qps' else 0)
    lines = [f'| {down} | ' + ' | '.join(heading(*column) for column in across) + ' |',
             '|---' + '|---:' * len(across) + '|']
    for value in sorted(grid, key=order_of):
        cells = [shown(grid[value][column]) if column in grid[value] else '' for column in across]
        name = sized(value) if down == 'size' else f'{value:,}' if down == 'qps' else value
        lines.append(f'| {name} | ' + ' | '.join(cells) + ' |')
    return lines


def lines_of_tools(grid, across):
    lines = ['| measured | program | median | least | most | |', '|---|---|---:|---:|---:|---|']
    for head, metric in across:
        for tool in grid:
            row = grid[tool].get((head, metric))
            if not row:
                continue
            ends = [shown(row | {'median': row[end]}) for end in ('least', 'most')]
            what = ' '.join(word for word in (head, SHORT[metric]) if word)
            lines.append(f'| {what} | {tool} | {shown(row)} | {ends[0]} | {ends[1]} | '
                         f'{unit_of(metric)} |')
    return lines


def is_shown(row):
    """Whether a table shows a row of the file."""
    kind = row['labels'].get('kind')
    if row['metric'] == 'times':
        return False
    if kind:
        return row['metric'] in (KINDS[kind][0], 'latency_p99', 'latency_mean')
    return row['metric'] in METRICS_SHOWN.get(row['part'], METRICS)


def split(rows, part):
    """Tables of a part that fit a page: for sizes one of messages and one of bytes, for latency one
    for each port.
    """
    if part == 'sizes':
        return [(title, [row for row in rows if row['metric'] == metric])
                for metric, title in (('message_rate', 'Messages'), ('payload_rate', 'Payload'))]
    if part == 'latency':
        return [(port, [row for row in rows if row['labels']['port'] == port])
                for port in ports_in(rows)]
    return [('', rows)]


# ---------------------------------------------------------------------------------------- verdicts

def spread(row, scale, digits):
    ends = [f'{row[end] * scale:,.{digits}f}' for end in ('median', 'least', 'most')]
    return f'{ends[0]} ({ends[1]} to {ends[2]})'


def told(row):
    """Texts for a row with a limit: (title, value, limit, verdict)."""
    labels = row['labels']
    word = '>=' if 'floor' in row else '<='
    bound = row.get('floor', row.get('ceiling'))
    if row['metric'] == 'times':
        what = f'{KINDS[labels["kind"]][1]}, times {labels["beside"]}'
        return what, spread(row, 1, 2), f'{word} {bound}' if bound else '', row.get('verdict', '')
    if row['metric'] == 'ratio':
        return labels['line'], spread(row, 100, 0) + ' %', f'{word} {100 * bound:.0f} %', row['verdict']
    return labels['line'], spread(row, 1, 0), f'{word} {bound:,.0f}', row['verdict']


def judged(result, part):
    return [row for row in result['measurements']
            if row['part'] == part and ('verdict' in row or row['metric'] == 'times')]


def verdicts(result):
    """A line for each value that has a limit."""
    lines = []
    for part in 'must', 'tcp':
        for row in judged(result, part):
            what, value, must, verdict = told(row)
            if verdict:
                lines.append(f'{verdict:5} {row["labels"]["port"]:10}{what:42}{value:26}must {must}')
    return lines


def lines_of_ratios(result):
    lines = ['', 'The table says how many times as good uroce is as the other program, round by round. It compares '
             'the best test of each:', '', '| port | measured | median, least to most | must | |',
             '|---|---|---:|---|---|']
    for row in judged(result, 'tcp'):
        what, value, must, verdict = told(row)
        lines.append(f'| {row["labels"]["port"]} | {what} | {value} | {must} | {verdict} |')
    return lines


def value_of(rows, run, line, port):
    """The median of a run, without its unit."""
    metric = METRIC_OF[line.metric]
    found = select(rows, metric, port=port, run=run.name) if run else []
    return shown(found[0]) if found else ''


def lines_of_must(result):
    rows = [row for row in result['measurements'] if row['part'] == 'must']
    of_name = {line.name: line for lines in LINES.values() for line in lines}
    lines = []
    for port in ports_in(rows):
        lines += [f'**{port}**', '',
                  '| | uroce | compared with | | ratio, least to most | must | |',
                  '|---|---:|---:|---|---:|---|---|']
        for row in judged({'measurements': rows}, 'must'):
            if row['labels']['port'] != port:
                continue
            line = of_name[row['labels']['line']]
            what, value, must, verdict = told(row)
            unit = LINE_UNITS[METRIC_OF[line.metric]]
            share = f', {line.share:g} of it' if line.share != 1 else ''
            lines.append(f'| {what} | {value_of(rows, line.left, line, port)} | '
                         f'{value_of(rows, line.right, line, port)} | {unit}{share} | {value} | '
                         f'{must} | {verdict} |')
        lines.append('')
    return lines


def lines_of_limit(rows):
    lines = ['| port | message | MTU | uroce, M frames/s | limit | testpmd | uroce, MB/s | limit | '
             'uroce / limit, least to most |', '|---|---|---' + '|---:' * 6 + '|']
    for ratio in (row for row in rows if row['metric'] == 'ratio'):
        shape = {key: ratio['labels'][key] for key in ('port', 'size', 'mtu')}
        cells = []
        for metric, tools in (('frame_rate', ('uroce', 'limit', 'testpmd')),
                              ('payload_rate', ('uroce', 'limit'))):
            for tool in tools:
                found = select(rows, metric, tool=tool, **shape)
                cells.append(shown(found[0]) if found else '')
        lines.append(f'| {shape["port"]} | {sized(shape["size"])} | {shape["mtu"]} | ' +
                     ' | '.join(cells) + f' | {spread(ratio, 100, 0)} % |')
    return lines


# ---------------------------------------------------------------------------------------------- page

def where_and_what(result):
    """The machine and the versions, as lines of text."""
    where, what = result['machine'], result['versions']
    return (f'Machine `{where["name"]}`: {where["cpu"]}, {where["cpus"]} CPUs, '
            f'{where["memory_bytes"] / (1 << 30):.0f} GiB, '
            f'{result["hugepages_bytes"] / (1 << 20):.0f} MiB of hugepages, {where["kernel"]}. DPDK {what["dpdk"]}, '
            f'UCX {what["ucx"] or "none"}, {what["compiler"]}. uroce '
            f'{commit_text(what["uroce"])}, {result["began"]} to {result.get("ended", "?")}.')


def how_sure(result):
    """The number of rounds, and disturbances."""
    noisy = [row for row in result['measurements'] if row['others'] > LIMIT]
    rounds = ', '.join(f'{name} {state["rounds"]}' for name, state in result['parts'].items()
                       if state['status'] != 'skipped')
    return (f'The figures are medians of rounds of {result["seconds"]} s each ({rounds}). Other processes, or other '
            f'machines of the host, took more than {100 * LIMIT:.0f} % of the CPUs during '
            f'{len(noisy)} of {len(result["measurements"])} measurements. A line is *noisy*, and has no verdict, if '
            'rounds with that much noise could change it.')


def header(result, json_path):
    name = os.path.basename(json_path)
    return ['# Measured', '',
            f'`bench/uroce-bench-all{" --quick" if result["is_quick"] else ""}` wrote this page from '
            f'[{name}]({name}), which has every round. [The guide](../guides/benchmarks.md) says how to run it, '
            'and describes the file. `devtools/check-measured` says whether the library has changed since.', '',
            where_and_what(result), '', how_sure(result)]


def section(result, name, pictures):
    part, state = PARTS[name], result['parts'][name]
    down, first, text = TABLES[name]
    lines = ['', f'## {part.title[0].upper()}{part.title[1:]}', '', text, '']
    if state['status'] == 'skipped':
        return lines + [f'Skipped: {state["why"]}.']
    rows = [row for row in result['measurements'] if row['part'] == name]
    if name == 'must':
        lines += lines_of_must(result)
        rows = []
    if name == 'limit':
        lines += lines_of_limit(rows)
        rows = []
    for title, some in split(rows, name) if rows else []:
        lines += [f'**{title}**', ''] if title else []
        lines += table(list(filter(is_shown, some)), down, first, METRICS_SHOWN.get(name)) + ['']
    if name == 'tcp':
        lines += lines_of_ratios(result) + ['']
    lines += [f'![{picture}]({picture})' for picture in pictures if picture.startswith(name)]
    if state['status'] == 'begun':
        lines += ['', f'Not over: {state["rounds"]} rounds.']
    if state['status'] != 'skipped' and 'why' in state:
        lines += ['', 'Failed:', ''] + [f'- {case}: {why}' for case, why in state['why'].items()]
    return lines


def draw(json_path, folder):
    """@return names of the pictures, and a line to print"""
    for python in dict.fromkeys((sys.executable, '/usr/bin/python3')):
        if not os.path.exists(python):
            continue
        done = subprocess.run([python, PLOTS, json_path, folder], capture_output=True, text=True,
                              check=False)
        if done.returncode == 0:
            return done.stdout.split(), []
    return [], [(done.stderr.strip() or 'no plots').splitlines()[-1]]


def write(result, json_path, folder):
    """Write the page and its pictures. @return lines to print"""
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
