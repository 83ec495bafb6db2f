#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what a process of a container may do, as JSON. It runs in the container, and tries each thing."""

import ctypes
import errno
import json
import os
import resource
import socket
import sys

CLONE_NEWUSER = 0x10000000
SIGCHLD = 17
# Calls of the kernel, with arguments for which the kernel has another error than EPERM, or none.
CALLS = {
    'clone3': (435, 0, 0), 'io_uring_setup': (425, 1, 0), 'mbind': (237, 0, 0, 0, 0, 0, 0),
    'get_mempolicy': (239, 0, 0, 0, 0, 0), 'keyctl': (250, 0, 0), 'perf_event_open': (298, 0, 0, 0, 0, 0),
    'unshare': (272, CLONE_NEWUSER), 'clone': (56, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), 'personality': (135, 0x40000),
} if os.uname().machine == 'x86_64' else {}
STATUS = 'Uid', 'Gid', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp'
PLACES = '/', '/usr', '/usr/local', '/etc', '/proc/sys', '/sys', '/sys/class/net', '/dev', '/tmp', '/dev/shm'


def status():
    with open('/proc/self/status', encoding='ascii') as file:
        lines = dict(line.strip().split(':', 1) for line in file)
    return {name: lines[name].split()[-1] for name in STATUS}


def call(arguments):
    """The error of a call, by name."""
    libc = ctypes.CDLL(None, use_errno=True)
    ret = libc.syscall(*arguments)
    if ret == 0 and arguments == CALLS['clone']:
        sys.stdout.flush()
        os._exit(0)    # the child
    if ret >= 0:
        return 'done'
    return errno.errorcode[ctypes.get_errno()]


def is_writable(place):
    path = os.path.join(place, 'probe')
    try:
        open(path, 'x').close()
        os.unlink(path)
        return True
    except OSError:
        return False


def vsock():
    try:
        socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
        return 'done'
    except OSError as error:
        return errno.errorcode[error.errno]


print(json.dumps({
    'status': status(), 'calls': {name: call(arguments) for name, arguments in CALLS.items()}, 'vsock': vsock(),
    'writable': [place for place in PLACES if is_writable(place)],
    'memlock': resource.getrlimit(resource.RLIMIT_MEMLOCK),
    'kcore': os.path.exists('/proc/kcore') and os.stat('/proc/kcore').st_size,
    'shm': os.statvfs('/dev/shm').f_blocks * os.statvfs('/dev/shm').f_frsize,
}))
