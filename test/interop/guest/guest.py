#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Linux guests under qemu, with the kernel's RoCEv2 driver (rdma_rxe) on a data network of their own.

    test/interop/guest/guest.py [--kernel stable|backports] COMMAND [ARGUMENT...]

As a program: boots one guest in a network namespace of its own, and runs the command in the guest. The command has the
stdin, stdout and stderr of this program, which ends with the exit status of the command. `build` makes the boot files.

A guest has the host's root, read-only, with memory at /tmp, /run, /var/tmp and /dev/shm. eth0 is 10.99.0.N, where N
is the guest's number. eth1 is 192.0.2.N and 2001:db8::N, and rxe0 is on it. The frames in the data tap are those of a
wire. The guest may keep files of the host in its memory: it sees changes of such files only after the next boot.

A guest with the kernel arm64 has an emulated CPU of 64-bit Arm. Its root is a folder of arm64 programs (Guest.root).
The folder of the project is at its usual path. There is no rxe: eth1 is for vfio, behind an SMMUv3.

All processes of a guest - qemu, its taps, commands - end when the *thread* that started the guest ends. To boot several
guests at once, call launch() of each and then wait() of each, and do not use threads.
"""

import argparse
import ctypes
import fcntl
import hashlib
import os
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(TOP, 'usertools'))
from uroce_ports import LINK_MTU, Lab, LabError  # noqa: E402

KERNELS = 'stable', 'backports'
ARM64 = 'arm64'    # a kernel, too, but the guest has another CPU
RXE, NIC = 'rxe', 'nic'    # sets of modules: for rdma_rxe; for a NIC that a program drives
CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'uroce-interop')
MEMORY = 768       # MiB
TIMEOUT = 400      # seconds for a boot on a busy machine; an idle one takes a few
QUEUE = 8192       # frames for a guest that is slow to take them: what is lost is to be lost by intent
CONTROL_MTU = 1500
READY = 'guest: ready'
HOST = '10.99.0.254'    # address of this machine in the control network
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TAP, IFF_MULTI_QUEUE, IFF_NO_PI = 0x400454ca, 2, 0x100, 0x1000


def qemu(kernel):
    return 'qemu-system-aarch64' if kernel == ARM64 else 'qemu-system-x86_64'


def boot_files(kernel, modules=RXE):
    """The folder in which build puts the kernel and the initramfs."""
    return os.path.join(CACHE, kernel if modules == RXE else f'{kernel}-{modules}')


def initrd(kernel, modules=RXE):
    """Where build puts the initramfs of these files."""
    said = hashlib.sha256()
    for name in 'build', 'init', 'agent.py':
        with open(os.path.join(HERE, name), 'rb') as file:
            said.update(file.read())
    return os.path.join(boot_files(kernel, modules), f'initrd-{said.hexdigest()[:16]}')


def lacking(kernel, modules=RXE):
    """Why no guest with this kernel can be booted here; None: one can."""
    if os.getuid() != 0:
        return 'a guest needs root, for taps'
    if not os.path.exists('/dev/net/tun'):
        return 'a guest needs /dev/net/tun'
    if not shutil.which(qemu(kernel)):
        return f'{qemu(kernel)} is not installed'
    if subprocess.run([qemu(kernel), '-machine', 'none', '-device', 'virtio-9p-pci,help'], capture_output=True,
                      check=False).returncode != 0:
        return f'{qemu(kernel)} has no 9p'
    if not os.path.exists(initrd(kernel, modules)):
        return f'there is no guest, or an old one: run test/interop/guest/build --kernel {kernel} --modules {modules}'
    return None


def build(kernel, log=sys.stderr, modules=RXE):
    """Build the boot files if they are missing; `log` gets the output. @return why no guest can be booted, or None"""
    done = subprocess.run([os.path.join(HERE, 'build'), '--kernel', kernel, '--modules', modules], stdout=log,
                          stderr=log, check=False)
    why = lacking(kernel, modules)
    return f'{why} (build: status {done.returncode})' if why else None


def machine_words(kernel, name):
    """The words for the machine of this name with its CPU, and words for the kernel's command line."""
    if kernel == ARM64:
        # The signatures of pointers that Arm specifies take much of an emulator's time.
        return ['-accel', 'tcg', '-cpu', 'max,pauth-impdef=on', '-machine', 'virt,gic-version=3,iommu=smmuv3'], \
            'console=ttyAMA0'
    # The kernel counts interrupts of a timer while it boots, and panics if they are late because the host is busy;
    # no_timer_check omits that.
    return [*accelerator(), '-machine', name], 'console=ttyS0 tsc=reliable no_timer_check'


