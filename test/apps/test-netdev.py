#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests whether uroce-netdev finds the device of an interface. The kernel's devices are in a simulated sysfs.
uroce's devices have a real port. Where namespaces are allowed, there is also a real interface.

    test-netdev.py USERTOOLS UROCE-DEVINFO
"""

import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOOLS, DEVINFO = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
sys.path.insert(0, TOOLS)
import uroce_netdev  # noqa: E402
import uroce_nic  # noqa: E402

# The script in the manual prints these four values. The last is one of enum ibv_mtu.
MANUAL = ('device_name', 'ib_port', 'gid_index', 'mtu_index')
failed = 0


def expect(what, is_right, said=''):
    global failed
    print(f"{'ok' if is_right else 'FAIL'}    {what}" + ('' if is_right else f': {said}'))
    failed += not is_right


# ---------------------------------------------------------------------------------- simulated sysfs

def write(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text + '\n')


def add_gids(root, device, port, gids):
    """Write the GIDs of a port; gids: (interface, type, address) of each index."""
    base = f'class/infiniband/{device}/ports/{port}'
    for index, (interface, kind, gid) in enumerate(gids):
        write(root, f'{base}/gids/{index}', gid)
        if interface:
            write(root, f'{base}/gid_attrs/ndevs/{index}', interface)
            write(root, f'{base}/gid_attrs/types/{index}', kind)


def v4(last):
    return f'0000:0000:0000:0000:0000:ffff:c000:02{last:02x}'


LOCAL = 'fe80:0000:0000:0000:5054:00ff:fe12:3456'
GLOBAL = '2001:0db8:0000:0000:0000:0000:0000:0001'
EMPTY = (None, None, '0000:0000:0000:0000:0000:0000:0000:0000')


def make_sysfs(root):
    for interface, mtu in (('eth0', 4200), ('eth0.5', 4200), ('eth1', 1500), ('eth1.7', 1500),
                           ('eth2', 1500), ('eth3', 1500)):
        write(root, f'class/net/{interface}/mtu', str(mtu))
    write(root, 'class/net/eth1.7/lower_eth1/mtu', '1500')
    add_gids(root, 'mlx5_0', 1, [
        ('eth0', 'IB/RoCE v1', LOCAL), ('eth0', 'RoCE v2', LOCAL), ('eth0', 'IB/RoCE v1', v4(1)),
        ('eth0', 'RoCE v2', v4(1)), ('eth0.5', 'RoCE v2', v4(5)), EMPTY])
    add_gids(root, 'irdma0', 1, [EMPTY])
    add_gids(root, 'irdma0', 2, [('eth1', 'RoCE v2', LOCAL), ('eth1', 'RoCE v2', GLOBAL), EMPTY])
    add_gids(root, 'rxe_2', 1, [EMPTY])
    write(root, 'class/infiniband/rxe_2/parent', 'eth2')


def of_kernel(root, interface, ask_mtu=lambda device, port: None):
    return uroce_netdev.of_kernel(interface, root, ask_mtu)


def manual(found):
    return tuple(found[key] for key in MANUAL) if found else None


def test_kernel(root):
    make_sysfs(root)
    found = of_kernel(root, 'eth0')
    expect('the GID of IPv4 and RoCEv2', manual(found) == ('mlx5_0', 1, 3, 5), found)
    expect('it is readable', found['gid'] == '::ffff:192.0.2.1', found)
    found = of_kernel(root, 'eth0.5')
    expect('a VLAN has a GID of its own', manual(found) == ('mlx5_0', 1, 4, 5), found)
    found = of_kernel(root, 'eth1')
    expect('without IPv4 the global one, of port 2', manual(found) == ('irdma0', 2, 1, 3), found)
    found = of_kernel(root, 'eth1.7')
    expect('a VLAN without is that beneath', manual(found) == ('irdma0', 2, 1, 3), found)
    found = of_kernel(root, 'eth0', lambda device, port: 2048 if device == 'mlx5_0' else None)
    expect('what libibverbs says goes before the rule', manual(found)[3] == 4, found)
    expect('an interface without a device', of_kernel(root, 'eth3') is None)
    try:
        of_kernel(root, 'eth2')
        expect('a device without a GID', False, 'no error')
    except uroce_netdev.NetdevError as error:
        expect('a device without a GID', 'rxe_2 port 1 has no RoCEv2 GID' in str(error), error)


def test_mtus(root):
    for mtu, active in ((1500, 1024), (1120, 1024), (1119, 512), (4192, 4096), (4191, 2048), (68, 256),
                        (65536, 4096)):
        write(root, 'class/net/eth9/mtu', str(mtu))
        found = uroce_netdev.active_mtu_by_rule(root, 'eth9')
        expect(f'of MTU {mtu}', found == active, found)


# ---------------------------------------------------------------------------------------------- NICs

NIC = '0000:01:00.0'


def test_nics(root):
    """A NIC is refused with the command that binds it, or the result has the driver, the group and the node."""
    nic = uroce_nic.Nic(NIC, os.path.join(root, 'nic'))

    def refusal():
        try:
            uroce_netdev.refuse_nic(nic)
        except uroce_netdev.NetdevError as error:
            return str(error)
        return None

    expect('a NIC that is not there', 'there is no such device; allowed are those of: dpdk-devbind.py' in refusal(), refusal())
    write(nic.sysfs, f'bus/pci/devices/{NIC}/numa_node', '1')
    expect('a NIC of no driver', f'{NIC}: belongs to no driver, and DPDK cannot have it; type: modprobe' in refusal(), refusal())
    for driver in 'ixgbe', 'vfio-pci':
        os.makedirs(os.path.join(nic.sysfs, 'bus/pci/drivers', driver))
    os.makedirs(os.path.join(nic.sysfs, 'kernel/iommu_groups/12'))
    os.symlink('../../../../kernel/iommu_groups/12', os.path.join(nic.folder, 'iommu_group'))
    os.symlink('../../drivers/ixgbe', os.path.join(nic.folder, 'driver'))
    expect('a NIC of the kernel', f"belongs to the kernel's ixgbe, and DPDK cannot have it; type: modprobe vfio-pci && dpdk-devbind.py "
           f'-b vfio-pci {NIC}' in refusal(), refusal())
    os.remove(os.path.join(nic.folder, 'driver'))
    os.symlink('../../drivers/vfio-pci', os.path.join(nic.folder, 'driver'))
    expect('a NIC of DPDK', refusal() is None, refusal())
    found = uroce_netdev.of_nic(nic)
    expect('its driver, group and node', found == {'driver': 'vfio-pci', 'iommu_group': 12, 'numa_node': 1}, found)
    expect('the option that allows it', nic.allow == [f'-a{NIC}'], nic.allow)
    function = uroce_nic.Nic('mlx5_core.sf.4')
    expect('a scalable function', uroce_nic.is_nic(function.name) and function.allow == ['--no-pci', '-aauxiliary:mlx5_core.sf.4'], function.allow)
    expect('an interface is no NIC', not uroce_nic.is_nic('eth0'))


# ------------------------------------------------------------------------------------------- the program

def run(*arguments, prepare=None):
    """Run the program, in a namespace that `prepare` sets up. @return (status, stdout, stderr)"""
    command = [os.path.join(TOOLS, 'uroce-netdev'), '--devinfo', DEVINFO, *arguments]
    if prepare:
        command = ['unshare', '--net', 'sh', '-ec', prepare + '\nexec "$@"', 'sh', *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def lines(text):
    return dict(line.split('=', 1) for line in text.splitlines())


def refused(what, words, *arguments, prepare=None):
    status, out, err = run(*arguments, prepare=prepare)
    expect(what, status not in (0, 124) and not out and err.count('\n') == 1 and words in err
           and err.startswith('uroce-netdev: '), err)


def test_port():
    ring = ('--', '--no-huge', '--no-pci', '--vdev=net_ring0')
    status, out, err = run('net_ring0,addr=192.0.2.1/24,mtu=2048', *ring)
    expect('a port', status == 0 and not err, err)
    found = lines(out)
    expect("the manual's four", [found.get(key) for key in MANUAL] == ['uroce0', '1', '1', '4'], found)
    expect('and what they mean', (found.get('gid'), found.get('active_mtu'), found.get('netdev'),
                                  found.get('stack'))
           == ('::ffff:192.0.2.1', '2048', 'net_ring0', 'uroce'), found)
    _, out, err = run('--json', 'net_ring0,addr=2001:db8::1/64,addr=192.0.2.1/24', *ring)
    found = json.loads(out)
    expect('JSON, numbers being numbers', [found[key] for key in MANUAL] == ['uroce0', 1, 2, 5], out)
    refused('a port without an address', 'net_ring0: no address: allowed is', 'net_ring0', *ring)
    refused('a port that is not there', "no port 'net_ring7'", 'net_ring7,addr=192.0.2.1/24', *ring)
    refused('a bad key', 'mtu=9000 is not understood', 'net_ring0,mtu=9000', *ring)
    refused('a bad EAL option', 'EAL did not start', 'net_ring0', '--', '--colour')


def test_arguments():
    refused('no interface', 'IFNAME')
    refused('two interfaces', 'unrecognized arguments: eth1', 'eth0', 'eth1')
    refused('an unknown option', '--colour', '--colour', 'eth0')
    refused('an unknown interface', 'nothere0: no such interface; allowed: ', 'nothere0')
    refused('a NIC that is not there', '0000:ff:1f.7: there is no such device; allowed are those of: dpdk-devbind.py', '0000:ff:1f.7')
    refused('no uroce-devinfo', 'build it', 'net_ring0', '--devinfo', '/nothere', '--', '--no-pci')


VETH = 'ip link add left type veth peer name right; for i in left right; do ip link set $i mtu %d up; done'
ADDRESS = '; ip address add 192.0.2.7/24 dev left'


def test_interface():
    if run('--help', prepare=VETH % 4300)[0] != 0:
        print('skip  an interface: needs root, and a namespace with a veth')
        return
    status, out, err = run('left', prepare=VETH % 4300 + ADDRESS)
    found = lines(out)
    expect('an interface', status == 0 and [found.get(key) for key in MANUAL] == ['uroce0', '1', '1', '5'],
           out + err)
    expect('it is named', found.get('netdev') == 'left' and found.get('gid') == '::ffff:192.0.2.7', out)
    status, out, err = run('left', prepare=VETH % 1500 + ADDRESS)
    expect('its MTU bounds ours', lines(out).get('mtu_index') == '3', out + err)
    status, out, err = run('--uroce', 'left,mtu=512', prepare=VETH % 1500 + ADDRESS)
    expect('as does a key', lines(out).get('mtu_index') == '2', out + err)
    refused('an interface without an address', 'left: no address', 'left', prepare=VETH % 1500
            + '; sysctl -qw net.ipv6.conf.left.disable_ipv6=1')


with tempfile.TemporaryDirectory() as folder:
    test_kernel(folder)
    test_mtus(folder)
    test_nics(folder)
test_arguments()
test_port()
test_interface()
sys.exit(failed != 0)
