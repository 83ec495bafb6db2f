# SPDX-License-Identifier: BSD-3-Clause
"""Asks the hosts of a link by ARP who has an address. The kernel's cache is neither read nor
changed. [RFC 826, RFC 5227]
"""

import ipaddress
import select
import socket
import struct
import time

ETH_P_ARP = 0x0806
BROADCAST = b'\xff' * 6
REQUEST, REPLY = 1, 2
HEAD = struct.Struct('!6s6sH')         # destination, source, EtherType
BODY = struct.Struct('!HHBBH6s4s6s4s')  # hardware, protocol, two lengths, operation, sender, target
WAIT_S = 0.2                           # timeout of the replies to a request
REQUESTS = 3                           # requests without a reply after which nobody has the address


def text_of(mac):
    return ':'.join(f'{byte:02x}' for byte in mac)


def owners(interface, address, source=None):
    """The MACs that reply to a request for this IPv4 address, as text. The hosts with interfaces of
    this machine do not reply to themselves.

    `source` is the own address that the request names. Without it the request is a probe, which
    changes no cache of other hosts.
    @raise OSError: the interface cannot be opened for ARP
    """
    sought = ipaddress.IPv4Address(address).packed
    sender = ipaddress.IPv4Address(source or '0.0.0.0').packed
    found = set()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ARP)) as link:
        link.bind((interface, ETH_P_ARP))
        mac = link.getsockname()[4]
        frame = HEAD.pack(BROADCAST, mac, ETH_P_ARP) + BODY.pack(1, 0x0800, 6, 4, REQUEST, mac, sender, bytes(6), sought)
        for _ in range(REQUESTS):
            link.send(frame)
            end = time.monotonic() + WAIT_S
            while select.select([link], [], [], max(0, end - time.monotonic()))[0]:
                found |= replier(link.recv(2048), sought, mac)
            if found:
                break
    return sorted(map(text_of, found))


def replier(frame, sought, own):
    """The MAC of the sender of a reply about the address, as a set; empty for any other frame."""
    if len(frame) < HEAD.size + BODY.size:
        return set()
    *_, operation, mac, address, _, _ = BODY.unpack_from(frame, HEAD.size)
    return {mac} if operation == REPLY and address == sought and mac != own else set()
