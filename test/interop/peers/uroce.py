# SPDX-License-Identifier: BSD-3-Clause
"""uroce on a port of this machine, through its libibverbs, in a process of its own."""

import json
import os
import subprocess

import guest
import uroce_ports
from network import DATA_MTU
from peers import Missing
from peers.actor import ActorPeer

TOP = uroce_ports.TOP
RUN = os.path.join(TOP, 'usertools', 'uroce-run')
STAT = os.path.join(TOP, 'usertools', 'uroce-stat')
STAT_TRIES = 10


def veth(network, number):
    network.make_veth(number, DATA_MTU)


def veth_for_xdp(network, number):
    if not os.path.exists(uroce_ports.built(uroce_ports.XDP_PROGRAM)):
        raise Missing(f'{uroce_ports.XDP_PROGRAM} was not built: it needs clang and libbpf-dev')
    # The driver gets only RoCE, the kernel all other frames. So the kernel has the addresses and responds for them.
    network.make_veth(number, uroce_ports.XDP_LINK_MTU)
    network.give_kernel(number)


def veth_for_udp(network, number):
    """The kernel sends and receives the datagrams, so it has the addresses. A message of several datagrams is cut before
    it enters the link, so that each frame on the wire can be checked.
    """
    network.make_veth(number, DATA_MTU)
    network.give_kernel(number)


def tap(network, number):
    network.make_tap(number)


# Frames of a receive ring that is large enough for the windows of all QPs of a scenario. The driver does not count
# the frames that the kernel drops if the ring is full.
AF_PACKET_RING = uroce_ports.af_packet_ring(4096)

# {name of the port: (function that makes it, its driver, options of the driver in addition to the interface)}
PORTS = {
    'af_packet': (veth, 'net_af_packet', f',qdisc_bypass=1,{AF_PACKET_RING}'),
    'af_xdp': (veth_for_xdp, 'net_af_xdp',
               f',xdp_prog={uroce_ports.built(uroce_ports.XDP_PROGRAM)},{uroce_ports.AF_XDP_POLLING}'),
    'tap': (tap, 'net_tap', ''),
    'udp': (veth_for_udp, 'udp', ''),
}


class Uroce(ActorPeer):
    words = ActorPeer.words | {'CM'}
    def __init__(self, number, network, log, port):
        super().__init__(number, network, log)
        self.make_port, self.driver, self.keys = PORTS.get(port, (None, None, None))
        self.has_counters = False    # the program has opened its device

    def spec(self):
        """The specification of the device: its port, with the keys."""
        if self.driver == 'udp':
            return ','.join(['udp', *[f'addr={address}' for address in self.network.addresses(self.number)]])
        addresses = [] if self.driver == 'net_af_xdp' else self.network.addresses(self.number)
        return ','.join([f'{self.driver}0', *[f'addr={address}' for address in addresses]])

    def eal(self):
        """The options of EAL that make the port."""
        if self.driver == 'udp':
            return ['--no-pci']
        return ['--no-pci', f'--vdev={self.driver}0,iface={self.network.port(self.number)}{self.keys}']

    def spawn(self, command, **options):
        """Start a program where the port is. @return a subprocess.Popen with these options"""
        return self.network.lab.start(command, **options)

    def start(self):
        if self.program and not os.path.exists(os.path.join(TOP, self.path())):
            raise Missing(f'{self.path()} was not built')
        if not self.network.has(self.number):
            self.make_port(self.network, self.number)
        # A killed program leaves the XDP program of its AF_XDP port attached.
        self.network.ip(f'link set {self.network.port(self.number)} xdp off')
        if self.program:
            self.begin_program()

    def begin_program(self):
        self.has_counters = False
        self.begin(self.run([os.path.join(TOP, self.path())], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=self.log))

    def run(self, command, **options):
        words = ['--dev', self.spec(), '--eal', ' '.join(self.eal())]
        return self.spawn([RUN, *words, '--', *command], **options)

    @property
    def control_address(self):
        return guest.HOST

    def kernel_file(self, path):
        with open(path, encoding='ascii') as file:
            return file.read()

    def stop(self):
        self.end()

    def finish(self):
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            uroce_ports.stop(self.process)

    def counters(self):
        for _ in range(STAT_TRIES):
            said = subprocess.run([STAT, '--json', '--all', f'{self.process.pid}/uroce0'], capture_output=True, text=True,
                                  check=False)
            if said.returncode == 0:
                self.has_counters = True
                return json.loads(said.stdout)['devices'][0]['counters']
            # There are no counters before the device is opened. On a busy machine the program may respond late.
            if not self.has_counters:
                return {}
        raise uroce_ports.LabError(f'{self.name}: no counters: {said.stderr.strip()}')

    def version(self):
        with open(os.path.join(TOP, 'VERSION'), encoding='ascii') as file:
            return f'uroce {file.read().strip()}'
