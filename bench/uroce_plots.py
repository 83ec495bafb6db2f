#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draw the results of uroce-bench-all: one picture for each part that has a line to draw.

    bench/uroce_plots.py BENCH.json DIR

Prints the names of the pictures. uroce-bench-all runs this program with a Python that has
matplotlib.
"""

import json
import os
import sys

# picture: part, label of the x axis, metric, divisor and name of the unit, whether both axes are
# logarithmic
PICTURES = {
    'sizes-rate.png': ('sizes', 'size', 'message_rate', 1e6, 'million messages/s', True),
    'sizes-bandwidth.png': ('sizes', 'size', 'payload_rate', 1e9, 'GB/s of payload', False),
    'latency-p50.png': ('latency', 'size', 'latency_p50', 1, 'us, half a round trip, median', True),
    'latency-p99.png': ('latency', 'size', 'latency_p99', 1, 'us, half a round trip, 99 %', True),
    'qps-rate.png': ('qps', 'qps', 'message_rate', 1e6, 'million messages/s, 64-byte WRITEs', False),
    'loss-bandwidth.png': ('loss', 'loss', 'payload_rate', 1e9, 'GB/s, 1 MiB WRITEs', False),
}
TITLES = {'size': 'bytes in a message', 'qps': 'QPs', 'loss': 'share of the frames lost'}
# bars: for each port and program, the best of its tests
BARS = (('rate', 'message_rate', 1e6, '64 B: million messages/s'),
        ('stream', 'payload_rate', 1e9, '64 KiB: GB/s'),
        ('trip', 'latency_p50', 1, '64 B: us, half a round trip'))


def short(value, _=None):
    """Format 1024 as 1 Ki."""
    for unit, scale in (('Mi', 1 << 20), ('Ki', 1 << 10)):
        if value >= scale:
            return f'{value / scale:g} {unit}'
    return f'{value:g}'


def lines_of(rows, across):
    """{name of a line: sorted points (x, median, least, most)}"""
    lines = {}
    for row in rows:
        labels = row['labels']
        name = ' '.join(str(labels[key]) for key in ('port', 'test', 'order') if key in labels)
        lines.setdefault(name, []).append(
            (float(labels[across]), row['median'], row['least'], row['most']))
    return {name: sorted(points) for name, points in lines.items()}


def draw(pyplot, rows, picture, path):
    _, across, _, scale, unit, is_log = PICTURES[picture]
    figure, axis = pyplot.subplots(figsize=(7, 4.2), constrained_layout=True)
    for name, points in lines_of(rows, across).items():
        xs = [point[0] for point in points]
        axis.plot(xs, [point[1] / scale for point in points], marker='.', label=name)
        axis.fill_between(xs, [point[2] / scale for point in points],
                          [point[3] / scale for point in points], alpha=0.15)
    if across == 'loss':
        axis.set_xscale('symlog', linthresh=1e-4)
    else:
        axis.set_xscale('log', base=2)
        ticks = sorted({point[0] for points in lines_of(rows, across).values() for point in points})
        step = -(-len(ticks) // 12)    # as many ticks as there is room for
        ticks = ticks[::step]
        axis.set_xticks([tick for tick, after in zip(ticks, [*ticks[1:], float('inf')])
                         if after >= 2 * tick])
        axis.xaxis.set_major_formatter(short)
        axis.minorticks_off()
    if is_log:
        axis.set_yscale('log')
        axis.yaxis.set_major_formatter(lambda value, _: f'{value:g}')
    else:
        axis.set_ylim(bottom=0)
    axis.set_xlabel(TITLES[across])
    axis.set_ylabel(unit)
    axis.grid(alpha=0.3)
    axis.legend(fontsize='small')
    figure.savefig(path, dpi=80)
    pyplot.close(figure)


def draw_bars(pyplot, rows, path):
    """Draw the comparison with other programs."""
    figure, axes = pyplot.subplots(1, len(BARS), figsize=(9, 3.4), constrained_layout=True)
    ports = list(dict.fromkeys(row['labels']['port'] for row in rows))
    tools = list(dict.fromkeys(row['labels']['tool'] for row in rows))
    for axis, (kind, metric, scale, title) in zip(axes, BARS):
        for at, tool in enumerate(tools):
            for place, port in enumerate(ports):
                some = [row for row in rows if row['metric'] in (metric, f'{metric.split("_")[0]}_mean') and
                        row['labels'] | {'port': port, 'tool': tool, 'kind': kind} == row['labels']]
                if not some:
                    continue
                pick = max if some[0]['better'] == 'more' else min
                best = pick(some, key=lambda row: row['median'])
                middle, least, most = (best[key] / scale for key in ('median', 'least', 'most'))
                axis.bar(place + (at - 1) * 0.27, middle, 0.25, color=f'C{at}',
                         label=tool if place == 0 else None,
                         yerr=[[middle - least], [most - middle]], ecolor='grey')
        axis.set_xticks(range(len(ports)), ports)
        axis.set_title(title, fontsize='medium')
        axis.grid(alpha=0.3, axis='y')
    axes[0].legend(fontsize='small')
    figure.savefig(path, dpi=80)
    pyplot.close(figure)


def main():
    if len(sys.argv) != 3:
        sys.exit('uroce_plots: wrong arguments; allowed: BENCH.json DIR')
    try:
        import matplotlib
    except ModuleNotFoundError:
        sys.exit('uroce_plots: no plots: this Python has no matplotlib; it is in python3-matplotlib')
    matplotlib.use('Agg')
    from matplotlib import pyplot

    with open(sys.argv[1], encoding='utf-8') as file:
        measured = json.load(file)['measurements']
    for picture, (part, across, metric, *_) in PICTURES.items():
        rows = [row for row in measured if row['part'] == part and row['metric'] == metric
                and across in row['labels']]
        if len({row['labels'][across] for row in rows}) > 1:
            draw(pyplot, rows, picture, os.path.join(sys.argv[2], picture))
            print(picture)
    rows = [row for row in measured if row['part'] == 'tcp' and 'tool' in row['labels']]
    if rows:
        draw_bars(pyplot, rows, os.path.join(sys.argv[2], 'tcp.png'))
        print('tcp.png')


if __name__ == '__main__':
    main()
