# SPDX-License-Identifier: BSD-3-Clause
"""The functions of uroce-netdev: which RDMA device belongs to a network interface, with its name,
its port, the index of its RoCEv2 GID and the active MTU. The kernel's devices are found in sysfs.
For a device of uroce, uroce-devinfo creates it, queries it and destroys it. Of a NIC, the result
has its driver, its IOMMU group and its NUMA node as well.
"""

import ctypes
import ipaddress
import os
import re
import shutil
import socket
import subprocess

from uroce_nic import Nic, is_nic, names, read
from uroce_ports import AF_PACKET_RING, built

# A value of enum ibv_mtu is the position in this tuple, from 1 on.
MTUS = (256, 512, 1024, 2048, 4096)
# Bytes that the kernel subtracts from an interface's MTU for the headers of a RoCEv2 packet: GRH,
# UDP, BTH, XRCETH, AtomicETH, ICRC.
KERNEL_HEADERS = 40 + 8 + 12 + 4 + 28 + 4
DEVINFO = built('build/apps/uroce-devinfo')


class NetdevError(Exception):
    """An error. The text says in one line what is wrong, why, and what is allowed."""


def mtu_code(mtu):
    return MTUS.index(mtu) + 1


def best_gid(gids):
    """The best of RoCEv2 GIDs {index: address}: the first IPv4 one; else the first IPv6 one; else
    the link-local one.
    """
    def rank(index):
        address = ipaddress.IPv6Address(gids[index])
        return (address.ipv4_mapped is None, address.is_link_local, index)
    return min(gids, key=rank) if gids else None


# --------------------------------------------------------------------------------- devices of the kernel

def kernel_gids(sysfs, device, port, interface):
    """The RoCEv2 GIDs of a port that belong to an interface."""
    base = os.path.join(sysfs, 'class/infiniband', device, 'ports', port)
    gids = {}
    for index in names(base, 'gids'):
        if (read(base, 'gid_attrs/ndevs', index) == interface
                and read(base, 'gid_attrs/types', index) == 'RoCE v2'):
            gids[int(index)] = read(base, 'gids', index)
    return gids


def is_on(sysfs, device, port, interface):
    """Whether a port belongs to an interface, even if none of its GIDs is a RoCEv2 GID."""
    base = os.path.join(sysfs, 'class/infiniband', device)
    if read(base, 'parent') == interface or interface in names(base, 'device/net'):
        return True
    return any(read(base, 'ports', port, 'gid_attrs/ndevs', index) == interface
               for index in names(base, 'ports', port, 'gid_attrs/ndevs'))


def lower(sysfs, interface):
    """The lower interfaces of an interface, as of a VLAN."""
    return [name[len('lower_'):] for name in names(sysfs, 'class/net', interface)
            if name.startswith('lower_')]


def active_mtu_by_verbs(device, port):
    """The active MTU as libibverbs reports it; None: it cannot be read."""
    try:
        verbs = ctypes.CDLL('libibverbs.so.1')
    except OSError:
        return None
    pointer = ctypes.c_void_p
    for call, result, arguments in (
            ('ibv_get_device_list', ctypes.POINTER(pointer), [ctypes.POINTER(ctypes.c_int)]),
            ('ibv_get_device_name', ctypes.c_char_p, [pointer]),
            ('ibv_open_device', pointer, [pointer]),
            ('ibv_query_port', ctypes.c_int, [pointer, ctypes.c_uint8, pointer]),
            ('ibv_close_device', ctypes.c_int, [pointer])):
        getattr(verbs, call).restype = result
        getattr(verbs, call).argtypes = arguments
    count = ctypes.c_int(0)
    found = verbs.ibv_get_device_list(ctypes.byref(count))
    for i in range(count.value if found else 0):
        if verbs.ibv_get_device_name(found[i]) != device.encode():
            continue
        context = verbs.ibv_open_device(found[i])
        if not context:
            return None
        attr = (ctypes.c_int * 64)()    # state, max_mtu, active_mtu, ...
        is_known = verbs.ibv_query_port(context, int(port), attr) == 0
        verbs.ibv_close_device(context)
        return MTUS[attr[2] - 1] if is_known and 1 <= attr[2] <= len(MTUS) else None
    return None


def active_mtu_by_rule(sysfs, interface):
    """The active MTU, derived from the interface's MTU as the kernel does."""
    room = int(read(sysfs, 'class/net', interface, 'mtu') or 0) - KERNEL_HEADERS
    return max((mtu for mtu in MTUS if mtu <= room), default=MTUS[0])


def of_kernel(interface, sysfs='/sys', ask_mtu=active_mtu_by_verbs):
    """The kernel's device of an interface, or of its lower interface; None: there is none."""
    beneath = []
    for device in names(sysfs, 'class/infiniband'):
        for port in names(sysfs, 'class/infiniband', device, 'ports'):
            gids = kernel_gids(sysfs, device, port, interface)
            if gids:
                index = best_gid(gids)
                mtu = ask_mtu(device, port) or active_mtu_by_rule(sysfs, interface)
                return answer('kernel', interface, device, int(port), index, gids[index], mtu)
            if is_on(sysfs, device, port, interface):
                beneath.append(f'{device} port {port}')
    if beneath:
        raise NetdevError(f'{interface}: {beneath[0]} has no RoCEv2 GID for it; required: an address on '
                          'the interface')
    for below in lower(sysfs, interface):
        found = of_kernel(below, sysfs, ask_mtu)
        if found:
            return found
    return None


