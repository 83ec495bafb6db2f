# SPDX-License-Identifier: BSD-3-Clause
"""The kernel's RoCE driver, rdma_rxe, in a guest."""

import glob
import os
import subprocess

from guest import CACHE, Guest, build
from network import CONTROL, DATA_MTU
from peers import Missing
from peers.actor import ActorPeer
from peers.in_guest import InGuest
from uroce_ports import TOP

# Commands that print processes which hang in the kernel, and whether the interface still sends frames.
STATE = ('for p in /proc/[0-9]*; do ! grep -q "^State:.D" $p/status || cat $p/comm $p/stack; done; '
         'tc -s qdisc show dev eth1; ip -s link show dev eth1; sleep 1; ip -s link show dev eth1')
COUNTERS = '/sys/class/infiniband/rxe0/ports/1/hw_counters'


class Rxe(InGuest, ActorPeer):
    words = ActorPeer.words | {'CM', 'MRA'}    # MRA: it sends one if its user is slow
    device = 'rxe0'
    quirks = {
        'untold-invalidation': 'a receive completion in user space has no IBV_WC_WITH_INV (the key is invalidated)',
        'window-bounds': 'a memory window is checked against the bounds of its region, not its own',
        'nak-after-rnr': 'an RNR NAK in the middle of a message is followed by a PSN sequence NAK of the same PSN',
        'ucx-last-wqe': 'a server of UCX may abort when its client has left (issue 10432 of openucx/ucx)',
        'rxm-endpoint': 'it makes no endpoint of libfabric\'s ofi_rxm (EINVAL), with rxe at the other end, too',
        'one-cpu': 'its guest has one CPU, on which the threads of a program interrupt each other',
        'no-comm-est': 'the first packet at a QP in RTR raises no IBV_EVENT_COMM_EST',
        'req-again': 'a REQ that is repeated after its REJ is a new CONNECT_REQUEST for the user',
        'sidr-again': 'a SIDR_REQ that is repeated after its SIDR_REP is a new CONNECT_REQUEST for the user',
        'too-long-status': 'a receive that is too short ends in LOC_QP_OP_ERR, not in LOC_LEN_ERR',
    }

    def __init__(self, number, network, log, kernel):
        super().__init__(number, network, log)
        self.kernel = kernel

    def prepare(self):
        why = build(self.kernel, self.log)
        if why:
            raise Missing(f'{why}, see {self.log.name}')
        if not glob.glob(os.path.join(CACHE, self.kernel, 'modules', '*rdma_ucm.ko')):
            self.words = self.words - {'CM'}

    def start(self):
        self.guest = Guest(f'g{self.number}', self.number, self.kernel, tap=self.network.port(self.number),
                           control_bridge=CONTROL, mtu=DATA_MTU, console=f'{self.log.name}.console')
        self.network.ends[self.number] = self.guest.tap
        self.guest.launch()

    def ready(self):
        self.guest.wait()
        if self.program:
            self.begin_program()

    def begin_program(self):
        self.begin(self.guest.run([os.path.join(TOP, self.path())], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=self.log))

    def run(self, command, **options):
        return self.guest.run(command, **options)

    def restart(self):
        """Start a new actor in the same guest. First log the processes that hang in the kernel: they stay there."""
        self.log.write(f'state of the guest:\n{self.guest.output(STATE)}')
        super().restart()

    def call(self, operation, **words):
        # The guest's IP layer drops datagrams to a group that no socket of the guest has joined.
        if operation == 'attach':
            words['interface'] = 'eth1'
        return super().call(operation, **words)

    def counters(self):
        said = self.guest.output(f'cd {COUNTERS} && grep . *')
        return {name: int(value) for name, value in (line.split(':') for line in said.split())}

    def version(self):
        return 'Linux ' + self.guest.output('uname -r').strip() + ', rdma_rxe'
