# SPDX-License-Identifier: BSD-3-Clause
"""The checks of uroce-doctor that concern the network: addresses, lengths of frames, and the path to
a peer. They send ARP requests and echo requests, and change nothing.
"""

import contextlib
import dataclasses
import ipaddress
import re

import uroce_arp
import uroce_echo
import uroce_probe as roce
import uroce_probe_socket as sockets
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

SHORT = 128    # length of a packet that any path carries


def addresses(interface):
    """Addresses of a kernel interface, without link-local ones."""
    entry = (ask_ip('addr', 'show', 'dev', interface) or [{}])[0]
    return [info['local'] for info in entry.get('addr_info', ()) if info.get('scope') == 'global']


def is_loopback(interface):
    return 'LOOPBACK' in (link_of(interface) or {}).get('flags', ())


def address(target):
    if target.is_udp:
        return    # the checks of the port udp look at the addresses
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
    wanted = target.path_mtu or USUAL_PATH_MTU
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
    wanted = target.path_mtu or min(largest(entry['mtu']) if entry else MTUS[-1], MTUS[-1])
    needs = wanted + HEADERS + ETHERNET + overhead
    if carries >= wanted:
        yield Finding(OK, 'frames', f'{argument}={given}: path MTU {carries}')
        return
    size = next((size for size in FRAME_SIZES if size >= needs), FRAME_SIZES[-1])
    yield Finding(FAULT if 'mtu' in target.keys else NOTE, 'frames', f'{argument}={given} of {target.name} carries path MTU '
                  f'{carries or "none"}; {wanted} takes {needs}',
                  f'--vdev={target.name},...,{argument}={size}' + (f',blocksz={8 * size}' if argument == 'framesz' else ''))


def duplicates(target):
    """Ask the link whether another host has an address of this host."""
    entry = (ask_ip('addr', 'show', 'dev', target.interface) or [{}])[0] if target.interface else {}
    flags = (link_of(target.interface) or {}).get('flags', ()) if target.interface else ()
    if 'addr_info' not in entry or 'LOWER_UP' not in flags or 'LOOPBACK' in flags:
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


def path(target):
    """Check the path to the peer: the route, whether the peer responds, and the largest packet that
    passes.
    """
    if not target.peer or not (target.is_udp or target.interface and link_of(target.interface)):
        return
    way = (ask_ip('route', 'get', target.peer) or [None])[0]
    has_interface_of_its_own = not target.is_udp or 'iface' in target.keys
    if way is None or way.get('type') == 'unreachable':
        yield Finding(FAULT, 'path', f'no way to {target.peer}: neither a network of ours nor a gateway',
                      f'ip addr add ... dev {target.interface or "..."}    (of the peer\'s network)')
    elif way.get('type') == 'local' and not target.is_udp:
        yield Finding(FAULT, 'path', f'{target.peer} is an address of this host: its frames stay here',
                      '--peer ADDRESS    (of another host)')
    elif way.get('type') == 'local' and source_of(target) == target.peer:
        yield Finding(NOTE, 'path', f'{target.peer} is the address of the device itself, which was not asked',
                      '--peer ADDRESS    (of another device)')
    elif way.get('type') != 'local' and way.get('dev') != target.interface and has_interface_of_its_own:
        yield Finding(FAULT, 'path', f'the way to {target.peer} is by {way.get("dev")}, not by '
                      f'{target.interface}', f'ip route add {target.peer} dev {target.interface}')
    else:
        yield from probe(dataclasses.replace(target, interface=way.get('dev')), way.get('gateway', target.peer))


def ask_hop(target, hop):
    """The MACs that reply for the next hop; None: ARP cannot be tried."""
    if ipaddress.ip_address(hop).version != 4 or is_loopback(target.interface):
        return None
    source = next((found for found in addresses(target.interface) if '.' in found), None)
    try:
        return uroce_arp.owners(target.interface, hop, source)
    except OSError:
        return None


def open_echo(target):
    """The echo requests to the peer; None: this user may send none."""
    try:
        return uroce_echo.Echo(target.peer, None if target.is_udp else target.interface)
    except OSError:
        return None


