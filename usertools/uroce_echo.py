# SPDX-License-Identifier: BSD-3-Clause
"""Finds out which lengths of IP packets pass to a host, and back. No request is ever fragmented.

An echo request asks for a response of the same length. The kernel of the peer may send the response in fragments, which
RoCE does not do: so their length matters. A datagram to a UDP port that nobody has asks for a short ICMP error. So it shows
what passes to the peer, without the way back.
"""

import ipaddress
import os
import select
import socket
import struct
import time

import uroce_probe
import uroce_probe_socket as sockets

WAIT_S = 0.5             # timeout of an echo
REQUESTS = 3             # requests without a response after which this length does not pass
# An ICMP error needs more time, because hosts send a few of them a second.
ERROR_WAIT_S = 0.8
ERROR_REQUESTS = 3
CLOSED_PORT = 33434      # the first UDP port of traceroute
IP_RECVFRAGSIZE, IPV6_RECVFRAGSIZE = 25, 77


class Echo:
    """Echo requests to one address, on a raw socket or, without CAP_NET_RAW, on one of those that
    net.ipv4.ping_group_range allows.

    @raise OSError: this user may send no echo requests
    """

    def __init__(self, peer, interface):
        self.is_ipv6 = ipaddress.ip_address(peer).version == 6
        self.sequence = 0
        family, protocol = ((socket.AF_INET6, socket.IPPROTO_ICMPV6) if self.is_ipv6 else (socket.AF_INET, socket.IPPROTO_ICMP))
        self.is_raw = True
        try:
            self.socket = socket.socket(family, socket.SOCK_RAW, protocol)
        except PermissionError:
            self.socket, self.is_raw = socket.socket(family, socket.SOCK_DGRAM, protocol), False
        level = socket.IPPROTO_IPV6 if self.is_ipv6 else socket.IPPROTO_IP
        self.socket.setsockopt(level, sockets.IPV6_MTU_DISCOVER if self.is_ipv6 else sockets.IP_MTU_DISCOVER,
                               sockets.PMTUDISC_PROBE)
        self.fragments = level, IPV6_RECVFRAGSIZE if self.is_ipv6 else IP_RECVFRAGSIZE
        self.socket.setsockopt(*self.fragments, 1)
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
        has_header = self.is_raw and not self.is_ipv6
        body = packet[(packet[0] & 15) * 4:] if has_header and packet else packet
        # The kernel chooses the identifier of a socket that is not raw, and gives it the responses to its own requests.
        return (len(body) >= 8 and body[0] == (129 if self.is_ipv6 else 0) and
                body[6:8] == struct.pack('!H', self.sequence) and
                (not self.is_raw or body[4:6] == struct.pack('!H', os.getpid() & 0xffff)))

    def receive(self, length):
        """The length of the longest packet of a response: that of a fragment, or `length`; None: there is no response."""
        packet, controls, _, _ = self.socket.recvmsg(65536, 512)
        if not self.is_answer(packet):
            return None
        return next((struct.unpack_from('=i', data)[0] for *kind, data in controls if tuple(kind) == self.fragments), length)

    def longest(self, length):
        """Ask for a response of this length. @return the length of its longest packet; None: there is no response"""
        for _ in range(REQUESTS):
            try:
                self.socket.send(self.request(length))
            except OSError:
                return None
            end = time.monotonic() + WAIT_S
            while select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
                try:
                    found = self.receive(length)
                except OSError:
                    return None
                if found:
                    return found
        return None


def await_error(opened):
    """Wait for the error that says that nobody has the UDP port. @return whether it came"""
    end = time.monotonic() + ERROR_WAIT_S
    while select.select([opened], [], [], max(0, end - time.monotonic()))[0]:
        error = sockets.read_error(opened)
        if error and sockets.outcome_of(error) == uroce_probe.CLOSED:
            return True
        if error is None:
            opened.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)    # else the socket stays readable
    return False


def arrives(source, peer, length, interface=None):
    """Whether a packet of this length arrives at the peer, by the ICMP error that it causes there. Without an error the
    answer is False, also if the peer sends no such errors.
    """
    headers = (40 if ipaddress.ip_address(peer).version == 6 else 20) + 8
    try:
        with sockets.open_socket(source, 0, interface) as opened:
            for number in range(ERROR_REQUESTS):
                opened.sendto(bytes(length - headers), (peer, CLOSED_PORT + number))
                if await_error(opened):
                    return True
    except OSError:
        pass
    return False
