# SPDX-License-Identifier: BSD-3-Clause
"""The scenarios: each is a function of a Scene, with operations for the peers. It raises Failure."""

import importlib

MODULES = 'messages', 'requests', 'errors', 'readiness', 'faults', 'many', 'soak', 'connections', 'stock'

SCENARIOS = {}    # by name, in the order of their definition


class Scenario:
    def __init__(self, function, name, needs, mtus, is_both_families, group, is_short, clean, seconds, program, text):
        self.run = function
        self.name = name
        self.text = (text or function.__doc__ or '').strip().split('\n')[0]
        self.needs = frozenset(needs)
        self.mtus = mtus
        self.families = (False, True) if is_both_families else (False,)
        self.group = group
        self.is_short = is_short
        self.clean = clean      # there must be no retransmission and no NAK
        self.seconds = seconds    # time after which the scenario counts as hanging
        self.program = program    # the program that executes the operations of the peers; None: none

    def variants(self):
        return [(is_ipv6, mtu) for is_ipv6 in self.families for mtu in self.mtus]


def scenario(needs=('RC',), mtus=(1024,), both=True, short=False, clean=True, seconds=120, program='actor', name=None,
             text=None):
    """Register a function, with the features that it needs of the peers, path MTUs, and whether both address families
    run. `name` and `text` replace the ones that are made from the name and the doc comment of the function."""
    def register(function):
        own_name = name or function.__name__.replace('__', ':').replace('_', '-')
        SCENARIOS[own_name] = Scenario(function, own_name, needs, mtus, both, function.__module__.split('.')[-1], short,
                                       clean, seconds, program, text)
        return function
    return register


def add_folder(folder, *modules):
    """Let load() load modules of another folder, too."""
    global MODULES    # pylint: disable=global-statement
    __path__.append(folder)
    MODULES += modules


def load():
    for module in MODULES:
        importlib.import_module(f'scenarios.{module}')
    return SCENARIOS
