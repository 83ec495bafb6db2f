# SPDX-License-Identifier: BSD-3-Clause
"""uroce on an emulated PCI NIC, in a guest."""

import json
import os

from guest import NIC, build
from network import CONTROL, DATA_MTU
from nic_guest import ADDRESSES, NICS, NicGuest, lacking_nic
from peers import Missing
from peers.in_guest import InGuest
from peers.uroce import Uroce
from uroce_ports import TOP

KERNEL = 'stable'
COUNTERS = f'python3 -I -S {os.path.join(TOP, "test/interop/guest/counters.py")}'
DMA_FAULT = 'DMAR: .*fault addr'    # line of the kernel: the NIC has used an address that is not mapped for it
ADDRESS_0 = 'fault addr 0x0 '    # the driver vmxnet3 leaves addresses of optional tables 0, and the NIC reads them
NB_WORKERS = 2    # of a NIC that has several queues


class NicPeer(InGuest, Uroce):
    preload = None    # a library that all programs on the NIC load, to test the runner

    def __init__(self, number, network, log, nic, iova):
        super().__init__(number, network, log, port=None)
        self.nic = nic
        self.iova = iova
        # The tap moves a flow to the queue on which the guest has transmitted a frame of the flow (tun.c of Linux).
        self.moves_flows = NICS[nic].nb_queues > 1

    def prepare(self):
        why = build(KERNEL, self.log, NIC) or lacking_nic(self.nic)
        if why:
            raise Missing(why)

    def start(self):
        self.guest = NicGuest(f'n{self.number}', self.number, KERNEL, tap=self.network.port(self.number),
                              control_bridge=CONTROL, mtu=DATA_MTU, console=f'{self.log.name}.console',
                              nic=self.nic, iova=self.iova)
        self.network.ends[self.number] = self.guest.tap
        self.guest.launch()

    def ready(self):
        self.guest.wait()
        self.guest.bind()
        if self.program:
            self.begin_program()

    def spec(self):
        keys = [f'addr={address}' for address in self.network.addresses(self.number)]
        if NICS[self.nic].nb_queues > 1:
            keys.append(f'workers={NB_WORKERS}')
        return ','.join([ADDRESSES[self.iova], *keys])

    def eal(self):
        more = NICS[self.nic].vfio_eal if self.iova == 'va' else ()
        return ['-a', ADDRESSES[self.iova], f'--iova-mode={self.iova}', '--in-memory', *more]

    def spawn(self, command, **options):
        if self.preload:
            command = ['env', f'LD_PRELOAD={self.preload}', *command]
        return self.guest.run(command, **options)

    def counters(self):
        return json.loads(self.guest.output(COUNTERS))

    def faults(self):
        said = self.guest.output(f'dmesg --read-clear | grep -E "{DMA_FAULT}" || :').splitlines()
        return [f'{self.name}: {line.strip()}' for line in said if not self.is_known(line)]

    def is_known(self, fault):
        return self.nic == 'vmxnet3' and ADDRESS_0 in fault

    def version(self):
        return f'{super().version()}, DPDK in a guest, {NICS[self.nic].device} of QEMU, IOVA as {self.iova.upper()}'
