# SPDX-License-Identifier: BSD-3-Clause
"""The processes that a test has left running. The number of a network namespace does not identify it: the kernel
gives the number of a removed namespace to the next one, which may belong to another program.
"""

import ctypes
import glob
import os

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """Become the parent of each descendant whose own parent ends, so that find_children() sees it."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), 'this process cannot adopt orphans')


def find_children():
    """The running children of this process: 'PID NAME' of each. A process that has ended does not count."""
    found = []
    for path in glob.glob('/proc/[0-9]*/stat'):
        try:
            with open(path, encoding='utf-8', errors='replace') as file:
                head, tail = file.read().rsplit(')', 1)
        except OSError:
            continue
        state, parent = tail.split()[:2]
        if int(parent) == os.getpid() and state not in 'ZX':
            found.append(head.replace('(', ''))
    return found
