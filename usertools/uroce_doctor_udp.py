# SPDX-License-Identifier: BSD-3-Clause
"""The checks of uroce-doctor for the port `udp`: RoCEv2 on UDP sockets of the kernel. They open such sockets as the port
does, and send to this host only. They need no privilege.
"""

import array
import contextlib
import errno
import fcntl
import ipaddress
import os
import re
import select
import socket
import struct

from uroce_nic import names, read
from uroce_probe import PORT
from uroce_target import FAULT, NOTE, OK, Finding, ask_ip, interface_with, link_of

BUFFER_LEN = 8 << 20    # size of a socket's buffer that the port asks for
SOL_UDP, UDP_SEGMENT, UDP_GRO = 17, 103, 104
# The two that CAP_NET_ADMIN allows, and that no limit of the system concerns.
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
SIOCETHTOOL, ETHTOOL_GGRO = 0x8946, 0x2b
SEGMENT_LEN = 64
WAIT_S = 0.5
# Multicast groups whose datagrams stay in this host: their TTL is 0.
GROUPS = {4: '224.0.0.1', 6: 'ff01::1'}
ANY = '0.0.0.0', '::'
UDP_4791 = 'UDP 4791'


# ------------------------------------------------------------------------------------------- addresses

def addresses_of(entry):
    """The addresses of an interface, as `ip` reports it, without link-local ones."""
    return [(info['local'], entry['ifname']) for info in entry.get('addr_info', ()) if info.get('scope') != 'link']


def host_addresses():
    """The addresses of a port udp without addresses of its own, by interface: those of all interfaces that are up, or else
    those of the loopback.
    """
    found, loopback = [], []
    for entry in ask_ip('addr', 'show', 'up') or ():
        (loopback if 'LOOPBACK' in entry.get('flags', ()) else found).extend(addresses_of(entry))
    return found or loopback


def sources(target):
    """The addresses of the device, each with its interface; the interface is None if no interface has the address."""
    if target.addrs:
        return [(text, interface_with(text)) for text in target.addrs]
    if target.keys.get('iface'):
        return [pair for entry in ask_ip('addr', 'show', 'dev', target.interface) or () for pair in addresses_of(entry)]
    return host_addresses()


def is_loopback_address(text):
    return ipaddress.ip_address(text).is_loopback


def addresses(target):
    known = sources(target)
    for text, interface in known:
        if interface is None:
            others = ', '.join(text for text, _ in host_addresses()) or 'none'
            yield Finding(FAULT, 'address', f'the host does not have the address {text}: it has {others}',
                          f'ip addr add {text}/... dev ...    (or: udp,addr=ADDRESS, one that the host has or one of 127.0.0.0/8)')
    if not known and not (target.interface and link_of(target.interface) is None):
        yield Finding(FAULT, 'address', f'{target.interface or "this network namespace"} has no address',
                      f'ip addr add 192.0.2.1/24 dev {target.interface or "..."}')
    elif known and all(interface for _, interface in known):
        yield Finding(OK, 'address', ', '.join(text for text, _ in known))


def loopback(target):
    """Whether the loopback interface is up, by which datagrams between addresses of this host go."""
    flags = (link_of('lo') or {}).get('flags', ())
    if 'UP' not in flags and target.interface != 'lo':    # else the check of the link says so
        yield Finding(NOTE, 'loopback', 'lo is down: processes of this host do not reach each other', 'ip link set lo up')


def routes(target):
    """Whether this network namespace has a route to other hosts."""
    known = sources(target)
    if not known or all(is_loopback_address(text) for text, _ in known) and target.addrs:
        return
    found = [entry for family in ('-4', '-6') for entry in ask_ip(family, 'route', 'show') or ()
             if not entry.get('dst', '').startswith(('fe80:', 'ff00:'))]
    if not found:
        yield Finding(NOTE, 'route', 'this network namespace has no route: the device reaches processes of this host only',
                      'ip addr add 192.0.2.1/24 dev ...    (or: ip route add default via GATEWAY)')


# ------------------------------------------------------------------------------------------- UDP port 4791

def address_of(text):
    """The address in a line of /proc/net/udp or udp6: groups of four bytes in the order of the host."""
    words = [int(text[at:at + 8], 16) for at in range(0, len(text), 8)]
    return str(ipaddress.ip_address(struct.pack(f'={len(words)}I', *words)))


def holders(proc):
    """The sockets that have UDP port 4791: (address, user, inode)."""
    found = []
    for name in 'udp', 'udp6':
        for line in (read(proc, 'net', name) or '').splitlines()[1:]:
            words = line.split()
            address, _, port = words[1].partition(':')
            if int(port, 16) == PORT:
                found.append((address_of(address), int(words[7]), int(words[9])))
    return found


def process_of(proc, inode):
    """The process that has a socket: (PID, name); None: none of those that this user may see."""
    for pid in names(proc):
        if not pid.isdigit():
            continue
        for fd in names(proc, pid, 'fd'):
            try:
                if os.readlink(os.path.join(proc, pid, 'fd', fd)) == f'socket:[{inode}]':
                    return pid, read(proc, pid, 'comm') or '?'
            except OSError:
                pass
    return None