def accelerator():
    """KVM, if the hardware supports it. With kvm_pvm a stock kernel does not run."""
    is_usable = any(os.path.exists(f'/sys/module/{name}') for name in ('kvm_intel', 'kvm_amd')) \
        and os.access('/dev/kvm', os.R_OK | os.W_OK)
    return ['-accel', 'kvm', '-cpu', 'host'] if is_usable else ['-accel', 'tcg', '-cpu', 'max']


def own_network(lab, bridge='ctl'):
    """A network namespace for this thread, with the bridge of the control network."""
    if ctypes.CDLL(None).unshare(CLONE_NEWNET) != 0:
        raise LabError('no network namespace: this kernel or container allows none')
    for command in ('link set lo up', f'link add {bridge} type bridge stp_state 0 forward_delay 0 mcast_snooping 0',
                    f'addr add {HOST}/24 dev {bridge}', f'link set {bridge} up'):
        lab.run_in(None, f'ip {command}')


def open_queue(name, flags):
    """Open a queue of a tap, which the first one makes. @return the descriptor"""
    fd = os.open('/dev/net/tun', os.O_RDWR)
    try:
        fcntl.ioctl(fd, TUNSETIFF, struct.pack('16sH22x', name.encode(), IFF_TAP | IFF_NO_PI | flags))
    except OSError as error:
        os.close(fd)
        raise LabError(f'no tap {name}: {error.strerror}') from None
    return fd


def open_tap(lab, name, mtu, nb_queues=1):
    """Make a tap that is down, and is removed when its last descriptor is closed. @return a descriptor for each queue"""
    fds = []
    try:
        for _ in range(nb_queues):
            fds.append(open_queue(name, IFF_MULTI_QUEUE if nb_queues > 1 else 0))
        lab.run_in(None, f'ip link set {name} mtu {mtu} txqueuelen {QUEUE}')
        with open(f'/proc/sys/net/ipv6/conf/{name}/disable_ipv6', 'w', encoding='ascii') as file:
            file.write('1')    # the host must send nothing on the tap
    except (LabError, OSError) as error:
        for fd in fds:
            os.close(fd)
        raise LabError(f'no tap {name}: {error.strerror}') if isinstance(error, OSError) else error
    return fds


