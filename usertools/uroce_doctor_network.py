# SPDX-License-Identifier: BSD-3-Clause
"""The checks of uroce-doctor that concern the network: addresses, lengths of frames, and the path to
a peer. They send ARP requests and echo requests, and change nothing.
"""

import ipaddress
import os
import re
import select
import socket
import struct
import time

import uroce_arp
import uroce_classportinfo as roce
from uroce_netdev import KERNEL_HEADERS, MTUS
from uroce_target import FAULT, NOTE, OK, PORTS_WITH_ADDRESS, Finding, ask_ip, link_of

# Headers of a packet: IPv6, UDP, BTH, the longest combination of extension headers, ICRC.
HEADERS = 40 + 8 + 12 + 24 + 4
ETHERNET = 14 + 4    # with a VLAN tag
USUAL_PATH_MTU = 1024    # path MTU of most programs
USUAL_LINK_MTU = 4200    # MTU of networks for RoCE, for path MTU 4096
# Drivers whose longest frame is an argument of the port: the argument, its default, and the bytes of it without frame.
FRAME_LIMITS = {'net_af_packet': ('framesz', 2048, 80), 'net_memif': ('bsize', 2048, 0)}
FRAME_SIZES = (1024, 2048, 3072, 4608)

PROBE_S = 0.5            # timeout of an echo
PROBES = 3               # requests without a response after which the path counts as broken
# IP_PMTUDISC_PROBE: set DF, and ignore the path MTU that the kernel has cached
PMTUDISC_PROBE = 3


def addresses(interface):
    """Addresses of a kernel interface, without link-local ones."""
    entry = (ask_ip('addr', 'show', 'dev', interface) or [{}])[0]
    return [info['local'] for info in entry.get('addr_info', ()) if info.get('scope') == 'global']


def address(target):
    if target.name in PORTS_WITH_ADDRESS and 'addr' not in target.keys:
        yield Finding(OK, 'address', PORTS_WITH_ADDRESS[target.name])
        return
    if 'addr' in target.keys:
        yield Finding(OK, 'address', f'given: {target.keys["addr"]}')
    elif target.interface and link_of(target.interface):
        found = addresses(target.interface)
        if found:
            yield Finding(OK, 'address', ', '.join(found))
        else:
            yield Finding(FAULT, 'address', f'{target.interface} has none, but perhaps a link-local one, '
                          'which peers do not know', f'ip addr add 192.0.2.1/24 dev {target.interface}')
    elif target.name and not target.interface:
        yield Finding(FAULT, 'address', 'a port that is not the kernel\'s has none of its own',
                      'give the device one: --uroce=PORT,addr=192.0.2.1/24')


def largest(link_mtu, headers=HEADERS):
    """The largest path MTU that fits the link MTU; 0: none fits."""
    return max((mtu for mtu in MTUS if mtu + headers <= link_mtu), default=0)


def mtu(target):
    entry = link_of(target.interface) if target.interface else None
    if entry is None:
        return
    has = entry['mtu']
    wanted = int(target.keys.get('mtu', USUAL_PATH_MTU))
    if largest(has) < wanted:
        yield Finding(FAULT, 'MTU', f'{target.interface} carries {has} bytes: path MTU {largest(has) or "none"}; '
                      f'{wanted} takes {wanted + HEADERS}', f'ip link set {target.interface} mtu '
                      f'{max(1500, wanted + KERNEL_HEADERS)}    (of all interfaces on the path)')
    else:
        yield Finding(OK, 'MTU', f'{has} bytes: path MTU {largest(has)}' +
                      (f'; {USUAL_LINK_MTU} carry 4096' if largest(has) < 4096 else ''))


def frame_limit(target):
    """Check the longest frame that the driver carries, which an argument of the virtual port sets."""
    driver_name = re.sub(r'\d*$', '', target.name or '')
    if driver_name not in FRAME_LIMITS:
        return
    argument, default, overhead = FRAME_LIMITS[driver_name]
    given = target.vdev().get(argument, str(default))
    if not given.isdigit():
        return
    entry = link_of(target.interface) if target.interface else None
    carries = largest(int(given) - overhead - ETHERNET)
    wanted = int(target.keys.get('mtu', min(largest(entry['mtu']) if entry else MTUS[-1], MTUS[-1])))
    needs = wanted + HEADERS + ETHERNET + overhead
    if carries >= wanted:
        yield Finding(OK, 'frames', f'{argument}={given}: path MTU {carries}')
        return
    size = next(size for size in FRAME_SIZES if size >= needs)
    yield Finding(FAULT if 'mtu' in target.keys else NOTE, 'frames', f'{argument}={given} of {target.name} carries path MTU '
                  f'{carries or "none"}; {wanted} takes {needs}',
                  f'--vdev={target.name},...,{argument}={size}' + (f',blocksz={8 * size}' if argument == 'framesz' else ''))


