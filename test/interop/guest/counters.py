# SPDX-License-Identifier: BSD-3-Clause
"""Prints the counters of the first device of uroce that a process of this guest has, as JSON: {name: number}.

uroce-stat prints them, too, but on an emulated CPU its start takes seconds. This program is started by
`python3 -I -S`, and imports little. It prints {} if there is no device.
"""

import glob
import json
import socket

ROOM = 1024    # bytes of a response beside its value
PLACES = '/tmp/uroce-runtime-*', '/run'


def asked(telemetry, command, length):
    """The response to a command of DPDK's telemetry."""
    telemetry.send(command.encode())
    return json.loads(telemetry.recv(length))[command.split(',')[0]]


def counters_at(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as telemetry:
        telemetry.connect(path)
        length = json.loads(telemetry.recv(1024))['max_output_len'] + ROOM
        devices = asked(telemetry, '/uroce/devices', length)
        return asked(telemetry, f'/uroce/device,{devices[0]}', length)['counters'] if devices else {}


def main():
    found = {}
    for place in PLACES:
        for path in glob.glob(f'{place}/dpdk/*/dpdk_telemetry.v2*'):
            try:
                found = found or counters_at(path)
            except OSError:
                continue    # the process that had the socket has ended
    print(json.dumps(found))


main()
