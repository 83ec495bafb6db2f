# SPDX-License-Identifier: BSD-3-Clause
"""What the checks of uroce-doctor share: a finding, the object of the checks, and what the kernel
says of its interfaces.
"""

import dataclasses
import ipaddress
import json
import os
import re
import subprocess

from uroce_nic import Nic, is_nic

OK, NOTE, FAULT = 'ok', 'note', 'FAULT'

# Ports that are neither an interface nor a virtual port of DPDK, and where their address comes from.
PORTS_WITH_ADDRESS = {'uroced': "that of uroced's port", 'loopback': 'one of its own; it reaches this process alone'}


UDP = 'udp'    # a port on UDP sockets of the kernel


@dataclasses.dataclass
class Finding:
    """The result of a check. `remedy` is the command to type, or None."""
    level: str
    check: str
    text: str
    remedy: str = None


@dataclasses.dataclass
class Target:
    """The object of the checks: a port and its configuration, and where the machine's properties
    are read.
    """
    name: str = None           # None: check the machine alone
    interface: str = None      # kernel interface of the port
    nic: str = None            # PCI address of the port, or name of a scalable function; of a representor, the function it is on
    keys: dict = dataclasses.field(default_factory=dict)    # keys of the device: addr, mtu ...; of a list the last value
    spec: str = ''             # PORT[,key=value...] as it was given
    eal: list = dataclasses.field(default_factory=list)
    peer: str = None
    connect: tuple = None      # address and port of a listener
    timeout: int = None        # time limit of a response of the peer, in seconds; None: that of each check
    sysfs: str = '/sys'
    proc: str = '/proc'
    dev: str = '/dev'
    modules: str = '/lib/modules'

    @property
    def is_udp(self):
        """Whether the device is on UDP sockets of the kernel."""
        return self.name == UDP

    @property
    def pairs(self):
        """The keys and values of the device, in their order. A key without a value has the value ''."""
        return [pair.partition('=')[::2] for pair in self.spec.split(',')[1:]]

    @property
    def addrs(self):
        """The addresses that the device is given, without their prefixes. What is no address is left out."""
        found = [value.partition('/')[0] for key, value in self.pairs if key == 'addr']
        return [text for text in found if is_address(text)]

    @property
    def path_mtu(self):
        """The value of the key mtu; None: it is not given, or is no number."""
        text = self.keys.get('mtu', '')
        return int(text) if text.isascii() and text.isdigit() else None

    def device(self):
        """The NIC of the port, or the one beneath its interface; None: there is none."""
        path = os.path.realpath(os.path.join(self.sysfs, 'class/net', self.interface or '', 'device'))
        # the interface of virtio is on a device beneath the NIC
        found = [self.nic] if self.nic else path.split(os.sep)[:-3:-1] if self.interface else []
        name = next((name for name in found if is_nic(name)), None)
        return Nic(name, self.sysfs, self.proc, self.modules) if name else None

    def reserve_hugepages(self, nb):
        """The command that reserves `nb` hugepages of 2 MiB. The default size can be another one: it is 512 MiB on an Arm
        kernel with pages of 64 KiB.
        """
        base = os.path.join(self.sysfs, 'kernel/mm/hugepages/hugepages-2048kB')
        return f'echo {nb} > {base}/nr_hugepages' if os.path.isdir(base) else f'sysctl vm.nr_hugepages={nb}'

    def option(self, *flags):
        """The value of an EAL option, or None."""
        for i, word in enumerate(self.eal):
            for flag in flags:
                if word == flag:
                    return self.eal[i + 1] if i + 1 < len(self.eal) else ''
                if word.startswith(flag + '='):
                    return word[len(flag) + 1:]
                if len(flag) == 2 and word.startswith(flag) and not word.startswith('--'):
                    return word[2:]
        return None

    def vdev(self):
        """The arguments of the virtual port in the EAL options: iface, framesz ..."""
        for i, word in enumerate(self.eal):
            value = word[len('--vdev='):] if word.startswith('--vdev=') else None
            if word == '--vdev' and i + 1 < len(self.eal):
                value = self.eal[i + 1]
            name, *pairs = (value or '').split(',')
            if self.name and name == self.name:
                return dict(pair.partition('=')[::2] for pair in pairs)
        return {}


def printable(text):
    """A text without characters that a terminal may take for commands, or that it cannot show."""
    return ''.join(sign if sign.isprintable() else '?' for sign in text)


def is_address(text):
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def ask_ip(*words):
    """The output of `ip -j`, as objects; None: the command failed."""
    try:
        done = subprocess.run(['ip', '-j', *words], capture_output=True, text=True, check=False)
    except OSError:
        return None
    if done.returncode != 0:
        return None
    try:
        return [entry for entry in json.loads(done.stdout or '[]') if entry]
    except ValueError:
        return None


def link_of(interface):
    """The kernel's data of an interface in this network namespace; None: there is none."""
    return (ask_ip('link', 'show', 'dev', interface) or [None])[0]


def interface_with(address):
    """The kernel interface that has an address; None: there is none. The loopback has all of 127.0.0.0/8."""
    ip = ipaddress.ip_address(address)
    if ip.version == 4 and ip.is_loopback:
        return 'lo'
    for entry in ask_ip('addr', 'show') or ():
        for info in entry.get('addr_info', ()):
            if ipaddress.ip_address(info['local']) == ip:
                return entry['ifname']
    return None


def interface_of_udp(target):
    """The interface of the port udp: that of its key, of its first address, or of the way to the peer."""
    if target.keys.get('iface'):
        return target.keys['iface']
    if target.addrs:
        return interface_with(target.addrs[0])
    way = (ask_ip('route', 'get', target.peer) or [{}])[0] if target.peer else {}
    return way.get('dev')


def target_of(spec, eal=(), peer=None, connect=None):
    """The target for PORT[,key=value...]. A port that is neither an interface nor a NIC has no
    further properties.
    """
    name, *pairs = (spec or '').split(',')
    keys = dict(pair.partition('=')[::2] for pair in pairs)
    nic = name.partition('_representor_')[0].lower()
    is_virtual = name.startswith('net_') or name in PORTS_WITH_ADDRESS or name == UDP
    target = Target(name=name or None, interface=None if is_nic(nic) or is_virtual or not name else name,
                    nic=nic if is_nic(nic) else None, keys=keys, spec=spec or '', eal=list(eal), peer=peer, connect=connect)
    if target.is_udp:
        target.interface = interface_of_udp(target)
    # a port that shares an interface of the kernel, as net_af_packet0, names the interface in its arguments
    target.interface = target.interface or target.vdev().get('iface')
    return target
