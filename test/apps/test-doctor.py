#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests whether uroce-doctor names the cause of a problem. Some machines are simulated by files. Where
namespaces are allowed, there are also real links, each with one fault.

    test-doctor.py USERTOOLS BUILD

doctor_rig.py has what the tests share. The tests of simulated machines and NICs, of requests to a peer, of the port udp and of
configuration files have files of their own.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import doctor_rig  # noqa: E402
from doctor_rig import DOCTOR, PATIENT, SOURCE, TOOLS, UROCED, Listener, Net, all_said, diagnosis, expect, start_device  # noqa: E402
import doctor_config  # noqa: E402
import doctor_machine  # noqa: E402
import doctor_nic  # noqa: E402
import doctor_probe  # noqa: E402
import doctor_udp  # noqa: E402
import uroce_doctor  # noqa: E402
import uroce_doctor_connect  # noqa: E402
from uroce_target import FAULT, OK, target_of  # noqa: E402
from uroce_ports import Lab, LabError, inside  # noqa: E402


# ------------------------------------------------------------------------------------------- links

def test_links(lab):
    net = Net(lab)
    diagnosis('a link as it should be', 0, '192.0.2.2 answers to 1112 bytes', net, 'roce0', '--peer', '192.0.2.2')
    diagnosis('no such interface', 1, 'no interface roce7', net, 'roce7')
    diagnosis('a path MTU that the link does not carry', 1, '4096 takes 4184', net, 'roce0,mtu=4096')
    diagnosis('nobody there', 1, 'nobody on roce0 says that 192.0.2.9', net, 'roce0', '--peer', '192.0.2.9')
    diagnosis('no way', 1, 'no way to 198.51.100.1', net, 'roce0', '--peer', '198.51.100.1')
    diagnosis('ourselves', 1, 'an address of this host', net, 'roce0', '--peer', '192.0.2.1')
    diagnosis('no address', 1, 'roce0 has none', Net(lab, addresses=(None, None)), 'roce0')
    diagnosis('the link is down', 1, 'roce0 is down', Net(lab, is_up=False), 'roce0')
    net = Net(lab, mtus=(1000, 1000))
    diagnosis('a short MTU', 1, 'carries 1000 bytes: path MTU 512; 1024 takes 1112', net, 'roce0')
    diagnosis('which is wanted so', 0, 'path MTU 512', net, 'roce0,mtu=512')
    net = Net(lab, mtus=(4200, 1500))
    diagnosis('a shorter MTU there', 1, 'path MTU 1024 gets through', net, 'roce0', '--peer', '192.0.2.2')
    net = Net(lab, addresses=('2001:db8::1/64', '2001:db8::2/64'), mtus=(4200, 1500))
    diagnosis('the same over IPv6', 1, 'path MTU 1024 gets through', net, 'roce0', '--peer', '2001:db8::2')
    diagnosis('what gets through', 0, '2001:db8::2 answers to 1112', net, 'roce0,mtu=1024', '--peer', '2001:db8::2')


def test_remembered_neighbours(lab):
    """The cache of the kernel names a host that does not reply any more, or another one."""
    net = Net(lab)
    lab.run_in(net.hosts[1], 'ip addr del 192.0.2.2/24 dev roce0')
    lab.run_in(net.hosts[0], 'ip neigh replace 192.0.2.2 lladdr 02:00:00:00:00:07 dev roce0 nud stale')
    diagnosis('the address is gone, and the neighbour is remembered', 1,
              'this host remembers 192.0.2.2 at 02:00:00:00:00:07, and nobody replies', net, 'roce0', '--peer', '192.0.2.2')
    # the entry expires when the kernel notices
    lab.run_in(net.hosts[0], 'ip neigh replace 192.0.2.2 lladdr 02:00:00:00:00:07 dev roce0 nud stale')
    diagnosis('what to type', 1, 'ip neigh flush to 192.0.2.2 dev roce0', net, 'roce0', '--peer', '192.0.2.2')
    lab.run_in(net.hosts[1], 'ip addr add 192.0.2.2/24 dev roce0')
    lab.run_in(net.hosts[0], 'ip neigh replace 192.0.2.2 lladdr 02:00:00:00:00:07 dev roce0 nud permanent')
    diagnosis('another host has the address now', 1, 'this host remembers 192.0.2.2 at 02:00:00:00:00:07, and', net, 'roce0',
              '--peer', '192.0.2.2')


