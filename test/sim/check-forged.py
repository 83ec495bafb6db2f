#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the goodput of a stream while forged frames arrive. Runs `uroce-sim --scenario forged` and checks its rows.

    test/sim/check-forged.py UROCE_SIM
"""

import json
import subprocess
import sys

# minimum goodput during each attack, in Gb/s, of 100 Gb/s
LEFT = {
    'none': 98,
    '14 CNPs at once': 97,
    'CNPs, 1000/s': 95,
    'CNPs, 20000/s': 0.3,
    'CNPs, 1000000/s': 0.2,
    'NAKs of the oldest PSN, 1000/s': 97,
    'NAKs of the oldest PSN, 1000000/s': 94,
    'NAKs of any PSN, 1000/s': 97,
    'NAKs of any PSN, 1000000/s': 94,
    'RNR NAKs, 1000/s': 95,
    'RNR NAKs, 1000000/s': 95,
    'WRITEs ahead, 1000/s': 97,
    'WRITEs ahead, 1000000/s': 95,
    'WRITEs of any PSN, 1000/s': 97,
    'WRITEs of any PSN, 1000000/s': 95,
}


def main():
    run = subprocess.run([sys.argv[1], '--scenario', 'forged', '--json'], stdout=subprocess.PIPE,
                         check=True)
    rows = {row['attack']: row for row in json.loads(run.stdout)['rows']}
    is_good = set(rows) == set(LEFT)
    for attack, row in rows.items():
        is_enough = row['goodput_gbps'] >= LEFT.get(attack, 0) and row['state'] == 3
        is_good = is_good and is_enough
        print(f'{attack}: {row["goodput_gbps"]} Gb/s{"" if is_enough else ": not as promised"}')
    return 0 if is_good else 1


if __name__ == '__main__':
    sys.exit(main())
