# SPDX-License-Identifier: BSD-3-Clause
"""Plays the cells of a run: scenarios between pairs of peers, each pair in a network of its own.

`args`, an argparse.Namespace, has the options of `run` that these functions need: `scenarios`, `pairs`, `short`, `ip`,
`mtu`, `soak`, `seed`, `out`, `keep`, `control`, `update` and `tap`. `one_variant`: each scenario has one variant only.
"""

import contextlib
import json
import os
import signal
import sys
import time
import traceback

import connections
import judge
import matrix
import network
import peers
import scenarios
import stock
from ends import Failure, Scene, Skip
from peers.actor import PROGRAMS
from uroce_ports import TOP, LabError

CONTROL_PAIR = 'rxe>rxe'
SCENES = {'actor': Scene, 'cm-actor': connections.ConnectionScene, None: stock.StockScene}    # by program
FAULTS = Failure, peers.PeerError, LabError
TRIES = 3    # times that a cell is run whose only faults are of timing


class Hung(Failure):
    """A scenario did not end."""


def on_alarm(*_):
    raise Hung('the scenario did not end in time')


class Cells:
    """The cells of a run: the requested ones, and their results."""

    def __init__(self, args):
        self.args = args
        self.done = []
        self.began = time.monotonic()
        self.versions = {}

    def add(self, pair, scenario, is_ipv6, mtu, result, why=(), figures=None, files=(), seconds=0.0):
        cell = {'pair': pair, 'group': scenario.group, 'scenario': scenario.name, 'text': scenario.text,
                'ipv6': is_ipv6, 'mtu': mtu, 'result': result, 'why': list(why), 'figures': figures or {},
                'files': list(files), 'seconds': round(seconds, 1)}
        self.done.append(cell)
        name = f'{pair} {scenario.name} {matrix.variant(cell)}'
        if self.args.tap:
            skip = f' # SKIP {why[0]}' if result == 'skip' else ''
            print(f'{"not ok" if result == "fail" else "ok"} {len(self.done)} - {name}{skip}', flush=True)
            for line in why if result == 'fail' else ():
                print(f'# {line}', flush=True)
        else:
            print(f'{matrix.MARKS[result]:5} {name:50} {seconds:6.1f} s  {"; ".join(why)}', flush=True)

    def run(self):
        return {'date': time.strftime('%Y-%m-%d'), 'seconds': round(time.monotonic() - self.began),
                'seed': self.args.seed, 'versions': self.versions, 'cells': self.done}


def more(before, after):
    """The increase of each counter."""
    return {name: after[name] - before.get(name, 0) for name in after}


def counters_of(peer, scenario):
    """The counters of a peer, unless they end with the programs that a scenario starts and kills."""
    return peer.counters() if scenario.program == 'actor' else {}


def told(error):
    """The texts of an error and of the errors before it, the oldest first. An interruption among them is raised."""
    found = []
    cause = None
    while error:
        if not isinstance(error, Exception):
            raise error
        if isinstance(error, FAULTS):
            found.insert(0, str(error))
        elif error is not cause:
            found.insert(0, f'{type(error).__name__}: {error}')
        cause, error = error.__cause__, error.__context__
    return found


