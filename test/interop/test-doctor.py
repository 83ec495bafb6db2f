#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests what uroce-doctor says about the kernel's RoCE driver, rdma_rxe, in a guest: as it should be, and with one fault. Also
what it says about the NIC of the guest.

    test-doctor.py [--kernel stable|backports]

The doctor runs in a network namespace that a bridge connects with the guest, and also in the guest. Prints TAP. Builds the
guest if there is none. Skips the tests, with the reason, if no guest can be booted.
"""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'guest'))
import guest_tests  # noqa: E402
from guest import LINK_MTU, TOP, Guest, Lab, own_network  # noqa: E402
from uroce_ports import inside  # noqa: E402

DOCTOR = os.path.join(TOP, 'usertools', 'uroce-doctor')
EAL = '--', '--no-huge', '--no-pci'
HANG_S = 300    # only a hang takes longer
PEER, PEER_IPV6, LISTENER = '192.0.2.2', '2001:db8::2', '192.0.2.2:7471'
PORT_4791 = 'ip protocol 17 0xff match ip dport 4791 0xffff'    # filters of tc for IPv4
LONG = 'u16 0x1000 0xf000 at 2'                                 # packets of 4096 to 8191 bytes
DROPPED = f'{PEER} answers echo requests, and nothing on UDP port 4791'
NO_LINK = 'the kernel there has its module rdma_rxe and no device of it'
NO_DEVICE = 'UDP port 4791 passes, but {} has no RoCE device now'
LISTENS = 'until rdma resource show cm_id | grep -q LISTEN; do sleep 0.1; done'


class Doctor:
    """A host whose interface roce0 is connected with eth1 of a guest. The frames to the guest pass port1 and port2."""

    def __init__(self, kernel):
        self.lab = Lab()
        self.guest = Guest('peer', 2, kernel, tap='port2')
        own_network(self.lab)
        self.guest.launch()
        self.host = self.lab.namespace()
        self.ip(f'link add wire mtu {LINK_MTU} type bridge stp_state 0 forward_delay 0 mcast_snooping 0')
        self.ip('link set wire addrgenmode none up')
        self.ip('link add sink0 type veth')    # it is down, so it loses the frames that are redirected to it
        self.ip(f'link add port1 mtu {LINK_MTU} type veth peer name roce0 mtu {LINK_MTU} netns {self.host.pid}')
        self.ip('link set port1 addrgenmode none master wire up')
        for command in 'link set roce0 up', 'addr add 192.0.2.1/24 dev roce0', 'addr add 2001:db8::1/64 dev roce0 nodad':
            self.lab.run_in(self.host, f'ip {command}')
        self.guest.wait()
        self.ip('link set port2 master wire')

    def close(self):
        self.guest.stop()
        self.lab.close()

    def ip(self, command):
        self.lab.run_in(None, f'ip {command}')

    def drop(self, port, match):
        """Drop the frames that match a filter and come from the host (port1) or from the guest (port2)."""
        self.lab.run_in(None, f'tc qdisc add dev {port} clsact')
        self.lab.run_in(None, f'tc filter add dev {port} ingress protocol ip u32 match {match} action mirred egress redirect dev sink0')

    def pass_all(self, port):
        self.lab.run_in(None, f'tc qdisc del dev {port} clsact')

    @staticmethod
    def judge(words, found, status, texts):
        """The doctor must end with this status, and say each of these texts once."""
        said = found.communicate(timeout=HANG_S)[0]
        for text in texts:
            assert said.count(text) == 1, f'not once "{text}": uroce-doctor {" ".join(words)}\n{said}'
        assert found.returncode == status, f'status {found.returncode}: uroce-doctor {" ".join(words)}\n{said}'

    def says(self, words, status, *texts):
        words = words.split()
        found = self.lab.start([*inside(self.host), DOCTOR, *words, *EAL], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, text=True)
        self.judge(words, found, status, texts)

    def says_there(self, words, status, *texts):
        """The same in the guest."""
        words = words.split()
        found = self.guest.run([DOCTOR, *words, *EAL], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.judge(words, found, status, texts)

    # ------------------------------------------------------------------------------------- the tests

    def test_device(self):
        """a device answers, and long packets pass in both directions"""
        for port in 'roce0', 'udp':
            for peer in PEER, PEER_IPV6:
                self.says(f'{port} --peer {peer}', 0, f'a device of {peer} answers on UDP port 4791',
                          f'{peer} answers to 4184 bytes, with as many')

    def test_connection(self):
        """a connection is rejected without a listener, and accepted by rping"""
        for port in 'roce0', 'udp':
            self.says(f'{port} --connect {LISTENER}', 1, f'{LISTENER} answers with REJ, reason 8: no listener')
        listener = self.guest.run(['rping', '-s', '-P', '-a', PEER, '-p', '7471'], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            self.guest.output(LISTENS)
            for port in 'roce0', 'udp':
                self.says(f'{port} --connect {LISTENER}', 0, f'connected to {LISTENER}, and disconnected again')
        finally:
            listener.kill()
            listener.wait()

    def test_drop(self):
        """UDP port 4791 is dropped on the way there, or on the way back"""
        for sender in 'port1', 'port2':
            self.drop(sender, PORT_4791)
            self.says(f'roce0 --peer {PEER}', 1, DROPPED, f'{PEER} answers to 4184 bytes')
            self.says(f'udp --peer {PEER}', 1, DROPPED)
            self.says(f'roce0 --connect {LISTENER}', 1, 'nothing answers on UDP port 4791: a firewall drops it')
            self.pass_all(sender)

    def test_drop_there(self):
        """the peer itself drops UDP port 4791"""
        # Rules come behind the table of the own addresses, unless that moves.
        self.guest.output('ip rule add pref 100 lookup local; ip rule del pref 0; ip rule add pref 1 ipproto udp dport 4791 blackhole')
        self.says(f'roce0 --peer {PEER}', 1, DROPPED)
        self.says(f'udp --peer {PEER}', 1, DROPPED)
        self.guest.output('ip rule del pref 1; ip rule add pref 0 lookup local; ip rule del pref 100')

    def test_short_path(self):
        """the path MTU in between is too short"""
        self.ip('link set port2 mtu 1500')
        for peer in PEER, PEER_IPV6:
            self.says(f'roce0 --peer {peer}', 1, f'a device of {peer} answers on UDP port 4791',
                      f'{peer} answers, but not to 4184 bytes', 'path MTU 1024 gets through')
        self.says(f'roce0,mtu=1024 --peer {PEER}', 0, f'{PEER} answers to 1112 bytes, with as many')
        self.ip(f'link set port2 mtu {LINK_MTU}')
        self.drop('port2', LONG)
        self.says(f'udp --peer {PEER}', 1, f'4184 bytes arrive at {PEER}, and none of this length comes back',
                  'path MTU 2048 gets through')
        self.pass_all('port2')

    def test_short_peer(self):
        """the MTU of the peer is too short"""
        self.guest.output('ip link set eth1 mtu 1500')
        self.says(f'roce0 --peer {PEER}', 1, 'the response comes in fragments of 1500 bytes', 'path MTU 1024 gets through')
        self.guest.output(f'ip link set eth1 mtu {LINK_MTU}')

    def test_nic(self):
        """the NIC of an interface belongs to the kernel"""
        nic = self.guest.output('basename "$(dirname "$(realpath /sys/class/net/eth1/device)")"').strip()
        self.says_there(f'{nic},addr=192.0.2.9/24', 1, f"{nic} belongs to the kernel's virtio-pci: DPDK cannot have it (eth1 of the kernel",
                        f'ip link set eth1 down && modprobe uio_pci_generic && dpdk-devbind.py -b uio_pci_generic {nic}',
                        'there is none: the NIC can write to all memory')
        self.says_there('eth1', 1, f"eth1 is {nic} of the kernel's virtio-pci")

    def test_own_device(self):
        """on the host of the kernel's device the doctor finds it in the way"""
        self.says_there('eth1', 1, "the kernel's rxe0 is on eth1, and answers what is for us", 'rdma link delete rxe0')
        self.says_there('udp', 1, "the kernel's rxe (module rdma_rxe) has UDP port 4791 at all addresses")

    def test_no_manager(self):
        """a device answers, and the kernel there serves no connection management"""
        self.guest.output('rmmod rdma_ucm rdma_cm ib_cm')
        self.says(f'roce0 --peer {PEER}', 0, f'a device of {PEER} answers on UDP port 4791')
        self.says(f'roce0 --connect {LISTENER}', 1, 'or the kernel there has no module rdma_ucm', 'modprobe rdma_ucm')

    def test_no_link(self):
        """the device is deleted, and the module keeps the UDP port"""
        self.guest.output('rdma link delete rxe0')
        for port in 'roce0', 'udp':
            self.says(f'{port} --peer {PEER}', 1, DROPPED, NO_LINK, 'rdma link    (there)')
        self.says(f'roce0 --connect {LISTENER}', 1, NO_LINK)
        self.says_there('eth1', 0, 'link         up')

    def test_no_module(self):
        """the module is removed"""
        self.guest.output('rmmod rdma_rxe')
        for peer in PEER, PEER_IPV6:
            self.says(f'roce0 --peer {peer}', 0, NO_DEVICE.format(peer))
        self.says(f'udp --peer {PEER}', 0, NO_DEVICE.format(PEER))
        self.says(f'roce0 --connect {LISTENER}', 1, 'UDP port 4791 passes, and there is no RoCE device now')
        self.says_there('udp', 0, 'UDP 4791     free')

    def test_no_host(self):
        """the interface of the peer is down"""
        self.guest.output('ip link set eth1 down')
        self.says(f'roce0 --peer {PEER}', 1, f'this host remembers {PEER} at', 'and nobody replies for it')


sys.exit(guest_tests.main(Doctor))
