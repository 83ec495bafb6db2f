# SPDX-License-Identifier: BSD-3-Clause
"""The checks of uroce-doctor, as functions. Each check looks at one thing that must be right for
devices and traffic, reports what it found, and gives the command that corrects what is wrong.

A check is a generator of findings about a target. A check reads files below `sysfs` and `proc`,
and runs `ip`; it changes nothing. A check that does not apply to the target has no findings.
"""

import dataclasses
import ipaddress
import json
import os
import re
import select
import socket
import struct
import subprocess
import time

from uroce_netdev import KERNEL_HEADERS, MTUS, PCI_ADDRESS, names, read

OK, NOTE, FAULT = 'ok', 'note', 'FAULT'

# Headers of a packet: IPv6, UDP, BTH, the longest combination of extension headers, ICRC.
HEADERS = 40 + 8 + 12 + 24 + 4
USUAL_PATH_MTU = 1024    # path MTU of most programs
USUAL_LINK_MTU = 4200    # MTU of networks for RoCE, for path MTU 4096
HUGE_MIB = 512           # enough for one device

USERSPACE_DRIVERS = ('vfio-pci', 'igb_uio', 'uio_pci_generic')
# drivers that the kernel and DPDK can use at the same time
SHARED_DRIVERS = ('mlx4_core', 'mlx5_core', 'mana')
CAP_NET_RAW, CAP_NET_ADMIN = 13, 12
PROBE_S = 0.5            # timeout of an echo
PROBES = 3               # requests without a response after which the path counts as broken
# IP_PMTUDISC_PROBE: set DF, and ignore the path MTU that the kernel has cached
PMTUDISC_PROBE = 3


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


def numbers(text):
    """The numbers of a list like "0-2,5"."""
    found = set()
    for part in (text or '').split(','):
        match = re.fullmatch(r'(\d+)(?:-(\d+))?', part.strip())
        if match:
            found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return found


def link_of(interface):
    """The kernel's data of an interface in this network namespace; None: there is none."""
    return (ask_ip('link', 'show', 'dev', interface) or [None])[0]


def lcores_of(target):
    """The CPUs of EAL's lcores, from the options; None: all CPUs."""
    given = target.option('-l', '--lcores')
    return numbers(re.sub(r'[()]|\d+@', '', given)) if given else None


# ------------------------------------------------------------------------------------------- memory

def hugepages(target):
    if '--no-huge' in target.eal:
        yield Finding(OK, 'hugepages', 'not used (--no-huge)')
        return
    base = os.path.join(target.sysfs, 'kernel/mm/hugepages')
    pools = {int(name[len('hugepages-'):-2]): (int(read(base, name, 'nr_hugepages') or 0),
                                               int(read(base, name, 'free_hugepages') or 0))
             for name in names(base)}
    total = sum(nr for nr, _ in pools.values())
    free_mib = sum(kib * free for kib, (_, free) in pools.items()) // 1024
    if total == 0:
        yield Finding(FAULT, 'hugepages', 'none is reserved: EAL does not start',
                      f'sysctl vm.nr_hugepages={HUGE_MIB // 2}    (or give EAL --no-huge)')
    elif free_mib < HUGE_MIB:
        yield Finding(FAULT if free_mib == 0 else NOTE, 'hugepages',
                      f'{free_mib} MiB of them are free, a device may want {HUGE_MIB}: others hold the rest',
                      'grep -l /dev/hugepages /proc/*/maps    (who holds them; or reserve more: sysctl '
                      'vm.nr_hugepages=N)')
    else:
        yield Finding(OK, 'hugepages', f'{free_mib} MiB are free')
    is_mounted = any(line.split()[2:3] == ['hugetlbfs']
                     for line in (read(target.proc, 'mounts') or '').splitlines())
    if total and not is_mounted and '--in-memory' not in target.eal:
        yield Finding(NOTE, 'hugepages', 'no hugetlbfs is mounted: EAL wants one, or --in-memory',
                      'mount -t hugetlbfs none /dev/hugepages')


