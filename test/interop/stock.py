# SPDX-License-Identifier: BSD-3-Clause
"""Support for scenarios with stock programs of rdmacm-utils and perftest: a server at the peer `b`, a client at `a`."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import connections
from ends import Skip, expect
from uroce_ports import stop

LISTEN = '0A'      # state of a TCP socket in /proc/net/tcp
NO_LISTENER = 8    # reason of a REJ [IBA 12.6.7.2]; a service that is resolved has status 1 instead
CRASHED = -signal.SIGSEGV, 128 + signal.SIGSEGV    # status of a program of this machine, of one in a guest


def package_of(program):
    return 'perftest' if program.startswith('ib_') else 'rdmacm-utils'


def threads_of(pid):
    """What each thread of a process does: its stack, or its name and the function of the kernel in which it waits."""
    if shutil.which('gdb'):
        command = ['gdb', '--pid', str(pid), '--batch', '--ex', 'thread apply all backtrace 12']
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout
    said = ''
    with contextlib.suppress(OSError):    # the process may end meanwhile
        for task in sorted(os.listdir(f'/proc/{pid}/task')):
            for name in 'comm', 'wchan':
                with open(f'/proc/{pid}/task/{task}/{name}', encoding='ascii') as file:
                    said += file.read().strip() + ' '
            said += '\n'
    return said


class StockScene(connections.ConnectionScene):
    def __init__(self, *words):
        super().__init__(*words)
        self.logs = {}

    def open(self):
        pass

    def start(self, peer, command, is_own=False):
        """Start a program on a peer, which is a list of words. Its output is in self.logs. A program of uroce's own uses
        DPDK itself, and not through libibverbs."""
        if not shutil.which(command[0]):    # the guest has the programs of this machine
            raise Skip(f'{command[0]} is not installed: it is in {package_of(command[0])}')
        log = tempfile.TemporaryFile('w+')
        process = (peer.spawn if is_own else peer.run)(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.logs[process] = log, peer, command
        return process

    def said(self, process):
        log = self.logs[process][0]
        log.seek(0)
        return log.read()

    def finish(self, process, seconds):
        """Wait for the end of a program. @return its status; None: it did not end"""
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            if seconds > 0:
                self.log_threads(process)
        return process.poll()

    def log_threads(self, process):
        """Add to the log of each program that still runs what its threads do."""
        for other, (log, _, command) in self.logs.items():
            if other.poll() is None:
                log.seek(0, os.SEEK_END)
                log.write(f'\n{command[0]} did not end. Its threads:\n{threads_of(other.pid)}\n')
                log.flush()

    def await_line(self, process, pattern, seconds):
        """Wait until a program has printed a line that matches, or has ended."""
        self.await_that(lambda: process.poll() is not None or re.search(pattern, self.said(process)), seconds, pattern)

    def await_tcp(self, peer, port, seconds):
        """Wait until a program of a peer listens at a port of the kernel's TCP."""
        listens = re.compile(rf':{port:04X} \S+ {LISTEN} ')
        self.await_that(lambda: listens.search(peer.kernel_file('/proc/net/tcp') + peer.kernel_file('/proc/net/tcp6')),
                        seconds, f'a listener at TCP port {port}')

    def await_that(self, is_so, seconds, what):
        deadline = time.monotonic() + seconds
        while not is_so():
            expect(time.monotonic() < deadline, f'{what}: not within {seconds} s')
            time.sleep(0.1)

    def is_refused(self, status):
        """Whether the client of the last capture found no listener. A host whose program has not opened its device yet
        does not answer at all."""
        if status != 0 and not self.mads(sender=self.b):
            return True
        return any(mad.name == 'REJ' and mad.fields.get('reason') == NO_LISTENER or
                   mad.name == 'SIDR_REP' and mad.fields.get('status') == 1 for mad in self.mads(sender=self.b))

    def pair(self, server, client, seconds, is_endless=False, has_several_connections=False, crashes=0, well=(0,)):
        """Run a server and a client. Both must end with a status that is well, but for a server that is endless. An
        endless server is stopped. If the server does not listen yet, the client is started again. A server that counts
        several connections is started again with it, if the server has answered: it may have accepted those requests of
        the client that came after it listened, and would not take as many as the new client has. So is a server that is
        known to crash, up to `crashes` times."""
        serving = self.start(self.b, server)
        deadline = time.monotonic() + seconds
        while True:
            calling = self.start(self.a, client)
            status = self.finish(calling, max(0, deadline - time.monotonic()))
            has_crashed = crashes > 0 and serving.poll() in CRASHED
            # Some clients end with status 0 although they were refused.
            if not has_crashed and (status is None or serving.poll() is not None or not self.is_refused(status)):
                break
            if has_crashed:
                crashes -= 1
                deadline = time.monotonic() + seconds
            has_answered = bool(self.mads(sender=self.b))
            self.wire.capture(None)
            self.found = None
            self.wire.capture(self.path)
            if has_crashed or (has_several_connections and has_answered):
                stop(serving)
                serving = self.start(self.b, server)
            time.sleep(0.2)
        ended = self.finish(serving, 0 if is_endless else max(5, deadline - time.monotonic()))
        expect(ended is None if is_endless else ended in well, self.how(serving, calling))
        expect(status in well, self.how(serving, calling))
        if is_endless:
            stop(serving)
        return self.said(serving), self.said(calling)

    def how(self, serving, calling):
        return f'server and client ended with ({serving.poll()}, {calling.poll()}): ' + \
            ' | '.join(self.said(process).strip()[-200:] for process in (serving, calling))

    def close(self):
        for process, (log, peer, command) in self.logs.items():
            peer.log.write(f'{command}: status {process.poll()}\n{self.said(process)}\n')
            peer.log.flush()
            stop(process)
            log.close()
