# SPDX-License-Identifier: BSD-3-Clause
"""Tests of uroce-doctor with machines that are simulated by files below /sys and /proc."""

import os
import tempfile

from doctor_rig import all_said, expect
import uroce_doctor
from uroce_target import FAULT, NOTE, OK, target_of

PCI = '0000:01:00.0'


def write(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text + '\n')


def bind(root, name, driver, bus='pci'):
    """Files of a device on a bus, and of the driver to which it is bound."""
    os.makedirs(os.path.join(root, f'sys/bus/{bus}/devices/{name}'), exist_ok=True)
    if driver:
        os.makedirs(os.path.join(root, f'sys/bus/{bus}/drivers/{driver}'), exist_ok=True)
        os.symlink(f'../../drivers/{driver}', os.path.join(root, f'sys/bus/{bus}/devices/{name}/driver'))


def join_group(root, name, group):
    """Files of the IOMMU group of a PCI device."""
    os.makedirs(os.path.join(root, f'sys/kernel/iommu_groups/{group}/devices/{name}'))
    os.symlink(f'../../../../kernel/iommu_groups/{group}', os.path.join(root, f'sys/bus/pci/devices/{name}/iommu_group'))


def machine(root, free=512, driver='vfio-pci', iommu=True, isolated='2-3', node=1, capabilities=3 << 12):
    """Files of a machine with two nodes of two CPUs, and a PCI port. The arguments set what is not in order."""
    for cpu in range(4):
        write(root, f'sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor', 'performance')
    write(root, 'sys/devices/system/cpu/online', '0-3')
    write(root, 'sys/devices/system/cpu/isolated', isolated)
    write(root, 'sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages', '512' if free is not None else '0')
    write(root, 'sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages', str(free or 0))
    for at, cpus in enumerate(('0-1', '2-3')):
        write(root, f'sys/devices/system/node/node{at}/cpulist', cpus)
        write(root, f'sys/devices/system/node/node{at}/hugepages/hugepages-2048kB/free_hugepages',
              str((free or 0) if at == 1 else 0))
    write(root, f'sys/bus/pci/devices/{PCI}/numa_node', str(node))
    bind(root, PCI, driver)
    if iommu:
        os.makedirs(os.path.join(root, 'sys/class/iommu/dmar0'))
        join_group(root, PCI, 12)
    write(root, 'proc/mounts', 'hugetlbfs /dev/hugepages hugetlbfs rw 0 0')
    write(root, 'proc/self/status', f'CapEff:\t{capabilities:016x}')


def findings(spec=f'{PCI},addr=192.0.2.1/24', eal=('-l', '2-3'), prepare=None, **traits):
    """What the doctor finds on a machine. `prepare` changes the files of the machine."""
    with tempfile.TemporaryDirectory() as root:
        machine(root, **traits)
        if prepare:
            prepare(root)
        target = target_of(spec, eal)
        for folder in 'sysfs', 'proc', 'dev', 'modules':
            setattr(target, folder, os.path.join(root, folder.removesuffix('fs')))
        found = list(uroce_doctor.examine(target))
    all_said.append('\n'.join(entry.text for entry in found))
    return found


def named(found, level, check, words=''):
    return any(entry.level == level and entry.check == check and words in entry.text for entry in found)


def remedy(check, **traits):
    return next(entry.remedy for entry in findings(**traits) if entry.check == check)


def without_2_mib(root):
    base = os.path.join(root, 'sys/kernel/mm/hugepages')
    os.rename(os.path.join(base, 'hugepages-2048kB'), os.path.join(base, 'hugepages-524288kB'))


def faulty(what, check, words, **traits):
    """Check that there is one fault, of this check, with these words, and with a command as a remedy.

    @return the command
    """
    found = findings(**traits)
    faults = [entry for entry in found if entry.level == FAULT]
    expect(what, len(faults) == 1 and named(faults, FAULT, check, words) and faults[0].remedy, found)
    return faults[0].remedy if len(faults) == 1 else ''


def test_all():
    found = findings()
    expect('a machine as it should be', all(entry.level == OK for entry in found), found)
    # programs of uroce work without hugepages
    for what, words, free in ('no hugepages', 'none is reserved', None), ('no free hugepages', '0 MiB', 0):
        found = findings(free=free)
        expect(what, named(found, NOTE, 'hugepages', words) and not any(entry.level == FAULT for entry in found), found)
    expect('how to reserve hugepages of 2 MiB', '/hugepages-2048kB/nr_hugepages' in remedy('hugepages', free=None))
    expect('how to reserve hugepages of another size', remedy('hugepages', free=None, prepare=without_2_mib).startswith('sysctl '))
    found = findings(free=8)
    expect('few hugepages', named(found, NOTE, 'hugepages', '16 MiB'), found)
    expect('--no-huge', named(findings(eal=('--no-huge',), free=None), OK, 'hugepages'))
    faulty('a driver of the kernel', 'driver', "the kernel's ixgbe", driver='ixgbe')
    faulty('no driver', 'driver', 'no driver', driver=None)
    expect('a driver of both', named(findings(driver='mlx5_core', iommu=False), OK, 'driver'))
    faulty('no IOMMU', 'IOMMU', 'vfio insists', iommu=False)
    faulty('no device', 'driver', 'no device at 0000:02:00.0', spec='0000:02:00.0,addr=192.0.2.1/24')
    faulty('no address', 'address', 'none of its own', spec=PCI)
    faulty('lcores of another node', 'NUMA', 'no lcore is', eal=('-l', '0-1'), isolated='0-3')
    faulty('memory of another node', 'NUMA', 'no free hugepage', node=0, eal=('-l0-1',), isolated='0-3')
    faulty('a CPU that is not there', 'CPUs', '[9]', eal=('--lcores=2,9',))
    found = findings(isolated='3')
    expect('a CPU that others use', named(found, NOTE, 'CPUs', 'not isolated: 2;'), found)
    faulty('an unknown key', 'keys', 'unknown key mtuu: allowed are addr,', spec=f'{PCI},addr=192.0.2.1/24,mtuu=1024')
    expect('what was meant', any(entry.remedy == f'{PCI},mtu=1024' for entry in
                                 findings(spec=f'{PCI},addr=192.0.2.1/24,mtuu=1024')))
    faulty('a key without a value', 'keys', 'the key vlan has no value', spec=f'{PCI},addr=192.0.2.1/24,vlan')
    found = findings(spec=f'{PCI},addr=192.0.2.1/24,cc=dcqcn,cc_rate_mbps=100')
    expect('keys of congestion control', not any(entry.level == FAULT for entry in found), found)
    found = findings(spec='', eal=())
    expect('the machine alone', not any(entry.level == FAULT for entry in found), found)
