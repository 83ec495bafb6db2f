# SPDX-License-Identifier: BSD-3-Clause
"""Tests of uroce-doctor with NICs, on machines that are simulated by files: drivers, IOMMU groups, memory for DMA, queues,
and NICs that the kernel and DPDK share.
"""

import os

from doctor_machine import PCI, bind, faulty, findings, join_group, named, write
from doctor_rig import expect
import uroce_doctor_nic
from uroce_target import FAULT, NOTE, OK

OTHER, SF = '0000:01:00.1', 'mlx5_core.sf.4'
RELEASE = '6.1.0-test'
NIC = f'sys/bus/pci/devices/{PCI}'
CHANNELS = """Channel parameters for eth1:
Pre-set maximums:
RX:\t\tn/a
TX:\t\tn/a
Other:\t\t1
Combined:\t4
Current hardware settings:
RX:\t\tn/a
TX:\t\tn/a
Other:\t\t1
Combined:\t2
"""
FEATURES = """Features for eth1:
rx-checksumming: on
tx-checksumming: on
\ttx-checksum-ipv4: off [fixed]
scatter-gather: on
rx-vlan-offload: on [fixed]
tx-vlan-offload: off [fixed]
receive-hashing: {}
"""


def both(*preparations):
    def prepare(root):
        for each in preparations:
            each(root)
    return prepare


def interface(root, folder=NIC, flags='0x1003'):
    write(root, f'{folder}/net/eth1/flags', flags)


def down(root):
    interface(root, flags='0x1002')


def loaded(*modules):
    """The files of loaded modules."""
    def prepare(root):
        for module in modules:
            os.makedirs(os.path.join(root, 'sys/module', module))
    return prepare


def kernel_with(*modules):
    """The list of the modules that the kernel can load."""
    def prepare(root):
        write(root, 'proc/sys/kernel/osrelease', RELEASE)
        write(root, f'modules/{RELEASE}/modules.dep', '\n'.join(f'kernel/drivers/{module}.ko.xz:' for module in modules))
    return prepare


def neighbour(driver, kind='0x020000'):
    """Another device of the NIC's IOMMU group."""
    def prepare(root):
        bind(root, OTHER, driver)
        write(root, f'sys/bus/pci/devices/{OTHER}/class', kind)
        join_group(root, OTHER, 12)
    return prepare


def virtual_function(root):
    os.symlink('../0000:01:00.4', os.path.join(root, NIC, 'physfn'))
    os.makedirs(os.path.join(root, 'sys/bus/pci/devices/0000:01:00.4'))


def locked_memory(amount):
    return lambda root: write(root, 'proc/self/limits', f'Max locked memory         {amount}              {amount}              bytes')


def test_drivers():
    """How to bind a NIC."""
    expect('the command of dpdk-devbind', faulty('a NIC of the kernel', 'driver', "0000:01:00.0 belongs to the kernel's ixgbe: DPDK",
           driver='ixgbe') == f'modprobe vfio-pci && dpdk-devbind.py -b vfio-pci {PCI}')
    remedy = faulty('an interface ends', 'driver', 'cannot have it (eth1 of the kernel ends with it)', driver='ixgbe',
                    prepare=both(interface, loaded('vfio_pci')))
    expect('the interface is up, and the module is loaded', remedy == f'ip link set eth1 down && dpdk-devbind.py -b vfio-pci {PCI}',
           remedy)
    remedy = faulty('an interface that is down', 'driver', 'eth1', driver='ixgbe', prepare=both(down, loaded('vfio_pci')))
    expect('is left as it is', remedy == f'dpdk-devbind.py -b vfio-pci {PCI}', remedy)
    remedy = faulty('an interface of virtio', 'driver', '(eth1 of the kernel', driver='virtio-pci',
                    prepare=lambda root: interface(root, f'{NIC}/virtio0'))
    expect('is that of a device beneath', remedy.startswith('ip link set eth1 down'), remedy)
    remedy = faulty('no IOMMU', 'driver', "the kernel's ixgbe", driver='ixgbe', iommu=False)
    expect('the driver that needs none', remedy == f'modprobe uio_pci_generic && dpdk-devbind.py -b uio_pci_generic {PCI}', remedy)
    remedy = faulty('no IOMMU, and vfio does without', 'driver', "the kernel's ixgbe", driver='ixgbe', iommu=False,
                    prepare=lambda root: write(root, 'sys/module/vfio/parameters/enable_unsafe_noiommu_mode', 'Y'))
    expect('vfio', remedy.endswith(f'-b vfio-pci {PCI}'), remedy)
    remedy = faulty('a kernel without vfio-pci', 'driver', "the kernel's ixgbe", driver='ixgbe',
                    prepare=kernel_with('uio/uio_pci_generic'))
    expect('the other driver', remedy.endswith(f'-b uio_pci_generic {PCI}'), remedy)
    remedy = faulty('a kernel with neither', 'driver', 'this kernel has no vfio-pci for this NIC, and not uio_pci_generic', driver='ixgbe',
                    prepare=kernel_with('net/ixgbe'))
    expect('another kernel', remedy.startswith('apt-get install linux-image'), remedy)
    remedy = faulty('a virtual function', 'driver', 'no vfio-pci, and a virtual function needs it', driver='ixgbevf',
                    prepare=both(virtual_function, kernel_with('uio/uio_pci_generic')))
    found = findings(driver='uio_pci_generic', iommu=False)
    expect('without an IOMMU', named(found, OK, 'driver', 'uio_pci_generic') and
           named(found, NOTE, 'IOMMU', 'the NIC can write to all memory of the machine'), found)


