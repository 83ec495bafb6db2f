# SPDX-License-Identifier: BSD-3-Clause
"""Tests of uroce-doctor with the port udp, as root and as a user without privileges."""

import errno
import os
import shutil
import subprocess
import tempfile

from doctor_rig import CONNECT, DOCTOR, NOBODY, PATIENT, UROCED, Net, Script, all_said, diagnosis, drop, expect, run, start_device
from uroce_ports import inside
from uroce_target import FAULT, NOTE, Target, target_of
import uroce_doctor_udp as udp

PEER = '192.0.2.2'
HOLDER = '''
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
    opened.bind((sys.argv[1], 4791))
    print('ready', flush=True)
    sys.stdin.read()
'''
PROC_NET_UDP = '''  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
   10: 00000000:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 11 2 0 0
   11: {}:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000  {:>4}        0 {} 2 0 0
'''


# -------------------------------------------------------------------------------- simulated machines

def holder_of(address, user, inode, owner=None, modules='', wanted='0.0.0.0'):
    """Who has UDP port 4791, on a machine of files. `owner`: PID and name of the process that has the socket."""
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, 'net'))
        for path, text in ('net/udp', PROC_NET_UDP.format(address, user, inode)), ('modules', modules):
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.write(text)
        if owner:
            os.makedirs(os.path.join(root, owner[0], 'fd'))
            os.symlink(f'socket:[{inode}]', os.path.join(root, owner[0], 'fd', '7'))
            with open(os.path.join(root, owner[0], 'comm'), 'w', encoding='utf-8') as file:
                file.write(owner[1] + '\n')
        found = udp.of_refusal(Target(name='udp', spec='udp', proc=root), wanted, OSError(errno.EADDRINUSE, ''))
    all_said.append(found.text)
    return found


def test_holders():
    found = holder_of('0100007F', 1000, 77, ('1234', 'uroce-perf'), wanted='127.0.0.1')
    expect('a process has the port', found.level == FAULT and found.text == 'uroce-perf, PID 1234, has UDP port 4791 at 127.0.0.1: no '
           'device can have it' and 'end PID 1234' in found.remedy, found)
    found = holder_of('00000000', 0, 77, modules='rdma_rxe 200704 0 - Live 0x0\n')
    expect("the kernel's rxe has the port", "the kernel's rxe (module rdma_rxe) has UDP port 4791 at all addresses" in found.text and
           'modprobe -r rdma_rxe' in found.remedy, found)
    found = holder_of('00000000', 1001, 77, modules='rdma_rxe 200704 0 - Live 0x0\n')
    expect('a process of another user has it', 'another socket of user 1001, whose processes' in found.text and
           "ss -lunp 'sport = 4791'" in found.remedy, found)
    found = holder_of('0200007F', 1000, 77, ('1234', 'uroce-perf'), wanted='127.0.0.1')
    expect('a process with another address does not matter', 'PID' not in found.text, found)
    expect('an address of IPv6', udp.address_of('B80D0120000000000000000001000000') == '2001:db8::1')


def test_segments():
    target = target_of('udp,addr=127.0.0.1')
    for error, words, remedy in ((errno.EIO, 'on lo, which computes no checksums', 'ethtool -K lo tx on'),
                                 (errno.EINVAL, 'UDP_SEGMENT: Invalid argument', 'uname -r')):
        found = list(udp.segmentation(target, lambda version, interface, error=error: OSError(error, os.strerror(error))))
        all_said.extend(finding.text for finding in found)
        expect(f'messages are not cut: {os.strerror(error)}', len(found) == 1 and found[0].level == NOTE and words in found[0].text and
               remedy in found[0].remedy, found)
    for error in errno.EPERM, errno.ENETUNREACH, errno.EMSGSIZE:
        found = list(udp.segmentation(target, lambda version, interface, error=error: OSError(error, '')))
        expect(f'another error says nothing of segments: {os.strerror(error)}', found == [], found)


def test_machines():
    test_holders()
    test_segments()


# ------------------------------------------------------------------------------------------- links

