# SPDX-License-Identifier: BSD-3-Clause
"""Runs commands in a guest, whose first process it is, for relay.py on the host.

Each command has a connection, of which this side is the server, and three more back to the host, which are its
stdin, stdout and stderr, so that nothing is copied here. The host sends on the first one the TCP port where it
waits for the others, a space, the command for sh, and a zero byte; then, one byte each, the signals for the command.
The answer is one byte, the exit status as a shell has it. When the host closes the connection, the command is
killed. What it left running is killed in any case.

It is started by `python3 -I -S` on an emulated CPU: each module that it imports costs a guest's user time.
"""

import os
import select
import signal
import socket

PORT = 7
TO_DEFAULT = signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ    # what Python or this ignores


def received(control):
    """What came, at most a page; b'' when the host is gone."""
    try:
        return control.recv(4096)
    except OSError:
        return b''


def spawn(host, request):
    """The process that `request` asks for, a session of its own."""
    port, command = request.split(b' ', 1)
    streams = []
    for _ in range(3):
        stream = socket.socket()
        stream.connect((host, int(port)))
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        streams.append(stream)
    return os.posix_spawn('/bin/sh', ['sh', '-c', command], os.environ, setsid=True, setsigdef=TO_DEFAULT,
                          file_actions=[(os.POSIX_SPAWN_DUP2, stream.fileno(), idx)
                                        for idx, stream in enumerate(streams)])


def serve(control, host):
    """Run one command to its end."""
    request = b''
    while not request.endswith(b'\0'):
        more = received(control)
        if not more:
            return
        request += more
    process = spawn(host, request[:-1])
    end = os.pidfd_open(process)
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(end, select.POLLIN)
    while end not in (fd for fd, _ in poll.poll()):
        numbers = received(control)
        for number in numbers or (signal.SIGKILL,):
            os.killpg(process, number)
        if not numbers:
            poll.unregister(control)
    os.killpg(process, signal.SIGKILL)    # before its number is given back
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    control.send(bytes([status if status >= 0 else 128 - status]))


def main():
    listener = socket.socket()
    listener.bind(('', PORT))
    listener.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)    # so that nobody has to wait for orphans and servers
    print('guest: ready', flush=True)
    while True:
        control, peer = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            serve(control, peer[0])
            os._exit(0)
        control.close()


main()
