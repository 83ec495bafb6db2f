# SPDX-License-Identifier: BSD-3-Clause
"""Asks a host by RoCEv2 requests on a UDP socket, as the port `udp` of uroce sends them. This needs no privilege.

A response goes to UDP port 4791, whatever the source port of the request is. So the socket is bound to this port. If another
socket has the port, no response is seen, but an ICMP error is.
"""

import errno
import ipaddress
import select
import socket
import struct
import time

import uroce_probe as probe

# Further outcomes. UNREACHABLE: a router, or this host, says that the peer cannot be reached. NO_ROUTE: this host has none.
# UNKNOWN: there is no response, but another socket may have got it.
UNREACHABLE, NO_ROUTE, UNKNOWN = 'unreachable', 'no route', 'unknown'

IP_RECVERR, IPV6_RECVERR = 11, 25
IP_MTU_DISCOVER, IPV6_MTU_DISCOVER = 10, 23
UDP_NO_CHECK6_RX = 102            # of IPPROTO_UDP: receive datagrams over IPv6 that have no checksum of UDP, as those of RoCEv2
PMTUDISC_PROBE = 3                # set DF, and do not believe what the kernel remembers of the path
MSG_ERRQUEUE = 0x2000
ERROR = struct.Struct('=IBBBBII')    # errno, origin, type, code, pad, info, data: struct sock_extended_err
ORIGIN_LOCAL, ORIGIN_ICMP, ORIGIN_ICMP6 = 1, 2, 3
HOST_CODES = {ORIGIN_ICMP: (0, 1), ORIGIN_ICMP6: (0, 3)}    # codes of ICMP: no route, or no neighbour
SYSTEM = {errno.ENETUNREACH: NO_ROUTE, errno.EHOSTUNREACH: NO_ROUTE, errno.ENETDOWN: NO_ROUTE, errno.EPERM: probe.REFUSED_HERE,
          errno.EACCES: probe.REFUSED_HERE, errno.EINVAL: probe.REFUSED_HERE}


def open_socket(source, port=0, interface=None):
    """A UDP socket that never fragments and has a queue of errors. @raise OSError: the port is in use, and others"""
    is_ipv6 = ipaddress.ip_address(source).version == 6
    opened = socket.socket(socket.AF_INET6 if is_ipv6 else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        level = socket.IPPROTO_IPV6 if is_ipv6 else socket.IPPROTO_IP
        opened.setsockopt(level, IPV6_MTU_DISCOVER if is_ipv6 else IP_MTU_DISCOVER, PMTUDISC_PROBE)
        opened.setsockopt(level, IPV6_RECVERR if is_ipv6 else IP_RECVERR, 1)
        if is_ipv6:
            opened.setsockopt(socket.IPPROTO_UDP, UDP_NO_CHECK6_RX, 1)
        if interface:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        opened.bind((source, port))
    except OSError:
        opened.close()
        raise
    return opened


def read_error(opened):
    """The next error of the socket's queue: origin, type and code; None: there is none."""
    try:
        _, controls, _, _ = opened.recvmsg(2048, 512, MSG_ERRQUEUE | socket.MSG_DONTWAIT)
    except OSError:
        return None
    for _, _, data in controls:
        if len(data) >= ERROR.size:
            return ERROR.unpack_from(data)[1:4]
    return None


def outcome_of(error):
    """What an error of the queue says; None: nothing about the UDP port."""
    origin, kind, code = error
    protocol = {ORIGIN_ICMP: probe.ICMP, ORIGIN_ICMP6: probe.ICMPV6}.get(origin)
    if protocol is None or kind != probe.UNREACHABLE[protocol]:
        return None
    if code == probe.PORT_CODE[protocol]:
        return probe.CLOSED
    return UNREACHABLE if code in HOST_CODES[origin] else probe.PROHIBITED


def read_outcome(opened, requests):
    error = read_error(opened)
    if error:
        return outcome_of(error)
    try:
        mad = probe.mad_of(opened.recv(65536, socket.MSG_DONTWAIT))
    except OSError:    # the error that was read above, or one that the queue has by now
        return None
    return next((request.outcome for request in requests if mad and request.is_answered_by(mad)), None)


def await_outcome(opened, requests, end):
    while select.select([opened], [], [], max(0, end - time.monotonic()))[0]:
        found = read_outcome(opened, requests)
        if found:
            return found
    return None


def send(opened, data, peer):
    """Send a datagram. @return None, or the outcome: the kernel refuses the datagram"""
    for _ in range(2):
        try:
            opened.sendto(data, peer)
            return None
        except OSError as error:
            # A call reports the error of an earlier datagram, too, and only once.
            found = read_error(opened)
            refusal = SYSTEM.get(error.errno, probe.SILENT)
            if found:
                refusal = outcome_of(found) or refusal
    return refusal


def ask(source, peer, interface=None, timeout=probe.TIMEOUT_S):
    """Send the requests to the peer, until there is an outcome, or the timeout has passed, in seconds.
    @return the outcome
    @raise OSError: no socket can be opened at the source address
    """
    has_port = True
    try:
        opened = open_socket(source, probe.PORT, interface)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        opened, has_port = open_socket(source, 0, interface), False
    with opened:
        for request, end, sent in probe.turns(probe.requests_to(source, peer), timeout):
            packet = probe.packet_of(source, peer, opened.getsockname()[1], request.mad, 0)
            payload = packet[len(packet) - probe.UDP_LEN + 8:]
            found = send(opened, payload, (peer, probe.PORT)) or await_outcome(opened, sent, end)
            if found:
                return found
    return probe.SILENT if has_port else UNKNOWN
