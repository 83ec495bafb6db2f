# SPDX-License-Identifier: BSD-3-Clause
"""Programs that users run without uroce between the same two ends: messages of UCX over the
kernel's TCP (ucx_perftest), and TCP itself (qperf). Each end is one thread on a CPU of its own.
"""

import re
import shutil
import subprocess
import time

from uroce_bench import START_S, End
from uroce_ports import LabError, Side, Wire, free_port, stop

# names of Debian's packages
PACKAGES = {'ucx_perftest': 'ucx-utils', 'qperf': 'qperf'}
# UCX looks for interfaces in /sys, which shows those of the namespace in which it was mounted.
OWN_SYS = ['unshare', '--mount', 'sh', '-c', 'mount -t sysfs sysfs /sys && exec "$@"', 'sh']
# Columns of a line of ucx_perftest.
UCX_P50, UCX_BANDWIDTH, UCX_RATE = 1, 5, 7


def missing(program):
    """The reason why a program cannot run; None: it can."""
    if shutil.which(program):
        return None
    return f'no {program}: package {PACKAGES[program]}'


def loopback(_lab):
    """Run both ends in this namespace, over the loopback interface."""
    return Wire(Side('lo'), Side('lo'), '127.0.0.1')


def is_listening(process, port):
    """Whether a program listens on the port in the namespace of `process`."""
    for family in 'tcp', 'tcp6':
        try:
            with open(f'/proc/{process.pid}/net/{family}', encoding='ascii') as file:
                if re.search(rf':{port:04X} \S+ 0A ', file.read()):
                    return True
        except OSError:
            continue
    return False


def wait_for_port(end, port):
    deadline = time.monotonic() + START_S
    while not is_listening(end.process, port):
        if end.process.poll() is not None:
            end.fail(f'ended with status {end.process.returncode}')
        if time.monotonic() > deadline:
            end.fail(f'does not listen after {START_S} s')
        time.sleep(0.02)


def pair(lab, wire, port, server, client):
    """Run server and client. @return the client's output"""
    name = client[0]
    prefix = []
    if name == 'ucx_perftest':
        interface = 'roce0' if wire.server.keeper else 'lo'
        prefix = ['env', 'UCX_TLS=tcp,self', f'UCX_NET_DEVICES={interface}',
                  'UCX_WARN_UNUSED_ENV_VARS=n']
        prefix = (OWN_SYS if wire.server.keeper else []) + prefix
    waiting = End(lab, f'{name} (server)', wire.server, 0, prefix + server)
    wait_for_port(waiting, port)
    asking = End(lab, f'{name} (client)', wire.client, 1, prefix + client)
    asking.wait(START_S)
    stop(waiting.process)
    return asking.said()


def ucx_without_mpi():
    """
    Options with which an ucx_perftest that was built with MPI, as that of Debian 13, runs without
    MPI. Otherwise it waits for mpirun if its input is no terminal. A program that was built without
    MPI does not know these options.
    """
    said = subprocess.run(['ucx_perftest', '-h'], capture_output=True, text=True, check=False)
    return ['-P', '0'] if re.search(r'^\s+-P ', said.stdout + said.stderr, re.MULTILINE) else []


def ucx(lab, wire, test, size, iterations):
    """Run one test of ucx_perftest. @return {metric: value}"""
    port = free_port_of(wire)
    alone = ['ucx_perftest', *ucx_without_mpi(), '-p', str(port)]
    said = pair(lab, wire, port, alone,
                [*alone, wire.tcp, '-t', test, '-s', str(size), '-n', str(iterations), '-f'])
    lines = [line.split() for line in said.splitlines() if re.match(r'\s*\d+\s+[\d.]+\s', line)]
    if not lines or len(lines[-1]) <= UCX_RATE:
        raise LabError(f'ucx_perftest -t {test}: {(said.splitlines() or ["said nothing"])[-1]}')
    row = [float(word) for word in lines[-1]]
    if test.endswith('_lat'):
        return {'latency_p50': row[UCX_P50]}
    return {'message_rate': row[UCX_RATE], 'payload_rate': row[UCX_BANDWIDTH] * (1 << 20)}


def qperf(lab, wire, test, size, seconds):
    """Run one test of qperf. @return {metric: value}; of the latency it reports only the mean"""
    port = free_port_of(wire)
    said = pair(lab, wire, port, ['qperf', '-lp', str(port)],
                ['qperf', '-lp', str(port), wire.tcp, '-t', str(seconds), '-m', str(size), '-uu',
                 '-v', test])
    found = dict(re.findall(r'^\s*(bw|msg_rate|latency)\s*=\s*([\d.e+]+) ', said, re.MULTILINE))
    if test.endswith('_lat') and 'latency' in found:
        return {'latency_mean': float(found['latency']) / 1e3}    # ns to us
    if 'bw' in found:
        return {'message_rate': float(found['msg_rate']), 'payload_rate': float(found['bw'])}
    raise LabError(f'qperf {test}: {(said.splitlines() or ["said nothing"])[-1]}')


def free_port_of(wire):
    """A free port of the server's namespace. In a separate namespace every port is free."""
    return 13399 if wire.server.keeper else free_port()