def test_port(lab):
    net = Net(lab)
    diagnosis('udp: as it should be', 0, 'UDP 4791     free', net, 'udp')
    diagnosis('udp: its addresses', 0, 'address      192.0.2.1', net, 'udp')
    diagnosis('udp: of an interface', 0, 'UDP 4791     free', net, 'udp,iface=roce0')
    diagnosis('udp: of an address', 0, 'address      192.0.2.1', net, 'udp,addr=192.0.2.1')
    diagnosis('udp: an address that the host does not have', 1, 'the host does not have the address 192.0.2.7: it has 192.0.2.1', net,
              'udp,addr=192.0.2.1,addr=192.0.2.7')
    diagnosis('udp: no such interface', 1, 'there is no interface roce7', net, 'udp,iface=roce7')
    diagnosis('udp: no address', 1, 'roce0 has no address', Net(lab, addresses=(None, None)), 'udp,iface=roce0')
    with Script(lab, net.hosts[0], HOLDER, (), '192.0.2.1') as holder:
        words = f'PID {holder.pid}, has UDP port 4791'
        diagnosis('udp: a process has the port', 1, f'{words} at all addresses', net, 'udp')
        diagnosis('udp: a process has the port at the address', 1, f'{words} at 192.0.2.1', net, 'udp,addr=192.0.2.1')
        diagnosis('udp: another address is free', 0, 'UDP 4791     free', net, 'udp,addr=127.0.0.2')
        diagnosis('udp: the peer is asked in another way', 1, 'UDP port 4791 passes, but 192.0.2.2 has no', net, 'udp', '--peer', PEER)
        net.prefix = NOBODY
        diagnosis('udp: a process of another user has the port', 1, 'another socket of user 0, whose processes this user may not see',
                  net, 'udp')
        diagnosis('udp: the peer has no device, as the ICMP error says', 1, 'UDP port 4791 passes, but 192.0.2.2 has no', net, 'udp',
                  '--peer', PEER)


def test_namespaces(lab):
    """Network namespaces without routes, or without a loopback."""
    net = Net(lab, addresses=(None, None), is_up=False)
    diagnosis('udp: a namespace without a route', 0, 'this network namespace has no route', net, 'udp')
    diagnosis('udp: the loopback serves', 0, 'UDP 4791     free', net, 'udp,addr=127.0.0.1')
    lab.run_in(net.hosts[0], 'ip link set lo down')
    diagnosis('udp: lo is down, and is wanted', 1, 'lo is down', net, 'udp,addr=127.0.0.1')
    diagnosis('udp: nothing has an address', 1, 'this network namespace has no address', net, 'udp')
    net = Net(lab)
    lab.run_in(net.hosts[0], 'ip link set lo down')
    diagnosis('udp: lo is down', 0, 'lo is down: processes of this host do not reach each other', net, 'udp')


def test_rules(lab):
    """Rules of this host that drop or refuse UDP port 4791."""
    net = Net(lab)
    drop(lab, net.hosts[0], 'lo', 'ip protocol 17 0xff match ip dport 4791 0xffff')
    diagnosis('udp: a rule drops what comes', 1, 'a rule of this host drops what comes for UDP port 4791 of 192.0.2.1', net, 'udp')
    diagnosis('what to type', 1, 'nft insert rule inet filter input udp dport 4791 accept', net, 'udp')
    net = Net(lab)
    # rules come behind the table of the own addresses, unless that moves
    lab.run_in(net.hosts[0], 'ip rule add pref 100 lookup local')
    lab.run_in(net.hosts[0], 'ip rule del pref 0')
    lab.run_in(net.hosts[0], 'ip rule add pref 1 ipproto udp dport 4791 prohibit')
    diagnosis('udp: a rule refuses to send', 1, 'a rule of this host refuses to send to UDP port 4791 (Permission denied)', net, 'udp')
    diagnosis('udp: a rule refuses to send to the peer', 1, 'a rule of this host refuses to send to UDP port 4791 of 192.0.2.2', net,
              'udp', '--peer', PEER)