def probe(target, hop):
    replies = ask_hop(target, hop)
    if replies and len(replies) > 1:
        yield Finding(FAULT, 'duplicate', f'{hop} is the address of {len(replies)} hosts: {", ".join(replies)}',
                      f'ip addr del {hop}/... dev ...    (on one of them)')
    try:
        outcome = ask_device(target)
    except OSError as error:
        yield Finding(NOTE, 'path', f'cannot be tried: {error.strerror}', 'sudo ...')
        return
    with contextlib.ExitStack() as stack:
        echo = open_echo(target)
        if echo:
            stack.callback(echo.close)
        if echo and echo.longest(SHORT):
            yield from port_4791(target, outcome)
            yield from lengths(target, echo)
        elif outcome in (roce.SILENT, sockets.UNKNOWN, sockets.UNREACHABLE):
            yield from silence(target, hop, replies, echo is not None)
        else:
            yield from port_4791(target, outcome)
            yield from lengths_without_echo(target, echo is not None)


def wanted_lengths(target):
    """The path MTUs to try, and the length of a packet with each of them."""
    has = link_of(target.interface)['mtu']
    wanted = target.path_mtu or largest(has)
    return {size: min(has, size + HEADERS) for size in MTUS if size <= wanted}


def lengths(target, echo):
    """Which packets pass to the peer, and back. The peer answers echo requests."""
    sizes = wanted_lengths(target)
    if not sizes:
        return    # the check of the MTU says so
    longest = {size: echo.longest(length) for size, length in sizes.items()}
    wanted, has = max(sizes), link_of(target.interface)['mtu']
    through = max((size for size, length in sizes.items() if longest[size] == length), default=None)
    gets = f'path MTU {through or "none"} gets through'
    remedy = f'ip link set ... mtu {has}    (there; or here: {target.name},mtu={through or MTUS[0]})'
    if longest[wanted] == sizes[wanted]:
        yield Finding(OK, 'path', f'{target.peer} answers to {sizes[wanted]} bytes, with as many')
    elif longest[wanted]:
        yield Finding(FAULT, 'path', f'{sizes[wanted]} bytes arrive at {target.peer}, and the response comes in fragments of '
                      f'{longest[wanted]} bytes: the MTU there, or on the way back, is less than {target.interface}\'s; {gets}',
                      remedy)
    elif uroce_echo.arrives(source_of(target), target.peer, sizes[wanted]):
        yield Finding(FAULT, 'path', f'{sizes[wanted]} bytes arrive at {target.peer}, and none of this length comes back: the MTU '
                      f'on the way back is less than {target.interface}\'s; {gets}', remedy)
    else:
        yield Finding(FAULT, 'path', f'{target.peer} answers, but not to {sizes[wanted]} bytes: the MTU on '
                      f'the way, or there, is less than {target.interface}\'s; {gets}', remedy)


def lengths_without_echo(target, may_ask):
    """Which packets pass to the peer. `may_ask`: this user may send echo requests, and the peer answers none."""
    sizes, source = wanted_lengths(target), source_of(target)
    why = 'answers no echo' if may_ask else 'was sent no echo, which this user may not'
    remedy = f'{target.name},mtu=1024    (if transfers of long messages fail)'
    if not may_ask:
        remedy = 'sudo ...    (or: sysctl net.ipv4.ping_group_range="0 2147483647")'
    if not source or not uroce_echo.arrives(source, target.peer, SHORT):
        yield Finding(NOTE, 'path', f'{target.peer} {why}, so the length of packets that pass is not known', remedy)
        return
    through = next((size for size in reversed(sizes) if uroce_echo.arrives(source, target.peer, sizes[size])), None)
    if through == max(sizes, default=None):
        yield Finding(NOTE, 'path', f'{sizes.get(through, SHORT)} bytes arrive at {target.peer}; it {why}, so the length of '
                      'packets that come back is not known', remedy)
    else:
        yield Finding(FAULT, 'path', f'{sizes[max(sizes)]} bytes do not arrive at {target.peer}: the MTU on the way, or there, is '
                      f'less than {target.interface}\'s; path MTU {through or "none"} gets through',
                      f'ip link set ... mtu {link_of(target.interface)["mtu"]}    (there; or here: {target.name},mtu='
                      f'{through or MTUS[0]})')


def source_of(target):
    """The address of this host from which the peer is asked; None: there is none of this family."""
    version = ipaddress.ip_address(target.peer).version
    known = target.addrs or (ask_ip('route', 'get', target.peer) or [{}])[0].get('prefsrc') or addresses(target.interface)
    known = [known] if isinstance(known, str) else known
    return next((found for found in known if ipaddress.ip_address(found).version == version), None)


