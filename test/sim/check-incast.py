#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the effect of DCQCN. Runs `uroce-sim --scenario incast` and checks its rows.

    test/sim/check-incast.py UROCE_SIM
"""

import json
import subprocess
import sys

JAIN_MIN = 0.98
GOODPUT_MIN = 80    # Gb/s of 100
QUEUE_MAX = 500000  # bytes: Kmax, and what 64 senders put into the queue before they are notified of it


def main():
    run = subprocess.run([sys.argv[1], '--scenario', 'incast', '--json'], stdout=subprocess.PIPE,
                         check=True)
    steady = [row for row in json.loads(run.stdout)['rows']
              if row['cc'] == 'dcqcn' and row['phase'] == 'steady']
    checks = [
        ('rows', len(steady), len(steady) >= 10),
        ('least fairness', min(row['jain'] for row in steady),
         all(row['jain'] >= JAIN_MIN for row in steady)),
        ('least goodput', min(row['goodput_gbps'] for row in steady),
         all(row['goodput_gbps'] >= GOODPUT_MIN for row in steady)),
        ('longest queue', max(row['queue_peak_bytes'] for row in steady),
         all(row['queue_peak_bytes'] <= QUEUE_MAX for row in steady)),
        ('drops', sum(row['drops'] for row in steady), not any(row['drops'] for row in steady)),
    ]
    for what, value, is_good in checks:
        print(f'{what}: {value}{"" if is_good else ": not as promised"}')
    return 0 if all(is_good for _, _, is_good in checks) else 1


if __name__ == '__main__':
    sys.exit(main())
