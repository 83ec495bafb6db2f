#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests whether the benchmark suite handles failures, resumes after an interruption, and evaluates its results
correctly. Nothing is measured: the cases have fixed results.

    test-bench-all.py BENCH
"""

import argparse
import contextlib
import importlib.util
import io
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
TOOLS = os.path.abspath(sys.argv[1])
sys.path.insert(0, TOOLS)
import uroce_judge  # noqa: E402
import uroce_readme  # noqa: E402
import uroce_report  # noqa: E402
import uroce_suite  # noqa: E402
from uroce_noise import Noise  # noqa: E402
from uroce_suite import LabError  # noqa: E402

failed = 0


def expect(what, is_right):
    global failed
    print(f"{'ok' if is_right else 'FAIL'}    {what}")
    failed += not is_right


def load(name):
    """Load a program of usertools as a module, without its last line, which would run it."""
    path = os.path.join(TOOLS, name)
    with open(path, encoding='utf-8') as file:
        text = file.read()
    spec = importlib.util.spec_from_loader(name, loader=None)
    module = importlib.util.module_from_spec(spec)
    exec(compile(text.replace('\nsys.exit(main())\n', '\n'), path, 'exec'), module.__dict__)
    return module


class Cases:
    """Cases with a fixed result: a value, an error, or the end of the program."""

    def __init__(self, **happens):
        self.happens = {name: iter(values) for name, values in happens.items()}
        self.runs = []

    def run(self, name):
        self.runs.append(name)
        value = next(self.happens[name])
        if isinstance(value, BaseException):
            raise value
        return [({'port': 'memif', 'tool': name, 'test': 'write_bw'}, {'message_rate': value})]

    def part(self):
        return uroce_suite.Part('made', 'made up', lambda settings: [
            uroce_suite.Case(name, lambda name=name: self.run(name), 1) for name in self.happens])


def run(suite, cases, path, rounds, measure_quietly=None, **more):
    """@return the file of results, and the output"""
    suite.measure_quietly = measure_quietly or (lambda measure, repeats: (measure(), Noise(0, 0)))
    suite.PARTS.clear()
    suite.PARTS['made'] = cases.part()
    args = argparse.Namespace(parts=['made'], ports=[], rounds=rounds, seconds=1, quick=False,
                              json=path, resume=False, verbose=False)
    for key, value in more.items():
        setattr(args, key, value)
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            suite.run(args)
        except KeyboardInterrupt:
            pass
    with open(path, encoding='utf-8') as file:
        return json.load(file), said.getvalue()


def rounds_of(result, tool):
    return next((row['rounds'] for row in result['measurements'] if row['labels']['tool'] == tool), [])


def check_failures(suite, path):
    broken = LabError(f'{os.path.dirname(TOOLS)}/x is not there')
    result, said = run(suite, Cases(good=[1, 2, 3], bad=[9, broken, broken]), path, 3)
    state = result['parts']['made']
    expect('others go on without a case that fails', rounds_of(result, 'good') == [1, 2, 3])
    expect('what it had is kept', rounds_of(result, 'bad') == [9])
    expect('it is written down, without where the tree is',
           state['status'] == 'failed' and state['why'] == {'bad': 'x is not there'})
    expect('and told', 'bad: x is not there; without it' in said)

    result, said = run(suite, Cases(flaky=[1, broken, 2, 3]), path, 3)
    expect('a case that fails once is run once more', rounds_of(result, 'flaky') == [1, 2, 3])
    expect('and is none that failed', result['parts']['made']['status'] == 'done')
    expect('how long it takes is told first', said.startswith('uroce-bench-all: takes about '))


def check_noise(suite, path):
    cases = Cases(quiet=[1, 2], loud=[3, 4])
    noises = iter((0.01, 0.5, 0.02, 0.04))
    suite.Repeats = lambda planned: planned
    given = []

    def measure(case, repeats):
        given.append(repeats)
        return case(), Noise(0, next(noises))
    result, _ = run(suite, cases, path, 2, measure_quietly=measure)
    loud = next(row for row in result['measurements'] if row['labels']['tool'] == 'loud')
    expect('the noise of each round is kept', loud['others_by_round'] == [0.5, 0.04] and loud['others'] == 0.5)
    expect('a round may repeat a share of its cases', given == [2] * 4)


def check_resume(suite, path):
    ended = Cases(one=[1, 2], two=[3, KeyboardInterrupt()])
    result, _ = run(suite, ended, path, 3)
    expect('of a run that was ended the rounds before are kept',
           rounds_of(result, 'one') == [1] and rounds_of(result, 'two') == [3] and
           result['parts']['made']['status'] == 'begun')
    more = Cases(one=[5, 6], two=[7, 8])
    result, _ = run(suite, more, path, 3, resume=True)
    expect('it goes on with the next', rounds_of(result, 'one') == [1, 5, 6] and
           rounds_of(result, 'two') == [3, 7, 8] and result['parts']['made']['rounds'] == 3)
    done = Cases(one=[], two=[])
    run(suite, done, path, 3, resume=True)
    expect('what is done is left out', not done.runs)
    result, _ = run(suite, Cases(one=[9], two=[9]), path, 4, resume=True)
    expect('more rounds are added', rounds_of(result, 'one') == [1, 5, 6, 9])
    try:
        run(suite, done, path, 4, resume=True, seconds=2)
        expect('a run of another length is refused', False)
    except LabError as error:
        expect('a run of another length is refused', 'seconds: 1; allowed, as now: 2' in str(error))


def row(metric, rounds, **labels):
    return {'part': 'tcp', 'metric': metric, 'rounds': rounds, 'labels': labels, 'others': 0.01, 'others_by_round': [0.01] * len(rounds)}


def check_judgement(suite):
    common = {'port': 'af_xdp', 'kind': 'rate'}
    rows = [row('message_rate', [10, 30], tool='uroce', test='write_bw', **common),
            row('message_rate', [20, 20], tool='uroce', test='send_bw', **common),
            row('message_rate', [10, 10], tool='ucx', test='tag_bw', **common)]
    one, = uroce_judge.judge_tcp(rows)
    expect('the best of each round counts', one.rounds == [2, 3])
    expect('what must be and is, passes', one.bounds() == {'floor': 2, 'verdict': 'pass'})
    rows[2]['rounds'] = [15, 16]
    expect('what is less does not', uroce_judge.judge_tcp(rows)[0].bounds()['verdict'] == 'FAIL')

    common = {'port': 'memif', 'kind': 'trip'}
    rows = [row('latency_p50', [2, 2], tool='uroce', test='write_lat', **common),
            row('latency_p50', [6, 8], tool='ucx', test='tag_lat', **common),
            row('latency_mean', [10, 10], tool='qperf', test='tcp_lat', **common)]
    ucx, qperf = uroce_judge.judge_tcp(rows)
    expect('of latency less is better', ucx.rounds == [3, 4] and ucx.bounds()['verdict'] == 'pass')
    expect('beside qperf nothing must be', qperf.rounds == [5, 5] and qperf.bounds() == {})

    line = next(line for line in uroce_judge.LINES['latency'])
    rows = [row('latency_p50', [1.2, 1.4], port='memif', run=line.left.name),
            row('latency_p50', [1.0, 1.0], port='memif', run=line.right.name)]
    judged = uroce_judge.judge_lines(rows)
    expect('a line is judged of its two runs', len(judged) == 1 and judged[0].rounds == [1.2, 1.4])
    expect('and at most what it may be', judged[0].bounds() == {'ceiling': 1.3, 'verdict': 'pass'})
    expect('without one of them it is not judged', uroce_judge.judge_lines(rows[:1]) == [])
    rows[1]['others_by_round'] = [0.01, 0.2]
    noisy, = uroce_judge.judge_lines(rows)
    expect('a round is as noisy as its noisier run', noisy.others == [0.01, 0.2])
    expect('a noisy round that decides: no verdict', noisy.bounds() == {'ceiling': 1.3, 'verdict': 'noisy'})
    suite.METRICS = uroce_suite.METRICS
    told = suite.measurement('must', judged[0].labels, 'ratio', judged[0].rounds, [0.01, 0],
                             judged[0].better()) | judged[0].bounds()
    expect('that less is better stands in the file', told['better'] == 'less')
    expect('the noise, too', told['others'] == 0.01 and told['others_by_round'] == [0.01, 0])
    lines = uroce_report.verdicts({'measurements': [told]})
    expect('the verdict is told', len(lines) == 1 and lines[0].startswith('pass  memif') and
           lines[0].endswith('must <= 130 %'))


def check_readme(folder):
    result = {'machine': {'name': 'vm', 'cpu': 'a CPU', 'cpus': 2, 'memory_bytes': 1 << 30,
                          'kernel': 'Linux'},
              'versions': {'uroce': 'abc', 'dpdk': '22', 'compiler': 'cc', 'ucx': ''},
              'began': 'now', 'hugepages_bytes': 0, 'seconds': 1,
              'parts': {'must': {'status': 'done', 'rounds': 7}}, 'measurements': []}
    path = os.path.join(folder, 'README.md')

    def rewritten(text):
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        uroce_readme.write(result, path)
        with open(path, encoding='utf-8') as file:
            return file.read()

    marked = rewritten(f'a\n{uroce_readme.BEGIN}\nold\n{uroce_readme.END}\nb\n')
    expect('between the marks stands what was measured',
           'old' not in marked and 'Machine `vm`' in marked and '(must 7)' in marked)
    expect('the rest is left', marked.startswith('a\n<!--') and marked.endswith('-->\nb\n'))
    expect('without marks all is left', rewritten('a\nold\n') == 'a\nold\n')


def main():
    suite = load('uroce-bench-all')
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'bench.json')
        check_failures(suite, path)
        check_resume(suite, path)
        check_noise(suite, path)
        check_readme(folder)
    check_judgement(suite)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