def duplicates(target):
    """Ask the link whether another host has an address of this host."""
    entry = (ask_ip('addr', 'show', 'dev', target.interface) or [{}])[0] if target.interface else {}
    if 'addr_info' not in entry or 'LOWER_UP' not in (link_of(target.interface) or {}).get('flags', ()):
        return
    for info in entry['addr_info']:
        if info.get('dadfailed'):
            yield Finding(FAULT, 'duplicate', f'{info["local"]} belongs to another host of the link, too',
                          f'ip addr del {info["local"]}/{info["prefixlen"]} dev {target.interface}    (and take a free one)')
        if info.get('family') != 'inet':
            continue
        try:
            others = uroce_arp.owners(target.interface, info['local'])
        except OSError:
            return    # the check of permissions says so
        if others:
            yield Finding(FAULT, 'duplicate', f'{info["local"]} is also the address of {", ".join(others)}: each of the two '
                          'gets frames for the other', f'ip addr del {info["local"]}/{info["prefixlen"]} dev '
                          f'{target.interface}    (and take a free one; or there)')


class Echo:
    """Echo requests to one address. They have `length` bytes with the IP header, and are never
    fragmented.
    """

    def __init__(self, peer, interface):
        self.is_ipv6 = ipaddress.ip_address(peer).version == 6
        self.sequence = 0
        if self.is_ipv6:
            self.socket = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
            self.socket.setsockopt(socket.IPPROTO_IPV6, 23, PMTUDISC_PROBE)    # IPV6_MTU_DISCOVER
        else:
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
            self.socket.setsockopt(socket.IPPROTO_IP, 10, PMTUDISC_PROBE)      # IP_MTU_DISCOVER
        if interface:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        self.socket.connect((peer, 0))

    def close(self):
        self.socket.close()

    def request(self, length):
        self.sequence = self.sequence % 0xffff + 1
        head = struct.pack('!BBHHH', 128 if self.is_ipv6 else 8, 0, 0, os.getpid() & 0xffff, self.sequence)
        data = head + bytes(max(0, length - len(head) - (40 if self.is_ipv6 else 20)))
        if not self.is_ipv6:    # for ICMPv6 the kernel computes the checksum
            total = sum(struct.unpack(f'!{len(data + bytes(len(data) % 2)) // 2}H', data + bytes(len(data) % 2)))
            total = (total & 0xffff) + (total >> 16)
            data = data[:2] + struct.pack('!H', ~(total + (total >> 16)) & 0xffff) + data[4:]
        return data

    def is_answer(self, packet):
        body = packet if self.is_ipv6 else packet[(packet[0] & 15) * 4:]
        return (len(body) >= 8 and body[0] == (129 if self.is_ipv6 else 0) and
                struct.unpack('!HH', body[4:8]) == (os.getpid() & 0xffff, self.sequence))

    def passes(self, length):
        """Whether at least one of several requests of this length gets a response."""
        for _ in range(PROBES):
            try:
                self.socket.send(self.request(length))
            except OSError:
                return False
            end = time.monotonic() + PROBE_S
            while select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
                try:
                    if self.is_answer(self.socket.recv(65536)):
                        return True
                except OSError:
                    return False
        return False


def path(target):
    """Check the path to the peer: the route, whether the peer responds, and the largest packet that
    passes.
    """
    if not target.peer or not target.interface or not link_of(target.interface):
        return
    way = (ask_ip('route', 'get', target.peer) or [None])[0]
    if way is None or way.get('type') == 'unreachable':
        yield Finding(FAULT, 'path', f'no way to {target.peer}: neither a network of ours nor a gateway',
                      f'ip addr add ... dev {target.interface}    (of the peer\'s network)')
        return
    if way.get('type') == 'local':
        yield Finding(FAULT, 'path', f'{target.peer} is an address of this host: its frames stay here',
                      '--peer ADDRESS    (of another host)')
        return
    if way.get('dev') != target.interface:
        yield Finding(FAULT, 'path', f'the way to {target.peer} is by {way.get("dev")}, not by '
                      f'{target.interface}', f'ip route add {target.peer} dev {target.interface}')
        return
    yield from probe(target, way.get('gateway', target.peer))


