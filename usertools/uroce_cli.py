# SPDX-License-Identifier: BSD-3-Clause
"""The command lines of the tools. An error is one line and exit status 2, `--version` prints the
versions of uroce, DPDK and rdma-core, and the value of an option may begin with a dash.
"""

import argparse
import os
import signal
import sys

USAGE = 2    # exit status after a wrong command line
HERE = os.path.dirname(os.path.realpath(__file__))
# The build writes the versions to this file, which is installed beside this module.
VERSIONS = (os.path.join(HERE, 'versions'), os.path.join(HERE, '..', 'build', 'usertools', 'versions'))


def versions():
    """The versions of uroce, DPDK and rdma-core."""
    for path in VERSIONS:
        if os.path.exists(path):
            with open(path, encoding='ascii') as file:
                return file.read().strip()
    with open(os.path.join(HERE, '..', 'VERSION'), encoding='ascii') as file:
        return f'uroce {file.read().strip()}, not built'


class PrintVersions(argparse.Action):
    """The option --version."""

    def __call__(self, parser, namespace, values, option_string=None):
        print(f'{parser.prog}: {versions()}')
        parser.exit()


def run(main):
    """Run a tool's main function, and exit with its status. A reader that closes its pipe ends the
    tool without an error message, as it ends programs that do not ignore SIGPIPE.
    """
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 128 + signal.SIGPIPE
    sys.exit(status)


class Parser(argparse.ArgumentParser):
    """A parser of a tool's arguments.

    `dashed` names options whose value may begin with a dash, such as options for another program.
    argparse alone would take such a value for an option of this tool.
    """

    def __init__(self, *args, dashed=(), **kwargs):
        super().__init__(*args, **kwargs)
        self.dashed = dashed
        self.is_strict = False    # unknown options are refused
        self.add_argument('--version', action=PrintVersions, nargs=0, help='print the versions of uroce, DPDK and rdma-core')

    def error(self, message):
        print(f'{self.prog}: {message}; {self.prog} --help shows what is allowed', file=sys.stderr)
        sys.exit(USAGE)

    def is_operand(self, word):
        return not word.startswith('-') or word == '--'

    def has_value(self, word, rest):
        """Whether the next word is the value of this option."""
        action = self._option_string_actions.get(word)
        if not rest or action is None or action.nargs == 0:
            return False
        return action.nargs is None or '/' in rest[0]    # an optional value is a path

    def check_known(self, word):
        """Refuse an unknown option. argparse alone would first complain of an operand that lacks."""
        name = word.split('=')[0]
        if name.startswith('--') and not any(known.startswith(name) for known in self._option_string_actions):
            self.error(f'{word}: unknown option')

    def join_dashed(self, words):
        """Write `--option VALUE` as `--option=VALUE`, for the options of `dashed`. The words of a
        program that is to be run remain as they are.
        """
        has_program = any(action.nargs == argparse.REMAINDER for action in self._actions)
        joined, rest = [], list(words)
        while rest:
            word = rest.pop(0)
            if word == '--' or (has_program and self.is_operand(word)):
                return joined + [word] + rest
            if self.is_strict:
                self.check_known(word)
            if word in self.dashed and rest:
                word += '=' + rest.pop(0)
            elif self.has_value(word, rest):
                joined.append(word)
                word = rest.pop(0)
            joined.append(word)
        return joined

    def parse_args(self, args=None, namespace=None):
        self.is_strict = True
        return super().parse_args(args, namespace)

    def parse_known_args(self, args=None, namespace=None):
        return super().parse_known_args(self.join_dashed(sys.argv[1:] if args is None else args), namespace)