def ask_device(target):
    """Send the peer RoCEv2 requests. @return the outcome of them, see uroce_probe and uroce_probe_socket"""
    source, timeout = source_of(target), target.timeout or roce.TIMEOUT_S
    if not source:
        return roce.SILENT
    if not target.is_udp:
        return roce.ask(target.interface, source, target.peer, timeout)
    outcome = sockets.ask(source, target.peer, timeout=timeout)
    if outcome == sockets.UNKNOWN and target.interface:
        try:
            outcome = roce.ask(target.interface, source, target.peer, timeout)
        except OSError:
            pass    # the device that has the port gets the responses
    return outcome


NFT = 'nft list ruleset    (then: nft insert rule inet filter input udp dport 4791 accept)'


def port_4791(target, outcome):
    """What the outcome of the RoCEv2 requests says about UDP port 4791 of the path."""
    peer = target.peer
    if outcome == roce.ANSWERED:
        yield Finding(OK, 'RoCE', f'a device of {peer} answers on UDP port 4791')
    elif outcome == roce.CM_ANSWERED:
        yield Finding(OK, 'RoCE', f'the connection manager of {peer} answers on UDP port 4791 (REJ: no listener); its device has '
                      'no performance management')
    elif outcome == roce.CLOSED:
        yield Finding(NOTE, 'RoCE', f'UDP port 4791 passes, but {peer} has no RoCE device now: no program of uroce, no '
                      'uroced and no kernel device', 'systemctl status uroced; rdma link    (there)')
    elif outcome == roce.PROHIBITED:
        yield Finding(FAULT, 'RoCE', f'a firewall on the path, here or there refuses UDP port 4791 to {peer}', NFT)
    elif outcome == roce.REFUSED_HERE:
        yield Finding(FAULT, 'RoCE', f'a rule of this host refuses to send to UDP port 4791 of {peer}',
                      'nft list ruleset; ip rule    (here)')
    elif outcome == sockets.NO_ROUTE:
        yield Finding(FAULT, 'RoCE', f'this host has no route to {peer}', f'ip route get {peer}')
    elif outcome == sockets.UNKNOWN:
        yield Finding(NOTE, 'RoCE', f'not known: a response of {peer} goes to UDP port 4791 of this host, which another socket '
                      'has', "ss -lunp 'sport = 4791'")
    else:
        yield Finding(FAULT, 'RoCE', f'{peer} answers echo requests, and nothing on UDP port 4791: a firewall drops it, the program '
                      'of the RoCE device there does not run, or the kernel there has its module rdma_rxe and no device of it',
                      f'nft list ruleset; tcpdump -i {target.interface} udp port 4791    (there and on the path); rdma link    (there)')


def silence(target, hop, replies, may_ask):
    """The peer does not respond: find out whether a host on the link claims the address. `replies` are the MACs that
    replied to ARP just now; None: ARP was not tried. `may_ask`: this user may send echo requests.
    """
    entry = (ask_ip('neigh', 'show', 'to', hop, 'dev', target.interface) or [{}])[0]
    known = entry.get('lladdr') if 'FAILED' not in entry.get('state', ()) else None
    if is_loopback(target.interface):
        yield Finding(FAULT, 'path', f'{target.peer} is an address of this host, and nothing answers on UDP port 4791: a rule of '
                      'this host drops it, or the program of the RoCE device does not run', 'nft list ruleset; uroce-stat --list')
    elif known and replies is not None and known not in replies:
        now = f'{", ".join(replies)} replies for it' if replies else 'nobody replies for it: the host is down, or has lost the address'
        yield Finding(FAULT, 'neighbour', f'this host remembers {hop} at {known}, and {now}',
                      f'ip neigh flush to {hop} dev {target.interface}')
    elif known:
        answers = 'no echo' if may_ask else 'nothing on UDP port 4791'
        yield Finding(FAULT, 'path', f'{hop} is there ({entry["lladdr"]}), but {target.peer} answers {answers}: '
                      'a firewall, or a host that is not up', f'nft list ruleset    (there); ping {target.peer}')
    else:
        yield Finding(FAULT, 'neighbour', f'nobody on {target.interface} says that {hop} is his: wrong address, '
                      'wrong network or VLAN, or the host is down', f'ip neigh show dev {target.interface}')