def numa(target):
    nodes = [int(name[len('node'):]) for name in names(target.sysfs, 'devices/system/node')
             if re.fullmatch(r'node\d+', name)]
    folder = target.device_folder()
    node = int(read(folder, 'numa_node') or -1) if folder else -1
    if len(nodes) < 2 or node < 0:
        yield Finding(OK, 'NUMA', 'one node' if len(nodes) < 2 else 'the port belongs to no node')
        return
    base = os.path.join(target.sysfs, f'devices/system/node/node{node}')
    near = numbers(read(base, 'cpulist'))
    lcores = lcores_of(target)
    is_near = True
    if lcores and not lcores & near:
        is_near = False
        yield Finding(FAULT, 'NUMA', f'the port is on node {node}, and no lcore is: each frame goes from socket '
                      'to socket', f'give EAL lcores of {read(base, "cpulist")}: -l ...')
    huge = sum(int(read(base, 'hugepages', name, 'free_hugepages') or 0) for name in names(base, 'hugepages'))
    if huge == 0 and '--no-huge' not in target.eal:
        is_near = False
        yield Finding(FAULT, 'NUMA', f'the port is on node {node}, which has no free hugepage',
                      f'echo {HUGE_MIB // 2} > {base}/hugepages/hugepages-2048kB/nr_hugepages')
    if is_near:
        yield Finding(OK, 'NUMA', f'port, lcores and memory can be on node {node}')


# ------------------------------------------------------------------------------------------- CPUs

def isolation(target):
    isolated = numbers(read(target.sysfs, 'devices/system/cpu/isolated'))
    online = numbers(read(target.sysfs, 'devices/system/cpu/online'))
    lcores = lcores_of(target) or online
    shared = sorted(lcores - isolated)
    if lcores - online:
        yield Finding(FAULT, 'CPUs', f'lcores on CPUs that are not there: {sorted(lcores - online)}',
                      f'give EAL lcores of {read(target.sysfs, "devices/system/cpu/online")}: -l ...')
    elif shared:
        yield Finding(NOTE, 'CPUs', f'not isolated: {", ".join(map(str, shared))}; whatever else runs there '
                      'delays frames', 'kernel command line: isolcpus=LIST nohz_full=LIST rcu_nocbs=LIST')
    else:
        yield Finding(OK, 'CPUs', 'all lcores are isolated')
    slow = sorted(cpu for cpu in lcores if read(target.sysfs, f'devices/system/cpu/cpu{cpu}',
                                                'cpufreq/scaling_governor') == 'powersave')
    if slow:
        yield Finding(NOTE, 'CPUs', f'the governor of {", ".join(map(str, slow))} saves power',
                      'cpupower frequency-set -g performance')


# ------------------------------------------------------------------------------------------- the port

def permissions(target):
    effective = re.search(r'^CapEff:\s*([0-9a-f]+)$', read(target.proc, 'self/status') or '', re.MULTILINE)
    capabilities = int(effective[1], 16) if effective else 0
    missing = ' and '.join(name for name, bit in (('CAP_NET_RAW', CAP_NET_RAW), ('CAP_NET_ADMIN', CAP_NET_ADMIN))
                           if not capabilities >> bit & 1)
    if target.interface and missing:
        yield Finding(FAULT, 'permissions', f'{missing} missing: {target.interface} cannot be opened',
                      'sudo ...    (or: setcap cap_net_raw,cap_net_admin+ep PROGRAM)')
    elif target.pci:
        group = os.path.join(target.device_folder(), 'iommu_group')
        node = f'/dev/vfio/{os.path.basename(os.path.realpath(group))}' if os.path.exists(group) else None
        if node and os.path.exists(node) and not os.access(node, os.R_OK | os.W_OK):
            yield Finding(FAULT, 'permissions', f'{node} may not be opened', f'chown $USER {node}')
        else:
            yield Finding(OK, 'permissions', 'nothing is in the way')
    elif target.name:
        yield Finding(OK, 'permissions', 'enough for this port')


def driver(target):
    folder = target.device_folder()
    if not target.pci:
        return
    if not os.path.isdir(folder):
        yield Finding(FAULT, 'driver', f'there is no device at {target.pci}', 'lspci -D | grep -i ether')
        return
    link = os.path.join(folder, 'driver')
    bound = os.path.basename(os.path.realpath(link)) if os.path.exists(link) else None
    if bound in USERSPACE_DRIVERS or bound in SHARED_DRIVERS:
        yield Finding(OK, 'driver', f'{bound}')
    else:
        yield Finding(FAULT, 'driver', f'{target.pci} belongs to '
                      + (f'the kernel\'s {bound}' if bound else 'no driver') + ': DPDK cannot have it',
                      f'modprobe vfio-pci && dpdk-devbind.py -b vfio-pci {target.pci}')
    is_safe = bool(names(target.sysfs, 'class/iommu'))
    may_do_without = read(target.sysfs, 'module/vfio/parameters/enable_unsafe_noiommu_mode') == 'Y'
    if bound == 'vfio-pci' and not is_safe and not may_do_without:
        yield Finding(FAULT, 'IOMMU', 'there is none, and vfio insists on one',
                      'kernel command line: intel_iommu=on iommu=pt    (or, unsafe: echo 1 > '
                      '/sys/module/vfio/parameters/enable_unsafe_noiommu_mode)')
    elif bound == 'vfio-pci':
        yield Finding(OK, 'IOMMU', 'on' if is_safe else 'none, and vfio does without (unsafe)')


