# SPDX-License-Identifier: BSD-3-Clause
"""The checks of uroce-doctor that concern NICs: the driver to which a NIC is bound, its IOMMU group, the memory that its DMA
needs, its queues, offloads and interrupts, and the kernel's RoCE on a NIC that the kernel and DPDK share.
"""

import os
import re
import subprocess

from uroce_nic import MLX5_DRIVERS, SHARED_DRIVERS, UIO, USERSPACE_DRIVERS, VFIO, names, read
from uroce_target import FAULT, NOTE, OK, Finding

VFIO_MIB = 512    # memory that a device of uroce maps for the NIC
CAP_IPC_LOCK = 14
IOMMU_ON = 'kernel command line: intel_iommu=on iommu=pt    (and the firmware: VT-d, AMD-Vi or SMMU on)'
# Features of ethtool -k, and what they are called here.
OFFLOADS = {'receive-hashing': 'RSS', 'rx-checksumming': 'RX checksums', 'tx-checksumming': 'TX checksums',
            'rx-vlan-offload': 'VLAN stripping', 'tx-vlan-offload': 'VLAN insertion', 'scatter-gather': 'chained buffers'}


def ask_ethtool(*words):
    """The output of ethtool; an empty text: it failed."""
    try:
        done = subprocess.run(['ethtool', *words], capture_output=True, text=True, check=False)
    except OSError:
        return ''
    return done.stdout if done.returncode == 0 else ''


# ------------------------------------------------------------------------------------------- driver

def driver(target):
    """Check whether the NIC is bound to a driver that DPDK can use."""
    nic = target.device()
    if nic is None:
        return
    if target.interface:
        yield from shared_interface(target, nic)
    elif not nic.is_there:
        yield Finding(FAULT, 'driver', f'there is no device at {nic.name}',
                      'devlink dev show' if nic.is_auxiliary else 'lspci -D | grep -i ether')
    elif nic.driver in USERSPACE_DRIVERS:
        yield Finding(OK, 'driver', nic.driver)
    elif nic.driver in SHARED_DRIVERS:
        yield Finding(OK, 'driver', f'{nic.driver}, which the kernel and DPDK share: it stays bound to the kernel')
    elif nic.is_auxiliary:
        yield Finding(FAULT, 'driver', f'{nic.name} belongs to {nic.driver or "no driver"}: DPDK cannot have it',
                      bind_function(nic))
    else:
        yield unbound(nic)


def shared_interface(target, nic):
    """An interface of the kernel on a NIC: DPDK could have the NIC itself."""
    if nic.driver and nic.driver not in SHARED_DRIVERS and nic.best_driver:
        yield Finding(OK, 'driver', f'{target.interface} is {nic.name} of the kernel\'s {nic.driver}; DPDK could have it instead',
                      f'{nic.bind_command}    (then: uroce-doctor {nic.name},addr=ADDRESS/BITS)')


def unbound(nic):
    """The finding that a NIC belongs to the kernel, or to nobody."""
    owner = f'the kernel\'s {nic.driver}' if nic.driver else 'no driver'
    ends = f' ({", ".join(nic.interfaces)} of the kernel ends with it)' if nic.interfaces else ''
    text = f'{nic.name} belongs to {owner}: DPDK cannot have it{ends}'
    if nic.best_driver:
        return Finding(FAULT, 'driver', text, nic.bind_command)
    lacks = f'{VFIO}, and a virtual function needs it' if nic.is_virtual_function else f'{VFIO} for this NIC, and not {UIO}'
    return Finding(FAULT, 'driver', f'{text}, and this kernel has no {lacks}', IOMMU_ON if nic.has_module(VFIO) is not False else
                   'apt-get install linux-image-$(dpkg --print-architecture)    (other kernels, such as those of clouds, lack it)')


def bind_function(nic):
    """The command that gives a scalable function to the driver of its interface."""
    leave = f'echo {nic.name} > /sys/bus/auxiliary/drivers/{nic.driver}/unbind; ' if nic.driver else ''
    return f'{leave}echo {nic.name} > /sys/bus/auxiliary/drivers/mlx5_core.sf/bind'


# ------------------------------------------------------------------------------------- IOMMU, memory