def test_port_4791(lab):
    """The path carries pings, and RoCE or not."""
    net = Net(lab)
    diagnosis('no device is there', 0, 'UDP port 4791 passes, but 192.0.2.2 has no RoCE device', net, 'roce0', '--peer', '192.0.2.2')
    if not os.path.exists(UROCED):
        print('skip    a device answers: uroced is not built')
        return
    start_device(lab, net.hosts[1])
    diagnosis('a device answers', 0, 'a device of 192.0.2.2 answers on UDP port 4791', net, 'roce0', '--peer', '192.0.2.2', *PATIENT)
    lab.run_in(net.hosts[1], 'sysctl -q net.ipv4.icmp_echo_ignore_all=1')
    diagnosis('a device answers, and no ping', 0, 'it answers no echo', net, 'roce0', '--peer', '192.0.2.2', *PATIENT)
    lab.run_in(net.hosts[1], 'sysctl -q net.ipv4.icmp_echo_ignore_all=0')
    net = Net(lab, addresses=('2001:db8::1/64', '2001:db8::2/64'))
    start_device(lab, net.hosts[1])
    diagnosis('a device answers over IPv6', 0, 'a device of 2001:db8::2 answers', net, 'roce0', '--peer', '2001:db8::2', *PATIENT)


def test_refused_ports(lab):
    """A router between the hosts carries pings. It drops or refuses UDP 4791."""
    net = Net.__new__(Net)
    net.lab, net.prefix, net.hosts = lab, [], [lab.namespace(), lab.namespace()]
    router = lab.namespace()
    for number, host in enumerate(net.hosts):
        lab.run_in(None, f'ip link add roce0 netns {host.pid} type veth peer name port{number} netns {router.pid}')
        lab.run_in(router, f'ip addr add 192.0.{number}.254/24 dev port{number}')
        lab.run_in(router, f'ip link set port{number} up')
        lab.run_in(host, f'ip addr add 192.0.{number}.1/24 dev roce0')
        lab.run_in(host, 'ip link set roce0 up')
        lab.run_in(host, f'ip route add default via 192.0.{number}.254')
    lab.run_in(router, 'sysctl -q net.ipv4.ip_forward=1')
    peer = ('roce0', '--peer', '192.0.1.1')
    diagnosis('a router carries RoCE', 0, 'UDP port 4791 passes, but 192.0.1.1 has no RoCE device', net, *peer)
    lab.run_in(router, 'ip rule add pref 1 ipproto udp dport 4791 blackhole')
    diagnosis('UDP 4791 is dropped on the path', 1, '192.0.1.1 answers echo requests, and nothing on UDP port 4791', net, *peer)
    diagnosis('what to type', 1, 'nft list ruleset; tcpdump -i roce0 udp port 4791', net, *peer)
    diagnosis('a connection over it', 1, 'nothing answers on UDP port 4791', net, 'roce0', '--connect', '192.0.1.1:7471')
    lab.run_in(router, 'ip rule del pref 1')
    lab.run_in(router, 'ip rule add pref 1 ipproto udp dport 4791 prohibit')
    diagnosis('a connection that is refused on the path', 1, 'refuses UDP port 4791', net, 'roce0', '--connect',
              '192.0.1.1:7471')
    diagnosis('UDP 4791 is refused on the path', 1, 'refuses UDP port 4791 to 192.0.1.1', net, *peer)


# ------------------------------------------------------------------------------------- connections

