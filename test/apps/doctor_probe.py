# SPDX-License-Identifier: BSD-3-Clause
"""Tests of uroce-doctor --peer: requests of connection management, and the lengths that pass there and back."""

import os
import struct
import subprocess
import sys

from doctor_rig import BUILD, CONNECT, PATIENT, TOOLS, Listener, Net, Script, diagnosis, drop, expect
from uroce_ports import inside
import uroce_probe

CHECK_CAPTURE = os.path.join(BUILD, 'test', 'check-capture')
SOURCE, PEER = '192.0.2.1', '192.0.2.2'

# A device that has a connection manager and nothing else. It answers a REQ with a REJ [IBA 12.6.7], reason 8. The second argument
# of the program, if any, is the delay of this response in seconds. The responses over IPv6 have no UDP checksum, as those of rxe.
CM_ALONE = '''
import socket, struct, time
import uroce_probe as probe
own, family = sys.argv[1], socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as opened:
    opened.bind((own, probe.PORT))
    if family == socket.AF_INET6:
        opened.setsockopt(socket.IPPROTO_UDP, 101, 1)    # UDP_NO_CHECK6_TX
    print('ready', flush=True)
    while True:
        payload, sender = opened.recvfrom(65536)
        mad = probe.mad_of(payload)
        _, kind, _, method, _, _, transaction, attribute, _, _ = probe.MAD.unpack_from(mad)
        if (kind, method, attribute) != (probe.CLASS_CM, probe.SEND, probe.REQ):
            continue
        time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 0)
        head = probe.MAD.pack(1, probe.CLASS_CM, 2, probe.SEND, 0, 0, transaction, 0x12, 0, 0)
        rej = head + struct.pack('!I4sBBH', 0, mad[24:28], 0, 0, 8)
        packet = probe.packet_of(own, sender[0], probe.PORT, rej.ljust(probe.MAD_LEN, b'\\0'), 0)
        opened.sendto(packet[-probe.UDP_LEN + 8:], (sender[0], probe.PORT))
'''

# Sends a REQ alone, and prints the outcome.
ASK_CM = '''
import sys
sys.path.insert(0, sys.argv[1])
import uroce_probe as probe, uroce_probe_socket as sockets
probe.requests_to = lambda source, peer: (probe.connection_request(source, peer),)
source, peer, timeout = *sys.argv[2:4], int(sys.argv[5])
print(probe.ask('roce0', source, peer, timeout), sockets.ask(source, peer, timeout=timeout), sep=', ')
'''


