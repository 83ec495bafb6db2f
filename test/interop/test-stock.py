#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests how stock.py starts a server and a client again. The programs, the peers and the wire are simulated: a server
accepts a number of connections and then ends, and refuses the requests that come before it listens. Prints TAP.
"""

import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), 'usertools')]
import stock  # noqa: E402
from ends import Failure  # noqa: E402

SERVER, CLIENT = ['server'], ['client']


class Wire:
    def capture(self, path):
        pass


class Answer:
    def __init__(self, status):
        self.name, self.fields = 'SIDR_REP', {'status': status}


class Program:
    """A simulated process. `status` is None until the program ends."""

    def __init__(self, nb_wanted=0):
        self.nb_wanted = nb_wanted
        self.status = None

    def poll(self):
        return self.status


class Scene(stock.StockScene):
    """`early` has a number for each client: how many of its requests come before the server listens. A client whose first
    request is not answered at all has the entry None. Each client makes `nb` requests, and fails if one is refused."""

    def __init__(self, nb, early):    # the constructor of the base class needs peers
        self.a, self.b = 'client', 'server'
        self.wire, self.path, self.found = Wire(), None, None
        self.nb, self.early = nb, list(early)
        self.nb_servers = self.nb_clients = 0
        self.server = None
        self.answers = []

    def start(self, peer, command, is_own=False):
        if command is SERVER:
            self.nb_servers += 1
            self.server = Program(self.nb)
            return self.server
        self.nb_clients += 1
        self.answers = []
        return Program()

    def finish(self, process, seconds):
        if process is self.server:
            return process.status
        early = self.early.pop(0) if self.early else 0
        if early is None:
            process.status = 1
            return 1
        accepted = min(self.nb - early, self.server.nb_wanted)
        self.server.nb_wanted -= accepted
        self.answers = [Answer(1)] * early + [Answer(0)] * accepted
        if accepted == self.nb:
            process.status = self.server.status = 0
        elif early > 0:
            process.status = 1
        return process.status    # None: a client that is not refused waits for its last answers

    def mads(self, name=None, sender=None):
        return self.answers

    def said(self, process):
        return ''


def run(nb, early):
    scene = Scene(nb, early)
    stopped = []
    stock.stop, before = stopped.append, stock.stop
    try:
        scene.pair(SERVER, CLIENT, 60, has_several_connections=nb > 1)
    finally:
        stock.stop = before
    return scene.nb_servers, scene.nb_clients


def test_at_once():
    """a client that is not refused runs once"""
    assert run(4, []) == (1, 1)


def test_refused():
    """after a client whose requests were all refused, a server of one connection is not started again"""
    assert run(1, [1, 1]) == (1, 3)


def test_partly_refused():
    """a server that has accepted some of the connections that it counts is started again"""
    assert run(4, [1]) == (2, 2)
    assert run(4, [3, 2]) == (3, 3)


def test_silent():
    """a server that has not answered is not started again"""
    assert run(4, [None, None]) == (1, 3)


def main():
    tests = [test for name, test in globals().items() if name.startswith('test_')]
    print(f'TAP version 13\n1..{len(tests)}', flush=True)
    failed = 0
    for number, test in enumerate(tests, 1):
        try:
            test()
            print(f'ok {number} - {test.__doc__}', flush=True)
        except (AssertionError, Failure) as error:
            failed += 1
            print(f'not ok {number} - {test.__doc__}\n# {error}', flush=True)
    return int(failed > 0)


sys.exit(main())
