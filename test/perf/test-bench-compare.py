#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests whether bench-compare distinguishes a change from noise. The files have known results.

    test-bench-compare.py BENCH-COMPARE
"""

import json
import os
import subprocess
import sys
import tempfile

RATE, LATENCY = 'tcp/memif/uroce/write_bw/size=64/message_rate', 'latency/memif/latency_p50'

failed = 0


def expect(what, is_right):
    global failed
    print(f"{'ok' if is_right else 'FAIL'}    {what}")
    failed += not is_right


def measurement(name, rounds, better='more', **more):
    return {'name': name, 'unit': '', 'better': better, 'rounds': rounds, 'others': 0.0} | more


def result(*measurements, **more):
    return {'schema': 'uroce-bench-1', 'machine': {'name': 'vm'}, 'seconds': 1,
            'is_quick': False, 'measurements': list(measurements)} | more


def compare(program, old, new, *flags):
    """@return the exit status and the output"""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, content in ('old.json', old), ('new.json', new):
            paths.append(os.path.join(folder, name))
            with open(paths[-1], 'w', encoding='utf-8') as file:
                file.write(content if isinstance(content, str) else json.dumps(content))
        done = subprocess.run([program, *paths, *flags], capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stdout + done.stderr


def check_directions(program):
    old = result(measurement(RATE, [100, 101, 99, 100, 100, 102, 98]),
                 measurement(LATENCY, [10.0, 10.1, 9.9, 10.0, 10.0], 'less'))
    code, said = compare(program, old, old)
    expect('the same file is neither slower nor faster', code == 0 and '0 slower, 0 faster' in said)

    new = result(measurement(RATE, [80, 81, 79, 80, 80, 81, 80]), old['measurements'][1])
    code, said = compare(program, old, new)
    expect('a rate that fell by a fifth is slower', code == 1 and '1 slower' in said and RATE in said)
    code, said = compare(program, new, old)
    expect('one that rose is faster, which is no failure', code == 0 and '1 faster' in said)

    new = result(old['measurements'][0], measurement(LATENCY, [12.0, 12.1, 11.9], 'less'))
    code, said = compare(program, old, new)
    expect('a latency that rose is slower', code == 1 and '-20.0 %' in said and LATENCY in said)
    code, said = compare(program, new, old)
    expect('a latency that fell is faster', code == 0 and '1 faster' in said)


def check_noise(program):
    steady = [100, 100, 100, 100, 100]
    old = result(measurement(RATE, steady))

    def after(rounds, *flags, **more):
        return compare(program, old, result(measurement(RATE, rounds, **more)), *flags)

    expect('exactly the threshold is no change', after([97] * 5)[0] == 0)
    expect('beyond it is one', after([96.9] * 5)[0] == 1)
    expect('--threshold 10 lets it pass', after([96.9] * 5, '--threshold', '10')[0] == 0)
    expect('--threshold 0 makes anything a change', after([99.9] * 5, '--threshold', '0')[0] == 1)
    expect('within the spread of the rounds is no change', after([82, 86, 92, 98, 102])[0] == 0)
    expect('nor within the spread of the old ones',
           compare(program, result(measurement(RATE, [82, 86, 92, 98, 102])),
                   result(measurement(RATE, [86] * 5)))[0] == 0)
    expect('one round that was disturbed hides nothing', after([90, 90, 90, 90, 20])[0] == 1)
    expect('of few rounds all count', after([90, 90, 104])[0] == 0)
    code, said = after([50] * 5, others=0.2)
    expect('what others disturbed is told, not judged', code == 0 and '1 disturbed' in said)
    code, said = after(steady, others=0.2)
    expect('also if it did not change', code == 0 and RATE in said and '1 disturbed' in said and '0 same' in said and
           'no verdict on 1 of 1, because other processes' in said)
    code, said = after([100])
    expect('nor is what has one round', code == 0 and '1 one round' in said and 'no verdict on 1 of 1, which have one' in said)
    code, said = after([99] * 5, '--all')
    expect('--all shows what is the same', code == 0 and RATE in said)


def check_machine(program):
    ours = [100, 101, 99, 100]

    def made(rounds, limit, ratio):
        return result(measurement(RATE, rounds),
                      measurement('limit', limit, labels={'tool': 'limit'}),
                      measurement('ping', limit, labels={'run': 'limit ping -s8'}),
                      measurement('ratio', ratio, metric='ratio'))

    old = made(ours, [200] * 4, [0.5] * 4)
    code, said = compare(program, old, made([90] * 4, [180] * 4, [0.5] * 4))
    expect('a machine that is slower makes nothing of ours slower',
           code == 0 and '0 slower' in said and '2 not ours' in said and '-10.0 %, the median' in said)
    expect('but for what is slower still',
           compare(program, old, made([80] * 4, [180] * 4, [0.5] * 4))[0] == 1)
    expect('and for ratios', compare(program, old, made([90] * 4, [180] * 4, [0.45] * 4))[0] == 1)
    code, said = compare(program, old, made(ours, [100] * 4, [0.5] * 4))
    expect('what is not ours is not judged', code == 0 and '0 slower' in said)
    code, said = compare(program, old, made([50], [200] * 4, [0.5] * 4))
    expect('of one round no noise is known', code == 0 and '1 one round' in said)


def check_origin(program):
    plain = result(measurement(RATE, [100] * 5))
    old = plain | {'versions': {'uroce': 'a' * 40}, 'began': '2026-11-22T00:47:21Z'}
    new = plain | {'versions': {'uroce': 'b' * 40 + '-dirty'}}
    lines = compare(program, old, new)[1].splitlines()
    expect('the commits are named', 'old.json: commit aaaaaaaaaaaa, measured 2026-11-22T00:47:21Z' in lines[0] and
           'new.json: commit bbbbbbbbbbbb, with changes that are not committed, ' in lines[1])
    expect('or that they are not known', 'new.json: of no known commit' in compare(program, old, plain)[1])


def check_differences(program):
    old = result(measurement(RATE, [100]), measurement('gone', [1]))
    new = result(measurement(RATE, [100]), measurement('new', [1]), measurement('newer', [1]))
    code, said = compare(program, old, new)
    expect('what one file alone has is counted',
           code == 0 and '1 only in' in said and '2 only in' in said)
    code, said = compare(program, old, new | {'machine': {'name': 'other'}})
    expect('another machine is warned of', code == 0 and 'machine differs' in said)
    zero = result(measurement(RATE, [0]))
    expect('nothing is not slower than nothing', compare(program, zero, zero)[0] == 0)
    expect('something is better than nothing', compare(program, zero, old)[0] == 0)


def check_wrong(program):
    good = result(measurement(RATE, [100]))
    for what, bad in (
            ('no JSON', 'x'), ('no object', '[]'), ('another schema', {'schema': 'uroce-bench-0'}),
            ('no measurements', {'schema': 'uroce-bench-1'}),
            ('a measurement without rounds', result({'name': RATE, 'better': 'more'})),
            ('rounds that are empty', result(measurement(RATE, []))),
            ('rounds that are no numbers', result(measurement(RATE, ['fast']))),
            ('another direction', result(measurement(RATE, [1], 'sideways'))),
            ('nothing in common', result(measurement('else', [1])))):
        code, said = compare(program, good, bad)
        expect(f'{what} is refused in one line',
               code == 2 and said.startswith('bench-compare: ') and said.count('\n') == 1)
    done = subprocess.run([program, '/nonexistent', '/nonexistent'], capture_output=True, text=True,
                          check=False)
    expect('a file that is not there is refused',
           done.returncode == 2 and '/nonexistent' in done.stderr)
    expect('so is a threshold of 100', compare(program, good, good, '--threshold', '100')[0] == 2)


def main():
    program = os.path.abspath(sys.argv[1])
    check_directions(program)
    check_noise(program)
    check_machine(program)
    check_origin(program)
    check_differences(program)
    check_wrong(program)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
