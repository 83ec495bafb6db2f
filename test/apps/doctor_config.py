# SPDX-License-Identifier: BSD-3-Clause
"""Tests of uroce-doctor with configuration files. Most devices of the files are on virtual ports, which need no interface."""

import os
import tempfile

from doctor_rig import all_said, expect, run

EAL = '[eal]\noptions = --no-huge --vdev=net_null0\n'
DEVICE = '[device]\nspec = net_null0,addr=192.0.2.1/24\n'

# What the file is, its text, the exit status, what the doctor says, and what to type.
FILES = (
    ('a file as it should be', f'; a comment\n{EAL}\n{DEVICE}', 0, ': 1 device', ''),
    ('two devices', EAL.replace('null0', 'null0 --vdev=net_null1') + DEVICE + '[device1]\nspec=net_null1,addr=192.0.2.2/24\n', 0,
     ': 2 devices', ''),
    ('an empty file', '', 1, 'has no section: allowed are [eal] with options=...', '[device]'),
    ('a file without a device', EAL, 1, 'names no device', 'spec=PORT,...'),
    ('an unknown section', EAL + '[devcie]\nspec=net_null0\n', 1, ':3: unknown section [devcie]', '[device]'),
    ('a section without its end', EAL + '[device\nspec=net_null0\n', 1, ':3: [device has no "]"', '[device]'),
    ('a section that is there twice', EAL + DEVICE + DEVICE, 1, 'section [device] is there twice', '[device2]'),
    ('a key before all sections', 'spec=net_null0\n' + EAL + DEVICE, 1, ':1: spec is in no section', '[device]'),
    ('a section without its key', EAL + DEVICE + '[device1]\n', 1, ':5: section [device1] has no spec', 'spec=...'),
    ('a key without a value', EAL + '[device]\nspec=\n', 1, ':4: spec has no value', 'spec=VALUE'),
    ('an unknown key of a section', EAL + DEVICE + 'mtu=1024\n', 0, 'unknown key mtu in [device], which is ignored',
     'spec=PORT,mtu=1024'),
    ('an unknown key of EAL', EAL + '--no-pci = 1\n' + DEVICE, 0, 'unknown key --no-pci in [eal]', 'options=1'),
    ('a key twice', EAL + DEVICE + 'spec=net_null1\n', 0, 'spec is there twice in [device]', '; spec = net_null1'),
    ('a line without =', EAL + DEVICE + 'mtu 1024\n', 0, ':5: mtu 1024 has no "=", and is ignored', '; mtu 1024'),
    ('a comment of another kind', '# by hand\n' + EAL + DEVICE, 0, '# by hand has no "="', '; # by hand'),
    ('a line that is too long', EAL + DEVICE + f'[device1]\nspec={"x" * 400}\n', 1, 'a line of 405 characters', 'UROCE_EAL'),
    ('no text', EAL + DEVICE + '\0\0\n', 1, 'the line has a byte 0', ''),
    ('a terminal\'s commands', EAL + '[device]\nspec=net_null0,addr=192.0.2.1/24,\033[2Jx=1\n', 1, 'unknown key ?[2Jx', ''),
    ('a port that no option makes', EAL + '[device]\nspec=net_null7,addr=192.0.2.1/24\n', 1,
     'there is no port net_null7: the options of EAL make net_null0', 'options=--vdev=net_null7,...'),
    ('an interface without an option', EAL + '[device]\nspec=lo\n', 1, 'lo is an interface of the kernel, and no option of EAL',
     'options=--vdev=net_af_packet0,iface=lo'),
    ('a name of uroce-run', EAL + '[device]\nspec=loopback\n', 1, 'loopback is a name of uroce-run --dev alone', 'spec=net_null0'),
    ('an interface that is not there', '[eal]\noptions=--no-huge --vdev=net_af_packet0,iface=fd7\n[device]\nspec=net_af_packet0\n', 1,
     'there is no interface fd7', 'ip link'),
    ('no such uroced', '[device]\nspec=uroced,socket=/nowhere/sock\n', 1, 'none listens at /nowhere/sock', 'systemctl start uroced'),
    ('an unknown key of a device', EAL + DEVICE.replace('\n', ',mtuu=1024\n').replace('[device],mtuu=1024', '[device]'), 1,
     'unknown key mtuu', 'net_null0,mtu=1024'),
)

