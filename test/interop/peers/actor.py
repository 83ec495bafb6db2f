# SPDX-License-Identifier: BSD-3-Clause
"""A peer with verbs: the program `actor` executes its operations, on the host or in a guest."""

import json
import os
import select
import time

from peers import Peer, PeerError

PROGRAMS = 'build/test/interop'
PATIENCE = 90    # time limit in seconds for a response, in addition to the timeout of the operation itself


class ActorPeer(Peer):
    """start() sets self.process, which has the actor's standard input and output as pipes."""

    words = frozenset(['RC', 'UC', 'UD', 'ipv6', 'SRQ', 'WINDOW', 'MULTICAST', 'ATOMIC', 'IMM', 'INV', 'SOLICITED', 'stock'])
    process = None
    program = 'actor'    # name of the program that executes the operations; None: none
    device = None    # name of the device; None: the first

    def call(self, operation, **words):
        self.send(operation, **words)
        return self.answer(int(words.get('ms', 0)) / 1000)

    def send(self, operation, **words):
        """Send an operation: the first half of call()."""
        line = ' '.join([operation, *[f'{key}={value}' for key, value in words.items() if value is not None]])
        self.log.write(f'{time.monotonic():.3f} > {line}\n')
        try:
            self.process.stdin.write(line.encode() + b'\n')
            self.process.stdin.flush()
        except (OSError, ValueError) as error:
            raise PeerError(f'{self.name}: {operation}: the actor has ended: {error}') from error

    def answer(self, seconds=0):
        line = self.read_line(PATIENCE + seconds)
        self.log.write(f'{time.monotonic():.3f} < {line}\n')
        self.log.flush()
        try:
            said = json.loads(line)
        except json.JSONDecodeError as error:
            raise PeerError(f'{self.name}: the actor said {line!r}') from error
        if 'error' in said:
            raise PeerError(f'{self.name}: {said["error"]}')
        return said

    def read_line(self, seconds):
        deadline = time.monotonic() + seconds
        fd = self.process.stdout.fileno()
        while b'\n' not in self.unread:
            ready, _, _ = select.select([fd], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise PeerError(f'{self.name}: no answer after {seconds:.0f} s')
            came = os.read(fd, 65536)
            if not came:
                raise PeerError(f'{self.name}: the actor has ended')
            self.unread += came
        line, self.unread = self.unread.split(b'\n', 1)
        return line.decode()

    def path(self):
        """The path of the program, from the root of the tree."""
        return os.path.join(PROGRAMS, self.program)

    def use(self, program):
        is_there = self.process is not None and self.process.poll() is None
        if program == self.program and is_there == (program is not None):
            return
        self.end()
        self.program = program
        if program:
            self.begin_program()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def begin_program(self):
        """Start the program, and call begin()."""
        raise NotImplementedError

    def begin(self, process):
        self.process = process
        self.unread = b''

    def end(self):
        if not self.process:
            return
        try:
            self.process.stdin.write(b'quit\n')
            self.process.stdin.close()
        except (OSError, ValueError):
            pass
        self.finish()
        self.process = None

    def finish(self):
        """Wait for the end of the process, which has been told to end."""
        raise NotImplementedError