def test_connections(lab):
    """The other end accepts, refuses, or is not there."""
    to = ('roce0', '--connect', '192.0.2.2:7471')
    net = Net(lab)
    diagnosis('nobody has the address', 1, 'replies for 192.0.2.9, or for the gateway', net, 'roce0', '--connect',
              '192.0.2.9:7471')
    diagnosis('no route', 1, 'no route to 198.51.100.1 by roce0', net, 'roce0', '--connect', '198.51.100.1:7471')
    diagnosis('no device', 1, 'UDP port 4791 passes, and there is no RoCE device now', net, *to)
    with Listener(lab, net.hosts[1], '192.0.2.2'):
        diagnosis('a listener', 0, 'connected to 192.0.2.2:7471, and disconnected again', net, *to, *PATIENT)
        diagnosis('its source address', 0, 'source       192.0.2.1:', net, *to, *PATIENT)
        diagnosis('another port', 1, '192.0.2.2:7472 answers with REJ, reason 8: no listener', net, 'roce0', '--connect',
                  '192.0.2.2:7472', *PATIENT)
        diagnosis('what to type', 1, 'uroce-stat --cm', net, 'roce0', '--connect', '192.0.2.2:7472', *PATIENT)
    with Listener(lab, net.hosts[1], '192.0.2.2', '--refuse'):
        diagnosis('a listener that refuses', 1, "reason 28: refused by the peer's program", net, *to, *PATIENT)
    with Listener(lab, net.hosts[1], '192.0.2.2', '--datagram'):
        diagnosis('a datagram service', 1, 'a service at 192.0.2.2:7471 takes datagrams only', net, *to, *PATIENT)
    net = Net(lab, addresses=('2001:db8::1/64', '2001:db8::2/64'))
    with Listener(lab, net.hosts[1], '[2001:db8::2]'):
        diagnosis('a listener over IPv6', 0, 'connected to [2001:db8::2]:7471', net, 'roce0', '--connect', '[2001:db8::2]:7471',
                  *PATIENT)
        diagnosis('no address of the family', 1, 'no route to 192.0.2.2 by roce0', net, *to)


def test_connections_of_uroced(lab):
    """uroced at either end, with and without a connection manager."""
    if not os.path.exists(UROCED):
        print('skip    connections of uroced: uroced is not built')
        return
    net = Net(lab)
    start_device(lab, net.hosts[1], '--no-cm')
    diagnosis('uroced there with --no-cm', 1, 'but nobody serves connection management', net, 'roce0', '--connect',
              '192.0.2.2:7471', '--timeout', '20')
    net = Net(lab)
    path = start_device(lab, net.hosts[0], '--no-cm')
    diagnosis('uroced here with --no-cm', 1, 'this uroced serves no connection management', net, f'uroced,socket={path}',
              '--connect', '192.0.2.2:7471')
    net = Net(lab)
    path = start_device(lab, net.hosts[0])
    with Listener(lab, net.hosts[1], '192.0.2.2'):
        diagnosis('uroced here', 0, 'connected to 192.0.2.2:7471', net, f'uroced,socket={path}', '--connect',
                  '192.0.2.2:7471', *PATIENT)


def test_outcomes():
    """Each outcome of uroce-connect has words, and a fault has a command that helps."""
    target = target_of('net_memif0', (), None, ('192.0.2.2', 7471))

    def explain(name, outcome, text='what the library says'):
        found = list(uroce_doctor_connect.explain(target, [uroce_doctor_connect.Step(name, outcome, text)]))
        all_said.append('\n'.join(entry.text for entry in found))
        return found

    for reason in range(1, 36):
        found = explain('connection', reason)
        expect(f'REJ reason {reason}', len(found) == 1 and found[0].level == FAULT and found[0].remedy and
               f'reason {reason}: what the library says' in found[0].text, found)
    for name in 'address', 'route', 'connection':
        for outcome in range(-133, 0):
            found = explain(name, outcome)
            if not (len(found) == 1 and found[0].level == FAULT and found[0].remedy):
                expect(f'{name}, errno {-outcome}', False, found)
        expect(f'success of {name}', explain(name, 0)[0].level == OK)
    expect('no datagram service is no fault of its own', explain('datagram', 1) == [])
    expect('a stale connection', 'try again' in explain('connection', 10)[0].remedy)
    expect('no answer on a port that is no interface', 'a firewall drops UDP port 4791, no RoCE device is there, or nobody' in
           explain('connection', -110)[0].text)
    steps = uroce_doctor_connect.steps_of('EAL: a line\nroute\t0\tpath MTU 1024\nconnection\t-110\tno answer\nx\ty\tz\n')
    expect('lines that are no steps are skipped', [(step.name, step.outcome) for step in steps] ==
           [('route', 0), ('connection', -110)], steps)


