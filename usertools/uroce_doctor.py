# SPDX-License-Identifier: BSD-3-Clause
"""The checks of uroce-doctor, as functions. Each check looks at one thing that must be right for
devices and traffic, reports what it found, and gives the command that corrects what is wrong.

A check is a generator of findings about a target. A check reads files below `sysfs` and `proc`,
runs `ip`, or connects to uroced; it changes nothing. The checks of the network, of the port udp, of the values of keys and of
configuration files have files of their own. A check that does not apply to the target has no findings.
"""

import difflib
import os
import re
import socket

from uroce_doctor_connect import connection
from uroce_doctor_network import address, duplicates, frame_limit, mtu, path
from uroce_doctor_udp import udp
from uroce_doctor_values import examine_values
from uroce_netdev import names, read
from uroce_target import FAULT, NOTE, OK, Finding, link_of

HUGE_MIB = 512           # enough for one device

# Keys of a device (uroce_create_device(3)), and the beginning of those for congestion control.
KEYS = ('addr', 'gw', 'mtu', 'vlan', 'workers', 'drive', 'qps', 'mrs', 'cc', 'socket', 'iface', 'gid0')
CC_PREFIX = 'cc_'
UROCED = '/run/uroced/uroced.sock'

USERSPACE_DRIVERS = ('vfio-pci', 'igb_uio', 'uio_pci_generic')
# drivers that the kernel and DPDK can use at the same time
SHARED_DRIVERS = ('mlx4_core', 'mlx5_core', 'mana')
CAP_NET_RAW, CAP_NET_ADMIN = 13, 12


def numbers(text):
    """The numbers of a list like "0-2,5"."""
    found = set()
    for part in (text or '').split(','):
        match = re.fullmatch(r'(\d+)(?:-(\d+))?', part.strip())
        if match:
            found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return found


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
        yield Finding(NOTE, 'hugepages', 'none is reserved: programs of uroce use ordinary memory, which is somewhat '
                      'slower; other programs of DPDK need --no-huge',
                      f'sysctl vm.nr_hugepages={HUGE_MIB // 2}')
    elif free_mib < HUGE_MIB:
        yield Finding(NOTE, 'hugepages',
                      f'{free_mib} MiB of them are free, a device may want {HUGE_MIB}: others hold the rest, and '
                      'ordinary memory is used',
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
    elsewhere = sum(int(read(target.sysfs, f'devices/system/node/node{other}', 'hugepages', name, 'free_hugepages') or 0)
                    for other in nodes if other != node
                    for name in names(target.sysfs, f'devices/system/node/node{other}/hugepages'))
    if huge == 0 and elsewhere > 0 and '--no-huge' not in target.eal:
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

def keys(target):
    """Check the names of the keys. The library refuses a device with an unknown one."""
    for key, value in dict.fromkeys(target.pairs):
        if key.startswith(CC_PREFIX) or (key in KEYS and value):
            continue
        if key in KEYS:
            yield Finding(FAULT, 'keys', f'the key {key} has no value', f'{key}=VALUE')
            continue
        near = difflib.get_close_matches(key, KEYS, 1)
        yield Finding(FAULT, 'keys', f'unknown key {key or "between two commas"}: allowed are {", ".join(KEYS)} and '
                      f'{CC_PREFIX}NAME', f'{target.name},{near[0]}={value or "VALUE"}' if near else
                      'man uroce_create_device')


def daemon(target):
    """Check whether uroced listens, if the port is uroced's."""
    if target.name != 'uroced':
        return
    where = target.keys.get('socket', UROCED)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        try:
            connection.connect(where)
        except FileNotFoundError:
            yield Finding(FAULT, 'uroced', f'none listens at {where}: it does not run, or has another --socket',
                          'systemctl start uroced    (or: uroced ... ; or here: uroced,socket=PATH)')
        except PermissionError:
            yield Finding(FAULT, 'uroced', f'this user may not connect to {where}',
                          f'ls -l {where}    (then: usermod -aG GROUP $USER)')
        except ConnectionRefusedError:
            yield Finding(FAULT, 'uroced', f'{where} is the socket of a uroced that has ended', 'systemctl restart uroced')
        except OSError as error:
            yield Finding(FAULT, 'uroced', f'{where}: {error.strerror or error}', 'uroced,socket=PATH')
        else:
            yield Finding(OK, 'uroced', f'listens at {where}')


def permissions(target):
    if target.is_udp:
        return    # the checks of the port udp say so
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
        yield Finding(FAULT, 'link', f'there is no interface {target.interface}',
                      'ip link    (other ports: a PCI address, net_NAME of a virtual port, uroced, udp, loopback)')
    elif 'UP' not in entry['flags']:
        yield Finding(FAULT, 'link', f'{target.interface} is down', f'ip link set {target.interface} up')
    elif 'LOWER_UP' not in entry['flags']:
        yield Finding(FAULT, 'link', f'{target.interface} has no carrier: no cable, or the other end is down',
                      f'ethtool {target.interface}')
    else:
        yield Finding(OK, 'link', 'up')


def kernel_device(target):
    """Check for a kernel device on the same interface, which would use the same UDP port."""
    for device in names(target.sysfs, 'class/infiniband') if target.interface and not target.is_udp else ():
        if read(target.sysfs, 'class/infiniband', device, 'parent') == target.interface:
            yield Finding(FAULT, 'UDP 4791', f'the kernel\'s {device} is on {target.interface}, and answers '
                          'what is for us', f'rdma link delete {device}')


CHECKS = (hugepages, keys, examine_values, daemon, permissions, driver, link, kernel_device, address, udp, duplicates, mtu,
          frame_limit, path, connection, numa, isolation)


def examine(target):
    """The findings of all checks."""
    for check in CHECKS:
        yield from check(target)
