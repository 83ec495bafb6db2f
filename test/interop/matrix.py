# SPDX-License-Identifier: BSD-3-Clause
"""Prints the matrix of a run: as text, as JSON, as one HTML page."""

import html
import json

import recovery

MARKS = {'pass': 'ok', 'fail': 'FAIL', 'skip': 'skip'}
STYLE = '''
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 76em; color: #1b1f24; background: #fff }
h2 { font-size: 1.2em; margin: 1.6em 0 .4em } h1 { font-size: 1.5em; margin-bottom: .2em } p { margin: .3em 0 1em } small { color: #667 }
table { border-collapse: collapse; width: 100% } th { text-align: left; font-weight: 600; padding: .3em .6em }
td { border-top: 1px solid #e6e8eb; padding: .25em .6em; vertical-align: top }
tr.group th { padding-top: 1.4em; font-size: 1.1em; border: 0 }
.cells { display: flex; gap: 3px; flex-wrap: wrap }
.cell { border-radius: 3px; padding: 0 .45em; font-size: .8em; font-variant-numeric: tabular-nums; white-space: nowrap }
.pass { background: #d3f0dc } .fail { background: #f8c9c4; font-weight: 600 } .skip { background: #eceef0; color: #667 }
details { margin: 0 } summary { cursor: pointer } pre { white-space: pre-wrap; margin: .4em 0 }
@media (prefers-color-scheme: dark) { body { color: #d8dce2; background: #14171a } td { border-color: #2b3036 }
 .pass { background: #1d4a2c } .fail { background: #6e2620 } .skip { background: #262a2f } }
'''


def variant(cell):
    return f'IPv{6 if cell["ipv6"] else 4} {cell["mtu"]}'


def counts(cells):
    return {result: sum(cell['result'] == result for cell in cells) for result in MARKS}


def headline(cells):
    said = counts(cells)
    return f'{len(cells)} cells: {said["pass"]} pass, {said["fail"]} fail, {said["skip"]} skip'


def rows_of(cells):
    """The cells in the order of the run: {(group, scenario, text): {pair: [cell]}}."""
    rows = {}
    for cell in cells:
        row = rows.setdefault((cell['group'], cell['scenario'], cell['text']), {})
        row.setdefault(cell['pair'], []).append(cell)
    return rows


def text(run):
    """The matrix as text, for a terminal and for doc/interop."""
    cells = run['cells']
    pairs = list(dict.fromkeys(cell['pair'] for cell in cells))
    lines = [f'**{run["date"]}: {headline(cells)}.** A pair is requester>responder.', '',
             *[f'- {name}: {said}' for name, said in run['versions'].items()],
             '', '| scenario | ' + ' | '.join(pairs) + ' |', '|---' * (len(pairs) + 1) + '|']
    for (_, name, _), row in rows_of(cells).items():
        said = []
        for pair in pairs:
            own = row.get(pair, [])
            here = counts(own)
            said.append(', '.join(f'{here[result]} {mark}' for result, mark in MARKS.items() if here[result]) or '-')
        lines.append(f'| {name} | ' + ' | '.join(said) + ' |')
    lines.append('')
    for cell in cells:
        if cell['result'] == 'fail':
            lines.append(f'- FAIL {cell["pair"]} {cell["scenario"]} {variant(cell)}: {"; ".join(cell["why"])}')
    costs = recovery.table(cells)
    if costs:
        lines += ['', 'What a lost packet costs, by the captures, all variants together:', '',
                  *('| ' + ' | '.join(row) + ' |' for row in (costs[0], ['---'] * len(costs[0]), *costs[1:]))]
    return '\n'.join(lines).rstrip() + '\n'


def page(run):
    """The matrix as one HTML page, without further files."""
    cells = run['cells']
    pairs = list(dict.fromkeys(cell['pair'] for cell in cells))
    out = ['<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
           f'<title>RoCE v2 interop, {run["date"]}</title><style>{STYLE}</style>',
           f'<h1>RoCE v2 interop</h1><p>{html.escape(headline(cells))}. {run["date"]}, {run["seconds"] / 60:.0f} minutes, '
           f'seed {run["seed"]}. The first of a pair is the requester.<br>',
           '<small>' + '; '.join(html.escape(f'{name}: {said}') for name, said in run['versions'].items()) +
           '</small></p><table>']
    group = None
    for (own_group, name, about), row in rows_of(cells).items():
        if own_group != group:
            group = own_group
            out.append(f'<tr class="group"><th>{html.escape(group)}' +
                       ''.join(f'<th>{html.escape(pair).replace("&gt;", " → ")}' for pair in pairs))
        out.append(f'<tr><td><b>{html.escape(name)}</b><br><small>{html.escape(about)}</small>')
        for pair in pairs:
            out.append('<td><div class="cells">' + ''.join(cell_html(cell) for cell in row.get(pair, [])) + '</div>')
    out.append('</table>')
    costs = recovery.table(cells)
    if costs:
        out.append('<h2>What a lost packet costs</h2><table>')
        for tag, row in zip(['th'] + ['td'] * len(costs), costs):
            out.append('<tr>' + ''.join(f'<{tag}>{html.escape(said)}' for said in row))
        out.append('</table>')
    out.append('</html>')
    return '\n'.join(out) + '\n'


def cell_html(cell):
    figures = ', '.join(f'{name} {number}' for name, number in cell['figures'].items() if number)
    tip = html.escape('; '.join(cell['why']) or figures, quote=True)
    said = f'<span class="cell {cell["result"]}" title="{tip}">{variant(cell)}</span>'
    if cell['result'] != 'fail':
        return said
    links = ' '.join(f'<a href="{html.escape(path, quote=True)}">{html.escape(path)}</a>' for path in cell['files'])
    return (f'<details><summary>{said}</summary><pre>{html.escape(chr(10).join(cell["why"]))}</pre>'
            f'<small>{html.escape(figures)}</small> {links}</details>')


def write(run, folder):
    for name, said in ('matrix.txt', text(run)), ('matrix.json', json.dumps(run, indent=1) + '\n'), \
            ('index.html', page(run)):
        with open(f'{folder}/{name}', 'w', encoding='utf-8') as file:
            file.write(said)
