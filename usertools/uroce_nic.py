# SPDX-License-Identifier: BSD-3-Clause
"""What sysfs says of a NIC: its driver, its interfaces, its IOMMU group and its NUMA node, and the commands that give it to
DPDK. A NIC has a PCI address, or is a scalable function, such as mlx5_core.sf.4, on the auxiliary bus.
"""

import dataclasses
import os
import re

PCI_ADDRESS = re.compile(r'[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$', re.IGNORECASE)
AUXILIARY = re.compile(r'mlx5_core\.sf\.\d+$')

VFIO, UIO = 'vfio-pci', 'uio_pci_generic'
USERSPACE_DRIVERS = (VFIO, 'igb_uio', UIO)
# Drivers that the kernel and DPDK can use at the same time. mlx5_core.sf is the one of scalable functions.
SHARED_DRIVERS = ('mlx4_core', 'mlx5_core', 'mlx5_core.sf', 'mana')
MLX5_DRIVERS = ('mlx5_core', 'mlx5_core.sf')
# Drivers of Linux that may have another device of the IOMMU group while vfio has this one. None: the device has no driver.
HARMLESS_IN_GROUP = (None, VFIO, 'pci-stub', 'pcieport')
PCI_BRIDGE = '0x0604'    # beginning of the class of bridges, which vfio leaves out of account
NOIOMMU = 'vfio-noiommu'    # name of the IOMMU group that vfio makes without an IOMMU
IFF_UP = 1
# The configuration space of PCI: whether there is a list of capabilities, where it begins, and the capability of MSI-X. The
# lowest two bits of a pointer are reserved.
STATUS, HAS_LIST, FIRST, MSIX, POINTER = 0x06, 0x10, 0x34, 0x11, 0xfc
# The 82574L has MSI-X, but DPDK's driver does not assign its queues to a vector.
WITHOUT_QUEUE_VECTORS = ('0x8086', '0x10d3'),


def read(*path):
    """The text of a file, or None."""
    try:
        with open(os.path.join(*path), encoding='utf-8') as file:
            return file.read().strip()
    except OSError:    # reading an empty entry of the GID table fails with EINVAL
        return None


def names(*path):
    """The names in a folder; numbers in numerical order."""
    try:
        found = os.listdir(os.path.join(*path))
    except OSError:
        return []
    return sorted(found, key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name))


def is_nic(name):
    """Whether a name is that of a device on a bus: a PCI address, or a scalable function."""
    return PCI_ADDRESS.match(name) is not None or AUXILIARY.match(name) is not None


def link_name(*path):
    """The last part of the path to which a symbolic link leads; None: there is no link."""
    path = os.path.join(*path)
    return os.path.basename(os.path.realpath(path)) if os.path.exists(path) else None