def has_rxe(target):
    """Whether the kernel's driver rxe, which has UDP port 4791 of all addresses, is loaded."""
    return any(line.startswith('rdma_rxe ') for line in (read(target.proc, 'modules') or '').splitlines())


def who_has(target, address):
    """Who has UDP port 4791 of an address, and what to type."""
    found = [holder for holder in holders(target.proc) if address in (*ANY, holder[0]) or holder[0] in ANY]
    own = 'udp,addr=127.0.0.2    (an address of its own for each process of a host'
    for _, user, inode in found:
        process = process_of(target.proc, inode)
        if process:
            return f'{process[1]}, PID {process[0]},', f'{own}; or end PID {process[0]})'
        if user == 0 and has_rxe(target):
            return "the kernel's rxe (module rdma_rxe)", 'rdma link; rdma link delete NAME; modprobe -r rdma_rxe'
    user = f' of user {found[0][1]}, whose processes this user may not see,' if found else ''
    return f'another socket{user}', f"sudo ss -lunp 'sport = {PORT}'    (or: {own})"


def limit_of_ports(target):
    return f'net.ipv4.ip_unprivileged_port_start is {read(target.proc, "sys/net/ipv4/ip_unprivileged_port_start")}'


def of_refusal(target, address, error):
    """The finding for an address at which no socket can be bound."""
    if error.errno == errno.EADDRINUSE:
        who, remedy = who_has(target, address)
        where = 'at all addresses' if address in ANY else f'at {address}'
        return Finding(FAULT, UDP_4791, f'{who} has UDP port 4791 {where}: no device can have it', remedy)
    if error.errno == errno.EACCES:
        return Finding(FAULT, UDP_4791, f'this user may not bind UDP port 4791: {limit_of_ports(target)}',
                       f'sysctl net.ipv4.ip_unprivileged_port_start={PORT}')
    if error.errno == errno.EPERM:
        return Finding(FAULT, 'permissions', f'{target.interface} alone: this kernel wants CAP_NET_RAW for the key iface',
                       'udp,addr=ADDRESS    (of the interface)')
    return Finding(FAULT, UDP_4791, f'no socket at {address}: {error.strerror}', 'ip addr')


def bind(target, address):
    """A socket at UDP port 4791 of an address, as the port udp has it. @raise OSError: it cannot be bound"""
    is_ipv6 = ipaddress.ip_address(address).version == 6
    opened = socket.socket(socket.AF_INET6 if is_ipv6 else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        if is_ipv6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if target.keys.get('iface'):
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, target.interface.encode())
        opened.bind((address, PORT))
    except OSError:
        opened.close()
        raise
    return opened


def wanted_addresses(target):
    """The addresses at which the device binds sockets."""
    if target.addrs:
        return [text for text, interface in sources(target) if interface]
    return ANY if socket.has_ipv6 and os.path.exists('/proc/net/if_inet6') else ANY[:1]


def bind_all(target):
    """Bind the sockets of the device. @return the sockets by address, and the findings of those that cannot be bound"""
    bound, refused = {}, []
    if target.keys.get('iface') and not link_of(target.interface):
        return bound, refused    # the check of the link says so
    for address in wanted_addresses(target):
        try:
            bound[address] = bind(target, address)
        except OSError as error:
            if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                refused.append(of_refusal(target, address, error))
    # Those of IPv4 and of IPv6 are equal if a kernel module has the port, or a user has no right to bind it.
    return bound, list({finding.text: finding for finding in refused}.values())


# ------------------------------------------------------------------------------------------- firewall

def passes(opened, address, interface):
    """Send a datagram to a socket of this host. @return None: it came; or the finding"""
    with socket.socket(opened.family, socket.SOCK_DGRAM) as out:
        try:
            out.bind((address, 0))
            out.sendto(b'', (address, PORT))
        except OSError as error:
            return Finding(FAULT, 'firewall', f'a rule of this host refuses to send to UDP port 4791 ({error.strerror})',
                           'nft list ruleset; ip rule    (then: nft insert rule inet filter output udp dport 4791 accept)')
        if select.select([opened], [], [], WAIT_S)[0]:
            return None
    return Finding(FAULT, 'firewall', f'a rule of this host drops what comes for UDP port 4791 of {address}, even on {interface}',
                   'nft list ruleset    (then: nft insert rule inet filter input udp dport 4791 accept)')


def firewall(target, bound):
    """Whether rules of this host drop or refuse datagrams between its own addresses. Rules that spare the loopback are not
    seen.
    """
    if 'UP' not in (link_of('lo') or {}).get('flags', ()) or target.keys.get('iface'):
        return
    for address, interface in sources(target):
        version = ipaddress.ip_address(address).version
        opened = bound.get(address) or bound.get(ANY[version == 6])
        found = passes(opened, address, 'lo') if opened and interface else None
        if found:
            yield found
            return


# ------------------------------------------------------------------------------------------- speed