class Guest:
    """One guest; also a context manager. `console` is the file for the output of its kernel, None: no file."""

    arguments = ''    # additional words for the kernel's command line
    modules = RXE     # the set of modules of its initramfs
    machine = 'pc'    # QEMU's name of an x86 machine
    memory = MEMORY
    nb_queues = 1     # queues of the data tap
    root = '/'        # the folder of the host that is the guest's root

    def __init__(self, name, number, kernel='stable', tap=None, control_bridge='ctl', mtu=LINK_MTU, console=None):
        self.name = name
        self.number = number
        self.kernel = kernel
        self.tap = tap or f't-{name}'
        self.control_tap = f'ctl-{number}'
        self.control_bridge = control_bridge
        self.mtu = mtu
        self.address = f'10.99.0.{number}'
        self.lab = Lab()
        self.qemu = None
        self.end = None        # descriptor that becomes readable when qemu has ended
        self.console = open(console, 'a+b') if console else tempfile.TemporaryFile()
        fcntl.fcntl(self.console, fcntl.F_SETFL, os.O_APPEND)    # qemu has two descriptors of the file
        self.began = 0         # offset in the file where this boot begins

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def qemu_words(self, control, *data):
        """The words that start qemu, with these descriptors of the taps: one of the control network, and one for each
        queue of the data network."""
        # One CPU, and room for another. For a single CPU TCG omits the barriers of atomic instructions. Then a
        # notification of a virtio queue is lost now and then, and the queue makes no progress.
        words, options = machine_words(self.kernel, self.machine)
        options += ' quiet panic=-1 mitigations=off nokaslr audit=0 net.ifnames=0'
        tree = []
        if self.kernel == ARM64:
            options += ' guest_has_tree=yes'
            tree = ['-fsdev', f'local,id=tree,path={TOP},security_model=none,readonly=on,multidevs=remap',
                    '-device', 'virtio-9p-pci,fsdev=tree,mount_tag=tree']
        return [
            qemu(self.kernel), *words, '-m', str(self.memory), '-smp', '1,maxcpus=2', '-name', self.name,
            '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot',
            '-chardev', 'file,id=console,path=/dev/stdout,append=on', '-serial', 'chardev:console',
            '-kernel', os.path.join(boot_files(self.kernel, self.modules), 'vmlinux'),
            '-initrd', initrd(self.kernel, self.modules),
            '-append', f'{options} guest_name={self.name} guest_number={self.number} guest_tree={TOP} {self.arguments}',
            '-fsdev', f'local,id=root,path={self.root},security_model=none,readonly=on,multidevs=remap',
            '-device', 'virtio-9p-pci,fsdev=root,mount_tag=root', *tree,
            '-netdev', f'tap,id=control,fd={control}',
            '-device', f'virtio-net-pci,netdev=control,romfile=,mac=02:00:00:00:01:{self.number:02x}',
            *self.data_device(*data),
        ]

    def data_device(self, *taps):
        """The words for the device of the data network, with the descriptors of the queues of its tap."""
        iommu = ',iommu_platform=on,disable-legacy=on' if self.kernel == ARM64 else ''
        return ['-netdev', f'tap,id=data,fd={taps[0]}',
                '-device', f'virtio-net-pci,netdev=data,romfile=,mac=02:00:00:00:02:{self.number:02x},'
                           f'host_mtu={self.mtu},rx_queue_size=1024{iommu}']

    def launch(self):
        """Start qemu and do not wait."""
        why = lacking(self.kernel, self.modules)
        if why:
            raise LabError(why)
        self.began = self.console.seek(0, os.SEEK_END)
        taps = []
        try:
            taps += open_tap(self.lab, self.control_tap, CONTROL_MTU)
            taps += open_tap(self.lab, self.tap, self.mtu, self.nb_queues)
            self.lab.run_in(None, f'ip link set {self.control_tap} master {self.control_bridge} up')
            self.qemu = self.lab.start(self.qemu_words(*taps), stdin=subprocess.DEVNULL, stdout=self.console,
                                       stderr=self.console, pass_fds=taps)
            self.end = os.pidfd_open(self.qemu.pid)
        finally:
            for tap in taps:
                os.close(tap)

    def wait(self, timeout=TIMEOUT):
        """Wait until commands can be run. The data tap is up after this call, and not before."""
        deadline = time.monotonic() + timeout
        while READY not in self.said():
            ended = self.qemu.poll() is not None
            if ended or time.monotonic() > deadline:
                self.stop()
                why = 'ended while it booted' if ended else f'did not boot in {timeout} s'
                raise LabError('\n'.join([f'guest {self.name} {why}; it said last:', *self.last_lines()]))
            time.sleep(0.02)
        self.lab.run_in(None, f'ip link set {self.tap} up')

    def start(self):
        self.launch()
        self.wait()

    def said(self):
        """The output on the console since launch()."""
        self.console.seek(self.began)
        return self.console.read().decode(errors='replace')

    def last_lines(self, count=24):
        return [line.rstrip() for line in self.said().splitlines() if line.strip()][-count:]

    def run(self, command, **options):
        """A subprocess.Popen whose streams and exit status are those of a command in the guest.

        `command` is text for sh, or a list of words. `options` are Popen's; the default of stdin is /dev/null. Signals
        that are sent to the process reach the command. When the process is killed, the command is killed. Processes
        that a command leaves are killed when the command ends.
        """
        if not isinstance(command, str):
            command = shlex.join(command)
        relay = [sys.executable, '-I', '-S', os.path.join(HERE, 'relay.py'), self.address, str(self.end), command]
        return self.lab.start(relay, **{'stdin': subprocess.DEVNULL, **options}, pass_fds=[self.end])

    def output(self, command, timeout=TIMEOUT):
        """The stdout of a command, which must end with status 0."""
        process = self.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise LabError(f'guest {self.name}: {command}: no end after {timeout} s') from None
        if process.returncode != 0:
            raise LabError(f'guest {self.name}: {command}: status {process.returncode}: {err.strip() or out.strip()}')
        return out

    def stop(self):
        """Stop the guest at once: it has no data that could be lost. The guest may be started again."""
        if self.qemu:
            self.qemu.kill()
        self.lab.close()
        self.lab.processes.clear()
        if self.end is not None:
            os.close(self.end)
        self.qemu = self.end = None


def main():
    parser = argparse.ArgumentParser(description="Run a command in a Linux with the kernel's RoCEv2.")
    parser.add_argument('--kernel', default='stable', choices=KERNELS)
    parser.add_argument('--verbose', action='store_true', help='print what is run on the host')
    parser.add_argument('command', metavar='COMMAND', help='for sh in the guest')
    parser.add_argument('arguments', nargs=argparse.REMAINDER, metavar='ARGUMENT')
    args = parser.parse_args()
    why = build(args.kernel)
    if why:
        print(f'guest: {why}', file=sys.stderr)
        return 1
    guest = Guest('guest', 1, args.kernel)
    guest.lab.is_verbose = args.verbose
    try:
        own_network(guest.lab, guest.control_bridge)
        guest.start()
        command = [args.command, *args.arguments] if args.arguments else args.command
        return guest.run(command, stdin=None).wait()
    except LabError as error:
        print(f'guest: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        guest.stop()


if __name__ == '__main__':
    sys.exit(main())
