#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the sockets of EAL for the programs of several users without XDG_RUNTIME_DIR. Each user must have a socket of
its own, which no other user can access.

    check-users.py LIBS LINGER

The test runs as root, with a /tmp, a /run and a /mnt of its own. So it does not see other programs of root.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Where other users find TOP: they may have no access to the folders above TOP.
TREE = '/mnt'
RUN, STAT = (os.path.join(TREE, 'usertools', name) for name in ('uroce-run', 'uroce-stat'))
TIMEOUT_S = 300
ONE, OTHER = 65534, 65533
OWN = '/tmp/uroce-runtime-'
SKIP = 77


def check(is_so, *why):
    if not is_so:
        raise AssertionError(' '.join(str(reason) for reason in why))


def as_user(user, **more):
    env = {name: value for name, value in os.environ.items() if name not in ('XDG_RUNTIME_DIR', 'RUNTIME_DIRECTORY')}
    return {'user': user, 'group': user, 'extra_groups': [], 'env': {**env, **more}, 'text': True}


class Program:
    """A program of a user, which waits after its start."""

    def __init__(self, user, **more):
        libs, linger = LIBS_AND_LINGER
        self.process = subprocess.Popen([RUN, '--libs', libs, '--dev', 'loopback', '--', linger, '1', '100'],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        **as_user(user, **more))
        self.pid = self.process.pid
        if not select.select([self.process.stdout], [], [], TIMEOUT_S)[0]:
            self.process.kill()
        self.child = int(self.process.stdout.readline() or -1)
        check(self.child > 0, 'the program does not run:', self.process.poll())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.child, signal.SIGKILL)
        _, self.said = self.process.communicate('', TIMEOUT_S)


def pids_told(user, **more):
    """PIDs of the processes that uroce-stat shows to a user, and what it prints on stderr."""
    run = subprocess.run([STAT, '--json'], capture_output=True, timeout=TIMEOUT_S, check=False,
                         **as_user(user, **more))
    return {device['pid'] for device in json.loads(run.stdout or '{"devices": []}')['devices']}, run.stderr


def both_users_are_told_of():
    with Program(ONE) as one, Program(OTHER) as other:
        check(pids_told(0) == ({one.pid, other.pid}, ''), 'root sees', pids_told(0))
        for program, user in ((one, ONE), (other, OTHER)):
            check(pids_told(user) == ({program.pid}, ''), user, 'sees', pids_told(user))
            with open(f'/proc/{program.child}/environ', encoding='ascii') as file:
                check('RUNTIME_DIRECTORY' not in file.read(), 'what a program starts is told of another folder')
    check(one.said == other.said == '', one.said, other.said)


def is_refused(prepare, *why):
    """Check a folder with ONE's name that other users can access. It is not used or changed. ONE uses another folder,
    which is the same each time."""
    name = f'{OWN}{ONE}'
    prepare(name)
    before = os.lstat(name)
    used = set()
    for _ in range(2):
        with Program(ONE) as one:
            check(pids_told(0) == ({one.pid}, ''), 'root sees', pids_told(0), *why)
            check(pids_told(ONE) == ({one.pid}, ''), 'its user sees', pids_told(ONE), *why)
            check(pids_told(OTHER)[0] == set(), 'the other user sees', pids_told(OTHER), *why)
        check(name in one.said and one.said.count('\n') == 1, one.said, *why)
        used.add(one.said.split()[-1])
    after = os.lstat(name)
    check((before.st_mtime_ns, before.st_mode) == (after.st_mtime_ns, after.st_mode), 'it was used', *why)
    check(len(used) == 1, used, *why)
    own = os.lstat(used.pop())
    check((own.st_uid, own.st_mode & 0o777) == (ONE, 0o700), own, *why)


def folder(user, mode):
    def make(name):
        os.mkdir(name)
        os.chown(name, user, user)
        os.chmod(name, mode)
    return make


def link(name):
    folder(ONE, 0o700)('/tmp/elsewhere')
    os.symlink('/tmp/elsewhere', name)
    os.lchown(name, OTHER, OTHER)


def file(name):
    with open(name, 'w', encoding='ascii'):
        os.chown(name, ONE, ONE)


def folders_that_are_not_the_users_alone_are_refused():
    for prepare, *why in ((folder(OTHER, 0o777), 'another user made it'), (folder(OTHER, 0o700), 'cannot be entered'),
                          (folder(ONE, 0o777), 'all may write'), (folder(ONE, 0o750), 'a group may read'),
                          (link, 'a link'), (file, 'a file')):
        is_refused(prepare, *why)
        empty_tmp()


