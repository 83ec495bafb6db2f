# SPDX-License-Identifier: BSD-3-Clause
"""A container without a container runtime: bubblewrap makes the file system, and the program confine takes the rights.

An image is a folder that containerfile.py makes: usr/local and etc of the final image, and the program confine. The
packages of the image are those of this machine. A container sees the following. All of it is read-only but the folders
of WRITABLE:

    /usr        of this machine, with /usr/local of the image
    /etc        of the image
    /proc       of a PID namespace of its own, with the paths masked that runtimes mask
    /sys        of this machine
    /dev        null, zero, full, random, urandom, tty, ptmx
"""

import os
import shutil

WRITABLE = {'/tmp': 1 << 30, '/dev/shm': 64 << 20}    # sizes in bytes; runtimes give 64 MiB to /dev/shm
NOBODY = 65534
# The paths that runtimes mask, and the kernel's RDMA devices, which a container does not have.
MASKED = ('/proc/acpi', '/proc/asound', '/proc/interrupts', '/proc/kcore', '/proc/keys', '/proc/latency_stats',
          '/proc/sched_debug', '/proc/scsi', '/proc/timer_list', '/proc/timer_stats', '/sys/devices/virtual/powercap',
          '/sys/firmware', '/sys/class/infiniband')
LINKS = 'bin', 'lib', 'lib32', 'lib64', 'sbin'
SEARCH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
CONFINE = '/run/confine'    # where a container has this program


def missing():
    """Why there can be no containers; None: there can."""
    return None if shutil.which('bwrap') else 'bubblewrap is not installed'


def top_level():
    """The words for the folders of this machine that programs need."""
    words = ['--ro-bind', '/usr', '/usr']
    for name in LINKS:
        if os.path.islink(f'/{name}'):
            words += ['--symlink', os.readlink(f'/{name}'), f'/{name}']
        elif os.path.isdir(f'/{name}'):
            words += ['--ro-bind', f'/{name}', f'/{name}']
    return words


def user_namespace():
    """The words for a user who is not root: the user is NOBODY inside."""
    if os.geteuid() == 0:
        return []
    return ['--unshare-user', '--uid', str(NOBODY), '--gid', str(NOBODY), '--cap-drop', 'ALL']


class Container:
    """How programs run in a container of this image. `binds` are further folders: {path: whether it is writable}.
    `volumes` are writable, too, and have other names in the container: {path: name}. `writable` replaces WRITABLE.
    """

    def __init__(self, image, binds=None, user=NOBODY, volumes=None, writable=None):
        self.image = os.path.abspath(image)
        self.binds = dict(binds or {})
        self.user = user
        self.volumes = dict(volumes or {})
        self.writable = WRITABLE if writable is None else writable

    def file_system(self):
        words = [*top_level(), '--ro-bind', f'{self.image}/usr/local', '/usr/local',
                 '--ro-bind', f'{self.image}/etc', '/etc', '--proc', '/proc', '--ro-bind', '/sys', '/sys',
                 '--dev', '/dev', '--perms', '0755', '--dir', '/run', '--ro-bind', f'{self.image}/confine', CONFINE]
        for path, size in self.writable.items():
            words += ['--perms', '1777', '--size', str(size), '--tmpfs', path]
        for path, is_writable in self.binds.items():
            words += ['--bind' if is_writable else '--ro-bind', path, path]
        for path, name in self.volumes.items():
            words += ['--bind', path, name]
        for path in MASKED:
            if os.path.isdir(path):
                words += ['--tmpfs', path, '--remount-ro', path]
            elif os.path.exists(path):
                words += ['--ro-bind', '/dev/null', path]
        return words + ['--remount-ro', '/dev', '--remount-ro', '/']

    def words(self, command, folder='/'):
        """The words that run a command in a new container, in the network namespace of the caller."""
        user = [str(self.user)] if os.geteuid() == 0 else []
        return ['bwrap', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try', '--die-with-parent',
                '--new-session', *user_namespace(), *self.file_system(), '--chdir', folder, '--setenv', 'HOME', '/tmp',
                '--setenv', 'PATH', SEARCH, '--unsetenv', 'XDG_RUNTIME_DIR', '--', CONFINE, *user, *command]
