#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the trees of files that liburoce-paths.so makes. A process and its children share one tree. It is removed when
the process that made it ends.

    check-paths.py liburoce-paths.so test-ibverbs-paths
"""

import os
import signal
import subprocess
import sys
import tempfile

PATHS, CALLS = map(os.path.abspath, sys.argv[1:])
DEVICES = {'UROCE': 'net_null0,addr=192.0.2.1/24', 'UROCE_EAL': '--vdev net_null0'}
# Calls that have no path argument, and the table of descriptors; closed.c tests each
CLOSING = {'close', 'close_range', 'closefrom', 'dup2', 'dup3', 'uroce_paths_descriptors'}
# Calls for the descriptors of librdmacm; ucma_file.c tests each
CHANNEL = {'dup', 'fcntl', 'fcntl64', 'write', 'writev'}
ETHERNET = '1'  # ARPHRD_ETHER


class Family:
    """The folder for the trees of a few processes."""

    def __init__(self, where, **more):
        self.where = where
        self.env = {'PATH': os.environ['PATH'], 'LC_ALL': 'C', 'XDG_RUNTIME_DIR': where,
                    'LD_LIBRARY_PATH': os.path.dirname(PATHS), 'LD_PRELOAD': PATHS} | more

    def run(self, *command):
        return subprocess.run(command, env=self.env, capture_output=True, text=True, check=False)

    def python(self, *lines):
        return self.run(sys.executable, '-c', '\n'.join(['import os, subprocess', *lines]))

    def trees(self):
        return sorted(os.listdir(self.where))


def check(is_so, *why):
    if not is_so:
        sys.exit(f'check-paths.py: {" ".join(str(reason) for reason in why)}')


def calls_are_those_tested(_):
    symbols = subprocess.check_output(['nm', '-D', '--defined-only', PATHS], text=True)
    exported = {line.split()[-1] for line in symbols.splitlines()}
    tested = set(subprocess.check_output([CALLS, 'calls'], text=True).split())
    tested |= CLOSING | CHANNEL
    check(exported == tested, 'exported and tested differ:', exported ^ tested)


def read(*path):
    with open(os.path.join(*path), encoding='ascii') as file:
        return file.read().strip()


def the_interface_behind_is_shown(where):
    interfaces = [name for name in sorted(os.listdir('/sys/class/net'))
                  if read('/sys/class/net', name, 'type') == ETHERNET]
    if not interfaces:
        print('# there is no Ethernet interface here')
        return
    name = interfaces[0]
    family = Family(where, UROCE='net_af_packet0,addr=192.0.2.1/24',
                    UROCE_EAL=f'--vdev net_af_packet0,iface={name}')
    done = family.run('ls', '/sys/class/infiniband/uroce0/device/net/')
    check(done.stdout == f'{name}\n', done)
    done = family.run('cat', f'/sys/class/infiniband/uroce0/device/net/{name}/address',
                      '/sys/class/infiniband/uroce0/ports/1/gid_attrs/ndevs/1')
    check(done.stdout == f'{read("/sys/class/net", name, "address")}\n{name}\n', done)


def files_can_be_listed_and_read(where):
    family = Family(where, **DEVICES)
    done = family.run('ls', '-lR', '/sys/class/infiniband/', '/sys/class/infiniband_verbs',
                      '/dev/infiniband')
    check(done.returncode == 0 and not done.stderr, done)
    for path, text in (('ports/1/gids/1', '0000:0000:0000:0000:0000:ffff:c000:0201'),
                       ('ports/1/gids/2', ':'.join(8 * ['0000'])),
                       ('ports/1/gid_attrs/types/1', 'RoCE v2'), ('ports/1/state', '4: ACTIVE'),
                       ('ports/1/phys_state', '5: LinkUp'), ('ports/1/link_layer', 'Ethernet'),
                       ('ports/1/pkeys/0', '0xffff'), ('ports/1/lid', '0x0'),
                       ('node_type', '1: CA')):
        done = family.run('cat', f'/sys/class/infiniband/uroce0/{path}')
        check(done.stdout == text + '\n', done)
    for absent in ('ports/1/gid_attrs/types/2', 'ports/1/gid_attrs/ndevs/1', 'device/net'):
        done = family.run('cat', f'/sys/class/infiniband/uroce0/{absent}')
        check(done.returncode == 1 and 'No such file' in done.stderr, done)


def family_has_one_tree(where):
    family = Family(where, **DEVICES)
    done = family.python('assert os.listdir("/sys/class/infiniband") == ["uroce0"]',
                         'trees = os.listdir(os.environ["XDG_RUNTIME_DIR"])',
                         'names = subprocess.check_output(["ls", "/sys/class/infiniband"])',
                         'assert names == b"uroce0\\n", names',
                         'assert os.listdir(os.environ["XDG_RUNTIME_DIR"]) == trees',
                         'os.fork() or os._exit(0); os.wait()',
                         'assert os.listdir("/sys/class/infiniband") == ["uroce0"]',
                         'print(len(trees))')
    check(done.stdout == '1\n', done)
    check(not family.trees(), 'left behind:', family.trees())


def what_a_killed_process_left_goes(where):
    family = Family(where, **DEVICES)
    done = family.python('os.listdir("/sys/class/infiniband")', 'os.kill(os.getpid(), 9)')
    check(done.returncode == -signal.SIGKILL and len(family.trees()) == 1, done, family.trees())
    dead = family.trees()[0]
    prefix, namespace, pid, unique = dead.split('-')
    # names of a running process, of another PID namespace, and of another user
    others = [f'{prefix}-{namespace}-{os.getpid()}-{unique}', f'{prefix}-1-{pid}-{unique}']
    if os.geteuid() == 0:
        others.append(f'{prefix}-{namespace}-{pid}-other')
    for other in others:
        os.mkdir(os.path.join(where, other))
    if os.geteuid() == 0:
        os.chown(os.path.join(where, others[-1]), 1, 1)
    done = family.run('ls', '/sys/class/infiniband')
    check(done.stdout == 'uroce0\n', done)
    check(family.trees() == sorted(others), family.trees(), 'and not', others)


def who_does_not_look_has_nothing(where):
    family = Family(where, **DEVICES)
    done = family.run('cat', '/proc/self/maps')
    check('liburoce-paths' in done.stdout and 'libibverbs' not in done.stdout, done)
    done = family.python('print(len(os.listdir(os.environ["XDG_RUNTIME_DIR"])))')
    check(done.stdout == '0\n', done)


def without_devices_there_is_nothing(where):
    family = Family(where)
    alone = Family(where)
    del alone.env['LD_PRELOAD']
    command = ('ls', '/sys/class/infiniband')
    done, same = family.run(*command), alone.run(*command)
    check((done.returncode, done.stdout, done.stderr) ==
          (same.returncode, same.stdout, same.stderr), done)
    check(not family.trees(), family.trees())


def the_distributions_library_is_no_loop(where):
    family = Family(where)
    del family.env['LD_LIBRARY_PATH']    # then the distribution's library is loaded, which reads such paths itself
    alone = Family(where)
    del alone.env['LD_PRELOAD']
    command = ('timeout', '60', 'ls', '/sys/class/infiniband')
    done, same = family.run(*command), alone.run(*command)
    check((done.returncode, done.stdout) == (same.returncode, same.stdout), done)


def main():
    for case in (calls_are_those_tested, the_interface_behind_is_shown, files_can_be_listed_and_read,
                 family_has_one_tree, what_a_killed_process_left_goes,
                 who_does_not_look_has_nothing, without_devices_there_is_nothing,
                 the_distributions_library_is_no_loop):
        with tempfile.TemporaryDirectory(prefix='uroce-check-paths-') as where:
            case(where)
        print(case.__name__)


main()
