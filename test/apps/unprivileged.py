# SPDX-License-Identifier: BSD-3-Clause
"""Processes without any privilege, for the tests of the port `udp`. If root runs a test, they have user 65534, no
capability, an empty bounding set, and cannot gain privileges. They are in a network namespace of the test. Another
user's processes have the rights of this user.
"""

import os
import shutil
import sys

from uroce_ports import Lab, LabError, inside

NOBODY = 65534
UNPRIVILEGED = ['setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups', '--bounding-set=-all',
                '--inh-caps=-all', '--no-new-privs']
# A busy CPU may not run the other process for seconds, and the default of 67 ms for 8 times is too short for that.
PATIENCE = ['-u', '18']
# The lcore may use all CPUs: on a busy machine a thread that is bound to one CPU may not run for a minute.
LCORES = f'--lcores=0@({",".join(map(str, sorted(os.sched_getaffinity(0))))})'
EAL = [LCORES, '--no-pci', '--no-huge', '-m', '256', '--no-shconf', '--no-telemetry', '--log-level=*:error']
IPV6 = '2001:db8::1', '2001:db8::2'    # addresses of the loopback interface of the namespace


def skip(why):
    """End a test before its first result, with the reason."""
    print(f'1..0 # SKIP {why}')
    sys.exit(0)


def make_namespace(lab):
    """A namespace with two addresses of IPv6, if root runs the test."""
    if os.geteuid() != 0:
        return None
    keeper = lab.namespace()
    for address in IPV6:
        lab.run_in(keeper, f'ip addr add {address}/128 dev lo')
    return keeper


def open_lab():
    """@return the lab; the process that keeps the namespace, or None; and the words before an unprivileged command"""
    lab = Lab()
    try:
        keeper = make_namespace(lab)
    except LabError as error:
        skip(error)
    if keeper and not shutil.which('setpriv'):
        lab.close()
        skip('setpriv is not installed')
    return lab, keeper, inside(keeper) + (UNPRIVILEGED if keeper else [])