def iommu(target):
    """Check the IOMMU group of a NIC that is bound to vfio-pci, or should be."""
    nic = target.device()
    if not target.nic or not nic.is_there or nic.driver in SHARED_DRIVERS:
        return
    is_on = bool(names(nic.sysfs, 'class/iommu'))
    if nic.group is None:
        yield from without_group(nic, is_on)
        return
    if nic.driver in USERSPACE_DRIVERS and nic.driver != VFIO and nic.is_translated:
        yield Finding(FAULT, 'IOMMU', f'it blocks the DMA of {nic.name}, for which {nic.driver} maps nothing',
                      f'dpdk-devbind.py -b {VFIO} {nic.name}    (or kernel command line: iommu=pt)')
    elif not nic.group_conflicts:
        yield Finding(OK, 'IOMMU', f'on: group {nic.group}, of which the kernel uses no other device')
    elif nic.driver == VFIO or nic.best_driver == VFIO:
        others = nic.group_conflicts
        yield Finding(FAULT, 'IOMMU', 'vfio refuses a NIC while the kernel uses another device of its IOMMU group ' +
                      f'{nic.group}: ' + ', '.join(f'{name} ({driver_name})' for name, driver_name in others),
                      f'dpdk-devbind.py -b {VFIO} ' + ' '.join(name for name, _ in others) + '    (or -u: no driver)')


def without_group(nic, is_on):
    """No IOMMU translates for the NIC."""
    why = 'there is none' if not is_on else f'it has no group for {nic.name}'
    if nic.driver == VFIO and nic.allows_noiommu:
        yield Finding(OK, 'IOMMU', f'{why}, and vfio does without (unsafe)')
    elif nic.driver == VFIO:
        yield Finding(FAULT, 'IOMMU', f'{why}, and vfio insists on one',
                      f'{IOMMU_ON}; or, unsafe: echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode')
    else:
        yield Finding(NOTE, 'IOMMU', f'{why}: the NIC can write to all memory of the machine, and {UIO} needs root and hugepages',
                      f'{IOMMU_ON}; then: dpdk-devbind.py -b {VFIO} {nic.name}')


def dma_memory(target):
    """Check the memory that the NIC reads and writes: hugepages for physical addresses, and the limit of locked memory."""
    nic = target.device()
    if not target.nic or nic.driver not in USERSPACE_DRIVERS:
        return
    has_hugepages = any(int(read(target.sysfs, 'kernel/mm/hugepages', name, 'nr_hugepages') or 0)
                        for name in names(target.sysfs, 'kernel/mm/hugepages'))
    is_physical = nic.driver != VFIO or nic.group is None
    if is_physical and ('--no-huge' in target.eal or not has_hugepages):
        yield Finding(FAULT, 'hugepages', f'{nic.driver} without an IOMMU uses physical addresses, which only hugepages keep',
                      f'{target.reserve_hugepages(VFIO_MIB // 2)}    (and EAL without --no-huge)')
    limit = re.search(r'^Max locked memory\s+(\d+)', read(target.proc, 'self/limits') or '', re.MULTILINE)
    effective = re.search(r'^CapEff:\s*([0-9a-f]+)$', read(target.proc, 'self/status') or '', re.MULTILINE)
    may_lock = bool(effective) and bool(int(effective[1], 16) >> CAP_IPC_LOCK & 1)
    if nic.driver == VFIO and nic.group and limit and int(limit[1]) < VFIO_MIB << 20 and not may_lock:
        yield Finding(FAULT, 'permissions', f'{int(limit[1]) >> 10} KiB of memory may be locked, and vfio locks all memory of EAL',
                      'ulimit -l unlimited    (of a service: LimitMEMLOCK=infinity)')


# ----------------------------------------------------------------------------------- queues, offloads

def queues(target):
    """The queues and offloads of a NIC, as the kernel's driver reports them."""
    nic = target.device()
    if nic is None or not nic.is_there:
        return
    if not nic.interfaces:
        if nic.driver in USERSPACE_DRIVERS:
            yield Finding(OK, 'queues', 'their number, and the offloads, are DPDK\'s to say while it has the NIC',
                          f'echo "show port info 0" | dpdk-testpmd {" ".join(nic.allow)} -- -i    (while no other program has it)')
        return
    interface = target.interface or nic.interfaces[0]
    most = re.search(r'maximums:(.*?)(?:Current|\Z)', ask_ethtool('-l', interface), re.DOTALL)
    counts = [int(count) for count in re.findall(r'^(?:RX|Combined):\s*(\d+)', most[1] if most else '', re.MULTILINE)]
    features = dict(re.findall(r'^([\w-]+): (on|off)', ask_ethtool('-k', interface), re.MULTILINE))
    if counts:
        yield from enough_queues(target, max(counts), features.get('receive-hashing') == 'on')
    if features:
        on = [text for name, text in OFFLOADS.items() if features.get(name) == 'on']
        yield Finding(OK, 'offloads', f'{", ".join(on) or "none"} (of the kernel\'s driver; DPDK\'s may differ)',
                      f'ethtool -k {interface}; ethtool -l {interface}')


