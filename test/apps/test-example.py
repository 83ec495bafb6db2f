#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs an example, or the tutorial, as two processes over memif, without hugepages.

Both processes must end with status 0 and print something.

    test-example.py USERTOOLS PROGRAM [KEYS of the device [-R]]

With -R, rdma_cm connects them, so the client gets the address of the server's device.
"""

import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from uroce_ports import DEVICE_IPV4, Lab, LabError, cpu_of, memif  # noqa: E402

LIMIT_S = 590   # time limit of a run, which only a hang exceeds: 65,536 QPs under a sanitizer take minutes
MEMORY = '--no-huge -m 192 --no-shconf --no-telemetry --log-level=*:error --log-level=roce.*:warning'
WAITING = 'waiting for a client'


def command_of(program, keys, wire, side, words):
    device = f'{side.device},{keys}' if keys else side.device
    return [program, *MEMORY.split(), *side.eal, '--', f'--uroce={device}', f'--port={wire.port}',
            *words]


def run(lab, program, keys, flags):
    """@return the exit statuses"""
    wire = memif(lab)
    server = lab.start(command_of(program, keys, wire, wire.server, flags), cpu_of(0), text=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    for line in server.stdout:
        print('server:', line, end='', flush=True)
        if WAITING in line:
            break
    address = DEVICE_IPV4 if flags else wire.tcp
    client = lab.start(command_of(program, keys, wire, wire.client, [*flags, address]), cpu_of(1),
                       text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    said = {'client': client.communicate(timeout=LIMIT_S)[0],
            'server': server.communicate(timeout=LIMIT_S)[0]}
    for side, text in said.items():
        for line in text.splitlines():
            print(f'{side}: {line}')
    return client.returncode, server.returncode, all(said.values())


def main():
    program, keys = sys.argv[2], (sys.argv[3:] or [''])[0]
    flags = sys.argv[4:]
    lab = Lab()
    try:
        client, server, is_said = run(lab, program, keys, flags)
    except (LabError, subprocess.TimeoutExpired) as error:
        print(f'test-example: {error}')
        return 1
    finally:
        lab.close()
    if client or server or not is_said:
        print(f'test-example: the client ends with {client}, the server with {server}')
        return 1
    return 0


sys.exit(main())