def play_cell(cells, pair, both, net, scenario, is_ipv6, mtu, tries=TRIES):    # pylint: disable=too-many-arguments
    """Run one cell. A cell whose only faults are of timing is run again. @return whether the peers can be used further
    without a restart"""
    args, wire = cells.args, net.wire
    name = f'{pair.replace(">", "-")}.{scenario.name}.ipv{6 if is_ipv6 else 4}.{mtu}'
    path = os.path.join(args.out, name + '.pcap')
    scene = SCENES[scenario.program](*both, wire, is_ipv6, mtu, args.seed)
    scene.soak_s = args.soak
    scene.path = path
    why, result, figures, timing = [], 'pass', {}, []
    began = time.monotonic()
    signal.alarm(scenario.seconds + (args.soak if scenario.name == 'soak' else 0))
    try:
        wire.clear()
        for peer in both:
            peer.use(scenario.program)
        wire.capture(path)
        before, drops = wire.stats(), net.drops()
        counters = {peer: counters_of(peer, scenario) for peer in both}
        try:
            scene.open()
            scenario.run(scene)
        finally:
            wire.clear()
            scene.close()
        counters = {peer: more(counters[peer], counters_of(peer, scenario)) for peer in both}
        wire.capture(None)
        after = wire.stats()
        stats = {number: {key: after[number][key] - before[number][key] for key in after[number]
                          if isinstance(after[number][key], int)} for number in after}
        drops = net.drops() - drops
        verdict = judge.judge(scene, scenario, None if scenario.name == 'soak' else path, stats, counters, drops)
        figures, timing = verdict.figures, verdict.timing
        why += verdict.faults + [fault for peer in both for fault in peer.faults()]
        if scenario.program != 'actor':
            why += connections.judge(scene)
            figures.update(scene.figures)
    except Skip as skip:
        result, why = 'skip', [str(skip)]
    except Exception as error:    # pylint: disable=broad-except
        why += told(error)
        if not isinstance(error, FAULTS):
            traceback.print_exc()
    finally:
        signal.alarm(0)
    if why and why == timing and tries > 1:
        print(f'run: {name}: once more: {"; ".join(why)}', file=sys.stderr)
        return play_cell(cells, pair, both, net, scenario, is_ipv6, mtu, tries - 1)
    if why and result != 'skip':
        result = 'fail'
        try:
            wire.capture(None)
            if scenario.program != 'actor':
                connections.judge(scene)
        except LabError as error:
            why.append(str(error))
    files = [os.path.basename(file) for file in (path, path + '.mads') if os.path.exists(file)]
    if result != 'fail' and not args.keep:
        for file in (path, path + '.verdicts', path + '.mads'):
            if os.path.exists(file):
                os.unlink(file)
        files = []
    cells.add(pair, scenario, is_ipv6, mtu, result, why, figures, files, time.monotonic() - began)
    return result != 'fail'


def chosen_scenarios(args):
    every = scenarios.load()
    unknown = [name for name in args.scenarios
               if name not in every and name not in {scenario.group for scenario in every.values()}]
    if unknown:
        sys.exit(f'run: {unknown[0]}: no such scenario, nor group; --list has them')
    return [scenario for scenario in every.values()
            if (not args.scenarios or scenario.name in args.scenarios or scenario.group in args.scenarios) and
            (scenario.is_short or not args.short)]


def variants(args, scenario):
    found = [(is_ipv6, mtu) for is_ipv6, mtu in scenario.variants()
             if args.ip in (None, 6 if is_ipv6 else 4) and args.mtu in (None, mtu)]
    return found[:1] if args.one_variant else found


def play_pair(cells, pair, todo):
    """Run the cells of a pair in a network of its own. If the wire or a peer is lost, continue in a new network."""
    args = cells.args
    is_first = True
    with contextlib.ExitStack() as files:
        log = {number: files.enter_context(open(os.path.join(args.out, f'{pair.replace(">", "-")}.{number}.log'), 'w',
                                                encoding='utf-8')) for number in (1, 2)}
        while todo:
            count = len(todo)
            try:
                play_in_network(cells, pair, todo, log)
            except (peers.PeerError, LabError, OSError) as error:
                is_played = len(todo) < count
                if is_first and not is_played:
                    raise
                if todo:
                    print(f'run: {pair}: {"in a new network" if is_played else "not"} from here on: {error}',
                          file=sys.stderr)
                while todo and not is_played:
                    cells.add(pair, *todo.pop(0), 'fail', ['there is no network for it any more'])
            is_first = False


