# SPDX-License-Identifier: BSD-3-Clause
"""Asks a host by RoCEv2 requests whether frames to UDP port 4791 reach an RDMA device.

There are two requests, both MADs to QP 1 [IBA 13.4]. A device answers them also when no program has a QP, and they change
nothing:

  Get(ClassPortInfo)  of performance management [IBA 13.4.8.1, 16.1]; uroce, uroced and the RDMA core of Linux answer
  REQ                 of connection management [IBA 12.6.5] for a service ID that nobody can have; a connection manager
                      answers with REJ, reason 8. It is sent if nothing has answered the first request.

ask() waits for a response to any of the requests, from its start until its time limit.

ask() sends IP packets, and sees all frames of an interface, which needs CAP_NET_RAW. uroce_probe_socket.py has another way.
"""

import dataclasses
import ipaddress
import random
import select
import socket
import struct
import time
import zlib

PORT = 4791
# Outcomes. ANSWERED: by a device. CM_ANSWERED: the REQ alone was answered. CLOSED: the peer says that nobody has the UDP
# port. PROHIBITED: a router or the peer refuses the packet. REFUSED_HERE: a rule of this host does. SILENT: no response.
ANSWERED, CM_ANSWERED, CLOSED, PROHIBITED, REFUSED_HERE, SILENT = (
    'answered', 'CM answered', 'closed', 'prohibited', 'refused here', 'silent')
RESEND_S = 0.5    # greatest time between two requests
REQUESTS = 3      # requests of a kind
TIMEOUT_S = 3     # time limit of the response, which the user may change

ETH_P_ALL = 0x0003
ETH_P_IP, ETH_P_IPV6, ETH_P_VLAN = 0x0800, 0x86dd, 0x8100
UDP, ICMP, ICMPV6 = 17, 1, 58
UD_SEND_ONLY = 0x64
QKEY_GSI = 0x80010000
CLASS_PERF, GET, GET_RESP, CLASS_PORT_INFO = 0x04, 0x01, 0x81, 0x0001
CLASS_CM, SEND, REQ = 0x07, 0x03, 0x0010
BTH = struct.Struct('!BBHII')       # opcode, flags, P_Key, destination QPN, ACK request and PSN
DETH = struct.Struct('!II')         # Q_Key, source QPN
MAD = struct.Struct('!BBBBHHQHHI')  # the common header
MAD_LEN = 256
# The service ID of port 0 of RDMA_PS_TCP. No listener can have this port.
SERVICE_ID = 0x0106 << 16
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


@dataclasses.dataclass
class Request:
    """A MAD that asks a device for a response."""
    mad: bytes
    answer: tuple      # class, method and transaction of the response
    outcome: str       # what a response says

    def is_answered_by(self, mad):
        _, kind, _, method, _, _, transaction, *_ = MAD.unpack_from(mad)
        # The status does not matter: a device without this class answers, too. Nor does the reason of a REJ. A socket that
        # sees all frames also sees the request.
        return (kind, method, transaction) == self.answer and mad != self.mad


def class_port_info():
    transaction = random.getrandbits(63)
    mad = MAD.pack(1, CLASS_PERF, 1, GET, 0, 0, transaction, CLASS_PORT_INFO, 0, 0)
    return Request(mad.ljust(MAD_LEN, b'\0'), (CLASS_PERF, GET_RESP, transaction), ANSWERED)


def gid_of(ip):
    return ip.packed if ip.version == 6 else bytes(10) + b'\xff\xff' + ip.packed


def connection_request(source, peer):
    """A REQ as librdmacm sends it, with the header that names the IP addresses."""
    source, peer = ipaddress.ip_address(source), ipaddress.ip_address(peer)
    transaction = random.getrandbits(63)
    body = bytearray(MAD_LEN - MAD.size)

    def put(offset, form, *values):
        struct.pack_into('!' + form, body, offset, *values)

    put(0, 'I4xQQ', random.randrange(1, 1 << 32), SERVICE_ID, random.randrange(1, 1 << 63))    # communication ID, CA GUID
    put(32, 'I', random.randrange(2, 1 << 24) << 8)        # QPN
    put(43, 'B', 20 << 3)                                  # timeouts of 4 s; service type RC
    put(44, 'I', random.randrange(1 << 24) << 8 | 20 << 3 | 7)    # PSN, timeout, retries
    put(48, 'HBB', 0xffff, 3 << 4 | 7, 15 << 4)            # P_Key, path MTU 1024, RNR retries, repetitions
    put(52, 'HH16s16s', 0xffff, 0xffff, gid_of(source), gid_of(peer))    # the primary path
    put(92, 'BBBB', 0, 64, 0, 18 << 3)                     # traffic class, hop limit, SL, ACK timeout
    put(140, 'BBH16s16s', 0, source.version << 4, 0, source.packed.rjust(16, b'\0'), peer.packed.rjust(16, b'\0'))
    return Request(MAD.pack(1, CLASS_CM, 2, SEND, 0, 0, transaction, REQ, 0, 0) + body, (CLASS_CM, SEND, transaction),
                   CM_ANSWERED)


