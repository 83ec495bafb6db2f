#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests programs that find free hugepages, which are gone when EAL counts them.

    test-hugepages-gone.py UROCE-PERF UROCE-DEVINFO

Each program runs in a mount namespace whose sysfs reports 1024 free hugepages. The file from which EAL learns which of
them are promised to others is not there, so EAL takes them for none. The hugepages of the NUMA nodes, which EAL counts
first, are hidden. Needs root.
"""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
import tap  # noqa: E402

PERF, DEVINFO = sys.argv[1:]
TIMEOUT_S = 300    # only a hang exceeds it
RUN = ('unshare', '--mount')
SYSFS = '/sys/kernel/mm/hugepages'
PREPARE = f'''
mount -t tmpfs tmpfs {SYSFS} && mkdir {SYSFS}/hugepages-2048kB && echo 1024 >{SYSFS}/hugepages-2048kB/free_hugepages
[ -z "$PROMISED" ] || echo "$PROMISED" >{SYSFS}/hugepages-2048kB/resv_hugepages
for node in /sys/devices/system/node/node*/hugepages; do
    [ ! -d $node ] || mount -t tmpfs tmpfs $node
done
exec "$@"
'''
LOOPBACK = ('--', '--loopback', 'write_bw', '-n', '100')
SAID = 'the hugepages that were free are not free any more: ordinary memory is used'


def run(*command, promised=''):
    """@return the exit status, and the output with its errors"""
    done = subprocess.run([*RUN, 'sh', '-c', PREPARE, 'sh', *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=TIMEOUT_S, check=False, env={**os.environ, 'PROMISED': promised})
    return done.returncode, done.stdout


def main():
    if os.geteuid() != 0 or subprocess.run([*RUN, 'mount', '-t', 'tmpfs', 'tmpfs', SYSFS], check=False).returncode != 0:
        print('1..0 # SKIP a mount namespace cannot be made here')
        return 0
    status, said = run(PERF, *LOOPBACK)
    tap.result(status == 0 and f'uroce-perf: {SAID}\n' in said and '#bytes' in said,
               'uroce-perf uses ordinary memory, and says so', said)
    status, said = run(DEVINFO, '--vdev=net_null0', '--', '--uroce=net_null0,addr=192.0.2.1/24')
    tap.result(status == 0 and f'uroce-devinfo: {SAID}\n' in said and 'uroce0' in said, 'so does uroce-devinfo', said)
    status, said = run(PERF, *LOOPBACK, promised='1024')
    tap.result(status == 0 and SAID not in said, 'hugepages that are promised to others are not free', said)
    status, said = run(PERF, '--in-memory', *LOOPBACK)
    tap.result(status == 1 and SAID not in said and 'EAL did not start' in said,
               'hugepages that the user asked for are not replaced', said)
    status, said = run(PERF, '-m', '1000000000', *LOOPBACK)
    tap.result(status == 1 and said.count(SAID) == 1 and said.count('EAL did not start') == 1,
               'a program that lacks ordinary memory, too, ends', said)
    return tap.end()


sys.exit(main())