def test_groups():
    """Other devices of the IOMMU group."""
    expect('a group of its own', named(findings(), OK, 'IOMMU', 'on: group 12'))
    remedy = faulty('the kernel uses another device of the group', 'IOMMU', 'of its IOMMU group 12: 0000:01:00.1 (ixgbe)',
                    prepare=neighbour('ixgbe'))
    expect('bind that, too', remedy.startswith(f'dpdk-devbind.py -b vfio-pci {OTHER}'), remedy)
    found = findings(driver='ixgbe', prepare=neighbour('ixgbe'))
    expect('also before the NIC is bound', named(found, FAULT, 'IOMMU', OTHER) and named(found, FAULT, 'driver'), found)
    for what, prepare in (('a device without a driver', neighbour(None)), ('a device of vfio', neighbour('vfio-pci')),
                          ('a bridge', neighbour('pcieport', '0x060400')), ('a bridge of another driver', neighbour('shpchp', '0x060400'))):
        found = findings(prepare=prepare)
        expect(f'in the group: {what}', named(found, OK, 'IOMMU'), found)
    remedy = faulty('no mappings in the IOMMU', 'IOMMU', f'it blocks the DMA of {PCI}, for which uio_pci_generic maps nothing',
                    driver='uio_pci_generic', prepare=lambda root: write(root, 'sys/kernel/iommu_groups/12/type', 'DMA-FQ'))
    expect('the driver that maps', remedy.startswith(f'dpdk-devbind.py -b vfio-pci {PCI}'), remedy)
    found = findings(driver='uio_pci_generic', prepare=lambda root: write(root, 'sys/kernel/iommu_groups/12/type', 'identity'))
    expect('an IOMMU that passes DMA', not any(entry.level == FAULT for entry in found), found)
    faulty('the IOMMU leaves the NIC out', 'IOMMU', 'it has no group for 0000:01:00.0, and vfio insists', iommu=False,
           prepare=lambda root: os.makedirs(os.path.join(root, 'sys/class/iommu/dmar0')))
    found = findings(driver='vfio-pci', iommu=False, prepare=both(
        lambda root: write(root, 'sys/module/vfio/parameters/enable_unsafe_noiommu_mode', 'Y'),
        lambda root: join_group(root, PCI, 0), lambda root: write(root, 'sys/kernel/iommu_groups/0/name', 'vfio-noiommu')))
    expect('the group that vfio makes without an IOMMU', named(found, OK, 'IOMMU', 'vfio does without (unsafe)'), found)


