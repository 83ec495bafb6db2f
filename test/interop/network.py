# SPDX-License-Identifier: BSD-3-Clause
"""The wire between two peers, in a network namespace that this process enters: two ports with badwire between them,
and a bridge for all traffic other than RoCE.
"""

import json
import os
import socket
import subprocess
import sys
import time

from uroce_ports import START_S, TOP, Lab, LabError

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'guest'))
from guest import own_network  # noqa: E402

BADWIRE = os.path.join(TOP, 'build/test/interop/badwire')
DATA_MTU = 4300
QUEUE_LEN = 10000    # frames that can wait for the reader of a tap: more than the windows of all QPs
ADDRESSES = '192.0.2.{0}/24', '2001:db8::{0}/64'    # addresses for documentation: RFC 5737, RFC 3849
CONTROL = 'ctl'    # name of the bridge


class NetworkError(LabError):
    """A part of the wire could not be made. The text gives the reason."""


class Network:
    """The network of a pair. The function that makes a port sets the interface from which badwire forwards."""

    def __init__(self):
        self.lab = Lab()
        self.ends = {}     # {number of the port: interface at the wire}
        self.wire = None

    def begin(self):
        own_network(self.lab, CONTROL)

    def ip(self, command):
        self.lab.run_in(None, 'ip ' + command)

    def addresses(self, number):
        return [address.format(number) for address in ADDRESSES]

    def address(self, number, is_ipv6):
        return ADDRESSES[is_ipv6].format(number).split('/')[0]

    def port(self, number):
        return f'roce{number}'

    def has(self, number):
        return number in self.ends

    def make_veth(self, number, mtu):
        """Make a port for a program of this machine. The kernel does not use the port."""
        port, end = self.port(number), f'wire{number}'
        self.ip(f'link add {port} numtxqueues 1 numrxqueues 1 type veth peer name {end} numtxqueues 1 numrxqueues 1')
        for name in port, end:
            self.quieten(name)
            self.ip(f'link set {name} mtu {mtu} arp off up')
            self.lab.run_in(None, f'ethtool -K {name} tx off tso off gso off gro off', is_optional=True)
        self.ends[number] = end

    def give_kernel(self, number):
        """Give the addresses of the port to the kernel."""
        self.ip(f'link set {self.port(number)} arp on')
        for address in self.addresses(number):
            self.ip(f'addr add {address} dev {self.port(number)}' + (' nodad' if ':' in address else ''))

    def make_tap(self, number):
        """Make a tap, which is both the port and the end of the wire: frames that a program writes come from it."""
        name = self.port(number)
        self.ip(f'tuntap add dev {name} mode tap multi_queue')
        self.quieten(name)
        self.ip(f'link set {name} mtu {DATA_MTU} txqueuelen {QUEUE_LEN} up')
        self.ends[number] = name

    def quieten(self, name):
        """Let the kernel use no IPv6 on an interface, and send nothing on it."""
        self.ip(f'link set {name} addrgenmode none')

    def drops(self):
        """Number of frames that the kernel has dropped at all interfaces, because a program or a CPU was late."""
        said = subprocess.run(['ip', '-json', '-statistics', 'link', 'show'], capture_output=True, text=True, check=False)
        if said.returncode != 0:
            raise NetworkError(f'ip: {said.stderr.strip()}')
        return sum(link['stats64'][way]['dropped'] for link in json.loads(said.stdout) for way in ('rx', 'tx'))

    def connect(self, seed):
        """Start badwire between the two ends."""
        self.wire = Badwire(self.lab, self.ends[1], self.ends[2], seed)

    def part(self):
        """Stop badwire before the ends are removed; it would report an error otherwise."""
        if self.wire:
            self.wire.quit()
            self.wire = None

    def close(self):
        self.lab.close()


class Badwire:
    """A badwire process, and its control socket. A direction is the number of the port that sends the frames."""

    def __init__(self, lab, first, second, seed):
        if not os.path.exists(BADWIRE):
            raise NetworkError(f'{BADWIRE} was not built: it needs libpcap-dev')
        path = lab.path('badwire')
        self.process = lab.start([BADWIRE, '--seed', str(seed), '--control', path, first, second],
                                 stdout=subprocess.DEVNULL)
        self.socket = socket.socket(socket.AF_UNIX)
        deadline = time.monotonic() + START_S
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise NetworkError(f'badwire does not answer: {error}') from error
                time.sleep(0.02)
        self.file = self.socket.makefile('rw')

    def ask(self, line):
        try:
            self.file.write(line + '\n')
            self.file.flush()
            said = self.file.readline().strip()
        except OSError as error:
            raise NetworkError(f'badwire: {line}: {error}') from error
        if said.startswith('error') or not said:
            raise NetworkError(f'badwire: {line}: {said or "it has ended"}')
        return said

    def quit(self):
        try:
            self.ask('quit')
            self.process.wait(START_S)
        except (LabError, subprocess.TimeoutExpired):
            pass    # the lab ends the process

    def rule(self, sender, opcodes, what, how_often):
        """Add a rule with a fault for the frames that port `sender` sends (0: both ports)."""
        direction = {0: 'both', 1: 'a>b', 2: 'b>a'}[sender]
        self.ask(f'rule {direction} {opcodes} {what} {how_often}')

    def clear(self):
        self.ask('clear')

    def capture(self, path):
        self.ask(f'pcap {path or "off"}')

    def stats(self):
        """{1: statistics of the frames that port 1 sends, 2: those of port 2}"""
        said = json.loads(self.ask('stats'))
        return {1: said['a>b'], 2: said['b>a']}