def ask_hop(target, hop):
    """The MACs that reply for the next hop; None: ARP cannot be tried."""
    if ipaddress.ip_address(hop).version != 4:
        return None
    source = next((found for found in addresses(target.interface) if '.' in found), None)
    try:
        return uroce_arp.owners(target.interface, hop, source)
    except OSError:
        return None


def probe(target, hop):
    replies = ask_hop(target, hop)
    if replies and len(replies) > 1:
        yield Finding(FAULT, 'duplicate', f'{hop} is the address of {len(replies)} hosts: {", ".join(replies)}',
                      f'ip addr del {hop}/... dev ...    (on one of them)')
    try:
        echo = Echo(target.peer, target.interface)
        outcome = ask_device(target)
    except OSError as error:
        yield Finding(NOTE, 'path', f'cannot be tried: {error.strerror}', 'sudo ...')
        return
    try:
        has_echo = echo.passes(128)
        if not has_echo and outcome == roce.SILENT:
            yield from silence(target, hop, replies)
            return
        yield from port_4791(target, outcome)
        if not has_echo:
            yield Finding(NOTE, 'path', f'{target.peer} answers no echo, so the length of packets that pass is not known',
                          f'{target.interface},mtu=1024    (if transfers of long messages fail)')
            return
        has = link_of(target.interface)['mtu']
        wanted = int(target.keys.get('mtu', largest(has)))
        through = [size for size in MTUS if size <= wanted and echo.passes(min(has, size + HEADERS))]
        if wanted and wanted not in through:
            yield Finding(FAULT, 'path', f'{target.peer} answers, but not to {wanted + HEADERS} bytes: the MTU on '
                          f'the way, or there, is less than {target.interface}\'s; path MTU '
                          f'{max(through, default="none")} gets through',
                          f'ip link set ... mtu {has}    (there; or here: --uroce=PORT,mtu='
                          f'{max(through, default=MTUS[0])})')
        else:
            yield Finding(OK, 'path', f'{target.peer} answers to {min(has, wanted + HEADERS)} bytes')
    finally:
        echo.close()


def ask_device(target):
    """Send the peer a RoCEv2 request. @return the outcome of it, see uroce_classportinfo"""
    version = ipaddress.ip_address(target.peer).version
    source = next((found for found in addresses(target.interface) if ipaddress.ip_address(found).version == version), None)
    return roce.ask(target.interface, source, target.peer) if source else roce.SILENT


def port_4791(target, outcome):
    """What the outcome of a RoCEv2 request says about UDP port 4791 of the path."""
    if outcome == roce.ANSWERED:
        yield Finding(OK, 'RoCE', f'a device of {target.peer} answers on UDP port 4791')
    elif outcome == roce.CLOSED:
        yield Finding(NOTE, 'RoCE', f'UDP port 4791 passes, but {target.peer} has no RoCE device now: no program of uroce, no '
                      'uroced and no kernel device', 'systemctl status uroced; rdma link    (there)')
    elif outcome == roce.PROHIBITED:
        yield Finding(FAULT, 'RoCE', f'a firewall on the path, here or there refuses UDP port 4791 to {target.peer}',
                      'nft list ruleset    (then: nft insert rule inet filter input udp dport 4791 accept)')
    else:
        yield Finding(FAULT, 'RoCE', f'{target.peer} answers echo requests, and nothing on UDP port 4791: a firewall drops '
                      'it, or the program of the RoCE device there does not run', f'nft list ruleset; tcpdump -i {target.interface} udp port 4791'
                      '    (there and on the path)')


def silence(target, hop, replies):
    """The peer does not respond: find out whether a host on the link claims the address. `replies` are the MACs that
    replied to ARP just now; None: ARP was not tried.
    """
    entry = (ask_ip('neigh', 'show', 'to', hop, 'dev', target.interface) or [{}])[0]
    known = entry.get('lladdr') if 'FAILED' not in entry.get('state', ()) else None
    if known and replies is not None and known not in replies:
        now = f'{", ".join(replies)} replies for it' if replies else 'nobody replies for it: the host is down, or has lost the address'
        yield Finding(FAULT, 'neighbour', f'this host remembers {hop} at {known}, and {now}',
                      f'ip neigh flush to {hop} dev {target.interface}')
    elif known:
        yield Finding(FAULT, 'path', f'{hop} is there ({entry["lladdr"]}), but {target.peer} answers no echo: '
                      'a firewall, or a host that is not up', f'nft list ruleset    (there); ping {target.peer}')
    else:
        yield Finding(FAULT, 'neighbour', f'nobody on {target.interface} says that {hop} is his: wrong address, '
                      'wrong network or VLAN, or the host is down', f'ip neigh show dev {target.interface}')