# The keys of a device, the part of what the doctor says, and what to type.
KEYS = (
    ('net_null0,addr=192.0.2.1/24,mtu=1000', 'mtu=1000 is not understood: allowed: 256', 'mtu=VALUE'),
    ('net_null0,addr=192.0.2.1/24,mtu=99999999', 'mtu=99999999 is not understood', 'mtu=VALUE'),
    ('net_null0,addr=192.0.2.1', 'addr=192.0.2.1 is not understood: allowed: 192.0.2.1/24', 'addr=VALUE'),
    ('net_null0,addr=192.0.2.300/24', 'addr=192.0.2.300/24 is not understood', 'addr=VALUE'),
    ('net_null0,addr=192.0.2.1/24,gw=192.0.2.1/24', 'gw=192.0.2.1/24 is not understood', 'gw=VALUE'),
    ('net_null0,addr=192.0.2.1/24,vlan=4095', 'vlan=4095 is not understood: allowed: 1 to 4094', 'vlan=VALUE'),
    ('net_null0,addr=192.0.2.1/24,workers=0', 'workers=0 is not understood: allowed: 1 to 32', 'workers=VALUE'),
    ('net_null0,addr=192.0.2.1/24,drive=me', 'drive=me is not understood: allowed: app, lcore, none', 'drive=VALUE'),
    ('net_null0,addr=192.0.2.1/24,qps=many', 'qps=many is not understood', 'qps=VALUE'),
    ('net_null0,addr=192.0.2.1/24,mtu=512,mtu=1024', 'the key mtu is given twice', 'net_null0,addr=192.0.2.1/24,mtu=VALUE'),
    ('net_null0,addr=192.0.2.1/24,socket=/x', 'the key socket is a key of port uroced alone', 'net_null0,addr=192.0.2.1/24'),
    ('net_null0,addr=192.0.2.1/24,iface=lo', 'the key iface is a key of port udp alone', 'net_null0,addr=192.0.2.1/24'),
    ('net_null0,addr=192.0.2.1/24,cc_ai_mbps=40', 'cc_... without cc=dcqcn', 'cc_ai_mbps=40,cc=dcqcn'),
    ('uroced,addr=192.0.2.1/24', 'the key addr is not of port uroced', 'uroced'),
    ('udp,addr=127.0.0.1,gw=127.0.0.2', 'the key gw is not of port udp: the kernel has the routes', 'udp,addr=127.0.0.1'),
    ('udp,addr=127.0.0.1,iface=lo', 'the keys addr and iface are both given', 'udp,addr=127.0.0.1'),
    ('udp,addr=nowhere', 'addr=nowhere is not understood: allowed: 192.0.2.1 or', 'addr=VALUE'),
    ('udp,iface=', 'the key iface has no value', 'iface=VALUE'),
    ('udp,iface=' + 'x' * 20, 'is not understood: allowed: a name of up to 15 characters', 'iface=VALUE'),
)


def examine(text, folder, env=None):
    path = os.path.join(folder, 'uroce.conf')
    with open(path, 'wb') as file:
        file.write(text.encode('utf-8', 'surrogateescape'))
    status, said = run([], ['--config', path], env)
    all_said.append(said)
    return status, said


def test_files(folder):
    for what, text, wanted, words, remedy in FILES:
        status, said = examine(text, folder)
        expect(f'config: {what}', status == wanted and words in said and (not remedy or remedy in said), said)
    status, said = examine(EAL + '[device]\nspec=net_null0,\udcff\udcfe=1\n', folder)
    expect('config: bytes that are no text', status == 1 and 'unknown key' in said, said)
    for spec, words, remedy in KEYS:
        status, said = examine(f'{EAL}[device]\nspec={spec}\n', folder)
        lines = said.splitlines()
        at = next((i for i, line in enumerate(lines) if line.startswith('FAULT') and words in line), None)
        expect(f'config: {spec[:50]}', status == 1 and at is not None and remedy in lines[at + 1], said)


def test_environment(folder):
    path = os.path.join(folder, 'uroce.conf')
    status, said = examine(EAL + DEVICE, folder, {'UROCE': 'net_null1', 'UROCE_EAL': '--no-pci'})
    expect('config: the environment goes before the file', status == 0 and 'UROCE is set, and goes before the devices' in said and
           'unset UROCE_EAL' in said, said)
    status, said = run([], [], {'UROCE_CONFIG': path})
    expect('config: the file that UROCE_CONFIG names', status == 0 and f'{path}: 1 device' in said, said)
    status, said = run([], ['--config', os.path.join(folder, 'none')])
    all_said.append(said)
    expect('config: no file', status == 1 and 'cannot be read: No such file' in said and 'ls -l' in said, said)
    status, said = run([], ['--config', folder])
    expect('config: a folder', status == 1 and 'cannot be read: Is a directory' in said, said)
    for words in (['--config', path, 'lo'], ['--config', path, '--', '--no-huge'], ['--config', path, '--peer', '192.0.2.1'],
                  ['--config']):
        status, said = run([], words)
        expect(f'config: {" ".join(words).replace(folder, "")}', status == 2 and said.count('\n') == 1, said)


def test_all():
    with tempfile.TemporaryDirectory() as folder:
        test_files(folder)
        test_environment(folder)
