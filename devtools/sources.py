# SPDX-License-Identifier: BSD-3-Clause
"""Input of the checks: the tracked files, and C text without comments and strings."""

import os
import re
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_COMMENT_OR_LITERAL = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def tracked(*patterns):
    """Paths, relative to the top folder, of the tracked files that exist."""
    out = subprocess.run(['git', 'ls-files', '-z', '--', *patterns], cwd=TOP, check=True,
                         capture_output=True, text=True).stdout
    return [path for path in out.split('\0')
            if path and os.path.isfile(os.path.join(TOP, path))]


def text(path):
    with open(os.path.join(TOP, path), encoding='utf-8', errors='replace') as file:
        return file.read()


def code(path):
    """Text of a C file in which comments and literals are blank. Line numbers do not change."""
    def blank(match):
        literal = match.group(0)
        keep = literal[0] if literal[0] in '"\'' else ' '
        return keep + '\n' * literal.count('\n') + (keep if keep != ' ' else '')

    return _COMMENT_OR_LITERAL.sub(blank, text(path))
