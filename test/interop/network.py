# SPDX-License-Identifier: BSD-3-Clause
"""The wire between two peers, in a network namespace of this process from here on: two ports, and badwire between
them; a bridge beside it for whatever is not RoCE.
"""

import json
import os
import socket
import subprocess
import sys
import time

from uroce_ports import TOP, Lab, LabError

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'guest'))
from guest import own_network  # noqa: E402

BADWIRE = os.path.join(TOP, 'build/test/interop/badwire')
DATA_MTU = 4300
QUEUE_LEN = 10000    # frames that wait for a program which reads a tap: more than the windows of all QPs
ADDRESSES = '192.0.2.{0}/24', '2001:db8::{0}/64'    # documentation: RFC 5737, RFC 3849
CONTROL = 'ctl'    # the bridge


class NetworkError(LabError):
    """What of the wire could not be made, and why."""


class Network:
    """Who makes a port says which interface badwire forwards from (the wire's end of it)."""

    def __init__(self):
        self.lab = Lab()
        self.ends = {}     # by number of the port: the interface at the wire
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
        """A port for a program of this machine. The kernel is to keep away from it."""
        port, end = self.port(number), f'wire{number}'
        self.ip(f'link add {port} numtxqueues 1 numrxqueues 1 type veth peer name {end} numtxqueues 1 numrxqueues 1')
        for name in port, end:
            self.quieten(name)
            self.ip(f'link set {name} mtu {mtu} arp off up')
            self.lab.run_in(None, f'ethtool -K {name} tx off tso off gso off gro off', is_optional=True)
        self.ends[number] = end

    def give_kernel(self, number):
        """The port's addresses are to be the kernel's."""
        self.ip(f'link set {self.port(number)} arp on')
        for address in self.addresses(number):
            self.ip(f'addr add {address} dev {self.port(number)}' + (' nodad' if ':' in address else ''))

    def make_tap(self, number):
        """A port that is the wire's end, too: what a program writes comes from it."""
        name = self.port(number)
        self.ip(f'tuntap add dev {name} mode tap multi_queue')
        self.quieten(name)
        self.ip(f'link set {name} mtu {DATA_MTU} txqueuelen {QUEUE_LEN} up')
        self.ends[number] = name

    def quieten(self, name):
        """No IPv6 of the kernel's on an interface, nor what that would say."""
        self.ip(f'link set {name} addrgenmode none')

    def drops(self):
        """Frames that the kernel dropped so far at all interfaces, because a program or a CPU was late."""
        said = subprocess.run(['ip', '-json', '-statistics', 'link', 'show'], capture_output=True, text=True, check=False)
        if said.returncode != 0:
            raise NetworkError(f'ip: {said.stderr.strip()}')
        return sum(link['stats64'][way]['dropped'] for link in json.loads(said.stdout) for way in ('rx', 'tx'))

    def connect(self, seed):
        """Put badwire between the two ends."""
        self.wire = Badwire(self.lab, self.ends[1], self.ends[2], seed)

    def part(self):
        """The ends go away: badwire first, which would complain."""
        if self.wire:
            self.wire.quit()
            self.wire = None

    def close(self):
        self.lab.close()


class Badwire:
    """The forwarder, by its control socket. Directions are by the number of the port that a frame comes from."""

    def __init__(self, lab, first, second, seed):
        if not os.path.exists(BADWIRE):
            raise NetworkError(f'{BADWIRE} was not built: it needs libpcap-dev')
        path = lab.path('badwire')
        self.process = lab.start([BADWIRE, '--seed', str(seed), '--control', path, first, second],
                                 stdout=subprocess.DEVNULL)
        self.socket = socket.socket(socket.AF_UNIX)
        deadline = time.monotonic() + 5
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
            self.process.wait(5)
        except (LabError, subprocess.TimeoutExpired):
            pass    # the lab ends it

    def rule(self, sender, opcodes, what, how_often):
        """Frames that port `sender` sends (0: both ports) suffer."""
        direction = {0: 'both', 1: 'a>b', 2: 'b>a'}[sender]
        self.ask(f'rule {direction} {opcodes} {what} {how_often}')

    def clear(self):
        self.ask('clear')

    def capture(self, path):
        self.ask(f'pcap {path or "off"}')

    def stats(self):
        """{1: of what port 1 sends, 2: ...}"""
        said = json.loads(self.ask('stats'))
        return {1: said['a>b'], 2: said['b>a']}
