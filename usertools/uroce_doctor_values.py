# SPDX-License-Identifier: BSD-3-Clause
"""The check of uroce-doctor of the values of a device's keys, and of keys of which its port has no use. The library refuses a
device with such keys (uroce_create_device(3)).
"""

import ipaddress

from uroce_netdev import MTUS
from uroce_target import FAULT, UDP, Finding

ADDRS_MAX = 8
SOCKET_MAX, IFACE_MAX = 107, 15    # lengths of the path of uroced's socket, and of the name of an interface
LISTS = ('addr', 'gw')             # keys that may be given more than once


def is_number(low, high):
    return lambda text: text.isascii() and text.isdigit() and low <= int(text) <= high


def is_address(text):
    ip, slash, length = text.partition('/')
    try:
        return bool(slash) and length.isdigit() and ipaddress.ip_interface(text) is not None and '%' not in ip
    except ValueError:
        return False


def is_ip(text):
    try:
        return '/' not in text and ipaddress.ip_address(text) is not None
    except ValueError:
        return False


# The test of a value, and which values are allowed.
VALUES = {
    'addr': (is_address, '192.0.2.1/24 or 2001:db8::1/64'),
    'gw': (is_ip, '192.0.2.254 or fe80::1'),
    'mtu': (lambda text: text in map(str, MTUS), ', '.join(map(str, MTUS))),
    'vlan': (is_number(1, 4094), '1 to 4094'),
    'workers': (is_number(1, 32), '1 to 32'),
    'drive': (lambda text: text in ('app', 'lcore', 'none'), 'app, lcore, none'),
    'qps': (is_number(1, 1 << 22), '1 to 4194304'),
    'mrs': (is_number(1, 1 << 24), '1 to 16777216'),
    'cc': (lambda text: text in ('none', 'dcqcn'), 'none, dcqcn'),
    'socket': (lambda text: len(text.encode()) <= SOCKET_MAX, f'a path of up to {SOCKET_MAX} characters'),
    'iface': (lambda text: len(text.encode()) <= IFACE_MAX, f'a name of up to {IFACE_MAX} characters'),
}
# Values of the port udp that differ: the kernel has the prefixes.
VALUES_OF_UDP = {'addr': (lambda text: is_ip(text) or is_address(text), '192.0.2.1 or 2001:db8::1')}
# Keys of which a port has no use, and why.
UNUSED = {
    'uroced': (('addr', 'gw', 'vlan', 'iface'), 'uroced has the addresses, gateways and VLAN'),
    UDP: (('gw', 'vlan', 'socket'), 'the kernel has the routes and VLANs'),
}
OF_OTHERS = (('socket', 'a key of port uroced alone'), ('iface', 'a key of port udp alone'))


def without(target, *names):
    """The specification of the device without some of its keys."""
    kept = [f'{key}={value}' for key, value in target.pairs if key not in names]
    return ','.join([target.name, *kept])


def values(target):
    """Check each value."""
    for key, value in target.pairs:
        allowed = (VALUES_OF_UDP if target.is_udp else {}).get(key) or VALUES.get(key)
        if value and allowed and not allowed[0](value):
            yield Finding(FAULT, 'keys', f'{key}={value} is not understood: allowed: {allowed[1]}', f'{key}=VALUE')


def repeated(target):
    """Check for keys that are given more often than is allowed."""
    given = [key for key, _ in target.pairs]
    for key in sorted({key for key in given if key and key not in LISTS and given.count(key) > 1}):
        yield Finding(FAULT, 'keys', f'the key {key} is given twice', without(target, key) + f',{key}=VALUE')
    if given.count('addr') > ADDRS_MAX:
        yield Finding(FAULT, 'keys', f'{given.count("addr")} addresses: allowed are {ADDRS_MAX}', 'addr=ADDRESS    (fewer of them)')


def unused(target):
    """Check for keys of which the port has no use."""
    own, why = UNUSED.get(target.name, ((), ''))
    for key in own:
        if key in target.keys:
            yield Finding(FAULT, 'keys', f'the key {key} is not of port {target.name}: {why}', without(target, key))
    for key, what in OF_OTHERS:
        if key in target.keys and target.name not in UNUSED:
            yield Finding(FAULT, 'keys', f'the key {key} is {what}', without(target, key))
    if target.is_udp and 'addr' in target.keys and 'iface' in target.keys:
        yield Finding(FAULT, 'keys', 'the keys addr and iface are both given: allowed is one of them', without(target, 'iface'))
    if any(key.startswith('cc_') for key in target.keys) and target.keys.get('cc') != 'dcqcn':
        yield Finding(FAULT, 'keys', 'keys cc_... without cc=dcqcn have no meaning', f'{target.spec},cc=dcqcn')


def examine_values(target):
    if target.name:
        yield from values(target)
        yield from repeated(target)
        yield from unused(target)