def sockets_of_another_user_are_not_asked():
    """Another user listens in a folder with ONE's name, and never responds. uroce-stat ignores the socket."""
    where = f'{OWN}{ONE}/dpdk/rte'
    os.makedirs(where)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(f'{where}/dpdk_telemetry.v2')
        listener.listen()
        for name in (f'{OWN}{ONE}', f'{OWN}{ONE}/dpdk', where, f'{where}/dpdk_telemetry.v2'):
            os.chown(name, OTHER, OTHER)
        os.chmod(f'{OWN}{ONE}', 0o755)
        for user in (0, ONE):
            pids, said = pids_told(user)
            check(not pids and 'no answer' not in said, user, 'is told', pids, said)


def fill_backlog(stack, path):
    """Listen at a path, as EAL does, until no more connections find room."""
    listener, connected = (stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)) for _ in range(2))
    listener.bind(path)
    listener.listen(1)
    connected.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            connected.connect(path)
            connected = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            connected.setblocking(False)


def a_process_that_accepts_no_connections_delays_no_other():
    """A process of the same user listens at EAL's sockets of telemetry, and accepts nothing, as one that is stopped.
    Another process starts, and has a socket beside those."""
    where = f'{OWN}{ONE}/dpdk/rte'
    os.makedirs(where)
    paths = [f'{where}/{name}' for name in ('telemetry', 'dpdk_telemetry.v2')]
    with contextlib.ExitStack() as stack:
        for path in paths:
            fill_backlog(stack, path)
        for name in (f'{OWN}{ONE}', f'{OWN}{ONE}/dpdk', where, *paths):
            os.chown(name, ONE, ONE)
            os.chmod(name, 0o700)
        before = [os.stat(path).st_ino for path in paths]
        with Program(ONE) as one:
            check(os.path.exists(f'{where}/dpdk_telemetry.v2:1'), 'it has another socket:', os.listdir(where))
        check([os.stat(path).st_ino for path in paths] == before, 'the sockets are replaced')
    check(one.said == '', one.said)


def runtime_dir_of_another_user_is_not_used():
    """XDG_RUNTIME_DIR is inherited from another user, as after su(1), or all users may write to it."""
    os.mkdir('/tmp/everybody')
    os.chmod('/tmp/everybody', 0o1777)
    with Program(OTHER, XDG_RUNTIME_DIR='/tmp/everybody') as other:
        check(os.path.isdir('/tmp/everybody/dpdk'), 'what it says is not used where it is good')
        with Program(ONE, XDG_RUNTIME_DIR='/tmp/everybody') as one:
            check(pids_told(0, XDG_RUNTIME_DIR='/tmp/everybody') == ({one.pid, other.pid}, ''), pids_told(0))
    check(one.said == other.said == '', one.said, other.said)


def empty_tmp():
    for name in os.listdir('/tmp'):
        path = os.path.join('/tmp', name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def enter_tmp():
    """Continue in a mount namespace with an empty /tmp and /run. The files of LIBS must not be below the old /tmp."""
    if os.geteuid() != 0:
        print('needs root, to run programs as other users')
        sys.exit(SKIP)
    if os.environ.get('CHECK_USERS_TMP') != 'own':
        os.environ['CHECK_USERS_TMP'] = 'own'
        os.execvp('unshare', ['unshare', '-m', sys.executable, *sys.argv])
    for mount in (['-t', 'tmpfs', '-o', 'mode=1777', 'none', '/tmp'], ['-t', 'tmpfs', '-o', 'mode=755', 'none', '/run'],
                  ['--bind', TOP, TREE]):
        if subprocess.run(['mount', *mount], check=False).returncode != 0:
            print(f'cannot be mounted here: {" ".join(mount)}')
            sys.exit(SKIP)


def main():
    failed = 0
    for test in (both_users_are_told_of, folders_that_are_not_the_users_alone_are_refused,
                 sockets_of_another_user_are_not_asked, a_process_that_accepts_no_connections_delays_no_other,
                 runtime_dir_of_another_user_is_not_used):
        empty_tmp()
        try:
            test()
            print(f'ok    {test.__name__}')
        except (AssertionError, OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
            print(f'FAIL  {test.__name__}: {error}')
            failed += 1
    return failed > 0


def in_tree(path):
    path = os.path.abspath(path)
    return TREE + path[len(TOP):] if path.startswith(TOP + '/') else path


LIBS_AND_LINGER = [in_tree(path) for path in sys.argv[1:]]
enter_tmp()
sys.exit(main())
