# SPDX-License-Identifier: BSD-3-Clause
"""Runs commands in a guest, for relay.py on the host. This program is the first process of the guest.

Each command has a control connection, of which this side is the server. Three more connections to the host are the
stdin, stdout and stderr of the command, so nothing is copied here. On the control connection the host sends the TCP
port on which it waits for the others, a space, the command for sh, and a zero byte. After that each byte is a signal
for the command. The response is one byte: the exit status in the encoding of a shell. When the host closes the
connection, the command is killed. Processes that the command left are killed in any case.

The program is started by `python3 -I -S` on an emulated CPU: each imported module would make the start slower.
"""

import os
import select
import signal
import socket

PORT = 7
TO_DEFAULT = signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ    # signals that Python or this program ignores


def received(control):
    """The received bytes, at most a page; b'' if the host has closed the connection."""
    try:
        return control.recv(4096)
    except OSError:
        return b''


def spawn(host, request):
    """Start the process of `request`, in a session of its own."""
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
    """Run one command until its end."""
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
    os.killpg(process, signal.SIGKILL)    # before waitpid(), after which the number may be used again
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    control.send(bytes([status if status >= 0 else 128 - status]))


def main():
    listener = socket.socket()
    listener.bind(('', PORT))
    listener.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)    # so that ended children need no waitpid()
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