def test_messages(lab):
    """The codec of the library understands the REQ, and finds each reserved bit zero."""
    if not os.path.exists(CHECK_CAPTURE):
        print('skip    the REQ of the doctor: check-capture was not built')
        return
    for source, peer, kind in ((SOURCE, PEER, 0x0800), ('2001:db8::1', '2001:db8::2', 0x86dd)):
        request = uroce_probe.connection_request(source, peer)
        frame = bytes(12) + struct.pack('!H', kind) + uroce_probe.packet_of(source, peer, 0xc001, request.mad, 7)
        path = lab.path('req.pcap')
        with open(path, 'wb') as file:
            file.write(struct.pack('=IHHIIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1) + struct.pack('=IIII', 0, 0, len(frame), len(frame)) +
                       frame)
        done = subprocess.run([CHECK_CAPTURE, '--cm', path], capture_output=True, text=True, check=False)
        expect(f'the REQ of the doctor to {peer}', done.returncode == 0 and f'{source} > {peer}: REQ' in done.stdout and
               'service_id 0x1060000' in done.stdout and ': ok' in done.stdout, done.stdout + done.stderr)


def test_connection_manager(lab):
    net = Net(lab)
    with Script(lab, net.hosts[1], CM_ALONE, (), PEER):
        words = f'the connection manager of {PEER} answers on UDP port 4791 (REJ: no listener)'
        diagnosis('a peer that answers requests of connection management alone', 0, words, net, 'roce0', '--peer', PEER, *PATIENT)
        diagnosis('the same by UDP sockets', 0, words, net, 'udp', '--peer', PEER, *PATIENT)
    with Script(lab, net.hosts[1], CM_ALONE, (), PEER, str(2 * uroce_probe.TIMEOUT_S)):
        diagnosis('a peer that answers after the default timeout', 0, words, net, 'roce0', '--peer', PEER, *PATIENT)
        diagnosis('the same by UDP sockets', 0, words, net, 'udp', '--peer', PEER, *PATIENT)
    net = Net(lab, addresses=('2001:db8::1/64', '2001:db8::2/64'))
    with Script(lab, net.hosts[1], CM_ALONE, (), '2001:db8::2'):
        diagnosis('the same over IPv6', 0, 'the connection manager of 2001:db8::2 answers', net, 'udp', '--peer', '2001:db8::2', *PATIENT)
        diagnosis('and as a port of DPDK', 0, 'the connection manager of 2001:db8::2 answers', net, 'roce0', '--peer', '2001:db8::2', *PATIENT)


def test_real_connection_manager(lab):
    """The library's connection manager rejects the REQ."""
    if not os.path.exists(CONNECT):
        print('skip    a real connection manager: uroce-connect is not built')
        return
    net = Net(lab)
    with Listener(lab, net.hosts[1], PEER):
        done = subprocess.run([*inside(net.hosts[0]), sys.executable, '-c', ASK_CM, TOOLS, SOURCE, PEER, *PATIENT],
                              capture_output=True, text=True, check=False)
        expect('a real connection manager answers the REQ', done.stdout == 'CM answered, CM answered\n', done.stdout + done.stderr)


def test_way_back(lab):
    """Long packets pass in one direction."""
    net = Net(lab, mtus=(4200, 4200))
    peer = ('roce0', '--peer', PEER)
    diagnosis('both directions are as long', 0, f'{PEER} answers to 4184 bytes, with as many', net, *peer)
    lab.run_in(net.hosts[1], f'ip route add {SOURCE}/32 dev roce0 mtu lock 1500')
    diagnosis('the way back is shorter: fragments', 1, f'4184 bytes arrive at {PEER}, and the response comes in fragments of 1500', net,
              *peer)
    diagnosis('which path MTU passes', 1, 'path MTU 1024 gets through', net, *peer)
    diagnosis('which is wanted so', 0, f'{PEER} answers to 1112 bytes, with as many', net, 'roce0,mtu=1024', '--peer', PEER)
    net = Net(lab, mtus=(4200, 4200))
    drop(lab, net.hosts[0], 'roce0', 'u16 0x1000 0xf000 at 2')    # of a length from 4096 to 8191
    diagnosis('the way back drops long packets', 1, f'4184 bytes arrive at {PEER}, and none of this length comes back', net, *peer)
    net = Net(lab, addresses=('2001:db8::1/64', '2001:db8::2/64'), mtus=(4200, 4200))
    lab.run_in(net.hosts[1], 'ip route add 2001:db8::1/128 dev roce0 mtu lock 1500')
    diagnosis('the way back is shorter over IPv6', 1, 'and the response comes in fragments of ', net, 'roce0', '--peer', '2001:db8::2')


def test_without_echo(lab):
    """The peer answers no echo. The ICMP errors of a closed UDP port show what arrives."""
    net = Net(lab, mtus=(4200, 4200))
    lab.run_in(net.hosts[1], 'sysctl -q net.ipv4.icmp_echo_ignore_all=1')
    diagnosis('no echo: all lengths arrive', 0, f'4184 bytes arrive at {PEER}; it answers no echo, so the length of packets that come '
              'back is not known', net, 'roce0', '--peer', PEER)
    net = Net(lab, mtus=(4200, 1500))
    lab.run_in(net.hosts[1], 'sysctl -q net.ipv4.icmp_echo_ignore_all=1')
    diagnosis('no echo: long packets do not arrive', 1, f'4184 bytes do not arrive at {PEER}', net, 'roce0', '--peer', PEER)


def test_links(lab):
    test_messages(lab)
    test_connection_manager(lab)
    test_real_connection_manager(lab)
    test_way_back(lab)
    test_without_echo(lab)
