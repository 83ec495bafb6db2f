# SPDX-License-Identifier: BSD-3-Clause
"""A peer that makes all headers from Ethernet up itself: plain Python on a packet socket, without verbs and without
uroce.

A thread receives frames, and responds to requests for the port's addresses. The caller's thread executes operations.
Both hold the condition `changed` in the meantime.
"""

import collections
import ipaddress
import platform
import socket
import struct
import threading
import zlib

from network import DATA_MTU
from peers import Peer, PeerError

ETH_P_ALL, IPV4, ARP, IPV6 = 0x0003, 0x0800, 0x0806, 0x86dd    # EtherTypes
SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23
UDP, ICMPV6 = 17, 58                                           # protocols of IP
SOLICITATION, ADVERTISEMENT = 135, 136                         # types of ICMPv6 [RFC 4861]
SOURCE_PORT, ROCE_PORT = 0xc000, 4791
BTH, DETH = struct.Struct('!BBHII'), struct.Struct('!II')      # [IBA 9.2, 9.3.3]
SEND_ONLY, SEND_ONLY_IMM = 0x64, 0x65
MIGRATED, PKEY, QKEY = 0x40, 0xffff, 0x11111111
GRH = 40                                                       # bytes of a receive buffer before the data


def packed(address):
    return ipaddress.ip_interface(address).ip.packed


def checksum(data):
    return struct.pack('!H', -sum(struct.unpack(f'!{len(data) // 2}H', data)) % 0xffff)


def ip_header(source, destination, protocol, length, hops=64):
    if len(source) == 16:
        return struct.pack('!IHBB', 6 << 28, length, protocol, hops) + source + destination
    first = struct.pack('!BBHIBB', 0x45, 0, 20 + length, 0x4000, hops, protocol)
    return first + checksum(first + source + destination) + source + destination


def neighbour_packet(source, destination, kind, flags, target, option):
    rest = struct.pack('!I', flags) + target + option
    pseudo = source + destination + struct.pack('!IIBB', 4 + len(rest), ICMPV6, kind, 0)
    return (ip_header(source, destination, ICMPV6, 4 + len(rest), hops=255) +
            struct.pack('!BB', kind, 0) + checksum(pseudo + rest) + rest)


def icrc(ip, rest):
    """The ICRC of an IP header and the bytes between it and the ICRC. Fields that may change count as ones [IBA
    A17.3.3]."""
    ones, ip = b'\xff' * 8, bytearray(ip)
    if len(ip) == 20:
        ip[1:2], ip[8:9], ip[10:12] = ones[:1], ones[:1], ones[:2]
    else:
        ip[:4], ip[7:8] = b'\x6f' + ones[:3], ones[:1]
    return struct.pack('<I', zlib.crc32(ones + ip + rest[:6] + ones[:2] + rest[8:12] + ones[:1] + rest[13:]))


def pattern(length, seed):
    return bytes(37 * seed + 7 * i + 13 * (i >> 8) + 29 * (i >> 16) & 0xff for i in range(length))


class End:
    """A QP, its memory, its receives (wr, offset, size) and its completions."""

    def __init__(self, qpn, size):
        self.qpn = qpn
        self.memory = bytearray(size)
        self.receives = collections.deque()
        self.completions = {'send': [], 'recv': []}
        self.psn = 0
        self.qkey = None    # None until the QP is connected