def link(target):
    if not target.interface:
        return
    entry = link_of(target.interface)
    if entry is None:
        yield Finding(FAULT, 'link', f'there is no interface {target.interface}', 'ip link')
    elif 'UP' not in entry['flags']:
        yield Finding(FAULT, 'link', f'{target.interface} is down', f'ip link set {target.interface} up')
    elif 'LOWER_UP' not in entry['flags']:
        yield Finding(FAULT, 'link', f'{target.interface} has no carrier: no cable, or the other end is down',
                      f'ethtool {target.interface}')
    else:
        yield Finding(OK, 'link', 'up')


def kernel_device(target):
    """Check for a kernel device on the same interface, which would use the same UDP port."""
    for device in names(target.sysfs, 'class/infiniband') if target.interface else ():
        if read(target.sysfs, 'class/infiniband', device, 'parent') == target.interface:
            yield Finding(FAULT, 'UDP 4791', f'the kernel\'s {device} is on {target.interface}, and answers '
                          'what is for us', f'rdma link delete {device}')


# ------------------------------------------------------------------------------------------- the network

def addresses(interface):
    """Addresses of a kernel interface, without link-local ones."""
    entry = (ask_ip('addr', 'show', 'dev', interface) or [{}])[0]
    return [info['local'] for info in entry.get('addr_info', ()) if info.get('scope') == 'global']


def address(target):
    if 'addr' in target.keys:
        yield Finding(OK, 'address', f'given: {target.keys["addr"]}')
    elif target.interface and link_of(target.interface):
        found = addresses(target.interface)
        if found:
            yield Finding(OK, 'address', ', '.join(found))
        else:
            yield Finding(FAULT, 'address', f'{target.interface} has none, but perhaps a link-local one, '
                          'which peers do not know', f'ip addr add 192.0.2.1/24 dev {target.interface}')
    elif target.name and not target.interface:
        yield Finding(FAULT, 'address', 'a port that is not the kernel\'s has none of its own',
                      'give the device one: --uroce=PORT,addr=192.0.2.1/24')


def largest(link_mtu, headers=HEADERS):
    """The largest path MTU that fits the link MTU; 0: none fits."""
    return max((mtu for mtu in MTUS if mtu + headers <= link_mtu), default=0)


def mtu(target):
    entry = link_of(target.interface) if target.interface else None
    if entry is None:
        return
    has = entry['mtu']
    wanted = int(target.keys.get('mtu', USUAL_PATH_MTU))
    if largest(has) < wanted:
        yield Finding(FAULT, 'MTU', f'{target.interface} carries {has} bytes: path MTU {largest(has) or "none"}; '
                      f'{wanted} takes {wanted + HEADERS}', f'ip link set {target.interface} mtu '
                      f'{max(1500, wanted + KERNEL_HEADERS)}    (of all interfaces on the path)')
    else:
        yield Finding(OK, 'MTU', f'{has} bytes: path MTU {largest(has)}' +
                      (f'; {USUAL_LINK_MTU} carry 4096' if largest(has) < 4096 else ''))


class Echo:
    """Echo requests to one address. They have `length` bytes with the IP header, and are never
    fragmented.
    """

    def __init__(self, peer, interface):
        self.is_ipv6 = ipaddress.ip_address(peer).version == 6
        self.sequence = 0
        if self.is_ipv6:
            self.socket = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
            self.socket.setsockopt(socket.IPPROTO_IPV6, 23, PMTUDISC_PROBE)    # IPV6_MTU_DISCOVER
        else:
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
            self.socket.setsockopt(socket.IPPROTO_IP, 10, PMTUDISC_PROBE)      # IP_MTU_DISCOVER
        if interface:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        self.socket.connect((peer, 0))

    def close(self):
        self.socket.close()

    def request(self, length):
        self.sequence = self.sequence % 0xffff + 1
        head = struct.pack('!BBHHH', 128 if self.is_ipv6 else 8, 0, 0, os.getpid() & 0xffff, self.sequence)
        data = head + bytes(max(0, length - len(head) - (40 if self.is_ipv6 else 20)))
        if not self.is_ipv6:    # for ICMPv6 the kernel computes the checksum
            total = sum(struct.unpack(f'!{len(data + bytes(len(data) % 2)) // 2}H', data + bytes(len(data) % 2)))
            total = (total & 0xffff) + (total >> 16)
            data = data[:2] + struct.pack('!H', ~(total + (total >> 16)) & 0xffff) + data[4:]
        return data

    def is_answer(self, packet):
        body = packet if self.is_ipv6 else packet[(packet[0] & 15) * 4:]
        return (len(body) >= 8 and body[0] == (129 if self.is_ipv6 else 0) and
                struct.unpack('!HH', body[4:8]) == (os.getpid() & 0xffff, self.sequence))

    def passes(self, length):
        """Whether at least one of several requests of this length gets a response."""
        for _ in range(PROBES):
            try:
                self.socket.send(self.request(length))
            except OSError:
                return False
            end = time.monotonic() + PROBE_S
            while select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
                try:
                    if self.is_answer(self.socket.recv(65536)):
                        return True
                except OSError:
                    return False
        return False