def enough_queues(target, nb, has_rss):
    """Check whether each worker has a queue, and gets frames."""
    has = f'{nb} receive queue' + ('s' if nb > 1 else '')
    workers = int(target.keys['workers']) if target.keys.get('workers', '').isdigit() else 1
    if target.nic and workers > nb:
        yield Finding(FAULT, 'queues', f'workers={workers}, and the NIC has {has}', f'{target.name},workers={nb}')
    elif target.nic and workers > 1 and not has_rss:
        yield Finding(NOTE, 'queues', f'the NIC has no RSS: one of the {workers} workers receives all frames, and passes them on',
                      f'{target.name},workers=1')
    else:
        yield Finding(OK, 'queues', has + (f', and workers={workers}' if target.nic else ''))


# --------------------------------------------------------------------------------------- interrupts

def interrupts(target):
    """Check whether an idle program can sleep until a frame arrives, instead of polling the NIC."""
    nic = target.device()
    if not target.nic or nic.driver not in USERSPACE_DRIVERS:
        return
    if nic.driver != VFIO:
        yield Finding(NOTE, 'interrupts', f'{nic.driver} has none for receive queues: an idle program polls the NIC, and takes '
                      'some per cent of a CPU', f'dpdk-devbind.py -b {VFIO} {nic.name}    (if there is an IOMMU)')
    elif nic.has_queue_vectors is False and target.option('--vfio-intr') != 'legacy':
        yield Finding(NOTE, 'interrupts', 'the receive queues have no vector of MSI-X: an idle program polls the NIC, and takes '
                      'some per cent of a CPU', 'EAL with --vfio-intr=legacy')
    else:
        yield Finding(OK, 'interrupts', 'are used if DPDK\'s driver has them for receive queues',
                      'UROCE_LOG=info    (the log then has the line: receive interrupts arrive)')


# --------------------------------------------------------------------------------------------- mlx5

def parameter(nic, name, value):
    """The command that sets a parameter of an mlx5 device, and initializes the device again."""
    return f'devlink dev param set {nic.devlink} name {name} value {value} cmode driverinit && devlink dev reload {nic.devlink}'


def mlx5(target):
    """Check what DPDK's mlx5 driver needs of the kernel: an interface, verbs, and that the NIC leaves RoCE frames alone."""
    nic = target.device()
    if not target.nic or nic.driver not in MLX5_DRIVERS:
        return
    if not nic.interfaces:
        yield Finding(FAULT, 'link', f'{nic.name} has no interface of the kernel, which DPDK\'s mlx5 driver needs',
                      parameter(nic, 'enable_eth', 'true'))
    elif not nic.interfaces_up:
        yield Finding(FAULT, 'link', f'{nic.interfaces[0]} is down, and receives nothing', f'ip link set {nic.interfaces[0]} up')
    if not nic.rdma_devices:
        yield Finding(FAULT, 'verbs', f'{nic.name} has no RDMA device, by which DPDK\'s mlx5 driver opens it',
                      f'modprobe -a mlx5_ib ib_uverbs    (or: {parameter(nic, "enable_rdma", "true")})')
        return
    yield from verbs_access(target, nic)
    name = nic.rdma_devices[0]
    if roce_gids(nic, name):
        yield Finding(FAULT, 'UDP 4791', f'RoCE of the NIC is on: {name} has GIDs, and takes frames of UDP port 4791',
                      parameter(nic, 'enable_roce', 'false'))
    else:
        yield Finding(OK, 'UDP 4791', f'RoCE of the NIC is off: {name} has no GID')


def verbs_access(target, nic):
    """Check whether this user may open the NIC by verbs."""
    nodes = [os.path.join(target.dev, 'infiniband', name) for name in names(nic.folder, 'infiniband_verbs')]
    if not nodes:
        yield Finding(FAULT, 'verbs', 'there is no uverbs device, by which DPDK\'s mlx5 driver opens the NIC', 'modprobe ib_uverbs')
    elif not os.access(nodes[0], os.R_OK | os.W_OK):
        yield Finding(FAULT, 'permissions', f'{nodes[0]} may not be opened', f'chown $USER {nodes[0]}')


def roce_gids(nic, device):
    """The indices of the GID table of a device that have an entry. A device whose RoCE is off has no table."""
    base = os.path.join(nic.folder, 'infiniband', device, 'ports/1/gid_attrs/types')
    return [index for index in names(base) if read(base, index)]


CHECKS = (driver, iommu, dma_memory, mlx5, queues, interrupts)


def nic_findings(target):
    """The findings about the NIC of a port."""
    for check in CHECKS:
        yield from check(target)
