# SPDX-License-Identifier: BSD-3-Clause
"""Computes the cost of a lost packet: the retransmissions of each end, and the time for which the requester sends
nothing."""

GROUP = 'faults'
HEAD = 'requests again, B', 'answers again, B', 'stalled, ms'
FIGURES = ('requester_again_bytes', 1), ('responder_responses_again_bytes', 1), ('stalled_s', 1000)


def of_cells(cells):
    """{scenario: {pair: (packets lost, a number for each of HEAD by lost packet)}}, all variants together."""
    rows = {}
    for cell in cells:
        figures = cell['figures']
        if cell['group'] == GROUP and figures.get('lost') and all(name in figures for name, _ in FIGURES):
            rows.setdefault(cell['scenario'], {}).setdefault(cell['pair'], []).append(figures)
    return {name: {pair: of_figures(found) for pair, found in row.items()} for name, row in rows.items()}


def of_figures(found):
    lost = sum(figures['lost'] for figures in found)
    return lost, [factor * sum(figures[name] for figures in found) / lost for name, factor in FIGURES]


def table(cells):
    """The costs as rows of text, the head first; no rows if nothing was lost."""
    costs = of_cells(cells)
    pairs = list(dict.fromkeys(pair for row in costs.values() for pair in row))
    if not costs:
        return []
    return [['scenario', *(f'{pair}: {what}' for what in ('lost', *HEAD) for pair in pairs)],
            *([name, *(column(row.get(pair), at) for at in range(-1, len(HEAD)) for pair in pairs)]
              for name, row in costs.items())]


def column(cost, at):
    if not cost:
        return '-'
    lost, numbers = cost
    return str(lost) if at < 0 else f'{numbers[at]:,.{0 if numbers[at] >= 100 else 1}f}'