def test_memory():
    """Memory that the NIC reads and writes, and the nodes."""
    found = findings()
    expect('hugepages of each node', named(found, OK, 'NUMA', '(node 0: 0 MiB of hugepages free, node 1: 1024 MiB'), found)
    faulty('physical addresses without hugepages', 'hugepages', 'which only hugepages keep', driver='uio_pci_generic', iommu=False,
           free=None)
    faulty('physical addresses with --no-huge', 'hugepages', 'which only hugepages keep', driver='uio_pci_generic', iommu=False,
           eal=('-l', '2-3', '--no-huge'))
    remedy = faulty('little memory may be locked', 'permissions', '8192 KiB of memory may be locked', prepare=locked_memory(8388608))
    expect('a unit needs a line, too', 'LimitMEMLOCK=infinity' in remedy, remedy)
    for what, traits in (('much memory', {'prepare': locked_memory(1 << 30)}), ('all memory', {'prepare': locked_memory('unlimited')}),
                         ('the capability', {'prepare': locked_memory(65536), 'capabilities': 7 << 12})):
        found = findings(**traits)
        expect(f'{what} may be locked', not any(entry.level == FAULT for entry in found), found)


def ethtool(has_rss):
    return lambda *words: {'-l': CHANNELS, '-k': FEATURES.format('on' if has_rss else 'off')}[words[0]]


def test_queues():
    """What ethtool says while the kernel has the NIC."""
    real = uroce_doctor_nic.ask_ethtool
    spec = f'{PCI},addr=192.0.2.1/24,workers='
    try:
        uroce_doctor_nic.ask_ethtool = ethtool(True)
        found = findings(driver='ixgbe', prepare=interface)
        expect('queues', named(found, OK, 'queues', '4 receive queues'), found)
        expect('offloads', named(found, OK, 'offloads', 'RSS, RX checksums, TX checksums, VLAN stripping, chained buffers ('), found)
        found = findings(driver='ixgbe', prepare=interface, spec=spec + '5')
        expect('more workers than queues', named(found, FAULT, 'queues', 'workers=5, and the NIC has 4'), found)
        uroce_doctor_nic.ask_ethtool = ethtool(False)
        found = findings(driver='ixgbe', prepare=interface, spec=spec + '2')
        expect('workers without RSS', named(found, NOTE, 'queues', 'no RSS: one of the 2 workers'), found)
        uroce_doctor_nic.ask_ethtool = lambda *words: ''
        found = findings(driver='ixgbe', prepare=interface)
        expect('no ethtool', not any(entry.check in ('queues', 'offloads') for entry in found), found)
    finally:
        uroce_doctor_nic.ask_ethtool = real
    found = findings()
    expect('queues while DPDK has the NIC', any(entry.check == 'queues' and f'dpdk-testpmd -a{PCI}' in entry.remedy for entry in found),
           found)


def configuration(*capabilities, identity='0x8086 0x100e'):
    """The configuration space of a NIC with these capabilities, and its vendor and device."""
    def prepare(root):
        config = bytearray(256)
        for at, capability in enumerate(capabilities):
            config[0x40 + 16 * at:0x42 + 16 * at] = capability, 0x50 + 16 * at if at + 1 < len(capabilities) else 0
        config[0x06], config[0x34] = (0x10, 0x40) if capabilities else (0, 0)
        with open(os.path.join(root, NIC, 'config'), 'wb') as file:
            file.write(config)
        for name, value in zip(('vendor', 'device'), identity.split()):
            write(root, f'{NIC}/{name}', value)
    return prepare


def test_interrupts():
    """Whether an idle program can sleep."""
    legacy = ('-l', '2-3', '--vfio-intr=legacy')
    for what, level, traits in (
            ('MSI-X', OK, {'prepare': configuration(0x01, 0x11)}),
            ('MSI-X in front', OK, {'prepare': configuration(0x11, 0x05)}),
            ('an unreadable configuration', OK, {}),
            ('no capability', NOTE, {'prepare': configuration()}),
            ('MSI alone', NOTE, {'prepare': configuration(0x01, 0x05)}),
            ('MSI alone, and INTx is chosen', OK, {'prepare': configuration(0x01, 0x05), 'eal': legacy}),
            ('an 82574L', NOTE, {'prepare': configuration(0x11, identity='0x8086 0x10d3')}),
            ('an 82574L, and INTx is chosen', OK, {'prepare': configuration(0x11, identity='0x8086 0x10d3'), 'eal': legacy}),
            ('uio', NOTE, {'driver': 'uio_pci_generic', 'iommu': False})):
        found = findings(**traits)
        expect(f'interrupts: {what}', named(found, level, 'interrupts'), found)


