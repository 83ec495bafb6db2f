# SPDX-License-Identifier: BSD-3-Clause
"""Represents a command in a guest by a process on the host. The command has the stdin, stdout and stderr of this
process. The process has the exit status of the command, and forwards signals.

    relay.py ADDRESS GUEST COMMAND

GUEST is a descriptor that becomes readable when the guest has ended. agent.py, the other side, describes the protocol.
When this process is killed, the command is killed.
"""

import os
import select
import signal
import socket
import sys
import threading

PORT = 7
TIMEOUT = 60    # time limit in seconds for a response of the agent
LOST = 255    # exit status if the guest has ended first
PASSED_ON = signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2


def end(status, why=None):
    if why:
        os.write(2, f'relay: {why}\n'.encode())
    os._exit(status)    # ends the process in spite of its threads


def watch(guest):
    poll = select.poll()
    poll.register(guest, select.POLLIN)
    poll.poll()
    end(LOST, 'the guest has ended')


def take_stdin(stream):
    try:
        while data := os.read(0, 1 << 16):
            stream.sendall(data)
        stream.shutdown(socket.SHUT_WR)
    except OSError:
        pass    # the command has closed its stdin


def give(stream, fd):
    try:
        while data := stream.recv(1 << 16):
            while data:
                data = data[os.write(fd, data):]
    except OSError:
        pass    # the reader has closed its end, and the command gets the error when it writes
    stream.close()


def start(function, *args):
    thread = threading.Thread(target=function, args=args, daemon=True)
    thread.start()
    return thread


def main():
    address, guest, command = sys.argv[1:]
    start(watch, int(guest))
    control = socket.create_connection((address, PORT))
    listener = socket.create_server((control.getsockname()[0], 0), backlog=3)
    listener.settimeout(TIMEOUT)
    control.sendall(f'{listener.getsockname()[1]} {command}\0'.encode())
    stdin, stdout, stderr = (listener.accept()[0] for _ in range(3))
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: control.send(bytes([number])))
    stdin.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    start(take_stdin, stdin)
    outputs = start(give, stdout, 1), start(give, stderr, 2)
    status = control.recv(1)
    for output in outputs:
        output.join()
    if not status:
        end(LOST, 'the agent in the guest has failed')
    end(status[0])


main()