def test_duplicates(lab):
    """Three hosts at a bridge. Two of them have one address."""
    bridge = lab.namespace()
    lab.run_in(bridge, 'ip link add br0 type bridge')
    lab.run_in(bridge, 'ip link set br0 up')
    net = Net.__new__(Net)
    net.lab, net.prefix, net.hosts = lab, [], [lab.namespace() for _ in range(3)]
    for host, address in zip(net.hosts, ('192.0.2.1/24', '192.0.2.2/24', '192.0.2.2/24')):
        number = net.hosts.index(host)
        lab.run_in(None, f'ip link add roce0 netns {host.pid} type veth peer name port{number} netns {bridge.pid}')
        lab.run_in(bridge, f'ip link set port{number} master br0 up')
        lab.run_in(host, 'ip link set roce0 up')
        lab.run_in(host, f'ip addr add {address} dev roce0')
    diagnosis('two hosts have the address of the peer', 1, '192.0.2.2 is the address of 2 hosts: ', net, 'roce0', '--peer',
              '192.0.2.2')
    lab.run_in(net.hosts[2], 'ip addr flush dev roce0')
    lab.run_in(net.hosts[0], 'ip neigh flush dev roce0')    # it may have remembered that host
    diagnosis('one of them has it no more', 0, '192.0.2.2 answers', net, 'roce0', '--peer', '192.0.2.2')
    lab.run_in(net.hosts[1], 'ip addr flush dev roce0')
    lab.run_in(net.hosts[1], 'ip addr add 192.0.2.1/24 dev roce0')
    diagnosis('the peer has the address of this host', 1, '192.0.2.1 is also the address of ', net, 'roce0')
    diagnosis('what to type', 1, 'ip addr del 192.0.2.1/24 dev roce0', net, 'roce0')


def test_frames(lab):
    """The frames of a virtual port are shorter than those of its interface."""
    net = Net(lab, mtus=(4200, 4200))
    vdev = '--vdev=net_af_packet0,iface=roce0'
    for what, spec, eal, status, words in (
            ('the default of framesz', 'net_af_packet0', vdev, 0, 'framesz=2048 of net_af_packet0 carries path MTU 1024; 4096 takes'),
            ('what to type', 'net_af_packet0', vdev, 0, 'framesz=4608,blocksz=36864'),
            ('a framesz that is too short for the key mtu', 'net_af_packet0,mtu=4096', vdev, 1, '4096 takes'),
            ('a framesz that is long enough', 'net_af_packet0', vdev + ',framesz=4608,blocksz=36864', 0, 'framesz=4608: path MTU 4096'),
            ('an interface that there is not', 'net_af_packet0', '--vdev=net_af_packet0,iface=roce7', 1, 'no interface roce7')):
        done = subprocess.run([*inside(net.hosts[0]), DOCTOR, spec, '--', '--no-huge', eal],
                              capture_output=True, text=True, check=False)
        all_said.append(done.stdout)
        expect(what, done.returncode == status and words in done.stdout, done.stdout + done.stderr)


