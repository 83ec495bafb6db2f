# SPDX-License-Identifier: BSD-3-Clause
"""Asks a host by a RoCEv2 request whether frames to UDP port 4791 reach an RDMA device.

The request is Get(ClassPortInfo) of the performance management class, a MAD to QP 1 [IBA 13.4.8.1, 16.1]. uroce, uroced and
the RDMA core of Linux answer it, also when no program has a QP. It changes nothing.
"""

import ipaddress
import random
import select
import socket
import struct
import time
import zlib

PORT = 4791
ANSWERED, CLOSED, PROHIBITED, SILENT = 'answered', 'closed', 'prohibited', 'silent'
WAIT_S = 0.5      # timeout of the response to a request
REQUESTS = 3      # requests without a response after which the port counts as silent

ETH_P_ALL = 0x0003
ETH_P_IP, ETH_P_IPV6, ETH_P_VLAN = 0x0800, 0x86dd, 0x8100
UDP, ICMP, ICMPV6 = 17, 1, 58
UD_SEND_ONLY = 0x64
QKEY_GSI = 0x80010000
CLASS_PERF, GET, GET_RESP, CLASS_PORT_INFO = 0x04, 0x01, 0x81, 0x0001
BTH = struct.Struct('!BBHII')       # opcode, flags, P_Key, destination QPN, ACK request and PSN
DETH = struct.Struct('!II')         # Q_Key, source QPN
MAD = struct.Struct('!BBBBHHQHHI')  # the common header
MAD_LEN = 256
UDP_LEN = 8 + BTH.size + DETH.size + MAD_LEN + 4
UNREACHABLE = {ICMP: 3, ICMPV6: 1}          # type of ICMP
PORT_CODE = {ICMP: 3, ICMPV6: 4}            # code: nobody has the port
IP_HDRINCL, IPV6_HDRINCL = 3, 36


def icrc_of(ip, rest):
    """The ICRC [IBA A17.3.3]: fields that routers change count as ones. `rest` begins with the UDP header."""
    masked = bytearray(ip)
    if ip[0] >> 4 == 4:
        masked[1], masked[8], masked[10:12] = 0xff, 0xff, b'\xff\xff'
    else:
        masked[0] |= 0x0f
        masked[1:4], masked[7] = b'\xff\xff\xff', 0xff
    tail = bytearray(rest)
    tail[6:8] = b'\xff\xff'    # the checksum of UDP
    tail[8 + 4] = 0xff         # FECN and BECN
    return struct.pack('<I', zlib.crc32(bytes(masked + tail), zlib.crc32(b'\xff' * 8)))


def checksum_of(source, peer, rest):
    """The checksum of UDP over IPv6 [RFC 8200]. RoCEv2 needs none, but the kernel of a host without RoCE drops a datagram
    without it in silence.
    """
    data = source.packed + peer.packed + struct.pack('!II', UDP_LEN, UDP) + rest
    total = sum(struct.unpack(f'!{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return struct.pack('!H', ~total & 0xffff or 0xffff)


def packet_of(source, peer, sport, qpn, transaction):
    """The request, from the IP header to the ICRC."""
    source, peer = ipaddress.ip_address(source), ipaddress.ip_address(peer)
    if peer.version == 4:
        # The kernel would choose an identification of 0.
        head = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + UDP_LEN, random.randrange(1, 65536), 0x4000, 64, UDP, 0,
                           source.packed, peer.packed)
    else:
        head = struct.pack('!IHBB16s16s', 6 << 28, UDP_LEN, UDP, 64, source.packed, peer.packed)
    mad = MAD.pack(1, CLASS_PERF, 1, GET, 0, 0, transaction, CLASS_PORT_INFO, 0, 0)
    rest = (struct.pack('!HHHH', sport, PORT, UDP_LEN, 0) + BTH.pack(UD_SEND_ONLY, 0x40, 0xffff, 1, 0) +
            DETH.pack(QKEY_GSI, qpn) + mad.ljust(MAD_LEN, b'\0'))
    rest += icrc_of(head, rest)
    if peer.version == 6:
        rest = rest[:6] + checksum_of(source, peer, rest) + rest[8:]
    return head + rest


def layer_3(frame):
    """The IP packet of an Ethernet frame, its protocol and the offset of what the protocol has; None: no IP."""
    offset = 12
    if frame[offset:offset + 2] == struct.pack('!H', ETH_P_VLAN):
        offset += 4
    kind = frame[offset:offset + 2]
    ip = frame[offset + 2:]
    if kind == struct.pack('!H', ETH_P_IP) and len(ip) >= 20:
        return ip, ip[9], (ip[0] & 15) * 4
    if kind == struct.pack('!H', ETH_P_IPV6) and len(ip) >= 40:
        return ip, ip[6], 40
    return None


def outcome_of(frame, request, transaction):
    """What a received frame says about the request; None: nothing."""
    ip, protocol, offset = layer_3(frame) or (b'', None, 0)
    data = ip[offset:]
    if protocol == UDP and len(data) >= UDP_LEN and data[2:4] == struct.pack('!H', PORT):
        mad = data[8 + BTH.size + DETH.size:]
        _, kind, _, method, _, _, number, *_ = MAD.unpack_from(mad)
        # The status does not matter: a device without this class answers, too.
        if (kind, method, number) == (CLASS_PERF, GET_RESP, transaction):
            return ANSWERED
    if protocol in UNREACHABLE and len(data) >= 8 + 28 and data[0] == UNREACHABLE[protocol]:
        # The ICMP message repeats the addresses and the UDP ports of the packet.
        begin = 12 if protocol == ICMP else 8
        end = 24 if protocol == ICMP else 44
        if data[8 + begin:8 + end] == request[begin:end]:
            return CLOSED if data[1] == PORT_CODE[protocol] else PROHIBITED
    return None


def ask(interface, source, peer):
    """Ask for the ClassPortInfo of the peer.
    @return ANSWERED; CLOSED: the peer says that nobody has the UDP port; PROHIBITED: a router or the peer refuses the
    packet; SILENT: no response
    @raise OSError: the sockets cannot be opened
    """
    is_ipv6 = ipaddress.ip_address(peer).version == 6
    sport, qpn, transaction = random.randrange(0xc000, 0x10000), random.randrange(2, 1 << 24), random.getrandbits(63)
    request = packet_of(source, peer, sport, qpn, transaction)
    family, level, option = ((socket.AF_INET6, socket.IPPROTO_IPV6, IPV6_HDRINCL) if is_ipv6 else
                             (socket.AF_INET, socket.IPPROTO_IP, IP_HDRINCL))
    with socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW) as out, \
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as link, \
            socket.socket(family, socket.SOCK_DGRAM) as guard:
        link.bind((interface, ETH_P_ALL))
        out.setsockopt(level, option, 1)
        out.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        try:
            guard.bind(('', PORT))    # else this host answers the response with "port unreachable"
        except OSError:
            pass    # a device of this host has the port
        for _ in range(REQUESTS):
            try:
                out.sendto(request, (peer, 0))
            except OSError:
                return PROHIBITED    # by a rule of this host
            end = time.monotonic() + WAIT_S
            while select.select([link], [], [], max(0, end - time.monotonic()))[0]:
                found = outcome_of(link.recv(65536), request, transaction)
                if found:
                    return found
    return SILENT
