# SPDX-License-Identifier: BSD-3-Clause
"""TAP of a test program: result() prints the lines of a test, end() the plan."""

import sys

_results = []


def result(is_right, what, said=''):
    """Print the result of a test, and after a failure what a program has said."""
    _results.append(bool(is_right))
    print(f'{"ok" if is_right else "not ok"} {len(_results)} - {what}')
    if not is_right:
        print(''.join(f'# {line}\n' for line in said.splitlines()), end='')
    sys.stdout.flush()


def end():
    """Print the plan. @return the exit status"""
    print(f'1..{len(_results)}')
    return not all(_results)
