# SPDX-License-Identifier: BSD-3-Clause
"""The monitor of a guest's qemu (QMP), which changes the devices of a machine while it runs."""

import json
import socket
import time

from uroce_ports import START_S, LabError


class Monitor:
    """A connection to the socket at `path`, on which qemu listens soon."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(START_S)
        deadline = time.monotonic() + START_S
        while self.socket.connect_ex(path) != 0:
            if time.monotonic() > deadline:
                self.socket.close()
                raise LabError(f'qemu does not listen at {path}')
            time.sleep(0.02)
        self.file = self.socket.makefile('rw', encoding='utf-8')
        self.read()    # the greeting
        self.do('qmp_capabilities')

    def read(self):
        line = self.file.readline()
        if not line:
            raise LabError('qemu has ended')
        return json.loads(line)

    def do(self, command, **arguments):
        """Do a command. Events before its response are dropped."""
        self.file.write(json.dumps({'execute': command, 'arguments': arguments}) + '\n')
        self.file.flush()
        while True:
            said = self.read()
            if 'error' in said:
                raise LabError(f'qemu: {command}: {said["error"]["desc"]}')
            if 'return' in said:
                return said['return']

    def close(self):
        self.file.close()
        self.socket.close()