def play_in_network(cells, pair, todo, log):
    """Run cells, and remove them from `todo`. Raises an error of the network or of a peer with which the cells cannot
    run."""
    requester, responder = pair.split('>')
    net = network.Network()
    both = []
    try:
        both = [peers.make(requester, 1, net, log[1]), peers.make(responder, 2, net, log[2])]
        for peer in both:
            peer.prepare()
        net.begin()
        for peer in both:
            peer.start()
        net.connect(cells.args.seed)
        for peer in both:
            peer.ready()
        cells.versions.update({peer.name: peer.version() for peer in both})
        words = both[0].words & both[1].words
        while todo:
            scenario, is_ipv6, mtu = todo.pop(0)
            lacking = scenario.needs - words | ({'ipv6'} - words if is_ipv6 else set())
            if lacking:
                cells.add(pair, scenario, is_ipv6, mtu, 'skip', [f'a peer has no {", ".join(sorted(lacking))}'])
            elif not is_built(scenario.program):
                cells.add(pair, scenario, is_ipv6, mtu, 'skip', [f'{scenario.program} was not built: it needs librdmacm-dev'])
            elif not play_cell(cells, pair, both, net, scenario, is_ipv6, mtu):
                net.wire.clear()
                for peer in both:
                    peer.restart()
    finally:
        net.part()
        for peer in both:
            peer.stop()
        net.close()


def is_built(program):
    return program is None or os.path.exists(os.path.join(TOP, PROGRAMS, program))


def play_control(cells, chosen):
    """Run what has failed with rxe at both ends, which tells a fault of uroce from one of the peer or of the test."""
    failed = {(cell['scenario'], cell['ipv6'], cell['mtu']) for cell in cells.done if cell['result'] == 'fail'}
    cells.args.keep = True
    todo = [(scenario, *variant) for scenario in chosen for variant in variants(cells.args, scenario)
            if (scenario.name, *variant) in failed]
    if todo:
        try:
            play_pair(cells, CONTROL_PAIR, todo)
        except FAULTS as error:
            print(f'run: {CONTROL_PAIR}: {error}', file=sys.stderr)


def is_same(one, other):
    return all(one[key] == other[key] for key in ('pair', 'scenario', 'ipv6', 'mtu'))


def earlier_run(args):
    path = os.path.join(args.out, 'matrix.json')
    if not args.update or not os.path.exists(path):
        return None
    with open(path, encoding='utf-8') as file:
        return json.load(file)


def merged(before, run):
    if not before:
        return run
    kept = [cell for cell in before['cells'] if not any(is_same(cell, new) for new in run['cells'])]
    return {**run, 'cells': kept + run['cells'], 'versions': {**before['versions'], **run['versions']},
            'seconds': run['seconds'] + before['seconds']}


def play(args):
    """Play the cells that the options choose, write their matrix, and print the sum. @return exit status"""
    chosen = chosen_scenarios(args)
    os.makedirs(args.out, exist_ok=True)
    signal.signal(signal.SIGALRM, on_alarm)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    cells = Cells(args)
    earlier = earlier_run(args)
    lacking, is_broken = [], False
    for pair in args.pairs.split(','):
        try:
            play_pair(cells, pair, [(scenario, *variant) for scenario in chosen for variant in variants(args, scenario)])
        except (peers.Missing, peers.PeerError, LabError) as error:
            lacking.append(f'{pair}: {error}')
            is_broken = is_broken or bool(cells.done) or not isinstance(error, (peers.Missing, LabError))
        run = merged(earlier, cells.run())
        matrix.write(run, args.out)
    if args.control and CONTROL_PAIR not in args.pairs.split(','):
        play_control(cells, chosen)
        run = merged(earlier, cells.run())
        matrix.write(run, args.out)
    if args.tap:
        print(f'1..{len(cells.done)}' if cells.done else f'1..0 # SKIP {lacking[0] if lacking else "no cell"}')
    for text in lacking:
        print(f'run: {text}', file=sys.stderr)
    print(('# ' if args.tap else '') + f'{matrix.headline(run["cells"])}; {args.out}/index.html')
    return int(is_broken or (bool(lacking) and not args.tap) or any(cell['result'] == 'fail' for cell in run['cells']))