@dataclasses.dataclass
class Nic:
    """A NIC. `sysfs`, `proc` and `modules` are the folders in which the machine is described."""
    name: str
    sysfs: str = '/sys'
    proc: str = '/proc'
    modules: str = '/lib/modules'

    @property
    def is_auxiliary(self):
        return AUXILIARY.match(self.name) is not None

    @property
    def folder(self):
        return os.path.join(self.sysfs, 'bus', 'auxiliary' if self.is_auxiliary else 'pci', 'devices', self.name)

    @property
    def is_there(self):
        return os.path.isdir(self.folder)

    @property
    def driver(self):
        """The driver to which the NIC is bound, or None."""
        return link_name(self.folder, 'driver')

    @property
    def is_for_dpdk(self):
        return self.driver in USERSPACE_DRIVERS + SHARED_DRIVERS

    @property
    def allow(self):
        """The options of EAL that allow this NIC and no other. EAL has a list for each bus, and without one it takes all
        devices of the bus. The scalable functions of mlx5 are on another bus than its PCI functions.
        """
        if self.is_auxiliary:
            return ['--no-pci', f'-aauxiliary:{self.name}']
        return [f'-a{self.name}'] + (['-aauxiliary:'] if self.driver in MLX5_DRIVERS else [])

    @property
    def devlink(self):
        """The name of the device for devlink(8)."""
        return f'auxiliary/{self.name}' if self.is_auxiliary else f'pci/{self.name}'

    @property
    def interfaces_folder(self):
        """The folder of the interfaces. Those of virtio are in the folder of a device beneath."""
        beneath = [name for name in names(self.folder) if name.startswith('virtio')]
        return os.path.join(self.folder, *beneath[:1], 'net')

    @property
    def interfaces(self):
        """The interfaces of the kernel on this NIC."""
        return names(self.interfaces_folder)

    @property
    def interfaces_up(self):
        return [name for name in self.interfaces if int(read(self.interfaces_folder, name, 'flags') or '0', 16) & IFF_UP]

    @property
    def rdma_devices(self):
        """The kernel's RDMA devices on this NIC."""
        return names(self.folder, 'infiniband')

    @property
    def capabilities(self):
        """The PCI capabilities; None: this user may not read them."""
        try:
            with open(os.path.join(self.folder, 'config'), 'rb') as file:
                config = file.read(256)
        except OSError:
            return None
        if len(config) < 256:
            return None
        found, at = {}, config[FIRST] & POINTER if config[STATUS] & HAS_LIST else 0
        while at and at not in found:
            found[at], at = config[at], config[at + 1] & POINTER
        return set(found.values())

    @property
    def has_queue_vectors(self):
        """Whether the receive queues have vectors of MSI-X; None: unknown."""
        if (read(self.folder, 'vendor'), read(self.folder, 'device')) in WITHOUT_QUEUE_VECTORS:
            return False
        return None if self.capabilities is None else MSIX in self.capabilities

    @property
    def numa_node(self):
        """The number of the NUMA node; -1: none. A scalable function has that of its PCI function."""
        folder = os.path.dirname(os.path.realpath(self.folder)) if self.is_auxiliary else self.folder
        return int(read(folder, 'numa_node') or -1)

    @property
    def is_virtual_function(self):
        return os.path.exists(os.path.join(self.folder, 'physfn'))

    @property
    def group(self):
        """The number of the IOMMU group; None: no IOMMU translates for this NIC."""
        if read(self.folder, 'iommu_group', 'name') == NOIOMMU:
            return None
        return link_name(self.folder, 'iommu_group')

    @property
    def is_translated(self):
        """Whether the IOMMU blocks all DMA of the NIC that no driver has mapped."""
        return self.group is not None and (read(self.folder, 'iommu_group', 'type') or '').startswith('DMA')

    @property
    def group_conflicts(self):
        """The other devices of the IOMMU group because of which vfio refuses this NIC: [(PCI address, driver)]."""
        found = []
        for name in names(self.folder, 'iommu_group', 'devices'):
            other = dataclasses.replace(self, name=name)
            is_bridge = (read(other.folder, 'class') or '').startswith(PCI_BRIDGE)
            if name != self.name and not is_bridge and other.driver not in HARMLESS_IN_GROUP:
                found.append((name, other.driver))
        return found

    @property
    def allows_noiommu(self):
        """Whether vfio may do without an IOMMU."""
        return read(self.sysfs, 'module/vfio/parameters/enable_unsafe_noiommu_mode') == 'Y'

    def is_loaded(self, module):
        return os.path.isdir(os.path.join(self.sysfs, 'module', module.replace('-', '_')))

    def has_module(self, module):
        """Whether this kernel has a module; None: not known."""
        folder = os.path.join(self.modules, read(self.proc, 'sys/kernel/osrelease') or '?')
        lists = [read(folder, name) for name in ('modules.dep', 'modules.builtin')]
        if self.is_loaded(module):
            return True
        if lists == [None, None]:
            return None
        pattern = re.compile(rf'(^|/){re.escape(module)}\.ko', re.MULTILINE)
        return any(pattern.search(text or '') for text in lists)

    @property
    def best_driver(self):
        """The driver to which the NIC should be bound; None: this kernel has none that is suitable."""
        wanted = (VFIO, UIO) if self.group or self.allows_noiommu else (UIO,)
        if self.is_virtual_function:
            wanted = (VFIO,)    # virtual functions have no INTx, which the other driver needs
        return next((module for module in wanted if self.has_module(module) is not False), None)

    @property
    def bind_command(self):
        """The command that binds the NIC to the best driver."""
        module = self.best_driver
        words = [f'ip link set {name} down' for name in self.interfaces_up]
        words += [] if self.is_loaded(module) else [f'modprobe {module}']
        return ' && '.join(words + [f'dpdk-devbind.py -b {module} {self.name}'])