class Udp(Peer):
    words = frozenset({'UD', 'ipv6', 'IMM'})
    thread = None

    def start(self):
        if not self.network.has(self.number):
            self.network.make_veth(self.number, DATA_MTU)
        self.addresses = [packed(address) for address in self.network.addresses(self.number)]
        self.changed = threading.Condition()
        self.neighbours = {}    # {IP address: MAC}
        self.ends = {}
        self.next_qpn = 0x11
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self.socket.settimeout(0.1)
        self.socket.bind((self.network.port(self.number), ETH_P_ALL))
        self.mac = self.socket.getsockname()[4]
        self.thread = threading.Thread(target=self.receive, daemon=True)
        self.thread.start()

    def stop(self):
        thread, self.thread = self.thread, None
        if thread:
            thread.join()
            self.socket.close()

    def version(self):
        return f'Python {platform.python_version()}'

    def call(self, operation, **words):
        method = getattr(self, f'do_{operation}', None)
        if not method:
            raise PeerError(f'{self.name}: it has no {operation}')
        self.log.write(f'> {operation} {words}\n')
        with self.changed:
            answer = method(**words) or {}
        self.log.write(f'< {answer}\n')
        return answer

    # ------------------------------------------------------------------------------------- receiving

    def receive(self):
        while self.thread:
            try:
                frame = self.socket.recv(DATA_MTU + 14)
            except TimeoutError:
                continue
            with self.changed:
                self.take_frame(int.from_bytes(frame[12:14], 'big'), frame[14:])
                self.changed.notify_all()

    def take_frame(self, ethertype, packet):
        if ethertype == ARP and len(packet) >= 28:
            self.take_arp(packet)
        elif ethertype == IPV4 and len(packet) >= 20:
            length = int.from_bytes(packet[2:4], 'big')
            self.take_ip(packet[9], packet[12:16], packet[16:20], packet[:20], packet[20:length])
        elif ethertype == IPV6 and len(packet) >= 40:
            length = 40 + int.from_bytes(packet[4:6], 'big')
            self.take_ip(packet[6], packet[8:24], packet[24:40], packet[:40], packet[40:length])

    def take_arp(self, packet):
        mac, source, target = packet[8:14], packet[14:18], packet[24:28]
        self.neighbours[source] = mac
        if packet[7] == 1 and target in self.addresses:
            self.transmit(mac, ARP, packet[:7] + b'\2' + self.mac + target + mac + source)

    def take_ip(self, protocol, source, destination, ip, rest):
        if protocol == ICMPV6 and len(rest) >= 32 and rest[0] in (SOLICITATION, ADVERTISEMENT):
            self.take_neighbour(rest[0], source, rest[8:24], rest[26:32])
        elif protocol == UDP and destination in self.addresses and len(rest) >= 8 + BTH.size + DETH.size + 4:
            if int.from_bytes(rest[2:4], 'big') == ROCE_PORT and rest[-4:] == icrc(ip, rest[:-4]):
                self.take_datagram(ip.rjust(GRH, b'\0'), rest[8:-4])

    def take_neighbour(self, kind, source, target, mac):
        self.neighbours[source] = mac
        if kind == SOLICITATION and target in self.addresses:
            answer = neighbour_packet(target, source, ADVERTISEMENT, 0x60000000, target, b'\2\1' + self.mac)
            self.transmit(mac, IPV6, answer)

    def take_datagram(self, grh, packet):
        opcode, flags, pkey, qpn, _ = BTH.unpack_from(packet)
        qkey, source_qpn = DETH.unpack_from(packet, BTH.size)
        end = next((end for end in self.ends.values() if end.qpn == qpn & 0xffffff), None)
        if not end or opcode not in (SEND_ONLY, SEND_ONLY_IMM) or pkey != PKEY or qkey != end.qkey:
            return
        at = BTH.size + DETH.size + (4 if opcode == SEND_ONLY_IMM else 0)
        data = grh + packet[at:len(packet) - (flags >> 4 & 3)]
        if not end.receives or len(data) > end.receives[0][2]:
            return
        wr, offset, _ = end.receives.popleft()
        end.memory[offset:offset + len(data)] = data
        completion = {'wr': wr, 'status': 'SUCCESS', 'op': 'RECV', 'length': len(data), 'src_qp': source_qpn & 0xffffff}
        if opcode == SEND_ONLY_IMM:
            completion['imm'] = int.from_bytes(packet[at - 4:at], 'big')
        end.completions['recv'].append(completion)

    # --------------------------------------------------------------------------------------- sending

    def transmit(self, mac, ethertype, packet):
        self.socket.send(mac + self.mac + struct.pack('!H', ethertype) + packet)

    def resolve(self, address):
        for _ in range(3):
            if address not in self.neighbours:
                self.ask_for(address)
                self.changed.wait_for(lambda: address in self.neighbours, 1)
        if address not in self.neighbours:
            raise PeerError(f'{self.name}: {ipaddress.ip_address(address)} does not answer')
        return self.neighbours[address]

    def ask_for(self, address):
        if len(address) == 4:
            question = struct.pack('!HHBBH', 1, IPV4, 6, 4, 1) + self.mac + self.address + bytes(6) + address
            self.transmit(b'\xff' * 6, ARP, question)
        else:
            group = packed('ff02::1:ff00:0')[:13] + address[13:]
            question = neighbour_packet(self.address, group, SOLICITATION, 0, address, b'\1\1' + self.mac)
            self.transmit(b'\x33\x33' + group[12:], IPV6, question)

    # ----------------------------------------------------------------------------------- operations

    def do_open(self, address):
        self.address = packed(address)
        self.ends.clear()

    def do_create(self, id, type, size, **_):
        end = self.ends[id] = End(self.next_qpn, size)
        self.next_qpn += 1
        return {'qpn': end.qpn}

    def do_connect(self, id, psn, qkey=QKEY, **_):
        self.ends[id].psn, self.ends[id].qkey = psn, qkey

    def do_recv(self, id, size, n=1, offset=0, step=0, wr=0):
        self.ends[id].receives.extend((wr + i, offset + i * step, size) for i in range(n))

    def do_send(self, id, op, size, dgid, dqpn, n=1, offset=0, step=0, wr=0, imm=0, qkey=QKEY, flags='signaled', **_):
        end, destination = self.ends[id], packed(dgid)
        mac, pad = self.resolve(destination), -size & 3
        for i in range(n):
            opcode, immediate = (SEND_ONLY_IMM, struct.pack('!I', imm + i)) if op == 'SEND_IMM' else (SEND_ONLY, b'')
            headers = BTH.pack(opcode, MIGRATED | pad << 4, PKEY, dqpn, end.psn) + DETH.pack(qkey, end.qpn) + immediate
            length = 8 + len(headers) + size + pad + 4
            rest = struct.pack('!HHHH', SOURCE_PORT, ROCE_PORT, length, 0) + headers
            rest += end.memory[offset + i * step:][:size] + bytes(pad)
            ip = ip_header(self.address, destination, UDP, length)
            self.transmit(mac, IPV4 if len(destination) == 4 else IPV6, ip + rest + icrc(ip, rest))
            end.psn = end.psn + 1 & 0xffffff
            if 'signaled' in flags:
                end.completions['send'].append({'wr': wr + i, 'status': 'SUCCESS', 'op': 'SEND', 'length': size})

    def do_poll(self, id, of, n, ms):
        completions = self.ends[id].completions[of]
        self.changed.wait_for(lambda: len(completions) >= n, ms / 1000)
        taken, completions[:n] = completions[:n], []
        return {'completions': taken}

    def do_fill(self, id, offset, length, seed=0, zero=0):
        self.ends[id].memory[offset:offset + length] = bytes(length) if zero else pattern(length, seed)

    def do_check(self, id, offset, length, seed=0, zero=0):
        there, wanted = self.ends[id].memory[offset:offset + length], bytes(length) if zero else pattern(length, seed)
        return {'at': next((i for i in range(length) if there[i] != wanted[i]), -1)}

    def do_destroy(self, id):
        del self.ends[id]
