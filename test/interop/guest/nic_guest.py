# SPDX-License-Identifier: BSD-3-Clause
"""Linux guests whose data device is an emulated PCI NIC, which a program in the guest drives through DPDK.

Such a guest has no driver of the kernel for the NIC. With an IOMMU (`va`) the NIC is bound to vfio-pci, and the addresses
of its DMA are virtual addresses of the program. Without an IOMMU (`pa`) it is bound to uio_pci_generic, and the addresses
are those of the guest's memory. In both cases DPDK's memory is in hugepages. The emulation of e1000e and vmxnet3 drops a
frame, without an error, if a segment of it is not contiguous in the guest's memory. Hugepages are contiguous.
"""

import subprocess

from guest import NIC, Guest, qemu
from monitor import Monitor
from uroce_ports import LabError

QEMU = qemu('stable')
SLOT = 0x08    # the functions of an igb with SR-IOV need more numbers behind their own
# Address of the NIC in the guest. With an IOMMU the NIC is behind a PCI Express port, so that it can be unplugged.
ADDRESSES = {'va': '0000:01:00.0', 'pa': f'0000:00:{SLOT:02x}.0'}
PORT = f'pcie-root-port,id=upstream,bus=pcie.0,addr={SLOT:#x},chassis=1,slot=1'
HUGEPAGES = 192    # of 2 MiB: for DPDK, and for programs
DRIVERS = {'va': 'vfio-pci', 'pa': 'uio_pci_generic'}
# 48 bits of address, as IOMMUs of servers have. DPDK uses virtual addresses only if all of them fit.
IOMMU = 'intel-iommu,intremap=on,device-iotlb=on,aw-bits=48'
BIND = '''
device=/sys/bus/pci/devices/{address}
if ! mountpoint -q /dev/hugepages; then
	mkdir -p /dev/hugepages && mount -t hugetlbfs hugetlbfs /dev/hugepages || exit 1
fi
[ ! -e $device/driver ] || echo {address} >$device/driver/unbind || exit 1
echo {driver} >$device/driver_override && echo {address} >/sys/bus/pci/drivers_probe
[ "$(basename "$(readlink -f $device/driver)")" = {driver} ] && cat $device/vendor $device/device
'''


class Nic:
    """A NIC that QEMU emulates: the name and the properties of its device, its queues, and options of EAL with vfio. With
    the options `rx_intr_eal` in addition, its driver has receive interrupts.
    """

    def __init__(self, device, keys='', nb_queues=1, is_virtio=False, vfio_eal=(), rx_intr_eal=()):
        self.device = device
        self.keys = keys
        self.nb_queues = nb_queues
        self.is_virtio = is_virtio
        self.vfio_eal = vfio_eal
        self.rx_intr_eal = rx_intr_eal


NICS = {
    'e1000': Nic('e1000', vfio_eal=('--vfio-intr=legacy',)),    # EAL tries MSI-X, which the NIC lacks, and then nothing
    'e1000e': Nic('e1000e', rx_intr_eal=('--vfio-intr=legacy',)),    # the driver does not assign the queues to MSI-X
    'igb': Nic('igb'),
    'vmxnet3': Nic('vmxnet3'),
    'virtio': Nic('virtio-net-pci', ',rx_queue_size=1024', is_virtio=True),
    'virtio4': Nic('virtio-net-pci', ',rx_queue_size=1024,mq=on,vectors=10', nb_queues=4, is_virtio=True),
}


def lacking_nic(name):
    """Why QEMU, which is installed, cannot emulate this NIC; None: it can."""
    said = subprocess.run([QEMU, '-device', 'help'], capture_output=True, text=True, check=False).stdout
    if f'name "{NICS[name].device}"' in said:
        return None
    version = subprocess.run([QEMU, '--version'], capture_output=True, text=True, check=False).stdout.split('\n')[0]
    return f'{version or QEMU} has no device {NICS[name].device}'


class NicGuest(Guest):
    """A guest with a NIC of this name of NICS. `iova` is `va` or `pa`."""

    machine = 'q35'
    memory = 1024
    modules = NIC

    def __init__(self, *words, nic, iova, **options):
        super().__init__(*words, **options)
        self.nic = NICS[nic]
        self.iova = iova
        self.nb_queues = self.nic.nb_queues
        self.address_of_nic = ADDRESSES[iova]
        self.arguments = f'hugepagesz=2M hugepages={HUGEPAGES}' + (' intel_iommu=on iommu=pt' if iova == 'va' else '')

    def device(self):
        """The NIC, as an argument of QEMU's option -device."""
        keys = self.nic.keys
        if self.nic.is_virtio:
            keys += f',host_mtu={self.mtu}' + (',disable-legacy=on,iommu_platform=on' if self.iova == 'va' else '')
        place = 'bus=upstream' if self.iova == 'va' else f'addr={SLOT:#x}'
        return f'{self.nic.device},id=nic,netdev=data,{place},romfile=,mac=02:00:00:00:02:{self.number:02x}{keys}'

    def data_device(self, *taps):
        fds = f'fd={taps[0]}' if len(taps) == 1 else f'fds={":".join(map(str, taps))}'
        monitor = f'unix:{self.lab.path("qmp")},server=on,wait=off'
        return [*(['-device', IOMMU, '-device', PORT] if self.iova == 'va' else []), '-qmp', monitor,
                '-netdev', f'tap,id=data,{fds}', '-device', self.device()]

    def set_link(self, is_up):
        """Let the cable of the NIC be plugged, or not."""
        self.ask('set_link', name='nic', up=is_up)

    def ask(self, command, **arguments):
        """The response of the monitor to one command."""
        monitor = Monitor(self.lab.path('qmp'))
        try:
            return monitor.do(command, **arguments)
        finally:
            monitor.close()

    def unplug(self):
        """Ask the guest to release the NIC."""
        self.ask('device_del', id='nic')

    def is_plugged(self):
        """Whether QEMU still has the NIC: after unplug(), until the guest has released it."""
        return 'nic' in (device['name'] for device in self.ask('qom-list', path='/machine/peripheral'))

    def plug(self):
        """Plug a new NIC after the removal of the old one, and bind it."""
        said = self.ask('human-monitor-command', **{'command-line': f'device_add {self.device()}'})
        if said:
            raise LabError(f'qemu: device_add: {said.strip()}')
        self.output(f'until [ -e /sys/bus/pci/devices/{self.address_of_nic}/vendor ]; do sleep 0.1; done')
        self.bind()

    def bind(self):
        """Bind the NIC to its driver, after the guest has booted or the NIC was plugged."""
        address = self.address_of_nic
        try:
            self.output(BIND.format(address=address, driver=DRIVERS[self.iova]))
        except LabError as error:
            raise LabError(f'{address} cannot be bound to {DRIVERS[self.iova]}: {error}') from error
