# SPDX-License-Identifier: BSD-3-Clause
"""The checks of uroce-doctor, as functions. Each check looks at one thing that must be right for
devices and traffic, reports what it found, and gives the command that corrects what is wrong.

A check is a generator of findings about a target. A check reads files below `sysfs` and `proc`,
runs `ip` and `ethtool`, or connects to uroced; it changes nothing. The checks of NICs, of the network, of the port udp, of the
values of keys and of configuration files have files of their own. A check that does not apply to the target has no findings.
"""

import difflib
import os
import re
import socket

from uroce_doctor_connect import connection
from uroce_doctor_nic import nic_findings
from uroce_doctor_network import address, duplicates, frame_limit, mtu, path
from uroce_doctor_udp import udp
from uroce_doctor_values import examine_values
from uroce_nic import SHARED_DRIVERS, names, read
from uroce_target import FAULT, NOTE, OK, Finding, link_of

HUGE_MIB = 512           # enough for one device

# Keys of a device (uroce_create_device(3)), and the beginning of those for congestion control.
KEYS = ('addr', 'gw', 'mtu', 'vlan', 'workers', 'drive', 'qps', 'mrs', 'cc', 'socket', 'iface', 'gid0')
CC_PREFIX = 'cc_'
UROCED = '/run/uroced/uroced.sock'

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

def free_mib(folder):
    """The MiB of hugepages of all sizes that are free, from a folder with the pools."""
    return sum(int(name[len('hugepages-'):-2]) * int(read(folder, name, 'free_hugepages') or 0) for name in names(folder)) // 1024


def hugepages(target):
    if '--no-huge' in target.eal:
        yield Finding(OK, 'hugepages', 'not used (--no-huge)')
        return
    base = os.path.join(target.sysfs, 'kernel/mm/hugepages')
    total = sum(int(read(base, name, 'nr_hugepages') or 0) for name in names(base))
    free = free_mib(base)
    if total == 0:
        yield Finding(NOTE, 'hugepages', 'none is reserved: programs of uroce use ordinary memory, which is somewhat '
                      'slower; other programs of DPDK need --no-huge',
                      target.reserve_hugepages(HUGE_MIB // 2))
    elif free < HUGE_MIB:
        yield Finding(NOTE, 'hugepages',
                      f'{free} MiB of them are free, a device may want {HUGE_MIB}: others hold the rest, and '
                      'ordinary memory is used',
                      'grep -l /dev/hugepages /proc/*/maps    (who holds them; or reserve more: '
                      f'{target.reserve_hugepages("N")})')
    else:
        yield Finding(OK, 'hugepages', f'{free} MiB are free')
    is_mounted = any(line.split()[2:3] == ['hugetlbfs']
                     for line in (read(target.proc, 'mounts') or '').splitlines())
    if total and not is_mounted and '--in-memory' not in target.eal:
        yield Finding(NOTE, 'hugepages', 'no hugetlbfs is mounted: EAL wants one, or --in-memory',
                      'mount -t hugetlbfs none /dev/hugepages')


def numa(target):
    nodes = [int(name[len('node'):]) for name in names(target.sysfs, 'devices/system/node')
             if re.fullmatch(r'node\d+', name)]
    base = os.path.join(target.sysfs, 'devices/system/node')
    free = {number: free_mib(os.path.join(base, f'node{number}', 'hugepages')) for number in nodes}
    each = ', '.join(f'node {number}: {mib} MiB of hugepages free' for number, mib in free.items())
    nic = target.device()
    node = nic.numa_node if nic else -1
    if len(nodes) < 2 or node not in nodes:
        yield Finding(OK, 'NUMA', 'one node' if len(nodes) < 2 else f'the port belongs to no node ({each})')
        return
    cpus = read(base, f'node{node}', 'cpulist')
    lcores = lcores_of(target)
    is_far = bool(lcores) and not lcores & numbers(cpus)
    if is_far:
        yield Finding(FAULT, 'NUMA', f'the port is on node {node}, and no lcore is: each frame goes from socket '
                      'to socket', f'give EAL lcores of {cpus}: -l ...')
    if free[node] == 0 and any(free.values()) and '--no-huge' not in target.eal:
        yield Finding(FAULT, 'NUMA', f'the port is on node {node}, which has no free hugepage ({each})',
                      f'echo {HUGE_MIB // 2} > {base}/node{node}/hugepages/hugepages-2048kB/nr_hugepages')
    elif not is_far:
        yield Finding(OK, 'NUMA', f'port, lcores and memory can be on node {node} ({each})')


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
    is_shared = bool(target.nic) and target.device().driver in SHARED_DRIVERS
    if (target.interface or is_shared) and missing:
        yield Finding(FAULT, 'permissions', f'{missing} missing: {target.interface or target.nic} cannot be opened',
                      'sudo ...    (or: setcap cap_net_raw,cap_net_admin+ep PROGRAM)')
    elif target.nic:
        group = target.device().group
        node = os.path.join(target.dev, 'vfio', group) if group else None
        if node and os.path.exists(node) and not os.access(node, os.R_OK | os.W_OK):
            yield Finding(FAULT, 'permissions', f'{node} may not be opened', f'chown $USER {node}')
        else:
            yield Finding(OK, 'permissions', 'nothing is in the way')
    elif target.name:
        yield Finding(OK, 'permissions', 'enough for this port')


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


CHECKS = (hugepages, keys, examine_values, daemon, permissions, nic_findings, link, kernel_device, address, udp, duplicates, mtu,
          frame_limit, path, connection, numa, isolation)


def examine(target):
    """The findings of all checks."""
    for check in CHECKS:
        yield from check(target)