def path(target):
    """Check the path to the peer: the route, whether the peer responds, and the largest packet that
    passes.
    """
    if not target.peer or not target.interface or not link_of(target.interface):
        return
    way = (ask_ip('route', 'get', target.peer) or [None])[0]
    if way is None or way.get('type') == 'unreachable':
        yield Finding(FAULT, 'path', f'no way to {target.peer}: neither a network of ours nor a gateway',
                      f'ip addr add ... dev {target.interface}    (of the peer\'s network)')
        return
    if way.get('type') == 'local':
        yield Finding(FAULT, 'path', f'{target.peer} is an address of this host: its frames stay here',
                      '--peer ADDRESS    (of another host)')
        return
    if way.get('dev') != target.interface:
        yield Finding(FAULT, 'path', f'the way to {target.peer} is by {way.get("dev")}, not by '
                      f'{target.interface}', f'ip route add {target.peer} dev {target.interface}')
        return
    yield from probe(target, way.get('gateway', target.peer))


def probe(target, hop):
    try:
        echo = Echo(target.peer, target.interface)
    except OSError as error:
        yield Finding(NOTE, 'path', f'cannot be tried: {error.strerror}', 'sudo ...')
        return
    try:
        if not echo.passes(128):
            yield from silence(target, hop)
            return
        has = link_of(target.interface)['mtu']
        wanted = int(target.keys.get('mtu', largest(has)))
        through = [size for size in MTUS if size <= wanted and echo.passes(min(has, size + HEADERS))]
        if wanted and wanted not in through:
            yield Finding(FAULT, 'path', f'{target.peer} answers, but not to {wanted + HEADERS} bytes: the MTU on '
                          f'the way, or there, is less than {target.interface}\'s; path MTU '
                          f'{max(through, default="none")} gets through',
                          f'ip link set ... mtu {has}    (there; or here: --uroce=PORT,mtu='
                          f'{max(through, default=MTUS[0])})')
        else:
            yield Finding(OK, 'path', f'{target.peer} answers to {min(has, wanted + HEADERS)} bytes')
    finally:
        echo.close()


def silence(target, hop):
    """The peer does not respond: find out whether a host on the link claims the address."""
    entry = (ask_ip('neigh', 'show', 'to', hop, 'dev', target.interface) or [{}])[0]
    if 'lladdr' in entry and 'FAILED' not in entry.get('state', ()):
        yield Finding(FAULT, 'path', f'{hop} is there ({entry["lladdr"]}), but {target.peer} answers no echo: '
                      'a firewall, or a host that is not up', f'nft list ruleset    (there); ping {target.peer}')
    else:
        yield Finding(FAULT, 'neighbour', f'nobody on {target.interface} says that {hop} is his: wrong address, '
                      'wrong network or VLAN, or the host is down', f'ip neigh show dev {target.interface}')


CHECKS = (hugepages, permissions, driver, link, kernel_device, address, mtu, path, numa, isolation)


def examine(target):
    """The findings of all checks."""
    for check in CHECKS:
        yield from check(target)


def target_of(spec, eal=(), peer=None):
    """The target for PORT[,key=value...]. A port that is neither an interface nor on PCI has no
    further properties.
    """
    name, *pairs = (spec or '').split(',')
    keys = dict(pair.partition('=')[::2] for pair in pairs)
    is_pci = PCI_ADDRESS.match(name) is not None
    is_virtual = name.startswith('net_')
    return Target(name=name or None, interface=None if is_pci or is_virtual or not name else name,
                   pci=name.lower() if is_pci else None, keys=keys, eal=list(eal), peer=peer)