def test_daemon():
    """The port names uroced and loopback."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'sock')
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)

        def diagnose(what, status, words, spec=f'uroced,socket={path}'):
            done = subprocess.run([DOCTOR, spec, '--', '--no-huge'], capture_output=True, text=True,
                                  check=False)
            all_said.append(done.stdout)
            expect(what, done.returncode == status and words in done.stdout, done.stdout + done.stderr)

        diagnose('no uroced', 1, f'none listens at {path}')
        diagnose('what to type', 1, 'systemctl start uroced')
        listener.bind(path)
        diagnose('uroced has ended', 1, f'{path} is the socket of a uroced that has ended')
        listener.listen()
        diagnose('uroced runs', 0, f'listens at {path}')
        listener.close()
        diagnose('loopback', 0, 'reaches this process alone', 'loopback')


def test_keys():
    """The doctor knows the keys of the library."""
    source = os.path.join(SOURCE, 'lib', 'datapath', 'device', 'conf.c')
    if not os.path.exists(source):
        print('skip    keys: no source tree')
        return
    with open(source, encoding='utf-8') as file:
        known = re.search(r'#define KEY_NAMES "(.*)"', file.read())[1]
    expect('the keys of the library', known == ', '.join(uroce_doctor.KEYS), known)


def test_page():
    """Each row of the troubleshooting page is a situation that this test has provoked, in the doctor's words."""
    page = os.path.join(SOURCE, 'doc', 'guides', 'troubleshooting.md')
    if not os.path.exists(page):
        print('skip    the troubleshooting page: no source tree')
        return
    if not os.path.exists(UROCED):
        print('skip    the troubleshooting page: uroced is not built')
        return
    with open(page, encoding='utf-8') as file:
        rows = [re.split(r' *\| *', line)[1:-1] for line in file if re.match(r'\| [^|]+ \| `', line)]
    words = [(row[0], row[1].strip('`')) for row in rows if row[0] != 'symptom']
    for symptom, text in words:
        expect(f'page: {symptom}', any(text in said for said in all_said), f'the doctor did not say "{text}"')
    expect(f'page: 25 situations at least; it has {len(words)}', len(words) >= 25)


def test_arguments():
    for what, words, said in (
            ('an MTU that there is not', ['roce0,mtu=1000'], 'mtu=1000: allowed: 256, 512'),
            ('an address that is none', ['roce0', '--peer', '192.0.2.300'], 'is no IPv4 or IPv6 address'),
            ('an address of a group', ['udp', '--peer', '224.0.0.1'], 'is no address of one host'),
            ('an address of all hosts', ['udp', '--peer', '255.255.255.255'], 'is no address of one host'),
            ('an address of no host', ['udp', '--peer', '::'], 'is no address of one host'),
            ('a peer of a port that is not the kernel\'s', ['net_memif0', '--peer', '192.0.2.2'],
             'needs an interface of the kernel'),
            ('a listener without a port', ['roce0', '--connect', '192.0.2.2'], 'is not ADDRESS:PORT'),
            ('an IPv6 address without brackets', ['roce0', '--connect', '2001:db8::1:7471'], 'is not ADDRESS:PORT'),
            ('port 0', ['roce0', '--connect', '192.0.2.2:0'], 'is not ADDRESS:PORT'),
            ('a connection over no port', ['--connect', '192.0.2.2:1'], '--connect needs a port'),
            ('a connection over loopback', ['loopback', '--connect', '192.0.2.2:1'], '--connect needs a port'),
            ('a timeout of nothing', ['lo', '--peer', '192.0.2.2', '--timeout', '0'], 'allowed: 1 to 3600 seconds'),
            ('a timeout that is too long', ['lo', '--peer', '192.0.2.2', '--timeout', '3601'], 'allowed: 1 to 3600 seconds'),
            ('a timeout that is no number', ['lo', '--peer', '192.0.2.2', '--timeout', '1.5'], 'allowed: 1 to 3600 seconds'),
            ('a timeout without a peer', ['lo', '--timeout', '5'], 'needs --peer or --connect'),
            ('an unknown option', ['--hlep'], '--hlep: unknown option')):
        done = subprocess.run([DOCTOR, *words], capture_output=True, text=True,
                              check=False)
        expect(what, done.returncode == 2 and said in done.stderr and done.stderr.count('\n') == 1
               and not done.stdout, done.stderr + done.stdout)


doctor_machine.test_all()
doctor_nic.test_all()
test_arguments()
test_keys()
test_daemon()
test_outcomes()
doctor_config.test_all()
doctor_udp.test_machines()
laboratory = Lab(False)
try:
    test_links(laboratory)
    test_remembered_neighbours(laboratory)
    test_port_4791(laboratory)
    test_refused_ports(laboratory)
    doctor_probe.test_links(laboratory)
    doctor_udp.test_links(laboratory)
    test_connections(laboratory)
    test_connections_of_uroced(laboratory)
    test_duplicates(laboratory)
    test_frames(laboratory)
    test_page()
except LabError as error:
    print(f'skip    links: {error}')
finally:
    laboratory.close()
sys.exit(doctor_rig.nb_failed != 0)