def mlx5(root, folder=NIC, gids='', has_rdma=True):
    """A NIC that the kernel and DPDK share."""
    interface(root, folder)
    if has_rdma:
        os.makedirs(os.path.join(root, folder, 'infiniband_verbs/uverbs0'))
        write(root, 'dev/infiniband/uverbs0', '')
        os.makedirs(os.path.join(root, folder, 'infiniband/mlx5_0/ports/1/gid_attrs/types'))
        if gids:
            write(root, f'{folder}/infiniband/mlx5_0/ports/1/gid_attrs/types/0', gids)


def test_mlx5():
    """NICs that stay bound to the kernel."""
    found = findings(driver='mlx5_core', prepare=mlx5)
    expect('it stays bound to the kernel', named(found, OK, 'driver', 'it stays bound to the kernel') and
           named(found, OK, 'UDP 4791', 'RoCE of the NIC is off') and not any(entry.level == FAULT for entry in found), found)
    remedy = faulty('RoCE of the NIC is on', 'UDP 4791', 'mlx5_0 has GIDs, and takes frames of UDP port 4791', driver='mlx5_core',
                    prepare=lambda root: mlx5(root, gids='RoCE v2'))
    expect('how to switch it off', remedy == f'devlink dev param set pci/{PCI} name enable_roce value false cmode driverinit && '
           f'devlink dev reload pci/{PCI}', remedy)
    faulty('no RDMA device', 'verbs', 'no RDMA device', driver='mlx5_core', prepare=lambda root: mlx5(root, has_rdma=False))
    faulty('no uverbs', 'verbs', 'no uverbs device', driver='mlx5_core', prepare=both(interface, lambda root: os.makedirs(
        os.path.join(root, NIC, 'infiniband/mlx5_0/ports'))))
    faulty('its interface is down', 'link', 'eth1 is down', driver='mlx5_core', prepare=both(mlx5, down))
    faulty('no capabilities', 'permissions', 'CAP_NET_RAW and CAP_NET_ADMIN missing: 0000:01:00.0', driver='mlx5_core', prepare=mlx5,
           capabilities=0)


def test_functions():
    """Scalable functions."""
    spec, folder = f'{SF},addr=192.0.2.1/24', f'sys/bus/auxiliary/devices/{SF}'
    found = findings(spec=spec, prepare=both(lambda root: bind(root, SF, 'mlx5_core.sf', 'auxiliary'),
                                             lambda root: mlx5(root, folder)))
    expect('a scalable function', named(found, OK, 'driver', 'mlx5_core.sf,') and not any(entry.level == FAULT for entry in found), found)
    found = findings(spec=f'{PCI}_representor_sf4,addr=192.0.2.1/24', driver='mlx5_core', prepare=mlx5)
    expect('a representor', named(found, OK, 'driver', 'mlx5_core,') and not any(entry.level == FAULT for entry in found), found)
    faulty('no such function', 'driver', f'no device at {SF}', spec=spec)
    remedy = faulty('a function that is only configured', 'driver', f'{SF} belongs to mlx5_core.sf_cfg', spec=spec,
                    prepare=lambda root: bind(root, SF, 'mlx5_core.sf_cfg', 'auxiliary'))
    expect('the driver of its interface', remedy.endswith('/sys/bus/auxiliary/drivers/mlx5_core.sf/bind'), remedy)
    found = findings(spec=spec, prepare=lambda root: bind(root, SF, 'mlx5_core.sf', 'auxiliary'))
    expect('a function without an interface', any(
        entry.check == 'link' and entry.remedy == f'devlink dev param set auxiliary/{SF} name enable_eth value true cmode driverinit && '
        f'devlink dev reload auxiliary/{SF}' for entry in found), found)


def test_interfaces():
    """An interface of the kernel on a NIC, by which AF_PACKET sends."""
    def on_nic(root):
        interface(root)
        os.makedirs(os.path.join(root, 'sys/class/net/nic7'))
        os.symlink(f'../../../bus/pci/devices/{PCI}', os.path.join(root, 'sys/class/net/nic7/device'))
    found = findings(spec='nic7', driver='ixgbe', prepare=on_nic)
    expect('DPDK could have the NIC instead', any(entry.level == OK and entry.check == 'driver' and f'-b vfio-pci {PCI}' in entry.remedy
                                                 for entry in found), found)


def test_all():
    for test in test_drivers, test_groups, test_memory, test_queues, test_interrupts, test_mlx5, test_functions, test_interfaces:
        test()