def requests_to(source, peer):
    """The requests in the order in which they are sent."""
    return class_port_info(), connection_request(source, peer)


def packet_of(source, peer, sport, mad, ident):
    """A request, from the IP header to the ICRC. `ident` is the identification of IPv4."""
    source, peer = ipaddress.ip_address(source), ipaddress.ip_address(peer)
    if peer.version == 4:
        head = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + UDP_LEN, ident, 0x4000, 64, UDP, 0, source.packed, peer.packed)
    else:
        head = struct.pack('!IHBB16s16s', 6 << 28, UDP_LEN, UDP, 64, source.packed, peer.packed)
    rest = (struct.pack('!HHHH', sport, PORT, UDP_LEN, 0) + BTH.pack(UD_SEND_ONLY, 0x40, 0xffff, 1, 0) +
            DETH.pack(QKEY_GSI, random.randrange(2, 1 << 24)) + mad)
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


def mad_of(payload):
    """The MAD in the payload of a UDP datagram; None: it has none."""
    begin = BTH.size + DETH.size
    return payload[begin:begin + MAD_LEN] if len(payload) >= begin + MAD_LEN else None


def outcome_of(frame, packet, request):
    """What a received frame says about the request in a packet; None: nothing."""
    ip, protocol, offset = layer_3(frame) or (b'', None, 0)
    data = ip[offset:]
    if protocol == UDP and data[2:4] == struct.pack('!H', PORT):
        mad = mad_of(data[8:])
        if mad and request.is_answered_by(mad):
            return request.outcome
    if protocol in UNREACHABLE and len(data) >= 8 + 28 and data[0] == UNREACHABLE[protocol]:
        # The ICMP message repeats the addresses and the UDP ports of the packet.
        begin = 12 if protocol == ICMP else 8
        end = 24 if protocol == ICMP else 44
        if data[8 + begin:8 + end] == packet[begin:end]:
            return CLOSED if data[1] == PORT_CODE[protocol] else PROHIBITED
    return None


def turns(requests, timeout):
    """Yield the requests in the order in which they are sent. Each request comes with the time at which the wait for a response
    ends, and with the list of all requests that are sent by then.
    """
    order = [request for request in requests for _ in range(REQUESTS)]
    gap, end = min(RESEND_S, timeout / len(order)), time.monotonic() + timeout
    for number, request in enumerate(order, 1):
        now = time.monotonic()
        yield request, max(end, now + gap) if number == len(order) else now + gap, order[:number]


def await_outcome(link, packet, requests, end):
    while select.select([link], [], [], max(0, end - time.monotonic()))[0]:
        frame = link.recv(65536)
        found = next(filter(None, (outcome_of(frame, packet, request) for request in requests)), None)
        if found:
            return found
    return None


def ask(interface, source, peer, timeout=TIMEOUT_S):
    """Send the requests to the peer, until there is an outcome, or the timeout has passed, in seconds.
    @return the outcome
    @raise OSError: the sockets cannot be opened
    """
    is_ipv6 = ipaddress.ip_address(peer).version == 6
    sport = random.randrange(0xc000, 0x10000)
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
        for request, end, sent in turns(requests_to(source, peer), timeout):
            # The kernel would choose an identification of 0.
            packet = packet_of(source, peer, sport, request.mad, random.randrange(1, 65536))
            try:
                out.sendto(packet, (peer, 0))
            except OSError:
                return REFUSED_HERE
            found = await_outcome(link, packet, sent, end)
            if found:
                return found
    return SILENT
