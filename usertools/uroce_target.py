# SPDX-License-Identifier: BSD-3-Clause
"""What the checks of uroce-doctor share: a finding, the object of the checks, and what the kernel
says of its interfaces.
"""

import dataclasses
import json
import os
import re
import subprocess

from uroce_netdev import PCI_ADDRESS

OK, NOTE, FAULT = 'ok', 'note', 'FAULT'

# Ports that are neither an interface nor a virtual port of DPDK, and where their address comes from.
PORTS_WITH_ADDRESS = {'uroced': "that of uroced's port", 'loopback': 'one of its own; it reaches this process alone'}


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
    pci: str = None
    keys: dict = dataclasses.field(default_factory=dict)    # keys of the device: addr, mtu ...
    eal: list = dataclasses.field(default_factory=list)
    peer: str = None
    connect: tuple = None      # address and port of a listener
    sysfs: str = '/sys'
    proc: str = '/proc'

    def device_folder(self):
        """The folder of the port's device in sysfs; None: there is none."""
        if self.pci:
            return os.path.join(self.sysfs, 'bus/pci/devices', self.pci)
        path = os.path.join(self.sysfs, 'class/net', self.interface or '', 'device')
        return path if self.interface and os.path.exists(path) else None

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


def target_of(spec, eal=(), peer=None, connect=None):
    """The target for PORT[,key=value...]. A port that is neither an interface nor on PCI has no
    further properties.
    """
    name, *pairs = (spec or '').split(',')
    keys = dict(pair.partition('=')[::2] for pair in pairs)
    is_pci = PCI_ADDRESS.match(name) is not None
    is_virtual = name.startswith('net_') or name in PORTS_WITH_ADDRESS
    target = Target(name=name or None, interface=None if is_pci or is_virtual or not name else name,
                      pci=name.lower() if is_pci else None, keys=keys, eal=list(eal), peer=peer, connect=connect)
    # a port that shares an interface of the kernel, as net_af_packet0, names the interface in its arguments
    target.interface = target.interface or target.vdev().get('iface')
    return target