# ------------------------------------------------------------------------------------ devices of uroce

def of_uroce(spec, eal, devinfo):
    """The device that uroce makes of PORT[,key=value...]."""
    if not os.path.exists(devinfo) and not shutil.which(devinfo):
        raise NetdevError(f'{devinfo} is not there; build it: ninja -C build')
    done = subprocess.run([devinfo, *eal, '--', f'--uroce={spec}', '-v'], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise NetdevError(complaint(done.stderr) or f'uroce-devinfo: status {done.returncode}')
    return parse_devinfo(spec.split(',')[0], done.stdout)


def complaint(stderr):
    """The line of the error output that gives the reason: uroce's own line, or else the first one,
    from a driver.
    """
    lines = [line for line in stderr.splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith(('roce: ', 'uroce-devinfo: '))]
    return re.sub(r'^(uroce-devinfo|roce): ', '', (ours or lines or [''])[0])


def parse_devinfo(port_name, text):
    """The result, from the output of uroce-devinfo -v for one device."""
    device = re.search(r'^hca_id:\t(\S+)$', text, re.MULTILINE)
    port = re.search(r'^\t\tport:\t(\d+)$', text, re.MULTILINE)
    mtu = re.search(r'^\t\t\tactive_mtu:\t+(\d+) ', text, re.MULTILINE)
    gids = {int(index): gid for index, gid in
            re.findall(r'^\t\t\tGID\[ *(\d+)\]:\t+(\S+), RoCE v2$', text, re.MULTILINE)}
    if not (device and port and mtu and gids):
        raise NetdevError(f'{port_name}: uroce-devinfo is of another version: it does not say it all')
    index = best_gid(gids)
    return answer('uroce', port_name, device[1], int(port[1]), index, gids[index], int(mtu[1]))


# ---------------------------------------------------------------------------------------------- NICs

def refuse_nic(nic):
    """Raise an error if DPDK cannot have the NIC. The text says what to type."""
    if not nic.is_there:
        raise NetdevError(f'{nic.name}: there is no such device; allowed are those of: ' +
                          ('devlink dev show' if nic.is_auxiliary else 'dpdk-devbind.py --status-dev net'))
    if not nic.is_for_dpdk:
        belongs = f'belongs to the kernel\'s {nic.driver}' if nic.driver else 'belongs to no driver'
        raise NetdevError(f'{nic.name}: {belongs}, and DPDK cannot have it; type: ' +
                          (nic.bind_command if nic.best_driver else f'uroce-doctor {nic.name}'))


def of_nic(nic):
    """Further lines of the result for a NIC: where it is bound, and near which memory it is."""
    group = {} if nic.group is None else {'iommu_group': int(nic.group)}
    return {'driver': nic.driver, **group, 'numa_node': nic.numa_node}


# ---------------------------------------------------------------------------------------------
# results

def answer(stack, netdev, device, port, gid_index, gid, mtu):
    """The result, in the order of the output. The manual documents the first three keys and the
    last one.
    """
    return {
        'device_name': device,
        'ib_port': port,
        'gid_index': gid_index,
        'gid': str(ipaddress.IPv6Address(gid)) if not ipaddress.IPv6Address(gid).ipv4_mapped
               else f'::ffff:{ipaddress.IPv6Address(gid).ipv4_mapped}',
        'netdev': netdev,
        'stack': stack,
        'active_mtu': mtu,
        'mtu_index': mtu_code(mtu),
    }


def find(spec, eal=(), is_uroce=False, devinfo=DEVINFO):
    """The result for an interface, or for PORT[,key=value...]."""
    name, _, keys = spec.partition(',')
    interfaces = [interface for _, interface in socket.if_nameindex()]
    if name in interfaces:
        found = None if is_uroce or keys or eal else of_kernel(name)
        if found:
            return found
        vdev = f'--vdev=net_af_packet_netdev,iface={name},{AF_PACKET_RING}'
        try:
            made = of_uroce('net_af_packet_netdev' + (f',{keys}' if keys else ''),
                            ['--no-pci', vdev, *eal], devinfo)
        except NetdevError as error:
            raise NetdevError(str(error).replace('net_af_packet_netdev', name)) from error
        return {**made, 'netdev': name}
    if is_nic(name):
        nic = Nic(name.lower())
        refuse_nic(nic)
        return {**of_uroce(spec, [*nic.allow, *eal], devinfo), **of_nic(nic)}
    if eal:
        return of_uroce(spec, eal, devinfo)
    raise NetdevError(f'{name}: no such interface; allowed: {", ".join(interfaces)}, a PCI '
                      'address, a scalable function, or a port of the EAL options behind --')