def test_unprivileged(lab):
    """All of it as user 65534 without capabilities."""
    net = Net(lab)
    net.prefix = NOBODY
    limits = []
    for name in 'rmem_max', 'wmem_max':
        with open(f'/proc/sys/net/core/{name}', encoding='utf-8') as file:
            limits.append(int(file.read()))
    if min(limits) < udp.BUFFER_LEN:
        diagnosis('udp: small buffers', 0, f'where the port asks for {udp.BUFFER_LEN >> 10} KiB: bursts of datagrams are lost', net, 'udp')
        diagnosis('what to type', 0, 'sysctl net.core.rmem_max=8388608 net.core.wmem_max=8388608', net, 'udp')
    else:
        print(f'skip    small buffers: the limits of this host are {limits}')
    peer = ('udp', '--peer', PEER)
    diagnosis('udp: nobody has the port there', 0, 'UDP port 4791 passes, but 192.0.2.2 has no RoCE device', net, *peer)
    diagnosis('udp: without the right to send echo requests', 0, 'bytes arrive at 192.0.2.2; it was sent no echo, which this user may '
              'not', net, *peer)
    diagnosis('udp: nobody has the address', 1, 'nobody on roce0 says that 192.0.2.9 is his', net, 'udp', '--peer', '192.0.2.9')
    diagnosis('udp: no route', 1, 'no way to 198.51.100.1', net, 'udp', '--peer', '198.51.100.1')
    subprocess.run([*inside(net.hosts[0]), 'sysctl', '-q', 'net.ipv4.ping_group_range=0 2147483647'], check=True)
    diagnosis('udp: with the right to send them', 0, '192.0.2.2 answers to 1112 bytes, with as many', net, *peer)
    lab.run_in(net.hosts[0], 'sysctl -q net.ipv4.ip_unprivileged_port_start=5000')
    diagnosis('udp: the port is for root alone', 1, 'this user may not bind UDP port 4791: net.ipv4.ip_unprivileged_port_start is 5000',
              net, 'udp')
    expect('udp: it is said once of IPv4 and IPv6', all_said[-1].count('this user may not bind') == 1, all_said[-1])
    if os.path.exists(UROCED):
        net = Net(lab)
        net.prefix = NOBODY
        start_device(lab, net.hosts[1])
        diagnosis('udp: a device answers', 0, 'a device of 192.0.2.2 answers on UDP port 4791', net, *peer, *PATIENT)


def test_offload(lab):
    """A tap whose receive offload is off. A veth would get messages as they are."""
    if not shutil.which('ethtool'):
        print('skip    GRO: ethtool is not installed')
        return
    net = Net(lab)
    lab.run_in(net.hosts[0], 'ip tuntap add dev port0 mode tap')
    lab.run_in(net.hosts[0], 'ip link set port0 up')
    lab.run_in(net.hosts[0], 'ip addr add 198.51.100.1/24 dev port0')
    lab.run_in(net.hosts[0], 'ethtool -K port0 gro on')
    found, said = net.doctor('udp,iface=port0')
    # nobody has opened the tap, so it has no carrier
    expect('udp: GRO is on', found == 1 and 'has no carrier' in said and 'generic receive offload' not in said, said)
    lab.run_in(net.hosts[0], 'ethtool -K port0 gro off')
    diagnosis('udp: GRO is off', 1, 'generic receive offload of port0 is off', net, 'udp,iface=port0')
    diagnosis('what to type', 0, 'ethtool -K port0 gro on', net, 'udp')


def test_connections(lab):
    """uroce-connect over the port udp, at two addresses of the loopback."""
    if not os.path.exists(CONNECT):
        print('skip    connections over udp: uroce-connect is not built')
        return
    host = lab.namespace()
    listener = lab.start([*inside(host), CONNECT, '--no-huge', '--no-pci', '--', '--uroce=udp,addr=127.0.0.1', '--listen',
                          '127.0.0.1:7471'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if not listener.stdout.readline().startswith('listener\t0\t'):
        expect('udp: a listener', False, 'uroce-connect does not listen')
        return
    for what, words, status, said in (
            ('a listener', ['--connect', '127.0.0.1:7471'], 0, 'connected to 127.0.0.1:7471, and disconnected again'),
            ('no listener', ['--connect', '127.0.0.1:7472'], 1, 'answers with REJ, reason 8'),
            ('a device of this host answers', ['--peer', '127.0.0.1'], 0, 'a device of 127.0.0.1 answers on UDP port 4791'),
            ('the device itself', ['--peer', '127.0.0.2'], 0, '127.0.0.2 is the address of the device itself'),
            ('no device of this host', ['--peer', '127.0.0.9'], 0, 'UDP port 4791 passes, but 127.0.0.9 has no RoCE device')):
        found, text = run(inside(host), ['udp,addr=127.0.0.2', *words, *PATIENT, '--', '--no-huge'])
        all_said.append(text)
        expect(f'udp: {what}', found == status and said in text, text)
    listener.terminate()
    listener.wait()
    listener.stdout.close()


def test_links(lab):
    if not shutil.which('setpriv'):
        print('skip    udp: setpriv is not installed')
        return
    if subprocess.run([*NOBODY, DOCTOR, '--version'], capture_output=True, check=False).returncode != 0:
        print('skip    udp: user 65534 cannot read the tools')
        return
    for test in test_port, test_namespaces, test_rules, test_unprivileged, test_offload, test_connections:
        test(lab)