def granted(opened):
    """The sizes of the buffers that a socket gets for receiving and for sending, in bytes."""
    for name in socket.SO_RCVBUF, socket.SO_SNDBUF, SO_RCVBUFFORCE, SO_SNDBUFFORCE:
        with contextlib.suppress(OSError):
            opened.setsockopt(socket.SOL_SOCKET, name, BUFFER_LEN)
    # the kernel reports twice of what was asked for
    return [opened.getsockopt(socket.SOL_SOCKET, name) // 2 for name in (socket.SO_RCVBUF, socket.SO_SNDBUF)]


def buffers(opened):
    sizes = granted(opened)
    small = [f'{size >> 10} KiB for {what} (net.core.{name})' for size, what, name in
             zip(sizes, ('received datagrams', 'datagrams to send'), ('rmem_max', 'wmem_max')) if size < BUFFER_LEN]
    if small:
        yield Finding(NOTE, 'buffers', f'the kernel grants {" and ".join(small)}, where the port asks for {BUFFER_LEN >> 10} KiB: '
                      'bursts of datagrams are lost while the program does not run',
                      f'sysctl net.core.rmem_max={BUFFER_LEN} net.core.wmem_max={BUFFER_LEN}    (of the host, as root)')
    else:
        yield Finding(OK, 'buffers', f'{BUFFER_LEN >> 10} KiB for each direction')


def try_segments(version, interface):
    """Send a message of two datagrams that the kernel is to cut, to a group and with a TTL with which they do not leave this
    host. @return None, or the error of the kernel
    """
    family = socket.AF_INET6 if version == 6 else socket.AF_INET
    index = socket.if_nametoindex(interface)
    with socket.socket(family, socket.SOCK_DGRAM) as opened:
        if version == 6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 0)
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
        else:
            opened.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, struct.pack('=4s4sI', bytes(4), bytes(4), index))
            opened.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
            opened.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
        try:
            opened.sendmsg([bytes(2 * SEGMENT_LEN)], [(SOL_UDP, UDP_SEGMENT, struct.pack('=H', SEGMENT_LEN))], 0,
                           (GROUPS[version], PORT))
        except OSError as error:
            return error
    return None


def segmentation(target, attempt=try_segments):
    """Whether the kernel cuts messages into datagrams (UDP_SEGMENT)."""
    seen = set()
    for address, interface in sources(target):
        if interface is None or interface in seen or 'UP' not in (link_of(interface) or {}).get('flags', ()):
            continue
        seen.add(interface)
        error = attempt(ipaddress.ip_address(address).version, interface)
        if error is None:
            continue
        if error.errno == errno.EIO:
            yield Finding(NOTE, 'segmentation', f'the kernel cuts no messages into datagrams on {interface}, which computes no '
                          'checksums: each datagram is a system call', f'ethtool -K {interface} tx on')
        elif error.errno in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOPROTOOPT):
            yield Finding(NOTE, 'segmentation', f'this kernel cuts no messages into datagrams (UDP_SEGMENT: {error.strerror}): each '
                          'datagram is a system call', 'uname -r    (4.18 or later has it)')


def has_gro(interface):
    """Whether generic receive offload of an interface is on; None: not known."""
    value = array.array('B', struct.pack('=II', ETHTOOL_GGRO, 0))
    request = struct.pack('16sP16x', interface.encode(), value.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        try:
            fcntl.ioctl(opened, SIOCETHTOOL, request)
        except OSError:
            return None
    return bool(struct.unpack('=II', value)[1])


def is_virtual(interface):
    """Whether an interface gets messages of this host as they are, and has nothing to join."""
    kind = next(iter(ask_ip('-d', 'link', 'show', 'dev', interface) or ()), {}).get('linkinfo', {}).get('info_kind')
    return interface == 'lo' or kind == 'veth'


def offload(target):
    """Whether interfaces join the datagrams that they receive (GRO)."""
    for interface in sorted({name for _, name in sources(target) if name}):
        if has_gro(interface) is False and not is_virtual(interface):
            yield Finding(NOTE, 'GRO', f'generic receive offload of {interface} is off: each datagram that comes is a system call',
                          f'ethtool -K {interface} gro on')


def gro_of_sockets(opened):
    try:
        opened.setsockopt(SOL_UDP, UDP_GRO, 1)
    except OSError:
        yield Finding(NOTE, 'GRO', 'this kernel joins no datagrams for a socket (UDP_GRO): each datagram that comes is a system call',
                      'uname -r    (5.0 or later has it)')


# ------------------------------------------------------------------------------------------- all of them

def udp(target):
    """The checks of the port udp."""
    if not target.is_udp:
        return
    yield Finding(OK, 'permissions', 'UDP sockets need none')
    yield from addresses(target)
    yield from loopback(target)
    yield from routes(target)
    bound, refused = bind_all(target)
    yield from refused
    with contextlib.ExitStack() as stack:
        for opened in bound.values():
            stack.enter_context(opened)
        if bound and not refused:
            yield Finding(OK, UDP_4791, 'free')
        yield from firewall(target, bound)
        for opened in list(bound.values())[:1]:
            yield from gro_of_sockets(opened)
            yield from buffers(opened)
    yield from segmentation(target)
    yield from offload(target)
